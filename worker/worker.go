package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/proto/props"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/approvals"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/directory"
	"github.com/tandem-do/tandem/worker/ingress"
	"github.com/tandem-do/tandem/worker/mcp"
	"github.com/tandem-do/tandem/worker/policies"
	"github.com/tandem-do/tandem/worker/sources"
	"github.com/tandem-do/tandem/worker/usage"
	"github.com/tandem-do/tandem/worker/websession"
)

// Options say how a worker process runs.
type Options struct {
	// Listener takes HTTP requests. Serve closes it.
	Listener net.Listener
	// PublicURL is the origin that clients use, such as http://127.0.0.1:8787.
	PublicURL string
	// Issuer is the authorization server; Audience is what tokens must be for. Default: the MCP endpoint's URL.
	Issuer, Audience string
	// WebClientID is the worker as a client of the issuer, with which people sign in at a browser. Default: the address of
	// the client-ID metadata document that it serves, for issuers that take such. WebClientSecret goes with it, if any.
	WebClientID, WebClientSecret string
	// SessionKeyFile has the key that seals browser sessions; see websession.OpenKey. Default: a random key, so that they
	// end with the process.
	SessionKeyFile string
	// Directory is where users and organizations are: sqlite:PATH or postgres://…
	Directory string
	// Router is the connection to the router process.
	Router *grpc.ClientConn
	// AllowedHosts are Host header values accepted beside loopback names and PublicURL's.
	AllowedHosts []string
	// AllowedOrigins are the origins of pages that may call, beside those of the hosts above.
	AllowedOrigins []string
	// Log takes the worker's log; nil discards it.
	Log *slog.Logger
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	if o.Listener == nil {
		errs = append(errs, errors.New("listener is missing"))
	}
	if o.Router == nil {
		errs = append(errs, errors.New("connection to the router is missing"))
	}
	if o.Directory == "" {
		errs = append(errs, errors.New("directory is missing: sqlite:PATH or postgres://…"))
	}
	if o.AllowedOrigins != nil || o.AllowedHosts != nil {
		_, err := ingress.New(ingress.Options{AllowedHosts: o.AllowedHosts, AllowedOrigins: o.AllowedOrigins})
		errs = append(errs, err)
	}
	if o.WebClientSecret != "" && o.WebClientID == "" {
		errs = append(errs, errors.New("a web client secret goes with a web client ID, which is missing"))
	}
	errs = append(errs, auth.Options{PublicURL: o.PublicURL, Issuer: o.Issuer}.Validate())
	return errors.Join(errs...)
}

// Serve runs a worker until ctx ends, then finishes the requests that run. Errors: those of Validate, a directory
// that cannot be opened, a listener that breaks.
func Serve(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("worker options: %w", err)
	}
	router := binding.NewRouter(binding.RouterOptions{Client: routerpb.NewRouterServiceClient(o.Router)})
	return errors.Join(serve(ctx, o, router), router.Close())
}

// serve runs a worker whose objects are reached through caller.
func serve(ctx context.Context, o Options, caller sidecar.Caller) error {
	users, err := directory.Open(ctx, o.Directory)
	if err != nil {
		return err
	}
	defer func() { _ = users.Close() }() // nothing is written at the end
	gate, err := auth.NewGate(auth.Options{
		PublicURL: o.PublicURL, Issuer: o.Issuer, Audience: o.Audience, Members: directory.Cached(users),
	})
	if err != nil {
		return err
	}
	defer gate.Close()
	web, err := newSessions(o, gate)
	if err != nil {
		return err
	}
	routes, err := routes(ctx, o, parts{gate, web, caller})
	if err != nil {
		return err
	}
	in, err := ingress.New(ingress.Options{
		AllowedHosts: append([]string{gate.Host()}, o.AllowedHosts...), AllowedOrigins: o.AllowedOrigins,
		Routes: routes, Log: o.Log,
	})
	if err != nil {
		return err
	}
	return in.Serve(ctx, o.Listener)
}

// newSessions returns who is signed in with a browser.
func newSessions(o Options, gate *auth.Gate) (*websession.Sessions, error) {
	var key []byte
	if o.SessionKeyFile != "" {
		var err error
		if key, err = websession.OpenKey(o.SessionKeyFile); err != nil {
			return nil, err
		}
	}
	return websession.New(websession.Options{
		Gate: gate, PublicURL: o.PublicURL, ClientID: o.WebClientID, ClientSecret: o.WebClientSecret, Key: key, Log: o.Log,
	})
}

// parts are what the routes are made of.
type parts struct {
	gate   *auth.Gate
	web    *websession.Sessions
	caller sidecar.Caller
}

// approvals returns where the approval page is, or why nobody could sign in there.
func (p parts) approvals(publicURL string) func(context.Context) (string, *props.HTTPError) {
	page := strings.TrimRight(publicURL, "/") + approvals.Path
	return func(ctx context.Context) (string, *props.HTTPError) {
		err := p.web.Ready(ctx)
		switch {
		case errors.Is(err, websession.ErrNoClient):
			return "", &props.HTTPError{
				Status: http.StatusBadRequest, Code: props.CodeInvalid,
				Message: "Invalid Request: elicitation_mode=browser is not set up here: " + err.Error(),
			}
		case err != nil:
			return "", auth.Verdict{Outcome: auth.OutcomeKeysUnavailable}.HTTPError()
		}
		return page, nil
	}
}

// routes returns everything that the worker serves.
func routes(ctx context.Context, o Options, p parts) ([]ingress.Route, error) {
	gate, caller := p.gate, p.caller
	endpoint := mcp.New(ctx, mcp.Options{
		Gate: gate, Sessions: binding.NewNamespace(props.NamespaceSession, caller),
		Approvals: p.approvals(o.PublicURL), Log: o.Log,
	})
	rules := policies.New(policies.Options{
		Gate: gate, Web: p.web, Policies: binding.NewNamespace(props.NamespacePolicies, caller), Log: o.Log,
	})
	upstreams := sources.New(sources.Options{
		Gate: gate, Web: p.web, Sources: binding.NewNamespace(props.NamespaceSources, caller), Log: o.Log,
	})
	used := usage.New(usage.Options{
		Gate: gate, Web: p.web, Usage: binding.NewNamespace(props.NamespaceUsage, caller), Log: o.Log,
	})
	pages, err := approvals.New(approvals.Options{
		Sessions: p.web, Executions: binding.NewNamespace(props.NamespaceExecution, caller), Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	return append(p.web.Routes(), []ingress.Route{
		{Path: approvals.Path, Handler: pages},
		{Path: "/mcp", Handler: endpoint},
		{Path: policies.Path, Handler: rules},
		{Path: policies.Path + "/", Handler: rules},
		{Path: sources.Path, Handler: upstreams},
		{Path: sources.Path + "/", Handler: upstreams},
		{Path: sources.Path + "/{id}/refresh", Handler: upstreams},
		{Path: sources.Path + "/{id}/tools", Handler: upstreams},
		{Path: usage.Path, Handler: used},
		{Path: "/.well-known/oauth-protected-resource", Handler: gate.ResourceMetadata()},
		{Path: "/.well-known/oauth-protected-resource/mcp", Handler: gate.ResourceMetadata()},
		{Path: "/.well-known/oauth-authorization-server", Handler: gate.ServerMetadata()},
		{Path: "/healthz", Handler: http.HandlerFunc(health), AnyHost: true},
		{Path: "/", Handler: http.HandlerFunc(hint)},
	}...), nil
}

// health answers probes: the process takes requests.
func health(w http.ResponseWriter, r *http.Request) {
	ingress.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// hint tells a person who opens the worker's address in a browser what is here.
func hint(w http.ResponseWriter, r *http.Request) {
	ingress.WriteJSON(w, http.StatusOK, map[string]string{
		"name": "tandem", "mcp": "/mcp", "policies": policies.Path, "sources": sources.Path, "usage": usage.Path,
		"hint": "This is a remote MCP server. Point an MCP client (streamable HTTP) at /mcp; it will ask you to sign in.",
	})
}

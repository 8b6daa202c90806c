// Command mcpconformance is the client that the client suite of npm's @modelcontextprotocol/conformance starts, once per
// scenario, with the URL of a server that watches it. It signs in, lists tools and calls them by the packages that the
// product uses, and in the way that the product does; the person at the browser is a request that follows redirects.
//
// What the suite says it reads from the environment: MCP_CONFORMANCE_SCENARIO, and MCP_CONFORMANCE_CONTEXT as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/mcpclient"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/oauth"
)

// clientMetadataURL is where the suite believes the document about this client to be.
const clientMetadataURL = "https://conformance-test.local/client-metadata.json"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// scenario is what the suite says beside the URL.
type scenario struct {
	name         string
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Issuer       string `json:"issuer"`
	ToolCalls    []call `json:"toolCalls"`
}

// call is a call that the client is to make.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: mcpconformance SERVER-URL")
	}
	s := scenario{name: os.Getenv("MCP_CONFORMANCE_SCENARIO")}
	if given := os.Getenv("MCP_CONFORMANCE_CONTEXT"); given != "" {
		if err := json.Unmarshal([]byte(given), &s); err != nil {
			return fmt.Errorf("read MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	u := &user{url: args[1], scenario: s}
	if strings.HasPrefix(s.name, "auth/") {
		if err := u.signIn(ctx, ""); err != nil {
			return err
		}
	}
	defer u.close()
	if err := u.connect(ctx); err != nil {
		return err
	}
	return u.callTools(ctx)
}

// user is who has the source: somebody with a terminal and a browser.
type user struct {
	url         string
	scenario    scenario
	source      upstream.Source
	credentials *oauth.Credentials
}

// signIn does what `tandem sources add --oauth` does.
func (u *user) signIn(ctx context.Context, challenge string) error {
	o := oauth.SignInOptions{
		ServerURL: u.url, Challenge: challenge, ClientMetadataURL: clientMetadataURL,
		ClientID: u.scenario.ClientID, ClientSecret: u.scenario.ClientSecret, ClientIssuer: u.scenario.Issuer,
		OpenBrowser: func(address string) error { return browse(ctx, address) },
	}
	if u.credentials != nil {
		o.Scopes = u.credentials.Scopes
	}
	c, err := oauth.SignIn(ctx, o)
	if err != nil {
		return err
	}
	u.credentials = &c
	return nil
}

// connect does what a host does with a source that was added.
func (u *user) connect(ctx context.Context) (err error) {
	u.close()
	o := mcpclient.Options{URL: u.url, ToolsChanged: func() {}}
	if u.credentials != nil {
		o.OAuth = oauth.New(oauth.Options{Credentials: *u.credentials})
	}
	u.source, err = mcpclient.Connect(ctx, o)
	return err
}

func (u *user) close() {
	if u.source != nil {
		_ = u.source.Close() // the suite's servers watch it
		u.source = nil
	}
}

// callTools lists the tools and calls those that the scenario names, or else each.
func (u *user) callTools(ctx context.Context) error {
	tools, err := u.source.Tools(ctx)
	if err != nil {
		return err
	}
	calls := u.scenario.ToolCalls
	for _, t := range tools {
		if len(u.scenario.ToolCalls) == 0 {
			calls = append(calls, call{t.Name, arguments(t, tools)})
		}
	}
	var faults []error
	for _, c := range calls {
		_, err := u.source.Call(ctx, c.Name, c.Arguments)
		if challenge := oauth.Challenge(err); challenge != "" && u.credentials != nil {
			// What the source's owner does when a call says that it needs more.
			err = errors.Join(u.signIn(ctx, challenge), u.connect(ctx))
			if err == nil {
				_, err = u.source.Call(ctx, c.Name, c.Arguments)
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", c.Name, err))
		}
	}
	return errors.Join(faults...)
}

// arguments are what the suite's tools take.
func arguments(t upstream.Tool, all []upstream.Tool) json.RawMessage {
	switch t.Name {
	case "add_numbers":
		return json.RawMessage(`{"a":5,"b":3}`)
	case "json_schema_echo":
		for _, other := range all {
			if other.Name == "json_schema_2020_12_tool" {
				return json.RawMessage(`{"schema":` + string(other.InputSchema) + `}`)
			}
		}
	}
	return nil
}

// browse follows redirects, as a browser does where nobody has to click.
func browse(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

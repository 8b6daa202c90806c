package mcpsession

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/mcpsession/sources"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/schema"
	"github.com/tandem-do/tandem/proto/props"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

// Defaults of Options.
const (
	defaultSessionTimeout = 5 * time.Minute
	defaultPausedTimeout  = 9 * time.Minute
	defaultApprovalWindow = 4 * time.Minute
	defaultPauseGrace     = 2 * time.Second
)

// Options say how the application's objects behave.
type Options struct {
	// Sandbox runs the programs.
	Sandbox sandboxpb.SandboxServiceClient
	// SessionTimeout is how long a session's runtime outlives its last activity. Default 5 min.
	SessionTimeout time.Duration
	// PausedTimeout is how long paused executions extend it. Default 9 min.
	PausedTimeout time.Duration
	// ApprovalWindow is how long a paused execution waits for its approval. Default 4 min.
	ApprovalWindow time.Duration
	// PauseGrace is how long a paused program keeps its sandbox process; one that is answered later is run again to its
	// pause. Default 2 s.
	PauseGrace time.Duration
	// Draining is closed when the host begins to drain, so that it need not wait for what only waits itself: runtimes are
	// disposed of once nothing is in flight in them, paused programs give their process back. Nil: never.
	Draining <-chan struct{}
	// Sources say how sources of tools are reached. Their Log is the one below.
	Sources sources.Options
	// Limits bound the executions of each organization; none by default.
	Limits props.UsageLimits
	// Log takes the application's log; nil discards it.
	Log *slog.Logger
}

// withDefaults returns the options with every unset field at its default.
func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&o.SessionTimeout, defaultSessionTimeout)
	set(&o.PausedTimeout, defaultPausedTimeout)
	set(&o.ApprovalWindow, defaultApprovalWindow)
	set(&o.PauseGrace, defaultPauseGrace)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Sources.Log = o.Log
	return o
}

// environment is what all instances of the classes share. It does not change once made.
type environment struct {
	Options
	// model, native and browser serve sessions by elicitation mode.
	model, native, browser *mcp.Server
	// stateless serves requests that stand alone.
	stateless http.Handler
	// versions tells the SDK which protocol version a request has.
	versions versions
	// catalog has the tools that programs can call.
	catalog *catalog
	// schemas keeps the compiled schemas of sources' tools.
	schemas *schema.Cache
	// backlog counts what waits for slow readers.
	backlog backlog
	// kept is how many paused programs keep their sandbox process.
	kept atomic.Int64
	// incarnation tells this start of the host from every other.
	incarnation atomic.Uint64
}

func newEnvironment(o Options) *environment {
	env := &environment{Options: o.withDefaults(), versions: newVersions(), catalog: newCatalog(), schemas: schema.NewCache()}
	env.incarnation.Store(rand.Uint64N(1 << 52)) // a number that storage keeps exactly
	env.model = env.newServer(props.ElicitationModel)
	env.native = env.newServer(props.ElicitationNative)
	env.browser = env.newServer(props.ElicitationBrowser)
	alone, aloneOnPage := env.newServer(props.ElicitationModel), env.newServer(props.ElicitationBrowser)
	alone.AddReceivingMiddleware(onlyDeclared)
	aloneOnPage.AddReceivingMiddleware(onlyDeclared)
	env.stateless = mcp.NewStreamableHTTPHandler(
		func(r *http.Request) *mcp.Server {
			if r.Header.Get(props.HeaderElicitationMode) == props.ElicitationBrowser {
				return aloneOnPage
			}
			return alone
		},
		&mcp.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true,
			MaxRequestBodyBytes: maxBodyBytes,
		},
	)
	return env
}

// server returns the MCP server for sessions of an elicitation mode.
func (env *environment) server(mode string) *mcp.Server {
	switch mode {
	case props.ElicitationNative:
		return env.native
	case props.ElicitationBrowser:
		return env.browser
	}
	return env.model
}

// Classes returns the application's classes, for a host with Worker "mcp".
func Classes(o Options) []durableobject.Class { return newEnvironment(o).classes() }

func (env *environment) classes() []durableobject.Class {
	return []durableobject.Class{
		{
			Name: "Session",
			New: func(_ context.Context, s *durableobject.State) (any, error) {
				return &Session{env: env, state: s}, nil
			},
			Methods: map[string]durableobject.Method{
				props.MethodSessionCheck: checkMethod,
			},
		},
		{
			Name: "Execution",
			New: func(ctx context.Context, s *durableobject.State) (any, error) {
				return newExecution(ctx, env, s)
			},
			Methods: map[string]durableobject.Method{
				methodExecute: durableobject.Func((*Execution).execute),
				methodResume:  durableobject.Func((*Execution).resume),
				methodAwait:   durableobject.Func((*Execution).await),
				methodExpire:  durableobject.Func((*Execution).expire),

				props.MethodExecutionPause:  durableobject.Func((*Execution).pending),
				props.MethodExecutionAnswer: durableobject.Func((*Execution).answer),
			},
		},
		{
			Name: "Policies",
			New: func(_ context.Context, s *durableobject.State) (any, error) {
				return &Policies{state: s, lists: map[string][]props.Policy{}}, nil
			},
			Methods: map[string]durableobject.Method{
				props.MethodPoliciesList:   durableobject.Func((*Policies).list),
				props.MethodPoliciesCreate: durableobject.Func((*Policies).create),
				props.MethodPoliciesUpdate: durableobject.Func((*Policies).update),
				props.MethodPoliciesRemove: durableobject.Func((*Policies).remove),
				props.MethodPoliciesDecide: durableobject.Func((*Policies).decide),
			},
		},
		{
			Name: "Usage",
			New: func(ctx context.Context, s *durableobject.State) (any, error) {
				return newUsage(ctx, env, s)
			},
			Methods: map[string]durableobject.Method{
				methodUsageBegin:        durableobject.Func((*Usage).begin),
				methodUsageEnd:          durableobject.Func((*Usage).end),
				props.MethodUsageReport: durableobject.Func((*Usage).report),
			},
		},
		sources.Class(env.Sources),
	}
}

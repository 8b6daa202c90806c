package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// client is a source of tools: one MCP server, by one session at a time.
type client struct {
	options Options
	http    *http.Client // what the SDK sends through
	sdk     *mcp.Client

	// lifetime ends with Close, and every operation with it.
	lifetime context.Context
	end      context.CancelFunc

	// operations is held for reading by each, so that Close can wait for them.
	operations sync.RWMutex

	// connecting is held while a session is made, so that one is.
	connecting chan struct{}

	mu      sync.Mutex         // guards session
	session *mcp.ClientSession // nil while there is none
}

var _ upstream.Source = (*client)(nil)

// operation is a kind of exchange with the server.
type operation struct {
	// name is what it is called in errors.
	name    string
	timeout time.Duration
	// limit bounds the bytes of all its answers.
	limit int64
	// repeatable says that the server may be asked twice.
	repeatable bool
}

// Limits of operations, in bytes of answers.
const (
	// handshakeLimit is for what a server says of itself.
	handshakeLimit = 1 << 20
	// listLimit is for all pages of a listing.
	listLimit = 16 << 20
	// callLimit leaves room for a result that is sent twice, as structured content and as a JSON string.
	callLimit = 4*upstream.MaxResultBytes + 64<<10
)

// maxResumptions is how often a stream that brings nothing is resumed. A call gives up by its deadline; a standing stream
// that has failed for good ends its session.
const maxResumptions = 50

// maxLater is how often a server may ask to come back for one call.
const maxLater = 5

func newClient(ctx context.Context, o Options, endpoint *url.URL) *client {
	c := &client{options: o, connecting: make(chan struct{}, 1)}
	c.lifetime, c.end = context.WithCancel(context.WithoutCancel(ctx))
	meter := &meter{base: o.HTTP.Transport, endpoint: endpoint, header: o.Header, oauth: o.OAuth != nil}
	if meter.base == nil {
		meter.base = http.DefaultTransport
	}
	hc := *o.HTTP
	hc.Transport = meter
	c.http = &hc
	options := &mcp.ClientOptions{
		// Neither roots nor sampling nor elicitation: nobody is there to answer.
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	if o.ToolsChanged != nil {
		options.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { o.ToolsChanged() }
	}
	c.sdk = mcp.NewClient(&mcp.Implementation{Name: "tandem", Version: o.Version}, options)
	c.sdk.AddReceivingMiddleware(c.refuse)
	return c
}

// refuse lets through what the client declares to understand. It refuses requests that need a capability which the client
// does not have, some of which the SDK would answer, and drops notifications that nobody wants: the SDK would take some
// apart without a look at whether they have parameters.
func (c *client) refuse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		switch method {
		case "ping", "notifications/cancelled", "notifications/tools/list_changed",
			"notifications/subscriptions/acknowledged":
			err = c.guard(func() (err error) {
				result, err = next(ctx, method, req)
				return err
			})
			return result, err
		case "elicitation/create":
			// By the specification, this is a mode that was not declared.
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this client does not do elicitation"}
		default:
			if strings.HasPrefix(method, "notifications/") {
				return nil, nil //nolint:nilnil // there is nothing to answer
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client does not do " + method}
		}
	}
}

// current returns the session, and makes one if there is none. Its error is an *upstream.Error.
func (c *client) current(ctx context.Context) (*mcp.ClientSession, error) {
	if s := c.open(); s != nil {
		return s, nil
	}
	op := operation{name: "connecting", timeout: c.options.ConnectTimeout, limit: handshakeLimit, repeatable: true}
	ctx, x, done := c.begin(ctx, op)
	defer done()
	select {
	case c.connecting <- struct{}{}:
		defer func() { <-c.connecting }()
	case <-ctx.Done():
		return nil, c.failure(ctx, op, x, ctx.Err())
	}
	if s := c.open(); s != nil {
		return s, nil
	}
	var session *mcp.ClientSession
	err := c.guard(func() (err error) {
		session, err = c.sdk.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint:             c.options.URL,
			HTTPClient:           c.http,
			OAuthHandler:         c.options.OAuth,
			MaxEventSize:         callLimit,
			DisableStandaloneSSE: c.options.ToolsChanged == nil,
			MaxRetries:           maxResumptions,
		}, nil)
		return err
	})
	if err != nil {
		return nil, c.failure(ctx, op, x, err)
	}
	c.mu.Lock()
	c.session = session
	c.mu.Unlock()
	return session, nil
}

// open returns the session, or nil.
func (c *client) open() *mcp.ClientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// drop gives up a session that is of no use any more.
func (c *client) drop(s *mcp.ClientSession) {
	c.mu.Lock()
	if c.session == s {
		c.session = nil
	}
	c.mu.Unlock()
	if err := s.Close(); err != nil {
		c.options.Logger.Debug("a session with a source was not ended in order")
	}
}

// begin starts an exchange: it ends with ctx, its time, the client, or the function that is returned.
func (c *client) begin(ctx context.Context, op operation) (context.Context, *exchange, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, stopTimer := context.WithTimeoutCause(ctx, op.timeout, errTimeout)
	stopWatch := context.AfterFunc(c.lifetime, func() { cancel(errClosed) })
	if c.lifetime.Err() != nil {
		cancel(errClosed)
	}
	x := &exchange{limit: op.limit, cancel: cancel}
	return context.WithValue(ctx, exchangeKey{}, x), x, func() {
		x.finish()
		stopWatch()
		stopTimer()
		cancel(nil)
	}
}

// do runs f with a session; once more with a new one if the server did not accept what f sent because the session was
// gone, or if the connection broke and the operation may be repeated. Its error is an *upstream.Error.
func (c *client) do(ctx context.Context, op operation, f func(context.Context, *mcp.ClientSession) error) error {
	c.operations.RLock()
	defer c.operations.RUnlock()
	for first := true; ; first = false {
		session, err := c.current(ctx)
		if err != nil {
			return err
		}
		failed, again := c.attempt(ctx, op, session, f)
		if failed == nil || !again || !first {
			return failed
		}
	}
}

// attempt runs f once. It tells whether a new session may help.
func (c *client) attempt(ctx context.Context, op operation, s *mcp.ClientSession,
	f func(context.Context, *mcp.ClientSession) error,
) (failed error, again bool) {
	ctx, x, done := c.begin(ctx, op)
	defer done()
	err := c.guard(func() error { return f(ctx, s) })
	if err == nil {
		return nil, false
	}
	failed = c.failure(ctx, op, x, err)
	broken := errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, errPanic)
	if !broken || ctx.Err() != nil {
		return failed, false
	}
	c.drop(s)
	return failed, (op.repeatable || !x.wasAccepted()) && !errors.Is(err, errPanic)
}

// guard runs f, and makes an error of a panic: there are answers that the SDK's decoders cannot stand.
func (c *client) guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.options.Logger.Warn("an answer of a source made its decoder panic", "panic", v)
			err = errPanic
		}
	}()
	return f()
}

// Tools lists the server's tools.
func (c *client) Tools(ctx context.Context) ([]upstream.Tool, error) {
	var tools []upstream.Tool
	op := operation{name: "listing its tools", timeout: c.options.ListTimeout, limit: listLimit, repeatable: true}
	err := c.do(ctx, op, func(ctx context.Context, s *mcp.ClientSession) (err error) {
		tools, err = list(ctx, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tools, nil
}

// Call calls a tool. What its result becomes is said at the package.
func (c *client) Call(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if !isObject(arguments) {
		return nil, upstream.Errorf(upstream.CodeFailed, "the arguments of %s must be a JSON object", tool)
	}
	result, mismatch, err := c.call(ctx, tool, arguments)
	if mismatch {
		// The server wants arguments in headers too, and has not run the tool. Its listing says which.
		if _, err := c.Tools(ctx); err != nil {
			return nil, err
		}
		result, _, err = c.call(ctx, tool, arguments)
	}
	if err != nil {
		return nil, err
	}
	return value(tool, result)
}

// call calls a tool. mismatch says that the server has missed headers.
func (c *client) call(ctx context.Context, tool string, arguments json.RawMessage) (
	result *mcp.CallToolResult, mismatch bool, err error,
) {
	op := operation{name: "calling " + clip(tool, maxNameBytes), timeout: c.options.CallTimeout, limit: callLimit}
	err = c.do(ctx, op, func(ctx context.Context, s *mcp.ClientSession) (err error) {
		params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
		result, err = s.CallTool(ctx, params)
		for tries := 1; err == nil && tries < maxLater && result.NeedsInput() && len(result.InputRequests) == 0; tries++ {
			// A server that asks for nothing but to come back, with what it remembers the call by.
			params.RequestState = result.RequestState
			result, err = s.CallTool(ctx, params)
		}
		var wire *jsonrpc.Error
		mismatch = errors.As(err, &wire) && wire.Code == mcp.CodeHeaderMismatch
		return err
	})
	return result, mismatch, err
}

// Close ends the operations that are under way and the session. The server is told, and has five seconds to take notice;
// it is closed all the same if it does not.
func (c *client) Close() error {
	c.end()
	c.operations.Lock()
	defer c.operations.Unlock()
	if s := c.open(); s != nil {
		c.drop(s)
	}
	return nil
}

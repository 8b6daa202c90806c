package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/worker/ingress"
)

// Bounds of calls to session objects. A GET has none: its stream is open until the client, the object or a drain
// ends it.
const (
	checkTimeout  = 10 * time.Second
	deleteTimeout = 30 * time.Second
	// postTimeout covers an execution of five minutes whose calls wait for several approvals.
	postTimeout = time.Hour
)

var (
	errAborted  = errors.New("response aborted")
	errDraining = errors.New("worker is draining")
)

// checkSession asks the object whether the identity may use the session; nil means it may.
func (c *call) checkSession(ctx context.Context, id objectid.ID) *fault {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := c.h.sessions.Get(id).WithProps(c.identity.Encode()).Call(ctx, props.MethodSessionCheck, nil)
	if err == nil {
		return nil
	}
	return objectFault(err)
}

// objectFault maps an error of a session object to the answer.
func objectFault(err error) *fault {
	f := &fault{answer: props.ErrInternal, cause: err}
	var e *sidecar.Error
	if !errors.As(err, &e) {
		return f
	}
	switch e.Name {
	case props.SessionErrorNotFound:
		return &fault{answer: props.ErrSessionNotFound}
	case props.SessionErrorEnded:
		return &fault{answer: props.ErrSessionEnded}
	case props.SessionErrorForbidden:
		return &fault{answer: props.ErrSessionForbidden}
	}
	switch e.Reason {
	case sidecar.ReasonUnplaced, sidecar.ReasonDisconnected, sidecar.ReasonDraining, sidecar.ReasonOverloaded,
		sidecar.ReasonBroken, sidecar.ReasonStaleEpoch, sidecar.ReasonDeadline, sidecar.ReasonCanceled:
		f.answer = props.ErrUnavailable
	}
	return f
}

// stopping returns why the worker ends a call whose client still waits for an answer; nil when it does not.
func stopping(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errDraining) || errors.Is(cause, ingress.ErrStopping) {
		return cause
	}
	return nil
}

// gone returns an error when nobody waits for the answer any more.
func (c *call) gone() error {
	ctx := c.r.Context()
	if ctx.Err() == nil || stopping(ctx) != nil {
		return nil
	}
	return fmt.Errorf("client went away: %w", ctx.Err())
}

// forward sends the request to its object and streams the answer back.
func (c *call) forward(ctx context.Context, p plan) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	req, err := c.objectRequest(ctx, p)
	if err != nil {
		return c.refuse(&fault{answer: props.ErrInternal, cause: err})
	}
	resp, err := c.h.sessions.Get(p.object).WithProps(c.identity.Encode()).Fetch(ctx, req)
	if err != nil {
		if stops := stopping(ctx); stops != nil {
			return c.refuse(&fault{answer: props.ErrUnavailable, cause: stops})
		}
		return c.refuse(objectFault(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest && !isJSON(resp.Header) {
		return c.refuse(plainFault(resp))
	}
	c.copyHeader(resp, p)
	return c.stream(ctx, resp)
}

// bound returns the context of a call to an object: with a deadline, but for a GET, which ends when the worker
// drains.
func (c *call) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	switch c.r.Method {
	case http.MethodPost:
		return context.WithTimeout(ctx, postTimeout)
	case http.MethodDelete:
		return context.WithTimeout(ctx, deleteTimeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.h.lifetime, func() { cancel(errDraining) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// forwarded are the headers that reach the object, beside those that begin with "Mcp-". Tokens and cookies never
// do.
var forwarded = [...]string{"Accept", "Content-Type", "Last-Event-Id", "User-Agent"}

// objectRequest returns the request that the object gets.
func (c *call) objectRequest(ctx context.Context, p plan) (*http.Request, error) {
	resource := c.h.gate.Resource(c.r)
	req, err := http.NewRequestWithContext(ctx, c.r.Method, resource, bytes.NewReader(c.body))
	if err != nil {
		return nil, fmt.Errorf("build object request: %w", err)
	}
	for _, name := range forwarded {
		if values := c.r.Header[name]; len(values) > 0 {
			req.Header[name] = values
		}
	}
	for name, values := range c.r.Header {
		if strings.HasPrefix(name, "Mcp-") {
			req.Header[name] = values
		}
	}
	req.Header.Set(props.HeaderIntent, p.intent)
	req.Header.Set(props.HeaderResource, resource)
	if p.elicitation != "" {
		req.Header.Set(props.HeaderElicitationMode, p.elicitation)
	}
	if p.approvals != "" {
		req.Header.Set(props.HeaderApprovals, p.approvals)
	}
	return req, nil
}

// isJSON reports whether a response's body is JSON.
func isJSON(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "application/json") }

// maxErrorTextBytes bounds the text of an object's plain error.
const maxErrorTextBytes = 1024

// plainFault turns an object's error that is not JSON, such as the SDK's transport writes, into one that is.
func plainFault(resp *http.Response) *fault {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorTextBytes))
	if err != nil {
		return &fault{answer: props.ErrUnavailable, cause: err}
	}
	message := strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
	if resp.StatusCode >= http.StatusInternalServerError {
		return &fault{answer: props.ErrInternal, cause: fmt.Errorf("object answered %d: %s", resp.StatusCode, message)}
	}
	if message == "" {
		message = http.StatusText(resp.StatusCode)
	}
	code := props.CodeTransport
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
		code = props.CodeUnauthorized
	}
	return &fault{
		answer: &props.HTTPError{Status: resp.StatusCode, Code: code, Message: message}, allow: resp.Header.Get("Allow"),
	}
}

// returned are the headers of the object's response that reach the client.
var returned = [...]string{"Content-Type", "Cache-Control", "Allow", "Retry-After", "X-Accel-Buffering"}

// copyHeader begins the response to the client.
func (c *call) copyHeader(resp *http.Response, p plan) {
	h := c.w.Header()
	for _, name := range returned {
		if v := resp.Header.Get(name); v != "" {
			h.Set(name, v)
		}
	}
	for name, values := range resp.Header {
		if strings.HasPrefix(name, "Mcp-") && name != props.HeaderSessionID {
			h[name] = values
		}
	}
	if p.intent != props.IntentStateless && resp.StatusCode < http.StatusMultipleChoices {
		h.Set(props.HeaderSessionID, p.object.String())
	}
	c.w.WriteHeader(resp.StatusCode)
}

// Pieces in which bodies are copied: those of a GET's stream are small and far between, and there may be many
// streams.
const (
	pieceBytes       = 16 << 10
	streamPieceBytes = 2 << 10
)

// stream copies the response's body: an event stream piece by piece as it comes, anything else as a whole.
func (c *call) stream(ctx context.Context, resp *http.Response) error {
	flush := http.NewResponseController(c.w)
	var buf []byte
	if c.r.Method == http.MethodGet {
		_ = flush.Flush() // the client learns at once that its stream is open; if it has gone, the read says so
		buf = make([]byte, streamPieceBytes)
	} else {
		piece := c.h.pieces.Get().(*[]byte)
		defer c.h.pieces.Put(piece)
		buf = *piece
	}
	streaming := isStream(resp.Header)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			_, werr := c.w.Write(buf[:n])
			if werr == nil && streaming {
				werr = flush.Flush()
			}
			if werr != nil {
				return fmt.Errorf("write to client: %w", werr)
			}
		}
		switch {
		case err == io.EOF && resp.StatusCode >= http.StatusInternalServerError:
			return fmt.Errorf("object answered %d", resp.StatusCode)
		case err == io.EOF:
			return nil
		case err != nil:
			return c.cutShort(ctx, resp, err)
		}
	}
}

func isStream(h http.Header) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/event-stream")
}

// cutShort ends a response whose body broke off. An event stream that a request waits on gets an error in the
// request's name, since its client would otherwise wait for ever; any other response is aborted, so that it does
// not look whole.
func (c *call) cutShort(ctx context.Context, resp *http.Response, cause error) error {
	switch {
	case errors.Is(context.Cause(ctx), errDraining):
		return nil
	case c.gone() != nil:
		return c.gone()
	case !isStream(resp.Header):
		panic(http.ErrAbortHandler)
	}
	cause = fmt.Errorf("object's stream broke off: %w", cause)
	if c.message.rawID == nil {
		return cause
	}
	answer := objectFault(cause).answer
	if stopping(ctx) != nil {
		answer = props.ErrUnavailable
	}
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": c.message.rawID,
		"error": map[string]any{"code": answer.Code, "message": answer.Message},
	})
	if err != nil {
		return errors.Join(cause, err)
	}
	// The blank line ends an event that broke off in its middle.
	fmt.Fprintf(c.w, "\n\nevent: message\ndata: %s\n\n", body)
	return cause
}

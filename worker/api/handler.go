package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/ingress"
)

// Defaults of Options.
const (
	defaultTimeout      = 10 * time.Second
	defaultMaxBodyBytes = 64 << 10
)

// Options say how a handler works.
type Options struct {
	// Path is where the interface is; what it has is below, after a slash.
	Path string
	// What the interface is about, in the plural: "policies".
	What string
	// Operation returns what a method does on the elements of the path below Path. If it does nothing, it returns nil
	// and the methods that are allowed there, as in the header Allow; without those, there is nothing at the path.
	Operation func(method string, elements []string) (serve Operation, allow string)
	// Gate authenticates.
	Gate *auth.Gate
	// Web authenticates browsers that send no bearer token. Nil: none do.
	Web Web
	// Objects is the namespace of the objects, one for each organization and named by its ID.
	Objects *binding.Namespace
	// Timeout bounds the call of the object. Default 10 s.
	Timeout time.Duration
	// MaxBodyBytes bounds a request's body. Default 64 KiB.
	MaxBodyBytes int64
	// Log takes defects; nil discards them.
	Log *slog.Logger
}

// Web knows who is signed in at a browser: see websession.Sessions.
type Web interface {
	// Identify says who is: OutcomeNoBearer for nobody.
	Identify(r *http.Request) auth.Verdict
	// CheckOrigin refuses a request that does not come from a page of this worker and is none for reading.
	CheckOrigin(r *http.Request) error
}

// Operation serves one request and returns what is answered as JSON. Errors: those of BadInput, Decode and Call; others
// are defects.
type Operation func(ctx context.Context, r Request) (any, error)

// Request is one request whose sender is known.
type Request struct {
	// Identity is the sender.
	Identity props.Identity
	// Stub is its organization's object.
	Stub *binding.Stub
	// Elements are those of the path below Options.Path, without slashes.
	Elements []string
	// Query is the URL's.
	Query url.Values
	// Body is the request's, nil for GET.
	Body []byte
}

// Handler serves Options.Path and what is below it.
type Handler struct{ o Options }

// New returns a handler.
func New(o Options) *Handler {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBodyBytes <= 0 {
		o.MaxBodyBytes = defaultMaxBodyBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{o}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var elements []string
	if below := strings.Trim(strings.TrimPrefix(r.URL.Path, h.o.Path), "/"); below != "" {
		elements = strings.Split(below, "/")
	}
	serve, allow := h.o.Operation(r.Method, elements)
	switch {
	case serve == nil && allow == "":
		ingress.WriteError(w, r, http.StatusNotFound, "there is nothing at this path")
		return
	case serve == nil:
		w.Header().Set("Allow", allow)
		ingress.WriteError(w, r, http.StatusMethodNotAllowed, "allowed here: "+allow)
		return
	}
	v, foreign := h.identify(r)
	if foreign != nil {
		ingress.WriteError(w, r, http.StatusForbidden, "this request comes from no page of this worker")
		return
	}
	if refusal := v.HTTPError(); refusal != nil {
		h.refuse(w, r, v, refusal)
		return
	}
	body, err := readBody(w, r, h.o.MaxBodyBytes)
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), h.o.Timeout)
		defer cancel()
		var out any
		out, err = serve(ctx, Request{
			Identity: v.Identity, Stub: h.o.Objects.GetByName(v.Identity.OrganizationID).WithProps(v.Identity.Encode()),
			Elements: elements, Query: r.URL.Query(), Body: body,
		})
		if err == nil {
			ingress.WriteJSON(w, http.StatusOK, out)
			return
		}
	}
	h.fail(w, r, err)
}

// identify says who makes a request: by its bearer token if it has one, by the session of the browser if not. A browser
// sends its session whoever asks it to, so a request from elsewhere is refused.
func (h *Handler) identify(r *http.Request) (v auth.Verdict, foreign error) {
	v = h.o.Gate.Identify(r.Context(), r.Header)
	if v.HasBearer() || h.o.Web == nil {
		return v, nil
	}
	if web := h.o.Web.Identify(r); web.Outcome != auth.OutcomeNoBearer {
		return web, h.o.Web.CheckOrigin(r)
	}
	return v, nil
}

// refuse answers a request whose sender is not known or not allowed.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, v auth.Verdict, refusal *props.HTTPError) {
	switch refusal.Status {
	case http.StatusUnauthorized:
		h.o.Gate.Challenge(w, r, v)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "2")
		h.o.Log.WarnContext(r.Context(), "authentication unavailable", "err", v.Err)
	}
	ingress.WriteError(w, r, refusal.Status, refusal.Message)
}

// fail maps the error of an operation to the answer.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var bad *inputError
	if errors.As(err, &bad) {
		ingress.WriteError(w, r, bad.status, bad.message)
		return
	}
	var e *sidecar.Error
	if errors.As(err, &e) {
		if status := thrownStatus(e.Name); status != 0 {
			ingress.WriteError(w, r, status, e.Message)
			return
		}
	}
	if Unavailable(err) {
		w.Header().Set("Retry-After", "2")
		ingress.WriteError(w, r, http.StatusServiceUnavailable, h.o.What+" are restarting, please try again")
		return
	}
	if r.Context().Err() == nil {
		h.o.Log.ErrorContext(r.Context(), "api request failed", "path", h.o.Path, "err", err)
	}
	ingress.WriteError(w, r, http.StatusInternalServerError, "Internal server error")
}

// Unavailable reports whether an error of Call is one that passes, such as while an object's host restarts.
func Unavailable(err error) bool {
	var e *sidecar.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Reason {
	case sidecar.ReasonUnplaced, sidecar.ReasonDisconnected, sidecar.ReasonDraining, sidecar.ReasonOverloaded,
		sidecar.ReasonBroken, sidecar.ReasonStaleEpoch, sidecar.ReasonDeadline, sidecar.ReasonCanceled:
		return true
	}
	return false
}

// thrownStatus returns the status that answers an error thrown by an object for the client to read, 0 for another one.
func thrownStatus(name string) int {
	switch name {
	case props.ErrorNameInvalid:
		return http.StatusBadRequest
	case props.ErrorNameNotFound:
		return http.StatusNotFound
	case props.ErrorNameLimit:
		return http.StatusConflict
	case props.ErrorNameUnreachable:
		return http.StatusBadGateway
	}
	return 0
}

// Call runs a method of an object with one argument and reads its result.
func Call[Out any](ctx context.Context, stub *binding.Stub, method string, in any) (Out, error) {
	var out Out
	args, err := v8value.MarshalArguments(in)
	if err != nil {
		return out, err
	}
	result, err := stub.Call(ctx, method, args)
	if err != nil {
		return out, err
	}
	return out, v8value.Unmarshal(result, &out)
}

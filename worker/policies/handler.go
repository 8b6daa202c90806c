package policies

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/ingress"
)

// Path is where the policies are; one of them is at Path, a slash and its ID.
const Path = "/api/policies"

// callTimeout bounds a call of the policies object.
const callTimeout = 10 * time.Second

// Options say how the handler works.
type Options struct {
	// Gate authenticates.
	Gate *auth.Gate
	// Policies is the namespace of the policies objects.
	Policies *binding.Namespace
	// Log takes defects; nil discards them.
	Log *slog.Logger
}

// Handler serves Path and what is below it.
type Handler struct {
	gate     *auth.Gate
	policies *binding.Namespace
	log      *slog.Logger
}

// New returns the handler.
func New(o Options) *Handler {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Handler{gate: o.Gate, policies: o.Policies, log: log}
}

// request is one request whose sender is known.
type request struct {
	stub    *binding.Stub
	account string
	id      string // of the policy, if the path has one
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, Path), "/")
	serve, allow := operation(r.Method, id != "")
	if serve == nil {
		w.Header().Set("Allow", allow)
		ingress.WriteError(w, r, http.StatusMethodNotAllowed, "allowed here: "+allow)
		return
	}
	v := h.gate.Identify(r.Context(), r.Header)
	if refusal := v.HTTPError(); refusal != nil {
		h.refuse(w, r, v, refusal)
		return
	}
	body, err := readBody(w, r)
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		stub := h.policies.GetByName(v.Identity.OrganizationID).WithProps(v.Identity.Encode())
		var out any
		if out, err = serve(ctx, request{stub, v.Identity.AccountID, id}, body); err == nil {
			ingress.WriteJSON(w, http.StatusOK, out)
			return
		}
	}
	h.fail(w, r, err)
}

// refuse answers a request whose sender is not known or not allowed.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, v auth.Verdict, refusal *props.HTTPError) {
	switch refusal.Status {
	case http.StatusUnauthorized:
		h.gate.Challenge(w, r, v)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "2")
		h.log.WarnContext(r.Context(), "authentication unavailable", "err", v.Err)
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
		switch e.Name {
		case props.ErrorNameInvalid:
			ingress.WriteError(w, r, http.StatusBadRequest, e.Message)
			return
		case props.ErrorNameNotFound:
			ingress.WriteError(w, r, http.StatusNotFound, e.Message)
			return
		case props.ErrorNameLimit:
			ingress.WriteError(w, r, http.StatusConflict, e.Message)
			return
		}
		switch e.Reason {
		case sidecar.ReasonUnplaced, sidecar.ReasonDisconnected, sidecar.ReasonDraining, sidecar.ReasonOverloaded,
			sidecar.ReasonBroken, sidecar.ReasonStaleEpoch, sidecar.ReasonDeadline, sidecar.ReasonCanceled:
			w.Header().Set("Retry-After", "2")
			ingress.WriteError(w, r, http.StatusServiceUnavailable, "policies are restarting, please try again")
			return
		}
	}
	if r.Context().Err() == nil {
		h.log.ErrorContext(r.Context(), "policies request failed", "err", err)
	}
	ingress.WriteError(w, r, http.StatusInternalServerError, "Internal server error")
}

// call runs a method of an object with one argument and reads its result.
func call[Out any](ctx context.Context, stub *binding.Stub, method string, in any) (Out, error) {
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

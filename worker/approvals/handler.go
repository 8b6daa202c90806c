package approvals

import (
	"context"
	"embed"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/api"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/page"
	"github.com/tandem-do/tandem/worker/websession"
)

// Path is where the pages are, before the id of a pause.
const Path = "/approve/"

// callTimeout bounds a call of an execution's object.
const callTimeout = 10 * time.Second

//go:embed page
var files embed.FS

// Options say how the handler works.
type Options struct {
	// Sessions knows who is there.
	Sessions *websession.Sessions
	// Executions is the namespace of the execution objects.
	Executions *binding.Namespace
	// Log takes defects; nil discards them.
	Log *slog.Logger
}

// Handler serves what is below Path.
type Handler struct {
	sessions   *websession.Sessions
	executions *binding.Namespace
	pages      *page.Set
	log        *slog.Logger
}

// New returns the handler. Errors: those of its templates.
func New(o Options) (*Handler, error) {
	pages, err := page.Parse(files, "page/*.html")
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{sessions: o.Sessions, executions: o.Executions, pages: pages, log: o.Log}, nil
}

// request is one request of somebody who is signed in.
type request struct {
	h       *Handler
	w       http.ResponseWriter
	r       *http.Request
	visitor websession.Visitor
	// id names the pause, stub is its execution's object.
	id   string
	stub *binding.Stub
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &request{h: h, w: w, r: r, id: strings.TrimPrefix(r.URL.Path, Path)}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		q.say(http.StatusMethodNotAllowed, "Not possible", "This page can be opened and answered, nothing else.")
		return
	}
	if h.sessions.Elsewhere(w, r) {
		return
	}
	name, err := props.ExecutionName(q.id)
	if err != nil {
		q.unknown()
		return
	}
	var ok bool
	if q.visitor, ok = h.sessions.Visitor(r); !ok {
		q.signIn()
		return
	}
	switch refusal := q.visitor.HTTPError(); {
	case q.visitor.Outcome == auth.OutcomeNoOrganization:
		q.forbidden("You are signed in, but " + q.visitor.Description + ".")
		return
	case refusal != nil:
		h.log.WarnContext(r.Context(), "membership unavailable", "err", q.visitor.Err)
		q.unavailable()
		return
	}
	q.stub = h.executions.GetByName(name).WithProps(q.visitor.Identity.Encode())
	if r.Method == http.MethodPost {
		q.answer()
		return
	}
	view, err := call(r.Context(), q.stub, props.MethodExecutionPause, props.PauseQuery{ID: q.id})
	if err != nil {
		q.failed(err)
		return
	}
	q.show(view)
}

// call runs a method of an execution's object.
func call(ctx context.Context, stub *binding.Stub, method string, in any) (props.PauseView, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return api.Call[props.PauseView](ctx, stub, method, in)
}

// signIn sends somebody who is not signed in to the issuer. An answer cannot be kept meanwhile.
func (q *request) signIn() {
	if q.r.Method != http.MethodPost {
		q.h.sessions.SignIn(q.w, q.r)
		return
	}
	q.message(http.StatusUnauthorized, page.Message{
		Head: page.Head{Title: "You are signed out"}, Tone: "bad",
		Text:  "Your answer was not taken. Sign in, look at the call again, and answer then.",
		Links: []page.Link{{Text: "Sign in", URL: q.h.sessions.SignInURL(q.r.URL.Path, false)}},
	})
}

// answer takes the form.
func (q *request) answer() {
	if err := q.h.sessions.CheckForm(q.w, q.r, q.visitor); err != nil {
		q.message(http.StatusForbidden, page.Message{
			Head: q.head("Answer not taken"), Tone: "bad",
			Text:  "The form was out of date, or came from another site. Look at the call again, and answer on its page.",
			Links: []page.Link{{Text: "Back to the call", URL: q.r.URL.Path}},
		})
		return
	}
	action := q.r.PostForm.Get("action")
	if action != "accept" && action != "decline" {
		q.say(http.StatusBadRequest, "Answer not taken", "The form says neither Approve nor Decline.")
		return
	}
	view, err := call(q.r.Context(), q.stub, props.MethodExecutionAnswer, props.PauseAnswer{ID: q.id, Action: action})
	switch {
	case err != nil:
		q.failed(err)
	case view.Status == props.PauseAnswered:
		page.Redirect(q.w, http.StatusSeeOther, q.r.URL.Path)
	default:
		q.show(view)
	}
}

// failed answers after a call of the object that failed.
func (q *request) failed(err error) {
	if api.Unavailable(err) {
		q.unavailable()
		return
	}
	if q.r.Context().Err() == nil {
		q.h.log.ErrorContext(q.r.Context(), "approval page failed", "err", err)
	}
	q.say(http.StatusInternalServerError, "Something went wrong", "This is a fault of the worker. Please try again.")
}

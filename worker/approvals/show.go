package approvals

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/worker/page"
)

// maxTextChars bounds each text of a program or a client on the page, in characters; tools have shorter names.
const maxTextChars = 300

// pending is what the page of a pending pause shows.
type pending struct {
	page.Head
	// Action is where the form goes.
	Action string
	Tool   string
	// Client asks, for an account of an organization.
	Client, Organization string
	// Pattern and Owner are of the policy.
	Pattern, Owner string
	// Arguments is as much of them as is shown; Cut is true when that is not all, and Total is how many bytes they have.
	Arguments string
	Cut       bool
	Total     int
	// All is where all of them are shown; empty if that is here.
	All string
	// Until is when it expires, Left how long that is from now.
	Until time.Time
	Left  string
}

// show shows what has become of the pause.
func (q *request) show(v props.PauseView) {
	switch v.Status {
	case props.PausePending:
		q.showPending(v)
	case props.PauseAnswered:
		q.showAnswered(v)
	case props.PauseExpired:
		q.say(http.StatusGone, "Too late",
			"Nobody answered in time, so the call of "+clean(v.Tool)+" was not made and its program has ended.")
	case props.PauseForbidden:
		q.forbidden("This call belongs to another account or organization.")
	default:
		q.unknown()
	}
}

// showPending asks for the answer.
func (q *request) showPending(v props.PauseView) {
	left := time.Until(v.Deadline)
	p := pending{
		Head: q.head("Allow this call?"), Action: q.r.URL.Path, Tool: clean(v.Tool), Client: clean(v.Client),
		Organization: clean(q.visitor.Identity.OrganizationName), Pattern: clean(v.Pattern), Owner: v.PolicyOwner,
		Total: len(v.Arguments), Until: v.Deadline.UTC(), Left: about(left),
	}
	p.Refresh = max(1, int(left/time.Second)+1) // then it says that it is too late
	limit := shownBytes
	all := q.r.URL.Query().Has("all")
	if all {
		limit = allBytes
	}
	p.Arguments, p.Cut = indent(v.Arguments, limit)
	if p.Cut && !all {
		p.All = q.r.URL.Path + "?all"
	}
	q.write(http.StatusOK, "pending", p)
}

// showAnswered says how the pause was answered.
func (q *request) showAnswered(v props.PauseView) {
	m := page.Message{Head: q.head("Answered")}
	tool := clean(v.Tool)
	switch {
	case v.Answer == "accept":
		m.Title, m.Tone = "Approved", "good"
		m.Text = "The call of " + tool + " may go on. You can close this page."
	case v.Answer != "" && v.ByPage:
		m.Title, m.Tone = "Declined", "bad"
		m.Text = "The call of " + tool + " was not made. You can close this page."
	case v.Answer != "":
		m.Title, m.Tone = "Withdrawn", "bad"
		m.Text = "The client that asked for it has declined the call of " + tool + " itself, so it was not made."
	default:
		m.Text = "This call was answered before."
	}
	q.message(http.StatusOK, m)
}

// about returns a duration in words for people.
func about(d time.Duration) string {
	s := max(0, int(d.Round(time.Second)/time.Second))
	if s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min %d s", s/60, s%60)
}

// clean returns a text of a program or client on one line, bounded, with invisible characters written out.
func clean(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.ReplaceAll(text, "\n", `\n`) {
		if n++; n > maxTextChars {
			b.WriteString("…")
			break
		}
		b.WriteString(visible(r))
	}
	return b.String()
}

// head returns the head of a page for whoever is there.
func (q *request) head(title string) page.Head {
	if q.visitor.AccountID == "" {
		return page.Head{Title: title}
	}
	return q.h.sessions.Head(title, q.visitor)
}

// forbidden answers somebody who may not see the call.
func (q *request) forbidden(why string) {
	q.message(http.StatusForbidden, page.Message{
		Head: q.head("Not yours to answer"), Tone: "bad", Text: why,
		Links: []page.Link{{Text: "Use another account", URL: q.h.sessions.SignInURL(q.r.URL.Path, true)}},
	})
}

// unknown answers for a pause that is not there.
func (q *request) unknown() {
	q.say(http.StatusNotFound, "No such call", "There is no call to approve here. It may have been answered long ago, or "+
		"the address is not complete.")
}

// unavailable answers while something that is needed is away.
func (q *request) unavailable() {
	q.w.Header().Set("Retry-After", "2")
	q.message(http.StatusServiceUnavailable, page.Message{
		Head: q.head("Just a moment"), Tone: "bad", Text: "The worker cannot ask for this call right now. Please try again.",
		Links: []page.Link{{Text: "Try again", URL: q.r.URL.Path}},
	})
}

// say answers with a message that is no good news.
func (q *request) say(status int, title, text string) {
	q.message(status, page.Message{Head: q.head(title), Text: text, Tone: "bad"})
}

func (q *request) message(status int, m page.Message) { q.write(status, "message", m) }

func (q *request) write(status int, name string, value any) {
	if err := q.h.pages.Write(q.w, status, name, value); err != nil {
		q.h.log.ErrorContext(q.r.Context(), "approval page failed", "err", err)
	}
}

package mcpsession

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// This file has what approvals on a web page need. A pause that has an ApprovalURL is accepted by the page alone; a
// client may wait for the answer, or decline the call in its user's stead.

const (
	// pageWait is how long one call of the resume tool waits for an answer on the page: less than the minute after which
	// many clients give a call up.
	pageWait = 50 * time.Second
	// maxClientName bounds what is shown of a client's name, in characters.
	maxClientName = 100
)

// sign completes a pause: its id, who asks, and where it is answered.
func (a asker) sign(p *pause, id executionID) {
	p.ID, p.Client = id.String(), a.Client
	if a.Approvals != "" {
		p.ApprovalURL = a.Approvals + p.ID
	}
}

// onlyOnPage reports whether a resume is an approval that does not count, since only the page may give it.
func onlyOnPage(p *pause, in resumeRequest) bool {
	return p.ApprovalURL != "" && in.Action == actionAccept && !in.byPage
}

// noteAnswer keeps with the pending pause how it was answered, and tells those who wait for that. Replies that are under
// way keep the pause as it was.
func (e *Execution) noteAnswer(in resumeRequest) {
	p := *e.journal.Pause
	p.Answer, p.ByPage = in.Action, in.byPage
	e.journal.Pause = &p
	e.announce()
}

// announce wakes those who wait for an answer.
func (e *Execution) announce() {
	close(e.answered)
	e.answered = make(chan struct{})
}

// await waits until a pause is answered, for at most pageWait, and returns what a resume of it comes to.
func (e *Execution) await(ctx context.Context, in awaitRequest) (reply, error) {
	wait, cancel := e.state.Clock().WithTimeout(ctx, pageWait, nil)
	defer cancel()
	for {
		answered := e.answered
		r, err := e.resume(ctx, resumeRequest{ID: in.ID})
		if err != nil || r.Status != statusWaiting || r.Pause.ID != in.ID {
			return r, err
		}
		over := false
		err = e.state.Await(wait, func(wait context.Context) error {
			select {
			case <-answered:
			case <-e.env.Draining:
				over = true
			case <-wait.Done():
				over = true
			}
			return nil
		})
		if ctx.Err() != nil {
			return reply{}, context.Cause(ctx)
		}
		if err != nil || over {
			return r, nil
		}
	}
}

// pending tells the approval page of a pause.
func (e *Execution) pending(ctx context.Context, q props.PauseQuery) (props.PauseView, error) {
	who, err := props.DecodeIdentity(e.state.Props(ctx))
	if err != nil {
		return props.PauseView{}, err
	}
	id, err := parseExecutionID(q.ID)
	if err != nil {
		return props.PauseView{Status: props.PauseUnknown}, nil
	}
	return viewPause(e.journal, id.Pause(), who), nil
}

// answer takes what a person decided on the approval page, and tells how the pause is answered then. It does not wait
// for what the program does with it.
func (e *Execution) answer(ctx context.Context, in props.PauseAnswer) (props.PauseView, error) {
	if in.Action != actionAccept && in.Action != actionDecline {
		return props.PauseView{}, durableobject.Exception("TypeError", "the page accepts or declines")
	}
	view, err := e.pending(ctx, props.PauseQuery{ID: in.ID})
	if err != nil || view.Status != props.PausePending {
		return view, err
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanExecuteResume)
	span.SetString(telemetry.AttrResumeAction, in.Action)
	span.SetString(telemetry.AttrExecutionID, in.ID)
	if _, _, err = e.take(ctx, resumeRequest{ID: in.ID, Action: in.Action, byPage: true}); err == nil {
		view, err = e.pending(ctx, props.PauseQuery{ID: in.ID})
	}
	span.SetString(telemetry.AttrOutcome, view.Status)
	span.End(err)
	return view, err
}

// viewPause says what the approval page shows of pause number n to somebody.
func viewPause(j *journal, n uint64, who props.Identity) props.PauseView {
	switch {
	case j == nil || n == 0 || n > j.Pauses:
		return props.PauseView{Status: props.PauseUnknown}
	case j.AccountID != who.AccountID || j.OrganizationID != who.OrganizationID:
		return props.PauseView{Status: props.PauseForbidden}
	case n < j.Pauses:
		return props.PauseView{Status: props.PauseAnswered}
	}
	p := j.Pause
	view := props.PauseView{
		Status: props.PauseAnswered, Tool: p.Tool, Arguments: argumentsOrEmpty(p.Arguments), Pattern: p.Pattern,
		PolicyOwner: p.Owner, Client: p.Client, Deadline: p.Deadline, Answer: p.Answer, ByPage: p.ByPage,
	}
	switch {
	case j.Phase == phasePaused:
		view.Status = props.PausePending
	case p.Answer == "" && j.Phase == phaseExpired:
		view.Status = props.PauseExpired
	}
	return view
}

// clientName returns what a client calls itself, as far as it can be shown.
func clientName(req *mcp.CallToolRequest) string {
	c := req.ClientInfo()
	if c == nil {
		return ""
	}
	name := c.Title
	if name == "" {
		name = c.Name
	}
	clean := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(name+" "+c.Version, ""))
	if runes := []rune(strings.TrimSpace(clean)); len(runes) > maxClientName {
		return string(runes[:maxClientName]) + "…"
	}
	return strings.TrimSpace(clean)
}

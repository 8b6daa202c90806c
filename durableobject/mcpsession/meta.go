package mcpsession

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
)

const (
	// metaKey is where a session's meta is stored.
	metaKey = "meta"
	// maxInitializeBytes bounds the initialize parameters, which are kept for as long as the session.
	maxInitializeBytes = 64 << 10
)

// sessionMeta is what is kept of a session from initialize on.
type sessionMeta struct {
	// AccountID and OrganizationID own the session.
	AccountID      string `json:"accountId"`
	OrganizationID string `json:"organizationId"`
	// OrganizationName is the organization's display name at initialize.
	OrganizationName string `json:"organizationName"`
	// Mode is how a paused call asks for approval: one of the Elicitation values.
	Mode string `json:"mode"`
	// Approvals is where pauses are answered with ElicitationBrowser: see HeaderApprovals.
	Approvals string `json:"approvals,omitempty"`
	// Resource is the MCP endpoint as the client addressed it.
	Resource string `json:"resource"`
	// Initialize are the parameters of initialize, as JSON.
	Initialize []byte `json:"initialize"`
	// CreatedAt is when the session was made.
	CreatedAt time.Time `json:"createdAt"`
	// Ended is true after DELETE.
	Ended bool `json:"ended"`
}

// newMeta returns the meta of the session that an initialize asks for. Errors are *props.HTTPError.
func newMeta(who props.Identity, r *http.Request, in *inspected, now time.Time) (*sessionMeta, error) {
	if in.batch || !in.initialize || len(in.calls) != 1 {
		return nil, errOnce
	}
	if len(in.params) > maxInitializeBytes {
		return nil, badInitialize("the initialize parameters are too large")
	}
	m := &sessionMeta{
		AccountID: who.AccountID, OrganizationID: who.OrganizationID, OrganizationName: who.OrganizationName,
		Mode: r.Header.Get(props.HeaderElicitationMode), Resource: r.Header.Get(props.HeaderResource),
		Initialize: in.params, CreatedAt: now.UTC().Truncate(time.Millisecond),
	}
	switch m.Mode {
	case props.ElicitationModel:
	case "":
		m.Mode = props.ElicitationModel
	case props.ElicitationNative:
		if !elicitsForms(in.params) {
			return nil, badInitialize("elicitation_mode=native needs a client with the elicitation capability for forms")
		}
	case props.ElicitationBrowser:
		if m.Approvals = r.Header.Get(props.HeaderApprovals); m.Approvals == "" {
			return nil, badInitialize(noApprovalPage)
		}
	default:
		return nil, badInitialize("elicitation_mode must be model, native or browser")
	}
	return m, nil
}

const noApprovalPage = "elicitation_mode=browser needs a worker with an approval page; use model or native"

func badInitialize(what string) error {
	return &props.HTTPError{
		Status: http.StatusBadRequest, Code: props.CodeInvalid, Message: "Invalid Request: " + what,
	}
}

// elicitsForms reports whether a client that initializes so can show a form.
func elicitsForms(initialize []byte) bool {
	var p mcp.InitializeParams
	return json.Unmarshal(initialize, &p) == nil && showsForms(p.Capabilities)
}

// showsForms reports whether a client can show a form. One that says neither form nor url means forms.
func showsForms(c *mcp.ClientCapabilities) bool {
	if c == nil || c.Elicitation == nil {
		return false
	}
	return c.Elicitation.Form != nil || c.Elicitation.URL == nil
}

func (m *sessionMeta) identity() props.Identity {
	return props.Identity{
		AccountID: m.AccountID, OrganizationID: m.OrganizationID, OrganizationName: m.OrganizationName,
	}
}

// load reads the meta, if that has not happened yet. A session that is not there is read each time: nothing of it is
// kept, and nothing is written.
func (s *Session) load(ctx context.Context) error {
	if s.meta != nil {
		return nil
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanSessionLoadMeta)
	meta, ok, err := durableobject.Get[sessionMeta](ctx, s.state.Storage(), metaKey)
	span.End(err)
	if ok {
		s.meta = &meta
	}
	return err
}

// save writes the meta, with the alarm that disposes of an idle runtime, in one commit. What leaves the object after it
// waits until it is on disk.
func (s *Session) save(ctx context.Context, m *sessionMeta) error {
	ctx, span := telemetry.Start(ctx, telemetry.SpanSessionSaveMeta)
	err := durableobject.Put(ctx, s.state.Storage(), metaKey, m)
	if err == nil {
		s.meta = m
		if m.Ended {
			err = s.state.Storage().DeleteAlarm(ctx, storage.PutOptions{})
		} else {
			err = s.state.Storage().SetAlarm(ctx, s.state.Clock().Now().Add(s.env.SessionTimeout), storage.PutOptions{})
		}
	}
	span.End(err)
	return err
}

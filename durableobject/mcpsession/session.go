package mcpsession

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/v8value"
)

// Session is the object of one MCP session. All fields are touched in its turns only.
type Session struct {
	env   *environment
	state *durableobject.State
	// meta is what is stored; nil until it was loaded, and when there is none.
	meta *sessionMeta
	// creating is true while an initialize runs.
	creating bool
	// rt is the runtime, if there is one.
	rt *runtime
}

var (
	_ durableobject.Fetcher = (*Session)(nil)
	_ durableobject.Alarmer = (*Session)(nil)
)

// Fetch handles a request that the worker has authenticated.
func (s *Session) Fetch(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	who, err := props.DecodeIdentity(s.state.Props(ctx))
	if err != nil {
		return err
	}
	switch intent := r.Header.Get(props.HeaderIntent); intent {
	case props.IntentCreate:
		err = s.create(ctx, who, w, r)
	case props.IntentUse:
		err = s.use(ctx, who, w, r)
	case props.IntentStateless:
		err = s.standAlone(ctx, who, w, r)
	default:
		return durableobject.Exception("TypeError", fmt.Sprintf("unknown session intent %q", intent))
	}
	var answer *props.HTTPError
	if errors.As(err, &answer) {
		answer.WriteTo(w)
		return nil
	}
	return err
}

// create makes the session of an initialize. It keeps nothing of one that fails.
func (s *Session) create(ctx context.Context, who props.Identity, w http.ResponseWriter, r *http.Request) error {
	if err := s.load(ctx); err != nil {
		return err
	}
	if s.meta != nil || s.creating || r.Header.Get(props.HeaderSessionID) != "" {
		return errOnce
	}
	s.creating = true
	defer func() { s.creating = false }()

	var in *inspected
	err := s.state.Await(ctx, func(context.Context) (err error) {
		in, err = inspect(r)
		return err
	})
	if err != nil {
		return err
	}
	meta, err := s.resolve(ctx, who, r, in)
	if err != nil {
		return err
	}
	rt, out := newRuntime(ctx, s.caller(meta), nil), newOutlet(&s.env.backlog)
	defer out.release()
	err = s.state.Await(ctx, func(ctx context.Context) error { return rt.serveInto(ctx, out, r, in) })
	if err != nil || rt.server.InitializeParams() == nil {
		rt.cancel(errDisposed)
		if err != nil {
			return err
		}
		return out.writeTo(w)
	}
	if err := s.save(ctx, meta); err != nil {
		return err
	}
	s.rt = rt
	return out.writeTo(w)
}

// resolve returns the meta of a new session. The organization is the one in the props: the worker has resolved it.
func (s *Session) resolve(
	ctx context.Context, who props.Identity, r *http.Request, in *inspected,
) (*sessionMeta, error) {
	_, span := telemetry.Start(ctx, telemetry.SpanResolveSessionMeta)
	span.SetString(telemetry.AttrMetaSource, "props")
	meta, err := newMeta(who, r, in, s.state.Clock().Now())
	span.End(err)
	return meta, err
}

// use handles any request of a session that exists.
func (s *Session) use(ctx context.Context, who props.Identity, w http.ResponseWriter, r *http.Request) error {
	if err := s.authorize(ctx, who); err != nil {
		return err
	}
	switch r.Method {
	case http.MethodDelete:
		return s.delete(ctx, w)
	case http.MethodGet, http.MethodPost:
	default:
		return &props.HTTPError{
			Status: http.StatusMethodNotAllowed, Code: props.CodeUnauthorized, Message: "Method Not Allowed",
		}
	}
	rt, err := s.restore(ctx)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		rt.count(0)
		return s.state.Await(ctx, func(ctx context.Context) error { return rt.serve(ctx, w, r, nil) })
	}
	rt.begin()
	defer rt.end()
	return s.state.Await(ctx, func(ctx context.Context) error {
		in, err := inspect(r)
		if err != nil {
			return err
		}
		if in.initialize {
			return errOnce
		}
		return rt.serve(ctx, w, r, in)
	})
}

// standAlone handles a request without a session. It reads and writes no storage.
func (s *Session) standAlone(ctx context.Context, who props.Identity, w http.ResponseWriter, r *http.Request) error {
	c := &caller{
		env: s.env, state: s.state, owner: who,
		mode: r.Header.Get(props.HeaderElicitationMode), approvals: r.Header.Get(props.HeaderApprovals),
	}
	return s.state.Await(ctx, func(ctx context.Context) error {
		return s.env.backlog.carry(ctx, w, flushDelay, func(ctx context.Context, out *outlet) error {
			ctx = context.WithValue(ctx, callerKey{}, c)
			request := r.WithContext(ctx)
			request.Header = r.Header.Clone()
			telemetry.InjectHTTP(ctx, request.Header)
			s.env.stateless.ServeHTTP(out, request)
			return nil
		})
	})
}

// check is the worker's question whether the identity in the props may use the session. It reads no arguments.
func (s *Session) check(ctx context.Context) error {
	who, err := props.DecodeIdentity(s.state.Props(ctx))
	if err != nil {
		return err
	}
	switch err := s.authorize(ctx, who); {
	case errors.Is(err, props.ErrSessionNotFound):
		return durableobject.Exception(props.SessionErrorNotFound, err.Error())
	case errors.Is(err, props.ErrSessionEnded):
		return durableobject.Exception(props.SessionErrorEnded, err.Error())
	case errors.Is(err, props.ErrSessionForbidden):
		return durableobject.Exception(props.SessionErrorForbidden, err.Error())
	default:
		return err
	}
}

// checkMethod makes check a method. The worker sends no arguments, not even an empty list of them.
func checkMethod(ctx context.Context, instance any, _ []byte) ([]byte, error) {
	s, ok := instance.(*Session)
	if !ok {
		return nil, fmt.Errorf("instance is a %T, check wants a session", instance)
	}
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	return v8value.Marshal(nil)
}

// authorize says whether an identity may use the session: nil, one of the props.ErrSession errors, or an error of
// storage.
func (s *Session) authorize(ctx context.Context, who props.Identity) error {
	if err := s.load(ctx); err != nil {
		return err
	}
	switch {
	case s.meta == nil:
		return props.ErrSessionNotFound
	case s.meta.AccountID != who.AccountID || s.meta.OrganizationID != who.OrganizationID:
		return props.ErrSessionForbidden
	case s.meta.Ended:
		return props.ErrSessionEnded
	}
	return nil
}

// restore returns the runtime, and makes a new one if the last was disposed of. It does not give its turn away, so
// requests that arrive together find the same one.
func (s *Session) restore(ctx context.Context) (*runtime, error) {
	if s.rt != nil && !s.rt.gone() {
		return s.rt, nil
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanResolveSessionMeta)
	span.SetString(telemetry.AttrMetaSource, "stored")
	state := &mcp.ServerSessionState{InitializedParams: &mcp.InitializedParams{}, LogLevel: "info"}
	err := json.Unmarshal(s.meta.Initialize, &state.InitializeParams)
	if err == nil {
		// Nobody needs to wait for this alarm to be on disk: if it is lost, so is the runtime that it is for.
		at := s.state.Clock().Now().Add(s.env.SessionTimeout)
		err = s.state.Storage().SetAlarm(ctx, at, storage.PutOptions{AllowUnconfirmed: true})
	}
	span.End(err)
	if err != nil {
		return nil, fmt.Errorf("restore session: %w", err)
	}
	s.rt = newRuntime(ctx, s.caller(s.meta), state)
	return s.rt, nil
}

func (s *Session) caller(m *sessionMeta) caller {
	return caller{env: s.env, state: s.state, owner: m.identity(), mode: m.Mode, approvals: m.Approvals}
}

// delete ends the session for good. Its id is never valid again.
func (s *Session) delete(ctx context.Context, w http.ResponseWriter) error {
	ended := *s.meta
	ended.Ended, ended.Initialize = true, nil
	if err := s.save(ctx, &ended); err != nil {
		return err
	}
	if rt := s.rt; rt != nil {
		s.rt = nil
		s.dispose(ctx, rt, disposeEnded)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// Alarm disposes of a runtime that has been idle for long enough.
func (s *Session) Alarm(ctx context.Context, _ durableobject.AlarmInfo) error {
	rt := s.rt
	if rt == nil || rt.gone() {
		return nil
	}
	now := s.state.Clock().Now()
	timeouts := sessionTimeouts{idle: s.env.SessionTimeout, paused: s.env.PausedTimeout}
	d := decideSessionAlarm(rt.activity(now), timeouts, now)
	if !d.dispose {
		return s.state.Storage().SetAlarm(ctx, d.again, storage.PutOptions{AllowUnconfirmed: true})
	}
	s.rt = nil // whoever comes from here on gets a new one
	s.dispose(ctx, rt, d.reason)
	return nil
}

// dispose ends a runtime, and the paused executions that its client was told of.
func (s *Session) dispose(ctx context.Context, rt *runtime, reason string) {
	now := s.state.Clock().Now()
	activity := rt.activity(now)
	ctx, span := telemetry.Start(ctx, telemetry.SpanSessionIdleDispose)
	span.SetInt(telemetry.AttrIdleMS, now.Sub(activity.lastActive).Milliseconds())
	span.SetInt(telemetry.AttrPausedCount, int64(activity.paused))
	span.SetString(telemetry.AttrDisposeReason, reason)
	rt.cancel(errDisposed)
	err := s.state.Await(ctx, func(ctx context.Context) error {
		for _, id := range rt.takePaused() {
			if err := rt.caller.expire(ctx, id); err != nil {
				// It expires by itself when its approval window has passed.
				s.env.Log.Warn("paused execution not expired", "object_id", s.state.ID().String(), "err", err)
			}
		}
		select {
		case <-rt.closed:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	span.End(err)
}

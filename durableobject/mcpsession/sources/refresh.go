package sources

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/proto/props"
)

// inspectTimeout bounds how long a source may take to say what it has.
const inspectTimeout = 45 * time.Second

var errTimeout = errors.New("the source took too long")

// inspected is what a source had when it was asked.
type inspected struct {
	upstream.Inspection
	snapshot *snapshot
	// rotated are the credentials that replaced those it was asked with; empty if none did.
	rotated string
}

// inspect asks a source what it has, and gives the turn away meanwhile. Errors are *upstream.Error, for whoever asked,
// and exceptions.
func (s *Sources) inspect(ctx context.Context, spec upstream.Spec) (in inspected, err error) {
	if s.env.Connector == nil {
		return in, upstream.Errorf(upstream.CodeRefused, "this host connects to no sources")
	}
	if s.inspections >= maxInspections {
		return in, durableobject.Exception(props.ErrorNameLimit, "other sources are being connected to; try again")
	}
	s.inspections++
	defer func() { s.inspections-- }()
	spec.Save = func(secret string) { in.rotated = secret }
	err = s.state.Await(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, inspectTimeout, errTimeout)
		defer cancel()
		err := s.ask(ctx, spec, &in)
		if errors.Is(context.Cause(ctx), errTimeout) {
			return upstream.Errorf(upstream.CodeUnavailable, "the source did not answer within %v", inspectTimeout)
		}
		return err
	})
	in.Tools = nil
	return in, err
}

// ask runs the source's code, when a place is free. A panic in it is the source's failure.
func (s *Sources) ask(ctx context.Context, spec upstream.Spec, in *inspected) (err error) {
	select {
	case s.env.inspections <- struct{}{}:
		defer func() { <-s.env.inspections }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() {
		if v := recover(); v != nil {
			s.env.Log.Error("source panicked", "panic", v, "stack", string(debug.Stack()))
			err = upstream.Errorf(upstream.CodeFailed, "the source could not be read")
		}
	}()
	if in.Inspection, err = s.env.Connector.Inspect(ctx, spec); err != nil {
		return err
	}
	in.snapshot, err = newSnapshot(in.Tools)
	return err
}

// failure returns what a failed inspection tells, and whether it tells anything: another error is a defect, the host's
// end or the caller's.
func failure(err error) (string, bool) {
	var known *upstream.Error
	if !errors.As(err, &known) {
		return "", false
	}
	return cut(strings.ToValidUTF8(known.Message, "�"), 1000), true
}

// refresh asks a source for its tools.
func (s *Sources) refresh(ctx context.Context, q props.SourceQuery) (props.Source, error) {
	r, err := s.find(q.ID)
	if err != nil {
		return props.Source{}, err
	}
	spec, err := s.spec(ctx, r)
	if err != nil {
		message := s.unreadable(r, err)
		return s.noteFailure(ctx, r, message)
	}
	in, err := s.inspect(ctx, spec)
	message, told := failure(err)
	if err != nil && !told {
		return props.Source{}, err
	}
	now, err2 := s.find(q.ID)
	switch {
	case err2 != nil:
		return props.Source{}, err2
	case now.Revision != r.Revision: // given other credentials meanwhile, which were tried too
		return now.Source, nil
	}
	next := now.clone()
	if in.rotated != "" {
		if err := s.storeSecret(ctx, q.ID, in.rotated); err != nil {
			return props.Source{}, err
		}
		next.Revision++
	}
	if err != nil {
		return s.noteFailure(ctx, next, message)
	}
	return s.accept(ctx, next, in)
}

// accept stores what a source has, with the record next.
func (s *Sources) accept(ctx context.Context, next *record, in inspected) (props.Source, error) {
	id := next.Source.ID
	if next.Server != "" && in.Server != next.Server {
		return s.noteFailure(ctx, next, "the document names another server, "+cut(in.Server, 300)+
			", which the credentials are not for; if that is right, remove the source and add it again")
	}
	if len(in.Document) > 0 && next.Source.URL != "" {
		changed, err := s.putDocument(ctx, id, in.Document)
		if err != nil {
			return props.Source{}, err
		}
		if changed || next.DocumentURL != in.DocumentURL {
			next.Revision++
		}
		next.DocumentURL = in.DocumentURL
	}
	if err := s.putTools(ctx, next, in.snapshot); err != nil {
		return props.Source{}, err
	}
	at := s.now()
	next.Server = in.Server
	next.Source.Refresh = props.SourceRefresh{
		Status: props.RefreshOK, Message: strings.Trim(in.Note+"; "+in.snapshot.note, "; "), At: &at,
	}
	if err := s.put(ctx, next); err != nil {
		return props.Source{}, err
	}
	s.env.Pool.Drop(s.state.ID().String(), id, next.Revision)
	return next.Source, nil
}

// putDocument stores a document and reports whether it is another one.
func (s *Sources) putDocument(ctx context.Context, id string, document []byte) (bool, error) {
	old, ok, err := durableobject.Get[[]byte](ctx, s.state.Storage(), documentPrefix+id)
	if err != nil || ok && string(old) == string(document) {
		return false, err
	}
	return true, durableobject.Put(ctx, s.state.Storage(), documentPrefix+id, document)
}

// noteFailure stores that a source could not be reached. Its tools stay.
func (s *Sources) noteFailure(ctx context.Context, r *record, message string) (props.Source, error) {
	next, at := r.clone(), s.now()
	next.Source.Refresh = props.SourceRefresh{Status: props.RefreshError, Message: message, At: &at}
	return next.Source, s.put(ctx, next)
}

// spec returns how a source is reached.
func (s *Sources) spec(ctx context.Context, r *record) (upstream.Spec, error) {
	auth, err := s.credentials(ctx, r)
	if err != nil {
		return upstream.Spec{}, err
	}
	spec := upstream.Spec{
		Kind: r.Source.Kind, URL: r.Source.URL, BaseURL: r.Source.BaseURL, DocumentURL: r.DocumentURL, Auth: auth,
	}
	if spec.Kind == props.SourceOpenAPI {
		spec.Document, _, err = durableobject.Get[[]byte](ctx, s.state.Storage(), documentPrefix+r.Source.ID)
	}
	return spec, err
}

// unreadable logs why the secret of a source cannot be had, and returns what members are told.
func (s *Sources) unreadable(r *record, err error) string {
	s.env.Log.Error("secret of a source not readable", "object_id", s.state.ID().String(), "source", r.Source.ID, "err", err)
	return "the credentials of the source cannot be read on this host; give it new ones (the host's log says why)"
}

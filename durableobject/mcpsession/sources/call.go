package sources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/pool"
	"github.com/tandem-do/tandem/proto/props"
)

// maxDetailsBytes bounds what a source says about its error.
const maxDetailsBytes = 64 << 10

// CodeToolNotFound is the code of a call whose tool is there no more.
const CodeToolNotFound = "tool_not_found"

// call calls a tool and gives the turn away meanwhile.
func (s *Sources) call(ctx context.Context, c props.SourceCall) (props.SourceResult, error) {
	r, x, n, err := s.at(ctx, c.Path)
	switch {
	case err != nil:
		return props.SourceResult{}, err
	case r == nil || n < 0:
		return failed(CodeToolNotFound, fmt.Sprintf("there is no tool %.200q", c.Path)), nil
	case s.env.Connector == nil:
		return failed(upstream.CodeRefused, "this host connects to no sources"), nil
	}
	key, tool := s.key(r), x.items[n].Name
	var data json.RawMessage
	err = s.state.Await(ctx, func(ctx context.Context) (err error) {
		data, err = s.env.Pool.Call(ctx, key, s.open(r, key), tool, c.Arguments)
		return err
	})
	if stored := s.storeRotated(ctx, r, key); stored != nil {
		return props.SourceResult{}, stored
	}
	var known *upstream.Error
	switch {
	case errors.As(err, &known):
		return failedBy(r.Source.Name, known), nil
	case err != nil:
		return props.SourceResult{}, err
	}
	return props.SourceResult{Data: data}, nil
}

func failed(code, message string) props.SourceResult {
	return props.SourceResult{Error: &props.SourceError{Code: code, Message: message}}
}

// failedBy says which source it was that failed.
func failedBy(name string, e *upstream.Error) props.SourceResult {
	result := failed(e.Code, name+": "+e.Message)
	if len(e.Details) <= maxDetailsBytes && json.Valid(e.Details) {
		result.Error.Details = e.Details
	}
	return result
}

// open returns what opens the connection of a source. It runs outside turns, as part of a call of this object, and reads
// the secret in one of its own.
func (s *Sources) open(r *record, key pool.Key) pool.Open {
	return func(ctx context.Context) (upstream.Source, error) {
		var spec upstream.Spec
		err := s.state.Enter(ctx, func(ctx context.Context) error {
			var err error
			if spec, err = s.spec(ctx, r); err != nil {
				return upstream.Errorf(upstream.CodeUnauthorized, "%s", s.unreadable(r, err))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		spec.Save = func(secret string) { s.env.rotated.Add(key, secret, len(secret)) }
		source, err := s.env.Connector.Connect(ctx, spec)
		if err != nil {
			return nil, err
		}
		return weighed{source, len(spec.Document)}, nil
	}
}

// weighed is a source that was made of a document.
type weighed struct {
	upstream.Source
	bytes int
}

// WeightBytes implements pool.Weighty.
func (w weighed) WeightBytes() int { return w.bytes }

// storeRotated stores the credentials that have replaced those of a connection, if any have. The connection goes on with
// them.
func (s *Sources) storeRotated(ctx context.Context, r *record, key pool.Key) error {
	secret, ok := s.env.rotated.Take(key)
	if !ok {
		return nil
	}
	if now := s.records[r.Source.ID]; now == nil || now.Revision != key.Revision {
		return nil // removed, or given others
	}
	return s.storeSecret(ctx, r.Source.ID, secret)
}

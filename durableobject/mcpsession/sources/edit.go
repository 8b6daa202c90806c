package sources

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
)

// free says whether one more source may have a name.
func (s *Sources) free(name string) error {
	switch {
	case s.named(name) != nil:
		return invalid("name %q is taken by another source", name)
	case len(s.records) >= maxSources:
		return durableobject.Exception(props.ErrorNameLimit,
			fmt.Sprintf("an organization may have at most %d sources", maxSources))
	}
	return nil
}

func (s *Sources) create(ctx context.Context, c props.SourceCreate) (props.Source, error) {
	if err := checkName(c.Name); err != nil {
		return props.Source{}, err
	}
	if err := checkAddress(&c); err != nil {
		return props.Source{}, err
	}
	if err := s.checkAuth(c.Kind, &c.Auth); err != nil {
		return props.Source{}, err
	}
	if err := s.free(c.Name); err != nil {
		return props.Source{}, err
	}
	var in *inspected
	if !c.Unverified {
		found, err := s.inspect(ctx, upstream.Spec{
			Kind: c.Kind, URL: c.URL, BaseURL: c.BaseURL, Document: []byte(c.Document), Auth: c.Auth,
		})
		if message, told := failure(err); told {
			return props.Source{}, durableobject.Exception(props.ErrorNameUnreachable, message)
		}
		if err != nil {
			return props.Source{}, err
		}
		if err := s.free(c.Name); err != nil { // others came meanwhile
			return props.Source{}, err
		}
		in, c.Auth.Secret = &found, cmp.Or(found.rotated, c.Auth.Secret)
	}
	return s.add(ctx, &c, in)
}

// add stores a new source.
func (s *Sources) add(ctx context.Context, c *props.SourceCreate, in *inspected) (props.Source, error) {
	now := s.now()
	r := &record{Revision: 1, Source: props.Source{
		ID: "src_" + uuid.NewString(), Name: c.Name, Kind: c.Kind, URL: c.URL, BaseURL: c.BaseURL,
		Auth:    props.SourceAuth{Kind: c.Auth.Kind, Header: c.Auth.Header},
		Enabled: !c.Disabled, CreatedBy: c.AccountID, CreatedAt: now, UpdatedAt: now,
		Refresh: props.SourceRefresh{Status: props.RefreshNever},
	}}
	if c.Auth.Secret != "" {
		if err := s.storeSecret(ctx, r.Source.ID, c.Auth.Secret); err != nil {
			return props.Source{}, err
		}
	}
	if c.Document != "" {
		err := durableobject.Put(ctx, s.state.Storage(), documentPrefix+r.Source.ID, []byte(c.Document))
		if err != nil {
			return props.Source{}, err
		}
	}
	if in != nil {
		return s.accept(ctx, r, *in)
	}
	return r.Source, s.put(ctx, r)
}

func (s *Sources) update(ctx context.Context, u props.SourceUpdate) (props.Source, error) {
	r, err := s.find(u.ID)
	if err != nil {
		return props.Source{}, err
	}
	if u.Name != nil && *u.Name != r.Source.Name {
		if err := checkName(*u.Name); err != nil {
			return props.Source{}, err
		}
		if s.named(*u.Name) != nil {
			return props.Source{}, invalid("name %q is taken by another source", *u.Name)
		}
	}
	var in *inspected
	if u.Auth != nil {
		if in, err = s.try(ctx, r, &u); err != nil {
			return props.Source{}, err
		}
		if r, err = s.find(u.ID); err != nil { // removed meanwhile
			return props.Source{}, err
		}
		if u.Name != nil && *u.Name != r.Source.Name && s.named(*u.Name) != nil {
			return props.Source{}, invalid("name %q is taken by another source", *u.Name)
		}
	}
	next := r.clone()
	if u.Name != nil {
		next.Source.Name = *u.Name
	}
	if u.Enabled != nil {
		next.Source.Enabled = *u.Enabled
	}
	next.Source.UpdatedAt = s.now()
	if u.Auth == nil {
		return next.Source, s.put(ctx, next)
	}
	return s.replaceAuth(ctx, next, u.Auth, in)
}

// try checks new credentials, and tries them unless they are to be taken as they are.
func (s *Sources) try(ctx context.Context, r *record, u *props.SourceUpdate) (*inspected, error) {
	if err := s.checkAuth(r.Source.Kind, u.Auth); err != nil {
		return nil, err
	}
	if u.Unverified {
		return nil, nil
	}
	spec := upstream.Spec{Kind: r.Source.Kind, URL: r.Source.URL, BaseURL: r.Source.BaseURL, Auth: *u.Auth}
	if spec.Kind == props.SourceOpenAPI {
		var err error
		spec.Document, _, err = durableobject.Get[[]byte](ctx, s.state.Storage(), documentPrefix+r.Source.ID)
		if err != nil {
			return nil, err
		}
	}
	found, err := s.inspect(ctx, spec)
	if message, told := failure(err); told {
		return nil, durableobject.Exception(props.ErrorNameUnreachable, message)
	}
	u.Auth.Secret = cmp.Or(found.rotated, u.Auth.Secret)
	return &found, err
}

// replaceAuth stores new credentials, and what they gave access to.
func (s *Sources) replaceAuth(
	ctx context.Context, next *record, auth *props.SourceCredentials, in *inspected,
) (props.Source, error) {
	if err := s.storeSecret(ctx, next.Source.ID, auth.Secret); err != nil {
		return props.Source{}, err
	}
	next.Source.Auth = props.SourceAuth{Kind: auth.Kind, Header: auth.Header}
	next.Revision++
	if in != nil {
		return s.accept(ctx, next, *in)
	}
	if err := s.put(ctx, next); err != nil {
		return props.Source{}, err
	}
	s.env.Pool.Drop(s.state.ID().String(), next.Source.ID, next.Revision)
	return next.Source, nil
}

func (s *Sources) remove(ctx context.Context, q props.SourceQuery) (props.SourceRemoved, error) {
	r, err := s.find(q.ID)
	if err != nil {
		return props.SourceRemoved{}, err
	}
	if err := s.deleteTools(ctx, q.ID, 0, r.Source.Tools); err != nil {
		return props.SourceRemoved{}, err
	}
	_, err = s.state.Storage().Delete(ctx, []string{
		recordPrefix + q.ID, secretPrefix + q.ID, documentPrefix + q.ID, indexPrefix + q.ID,
	}, storage.PutOptions{})
	if err != nil {
		return props.SourceRemoved{}, err
	}
	delete(s.records, q.ID)
	s.env.Pool.Drop(s.state.ID().String(), q.ID, 0)
	return props.SourceRemoved{Removed: true}, nil
}

package sources

import (
	"context"
	"log/slog"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/pool"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/retain"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/seal"
	"github.com/tandem-do/tandem/proto/props"
)

// Limits of one organization.
const (
	// maxSources is how many sources it may have.
	maxSources = 500
	// maxInspections is how many of them may be asked for their tools at once, maxAllInspections how many of all
	// organizations; more of these wait.
	maxInspections    = 4
	maxAllInspections = 8
	// maxIndexBytes bounds the indexes that are kept in memory, of all organizations together.
	maxIndexBytes = 32 << 20
	// maxRotatedBytes bounds the renewed credentials that wait to be stored.
	maxRotatedBytes = 4 << 20
)

// Options say how sources are reached.
type Options struct {
	// Connector opens sources. Nil refuses to add any.
	Connector upstream.Connector
	// Pool has the connections. Default: one of the class's own, which is never closed.
	Pool *pool.Pool
	// Sealer returns what seals secrets. It is asked when the first secret is to be stored or used. Nil refuses secrets.
	Sealer func() (*seal.Sealer, error)
	// Log takes the class's log; nil discards it.
	Log *slog.Logger
}

// environment is what all instances share.
type environment struct {
	Options
	// inspections has a place for each source that may be asked for its tools.
	inspections chan struct{}
	indexes     *retain.Cache[snapshotKey, *index]
	// rotated has OAuth credentials that have replaced those which a connection was opened with, until they are stored.
	rotated *retain.Cache[pool.Key, string]
}

// Class returns the class.
func Class(o Options) durableobject.Class {
	if o.Pool == nil {
		o.Pool = pool.New(pool.Options{})
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	env := &environment{
		Options: o, inspections: make(chan struct{}, maxAllInspections), indexes: retain.New[snapshotKey, *index](maxIndexBytes),
		rotated: retain.New[pool.Key, string](maxRotatedBytes),
	}
	return durableobject.Class{
		Name: "Sources",
		New: func(ctx context.Context, s *durableobject.State) (any, error) {
			return load(ctx, env, s)
		},
		Methods: map[string]durableobject.Method{
			props.MethodSourcesList:    durableobject.Func((*Sources).list),
			props.MethodSourcesGet:     durableobject.Func((*Sources).get),
			props.MethodSourcesCreate:  durableobject.Func((*Sources).create),
			props.MethodSourcesUpdate:  durableobject.Func((*Sources).update),
			props.MethodSourcesRemove:  durableobject.Func((*Sources).remove),
			props.MethodSourcesRefresh: durableobject.Func((*Sources).refresh),
			props.MethodSourcesTools:   durableobject.Func((*Sources).tools),
			props.MethodSourcesSearch:  durableobject.Func((*Sources).search),
			props.MethodSourcesLookup:  durableobject.Func((*Sources).lookup),
			props.MethodSourcesCall:    durableobject.Func((*Sources).call),
		},
	}
}

package jsclass

import (
	"context"
	"net/http"

	"github.com/tandem-do/tandem/runtime/webapi"
)

// gatedCache is a cache behind the output gates of the objects that use it: what an object keeps there leaves it.
type gatedCache struct{ to webapi.Cache }

var _ webapi.Cache = gatedCache{}

// cache returns what is behind caches; nil if there is none.
func (s *Script) cache() webapi.Cache {
	if s.o.Cache == nil {
		return nil
	}
	return gatedCache{s.o.Cache}
}

// gated runs fn after what the object wrote before is on disk, and waits for it.
func gated(ctx context.Context, fn func(context.Context) error) error {
	out := make(chan error, 1)
	if err := leave(ctx, func(ctx context.Context, _ *object) { out <- fn(ctx) }); err != nil {
		return err
	}
	select {
	case err := <-out:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Match implements webapi.Cache.
func (g gatedCache) Match(ctx context.Context, cache, url string, header http.Header) (*http.Response, error) {
	return g.to.Match(ctx, cache, url, header) // it tells nobody anything
}

// Put implements webapi.Cache.
func (g gatedCache) Put(ctx context.Context, cache, url string, r *http.Response, body []byte) error {
	return gated(ctx, func(ctx context.Context) error { return g.to.Put(ctx, cache, url, r, body) })
}

// Delete implements webapi.Cache.
func (g gatedCache) Delete(ctx context.Context, cache, url string) (bool, error) {
	found := make(chan bool, 1)
	err := gated(ctx, func(ctx context.Context) error {
		ok, err := g.to.Delete(ctx, cache, url)
		found <- ok
		return err
	})
	if err != nil {
		return false, err
	}
	return <-found, nil
}

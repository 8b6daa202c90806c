package webapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/dop251/goja"
)

// Cache keeps responses for scripts. Its methods may be called from any goroutine.
type Cache interface {
	// Match returns the response that the cache of this name has for a URL, or nil. Close its body. Of the request's headers
	// it gets Range and those that make it conditional; nil when there are none.
	Match(ctx context.Context, cache, url string, header http.Header) (*http.Response, error)
	// Put keeps a response, if its headers allow that. It does not keep r.
	Put(ctx context.Context, cache, url string, r *http.Response, body []byte) error
	// Delete reports whether there was a response.
	Delete(ctx context.Context, cache, url string) (bool, error)
}

// scriptCache is what is behind a Cache object.
type scriptCache struct {
	internal
	name string
}

// cacheStorage is what is behind caches.
type cacheStorage struct{ internal }

const noCacheText = "No Cache was configured"

func (r *Realm) installCache() error {
	c := newClass[*scriptCache](r, "Cache", nil)
	missing := func(name string) {
		c.promise(name, func(*scriptCache, goja.FunctionCall) goja.Value {
			r.isolate.Throw("Error", "Failed to execute '%s' on 'Cache': the method is not implemented.", name)
			return nil
		})
	}
	missing("add")
	missing("addAll")
	c.promise("delete", r.cacheDelete)
	c.promise("match", r.cacheMatch)
	c.promise("put", r.cachePut)
	missing("matchAll")
	missing("keys")
	if err := c.install(); err != nil {
		return err
	}
	s := newClass[*cacheStorage](r, "CacheStorage", nil)
	s.promise("open", func(_ *cacheStorage, call goja.FunctionCall) goja.Value {
		r.requireEvent()
		return c.wrap(&scriptCache{name: "named:" + s.text(call, 0, "open")})
	})
	for _, name := range []string{"delete", "match", "has", "keys"} {
		s.promise(name, func(*cacheStorage, goja.FunctionCall) goja.Value {
			r.isolate.Throw("Error", "Failed to execute '%s' on 'CacheStorage': the method is not implemented.", name)
			return nil
		})
	}
	if err := s.install(); err != nil {
		return err
	}
	caches := s.wrap(&cacheStorage{})
	if err := caches.Set("default", c.wrap(&scriptCache{name: "default"})); err != nil {
		return err
	}
	return r.isolate.DefineGlobal("caches", caches)
}

// cacheRequest is the request whose URL a response is kept by; it reports false for a method that is never kept.
func (r *Realm) cacheRequest(call goja.FunctionCall) (*Request, bool) {
	r.requireEvent()
	q := r.newRequest(call.Argument(0), goja.Undefined())
	if q.method == "GET" {
		return q, true
	}
	options, ok := call.Argument(1).(*goja.Object)
	return q, ok && !isMissing(options.Get("ignoreMethod")) && options.Get("ignoreMethod").ToBoolean()
}

// wanted are those of a request's headers that say which part of a response is wanted, and when; nil when there are none.
func (q *Request) wanted() http.Header {
	var out http.Header
	for _, name := range []string{"range", "if-range", "if-none-match", "if-modified-since"} {
		if v, ok := q.headers.get(name); ok {
			if out == nil {
				out = http.Header{}
			}
			out.Set(name, v)
		}
	}
	return out
}

// cache returns the host's cache, or throws.
func (r *Realm) cache() Cache {
	if r.options.Cache == nil {
		r.isolate.Throw("Error", noCacheText)
	}
	return r.options.Cache
}

var errCacheFailed = errors.New("the cache failed")

func (r *Realm) cacheMatch(c *scriptCache, call goja.FunctionCall) goja.Value {
	q, ok := r.cacheRequest(call)
	if !ok {
		return goja.Undefined()
	}
	cache, header := r.cache(), q.wanted()
	return r.isolate.Go(func(ctx context.Context) func() (goja.Value, error) {
		resp, err := cache.Match(ctx, c.name, q.url, header) //nolint:bodyclose // the script closes it
		return func() (goja.Value, error) {
			if err != nil {
				return nil, errCacheFailed
			}
			if resp == nil {
				return goja.Undefined(), nil
			}
			p := r.incoming(resp, false)
			p.url = q.url
			return r.response.wrap(p), nil
		}
	})
}

func (r *Realm) cacheDelete(c *scriptCache, call goja.FunctionCall) goja.Value {
	q, ok := r.cacheRequest(call)
	if !ok {
		return r.rt.ToValue(false)
	}
	cache := r.cache()
	return r.isolate.Go(func(ctx context.Context) func() (goja.Value, error) {
		found, err := cache.Delete(ctx, c.name, q.url)
		return func() (goja.Value, error) {
			if err != nil {
				return nil, errCacheFailed
			}
			return r.rt.ToValue(found), nil
		}
	})
}

func (r *Realm) cachePut(c *scriptCache, call goja.FunctionCall) goja.Value {
	p, ok := r.response.of(call.Argument(1))
	if !ok {
		r.throwType("Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'.")
	}
	r.requireEvent()
	q := r.newRequest(call.Argument(0), goja.Undefined())
	vary, _ := p.headers.get("vary")
	switch {
	case q.method != "GET":
		r.throwType("Cannot cache response to non-GET request.")
	case p.status == http.StatusPartialContent:
		r.throwType("Cannot cache response to a range request (206 Partial Content).")
	case strings.Contains(vary, "*"):
		r.throwType("Cannot cache response with 'Vary: *' header.")
	case p.status == http.StatusNotModified:
		return goja.Undefined()
	}
	if r.options.Cache == nil {
		if r.bodyUsed(&p.body) {
			r.throwType("%s", usedText)
		}
		p.used = !p.null
	}
	cache := r.cache()
	header := http.Header{}
	p.headers.write(header)
	resp := &http.Response{StatusCode: p.status, Status: statusLine(p.status, p.statusText), Header: header}
	return r.consume(&p.body, func(data []byte) goja.Value {
		data = append([]byte(nil), data...)
		return r.isolate.Go(func(ctx context.Context) func() (goja.Value, error) {
			err := cache.Put(ctx, c.name, q.url, resp, data)
			return func() (goja.Value, error) {
				if err != nil {
					return nil, errCacheFailed
				}
				return goja.Undefined(), nil
			}
		})
	})
}

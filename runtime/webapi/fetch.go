package webapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// maxRedirects is workerd's.
const maxRedirects = 20

// installFetch defines fetch, which sends requests to the world by Options.Fetch.
func (r *Realm) installFetch() error {
	f := r.isolate.Function("fetch", 0, func(call goja.FunctionCall) goja.Value {
		return r.isolate.Async(func() goja.Value {
			if len(call.Arguments) == 0 {
				r.throwType("Failed to execute 'fetch' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'Request or string'.")
			}
			return r.fetch(call.Argument(0), call.Argument(1), r.options.Fetch, false)
		})
	})
	return r.isolate.DefineGlobal("fetch", f)
}

// Fetcher sends a request, from any goroutine.
type Fetcher = func(ctx context.Context, q *http.Request) (*http.Response, error)

// Fetch is fetch(input, init) to another script through a way out of the caller's: of a service binding, a stub. It
// returns a promise of the Response; what is wrong with the arguments it throws. The request's cf goes as
// sidecar.HeaderCF, so that send has to lead to one of our processes.
func (r *Realm) Fetch(input, init goja.Value, send Fetcher) goja.Value {
	return r.fetch(input, init, send, true)
}

// fetch is Fetch; without carryCF the request's cf stays here.
func (r *Realm) fetch(input, init goja.Value, send Fetcher, carryCF bool) goja.Value {
	r.requireEvent()
	q := r.newRequest(input, init)
	switch scheme, _, _ := strings.Cut(q.url, ":"); scheme {
	case "http", "https":
	case "data":
		if v, ok := r.fetchData(q.url); ok {
			return r.isolate.Resolved(v)
		}
		fallthrough
	default:
		r.throwType("Fetch API cannot load: %s", q.url)
	}
	if send == nil {
		r.isolate.Throw("Error", "internal error: this Worker has no way out to the network")
	}
	out, err := r.outgoing(q)
	if err != nil {
		r.throwType("Fetch API cannot load: %s", q.url)
	}
	if cf := q.cfOf(); cf != nil && carryCF {
		out.Header[sidecar.HeaderCF] = []string{cf.json(r)}
	}
	redirect := q.redirect
	work := func(ctx context.Context) func() (goja.Value, error) {
		resp, redirected, err := follow(ctx, out, redirect, send) //nolint:bodyclose // the script closes it
		return func() (goja.Value, error) {
			if err != nil {
				return nil, r.sendError(err)
			}
			return r.response.wrap(r.incoming(resp, redirected)), nil
		}
	}
	if !isNullish(q.signal) {
		return r.abortable(q.signal, work)
	}
	return r.isolate.Go(work)
}

// sendError is what a failed request rejects with: an error that knows what it is to the script stays so.
func (r *Realm) sendError(err error) error {
	var known *isolate.Exception
	var valued interface{ JSValue(*Realm) goja.Value }
	switch {
	case errors.As(err, &valued):
		x := r.isolate.NewException(valued.JSValue(r))
		return x
	case errors.As(err, &known):
		return known
	case errors.Is(err, errTooManyRedirects):
		return r.thrown("TypeError", "Too many redirects.")
	}
	return r.thrown("Error", "Network connection lost.")
}

// abortable runs work until a signal is aborted.
func (r *Realm) abortable(signal goja.Value, work func(context.Context) func() (goja.Value, error)) goja.Value {
	ctx, cancel := context.WithCancel(r.isolate.RequireEvent().GoContext())
	promise := r.isolate.Go(func(context.Context) func() (goja.Value, error) { return work(ctx) })
	stop := r.isolate.Function("", 0, func(goja.FunctionCall) goja.Value {
		cancel()
		return goja.Undefined()
	})
	return r.operation("events", "race", promise, signal, stop)
}

// outgoing makes Go's request.
func (r *Realm) outgoing(q *Request) (*http.Request, error) {
	u, err := url.Parse(q.url)
	if err != nil {
		return nil, err
	}
	out := &http.Request{
		Method: q.method, URL: u, Host: u.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	u.Fragment, u.RawFragment = "", ""
	r.headersOf(q).write(out.Header)
	content := r.move(&q.body)
	switch {
	case content.null:
		out.Body = http.NoBody
	case content.stream != nil:
		out.Body = r.newStreamBody(r.isolate.Event(), content.stream)
		out.ContentLength = -1
	case content.source != nil:
		out.Body, out.ContentLength = content.source, content.length
	default:
		data := content.data
		out.ContentLength = int64(len(data))
		out.GetBody = func() (io.ReadCloser, error) { return &dataBody{bytes.NewReader(data)}, nil }
		out.Body, _ = out.GetBody()
	}
	return out, nil
}

var errTooManyRedirects = errors.New("too many redirects")

// follow sends a request, and goes on to where responses redirect to.
func follow(ctx context.Context, q *http.Request, mode string, send Fetcher) (*http.Response, bool, error) {
	for n := 0; ; n++ {
		resp, err := send(ctx, q.WithContext(ctx))
		if err != nil || mode != "follow" || !isRedirect(resp.StatusCode) {
			if resp != nil {
				resp.Request = q
			}
			return resp, n > 0, err
		}
		target := resp.Header.Get("Location")
		if target == "" {
			resp.Request = q
			return resp, n > 0, nil
		}
		_ = resp.Body.Close()
		if n >= maxRedirects {
			return nil, false, errTooManyRedirects
		}
		if q, err = redirected(q, resp.StatusCode, target); err != nil {
			return nil, false, err
		}
	}
}

func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// redirected is the request that a redirect leads to.
func redirected(q *http.Request, status int, target string) (*http.Request, error) {
	u, err := q.URL.Parse(target)
	if err != nil {
		return nil, err
	}
	next := q.Clone(q.Context())
	next.URL, next.Host = u, u.Host
	if status == 303 && q.Method != "GET" && q.Method != "HEAD" || status <= 302 && q.Method == "POST" {
		next.Method, next.Body, next.GetBody, next.ContentLength = "GET", http.NoBody, nil, 0
		next.Header.Del("Content-Type")
		next.Header.Del("Content-Length")
	} else if q.Body != nil && q.Body != http.NoBody {
		if q.GetBody == nil {
			return nil, errors.New("a redirect cannot repeat a stream")
		}
		if next.Body, err = q.GetBody(); err != nil {
			return nil, err
		}
	}
	if u.Host != q.URL.Host {
		next.Header.Del("Authorization")
	}
	return next, nil
}

// incoming is the Response of what came back. Its body belongs to the event.
func (r *Realm) incoming(in *http.Response, redirected bool) *Response {
	p := &Response{
		status: in.StatusCode, kind: "default", headers: newHeaders(in.Header, true), redirected: redirected,
		body: readerBody(in.Body, in.ContentLength),
	}
	if len(in.Status) > 4 {
		p.statusText = in.Status[4:]
	}
	if in.Request != nil && in.Request.URL != nil {
		p.url = in.Request.URL.String()
	}
	if in.Body == http.NoBody || isNullBodyStatus(in.StatusCode) {
		p.body = nullBody()
	}
	return p
}

// sendBeacon sends a POST whose answer nobody waits for.
func (r *Realm) sendBeacon(call goja.FunctionCall) goja.Value {
	init := r.rt.NewObject()
	_ = init.Set("method", "POST")
	if v := call.Argument(1); !isNullish(v) {
		_ = init.Set("body", v)
	}
	promise := r.fetch(call.Argument(0), init, r.options.Fetch, false)
	r.isolate.RequireEvent().Context().WaitUntil(promise)
	return r.rt.ToValue(true)
}

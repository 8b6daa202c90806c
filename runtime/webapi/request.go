package webapi

import (
	"net/http"
	"strings"

	"github.com/dop251/goja"
)

// Request is what is behind a Request object.
type Request struct {
	internal
	body
	method string
	url    string
	// headers is nil until it is asked for, while origin holds them.
	headers     *Headers
	headersView *goja.Object
	// origin is the request that came; nil for one that a script made.
	origin   *http.Request
	redirect string
	// signal is the AbortSignal, or nil until it is asked for.
	signal goja.Value
	// cf is nil for none, and while lookCF has to say what it is: see cfOf.
	cf        *properties
	lookCF    CF
	cache     string
	keepalive bool
}

// NewRequest makes a Request of an incoming one. Its body is read when the script reads it.
func (r *Realm) NewRequest(in *http.Request) *goja.Object {
	return r.request.wrap(incomingRequest(in, carriedCF))
}

func incomingRequest(in *http.Request, cf CF) *Request {
	q := &Request{
		method: in.Method, url: requestURL(in), origin: in, redirect: "manual", lookCF: cf,
		body: readerBody(in.Body, in.ContentLength),
	}
	if in.Body == http.NoBody {
		q.body = nullBody()
	}
	return q
}

// requestURL is the URL that a client asked for.
func requestURL(in *http.Request) string {
	u := in.URL
	if u.Scheme != "" && u.Host != "" {
		return u.String()
	}
	scheme := "http://"
	if in.TLS != nil {
		scheme = "https://"
	}
	path := in.RequestURI
	if path == "" || path[0] != '/' {
		path = u.RequestURI()
	}
	return scheme + in.Host + path
}

func (r *Realm) headersOf(q *Request) *Headers {
	if q.headers == nil {
		q.headers = newHeaders(q.origin.Header, true)
	}
	return q.headers
}

const methodsAllowed = " GET HEAD POST PUT DELETE OPTIONS PATCH TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH " +
	"SEARCH UNLOCK ACL REPORT MKACTIVITY CHECKOUT MERGE MSEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE QUERY BAN "

func (r *Realm) methodOf(text string) string {
	upper := strings.ToUpper(text)
	switch upper {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS":
		return upper
	}
	method := text
	if r.dated.upperMethods {
		method = upper
	}
	if text == "" || strings.Contains(text, " ") || !strings.Contains(methodsAllowed, " "+method+" ") {
		r.throwType("Invalid HTTP method string: %s", text)
	}
	return method
}

func (r *Realm) redirectOf(text string) string {
	if text != "follow" && text != "manual" {
		r.throwType(`Invalid redirect value, must be one of "follow" or "manual" ("error" won't be implemented since it ` +
			`does not make sense at the edge; use "manual" and check the response status code).`)
	}
	return text
}

// newRequest is the constructor, and what fetch makes of its arguments.
func (r *Realm) newRequest(input, init goja.Value) *Request {
	q := &Request{method: "GET", redirect: "follow"}
	q.null = true
	initObject := r.initOf(init, "Failed to construct 'Request': constructor parameter 2", "RequestInitializerDict or Request")
	if from, ok := r.request.of(input); ok {
		q.url, q.method, q.redirect = from.url, from.method, from.redirect
		q.headers, q.signal = r.headersOf(from).clone(), from.signal
		q.copyCF(r, from)
		q.cache = from.cache
		if initObject == nil || isNullish(initObject.Get("body")) {
			q.body = r.move(&from.body)
		}
	} else {
		q.url = r.text(input)
		if u, err := r.newURL(q.url, nil); err == nil {
			q.url = u.href()
		} else if r.dated.standardURL {
			r.throwType("Invalid URL: %s", q.url)
		}
		q.headers = &Headers{}
	}
	if initObject == nil {
		return q
	}
	if from, ok := r.request.of(initObject); ok {
		q.method, q.redirect, q.signal = from.method, from.redirect, from.signal
		q.copyCF(r, from)
		q.headers = r.headersOf(from).clone()
		q.body = r.fork(&from.body)
		return q
	}
	r.applyRequestInit(q, initObject)
	return q
}

// initOf returns a dictionary, or nil when it is left out.
func (r *Realm) initOf(v goja.Value, what, kind string) *goja.Object {
	if isNullish(v) {
		return nil
	}
	o, ok := v.(*goja.Object)
	if !ok {
		r.throwType("%s is not of type '%s'.", what, kind)
	}
	return o
}

func (r *Realm) applyRequestInit(q *Request, init *goja.Object) {
	if v := init.Get("method"); !isMissing(v) {
		q.method = r.methodOf(r.text(v))
	}
	if v := init.Get("headers"); !isNullish(v) {
		q.headers = &Headers{}
		r.fillHeaders(q.headers, v, "Incorrect type for the 'headers' field on 'RequestInitializerDict': the provided value is not")
	}
	if v := init.Get("redirect"); !isMissing(v) {
		q.redirect = r.redirectOf(r.text(v))
	}
	if v := init.Get("signal"); !isMissing(v) {
		q.signal = v
		if !goja.IsNull(v) && !r.isSignal(v) {
			r.throwType("Incorrect type for the 'signal' field on 'RequestInitializerDict': the provided value is not of type " +
				"'AbortSignal'.")
		}
	}
	if v := init.Get("cf"); !isMissing(v) {
		q.cf, q.lookCF = r.newProperties(v, "RequestInitializerDict"), nil
	}
	if v := init.Get("cache"); !isMissing(v) {
		if !r.dated.cacheOption {
			r.isolate.Throw("Error", "The 'cache' field on 'RequestInitializerDict' is not implemented.")
		}
		q.cache = r.text(v)
		if q.cache != "no-store" && q.cache != "no-cache" && q.cache != "reload" {
			r.throwType("Unsupported cache mode: %s", q.cache)
		}
	}
	if v := init.Get("integrity"); !isMissing(v) {
		if r.text(v) != "" {
			r.throwType("Subrequest integrity checking is not implemented. The integrity option must be either undefined or an " +
				"empty string.")
		}
	}
	if v := init.Get("body"); !isNullish(v) {
		if q.method == "GET" || q.method == "HEAD" {
			r.throwType("Request with a GET or HEAD method cannot have a body.")
		}
		var kind string
		q.body, kind = r.extract(v)
		if _, ok := q.headers.get("content-type"); !ok && kind != "" {
			q.headers.set("content-type", kind)
		}
	}
}

func (r *Realm) cloneRequest(q *Request) *goja.Object {
	forked := r.fork(&q.body)
	copied := &Request{
		method: q.method, url: q.url, headers: r.headersOf(q).clone(), redirect: q.redirect, body: forked,
		signal: q.signal, cache: q.cache,
	}
	copied.copyCF(r, q)
	copied.headers.immutable = q.headers.immutable
	return r.request.wrap(copied)
}

func (r *Realm) installRequest() error {
	c := newClass(r, "Request", func(call goja.ConstructorCall) *Request {
		if len(call.Arguments) == 0 {
			r.throwType("Failed to construct 'Request': constructor parameter 1 is not of type 'Request or string'.")
		}
		return r.newRequest(call.Argument(0), call.Argument(1))
	})
	r.request = c
	c.method("clone", func(q *Request, _ goja.FunctionCall) goja.Value { return r.cloneRequest(q) })
	text := func(name string, get func(*Request) string) {
		c.attribute(name, func(q *Request) goja.Value { return r.rt.ToValue(get(q)) }, nil)
	}
	text("method", func(q *Request) string { return q.method })
	text("url", func(q *Request) string { return q.url })
	c.attribute("headers", func(q *Request) goja.Value {
		if q.headersView == nil {
			q.headersView = r.headers.wrap(r.headersOf(q))
		}
		return q.headersView
	}, nil)
	text("redirect", func(q *Request) string { return q.redirect })
	c.attribute("fetcher", func(*Request) goja.Value { return goja.Null() }, nil)
	c.attribute("signal", func(q *Request) goja.Value {
		if isNullish(q.signal) {
			q.signal = r.newSignal()
		}
		return q.signal
	}, nil)
	c.attribute("cf", func(q *Request) goja.Value { return q.cfOf().view(r) }, nil)
	text("integrity", func(*Request) string { return "" })
	c.attribute("keepalive", func(q *Request) goja.Value { return r.rt.ToValue(q.keepalive) }, nil)
	c.attribute("cache", func(q *Request) goja.Value {
		if q.cache == "" {
			return goja.Undefined()
		}
		return r.rt.ToValue(q.cache)
	}, nil)
	return c.install()
}

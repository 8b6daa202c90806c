package ingress

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tandem-do/tandem/proto/telemetry"
)

const (
	// maxRequests bounds the requests that run at once; open event streams count.
	maxRequests = 32768
	// internalPrefix begins the names of the headers that only this process sets, in canonical form.
	internalPrefix = "Tandem-"
	// anySegment stands in a route's path for a segment that may be anything.
	anySegment = "{id}"
)

// Route is one address and its handler.
type Route struct {
	// Path is the exact path. A segment "{id}" in it, or a trailing slash (other than "/"), stands for one segment, whatever
	// it is.
	Path string
	// Handler serves it, every method.
	Handler http.Handler
	// AnyHost lets requests through whose Host or Origin is foreign: for probes and public documents only.
	AnyHost bool
}

// pattern is a route with a segment that may be anything.
type pattern struct {
	route Route
	// name is the path with "{id}" in that segment's place; before and after are what is around it.
	name, before, after string
}

// newPattern returns the pattern of a route, if it is one.
func newPattern(r Route) (pattern, bool) {
	name := r.Path
	if name != "/" && strings.HasSuffix(name, "/") {
		name += anySegment
	}
	before, after, ok := strings.Cut(name, anySegment)
	return pattern{route: r, name: name, before: before, after: after}, ok
}

// matches reports whether a path is one of the pattern's.
func (p *pattern) matches(path string) bool {
	rest, ok := strings.CutPrefix(path, p.before)
	segment, ok2 := strings.CutSuffix(rest, p.after)
	return ok && ok2 && segment != "" && !strings.Contains(segment, "/")
}

// Options say how an ingress works.
type Options struct {
	// AllowedHosts are Host values accepted beside loopback names, without port. Pages on them may call.
	AllowedHosts []string
	// AllowedOrigins are Origin values accepted beside those of the hosts above, such as https://app.example.com.
	AllowedOrigins []string
	// Routes are what is served.
	Routes []Route
	// Fallback serves every other path; its Path is not used. Without a Handler they are answered with 404.
	Fallback Route
	// Log takes requests at debug level and panics; nil discards them.
	Log *slog.Logger
}

// Ingress is the handler in front of all routes.
type Ingress struct {
	guard    guard
	exact    map[string]Route
	patterns []pattern
	fallback Route
	known    string // the paths, for 404s
	log      *slog.Logger
	running  atomic.Int64
}

// New returns an ingress. Errors name every value in the options that is wrong.
func New(o Options) (*Ingress, error) {
	g, err := newGuard(o)
	if err != nil {
		return nil, err
	}
	in := &Ingress{guard: g, exact: map[string]Route{}, fallback: o.Fallback, log: o.Log}
	if in.log == nil {
		in.log = slog.New(slog.DiscardHandler)
	}
	var paths []string
	for _, r := range o.Routes {
		if p, ok := newPattern(r); ok {
			in.patterns = append(in.patterns, p)
			paths = append(paths, p.name)
			continue
		}
		in.exact[r.Path] = r
		paths = append(paths, r.Path)
	}
	in.known = strings.Join(paths, ", ")
	return in, nil
}

// ServeHTTP implements http.Handler.
func (in *Ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	ctx := telemetry.ExtractHTTP(r.Context(), r.Header)
	ctx, span := telemetry.Start(ctx, spanName(r.Method))
	rec := &recorder{ResponseWriter: w, extended: start} // the server has just set the first deadline
	route, name := in.route(r.URL.Path)
	var fault error
	defer func() {
		aborted := false
		if p := recover(); p != nil {
			fault, aborted = in.recovered(rec, r, p)
		}
		in.finish(span, rec, r, name, fault)
		if in.log.Enabled(ctx, slog.LevelDebug) {
			in.log.DebugContext(ctx, "request served", "method", r.Method, "route", name, "status", rec.code(),
				"duration", time.Since(start))
		}
		if aborted {
			panic(http.ErrAbortHandler)
		}
	}()
	for header := range r.Header {
		if strings.HasPrefix(header, internalPrefix) {
			delete(r.Header, header)
		}
	}
	if r.Host == "" { // HTTP/1.0 has no need of one, but a URL has
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			r.Host = local.String()
		}
	}
	if !strings.HasPrefix(r.URL.Path, "/") && r.URL.Path != "" { // an asterisk, which only the server itself answers for
		http.Error(rec, "Bad Request", http.StatusBadRequest)
		return
	}
	if in.running.Add(1); in.running.Load() > maxRequests {
		in.running.Add(-1)
		w.Header().Set("Retry-After", "2")
		WriteError(rec, r, http.StatusServiceUnavailable, "too many requests at once")
		return
	}
	defer in.running.Add(-1)
	if ctx != r.Context() {
		r = r.WithContext(ctx)
	}
	in.serve(rec, r, route)
}

// serve checks the request and hands it to its route.
func (in *Ingress) serve(w *recorder, r *http.Request, route Route) {
	if !route.AnyHost {
		if err := in.guard.check(r); err != nil {
			WriteError(w, r, http.StatusForbidden, err.Error())
			return
		}
	}
	if route.Handler == nil {
		WriteError(w, r, http.StatusNotFound, "no such address; known are "+in.known)
		return
	}
	if r.ContentLength != 0 {
		// Ends a client that stalls within its body, read or not. ReadBody lifts it.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	route.Handler.ServeHTTP(w, r)
}

// route finds the route of a path and the name under which spans show it.
func (in *Ingress) route(path string) (Route, string) {
	if r, ok := in.exact[path]; ok {
		return r, r.Path
	}
	for i := range in.patterns {
		if p := &in.patterns[i]; p.matches(path) {
			return p.route, p.name
		}
	}
	return in.fallback, ""
}

// finish ends the request's span.
func (in *Ingress) finish(span telemetry.Span, rec *recorder, r *http.Request, route string, fault error) {
	if !span.Sampled() {
		return
	}
	span.SetString(telemetry.AttrHTTPMethod, r.Method)
	span.SetInt(telemetry.AttrHTTPStatus, int64(rec.code()))
	if route != "" {
		span.SetString(telemetry.AttrHTTPRoute, route)
	}
	if fault == nil && rec.code() >= http.StatusInternalServerError {
		fault = fmt.Errorf("status %d", rec.code())
	}
	span.End(fault)
}

// recovered answers a request whose handler panicked, or reports that it must be aborted because its response is
// under way or because its handler wants that.
func (in *Ingress) recovered(rec *recorder, r *http.Request, p any) (fault error, abort bool) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return errors.New("response aborted"), true
	}
	in.log.ErrorContext(r.Context(), "handler panicked", "route", r.URL.Path, "err", p, "stack", string(debug.Stack()))
	fault = fmt.Errorf("panic: %v", p)
	if rec.status != 0 {
		return fault, true
	}
	WriteError(rec, r, http.StatusInternalServerError, "Internal server error")
	return fault, false
}

// spanName returns the name of a request's span without making one for every request.
func spanName(method string) string {
	switch method {
	case http.MethodGet:
		return telemetry.SpanHTTPServer + " GET"
	case http.MethodPost:
		return telemetry.SpanHTTPServer + " POST"
	case http.MethodDelete:
		return telemetry.SpanHTTPServer + " DELETE"
	case http.MethodOptions:
		return telemetry.SpanHTTPServer + " OPTIONS"
	case http.MethodPatch:
		return telemetry.SpanHTTPServer + " PATCH"
	case http.MethodPut:
		return telemetry.SpanHTTPServer + " PUT"
	case http.MethodHead:
		return telemetry.SpanHTTPServer + " HEAD"
	}
	return telemetry.SpanHTTPServer + " OTHER"
}

// recorder remembers the status of a response, and cuts off a client that does not take it.
type recorder struct {
	http.ResponseWriter
	status int // zero until the header is written
	// extended is when the client was last given writeTimeout to take what is written.
	extended time.Time
}

// extend gives the client writeTimeout from now on. A deadline that was set within the last second does as well.
func (r *recorder) extend() {
	if time.Since(r.extended) > time.Second {
		now := time.Now()
		r.extended = now
		// Only the writers of tests have no deadline.
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(now.Add(writeTimeout))
	}
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.extend()
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.extend()
	return r.ResponseWriter.Write(b)
}

// FlushError sends what was written. http.ResponseController finds it.
func (r *recorder) FlushError() error {
	r.extend()
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

package traces

import (
	"bytes"
	"context"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"time"
)

// Bounds of the pages.
const (
	pageTraces = 50
	pageSpans  = 2000
	maxIndent  = 12
	// barWidth is the length of a trace in the units of the picture.
	barWidth = 1000
)

//go:embed page
var pageFiles embed.FS

func parsePages() (*template.Template, error) {
	t, err := template.ParseFS(pageFiles, "page/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse pages: %w", err)
	}
	return t, nil
}

// link is a name and an address on the index page.
type link struct{ Name, URL string }

// indexPage is what the index page shows.
type indexPage struct {
	MaxAge string
	MaxMiB int64
	Links  []link
	Traces []traceLine
}

// traceLine is one trace in the list.
type traceLine struct {
	ID, Root, Started, Clock, Duration, Status string
	Services                                   []string
	Spans                                      int
}

// tracePage is what a trace's page shows.
type tracePage struct {
	ID, Root, Started, Duration string
	More                        bool
	Rows                        []spanRow
}

// spanRow is one span of the tree. X and W place its bar.
type spanRow struct {
	ID, Parent, Name, Service, Status string
	Duration, Offset                  string
	Depth, X, W                       int
	Tags                              []pageTag
}

type pageTag struct{ Key, Value string }

func (a *api) serveIndex(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	recent, err := a.store.recent(ctx, pageTraces)
	if err != nil {
		a.fail(w, err)
		return
	}
	p := indexPage{MaxAge: shortDuration(a.maxAge), MaxMiB: a.maxBytes >> 20}
	for _, l := range a.links {
		p.Links = append(p.Links, link{l[0], l[1]})
	}
	for _, t := range recent {
		started := timeOf(t.start)
		p.Traces = append(p.Traces, traceLine{
			ID: hex.EncodeToString(t.id[:]), Root: t.root, Started: started.Format(time.RFC3339Nano),
			Clock: started.Format("Jan 2 15:04:05.000"), Duration: shortDuration(between(t.start, t.end)),
			Status: statusName(t.failed), Services: t.services, Spans: t.spans,
		})
	}
	a.render(w, "index.html", p)
}

func (a *api) serveTracePage(w http.ResponseWriter, r *http.Request) {
	id, err := parseTraceID(r.PathValue("traceId"))
	if err != nil {
		setPageHeaders(w)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	spans, more, err := a.store.traceSpans(ctx, id)
	if err != nil {
		a.fail(w, err)
		return
	}
	if len(spans) == 0 {
		setPageHeaders(w)
		http.Error(w, "No span of this trace is kept.", http.StatusNotFound)
		return
	}
	rows := tree(spans)
	p := tracePage{ID: hex.EncodeToString(id[:]), Started: timeOf(spans[0].start).Format(time.RFC3339Nano)}
	p.Root, p.More = rows[0].span.name, more || len(rows) > pageSpans
	begin, end := extent(spans)
	p.Duration = shortDuration(between(begin, end))
	for _, row := range rows[:min(len(rows), pageSpans)] {
		p.Rows = append(p.Rows, newSpanRow(row, begin, end))
	}
	a.render(w, "trace.html", p)
}

// newSpanRow turns a span of a trace that lasts from begin to end into its row.
func newSpanRow(t treeSpan, begin, end uint64) spanRow {
	j := t.span.toJSON()
	row := spanRow{
		ID: j.SpanID, Parent: j.ParentSpanID, Name: j.OperationName, Service: j.ServiceName, Status: j.Status,
		Duration: shortDuration(t.span.duration()), Offset: shortDuration(between(begin, t.span.start)),
		Depth: min(t.depth, maxIndent), W: 2,
	}
	if whole := between(begin, end); whole > 0 {
		scale := barWidth / float64(whole)
		row.W = max(row.W, int(float64(t.span.duration())*scale))
		row.X = min(int(float64(between(begin, t.span.start))*scale), barWidth-2)
	}
	for _, tag := range t.span.tags {
		row.Tags = append(row.Tags, pageTag{tag.key, tag.value})
	}
	return row
}

// extent returns when the first of spans began and the last ended.
func extent(spans []span) (begin, end uint64) {
	begin = spans[0].start
	for i := range spans {
		begin, end = min(begin, spans[i].start), max(end, spans[i].end)
	}
	return begin, end
}

// treeSpan is a span and how far below its root it stands.
type treeSpan struct {
	span  *span
	depth int
}

// tree puts spans, which are in the order of their start, into the order of a tree read from top to bottom.
// A span whose parent is not there stands at the top; so does one of a ring of parents.
func tree(spans []span) []treeSpan {
	known := make(map[spanID]bool, len(spans))
	children := map[spanID][]*span{}
	for i := range spans {
		known[spans[i].id] = true
	}
	var tops []*span
	for i := range spans {
		if s := &spans[i]; s.parent != s.id && known[s.parent] {
			children[s.parent] = append(children[s.parent], s)
		} else {
			tops = append(tops, s)
		}
	}
	out := make([]treeSpan, 0, len(spans))
	seen := make(map[spanID]bool, len(spans))
	walk := func(top *span) {
		stack := []treeSpan{{top, 0}}
		for len(stack) > 0 {
			t := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[t.span.id] {
				continue
			}
			seen[t.span.id] = true
			out = append(out, t)
			below := children[t.span.id]
			for i := len(below) - 1; i >= 0; i-- {
				stack = append(stack, treeSpan{below[i], t.depth + 1})
			}
		}
	}
	for _, s := range tops {
		walk(s)
	}
	for i := range spans {
		walk(&spans[i])
	}
	return out
}

// shortDuration rounds d to what a person reads: three digits or so.
func shortDuration(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

// render writes a page. It is built in full first, so that a fault gives an error and not half a page.
func (a *api) render(w http.ResponseWriter, name string, data any) {
	var page bytes.Buffer
	if err := a.pages.ExecuteTemplate(&page, name, data); err != nil {
		a.fail(w, err)
		return
	}
	setPageHeaders(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Bytes())
}

// fail answers a page's request that went wrong.
func (a *api) fail(w http.ResponseWriter, err error) {
	a.store.log.Error("page failed", "err", err)
	setPageHeaders(w)
	http.Error(w, "The trace store could not answer.", http.StatusInternalServerError)
}

// setPageHeaders forbids everything that the pages do not need.
func setPageHeaders(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

func serveStyle(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, pageFiles, "page/style.css")
}

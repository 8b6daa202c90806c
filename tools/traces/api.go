package traces

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"
)

// readTimeout bounds a search or a page.
const readTimeout = 10 * time.Second

// api is what the HTTP port serves.
type api struct {
	store *store
	// links, maxAge and maxBytes are shown on the index page.
	links    [][2]string
	maxAge   time.Duration
	maxBytes int64
	pages    *template.Template
}

// newHandler returns the HTTP port's handler.
func newHandler(s *store, o Options) (http.Handler, error) {
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	a := &api{store: s, links: o.Links, maxAge: o.MaxAge, maxBytes: o.MaxBytes, pages: pages}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", a.serveOTLP)
	mux.HandleFunc("GET /api/spans/search", a.serveSearch)
	mux.HandleFunc("GET /api/traces/{traceId}", a.serveTrace)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /style.css", serveStyle)
	mux.HandleFunc("GET /traces/{traceId}", a.serveTracePage)
	mux.HandleFunc("GET /{$}", a.serveIndex)
	return mux, nil
}

// spanJSON is a span as the API shows it.
type spanJSON struct {
	SpanID        string            `json:"spanId"`
	ParentSpanID  string            `json:"parentSpanId"`
	OperationName string            `json:"operationName"`
	ServiceName   string            `json:"serviceName"`
	Status        string            `json:"status"`
	DurationMs    float64           `json:"durationMs"`
	Tags          map[string]string `json:"tags"`
}

// foundJSON is one result of a search.
type foundJSON struct {
	TraceID           string   `json:"traceId"`
	RootOperationName string   `json:"rootOperationName"`
	Span              spanJSON `json:"span"`
}

// traceJSON is a whole trace; Truncated says that it has more spans than are shown.
type traceJSON struct {
	TraceID   string          `json:"traceId"`
	Truncated bool            `json:"truncated"`
	Spans     []traceSpanJSON `json:"spans"`
}

type traceSpanJSON struct {
	spanJSON
	StartTime string `json:"startTime"`
}

// toJSON returns the span as the API shows it. ParentSpanID is empty for a root.
func (s *span) toJSON() spanJSON {
	out := spanJSON{
		SpanID: hex.EncodeToString(s.id[:]), OperationName: s.name, ServiceName: s.service,
		Status: statusName(s.failed), DurationMs: float64(s.duration()) / 1e6,
		Tags: make(map[string]string, len(s.tags)),
	}
	if s.parent != (spanID{}) {
		out.ParentSpanID = hex.EncodeToString(s.parent[:])
	}
	for _, t := range s.tags {
		out.Tags[t.key] = t.value
	}
	return out
}

// duration is how long the span took; 0 when the sender's times are the wrong way round.
func (s *span) duration() time.Duration { return between(s.start, s.end) }

func between(start, end uint64) time.Duration {
	if end < start {
		return 0
	}
	return time.Duration(min(end-start, 1<<63-1))
}

func statusName(failed bool) string {
	if failed {
		return "error"
	}
	return "ok"
}

func (a *api) serveSearch(w http.ResponseWriter, r *http.Request) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		writeError(w, &paramError{"list", "well-formed: name=value pairs, percent-encoded, joined by &"})
		return
	}
	q, err := parseSearch(values, time.Now())
	if err != nil {
		writeError(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	found, err := a.find(ctx, q)
	if err != nil {
		a.store.log.Error("span search failed", "err", err)
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string][]foundJSON{"data": found})
}

// find searches and names each result's root.
func (a *api) find(ctx context.Context, q query) ([]foundJSON, error) {
	spans, err := a.store.search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	roots := map[traceID]string{}
	found := make([]foundJSON, 0, len(spans))
	for i := range spans {
		s := &spans[i]
		root, ok := roots[s.trace]
		if !ok {
			sum, err := a.store.summarize(ctx, s.trace)
			if err != nil {
				return nil, fmt.Errorf("find root: %w", err)
			}
			root = sum.root
			roots[s.trace] = root
		}
		found = append(found, foundJSON{hex.EncodeToString(s.trace[:]), root, s.toJSON()})
	}
	return found, nil
}

func (a *api) serveTrace(w http.ResponseWriter, r *http.Request) {
	id, err := parseTraceID(r.PathValue("traceId"))
	if err != nil {
		writeError(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	spans, more, err := a.store.traceSpans(ctx, id)
	if err != nil {
		a.store.log.Error("reading a trace failed", "err", err)
		writeError(w, err)
		return
	}
	if len(spans) == 0 {
		writeJSON(w, http.StatusNotFound, errorJSON{Error: "trace_not_found", Message: "no span of this trace is kept"})
		return
	}
	out := traceJSON{TraceID: hex.EncodeToString(id[:]), Truncated: more, Spans: make([]traceSpanJSON, len(spans))}
	for i := range spans {
		out.Spans[i] = traceSpanJSON{spans[i].toJSON(), timeOf(spans[i].start).Format(time.RFC3339Nano)}
	}
	writeJSON(w, http.StatusOK, map[string]traceJSON{"data": out})
}

// timeOf turns a sender's time into ours; one beyond the year 2262 becomes that.
func timeOf(nanos uint64) time.Time { return time.Unix(0, int64(min(nanos, 1<<63-1))).UTC() }

// errorJSON is the body of an error; Parameter and Accepted are there for a bad parameter.
type errorJSON struct {
	Error     string `json:"error"`
	Message   string `json:"message"`
	Parameter string `json:"parameter,omitempty"`
	Accepted  string `json:"accepted,omitempty"`
}

// writeError answers a request that failed; what went wrong inside stays inside.
func writeError(w http.ResponseWriter, err error) {
	var bad *paramError
	switch {
	case errors.As(err, &bad):
		writeJSON(w, http.StatusBadRequest, errorJSON{"invalid_parameter", bad.Error(), bad.parameter, bad.accepted})
	case errors.Is(err, context.DeadlineExceeded):
		writeJSON(w, http.StatusServiceUnavailable, errorJSON{
			Error: "too_slow", Message: "the search took over 10s; ask for a shorter lookback or name a traceId",
		})
	default:
		writeJSON(w, http.StatusInternalServerError, errorJSON{Error: "internal_error", Message: "internal error"})
	}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

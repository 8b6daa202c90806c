package harness

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Span is one result of a span search.
type Span struct {
	TraceID           string `json:"traceId"`
	RootOperationName string `json:"rootOperationName"`
	Span              struct {
		SpanID        string            `json:"spanId"`
		ParentSpanID  string            `json:"parentSpanId"`
		OperationName string            `json:"operationName"`
		ServiceName   string            `json:"serviceName"`
		Status        string            `json:"status"`
		DurationMS    float64           `json:"durationMs"`
		Tags          map[string]string `json:"tags"`
	} `json:"span"`
}

// NewTrace returns a W3C traceparent of a new sampled trace, and its trace id.
func NewTrace() (traceparent, traceID string) {
	var b [24]byte
	rand.Read(b[:]) // never fails
	traceID = hex.EncodeToString(b[:16])
	return fmt.Sprintf("00-%s-%s-01", traceID, hex.EncodeToString(b[16:])), traceID
}

// SearchSpans makes one search.
func (s *Stack) SearchSpans(t T, query url.Values) []Span {
	t.Helper()
	query.Set("lookback", "15m")
	query.Set("limit", "1000")
	r := Do(t, "GET", s.MustReady(t).DashboardURL+"/api/spans/search?"+query.Encode(), nil, nil)
	if r.Status != http.StatusOK {
		t.Fatalf("span search: %d %s", r.Status, r.Body)
	}
	var out struct {
		Data []Span `json:"data"`
	}
	if err := json.Unmarshal([]byte(r.Body), &out); err != nil {
		t.Fatalf("span search: %v: %s", err, r.Body)
	}
	return out.Data
}

// WaitSpan searches a trace until it has a span of this name, for at most a minute.
func (s *Stack) WaitSpan(t T, traceID, operation string) Span {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		found := s.SearchSpans(t, url.Values{"traceId": {traceID}, "operation": {operation}})
		if len(found) > 0 {
			return found[0]
		}
		select {
		case <-deadline.C:
			var names []string
			for _, sp := range s.SearchSpans(t, url.Values{"traceId": {traceID}}) {
				names = append(names, sp.Span.OperationName)
			}
			t.Fatalf("trace %s never showed %s; it has %q", traceID, operation, names)
		case <-ticker.C:
		}
	}
}

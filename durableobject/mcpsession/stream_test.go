package mcpsession

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/proto/props"
)

func collect(s *eventStore, session, stream string, index int) (string, error) {
	var b []string
	for d, err := range s.After(context.Background(), session, stream, index) {
		if err != nil {
			return "", err
		}
		b = append(b, string(d))
	}
	return strings.Join(b, ","), nil
}

func TestEventStoreScope(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newEventStore("S")
	for _, stream := range []string{"", "a", "b"} {
		if err := s.Open(ctx, "S", stream); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []struct{ stream, data string }{{"a", "a0"}, {"b", "b0"}, {"a", "a1"}, {"", "s0"}, {"", "s1"}} {
		if err := s.Append(ctx, "S", e.stream, []byte(e.data)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name, session, stream string
		index                 int
		want                  string
		ok                    bool
	}{
		{"all of a stream", "S", "a", -1, "a0,a1", true},
		{"rest of a stream", "S", "a", 0, "a1", true},
		{"nothing left", "S", "a", 1, "", true},
		{"beyond the end", "S", "a", 9, "", true},
		{"another stream", "S", "b", -1, "b0", true},
		{"standalone stream, fresh", "S", "", -1, "", true},
		{"standalone stream, resumed", "S", "", 0, "s1", true},
		{"unknown stream", "S", "c", -1, "", false},
		{"another session", "T", "a", -1, "", false},
	} {
		got, err := collect(s, tc.session, tc.stream, tc.index)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%s: got %q, %v, want %q", tc.name, got, err, tc.want)
		}
	}
	if err := s.Append(ctx, "T", "a", nil); err == nil {
		t.Error("another session's event was taken")
	}
}

func TestEventStoreLimits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newEventStore("S")
	add := func(stream string, n, size int) {
		t.Helper()
		for range n {
			if err := s.Append(ctx, "S", stream, bytes.Repeat([]byte("x"), size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Open(ctx, "S", "a")
	add("a", maxEvents+10, 1)
	if len(s.order) != maxEvents {
		t.Errorf("%d events are kept, want %d", len(s.order), maxEvents)
	}
	if _, err := collect(s, "S", "a", 8); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("a replay with a gap = %v, want %v", err, mcp.ErrEventsPurged)
	}
	if got, err := collect(s, "S", "a", 9); err != nil || strings.Count(got, "x") != maxEvents {
		t.Errorf("replay = %d events, %v", strings.Count(got, "x"), err)
	}
	s.Open(ctx, "S", "b")
	add("b", 3, maxEventBytes/2)
	if s.bytes > maxEventBytes || s.bytes < maxEventBytes/2 {
		t.Errorf("%d bytes are kept", s.bytes)
	}
	add("b", 1, maxEventBytes+1) // delivered live, not kept
	if _, err := collect(s, "S", "b", 2); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("replay over the large event = %v", err)
	}
	add("b", 1, 1)
	if got, err := collect(s, "S", "b", 3); err != nil || got != "x" {
		t.Errorf("replay after the large event = %q, %v", got, err)
	}
	s.SessionClosed(ctx, "S")
	if len(s.streams) != 0 {
		t.Error("streams outlive their session")
	}
}

const storedAnswer = `{"jsonrpc":"2.0","id":7,"result":{}}`

// A call that is not answered yet keeps its stream, however many calls are answered meanwhile.
func TestEventStoreKeepsOpenStreams(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newEventStore("S")
	s.Open(ctx, "S", "slow")
	s.Append(ctx, "S", "slow", nil) // the priming event
	for i := range 10 * maxEventStreams {
		stream := fmt.Sprint("quick", i)
		s.Open(ctx, "S", stream)
		s.Append(ctx, "S", stream, []byte(storedAnswer))
	}
	if len(s.streams) > maxEventStreams || len(s.order) > maxEventStreams {
		t.Errorf("%d streams, %d events are kept", len(s.streams), len(s.order))
	}
	s.Append(ctx, "S", "slow", []byte(storedAnswer))
	if got, err := collect(s, "S", "slow", 0); err != nil || got != storedAnswer {
		t.Errorf("the slow call's answer = %q, %v", got, err)
	}
	for i := range 2 * maxOpenStreams {
		s.Open(ctx, "S", fmt.Sprint("open", i))
	}
	if len(s.streams) > maxOpenStreams+1 || len(s.order) != 0 || s.bytes != 0 {
		t.Errorf("%d streams, %d events, %d bytes are kept", len(s.streams), len(s.order), s.bytes)
	}
}

// Whoever comes back for an answer that was too large to keep is told so.
func TestEventStoreLargeAnswer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newEventStore("S")
	var answered []string
	s.answered = func(id string) { answered = append(answered, id) }
	s.Open(ctx, "S", "a")
	s.Append(ctx, "S", "a", nil)
	large := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","result":%q}`, strings.Repeat("x", maxEventBytes))
	s.Append(ctx, "S", "a", []byte(large))
	got, err := collect(s, "S", "a", 0)
	if err != nil || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"x","error":`) || len(answered) != 1 {
		t.Errorf("replay = %.200q, %v; answered %q", got, err, answered)
	}
}

// A client that has the whole of a stream and asks for more of it gets a stream without events.
func TestOutletNothingLeft(t *testing.T) {
	t.Parallel()
	o, w := newOutlet(&backlog{}), httptest.NewRecorder()
	o.streamOnly = true
	if err := o.writeTo(w); !errors.Is(err, props.ErrUnavailable) {
		t.Errorf("before the SDK was asked: %v", err)
	}
	o.Header().Set("Content-Type", "text/event-stream")
	if err := o.writeTo(w); err != nil || w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("got %v, %d %s", err, w.Code, w.Body)
	}
}

// reader is a response whose Flush, and so the client, can be held up.
type reader struct {
	*httptest.ResponseRecorder
	hold chan struct{} // nil: never
}

func (r *reader) FlushError() error {
	if r.hold != nil {
		<-r.hold
	}
	return nil
}

func TestOutletAnswerInOnePiece(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, w, served := newOutlet(&backlog{}), &reader{ResponseRecorder: httptest.NewRecorder()}, make(chan error, 1)
		o.noPrime = true
		go func() {
			o.Header().Set("Content-Type", "text/event-stream")
			o.Write([]byte("event: prime\nid: 1\n\n"))
			o.Flush()
			o.Write([]byte("event: message\n\n"))
			o.Flush()
			time.Sleep(flushDelay / 2)
			served <- nil
		}()
		w.hold = make(chan struct{}) // a flush would hang
		if err := o.pump(w, served, flushDelay); err != nil {
			t.Fatal(err)
		}
		if got := w.Body.String(); got != "event: message\n\n" || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("body %q", got)
		}
	})
}

func TestOutletKeepalive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, w, served := newOutlet(&backlog{}), &reader{ResponseRecorder: httptest.NewRecorder()}, make(chan error, 1)
		go func() {
			o.Write([]byte(": ok\n\n"))
			o.Flush()
			time.Sleep(60 * time.Second)
			o.Write([]byte("data: x\n\n"))
			o.Flush()
			time.Sleep(26 * time.Second)
			served <- nil
		}()
		if err := o.pump(w, served, 0); err != nil {
			t.Fatal(err)
		}
		want := ": ok\n\n" + keepalive + keepalive + "data: x\n\n" + keepalive
		if d := cmp.Diff(want, w.Body.String()); d != "" {
			t.Errorf("body (-want +got):\n%s", d)
		}
	})
}

// A reader that does not read must cost no more than the limit, and its stream is closed.
func TestOutletSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		o, w, served := newOutlet(&backlog{}), &reader{httptest.NewRecorder(), hold}, make(chan error, 1)
		pumped := make(chan error)
		go func() { pumped <- o.pump(w, served, 0) }()
		event := bytes.Repeat([]byte("x"), 1<<20)
		o.Write(event)
		o.Flush()
		synctest.Wait() // the reader hangs with the first event
		n := 0
		for {
			if _, err := o.Write(event); err != nil {
				if !errors.Is(err, errSlowReader) {
					t.Fatal(err)
				}
				break
			}
			n++
		}
		if n != maxPendingBytes>>20-1 {
			t.Errorf("%d MiB wait for the reader beside the one that it hangs with, want %d", n, maxPendingBytes>>20-1)
		}
		close(hold)
		if err := <-pumped; !errors.Is(err, errSlowReader) {
			t.Errorf("pump = %v, want %v", err, errSlowReader)
		}
	})
}

// Slow readers together cost no more than their limit; readers that keep up do not notice.
func TestOutletBacklog(t *testing.T) {
	t.Parallel()
	var b backlog
	event := bytes.Repeat([]byte("x"), 1<<20)
	var slow []*outlet
	refused := 0
	for range 2 * maxBacklogBytes / maxPendingBytes {
		o := newOutlet(&b)
		slow = append(slow, o)
		for range 7 {
			if _, err := o.Write(event); err != nil {
				refused++
			}
		}
	}
	// Each of them may have one event.
	if most := int64(maxBacklogBytes + len(slow)*len(event)); b.bytes.Load() > most || refused == 0 {
		t.Errorf("%d bytes wait, want at most %d", b.bytes.Load(), most)
	}
	quick := newOutlet(&b)
	for range 20 {
		if _, err := quick.Write(event); err != nil {
			t.Fatal(err)
		}
		if p, err := quick.take(); len(p) != len(event) || err != nil {
			t.Fatal(len(p), err)
		}
		quick.handedOn()
	}
	quick.take()
	for _, o := range append(slow, quick) {
		o.release()
	}
	if left := b.bytes.Load(); left != 0 {
		t.Errorf("%d bytes are still counted", left)
	}
}

func TestOutletTakesOneLargeEvent(t *testing.T) {
	t.Parallel()
	o := newOutlet(&backlog{})
	if _, err := o.Write(make([]byte, 2*maxPendingBytes)); err != nil {
		t.Errorf("a large answer to an idle reader = %v", err)
	}
}

// What the SDK refuses in plain text must reach the client as JSON-RPC.
func TestOutletRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		text   string
		want   int
		code   string
	}{
		{400, "malformed payload: x", 400, "-32700"},
		{400, "failed to replay events", 400, "-32000"},
		{404, "session is closing", 503, "-32001"},
		{405, "Method Not Allowed", 405, "-32001"},
		{409, "stream ID conflicts with ongoing stream", 409, "-32000"},
		{500, "failed connection", 500, "-32603"},
	} {
		o, w := newOutlet(&backlog{}), httptest.NewRecorder()
		http.Error(o, tc.text, tc.status)
		if err := o.writeTo(w); err != nil {
			t.Fatal(err)
		}
		body := w.Body.String()
		ok := w.Code == tc.want && strings.Contains(body, `"code":`+tc.code)
		if !ok || !strings.HasPrefix(body, `{"jsonrpc":"2.0"`) {
			t.Errorf("%d %s: got %d %s", tc.status, tc.text, w.Code, body)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		want       inspected
		ok         bool
	}{
		{"call", `{"jsonrpc":"2.0","id":1,"method":"a"}`, inspected{method: "a", id: []byte("1"), calls: []string{"float64:1"}}, true},
		{"text id", `{"id":"1","method":"a"}`, inspected{method: "a", id: []byte(`"1"`), calls: []string{"string:1"}}, true},
		{"notification", `{"method":"a"}`, inspected{method: "a"}, true},
		{"null id", `{"id":null,"method":"a"}`, inspected{method: "a"}, true},
		{"answer", `{"id":1,"result":{}}`, inspected{}, true},
		{
			"initialize", `{"id":0,"method":"initialize"}`,
			inspected{initialize: true, method: "initialize", id: []byte("0"), calls: []string{"float64:0"}}, true,
		},
		{
			"batch", ` [{"id":1,"method":"a"},{"id":2,"method":"initialize"}]`,
			inspected{initialize: true, batch: true, calls: []string{"float64:1", "float64:2"}}, true,
		},
		{"not JSON", `{`, inspected{}, false},
		{"not an object", `7`, inspected{}, false},
		{"empty", ``, inspected{}, false},
		{"too large", `{"method":"` + strings.Repeat("x", maxBodyBytes) + `"}`, inspected{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := inspect(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tc.body)))
			if (err == nil) != tc.ok {
				t.Fatalf("inspect = %v", err)
			}
			if err != nil {
				return
			}
			got.body, got.params = nil, nil
			if d := cmp.Diff(tc.want, *got, cmp.AllowUnexported(inspected{})); d != "" {
				t.Errorf("inspected (-want +got):\n%s", d)
			}
		})
	}
}

func TestAnsweredID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ message, want string }{
		{`{"jsonrpc":"2.0","id":1,"result":{"a":[1]}}`, "float64:1"},
		{`{"jsonrpc":"2.0","id":"x","error":{"code":1}}`, "string:x"},
		{`{"jsonrpc":"2.0","id":1,"method":"sampling"}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`, ""},
		{``, ""},
		{`nonsense`, ""},
	} {
		if got, ok := answeredID([]byte(tc.message)); got != tc.want || ok != (tc.want != "") {
			t.Errorf("answeredID(%s) = %q, %v, want %q", tc.message, got, ok, tc.want)
		}
	}
}

// The SDK must see the version in the contexts that it did not make for the request at hand.
func TestVersions(t *testing.T) {
	t.Parallel()
	v := newVersions()
	for _, version := range mcp.SupportedProtocolVersions() {
		ctx, err := v.with(t.Context(), version)
		if err != nil || v[version] == nil || ctx.Done() != t.Context().Done() {
			t.Errorf("with(%s) = %v, %v", version, ctx, err)
		}
	}
	if _, err := v.with(t.Context(), "1999-01-01"); err == nil {
		t.Error("an unknown version was taken")
	}
	if ctx, err := v.with(t.Context(), ""); err != nil || ctx != t.Context() {
		t.Errorf("with no version = %v, %v", ctx, err)
	}
}

package kv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry/telemetrytest"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
)

// shards answers every call with the same.
type shards func(ctx context.Context, t sidecar.Target, method string) (any, error)

// Call implements sidecar.Caller.
func (s shards) Call(ctx context.Context, t sidecar.Target, method string, _ []byte) ([]byte, error) {
	v, err := s(ctx, t, method)
	if err != nil {
		return nil, err
	}
	return v8value.Marshal(v)
}

// Fetch implements sidecar.Caller.
func (s shards) Fetch(context.Context, sidecar.Target, *http.Request) (*http.Response, error) {
	return nil, errors.ErrUnsupported
}

func namespace(s shards) *Namespace {
	return New(Options{Shards: binding.NewNamespace(kv.UniqueKey, s), ID: "n", Binding: "KV"})
}

// operations does each operation once and returns the texts of their errors.
func operations(ctx context.Context, n *Namespace) string {
	_, get := n.Get(ctx, "k", ReadOptions{})
	_, bulk := n.GetBulk(ctx, []string{"a", "k", "a"}, ReadOptions{})
	_, list := n.List(ctx, ListOptions{})
	errs := []error{get, bulk, list, n.Put(ctx, "k", nil, WriteOptions{}), n.Delete(ctx, "k")}
	var lines []string
	for _, err := range errs {
		text := "no error"
		if e, ok := errors.AsType[*Error](err); ok {
			text = strings.TrimPrefix(e.Message, "KV ")
			if e.Retryable {
				text += " (retryable)"
			}
			if e.Cause == nil {
				text += " (no cause)"
			}
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, ", ")
}

func TestErrorsOfCalls(t *testing.T) {
	t.Parallel()
	all := func(text string) string {
		return fmt.Sprintf("GET failed: %[1]s, GET_BULK failed: %[1]s, GET failed: %[1]s, PUT failed: %[1]s, "+
			"DELETE failed: %[1]s", text)
	}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"refused", &sidecar.Error{Name: kv.ErrorName, Message: "400 no", Remote: true}, all("400 no (no cause)")},
		{"host away", &sidecar.Error{Reason: sidecar.ReasonDisconnected, Retryable: true},
			all("503 Service Unavailable (retryable)")},
		{"overloaded", &sidecar.Error{Reason: sidecar.ReasonOverloaded, Overloaded: true}, all("503 Service Unavailable")},
		{"too late", &sidecar.Error{Reason: sidecar.ReasonDeadline}, all("504 Gateway Timeout")},
		{"disk", &sidecar.Error{Reason: sidecar.ReasonStorage, Message: "secret"}, all("500 Internal Server Error")},
		{"other", errors.New("secret"), all("500 Internal Server Error")},
	} {
		n := namespace(func(context.Context, sidecar.Target, string) (any, error) { return nil, tc.err })
		if got := operations(t.Context(), n); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// TestOddAnswers: what a shard of another version might say does no harm.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for _, answer := range []any{"text", kv.GetResult{Entries: make([]kv.Entry, 7)}, []any{1}} {
		n := namespace(func(context.Context, sidecar.Target, string) (any, error) { return answer, nil })
		_, get := n.Get(t.Context(), "k", ReadOptions{})
		_, bulk := n.GetBulk(t.Context(), []string{"a", "k"}, ReadOptions{})
		if get == nil || bulk == nil {
			t.Errorf("%v: %v, %v", answer, get, bulk)
		}
	}
	n := namespace(func(context.Context, sidecar.Target, string) (any, error) {
		return kv.ListResult{More: true}, nil // more, but nothing
	})
	if page, err := n.List(t.Context(), ListOptions{}); err != nil || len(page.Keys) != 0 || page.Cursor != "" {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestDeadline: a shard that does not answer is not waited for for ever.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := namespace(func(ctx context.Context, _ sidecar.Target, _ string) (any, error) {
			<-ctx.Done()
			return nil, &sidecar.Error{Reason: sidecar.ReasonDeadline, Cause: ctx.Err()}
		})
		start := time.Now()
		_, err := n.List(t.Context(), ListOptions{})
		if took := time.Since(start); took != callTimeout || err == nil || err.Error() != "KV GET failed: 504 Gateway Timeout" {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestCallsOfList: a page asks each shard once when keys are spread evenly, and for no more than it may need.
func TestCallsOfList(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ limit, keys, calls int }{
		{1, 1, 1}, {10, 10, 1}, {1000, 133, 1}, {1000, 10, 1},
	} {
		calls := make(chan string, 1000)
		n := namespace(func(_ context.Context, target sidecar.Target, _ string) (any, error) {
			calls <- target.Name
			r := kv.ListResult{}
			for i := range tc.keys {
				r.Keys = append(r.Keys, kv.Key{Name: fmt.Sprintf("%04d%s", i, target.Name)})
			}
			return r, nil
		})
		page, err := n.List(t.Context(), ListOptions{Limit: tc.limit})
		if want := min(tc.limit, tc.keys*kv.Shards); err != nil || len(page.Keys) != want || len(calls) != tc.calls*kv.Shards {
			t.Errorf("%+v: %d keys by %d calls, %v", tc, len(page.Keys), len(calls), err)
		}
	}
}

// TestSpans: names and attributes are workerd's.
func TestSpans(t *testing.T) {
	t.Parallel()
	ctx, recorder := telemetrytest.Record(t)
	n := namespace(func(_ context.Context, _ sidecar.Target, method string) (any, error) {
		switch method {
		case kv.MethodGet:
			return kv.GetResult{Entries: []kv.Entry{{Found: true, Value: []byte("four")}}}, nil
		case kv.MethodList:
			return kv.ListResult{}, nil
		}
		return nil, &sidecar.Error{Reason: sidecar.ReasonDisconnected}
	})
	_, get := n.Get(ctx, "k", ReadOptions{WithMetadata: true})
	_, list := n.List(ctx, ListOptions{Prefix: "p"})
	if put := n.Put(ctx, "k", []byte("abc"), WriteOptions{}); get != nil || list != nil || put == nil {
		t.Fatal(get, list, put)
	}
	var lines []string
	for _, s := range recorder.Ended() {
		a := s.Attributes
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s keys=%s rows=%s size=%s payload=%s prefix=%s complete=%s", s.Name,
			s.Status, a["db.system.name"], a["db.operation.name"], a["cloudflare.binding.name"], a["cloudflare.kv.query.keys"],
			a["cloudflare.kv.response.returned_rows"], a["cloudflare.kv.response.size"],
			a["cloudflare.kv.query.payload.size"], a["cloudflare.kv.query.prefix"],
			a["cloudflare.kv.response.list_complete"]))
	}
	want := strings.Join([]string{
		"kv_getWithMetadata ok cloudflare-kv get KV keys=k rows=1 size=4 payload= prefix= complete=",
		"kv_list ok cloudflare-kv list KV keys= rows=0 size= payload= prefix=p complete=true",
		"kv_put error cloudflare-kv put KV keys=k rows= size= payload=3 prefix= complete=",
	}, "\n")
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

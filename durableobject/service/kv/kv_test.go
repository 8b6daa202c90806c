package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	protokv "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/runtime/binding/kv"
)

// TestRefusals are the texts that npm workerd 1.20261117.1 has.
func TestRefusals(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		n, long := w.namespace("n"), strings.Repeat("é", 257)
		now := time.Now().Unix()
		at := func(v int64) *int64 { return &v }
		put := func(o kv.WriteOptions) error { return n.Put(t.Context(), "k", []byte("v"), o) }
		get := func(key string, ttl *int64) error {
			_, err := n.Get(t.Context(), key, kv.ReadOptions{CacheTTL: ttl})
			return err
		}
		bulk := func(ttl *int64, keys ...string) error {
			_, err := n.GetBulk(t.Context(), keys, kv.ReadOptions{CacheTTL: ttl})
			return err
		}
		list := func(o kv.ListOptions) error {
			_, err := n.List(t.Context(), o)
			return err
		}
		tooLong := " failed: 414 UTF-8 encoded length of 514 exceeds key length limit of 512."
		for _, tc := range []struct {
			err  error
			want string
		}{
			{get("", nil), "Key name cannot be empty."},
			{get(".", nil), `"." is not allowed as a key name.`},
			{n.Delete(t.Context(), ".."), `".." is not allowed as a key name.`},
			{get(long, nil), "KV GET" + tooLong},
			{n.Put(t.Context(), long, nil, kv.WriteOptions{}), "KV PUT" + tooLong},
			{n.Delete(t.Context(), long), "KV DELETE" + tooLong},
			{get("\xed\xa0\x80", nil), "KV GET failed: 400 Invalid key encoding"},
			{get("k", at(29)), "KV GET failed: 400 Invalid cache_ttl of 29. Cache TTL must be at least 30."},
			{put(kv.WriteOptions{TTL: at(0)}),
				"KV PUT failed: 400 Invalid expiration_ttl of 0. Please specify integer greater than 0."},
			{put(kv.WriteOptions{TTL: at(59)}),
				"KV PUT failed: 400 Invalid expiration_ttl of 59. Expiration TTL must be at least 60."},
			{put(kv.WriteOptions{Expiration: at(now)}), fmt.Sprintf("KV PUT failed: 400 Invalid expiration of %d. "+
				"Please specify integer greater than the current number of seconds since the UNIX epoch.", now)},
			{put(kv.WriteOptions{Expiration: at(now + 59)}), fmt.Sprintf("KV PUT failed: 400 Invalid expiration of %d. "+
				"Expiration times must be at least 60 seconds in the future.", now+59)},
			{put(kv.WriteOptions{Metadata: "{"}), "KV PUT failed: 400 Metadata must be valid JSON"},
			{put(kv.WriteOptions{Metadata: strings.Repeat("1", 1025)}),
				"KV PUT failed: 413 Metadata length of 1025 exceeds limit of 1024."},
			{n.Put(t.Context(), "k", make([]byte, protokv.MaxValueBytes+1), kv.WriteOptions{}),
				"KV PUT failed: 413 Value length of 26214401 exceeds limit of 26214400."},
			{list(kv.ListOptions{Limit: 1001}),
				"KV GET failed: 400 Invalid key_count_limit of 1001. Please specify an integer less than 1000."},
			{list(kv.ListOptions{Cursor: "bad!!"}), "KV GET failed: 400 Invalid cursor."},
			{list(kv.ListOptions{Prefix: long}), "KV GET" + tooLong},
			{bulk(nil), "KV GET_BULK failed: 400 You must request a minimum of 1 key"},
			{bulk(nil, make([]string, 101)...), "KV GET_BULK failed: 400 You can request a maximum of 100 keys"},
			{bulk(nil, ""), "KV GET_BULK failed: 400 Key names must not be empty"},
			{bulk(nil, "."), `KV GET_BULK failed: 400 Illegal key name ".". Please use a different name.`},
			{bulk(nil, "a", long), "KV GET_BULK" + tooLong},
			{bulk(at(5), "a"), "KV GET_BULK failed: 400 Invalid cache_ttl of 5. Cache TTL must be at least 30."},
		} {
			e, ok := errors.AsType[*kv.Error](tc.err)
			class := "Error"
			if !strings.HasPrefix(tc.want, "KV ") {
				class = "TypeError"
			}
			if !ok || e.Message != tc.want || e.Class != class {
				t.Errorf("got %v, want %s: %s", tc.err, class, tc.want)
			}
		}
		if keys, _ := w.stored(); keys != 0 {
			t.Errorf("%d keys on disk", keys)
		}
	})
}

// TestShardChecks asks the class for what no binding would.
func TestShardChecks(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		stub := w.classes().GetByName(protokv.ObjectName("n", 0))
		ask := func(method string, arg any) string {
			_, err := durableobject.Call[any](t.Context(), stub, method, arg)
			e, _ := errors.AsType[*durableobject.Error](err)
			if e == nil || e.Name != protokv.ErrorName {
				return fmt.Sprintf("not refused: %v", err)
			}
			return e.Message
		}
		for _, tc := range []struct{ got, want string }{
			{ask(protokv.MethodGet, protokv.Get{}), "400 You must request a minimum of 1 key"},
			{ask(protokv.MethodGet, protokv.Get{Keys: []string{""}}), "400 Key names must not be empty"},
			{ask(protokv.MethodPut, protokv.Put{}), "400 Key names must not be empty"},
			{ask(protokv.MethodPut, protokv.Put{Key: "k", Value: make([]byte, protokv.MaxValueBytes+1)}),
				"413 Value length of 26214401 exceeds limit of 26214400."},
			{ask(protokv.MethodPut, protokv.Put{Key: "k", Metadata: strings.Repeat("1", 1025)}),
				"413 Metadata length of 1025 exceeds limit of 1024."},
			{ask(protokv.MethodDelete, protokv.Delete{Key: "."}), `400 Illegal key name ".". Please use a different name.`},
			{ask(protokv.MethodList, protokv.List{}),
				"400 Invalid key_count_limit of 0. Please specify an integer greater than 0."},
			{ask(protokv.MethodList, protokv.List{Limit: 1001}),
				"400 Invalid key_count_limit of 1001. Please specify an integer less than 1000."},
		} {
			if tc.got != tc.want {
				t.Errorf("got %q, want %q", tc.got, tc.want)
			}
		}
	})
}

// TestExpiry: a key is gone from the second of its expiration on, and off the disk a minute later at most.
func TestExpiry(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		n, ttl := w.namespace("n"), int64(60)
		if err := n.Put(t.Context(), "k", make([]byte, 2<<20), kv.WriteOptions{TTL: &ttl}); err != nil {
			t.Fatal(err)
		}
		if keys, alarms := w.stored(); keys != 34 || alarms != 1 {
			t.Errorf("%d keys and %d alarms", keys, alarms)
		}
		found := func() bool {
			e, err := n.Get(t.Context(), "k", kv.ReadOptions{})
			page, listErr := n.List(t.Context(), kv.ListOptions{})
			if err := errors.Join(err, listErr); err != nil {
				t.Fatal(err)
			}
			if listed := len(page.Keys) == 1; listed != e.Found {
				t.Errorf("found %v, listed %v", e.Found, listed)
			}
			return e.Found
		}
		pass(60*time.Second - time.Millisecond)
		if !found() {
			t.Error("gone before its time")
		}
		pass(time.Millisecond)
		if found() {
			t.Error("there after its time")
		}
		w.restart()
		pass(time.Minute)
		if keys, alarms := w.stored(); keys != 0 || alarms != 0 {
			t.Errorf("%d keys and %d alarms are left", keys, alarms)
		}
	})
}

// TestExpiryOfMany: more keys than one sweep deletes, and one that stays.
func TestExpiryOfMany(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		shard := w.classes().GetByName(protokv.ObjectName("n", 0))
		for i := range 1100 {
			ttl := int64(60 + i%7)
			if i == 0 {
				ttl = 3600
			}
			_, err := durableobject.Call[any](t.Context(), shard, protokv.MethodPut,
				protokv.Put{Key: fmt.Sprint(i), TTL: &ttl})
			if err != nil {
				t.Fatal(err)
			}
		}
		pass(2*time.Minute + time.Second)
		if keys, alarms := w.stored(); keys != 2 || alarms != 1 {
			t.Errorf("%d keys and %d alarms are left", keys, alarms)
		}
		pass(time.Hour)
		if keys, alarms := w.stored(); keys != 0 || alarms != 0 {
			t.Errorf("%d keys and %d alarms are left", keys, alarms)
		}
	})
}

// TestLargeValues: the largest value goes there and back, and a bulk read of more than that is refused.
func TestLargeValues(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		n := w.namespace("n")
		value := bytes.Repeat([]byte("0123456789abcdef"), protokv.MaxValueBytes/16)
		if err := n.Put(t.Context(), "large", value, kv.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.restart()
		n = w.namespace("n")
		e, err := n.Get(t.Context(), "large", kv.ReadOptions{})
		if err != nil || !bytes.Equal(e.Value, value) {
			t.Errorf("got %d bytes, %v", len(e.Value), err)
		}
		const want = "KV GET_BULK failed: 413 Total size of request exceeds the limit of 25MB"
		for i := range 2 * protokv.Shards { // in the same shard and in others
			key := fmt.Sprint(i)
			if err := n.Put(t.Context(), key, []byte("1"), kv.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := n.GetBulk(t.Context(), []string{"large", key}, kv.ReadOptions{}); err == nil || err.Error() != want {
				t.Errorf("bulk of too much: %v", err)
			}
		}
		if err := n.Put(t.Context(), "large", []byte("small"), kv.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if keys, _ := w.stored(); keys != 2*protokv.Shards+1 {
			t.Errorf("%d keys on disk", keys)
		}
	})
}

// TestNamespaces: two namespaces share nothing.
func TestNamespaces(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		if err := w.namespace("a").Put(t.Context(), "k", []byte("1"), kv.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		e, err := w.namespace("b").Get(t.Context(), "k", kv.ReadOptions{})
		if err != nil || e.Found {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// TestReadable: what `tandem objects` shows of a key says what it is.
func TestReadable(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		o := kv.WriteOptions{Metadata: `{"a":1}`}
		if err := w.namespace("n").Put(t.Context(), "greeting", []byte("hello"), o); err != nil {
			t.Fatal(err)
		}
		got := w.show()
		if want := `n/6 key/greeting: {size: 5, text: "hello", metadata: "{\"a\":1}"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestHostGone: a host that is not there makes an error that tells nothing of it.
func TestHostGone(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		n := w.namespace("n")
		w.restart() // n still leads to the host that ended
		_, err := n.Get(t.Context(), "k", kv.ReadOptions{})
		e, ok := errors.AsType[*kv.Error](err)
		if !ok || e.Message != "KV GET failed: 503 Service Unavailable" || !e.Retryable || e.Cause == nil {
			t.Errorf("got %#v", err)
		}
	})
}

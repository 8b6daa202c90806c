package kv_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	protokv "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/runtime/binding/kv"
)

// entry is what the model knows of a key.
type entry struct {
	value      []byte
	metadata   string
	expiration int64
}

// model is a namespace as a map.
type model map[string]entry

func (m model) alive(key string) (entry, bool) {
	e, ok := m[key]
	return e, ok && (e.expiration == 0 || e.expiration > time.Now().Unix())
}

func (m model) names(prefix string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, ok := m.alive(name); ok && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// sizes are lengths of values around the borders of their kinds.
func sizes() []int { return []int{0, 1, 100, 1 << 10, 1<<10 + 1, 64 << 10, 64<<10 + 1, 1 << 20} }

// TestModel does random operations on a namespace and on a map, and lets time pass.
func TestModel(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				r := rand.New(rand.NewPCG(seed, 1))
				m := model{}
				for step := range 400 {
					if !operate(t, r, w, m) {
						t.Fatalf("seed %d, step %d", seed, step)
					}
				}
				// When all that expires has, only what the model has is left on disk.
				pass(time.Hour)
				checkStored(t, w, m)
			})
		})
	}
}

func checkStored(t *testing.T, w *world, m model) {
	want := 0
	for _, name := range m.names("") {
		e := m[name]
		if want++; len(e.value) > 1<<10 {
			want += (len(e.value) + 64<<10 - 1) >> 16
		}
		if e.expiration != 0 {
			t.Errorf("%q expires at %d", name, e.expiration)
		}
	}
	if keys, alarms := w.stored(); keys != want || alarms != 0 {
		t.Errorf("%d keys and %d alarms on disk, want %d and 0", keys, alarms, want)
	}
}

func randomKey(r *rand.Rand) string {
	names := []string{"a", "a/b", "a/c", "b", "é", "\U0001F600", "\uFFFD", "x\x00y", strings.Repeat("k", 512), "key/a"}
	if r.IntN(2) == 0 {
		return names[r.IntN(len(names))]
	}
	return fmt.Sprintf("n/%02d", r.IntN(40))
}

// operate does one operation, and reports whether all was as the model says.
func operate(t *testing.T, r *rand.Rand, w *world, m model) bool {
	ctx, n, key := t.Context(), w.namespace("model"), randomKey(r)
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		e, o := randomEntry(r)
		if err := n.Put(ctx, key, e.value, o); err != nil {
			t.Errorf("put %q: %v", key, err)
			return false
		}
		m[key] = e
	case 4, 5:
		if err := n.Delete(ctx, key); err != nil {
			t.Errorf("delete %q: %v", key, err)
			return false
		}
		delete(m, key)
	case 6, 7, 8:
		got, err := n.Get(ctx, key, kv.ReadOptions{})
		return err == nil && matches(t, m, key, got)
	case 9:
		keys := []string{key, randomKey(r), randomKey(r), key}
		got, err := n.GetBulk(ctx, keys, kv.ReadOptions{})
		for i := range keys {
			if err != nil || !matches(t, m, keys[i], got[i]) {
				return false
			}
		}
	case 10:
		return listed(t, r, n, m)
	case 11:
		pass(time.Duration(r.IntN(60)) * time.Second)
		switch r.IntN(8) {
		case 0:
			w.restart()
		case 1:
			w.crash()
		}
	}
	return true
}

func randomEntry(r *rand.Rand) (entry, kv.WriteOptions) {
	value := make([]byte, sizes()[r.IntN(len(sizes()))])
	for i := range min(len(value), 64) {
		value[i] = byte(r.Uint32())
	}
	e, o := entry{value: value}, kv.WriteOptions{}
	if r.IntN(2) == 0 {
		e.metadata = fmt.Sprintf(`{"n":%d}`, r.IntN(10))
		o.Metadata = e.metadata
	}
	ttl := int64(60 + r.IntN(120))
	switch r.IntN(3) {
	case 0:
		e.expiration = time.Now().Unix() + ttl
		o.TTL = &ttl
	case 1:
		e.expiration = time.Now().Unix() + ttl
		o.Expiration = &e.expiration
	}
	return e, o
}

func matches(t *testing.T, m model, key string, got protokv.Entry) bool {
	want, ok := m.alive(key)
	if ok != got.Found || ok && (!bytes.Equal(want.value, got.Value) || want.metadata != got.Metadata ||
		want.expiration != got.Expiration) {
		t.Errorf("get %q: got %v, %d bytes, %s, %d; want %v, %d bytes, %s, %d", key, got.Found, len(got.Value),
			got.Metadata, got.Expiration, ok, len(want.value), want.metadata, want.expiration)
		return false
	}
	return true
}

// listed reads a whole list in pages of a random size.
func listed(t *testing.T, r *rand.Rand, n *kv.Namespace, m model) bool {
	prefix := []string{"", "n/", "a", "n/1", "nothing", "\U0001F600"}[r.IntN(6)]
	o := kv.ListOptions{Prefix: prefix, Limit: 1 + r.IntN(20)}
	var names []string
	for {
		page, err := n.List(t.Context(), o)
		if err != nil || len(page.Keys) > o.Limit || page.Cursor != "" && len(page.Keys) < o.Limit {
			t.Errorf("list %q: %v, %d keys of at most %d, cursor %q", prefix, err, len(page.Keys), o.Limit, page.Cursor)
			return false
		}
		for _, k := range page.Keys {
			names = append(names, k.Name)
			if e := m[k.Name]; e.metadata != k.Metadata || e.expiration != k.Expiration {
				t.Errorf("list: %+v, want %+v", k, e)
				return false
			}
		}
		if page.Cursor == "" {
			break
		}
		o.Cursor = page.Cursor
	}
	if want := m.names(prefix); !slices.Equal(names, want) {
		t.Errorf("list %q: got %q, want %q", prefix, names, want)
		return false
	}
	return true
}

package storage

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

var (
	histories = flag.Int("histories", 300, "random histories that TestHistories runs")
	firstSeed = flag.Uint64("seed", 1, "the first history's seed")
)

// TestHistories runs random operations, flushes, reopenings and power failures on three objects of a store, against
// a model that is a map. Every read must give what the model has. After a power failure each object must be as it was
// after some flush, and after none older than the newest that was acknowledged.
func TestHistories(t *testing.T) {
	t.Parallel()
	for i := range *histories {
		seed := *firstSeed + uint64(i)
		h := &history{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0))}
		h.run()
		if t.Failed() {
			t.Fatalf("failed with -seed=%d -histories=1; its end:\n%s", seed, strings.Join(h.trace, "\n"))
		}
	}
}

// state is what an object holds.
type state struct {
	Values map[string]string
	Alarm  int64
}

func (s state) clone() state { return state{maps.Clone(s.Values), s.Alarm} }

func (s state) equal(other state) bool {
	return s.Alarm == other.Alarm && maps.Equal(s.Values, other.Values)
}

// modelled is an object beside its model.
type modelled struct {
	name string
	o    *Object
	// now is what reads must give; flushed is the state at each flush, with its commit, oldest first, the first one
	// being what the disk held when the store was opened.
	now     state
	flushed []flushedState
}

type flushedState struct {
	state
	commit *Commit
}

func (f flushedState) acknowledged() bool {
	if f.commit == nil {
		return true
	}
	select {
	case <-f.commit.Done():
		return true
	default:
		return false
	}
}

type history struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	disk    *vfs.MemFS
	store   *Store
	objects []*modelled
	trace   []string
}

func (h *history) run() {
	h.disk = vfs.NewCrashableMem()
	for _, name := range []string{"a", "b", "c"} {
		h.objects = append(h.objects, &modelled{name: name, now: state{Values: map[string]string{}}})
	}
	h.open()
	for range 20 + h.rng.IntN(60) {
		m := h.objects[h.rng.IntN(len(h.objects))]
		switch h.rng.IntN(20) {
		case 0:
			h.crash()
		case 1:
			h.reopen()
		case 2:
			h.note("%s discard", m.name)
			m.o.Discard()
			m.now = m.flushed[len(m.flushed)-1].clone()
		case 3, 4, 5, 6:
			h.flush(m)
		case 7:
			h.transaction(h.t.Context(), m, 0)
		default:
			h.operation(h.t.Context(), m, false)
		}
		if h.t.Failed() {
			break
		}
	}
	h.checkIndex()
	if err := h.store.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
	if len(h.trace) > 60 {
		h.trace = h.trace[1:]
	}
}

func (h *history) open() {
	s, err := Open(Options{Dir: "/state", FS: h.disk, CacheBytes: 1 << 20})
	if err != nil {
		h.t.Fatal(err)
	}
	h.store = s
	for _, m := range h.objects {
		m.o = named(s, m.name)
		m.o.SetName(m.name)
		m.flushed = []flushedState{{state: m.now.clone()}}
	}
}

func (h *history) flush(m *modelled) {
	c := m.o.Flush()
	h.note("%s flush, commit: %v", m.name, c != nil)
	if c == nil {
		if !m.now.equal(m.flushed[len(m.flushed)-1].state) {
			h.t.Errorf("flush of %s made no commit, but the state changed", m.name)
		}
		return
	}
	m.flushed = append(m.flushed, flushedState{m.now.clone(), c})
	if h.rng.IntN(2) == 0 {
		if err := c.Wait(context.Background()); err != nil {
			h.t.Error(err)
		}
	}
}

// reopen closes the store in order: what was flushed is there, what was pending is not.
func (h *history) reopen() {
	h.note("reopen")
	if err := h.store.Close(); err != nil {
		h.t.Error(err)
	}
	for _, m := range h.objects {
		m.now = m.flushed[len(m.flushed)-1].clone()
	}
	h.open()
}

func (h *history) crash() {
	least := make([]int, len(h.objects))
	for i, m := range h.objects {
		for j, f := range m.flushed {
			if f.acknowledged() {
				least[i] = j
			}
		}
	}
	percent := h.rng.IntN(101)
	h.note("crash, %d%% of what was not synced is there", percent)
	clone := h.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: h.rng})
	if err := h.store.Close(); err != nil {
		h.t.Error(err)
	}
	h.disk = clone
	old := make([][]flushedState, len(h.objects))
	for i, m := range h.objects {
		old[i] = m.flushed
	}
	h.open()
	for i, m := range h.objects {
		got := h.read(m)
		j := slices.IndexFunc(old[i][least[i]:], func(f flushedState) bool { return f.equal(got) })
		if j < 0 {
			h.t.Errorf("object %s after a crash: %v, want a state from flush %d on:\n%s", m.name, got, least[i],
				cmp.Diff(old[i][least[i]].state, got))
			return
		}
		m.now = got
		m.flushed = []flushedState{{state: got.clone()}}
	}
	h.checkIndex()
}

func (h *history) read(m *modelled) state {
	entries, err := m.o.List(h.t.Context(), ListOptions{})
	if err != nil {
		h.t.Error(err)
	}
	got := state{Values: map[string]string{}}
	for _, e := range entries {
		got.Values[e.Key] = string(e.Value)
	}
	at, ok, err := m.o.Alarm(h.t.Context())
	if err != nil {
		h.t.Error(err)
	}
	if ok {
		got.Alarm = at.UnixMilli()
	}
	return got
}

var historyKeys = []string{"", "a", "aa", "ab", "b", "b\x00", "ba", "é", "\xff", "\xff\xff", "k1", "k2", "k3", "z"}

func (h *history) key() string { return historyKeys[h.rng.IntN(len(historyKeys))] }

func (h *history) operation(ctx context.Context, m *modelled, inTransaction bool) {
	switch h.rng.IntN(12) {
	case 0, 1, 2, 3:
		h.put(ctx, m)
	case 4, 5:
		keys := []string{h.key(), h.key()}
		want := 0
		for _, k := range keys {
			if _, ok := m.now.Values[k]; ok {
				want++
				delete(m.now.Values, k)
			}
		}
		n, err := m.o.Delete(ctx, keys, PutOptions{})
		h.note("%s delete %q: %d", m.name, keys, n)
		if err != nil || n != want {
			h.t.Errorf("delete %q of %s: got %d %v, want %d", keys, m.name, n, err, want)
		}
	case 6:
		h.alarm(ctx, m)
	case 7:
		if inTransaction || h.rng.IntN(3) > 0 {
			return
		}
		h.note("%s delete all", m.name)
		if err := m.o.DeleteAll(ctx); err != nil {
			h.t.Error(err)
		}
		m.now = state{Values: map[string]string{}}
	case 8, 9:
		h.list(ctx, m)
	default:
		k := h.key()
		want, wantOK := m.now.Values[k]
		got, ok, err := m.o.Get(ctx, k, GetOptions{})
		if err != nil || ok != wantOK || string(got) != want {
			h.t.Errorf("get %q of %s: got %q %v %v, want %q %v", k, m.name, got, ok, err, want, wantOK)
		}
	}
}

func (h *history) put(ctx context.Context, m *modelled) {
	var entries []Entry
	for range 1 + h.rng.IntN(3) {
		value := fmt.Sprint(h.rng.IntN(1000))
		if h.rng.IntN(20) == 0 {
			value = strings.Repeat(value+" ", 10_000)
		}
		entries = append(entries, Entry{h.key(), []byte(value)})
	}
	if err := m.o.Put(ctx, entries, PutOptions{AllowUnconfirmed: h.rng.IntN(2) == 0}); err != nil {
		h.t.Error(err)
	}
	for _, e := range entries {
		m.now.Values[e.Key] = string(e.Value)
		h.note("%s put %q=%.10s", m.name, e.Key, e.Value)
		clear(e.Value) // the caller may reuse it
	}
}

func (h *history) alarm(ctx context.Context, m *modelled) {
	if h.rng.IntN(3) == 0 {
		h.note("%s delete alarm", m.name)
		if err := m.o.DeleteAlarm(ctx, PutOptions{}); err != nil {
			h.t.Error(err)
		}
		m.now.Alarm = 0
		return
	}
	at := time.Now().Add(time.Hour + time.Duration(h.rng.IntN(1000))*time.Second).Truncate(time.Millisecond)
	h.note("%s set alarm", m.name)
	if err := m.o.SetAlarm(ctx, at, PutOptions{}); err != nil {
		h.t.Error(err)
	}
	m.now.Alarm = at.UnixMilli()
}

func (h *history) list(ctx context.Context, m *modelled) {
	var opts ListOptions
	set := func() *string {
		if k := h.key(); h.rng.IntN(3) == 0 {
			return &k
		}
		return nil
	}
	if opts.Start = set(); opts.Start == nil {
		opts.StartAfter = set()
	}
	opts.End = set()
	if p := set(); p != nil {
		opts.Prefix = *p
	}
	opts.Reverse, opts.Limit = h.rng.IntN(2) == 0, h.rng.IntN(6)
	got, err := m.o.List(ctx, opts)
	if err != nil {
		h.t.Error(err)
	}
	if diff := cmp.Diff(modelList(m.now.Values, opts), got); diff != "" {
		h.t.Errorf("list %+v of %s (-want +got):\n%s", opts, m.name, diff)
	}
}

// modelList is list, one option after the other.
func modelList(values map[string]string, opts ListOptions) []Entry {
	keys := slices.Sorted(maps.Keys(values))
	keys = slices.DeleteFunc(keys, func(k string) bool {
		return opts.Start != nil && k < *opts.Start || opts.StartAfter != nil && k <= *opts.StartAfter ||
			opts.End != nil && k >= *opts.End || !strings.HasPrefix(k, opts.Prefix)
	})
	if opts.Reverse {
		slices.Reverse(keys)
	}
	if opts.Limit > 0 && len(keys) > opts.Limit {
		keys = keys[:opts.Limit]
	}
	var entries []Entry
	for _, k := range keys {
		entries = append(entries, Entry{k, []byte(values[k])})
	}
	return entries
}

// transaction runs a few operations, flushes and transactions within one, and has it end in one of the three ways.
func (h *history) transaction(ctx context.Context, m *modelled, depth int) {
	before := m.now.clone()
	how := []string{"keep", "throw", "rollback"}[h.rng.IntN(3)]
	h.note("%s {", m.name)
	err := m.o.Transaction(ctx, func(ctx context.Context) error {
		for range h.rng.IntN(5) {
			switch {
			case depth < 2 && h.rng.IntN(4) == 0:
				h.transaction(ctx, m, depth+1)
			case depth == 0 && h.rng.IntN(6) == 0:
				// What was written before the transaction is committed, and only that.
				if c := m.o.Flush(); c != nil {
					h.note("%s flush within", m.name)
					m.flushed = append(m.flushed, flushedState{before.clone(), c})
				}
			default:
				h.operation(ctx, m, true)
			}
		}
		switch how {
		case "throw":
			return errScript
		case "rollback":
			if h.rng.IntN(2) == 0 {
				return ErrRollback
			}
			return m.o.Rollback(ctx)
		}
		return nil
	})
	h.note("%s } %s", m.name, how)
	if how == "throw" && !errors.Is(err, errScript) || how != "throw" && err != nil {
		h.t.Errorf("transaction of %s that ends in %s: got %v", m.name, how, err)
	}
	if how != "keep" {
		m.now = before
	}
}

// checkIndex checks that the index holds exactly the objects' alarms.
func (h *history) checkIndex() {
	records, index := map[string]alarmRecord{}, map[string]alarmRecord{}
	it, err := h.store.db.NewIter(&pebble.IterOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		r, _ := decodeAlarmRecord(it.Value())
		if namespace, id, rest, ok := splitObjectKey(it.Key()); ok && rest[0] == kindAlarm {
			records[string(alarmIndexKey(r.due, namespace, id))] = r
		}
		if _, _, _, ok := splitAlarmKey(it.Key()); ok {
			index[string(it.Key())] = r
		}
	}
	if !maps.Equal(records, index) {
		h.t.Errorf("index of alarms has %d entries, want %d, the same", len(index), len(records))
	}
}

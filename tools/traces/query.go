package traces

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// maxTraceSpans bounds the spans that are read of one trace.
	maxTraceSpans = 10_000
	// maxRecentScan bounds the spans that are looked at for the list of recent traces.
	maxRecentScan = 20_000
	// checkEvery is how many spans are looked at between two looks at the context.
	checkEvery = 1024
)

// query is what a search asks for; a zero field asks nothing.
type query struct {
	since              time.Time
	limit              int
	operation, service string
	trace              *traceID
	attrs              []tag
}

// matches reports whether a span is asked for, its age aside.
func (q *query) matches(v *view) bool {
	if q.operation != "" && string(v.name) != q.operation || q.service != "" && string(v.service) != q.service {
		return false
	}
	for _, want := range q.attrs {
		if got, ok := v.tag(want.key); !ok || string(got) != want.value {
			return false
		}
	}
	return true
}

// search returns the spans that q asks for, newest first. Errors: the context's, and the store's.
func (s *store) search(ctx context.Context, q query) ([]span, error) {
	if q.trace != nil {
		return s.searchTrace(ctx, q)
	}
	var out []span
	var v view
	err := s.newest(ctx, uint64(max(0, q.since.UnixNano())), func(record []byte) (bool, error) {
		if err := v.decode(record); err != nil {
			return false, err
		}
		if q.matches(&v) {
			out = append(out, v.span())
		}
		return len(out) < q.limit, nil
	})
	return out, err
}

// newest calls f with the records from the newest down to since, until f returns false or an error.
func (s *store) newest(ctx context.Context, since uint64, f func(record []byte) (bool, error)) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: timeKey(since), UpperBound: []byte{keyTime + 1}})
	if err != nil {
		return err
	}
	defer it.Close()
	n := 0
	for ok := it.Last(); ok; ok = it.Prev() {
		if n++; n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if more, err := f(it.Value()); err != nil || !more {
			return err
		}
	}
	return it.Error()
}

// searchTrace is search within one trace.
func (s *store) searchTrace(ctx context.Context, q query) ([]span, error) {
	type arrived struct {
		seq  uint64
		span span
	}
	var found []arrived
	since := uint64(max(0, q.since.UnixNano()))
	_, err := s.eachOfTrace(ctx, *q.trace, func(seq uint64, v *view) {
		if seq >= since && q.matches(v) {
			found = append(found, arrived{seq, v.span()})
		}
	})
	slices.SortFunc(found, func(a, b arrived) int { return cmp.Compare(b.seq, a.seq) })
	out := make([]span, 0, min(len(found), q.limit))
	for _, f := range found[:cap(out)] {
		out = append(out, f.span)
	}
	return out, err
}

// eachOfTrace calls f with the spans of a trace, in no order; v is valid until f returns. It stops at
// maxTraceSpans and then reports that there are more.
func (s *store) eachOfTrace(ctx context.Context, t traceID, f func(seq uint64, v *view)) (more bool, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: indexKey(t, spanID{}),
		UpperBound: append(indexKey(t, spanID(bytes.Repeat([]byte{0xff}, len(spanID{})))), 0),
	})
	if err != nil {
		return false, err
	}
	defer it.Close()
	var v view
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n > maxTraceSpans {
			return true, nil
		}
		if n%checkEvery == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		seq := binary.BigEndian.Uint64(it.Value())
		record, closer, err := s.db.Get(timeKey(seq))
		if errors.Is(err, pebble.ErrNotFound) {
			continue // dropped, or replaced, since the iterator began
		}
		if err != nil {
			return false, fmt.Errorf("read span: %w", err)
		}
		if err := v.decode(record); err != nil {
			return false, errors.Join(err, closer.Close())
		}
		f(seq, &v)
		if err := closer.Close(); err != nil {
			return false, err
		}
	}
	return false, it.Error()
}

// traceSpans returns the spans of a trace in the order of their start, and whether there are more than it
// reads.
func (s *store) traceSpans(ctx context.Context, t traceID) (spans []span, more bool, err error) {
	more, err = s.eachOfTrace(ctx, t, func(_ uint64, v *view) { spans = append(spans, v.span()) })
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return spans, more, err
}

// summary is a trace at a glance.
type summary struct {
	id traceID
	// root is the name of the span without a parent; of the earliest while that one is not known.
	root       string
	rooted     bool
	start, end uint64
	spans      int
	failed     bool
	services   []string
}

// summarize reads a trace's spans. A trace that is gone has none.
func (s *store) summarize(ctx context.Context, t traceID) (summary, error) {
	sum := summary{id: t}
	var rootStart uint64
	_, err := s.eachOfTrace(ctx, t, func(_ uint64, v *view) {
		isRoot := v.parent == spanID{}
		if sum.spans == 0 || (isRoot && !sum.rooted) || (isRoot == sum.rooted && v.start < rootStart) {
			sum.root, sum.rooted, rootStart = string(v.name), isRoot, v.start
		}
		if sum.spans == 0 || v.start < sum.start {
			sum.start = v.start
		}
		sum.end = max(sum.end, v.end)
		sum.failed = sum.failed || v.failed
		sum.spans++
		if !slices.ContainsFunc(sum.services, func(n string) bool { return n == string(v.service) }) {
			sum.services = append(sum.services, string(v.service))
		}
	})
	slices.Sort(sum.services)
	return sum, err
}

// recent returns up to n traces, the one with the newest span first.
func (s *store) recent(ctx context.Context, n int) ([]summary, error) {
	var ids []traceID
	seen := map[traceID]bool{}
	scanned := 0
	err := s.newest(ctx, 0, func(record []byte) (bool, error) {
		if len(record) < recordHead {
			return false, errRecord
		}
		id := traceID(record[:16])
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
		scanned++
		return len(ids) < n && scanned < maxRecentScan, nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]summary, 0, len(ids))
	for _, id := range ids {
		sum, err := s.summarize(ctx, id)
		if err != nil {
			return nil, err
		}
		if sum.spans > 0 {
			out = append(out, sum)
		}
	}
	return out, nil
}

package storage

import (
	"slices"
	"strings"
)

// layer holds writes that are not flushed yet. The lowest one is the implicit transaction of the turn; each open
// transaction has one on top.
type layer struct {
	parent *layer
	// writes holds the newest write of each key.
	writes map[string]write
	// cleared says that nothing below this layer counts, neither other layers nor the disk.
	cleared bool
	alarm   alarmWrite
	// confirmed says that at least one write was not AllowUnconfirmed.
	confirmed bool
	// bytes is the size of keys and values in writes.
	bytes int
	// rolledBack says that this transaction was rolled back, by Rollback or because it failed; committed that it ended
	// and its writes became those of the layer below.
	rolledBack, committed bool
}

type write struct {
	value   []byte
	deleted bool
	// uncached is PutOptions.NoCache.
	uncached bool
}

// alarmWrite is a change of the alarm.
type alarmWrite struct {
	kind alarmKind
	at   int64 // milliseconds since 1970, with alarmSet
}

type alarmKind uint8

const (
	alarmKeep alarmKind = iota
	alarmSet
	alarmDelete
)

func (l *layer) empty() bool {
	return len(l.writes) == 0 && !l.cleared && l.alarm.kind == alarmKeep
}

// puts reports whether the layer has anything to store, and not only to delete.
func (l *layer) puts() bool {
	for _, w := range l.writes {
		if !w.deleted {
			return true
		}
	}
	return l.alarm.kind == alarmSet
}

func (l *layer) set(key string, w write) {
	if l.writes == nil {
		l.writes = make(map[string]write)
	}
	if old, ok := l.writes[key]; ok {
		l.bytes -= len(key) + len(old.value)
	}
	l.bytes += len(key) + len(w.value)
	l.writes[key] = w
}

// get looks a key up in this layer and those below. known is false when only the disk can tell.
func (l *layer) get(key string) (w write, known bool) {
	for ; l != nil; l = l.parent {
		if w, ok := l.writes[key]; ok {
			return w, true
		}
		if l.cleared {
			return write{deleted: true}, true
		}
	}
	return write{}, false
}

// alarmChange returns the newest change of the alarm in this layer and those below.
func (l *layer) alarmChange() alarmWrite {
	for ; l != nil; l = l.parent {
		if l.alarm.kind != alarmKeep {
			return l.alarm
		}
	}
	return alarmWrite{}
}

// pendingBytes is the size of this layer and those below.
func (l *layer) pendingBytes() int {
	n := 0
	for ; l != nil; l = l.parent {
		n += l.bytes
	}
	return n
}

// base returns the lowest layer, or nil.
func (l *layer) base() *layer {
	if l == nil {
		return nil
	}
	for l.parent != nil {
		l = l.parent
	}
	return l
}

// has reports whether m is this layer or one below it.
func (l *layer) has(m *layer) bool {
	for ; l != nil; l = l.parent {
		if l == m {
			return true
		}
	}
	return false
}

// merge takes over what a transaction on top of this layer wrote.
func (l *layer) merge(top *layer) {
	if len(l.writes) == 0 {
		l.writes, l.bytes = top.writes, top.bytes
	} else {
		for key, w := range top.writes {
			l.set(key, w)
		}
	}
	if top.alarm.kind != alarmKeep {
		l.alarm = top.alarm
	}
	l.confirmed = l.confirmed || top.confirmed
}

// pendingEntry is one write that List has to merge with the disk.
type pendingEntry struct {
	key string
	write
}

// within returns this layer's and the lower ones' writes in a range, sorted, and whether the disk counts.
func (l *layer) within(r keyRange) (entries []pendingEntry, disk bool) {
	var seen map[string]struct{}
	for ; l != nil; l = l.parent {
		for key, w := range l.writes {
			if !r.contains(key) {
				continue
			}
			if _, ok := seen[key]; ok {
				continue
			}
			entries = append(entries, pendingEntry{key, w})
		}
		if l.cleared {
			disk = false
			break
		}
		disk = true
		if l.parent != nil && len(entries) > len(seen) {
			seen = make(map[string]struct{}, len(entries))
			for _, e := range entries {
				seen[e.key] = struct{}{}
			}
		}
	}
	slices.SortFunc(entries, func(a, b pendingEntry) int { return strings.Compare(a.key, b.key) })
	return entries, disk
}

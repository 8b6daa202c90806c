package mcpsession

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/proto/v8value"
)

const (
	// programKey is where what an execution runs is stored; calls and their results are below the prefixes.
	programKey    = "program"
	callsPrefix   = "call/"
	resultsPrefix = "result/"

	// maxHistoryCalls and maxHistoryBytes bound what is kept of a program. One that goes beyond goes on, but can't be run
	// again: it is lost with its process or its host.
	maxHistoryCalls = 5000
	maxHistoryBytes = 8 << 20
	// entryBytes and takenBytes are what a call, and a result that was taken, count beyond what they hold.
	entryBytes = 64
	takenBytes = 24
)

// programRecord is what a program is run with, and run again.
type programRecord struct {
	// Code is the program.
	Code string `json:"code"`
	// Seed is what its randomness comes from.
	Seed []byte `json:"seed"`
	// StartedMS is what its clock said when it started, in milliseconds since 1970.
	StartedMS int64 `json:"startedMs"`
}

// callRecord is a call that a program made.
type callRecord struct {
	// Path and Arguments are the call, Arguments as JSON.
	Path      string `json:"path"`
	Arguments []byte `json:"arguments"`
	// Taken are the results that the program had gone on with since its last call, Timers how many of its timers had fired.
	Taken  []takenRecord `json:"taken,omitempty"`
	Timers uint64        `json:"timers"`
	// Answer is the action that answered the call's pause; empty while it is pending, or if there was none.
	Answer string `json:"answer,omitempty"`
	// Begun is true once the call may have had an effect.
	Begun bool `json:"begun"`
}

// takenRecord says when a program went on with a result; see the sandbox's Taken.
type takenRecord struct {
	CallID   uint64 `json:"call"`
	Timers   uint64 `json:"timers"`
	ActiveNS uint64 `json:"activeNs"`
}

// resultRecord is what a call came to.
type resultRecord struct {
	// Value is what it resolved to, as JSON, or the message of the error that it threw.
	Value  []byte `json:"value"`
	Thrown bool   `json:"thrown"`
	// SettledMS is when, in milliseconds since 1970.
	SettledMS int64 `json:"settledMs"`
}

// entry is one call in a history. Its fields are guarded by the history's mu.
type entry struct {
	call   callRecord
	result *resultRecord
	// callWritten and resultWritten say what of it is stored as it is.
	callWritten, resultWritten bool
}

// history is what has happened to a program: all that is needed to run it again to where it is. It is in memory until
// the first pause, since nobody can come back to a program that never paused, and is stored from then on. Its methods
// may be called from any goroutine.
type history struct {
	// mu guards the fields below, and the entries.
	mu      sync.Mutex
	entries []*entry
	bytes   int
	// led is how many calls the program has made before: those that it must make again.
	led int
	// made is how many calls it has made this time.
	made int
	// stored is true from the first pause on.
	stored bool
	// full is true once there was too much to keep. Nothing is kept then but the calls that are still to be made again.
	full bool
}

// divergence says where a program did not do again what it had done.
type divergence string

// Error returns what it did.
func (d divergence) Error() string { return string(d) }

// note takes the next call of the program. Its error is a divergence.
func (h *history) note(c *sandboxpb.ToolCall) (*entry, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	if h.made <= h.led {
		e := h.entries[h.made-1]
		switch {
		case e.call.Path != c.Path:
			return nil, divergence(fmt.Sprintf("its call %d was one of %s, and is one of %.200s", h.made, e.call.Path, c.Path))
		case !bytes.Equal(e.call.Arguments, c.ArgumentsJson):
			return nil, divergence(fmt.Sprintf("its call %d, of %s, has other arguments", h.made, c.Path))
		}
		h.dropLocked()
		return e, nil
	}
	e := newEntry(c)
	if h.full {
		return e, nil
	}
	h.entries = append(h.entries, e)
	h.growLocked(entryBytes + len(c.Path) + len(c.ArgumentsJson) + takenBytes*len(c.Taken))
	return e, nil
}

func newEntry(c *sandboxpb.ToolCall) *entry {
	e := &entry{call: callRecord{Path: c.Path, Arguments: c.ArgumentsJson, Timers: c.Timers}}
	for _, t := range c.Taken {
		e.call.Taken = append(e.call.Taken, takenRecord{CallID: t.CallId, Timers: t.Timers, ActiveNS: t.ActiveNs})
	}
	return e
}

func (h *history) growLocked(n int) {
	h.bytes += n
	h.full = h.full || h.bytes > maxHistoryBytes || len(h.entries) > maxHistoryCalls
	h.dropLocked()
}

// dropLocked forgets what was too much to keep, once the program has made again all that it had made: what a call came to
// before must be found until then, or it would be made twice.
func (h *history) dropLocked() {
	if h.full && h.made >= h.led {
		h.entries = nil
	}
}

// unmade returns the first call that the program has made before and not again; nil when there is none.
func (h *history) unmade() (n int, e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.made >= h.led {
		return 0, nil
	}
	return h.made + 1, h.entries[h.made]
}

// state returns what a call has come to so far.
func (h *history) state(e *entry) (result *resultRecord, answer string, begun bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return e.result, e.call.Answer, e.call.Begun
}

// answer notes how a call's pause was answered.
func (h *history) answer(id uint64, action string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id > 0 && id <= uint64(len(h.entries)) {
		e := h.entries[id-1]
		e.call.Answer, e.callWritten = action, false
	}
}

// begin notes that a call is about to have an effect, and reports whether that is to be stored first.
func (h *history) begin(e *entry) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.call.Begun, e.callWritten = true, false
	return h.stored
}

// settle notes what a call has come to, and reports whether that is to be stored.
func (h *history) settle(e *entry, result *resultRecord) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.result, e.resultWritten = result, false
	if !h.full {
		h.growLocked(len(result.Value))
	}
	return h.stored
}

// again prepares for another run of the program.
func (h *history) again() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.led, h.made = len(h.entries), 0
}

// replayable reports whether the program can be run again, here or elsewhere.
func (h *history) replayable() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stored && !h.full
}

// kept reports whether the program can be run again if it is stored now.
func (h *history) kept() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.full
}

// replay tells the sandbox how to lead the program to where it was; nil for one that starts afresh.
func (h *history) replay() *sandboxpb.Replay {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.led == 0 {
		return nil
	}
	r := &sandboxpb.Replay{Timers: h.entries[h.led-1].call.Timers}
	for _, e := range h.entries[:h.led] {
		for _, t := range e.call.Taken {
			r.Taken = append(r.Taken, &sandboxpb.Taken{CallId: t.CallID, Timers: t.Timers, ActiveNs: t.ActiveNS})
		}
	}
	return r
}

// write stores what is not stored yet, in a turn. From then on everything is to be stored.
func (h *history) write(ctx context.Context, s *durableobject.Storage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stored = true
	var puts []storage.Entry
	put := func(prefix string, id int, value any) error {
		b, err := v8value.Marshal(value)
		puts = append(puts, storage.Entry{Key: historyKey(prefix, id), Value: b})
		return err
	}
	for i, e := range h.entries {
		if !e.callWritten {
			if err := put(callsPrefix, i+1, e.call); err != nil {
				return fmt.Errorf("store call %d: %w", i+1, err)
			}
			e.callWritten = true
		}
		if e.result != nil && !e.resultWritten {
			if err := put(resultsPrefix, i+1, e.result); err != nil {
				return fmt.Errorf("store the result of call %d: %w", i+1, err)
			}
			e.resultWritten = true
		}
	}
	if len(puts) == 0 {
		return nil
	}
	return s.Put(ctx, puts, storage.PutOptions{})
}

// historyKey returns the key of one call; keys sort as the calls' numbers do.
func historyKey(prefix string, id int) string { return fmt.Sprintf("%s%06d", prefix, id) }

// loadHistory reads what was stored, in a turn.
func loadHistory(ctx context.Context, s *durableobject.Storage) (*history, error) {
	h := &history{stored: true}
	calls, err := s.List(ctx, storage.ListOptions{Prefix: callsPrefix})
	if err != nil {
		return nil, fmt.Errorf("read the calls: %w", err)
	}
	results, err := s.List(ctx, storage.ListOptions{Prefix: resultsPrefix})
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	for i, stored := range calls {
		e := &entry{callWritten: true, resultWritten: true}
		if stored.Key != historyKey(callsPrefix, i+1) {
			return nil, fmt.Errorf("call %d is missing", i+1)
		}
		if err := v8value.Unmarshal(stored.Value, &e.call); err != nil {
			return nil, fmt.Errorf("read call %d: %w", i+1, err)
		}
		if len(results) > 0 && results[0].Key == historyKey(resultsPrefix, i+1) {
			e.result = &resultRecord{}
			if err := v8value.Unmarshal(results[0].Value, e.result); err != nil {
				return nil, fmt.Errorf("read the result of call %d: %w", i+1, err)
			}
			h.bytes += len(e.result.Value)
			results = results[1:]
		}
		h.entries = append(h.entries, e)
		h.bytes += entryBytes + len(e.call.Path) + len(e.call.Arguments) + takenBytes*len(e.call.Taken)
	}
	if len(results) > 0 {
		return nil, fmt.Errorf("%s belongs to no call", results[0].Key)
	}
	return h, nil
}

package program

import (
	"fmt"
	"io"
	"sync"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
)

const (
	// flushBytes is how much output may wait for the next frame that must go out anyway.
	flushBytes = 32 << 10
	// entryBytes is what a log line or an emitted value counts beyond its text.
	entryBytes = 32
)

// output writes frames. Logs and emitted values wait a little, so that a line costs no system call; the
// watch flushes them, so that they are with the parent when it kills the child.
type output struct {
	mu sync.Mutex // guards all that follows
	w  io.Writer
	// waiting are frames that are not written yet.
	waiting []byte
	// used is how much of limit the program's logs and emitted values take.
	used, limit uint64
}

// begin starts a program's account.
func (o *output) begin(limitBytes uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.used, o.limit = 0, limitBytes
}

// log takes a line. It fails with *limitReached when there is no room for it.
func (o *output) log(line string) *limitReached {
	return o.add(len(line), &frame.Log{Line: line})
}

// emitted takes a value. It fails with *limitReached when there is no room for it.
func (o *output) emitted(json []byte) *limitReached {
	return o.add(len(json), &frame.Emit{Value: json})
}

func (o *output) add(size int, m frame.Message) *limitReached {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.used+uint64(size)+entryBytes > o.limit {
		return &limitReached{
			outcome: sandboxpb.Outcome_OUTCOME_EXCEEDED_OUTPUT,
			message: fmt.Sprintf("logs and emitted values are larger than %s", frame.SizeText(o.limit)),
		}
	}
	o.used += uint64(size) + entryBytes
	o.waiting = frame.Append(o.waiting, m)
	if len(o.waiting) > flushBytes {
		o.flushLocked()
	}
	return nil
}

// send writes a frame behind all that waits.
func (o *output) send(m frame.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = frame.Append(o.waiting, m)
	o.flushLocked()
}

// flush writes what waits.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushLocked()
}

// flushLocked ignores errors: they mean that the parent is gone, and then the inbox ends too.
func (o *output) flushLocked() {
	if len(o.waiting) == 0 {
		return
	}
	_, _ = o.w.Write(o.waiting)
	if cap(o.waiting) > 4*flushBytes {
		o.waiting = nil
	}
	o.waiting = o.waiting[:0]
}

func (e *limitReached) Error() string { return e.message }

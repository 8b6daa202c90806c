package webapi

import (
	"bytes"
	"io"
	"sync"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// streamBody reads a script's ReadableStream from another goroutine: each Read that finds nothing has the script give
// one chunk more, and one is asked for ahead.
type streamBody struct {
	realm  *Realm
	event  *isolate.Event
	reader *goja.Object
	waiter *isolate.Waiter
	// chunks takes what was asked for; there is never more than one.
	chunks chan streamChunk

	// crossing is true when another script reads the stream: it may give text, and is told otherwise of its end.
	crossing bool

	// rest is what the reader has not taken yet.
	rest  []byte
	close sync.Once

	// mu guards what follows; Close may come while a Read waits.
	mu    sync.Mutex
	err   error
	asked bool
}

type streamChunk struct {
	data []byte
	err  error
}

// newStreamBody starts to read a stream.
func (r *Realm) newStreamBody(e *isolate.Event, stream *goja.Object) *streamBody {
	b := &streamBody{realm: r, event: e, chunks: make(chan streamChunk, 1), asked: true}
	b.start(stream)
	return b
}

// newCrossingBody starts to read a stream for another script.
func (r *Realm) newCrossingBody(e *isolate.Event, stream *goja.Object) *streamBody {
	b := &streamBody{realm: r, event: e, chunks: make(chan streamChunk, 1), asked: true, crossing: true}
	b.start(stream)
	return b
}

func (b *streamBody) start(stream *goja.Object) {
	r, e := b.realm, b.event
	b.reader = r.streamOp("getReader", stream).(*goja.Object)
	b.waiter = e.Context().Wait(func(err error) { b.give(streamChunk{err: err}) })
	b.pull()
}

func (b *streamBody) give(c streamChunk) {
	select {
	case b.chunks <- c:
	default: // it failed while a chunk was waiting: the next Read finds the context gone
	}
}

// pull asks the stream for a chunk, in a turn of the event's.
func (b *streamBody) pull() {
	c := b.event.Context()
	settled := func(chunk streamChunk) {
		if chunk.err != nil {
			b.waiter.Done()
		} else {
			c.Pend(1) // the reader may come back
		}
		b.give(chunk)
	}
	b.realm.isolate.Await(b.realm.streamOp("read", b.reader), func(v goja.Value) {
		o, ok := v.(*goja.Object)
		if !ok || o.Get("done").ToBoolean() {
			settled(streamChunk{err: io.EOF})
			return
		}
		value := o.Get("value")
		if text, isText := value.(goja.String); isText && b.crossing {
			settled(streamChunk{data: []byte(text.String())})
			return
		}
		data, ok := b.realm.bytesOf(value)
		if !ok {
			b.realm.streamOp("cancel", b.reader, b.realm.isolate.NewError("TypeError", notBytesText))
			settled(streamChunk{err: b.realm.thrown("TypeError", notBytesText)})
			return
		}
		settled(streamChunk{data: bytes.Clone(data)})
	}, func(reason goja.Value) {
		settled(streamChunk{err: b.realm.isolate.NewException(reason)})
	})
}

const notBytesText = "This ReadableStream did not return bytes."

// Read gives what the script writes, as it comes. Errors are those of the script, or why its event ended.
func (b *streamBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		b.mu.Lock()
		err, asked := b.err, b.asked
		b.asked = true
		b.mu.Unlock()
		if err != nil {
			return 0, err
		}
		c := b.event.Context()
		if !asked {
			c.Enter(b.event, func() error {
				c.Pend(-1)
				b.pull()
				return nil
			})
		}
		b.await()
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *streamBody) await() {
	i := b.realm.isolate
	var chunk streamChunk
	select {
	case chunk = <-b.chunks:
	case <-i.Condemned():
		chunk.err = isolate.ErrClosed
	case <-b.event.Context().Done():
		select {
		case chunk = <-b.chunks:
		default:
			chunk.err = io.ErrUnexpectedEOF
		}
	}
	b.rest = chunk.data
	b.mu.Lock()
	b.asked, b.err = false, chunk.err
	b.mu.Unlock()
}

// Close cancels the stream unless it has ended, and ends a Read. It may be called from any goroutine.
func (b *streamBody) Close() error {
	b.close.Do(func() {
		b.mu.Lock()
		err, asked := b.err, b.asked
		b.mu.Unlock()
		if err != nil {
			return
		}
		c := b.event.Context()
		c.Enter(b.event, func() error {
			if !asked {
				c.Pend(-1)
			}
			b.waiter.Done()
			reason := goja.Undefined()
			if b.crossing {
				e := b.realm.isolate.NewError("Error", canceledStreamText)
				_ = e.Set("retryable", true)
				reason = e
			}
			b.realm.streamOp("cancel", b.reader, reason)
			return nil
		})
	})
	return nil
}

package webapi

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// compressor is what is behind a CompressionStream.
type compressor struct {
	isolate.Opaque
	out    bytes.Buffer
	writer io.WriteCloser
}

func newCompressor(format string) (*compressor, bool) {
	c := &compressor{}
	switch format {
	case "gzip":
		c.writer = gzip.NewWriter(&c.out)
	case "deflate":
		c.writer = zlib.NewWriter(&c.out)
	case "deflate-raw":
		c.writer, _ = flate.NewWriter(&c.out, flate.DefaultCompression)
	default:
		return nil, false
	}
	return c, true
}

// decompressor is what is behind a DecompressionStream: a reader that runs only while it has input.
type decompressor struct {
	isolate.Opaque
	feed *feeder
	// mu guards next and stop, which run one at a time; the end of the event's context stops too.
	mu   sync.Mutex
	next func() ([]byte, bool)
	stop func()
	err  error
	// ended is set when the data said that it is complete.
	ended bool
	// maxBytes bounds what the bytes of one write may become.
	maxBytes int64
}

// feeder gives a reader what has arrived, and lets it wait where there is nothing.
type feeder struct {
	data  []byte
	last  bool
	await func() bool
}

// Read gives bytes; it waits, in the coroutine, while there are none.
func (f *feeder) Read(p []byte) (int, error) {
	for len(f.data) == 0 {
		if f.last || !f.await() {
			return 0, io.EOF
		}
	}
	n := copy(p, f.data)
	f.data = f.data[n:]
	return n, nil
}

// ReadByte is Read for one byte; with it no reader takes more than its own data.
func (f *feeder) ReadByte() (byte, error) {
	var b [1]byte
	n, err := f.Read(b[:])
	if n == 0 && err == nil {
		err = io.EOF
	}
	return b[0], err
}

func openReader(format string, f *feeder) (io.Reader, error) {
	switch format {
	case "gzip":
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		z.Multistream(false)
		return z, nil
	case "deflate":
		return zlib.NewReader(f)
	}
	return flate.NewReader(f), nil
}

// decompressedChunk is how much is given at once.
const decompressedChunk = 32 << 10

func newDecompressor(ctx context.Context, format string, maxBytes int64) (*decompressor, bool) {
	if format != "gzip" && format != "deflate" && format != "deflate-raw" {
		return nil, false
	}
	d := &decompressor{feed: &feeder{}, maxBytes: maxBytes}
	// The sequence yields nil when it needs input.
	d.next, d.stop = iter.Pull(func(yield func([]byte) bool) {
		d.feed.await = func() bool { return yield(nil) }
		reader, err := openReader(format, d.feed)
		for err == nil {
			buffer := make([]byte, decompressedChunk)
			var n int
			n, err = reader.Read(buffer)
			if n > 0 && !yield(buffer[:n]) {
				return
			}
		}
		if d.ended = err == io.EOF && reader != nil; !d.ended { //nolint:errorlint // the packages return it bare
			d.err = err
		}
	})
	context.AfterFunc(ctx, d.close)
	return d, true
}

func (d *decompressor) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
}

// write gives what the next bytes decompress to, or says what is wrong with them.
func (d *decompressor) write(data []byte, last bool) (out []byte, fault string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.feed.data, d.feed.last = data, last
	for !d.ended && d.err == nil {
		b, more := d.next()
		if !more {
			break
		}
		if b == nil {
			break
		}
		if out = append(out, b...); int64(len(out)) > d.maxBytes {
			return nil, errBodyTooLarge.Error()
		}
	}
	switch {
	case d.ended && len(d.feed.data) > 0:
		return out, "Trailing bytes after end of compressed data"
	case last && !d.ended && (d.err == nil || errors.Is(d.err, io.ErrUnexpectedEOF) || errors.Is(d.err, io.EOF)):
		return out, "Called close() on a decompression stream with incomplete data"
	case d.err != nil:
		return out, "Decompression failed."
	}
	return out, ""
}

// newCompression(format, decompress) gives a handle, or undefined when the format is unknown.
func (r *Realm) newCompression(call goja.FunctionCall) goja.Value {
	format := call.Argument(0).String()
	if !call.Argument(1).ToBoolean() {
		c, ok := newCompressor(format)
		if !ok {
			return goja.Undefined()
		}
		return r.rt.NewDynamicObject(c)
	}
	d, ok := newDecompressor(r.isolate.RequireEvent().GoContext(), format, r.options.MaxBodyBytes)
	if !ok {
		return goja.Undefined()
	}
	return r.rt.NewDynamicObject(d)
}

// runCompression(handle, bytes, last) gives bytes, or undefined when there are none.
func (r *Realm) runCompression(call goja.FunctionCall) goja.Value {
	data, _ := r.bytesOf(call.Argument(1))
	last := call.Argument(2).ToBoolean()
	var out []byte
	switch h := call.Argument(0).(*goja.Object).Export().(type) {
	case *compressor:
		_, err := h.writer.Write(data)
		if last && err == nil {
			err = h.writer.Close()
		}
		if err != nil {
			r.throwType("Compression failed.")
		}
		out = bytes.Clone(h.out.Bytes())
		h.out.Reset()
	case *decompressor:
		var fault string
		if out, fault = h.write(bytes.Clone(data), last); fault != "" {
			h.close()
			r.throwType("%s", fault)
		}
		if last {
			h.close()
		}
	}
	if len(out) == 0 {
		return goja.Undefined()
	}
	return r.newBytes(out)
}

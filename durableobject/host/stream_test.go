package host

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var streamBytes = flag.Int64("stream-bytes", 64<<20, "size of the bodies of TestStreamsInConstantMemory")

// counted is a body of n bytes that watches the heap as it flows.
type counted struct {
	mu   sync.Mutex // guards all below
	left int64
	// at is where the heap is looked at next, most the largest heap seen.
	at   int64
	most uint64
}

func (c *counted) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), c.left)
	c.left -= n
	if c.left < c.at {
		c.at = c.left - 4<<20
		c.most = max(c.most, heapBytes())
	}
	return int(n), nil
}

func (c *counted) peak() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

// heap returns what the heap holds that is in use.
func heapBytes() uint64 {
	runtime.GC()
	runtime.GC() // what pools held goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Bodies flow through an object both ways in constant memory: what it reads it may write at once, over the wire and
// within the host. Not parallel, for it looks at the heap.
func TestStreamsInConstantMemory(t *testing.T) {
	c := &testClass{fetch: func(ctx context.Context, o *testObject, w http.ResponseWriter, r *http.Request) error {
		if r.URL.Path == "/relay" { // by way of another object of this host
			again, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://b/echo", r.Body)
			if err != nil {
				return err
			}
			resp, err := o.state.Namespace("w-Test").GetByName("b").Fetch(ctx, again)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			r.Body = resp.Body
		}
		_, err := io.Copy(w, r.Body)
		return err
	}}
	for _, path := range []string{"/echo", "/relay"} {
		t.Run(path, func(t *testing.T) {
			s := newStack(t, vfs.NewMem(), c.classes())
			s.serve()
			base := heapBytes()
			up := &counted{left: *streamBytes, at: *streamBytes}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a"+path, up)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.stub("a").Fetch(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			if err != nil || n != *streamBytes {
				t.Errorf("got %d bytes, %v, want %d", n, err, *streamBytes)
			}
			resp.Body.Close()
			if peak := up.peak(); peak > base+24<<20 {
				t.Errorf("the heap grew from %d to %d MiB", base>>20, peak>>20)
			}
			s.close()
		})
	}
}

// While an object waits for more of a body, or for its reader, other events of it run.
func TestStreamGivesTheTurnAway(t *testing.T) {
	t.Parallel()
	c := &testClass{fetch: func(_ context.Context, _ *testObject, w http.ResponseWriter, r *http.Request) error {
		_, err := io.Copy(w, r.Body)
		return err
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		body, feed := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", body)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan string)
		go func() {
			resp, err := s.stub("a").Fetch(t.Context(), r)
			if err != nil {
				done <- err.Error()
				return
			}
			time.Sleep(time.Minute) // it reads late
			n, err := io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			done <- fmt.Sprint(n, err)
		}()
		synctest.Wait()
		if got := s.serial("a"); got != 1 {
			t.Errorf("got instance %d", got)
		}
		go func() {
			_, err := feed.Write(make([]byte, 8<<20))
			feed.CloseWithError(err)
		}()
		time.Sleep(30 * time.Second) // the windows are full: the object waits for its reader, and is not idle
		if got := s.serial("a"); got != 1 {
			t.Errorf("got instance %d", got)
		}
		if got := <-done; got != fmt.Sprint(8<<20, nil) {
			t.Errorf("got %s", got)
		}
	})
}

// A body that breaks off is an error for the object that reads it; a reader that goes ends the event.
func TestStreamBreaksOff(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	c := &testClass{fetch: func(_ context.Context, _ *testObject, w http.ResponseWriter, r *http.Request) error {
		_, err := io.Copy(w, r.Body)
		ended <- err
		return err
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		body, feed := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", body)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			feed.Write(make([]byte, 1<<20))
			feed.CloseWithError(errors.New("cut"))
		}()
		resp, err := s.stub("a").Fetch(t.Context(), r)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Error("the caller got the whole of a body that broke off")
		}
		if err := <-ended; err == nil {
			t.Error("the object took a body that broke off for a whole one")
		}
	})
}

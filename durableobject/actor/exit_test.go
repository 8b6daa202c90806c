package actor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tandem-do/tandem/durableobject/alarm"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// slowDisk is a disk whose log syncs only as long as it is not held.
type slowDisk struct {
	mu   sync.Mutex
	held chan struct{} // nil, or closed at release
}

func (d *slowDisk) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = make(chan struct{})
}

func (d *slowDisk) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.held)
	d.held = nil
}

// MaybeError implements errorfs.Injector: it makes no errors, it waits.
func (d *slowDisk) MaybeError(op errorfs.Op) error {
	if op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData || !(walFile{}).Evaluate(op) {
		return nil
	}
	d.mu.Lock()
	held := d.held
	d.mu.Unlock()
	if held != nil {
		<-held
	}
	return nil
}

func (d *slowDisk) String() string { return "slow disk" }

// outside records what has left an object.
type outside struct {
	mu  sync.Mutex
	out []string
}

func (o *outside) left(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out = append(o.out, what)
}

func (o *outside) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.out, ", ")
}

// caller records the calls of objects instead of making them.
type caller struct{ o *outside }

func (c caller) Call(_ context.Context, _ sidecar.Target, method string, _ []byte) ([]byte, error) {
	c.o.left("call " + method)
	return nil, nil
}

func (c caller) Fetch(_ context.Context, _ sidecar.Target, r *http.Request) (*http.Response, error) {
	c.o.left("fetch " + r.URL.Path)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// recorder is an http.ResponseWriter that records when something reaches it.
type recorder struct {
	header http.Header
	o      *outside
}

func (r recorder) Header() http.Header  { return r.header }
func (r recorder) WriteHeader(code int) { r.o.left(fmt.Sprint("head ", code)) }
func (r recorder) Flush()               { r.o.left("flush") }
func (r recorder) Write(p []byte) (int, error) {
	r.o.left("body " + string(p))
	return len(p), nil
}

// G-5 and G-6: every kind of thing that leaves an object waits until the write before it is on disk: each case
// writes, and then lets something out. A new way out belongs here.
func TestOutputGate(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		name string
		// run is an event's code, after its write.
		run func(ctx context.Context, o *object, out *outside) error
		// want is what must be outside once the disk has it.
		want string
	}{
		{"result", func(context.Context, *object, *outside) error { return nil }, "result"},
		{"error", func(context.Context, *object, *outside) error { return errors.New("x") }, "error x"},
		{"call", func(ctx context.Context, o *object, _ *outside) error {
			_, err := o.state.Namespace(testNamespace).GetByName("b").Call(ctx, "m", nil)
			return err
		}, "call m, result"},
		{"fetch", func(ctx context.Context, o *object, _ *outside) error {
			r := httptest.NewRequest(http.MethodGet, "http://b/path", nil)
			resp, err := o.state.Namespace(testNamespace).GetByName("b").Fetch(ctx, r)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}, "fetch /path, result"},
		{"await", func(ctx context.Context, o *object, out *outside) error {
			return o.state.Await(ctx, func(context.Context) error {
				out.left("awaited")
				return nil
			})
		}, "awaited, result"},
		{"wait until", func(_ context.Context, o *object, out *outside) error {
			o.state.WaitUntil(func(context.Context) error {
				out.left("background")
				return nil
			})
			time.Sleep(time.Second) // in its turn, whose writes are not even on their way
			return nil
		}, "background, result"},
		{"sync", func(ctx context.Context, o *object, out *outside) error {
			err := o.state.Storage().Sync(ctx)
			out.left("synced")
			return err
		}, "synced, result"},
		{"call within a section", func(ctx context.Context, o *object, _ *outside) error {
			return o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				_, err := o.state.Namespace(testNamespace).GetByName("b").Call(ctx, "m", nil)
				return err
			})
		}, "call m, result"},
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			out := &outside{}
			h := handler{"run": func(ctx context.Context, o *object, _ string) (string, error) {
				if err := o.put(ctx, "n", 1); err != nil {
					return "", err
				}
				return "", k.run(ctx, o, out)
			}}
			disk := &slowDisk{}
			bubbleOn(t, errorfs.Wrap(vfs.NewMem(), disk), h, func(t *testing.T, w *world) {
				w.shared.Caller = caller{out}
				disk.hold()
				go func() {
					if _, err := w.call("run"); err != nil {
						out.left("error " + err.Error())
						return
					}
					out.left("result")
				}()
				synctest.Wait()
				if got := out.String(); got != "" {
					t.Errorf("left before the write was on disk: %s", got)
				}
				disk.release()
				time.Sleep(2 * time.Second)
				got := out.String()
				if k.name == "wait until" && got == "result, background" {
					got = k.want // both may leave then
				}
				if got != k.want {
					t.Errorf("got %s, want %s", got, k.want)
				}
			})
		})
	}
}

// What leaves from outside a turn waits for what was written before, too.
func TestOutputGateOutsideTurn(t *testing.T) {
	t.Parallel()
	disk, out := &slowDisk{}, &outside{}
	h := handler{"run": func(ctx context.Context, o *object, _ string) (string, error) {
		return "", o.state.Await(ctx, func(ctx context.Context) error {
			disk.hold()
			if err := o.state.Enter(ctx, func(ctx context.Context) error { return o.put(ctx, "n", 2) }); err != nil {
				return err
			}
			_, err := o.state.Namespace(testNamespace).GetByName("b").Call(ctx, "m", nil)
			return err
		})
	}}
	bubbleOn(t, errorfs.Wrap(vfs.NewMem(), disk), h, func(t *testing.T, w *world) {
		w.shared.Caller = caller{out}
		c := w.start("run")
		if got := out.String(); got != "" {
			t.Errorf("left before the write was on disk: %s", got)
		}
		disk.release()
		<-c.done
		if got := out.String(); got != "call m" {
			t.Errorf("got %s", got)
		}
	})
}

// Responses wait like everything else; what was flushed leaves before the event ends.
func TestOutputGateOfResponse(t *testing.T) {
	t.Parallel()
	disk, out := &slowDisk{}, &outside{}
	bubbleOn(t, errorfs.Wrap(vfs.NewMem(), disk), nil, func(t *testing.T, w *world) {
		proceed := make(chan struct{})
		w.fetch = func(ctx context.Context, o *object, rw http.ResponseWriter, _ *http.Request) error {
			if err := o.put(ctx, "n", 1); err != nil {
				return err
			}
			rw.WriteHeader(http.StatusAccepted)
			io.WriteString(rw, "one") // does not wait
			if err := http.NewResponseController(rw).Flush(); err != nil {
				return err
			}
			<-proceed
			if err := o.put(ctx, "n", 2); err != nil {
				return err
			}
			io.WriteString(rw, "two")
			return nil
		}
		disk.hold()
		done := make(chan error)
		go func() {
			r := httptest.NewRequest(http.MethodGet, "http://o/", nil)
			done <- w.named("o").Fetch(t.Context(), nil, recorder{http.Header{}, out}, r)
		}()
		synctest.Wait()
		if got := out.String(); got != "" {
			t.Errorf("left before the first write was on disk: %s", got)
		}
		disk.release()
		synctest.Wait()
		if got := out.String(); got != "head 202, body one, flush" {
			t.Errorf("after the flush: got %s", got)
		}
		disk.hold()
		close(proceed)
		synctest.Wait()
		if got := out.String(); got != "head 202, body one, flush" {
			t.Errorf("left before the second write was on disk: %s", got)
		}
		disk.release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := out.String(); got != "head 202, body one, flush, body two" {
			t.Errorf("at the end: got %s", got)
		}
	})
}

// A reply that only rests on what another event wrote waits for that write too, but not for later ones.
func TestOutputGateOfReader(t *testing.T) {
	t.Parallel()
	disk := &slowDisk{}
	h := handler{"increment": increment, "read": read}
	bubbleOn(t, errorfs.Wrap(vfs.NewMem(), disk), h, func(t *testing.T, w *world) {
		disk.hold()
		writer := w.start("increment")
		reader := w.start("read")
		if writer.ended() || reader.ended() {
			t.Error("a reply left before the write was on disk")
		}
		disk.release()
		<-reader.done
		<-writer.done
		want(t, reader.value, reader.err, "1")

		// A new instance rests on the commits of the one before.
		disk.hold()
		writer = w.start("increment")
		w.named("o").Break(ReasonAborted, abortError(nil))
		reader = w.start("read")
		if reader.ended() {
			t.Error("a new instance told of a write that was not on disk")
		}
		if !writer.ended() || writer.err == nil {
			t.Error("the writer was not told of the abort")
		}
		disk.release()
		<-reader.done
		want(t, reader.value, reader.err, "2")
	})
}

// Several events' writes are under way at once: none waits for another's turn at the disk.
func TestCommitsOverlap(t *testing.T) {
	t.Parallel()
	disk := &slowDisk{}
	bubbleOn(t, errorfs.Wrap(vfs.NewMem(), disk), handler{"increment": increment}, func(t *testing.T, w *world) {
		disk.hold()
		var calls []*result
		for range 5 {
			calls = append(calls, w.start("increment"))
		}
		disk.release()
		for i, c := range calls {
			<-c.done
			want(t, c.value, c.err, fmt.Sprint(i+1))
		}
	})
}

// G-9: a disk that does not answer for 30 s resets the object.
func TestCommitTakesTooLong(t *testing.T) {
	t.Parallel()
	disk := &slowDisk{}
	bubbleOn(t, errorfs.Wrap(vfs.NewMem(), disk), handler{"increment": increment}, func(t *testing.T, w *world) {
		disk.hold()
		start := time.Now()
		_, err := w.call("increment")
		wantError(t, err, "Durable Object storage operation exceeded timeout which caused object to be reset.",
			"overloaded reset")
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("it took %v", took)
		}
		disk.release()
	})
}

func TestResponse(t *testing.T) {
	t.Parallel()
	type fetch = func(context.Context, *object, http.ResponseWriter, *http.Request) error
	tests := []struct {
		name  string
		fetch fetch
		want  string
		err   string
	}{
		{"nothing written", func(context.Context, *object, http.ResponseWriter, *http.Request) error { return nil },
			"head 200", ""},
		{"error after writing", func(_ context.Context, _ *object, w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "never seen")
			return errors.New("x")
		}, "", "x"},
		{"error after a flush", func(_ context.Context, _ *object, w http.ResponseWriter, _ *http.Request) error {
			io.WriteString(w, "seen")
			w.(http.Flusher).Flush()
			io.WriteString(w, "never seen")
			return errors.New("x")
		}, "head 200, body seen, flush", "x"},
		{"abort handler", func(context.Context, *object, http.ResponseWriter, *http.Request) error {
			panic(http.ErrAbortHandler)
		}, "", "net/http: abort Handler"},
		{"too much without a flush", func(_ context.Context, _ *object, w http.ResponseWriter, _ *http.Request) error {
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			for range 33 {
				if _, err := w.Write(chunk); err != nil {
					return err
				}
			}
			return nil
		}, "", "write response: more than 33554432 bytes without a Flush"},
		{"first status counts", func(_ context.Context, _ *object, w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusContinue)
			w.WriteHeader(http.StatusNotFound)
			w.WriteHeader(http.StatusOK)
			return nil
		}, "head 404", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := &outside{}
			bubble(t, nil, func(t *testing.T, w *world) {
				w.fetch = tt.fetch
				r := httptest.NewRequest(http.MethodGet, "http://o/", nil)
				err := w.named("o").Fetch(t.Context(), nil, recorder{http.Header{}, out}, r)
				if got := out.String(); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				if tt.err == "" && err != nil || tt.err != "" && (err == nil || err.Error() != tt.err) {
					t.Errorf("got error %v, want %q", err, tt.err)
				}
				if len(w.reasons()) != 0 {
					t.Errorf("broken: %v", w.reasons())
				}
			})
		})
	}
}

// Waiting for a body gives the turn away; a small body that came with its head is read without a wait.
func TestRequestBody(t *testing.T) {
	t.Parallel()
	bubble(t, handler{"read": read}, func(t *testing.T, w *world) {
		var read []string
		w.fetch = func(_ context.Context, _ *object, _ http.ResponseWriter, r *http.Request) error {
			b, err := io.ReadAll(r.Body)
			read = append(read, string(b))
			return err
		}
		slow, feed := io.Pipe()
		done := make(chan error)
		send := func(body io.Reader) {
			r := httptest.NewRequest(http.MethodPost, "http://o/", body)
			done <- w.named("o").Fetch(t.Context(), nil, httptest.NewRecorder(), r)
		}
		go send(slow)
		synctest.Wait()
		v, err := w.call("read") // the object is not blocked
		want(t, v, err, "0")
		go send(strings.NewReader("small"))
		if err := <-done; err != nil {
			t.Error(err)
		}
		io.WriteString(feed, "slow")
		feed.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := strings.Join(read, ", "); got != "small, slow" {
			t.Errorf("got %s", got)
		}
	})
}

// AL-5, AL-10, AL-12 and AL-13: what a handler is told, and what follows from how it ends.
func TestAlarm(t *testing.T) {
	t.Parallel()
	var runs []AlarmInfo
	fail := errors.New("x")
	tests := []struct {
		name    string
		handler func(ctx context.Context, o *object) error
		want    alarm.Outcome
		// keeps is true when the alarm is still set afterwards.
		keeps bool
	}{
		{"ok", func(ctx context.Context, o *object) error { return o.put(ctx, "n", 1) }, alarm.OK, false},
		{"sets another", func(ctx context.Context, o *object) error {
			return o.state.Storage().SetAlarm(ctx, time.Now().Add(time.Hour), storage.PutOptions{})
		}, alarm.OK, true},
		{"fails", func(context.Context, *object) error { return fail }, alarm.Failed, true},
		{"aborts", func(_ context.Context, o *object) error { o.state.Abort(nil); return nil }, alarm.Failed, true},
		{"panics", func(context.Context, *object) error { panic("x") }, alarm.Failed, true},
		{"has none", func(context.Context, *object) error { return ErrNoAlarmHandler }, alarm.NoHandler, true},
		{"is shut down", func(_ context.Context, o *object) error {
			o.state.actor.Break(ReasonShutdown, ShutdownError())
			return nil
		}, alarm.Interrupted, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := handler{
				"set": func(ctx context.Context, o *object, _ string) (string, error) {
					return "", o.state.Storage().SetAlarm(ctx, time.Now(), storage.PutOptions{})
				},
				"get": func(ctx context.Context, o *object, _ string) (string, error) {
					_, ok, err := o.state.Storage().Alarm(ctx)
					return fmt.Sprint(ok), err
				},
			}
			bubble(t, h, func(t *testing.T, w *world) {
				w.alarm = func(ctx context.Context, o *object, a AlarmInfo) error {
					runs = append(runs, a)
					return tt.handler(ctx, o)
				}
				_, err := w.call("set")
				want(t, "", err, "")
				page, err := w.store.DueAlarms(time.Now(), storage.AlarmCursor{}, 0)
				if err != nil || len(page.Alarms) != 1 {
					t.Fatalf("due: %+v, %v", page, err)
				}
				runs = nil
				got, err := w.named("o").Alarm(t.Context(), page.Alarms[0])
				if got != tt.want {
					t.Errorf("got outcome %v, %v; want %v", got, err, tt.want)
				}
				if len(runs) != 1 || runs[0].IsRetry || !runs[0].ScheduledTime.Equal(page.Alarms[0].ScheduledTime) {
					t.Errorf("got runs %+v", runs)
				}
				v, err := w.call("get")
				want(t, v, err, fmt.Sprint(tt.keeps))
				if tt.want == alarm.OK {
					got, err = w.named("o").Alarm(t.Context(), page.Alarms[0])
					if got != alarm.Stale || err != nil || len(runs) != 1 {
						t.Errorf("a second run: %v, %v", got, err)
					}
				}
			})
		})
	}
}

package jsclass_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// What continues events that have begun is not refused because many others wait, and breaks nothing.
func TestContinuesUnderOverload(t *testing.T) {
	t.Parallel()
	b := makeBundle(t, "2026-04-01", probe(map[string]string{
		"section": `return await ctx.blockConcurrencyWhile(async () => { for (let n = 0; n < 5; n++) await scheduler.wait(100); return "section" })`,
		"waits":   `await scheduler.wait(100); return "waited"`,
		"note":    `0`,
	}), "Probe")
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, waiting: 2}
		defer w.start(b, vfs.NewMem())()
		var calls sync.WaitGroup
		for _, c := range [][2]string{
			{"waits", `"waited"`}, {"section", `"section"`}, {"note", "undefined"}, {"note", "undefined"},
			{"note", "Error: Durable Object is overloaded. Too many requests queued. [overloaded]"},
		} {
			calls.Go(func() {
				got, err := w.call("Probe", c[0])
				if err != nil {
					got = describe(err)
				}
				if got != c[1] {
					t.Errorf("%s: got %s, want %s", c[0], got, c[1])
				}
			})
			synctest.Wait()
		}
		calls.Wait()
	})
}

// stalled is a body that nothing ends but release.
type stalled struct{ reads, release chan struct{} }

func (s *stalled) Read([]byte) (int, error) {
	s.reads <- struct{}{}
	<-s.release
	return 0, io.EOF
}

func (s *stalled) Close() error { return nil }

// After a fault of the engine the objects go on in another isolate, however long the one that failed takes to end.
func TestFaultWhileReading(t *testing.T) {
	t.Parallel()
	body := &stalled{reads: make(chan struct{}, 1), release: make(chan struct{})}
	w := &world{
		t: t, isolates: 1,
		fetcher: func(context.Context, *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, ContentLength: -1}, nil
		},
		onLog: failOn("fault"),
	}
	end := w.start(makeBundle(t, "2026-04-01", probe(map[string]string{
		"reads": `return await (await fetch("http://world/")).text()`,
		"fault": `console.log("fault")`,
		"well":  `return "well"`,
	}), "Probe"), vfs.NewMem())
	defer end()
	defer close(body.release)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	read := make(chan error, 1)
	go func() {
		_, err := callStub(ctx, w.stub("Probe", "reader"), "reads")
		read <- err
	}()
	<-body.reads
	if _, err := callStub(ctx, w.stub("Probe", "o"), "fault"); err == nil {
		t.Fatal("the engine did not fail")
	}
	if got, err := callStub(ctx, w.stub("Probe", "o"), "well"); err != nil || got != `"well"` {
		t.Errorf("got %s, %v", got, err)
	}
	if err := <-read; err == nil {
		t.Error("the reader goes on")
	}
}

// An object that awaits what the engine takes for a promise is reset alone.
func TestFalsePromise(t *testing.T) {
	t.Parallel()
	w := &world{t: t, isolates: 1}
	defer w.start(makeBundle(t, "2026-04-01", probe(map[string]string{
		"awaits": `await s.get("a"); await ({ constructor: Promise })`,
		"calls":  `return this.n = (this.n ?? 0) + 1`,
	}), "Probe"), vfs.NewMem())()
	for _, c := range [][3]string{
		{"p", "calls", "1"}, {"o", "calls", "1"},
		{"o", "awaits", "TypeError: An object was awaited that is no promise, though its constructor is Promise. [reset]"},
		{"o", "calls", "1"}, {"p", "calls", "2"},
	} {
		got, err := callStub(t.Context(), w.stub("Probe", c[0]), c[1])
		if err != nil {
			got = describe(err)
		}
		if got != c[2] {
			t.Errorf("%s of %s: got %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

// A fault of the engine resets the other objects of the isolate too, at once: what they get next finds them made anew.
func TestFaultBesides(t *testing.T) {
	t.Parallel()
	b := makeBundle(t, "2026-04-01", probe(map[string]string{
		"fault": `console.log("fault")`,
		"count": `return this.n = (this.n ?? 0) + 1`,
	}), "Probe")
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, isolates: 1, onLog: failOn("fault")}
		defer w.start(b, vfs.NewMem())()
		w.want("Probe", "count", "1")
		if _, err := callStub(t.Context(), w.stub("Probe", "other"), "fault"); err == nil {
			t.Fatal("the engine did not fail")
		}
		synctest.Wait()
		w.want("Probe", "count", "1")
	})
}

// failOn makes the engine fail when a script logs a text.
func failOn(text string) func(isolate.Entry) {
	return func(e isolate.Entry) {
		if e.Uncaught == nil && strings.Contains(e.Text, text) {
			panic("a fault of the engine")
		}
	}
}

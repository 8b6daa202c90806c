package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/deploy"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// saying is a Worker that says its version: at once, after a call from outside has ended, or after its response.
func saying(version string) string {
	return fmt.Sprintf(`
	const version = %q;
	export default {
		async fetch(request, env, ctx) {
			const { pathname } = new URL(request.url);
			if (pathname === "/slow") return new Response((await env.ROOM.getByName("slow").add(1, 2)) + version);
			if (pathname === "/later") ctx.waitUntil(env.ROOM.getByName("slow").add(1, 2).then(() => console.log("later " + version)));
			return new Response(version + env.SECRET);
		},
		scheduled(controller) { controller.noRetry(); console.log(version + " " + controller.cron + " " + controller.scheduledTime); },
	};`, version)
}

// slowRoom is a caller whose calls wait for a word.
type slowRoom struct {
	room
	begun chan struct{}
	end   chan struct{}
}

// Call implements sidecar.Caller.
func (r *slowRoom) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	r.begun <- struct{}{}
	select {
	case <-r.end:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return r.room.Call(ctx, t, method, args)
}

// process is a process that runs versions of a Worker.
type process struct {
	*versions
	t      *testing.T
	server *httptest.Server
	room   *slowRoom
	lines  chan string
}

func newProcess(t *testing.T, code string) *process {
	t.Helper()
	p := &process{
		t: t, lines: make(chan string, 64), room: &slowRoom{begun: make(chan struct{}, 8), end: make(chan struct{})},
	}
	var err error
	p.versions, err = newVersions(t.Context(), Options{
		Bundle: newBundle(t, code), Secrets: map[string]string{"SECRET": "s"}, Isolates: 1,
		OnLog: func(e isolate.Entry) { p.lines <- e.Text },
	}, p.room)
	if err != nil {
		t.Fatal(err)
	}
	p.server = httptest.NewServer(p)
	return p
}

func (p *process) close() {
	p.server.Close()
	p.versions.close()
}

func (p *process) get(path string) string {
	resp, err := p.server.Client().Get(p.server.URL + path)
	if err != nil {
		p.t.Error(path, err)
		return ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Errorf("%s: %d %q %v", path, resp.StatusCode, b, err)
	}
	return string(b)
}

func (p *process) deploy(code string) error {
	return p.replace(p.t.Context(), deploy.Version{
		Bundle: newBundle(p.t, code), Secrets: map[string]string{"SECRET": "t"},
	})
}

// closed waits until a version is closed.
func (p *process) closed(s *Script) {
	p.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(time.Millisecond); time.Now().Before(deadline); <-tick.C {
		if s.pool.closing.Closed() {
			return
		}
	}
	p.t.Error("the old version was not closed")
}

// TestReplace: a request that runs is finished by its version, as is what it left to ctx.waitUntil; new ones are the new
// version's, with its secrets; then the old isolates are gone.
func TestReplace(t *testing.T) {
	t.Parallel()
	p := newProcess(t, saying("one"))
	defer p.close()
	first := p.current.Load()
	var slow sync.WaitGroup
	slow.Go(func() {
		if got := p.get("/slow"); got != "3one" {
			t.Errorf("the request that ran: %q", got)
		}
	})
	<-p.room.begun
	if got := p.get("/later"); got != "ones" {
		t.Error(got)
	}
	<-p.room.begun
	if err := p.deploy(saying("two")); err != nil {
		t.Fatal(err)
	}
	if got := p.get("/"); got != "twot" {
		t.Error(got)
	}
	if first.pool.open() != 2 {
		t.Errorf("%d events of the old version", first.pool.open())
	}
	p.room.end <- struct{}{}
	p.room.end <- struct{}{}
	slow.Wait()
	if got := <-p.lines; got != "later one" {
		t.Error(got)
	}
	p.closed(first)
	if got := p.get("/"); got != "twot" {
		t.Error(got)
	}
}

// TestReplaceRefused: a version that does not start changes nothing.
func TestReplaceRefused(t *testing.T) {
	t.Parallel()
	p := newProcess(t, saying("one"))
	defer p.close()
	for _, code := range []string{`throw new Error("at load");`, `export default { fetch() { return new Response(x.y); } }; x.y;`} {
		if err := p.deploy(code); !errors.Is(err, ErrScript) {
			t.Errorf("got %v", err)
		}
	}
	if got := p.get("/"); got != "ones" {
		t.Error(got)
	}
}

// TestReplaceUnderLoad: no request fails while versions come and go, and each is of a version that was there at the time.
func TestReplaceUnderLoad(t *testing.T) {
	t.Parallel()
	p := newProcess(t, saying("0"))
	defer p.close()
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for last := ""; ctx.Err() == nil; {
				got := p.get("/")
				if got < last {
					t.Errorf("%q after %q", got, last)
				}
				last = got
			}
		})
	}
	for n := range 5 {
		if err := p.deploy(saying(fmt.Sprint(n + 1))); err != nil {
			t.Error(err)
		}
		if got := p.get("/"); got != fmt.Sprint(n+1)+"t" {
			t.Errorf("after deployment %d: %q", n+1, got)
		}
	}
	stop()
	load.Wait()
}

// TestReplaceOften: versions whose events never end are cut off when too many of them pile up, and at the end.
func TestReplaceOften(t *testing.T) {
	t.Parallel()
	p := newProcess(t, saying("0"))
	first := p.current.Load()
	var hanging sync.WaitGroup
	for n := range maxOld + 1 {
		hanging.Go(func() {
			resp, err := p.server.Client().Get(p.server.URL + "/slow")
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
		<-p.room.begun
		if err := p.deploy(saying(fmt.Sprint(n + 1))); err != nil {
			t.Error(err)
		}
	}
	p.closed(first)
	p.versions.close()
	hanging.Wait()
	p.server.Close()
	if err := p.deploy(saying("late")); !errors.Is(err, deploy.ErrEnding) {
		t.Errorf("got %v", err)
	}
}

// TestScheduledByCall: other processes take events to the version that runs, and no other method or HTTP request does.
func TestScheduledByCall(t *testing.T) {
	t.Parallel()
	p := newProcess(t, saying("one"))
	defer p.close()
	if err := p.deploy(saying("two")); err != nil {
		t.Fatal(err)
	}
	args, err := v8value.MarshalArguments(cron.Event{Worker: "w", Cron: "* * * * *", ScheduledTime: time.UnixMilli(60_000)})
	if err != nil {
		t.Fatal(err)
	}
	to := sidecar.Target{Worker: "w", Entrypoint: cron.Entrypoint}
	event := sidecar.Invocation{Path: []string{cron.MethodScheduled}, Args: sidecar.Value{Bytes: args}}
	value, err := p.Invoke(t.Context(), to, event)
	var r cron.Result
	if err != nil || v8value.Unmarshal(value.Bytes, &r) != nil || r.Outcome != "ok" || !r.NoRetry {
		t.Errorf("got %+v, %v", r, err)
	}
	if got := <-p.lines; got != "two * * * * * 60000" {
		t.Error(got)
	}
	if _, err := p.Call(t.Context(), to, "other", args); err == nil {
		t.Error("another method was called")
	}
	if _, err := p.Call(t.Context(), to, cron.MethodScheduled, nil); err == nil {
		t.Error("no arguments were taken")
	}
	for _, path := range []string{cron.DeliveryPath + "?cron=*", "/__scheduled", "/" + cron.Entrypoint + "/scheduled"} {
		if got := p.get(path); got != "twot" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestKeepSchedules: each version's schedules are told, to whom the router leads.
func TestKeepSchedules(t *testing.T) {
	t.Parallel()
	p := newProcess(t, saying("one"))
	defer p.close()
	tellers := make(chan string, 8)
	p.caller = toldTo(tellers)
	p.options.Services = &net.TCPListener{}
	ctx, stop := context.WithCancel(t.Context())
	again := make(chan struct{}, 1)
	var keep sync.WaitGroup
	keep.Go(func() { p.keepSchedules(ctx, &net.TCPAddr{Port: 1}, again) })
	if got := <-tellers; got != `w [] ""` {
		t.Error(got)
	}
	p.current.Load().o.Bundle.Manifest().Crons = []string{"0 0 * * *"}
	again <- struct{}{}
	if got := <-tellers; got != `w ["0 0 * * *"] ""` {
		t.Error(got)
	}
	stop()
	keep.Wait()
}

// toldTo is a caller that keeps schedules.
type toldTo chan string

// Call implements sidecar.Caller.
func (c toldTo) Call(_ context.Context, _ sidecar.Target, _ string, args []byte) ([]byte, error) {
	var q cron.Set
	if err := v8value.UnmarshalArguments(args, &q); err != nil {
		return nil, err
	}
	c <- fmt.Sprintf("%s %q %q", q.Worker, q.Crons, q.Address)
	return v8value.Marshal(nil)
}

// Fetch implements sidecar.Caller.
func (toldTo) Fetch(context.Context, sidecar.Target, *http.Request) (*http.Response, error) {
	return nil, errors.ErrUnsupported
}

package program

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// history is what a host keeps of a program.
type history struct {
	start   frame.Start
	calls   []*frame.Call
	results map[uint64]*frame.Result
	done    *frame.Done
	emitted []string
}

// replay is the start of a program that is led to where it was at its last call.
func (h *history) replay() frame.Start {
	start := h.start
	for _, c := range h.calls {
		start.Replay.Taken = append(start.Replay.Taken, c.Taken...)
		start.Replay.Timers = c.Timers
	}
	return start
}

// program runs a program, live for calls that old has no result of, and stops after a number of calls; 0 is never.
func (c *child) program(start frame.Start, old *history, stop int) *history {
	c.t.Helper()
	c.run++
	start.Run = c.run
	h := &history{start: start, results: map[uint64]*frame.Result{}}
	c.send(&start)
	for {
		switch m := c.next().(type) {
		case *frame.Log:
		case *frame.Emit:
			h.emitted = append(h.emitted, string(m.Value))
		case *frame.Call:
			h.calls = append(h.calls, m)
			if len(h.calls) == stop {
				return h
			}
			r := &frame.Result{CallID: m.CallID, Value: m.Arguments, UnixMS: start.StartedMS + 1000*m.CallID}
			if old != nil && old.results[m.CallID] != nil {
				r = old.results[m.CallID]
			}
			r.Run = c.run
			h.results[m.CallID] = r
			if m.Path == "slow" && old == nil {
				<-time.NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond).C
			}
			c.send(r)
		case *frame.Done:
			h.done = m
			return h
		}
	}
}

func startOf(code string) frame.Start {
	return frame.Start{Code: code, Limits: testLimits(), Seed: []byte("a seed"), StartedMS: 1_700_000_000_000}
}

// TestReplay holds that a program which is led through what happened to it does the same again: it makes the same calls
// with the same arguments, however its timers, its results, its clock and its randomness came together.
func TestReplay(t *testing.T) {
	t.Parallel()
	const sleep = "const sleep = (ms) => new Promise((r) => setTimeout(r, ms)); "
	for _, tc := range []struct{ name, code string }{
		{"clock", sleep + `
			const seen = [Date.now(), performance.now(), performance.timeOrigin, new Date().toISOString()]
			for (let i = 0; i < 5; i++) { await sleep(i); seen.push(Date.now()); await tools.slow({seen}); seen.push(Date.now(), performance.now()) }
			return tools.end({seen})`},
		{"randomness", `
			const seen = [Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(8))]]
			await tools.slow({seen}); seen.push(Math.random(), crypto.randomUUID())
			return tools.end({seen})`},
		{"timers among results", sleep + `
			const order = []
			const timers = (async () => { for (let i = 0; i < 20; i++) { await sleep(3); order.push("t" + i) } })()
			const calls = [1, 2, 3, 4, 5].map(async (i) => { await tools.slow({i}); order.push("c" + i); await tools.slow({order}) })
			await Promise.all([timers, ...calls])
			return tools.end({order})`},
		{"interval", `
			let n = 0, done; const end = new Promise((r) => done = r)
			const id = setInterval(async () => { if (++n == 10) { clearInterval(id); await tools.slow({n}); done() } }, 2)
			await tools.slow({n}); await end
			return tools.end({n, at: Date.now()})`},
		{"timers alone before a call", sleep + "await sleep(30); await tools.slow(Date.now()); await sleep(10); return tools.end(Date.now())"},
		{"busy loop", "const until = Date.now() + 20; while (Date.now() < until); return tools.end({until, now: Date.now()})"},
		{"what is there", `return tools.end([Object.getOwnPropertyNames(globalThis), Object.keys(console), new Error("x").stack])`},
		{"race", sleep + `
			const first = await Promise.race([tools.slow({}).then(() => "call"), sleep(10).then(() => "timer")])
			return tools.end({first})`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := startChild(t)
			before := c.program(startOf(tc.code), nil, 0)
			if before.done.Error != "" {
				t.Fatalf("before: %s", before.done.Error)
			}
			again := startChild(t).program(before.replay(), before, 0)
			if diff := cmp.Diff(before.calls, again.calls); diff != "" {
				t.Errorf("calls (-before +again):\n%s", diff)
			}
			if got, want := string(again.done.Result), string(before.done.Result); got != want {
				t.Errorf("got %s, before it was %s", got, want)
			}
			// Another one, on its own, is different where it should be.
			other := startOf(tc.code)
			other.Seed = []byte("another")
			if o := c.program(other, nil, 0); tc.name == "randomness" && cmp.Equal(o.calls, before.calls) {
				t.Error("another seed gave the same")
			}
		})
	}
}

// TestReplayGoesOn holds that a program goes on by itself after the last call that it had made, and does not wait for
// what it waited for before.
func TestReplayGoesOn(t *testing.T) {
	t.Parallel()
	code := `
		const sleep = (ms) => new Promise((r) => setTimeout(r, ms))
		emit("start"); await tools.a(1); await sleep(5000); await tools.b(Date.now()); emit("b")
		const t0 = Date.now(); await sleep(50); await tools.c(0); emit("c")
		return {slept: Date.now() - t0 >= 50, n: 2}`
	before := startChild(t).program(startOf(code), nil, 2)
	again, took := before, time.Duration(0)
	for tries := 0; tries == 0 || took > 4*time.Second && tries < 5; tries++ { // others may hold one up
		at := time.Now()
		again = startChild(t).program(before.replay(), before, 0)
		took = time.Since(at)
	}
	if took > 4*time.Second {
		t.Errorf("the replay waited: %v", took)
	}
	if diff := cmp.Diff(before.calls, again.calls[:2]); diff != "" {
		t.Errorf("calls (-before +again):\n%s", diff)
	}
	if string(again.done.Result) != `{"slept":true,"n":2}` || len(again.calls) != 3 {
		t.Errorf("got %s after %d calls", again.done.Result, len(again.calls))
	}
	if diff := cmp.Diff([]string{`"start"`, `"b"`, `"c"`}, again.emitted); diff != "" {
		t.Errorf("emitted (-want +got):\n%s", diff)
	}
}

// TestDiverged holds that a program which cannot be led says so.
func TestDiverged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, code string
		replay     frame.Replay
		want       string
	}{
		{"no timer", "await new Promise(() => {})", frame.Replay{Timers: 1}, "it has no timer where it had one"},
		{"no call", "await new Promise(() => {})", frame.Replay{Taken: []frame.Taken{{CallID: 1}}}, "it has not made call 1"},
		{"another call", "await tools.a()", frame.Replay{Taken: []frame.Taken{{CallID: 2}}}, "it has not made call 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			start := startOf(tc.code)
			start.Replay = tc.replay
			d := startChild(t).program(start, nil, 0).done
			want := "the program did not do the same again: " + tc.want
			if got := fmt.Sprintf("%v: %s", d.Outcome, d.Error); got != "OUTCOME_DIVERGED: "+want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestClockStops holds that a program whose clock is stopped has no timers, and goes on where it was.
func TestClockStops(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	c.run++
	start := startOf(`
		const first = tools.a().then(() => "call")
		const timer = new Promise((r) => setTimeout(() => r("timer"), 4000))
		const winner = await Promise.race([first, timer]); await timer
		return {winner, date: Date.now() >= 1_800_000_000_000, ran: performance.now() < 60_000_000}`)
	start.Run = c.run
	c.send(&start)
	call := c.next().(*frame.Call)
	c.send(&frame.Clock{Run: c.run, Stopped: true})
	<-time.NewTimer(4500 * time.Millisecond).C
	c.send(&frame.Result{Run: c.run, CallID: call.CallID, Value: []byte("1"), UnixMS: 1_800_000_000_000})
	<-time.NewTimer(20 * time.Millisecond).C
	c.send(&frame.Clock{Run: c.run, Stopped: false})
	if d := c.next().(*frame.Done); !strings.Contains(string(d.Result), `"winner":"call","date":true`) {
		t.Errorf("got %s %s", d.Result, d.Error)
	}
}

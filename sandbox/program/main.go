package program

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tandem-do/tandem/sandbox/frame"
)

const (
	// maxFrameBytes is the longest frame that a child takes: code or a tool's result.
	maxFrameBytes = 64 << 20
	// maxStackBytes is how deep the goroutine's stack may grow, in the engine's parser for instance. Beyond
	// it the process ends, which the parent reports as a program that is nested too deeply.
	maxStackBytes = 64 << 20
	// retireHeapBytes is the size of the heap after a program beyond which a child ends rather than run
	// another one in what is left.
	retireHeapBytes = 48 << 20
	// idleAfter is how long a child waits for a program before it gives memory back.
	idleAfter = time.Second
	// retireRuns is how many programs a child runs at most.
	retireRuns = 1000
)

// inboxFrames is more than the results that can be outstanding, so that the reader is never held up.
const inboxFrames = 1024

// Exit codes of Main.
const (
	exitOK       = 0
	exitProtocol = 3
	exitSetUp    = 4
)

// maxThreads is how many threads run at once: the program's, and one for the collector and the watch.
const maxThreads = 2

// Main is the body of a child process: it reads programs from in, one at a time, runs each on a runtime
// of its own, and answers on out. It returns the process's exit code when in ends, when a program has
// passed a limit, and when the engine is beyond help. The program may still be running then, so its caller
// must exit at once. The process must be the program's alone: Main changes its resource limits, memory
// settings, user, environment and time zone for good, and closes all files but the standard ones.
func Main(in io.Reader, out io.Writer) int {
	time.Local = time.UTC
	debug.SetMaxStack(maxStackBytes)
	debug.SetTraceback("none")
	runtime.GOMAXPROCS(maxThreads)
	p := &process{
		out: &output{w: out}, inbox: make(chan frame.Message, inboxFrames), exit: make(chan int, 3),
	}
	first, err := newIsolate()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitSetUp
	}
	baseBytes, err := dataBytes()
	if err == nil {
		p.pages, err = unchangedPages()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitSetUp
	}
	// What the machine does not allow is the operator's to judge, by the log.
	protections := protect()
	p.watch = newWatch(p.out, baseBytes)
	p.out.send(&frame.Ready{Version: frame.Version, Protections: protections})
	// Nothing waits for these: they end with the process, which ends when the first of them returns.
	go func() { p.exit <- p.watch.loop() }()
	go func() { p.exit <- p.read(in) }()
	go func() { p.exit <- p.serve(first) }()
	return <-p.exit
}

// process is a child.
type process struct {
	inbox chan frame.Message
	out   *output
	watch *watch
	pages pages
	// exit takes the exit code of whatever ends the process.
	exit chan int
}

// read passes frames on. It returns when the parent has gone, whatever the program is doing.
func (p *process) read(in io.Reader) int {
	r := frame.NewReader(in, maxFrameBytes)
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			return exitOK
		}
		if err != nil {
			return exitProtocol
		}
		p.inbox <- m
	}
}

// serve runs programs until one ends that leaves the process in doubt.
func (p *process) serve(next *isolate) int {
	for run := 1; ; run++ {
		done := p.runProgram(next, p.awaitStart())
		retire := !done.Reusable || run == retireRuns || heapBytes() > retireHeapBytes
		done.Reusable = !retire
		p.out.send(done)
		if retire {
			return exitOK
		}
		var err error
		if next, err = newIsolate(); err != nil {
			return exitSetUp
		}
	}
}

// awaitStart waits for the next program. A child that is not needed for a while gives memory back.
func (p *process) awaitStart() *frame.Start {
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	for {
		select {
		case m := <-p.inbox:
			// A result may be left over from the program before.
			if start, ok := m.(*frame.Start); ok {
				return start
			}
		case <-idle.C:
			p.pages.release()
		}
	}
}

// runProgram runs one program between the start and the end of the watch.
func (p *process) runProgram(i *isolate, start *frame.Start) *frame.Done {
	p.out.begin(start.Limits.ResultBytes)
	p.watch.begin(start.Limits)
	e := &execution{
		isolate: i, run: start.Run, limits: start.Limits, inbox: p.inbox, out: p.out,
		clock: startClock(time.UnixMilli(int64(min(start.StartedMS, math.MaxInt64)))), random: newRandom(start.Seed),
		replay: replay{
			left: start.Replay.Taken, timers: start.Replay.Timers,
			over: len(start.Replay.Taken) == 0 && start.Replay.Timers == 0,
		},
	}
	done := e.guarded(start.Code)
	done.CPU = p.watch.end()
	return done
}

package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/sidecar"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func TestInputGate(t *testing.T) {
	datadriven.Walk(t, "testdata/input", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := newInputScript()
			datadriven.RunTest(t, path, s.run)
			s.close()
		})
	})
}

func TestOutputGate(t *testing.T) {
	datadriven.Walk(t, "testdata/output", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := newOutputScript()
			datadriven.RunTest(t, path, s.run)
			s.close()
		})
	})
}

// inputScript plays a script on one input gate. Each line of a case is one command:
//
//	limit N                 only N may wait (before the first enter)
//	enter WHO [in S]        code that has not begun asks for a turn; "late" instead of "in S": its context has ended
//	continue WHO [in S]     code that continues what has begun asks for one
//	reenter WHO [in S]      code that has begun asks for another one
//	leave WHO               the turn ends
//	cancel WHO              its event's context ends
//	begin S / end S         a critical section begins, ends; fail S: its code failed
//	break                   the gate is broken from outside
//	advance DURATION        time passes
//
// The output is what each line leads to, then who has the turn and who waits, first come first.
type inputScript struct {
	gate     InputGate
	turn     string
	waits    []string
	cancels  map[string]context.CancelFunc
	sections map[string]*CriticalSection
	settled  chan string // one line of output for each waiter that gets its turn or fails
}

func newInputScript() *inputScript {
	s := &inputScript{
		cancels:  map[string]context.CancelFunc{},
		sections: map[string]*CriticalSection{},
		settled:  make(chan string, 200),
	}
	s.gate.Hooks.Broken = func(err error) { s.settled <- "gate breaks: " + errorText(err) }
	return s
}

func (s *inputScript) run(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Cmd + " " + argText(d) + "\n" + d.Input) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		s.command(t, f)
		synctest.Wait()
		s.drain(&out)
	}
	turn, waits := s.turn, strings.Join(s.waits, " ")
	if turn == "" {
		turn = "nobody"
	}
	fmt.Fprintf(&out, "turn: %s", turn)
	if waits != "" {
		fmt.Fprintf(&out, "; waiting: %s", waits)
	}
	out.WriteString("\n")
	return out.String()
}

// argText rebuilds the words of the directive, so that every line has the same form.
func argText(d *datadriven.TestData) string {
	var words []string
	for _, a := range d.CmdArgs {
		words = append(words, a.Key)
	}
	return strings.Join(words, " ")
}

func (s *inputScript) command(t *testing.T, f []string) {
	var section *CriticalSection
	if len(f) == 4 && f[2] == "in" {
		section = s.sections[f[3]]
	}
	switch f[0] {
	case "limit":
		fmt.Sscan(f[1], &s.gate.MaxWaiting)
	case "enter", "continue", "reenter":
		ctx, cancel := context.WithCancel(context.Background())
		if s.cancels[f[1]] = cancel; len(f) == 3 && f[2] == "late" {
			cancel()
		}
		s.ask(ctx, f[1], section, f[0])
	case "leave":
		if s.turn != f[1] {
			t.Fatalf("%s does not hold the turn", f[1])
		}
		s.turn = ""
		s.gate.Leave()
	case "cancel":
		s.cancels[f[1]]()
	case "begin":
		c, err := s.gate.Begin()
		if err != nil {
			s.settled <- f[1] + ": " + errorText(err)
			return
		}
		s.sections[f[1]] = c
	case "end":
		s.sections[f[1]].End()
	case "fail":
		s.sections[f[1]].Fail(errors.New("boom"))
	case "break":
		s.gate.Break(&sidecar.Error{Message: "reset from outside", Reset: true})
	case "advance":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
	default:
		t.Fatalf("unknown command %q", f[0])
	}
}

// ask asks for a turn on a goroutine of its own, as an event's caller would.
func (s *inputScript) ask(ctx context.Context, who string, section *CriticalSection, how string) {
	begun := how == "reenter"
	s.waits = append(s.waits, who)
	go func() {
		var err error
		switch how {
		case "reenter":
			err = s.gate.Reenter(ctx, section)
		case "continue":
			err = s.gate.Continue(ctx, section)
		default:
			err = s.gate.Enter(ctx, section)
		}
		switch {
		case err == nil:
			s.settled <- who + " gets the turn"
		case begun:
			s.settled <- who + " gets the turn, and: " + errorText(err)
		default:
			s.settled <- who + " fails: " + errorText(err)
		}
	}()
}

// drain prints what has happened and brings the script's own picture up to date.
func (s *inputScript) drain(out *strings.Builder) {
	for len(s.settled) > 0 {
		line := <-s.settled
		fmt.Fprintln(out, line)
		who, what, _ := strings.Cut(line, " ")
		for i, w := range s.waits {
			if w == who {
				s.waits = append(s.waits[:i], s.waits[i+1:]...)
				break
			}
		}
		if strings.HasPrefix(what, "gets the turn") {
			s.turn = who
		}
	}
}

// close lets everybody who still waits go, so that no goroutine outlives the script.
func (s *inputScript) close() {
	s.gate.Break(errors.New("script over"))
	var rest strings.Builder
	for synctest.Wait(); s.turn != "" || len(s.waits) > 0; synctest.Wait() {
		s.drain(&rest)
		if s.turn != "" {
			s.turn = ""
			s.gate.Leave()
		}
	}
	for _, cancel := range s.cancels {
		cancel()
	}
}

// errorText is an error with the properties that scripts see.
func errorText(err error) string {
	var e *sidecar.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := fmt.Sprintf("%q", e.Message)
	if e.Overloaded {
		text += " overloaded"
	}
	if e.Reset {
		text += " reset"
	}
	if e.Remote {
		text += " remote"
	}
	return text
}

// outputScript plays a script on one output gate. Each line of a case is one command:
//
//	lock C                  the gate is locked by commit C
//	note C                  the gate is told of commit C, for which nobody waits
//	wait WHO                somebody wants to let something out
//	commit C / fail C       commit C is done, or fails
//	cancel WHO              its context ends
//	break                   the gate is broken from outside
//	advance DURATION        time passes
type outputScript struct {
	gate    OutputGate
	commits map[string]*scriptCommit
	cancels map[string]context.CancelFunc
	waits   atomic.Int32
	lines   chan string
}

type scriptCommit struct {
	done chan struct{}
	err  error
}

func (c *scriptCommit) Done() <-chan struct{} { return c.done }
func (c *scriptCommit) Err() error            { return c.err }

func newOutputScript() *outputScript {
	s := &outputScript{
		commits: map[string]*scriptCommit{},
		cancels: map[string]context.CancelFunc{},
		lines:   make(chan string, 200),
	}
	s.gate.Hooks.Broken = func(err error) { s.lines <- "gate breaks: " + errorText(err) }
	return s
}

func (s *outputScript) run(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Cmd + " " + argText(d) + "\n" + d.Input) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		s.command(t, f)
		synctest.Wait()
		var lines []string
		for len(s.lines) > 0 {
			lines = append(lines, <-s.lines)
		}
		slices.Sort(lines) // several waits may end at one moment
		for _, l := range lines {
			fmt.Fprintln(&out, l)
		}
	}
	fmt.Fprintf(&out, "waiting: %d\n", s.waits.Load())
	return out.String()
}

func (s *outputScript) command(t *testing.T, f []string) {
	switch f[0] {
	case "lock", "note":
		if s.commits[f[1]] == nil {
			s.commits[f[1]] = &scriptCommit{done: make(chan struct{})}
		}
		if f[0] == "note" {
			s.gate.Note(s.commits[f[1]])
			return
		}
		s.gate.Lock(s.commits[f[1]])
	case "wait":
		ctx, cancel := context.WithCancel(context.Background())
		s.cancels[f[1]] = cancel
		s.waits.Add(1)
		go func() {
			err := s.gate.Wait(ctx)
			s.waits.Add(-1)
			if err != nil {
				s.lines <- f[1] + " fails: " + errorText(err)
				return
			}
			s.lines <- f[1] + " goes out"
		}()
	case "commit":
		close(s.commits[f[1]].done)
	case "fail":
		s.commits[f[1]].err = errors.New("disk full")
		close(s.commits[f[1]].done)
	case "cancel":
		s.cancels[f[1]]()
	case "break":
		s.gate.Break(&sidecar.Error{Message: "reset from outside", Reset: true})
	case "advance":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
	default:
		t.Fatalf("unknown command %q", f[0])
	}
}

func (s *outputScript) close() {
	for _, cancel := range s.cancels {
		cancel()
	}
	synctest.Wait()
}

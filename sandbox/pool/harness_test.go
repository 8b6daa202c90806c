package pool

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
	"github.com/tandem-do/tandem/sandbox/program"
)

// childArgument has the test binary be a child instead of running tests; fakeArgument a child that misbehaves
// as the next argument says.
const (
	childArgument = "sandbox-program"
	fakeArgument  = "fake-program"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		os.Exit(program.Main(os.Stdin, os.Stdout))
	}
	if len(os.Args) == 3 && os.Args[1] == fakeArgument {
		fakeChild(os.Args[2])
		os.Exit(0)
	}
	leaktest.VerifyTestMain(m)
}

// fakeChild speaks the protocol up to Start and then does what it is told.
func fakeChild(behaviour string) {
	if behaviour == "not ready" {
		os.Stdout.WriteString("usage: something else\n")
		return
	}
	say := func(m frame.Message) { os.Stdout.Write(frame.Append(nil, m)) }
	ready := &frame.Ready{Version: frame.Version}
	if behaviour == "unprotected" {
		ready.Protections = []frame.Protection{{Name: "landlock", Off: "the kernel offers none"}}
	}
	say(ready)
	r := frame.NewReader(os.Stdin, 1<<20)
	if _, err := r.Next(); err != nil {
		return
	}
	done := &frame.Done{Outcome: sandboxpb.Outcome_OUTCOME_COMPLETED, Result: []byte("1"), Reusable: true}
	switch behaviour {
	case "garbage":
		os.Stdout.WriteString("\xff\xff\xff\xff\xff\xff\xff\xff")
		io.Copy(io.Discard, os.Stdin)
	case "cut":
		os.Stdout.Write(frame.Append(nil, done)[:6])
	case "exit":
		return
	case "log flood":
		for {
			say(&frame.Log{Line: strings.Repeat("x", 1000)})
		}
	case "emit garbage":
		say(&frame.Emit{Value: []byte("{")})
	case "call out of order":
		say(&frame.Call{CallID: 7, Path: "a"})
	case "call flood":
		for i := uint64(1); ; i++ {
			say(&frame.Call{CallID: i, Path: "a"})
		}
	case "result is no JSON":
		done.Result = []byte("{")
		say(done)
	case "result too large":
		done.Result = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
		say(done)
	case "error without words":
		say(&frame.Done{Outcome: sandboxpb.Outcome_OUTCOME_EXCEPTION})
	case "ready again":
		ready := &frame.Ready{Version: frame.Version}
		if behaviour == "unprotected" {
			ready.Protections = []frame.Protection{{Name: "landlock", Off: "the kernel offers none"}}
		}
		say(ready)
	case "out of memory":
		fmt.Fprintln(os.Stderr, "fatal error: runtime: out of memory")
		os.Exit(2)
	}
	io.Copy(io.Discard, os.Stdin)
}

func testOptions(t testing.TB) Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Command: []string{exe, childArgument}, Processes: 4, Idle: 2}
}

func fakeOptions(t testing.TB, behaviour string) Options {
	o := testOptions(t)
	o.Command = []string{o.Command[0], fakeArgument, behaviour}
	return o
}

func newPool(t testing.TB, o Options) *Pool {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func testProgram(code string) Program {
	return Program{Code: code, WallClock: time.Minute, Limits: frame.Limits{
		CPU: 2 * time.Second, MemoryBytes: 64 << 20, ResultBytes: 256 << 10, PendingToolCalls: 8,
	}}
}

// execute runs a program whose tools echo their argument.
func execute(ctx context.Context, p *Pool, program Program) (*sandboxpb.Done, error) {
	x, err := p.Start(ctx, program)
	if err != nil {
		return nil, err
	}
	return x.Run(ctx, func(c *frame.Call) error {
		x.Settle(&frame.Result{CallID: c.CallID, Value: c.Arguments})
		return nil
	})
}

// outcome words an end as the tables do.
func outcome(d *sandboxpb.Done, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case d.Error != "":
		return strings.TrimPrefix(d.Outcome.String(), "OUTCOME_") + ": " + d.Error
	default:
		return string(d.ResultJson)
	}
}

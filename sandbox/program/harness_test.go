package program

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
)

// childArgument has the test binary be a child instead of running tests; confinedArgument has it protect the machine as
// the next argument says and report what it can still do.
const (
	childArgument    = "sandbox-program"
	confinedArgument = "confined"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		os.Exit(Main(os.Stdin, os.Stdout))
	}
	if len(os.Args) == 3 && os.Args[1] == confinedArgument {
		confined(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func testLimits() frame.Limits {
	return frame.Limits{CPU: 5 * time.Second, MemoryBytes: 64 << 20, ResultBytes: 1 << 20, PendingToolCalls: 8}
}

// child is a real child process.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	r     *frame.Reader
	run   uint64
	// protections are those that it told of.
	protections []frame.Protection
	// parent is the test that owns the process; ended is true once it takes no more programs.
	parent testing.TB
	ended  bool
	// tool answers calls; nil refuses them.
	tool func(c *frame.Call) *frame.Result
}

func startChild(t testing.TB) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, parent: t, cmd: exec.Command(exe, childArgument)}
	c.cmd.Env = []string{}
	c.cmd.Dir = "/"
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.stdin.Close()
		kill := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Kill() })
		_ = c.cmd.Wait()
		kill.Stop()
	})
	c.r = frame.NewReader(stdout, 16<<20)
	ready, ok := c.next().(*frame.Ready)
	if !ok || ready.Version != frame.Version {
		t.Fatalf("first frame is %+v", ready)
	}
	c.protections = ready.Protections
	return c
}

func (c *child) next() frame.Message {
	c.t.Helper()
	m, err := c.r.Next()
	if err != nil {
		c.t.Fatalf("read from child: %v", err)
	}
	return m
}

func (c *child) send(m frame.Message) {
	c.t.Helper()
	if _, err := c.stdin.Write(frame.Append(nil, m)); err != nil {
		c.t.Fatalf("write to child: %v", err)
	}
}

// ran is all that a program gave.
type ran struct {
	*frame.Done
	logs, emitted []string
	calls         []*frame.Call
}

// outcome words an end as the tables do: the value as JSON, or the error behind its kind.
func (r *ran) outcome() string {
	switch r.Outcome {
	case sandboxpb.Outcome_OUTCOME_COMPLETED:
		if r.Result == nil {
			return "undefined"
		}
		return string(r.Result)
	case sandboxpb.Outcome_OUTCOME_EXCEPTION:
		return "exception: " + r.Error
	case sandboxpb.Outcome_OUTCOME_SYNTAX_ERROR:
		return r.Error
	default:
		return fmt.Sprintf("%v: %s", r.Outcome, r.Error)
	}
}

func (c *child) execute(code string) *ran { return c.executeWithin(code, testLimits()) }

func (c *child) executeWithin(code string, l frame.Limits) *ran {
	c.t.Helper()
	c.run++
	c.send(&frame.Start{Run: c.run, Code: code, Limits: l})
	got := &ran{}
	for {
		switch m := c.next().(type) {
		case *frame.Log:
			got.logs = append(got.logs, m.Line)
		case *frame.Emit:
			got.emitted = append(got.emitted, string(m.Value))
		case *frame.Call:
			got.calls = append(got.calls, m)
			r := &frame.Result{Thrown: true, Value: []byte("no such tool")}
			if c.tool != nil {
				r = c.tool(m)
			}
			if r != nil {
				r.Run, r.CallID = c.run, m.CallID
				c.send(r)
			}
		case *frame.Done:
			got.Done = m
			return got
		default:
			c.t.Fatalf("frame %T while a program runs", m)
		}
	}
}

package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/proto/leaktest"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/sandbox/program"
)

const childArgument = "sandbox-program"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		os.Exit(program.Main(os.Stdin, os.Stdout))
	}
	leaktest.VerifyTestMain(m)
}

// sandboxProcess is a sandbox on an in-memory network, with real children.
type sandboxProcess struct {
	client sandboxpb.SandboxServiceClient
	// stop ends the sandbox; ended then takes what Serve returned.
	stop  context.CancelFunc
	ended chan error
}

func startSandbox(t testing.TB) *sandboxProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(t.Context())
	p := &sandboxProcess{stop: cancel, ended: make(chan error, 1)}
	go func() {
		p.ended <- Serve(ctx, Options{Listener: l, Command: []string{exe, childArgument}, Processes: 4})
	}()
	conn, err := sidecar.Dial("passthrough:///sandbox", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	p.client = sandboxpb.NewSandboxServiceClient(conn)
	t.Cleanup(func() {
		conn.Close()
		cancel()
		if err, ok := <-p.ended; ok && err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return p
}

func request(start *sandboxpb.Start) *sandboxpb.ExecuteRequest {
	return &sandboxpb.ExecuteRequest{Message: &sandboxpb.ExecuteRequest_Start{Start: start}}
}

func value(id uint64, json string) *sandboxpb.ExecuteRequest {
	return &sandboxpb.ExecuteRequest{Message: &sandboxpb.ExecuteRequest_ToolResult{ToolResult: &sandboxpb.ToolResult{
		CallId: id, Outcome: &sandboxpb.ToolResult_ValueJson{ValueJson: []byte(json)},
	}}}
}

func thrown(id uint64, message string) *sandboxpb.ExecuteRequest {
	return &sandboxpb.ExecuteRequest{Message: &sandboxpb.ExecuteRequest_ToolResult{ToolResult: &sandboxpb.ToolResult{
		CallId: id, Outcome: &sandboxpb.ToolResult_Thrown{Thrown: message},
	}}}
}

func clock(stopped bool) *sandboxpb.ExecuteRequest {
	return &sandboxpb.ExecuteRequest{Message: &sandboxpb.ExecuteRequest_Clock{Clock: &sandboxpb.Clock{Stopped: stopped}}}
}

// execute sends requests at once, answers calls as answer says, and returns the end.
func (p *sandboxProcess) execute(ctx context.Context, answer func(*sandboxpb.ToolCall) []*sandboxpb.ExecuteRequest,
	requests ...*sandboxpb.ExecuteRequest,
) (*sandboxpb.Done, error) {
	stream, err := p.client.Execute(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		if err := stream.Send(r); err != nil {
			break // Recv says why
		}
	}
	var done *sandboxpb.Done
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return done, nil
		}
		if err != nil {
			return nil, err
		}
		switch m := m.Message.(type) {
		case *sandboxpb.ExecuteResponse_ToolCall:
			for _, r := range answer(m.ToolCall) {
				if err := stream.Send(r); err != nil {
					return nil, err
				}
			}
		case *sandboxpb.ExecuteResponse_Done:
			done = m.Done
		}
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	p := startSandbox(t)
	d, err := p.execute(t.Context(), func(c *sandboxpb.ToolCall) []*sandboxpb.ExecuteRequest {
		if c.Path == "add" {
			return []*sandboxpb.ExecuteRequest{value(c.CallId, `{"ok":true,"data":`+string(c.ArgumentsJson)+`}`)}
		}
		return []*sandboxpb.ExecuteRequest{thrown(c.CallId, c.Path+" was declined")}
	}, request(&sandboxpb.Start{ExecutionId: "exec_1", Code: `
		console.log("start")
		const r = await tools.add({a: 1})
		emit(r.ok)
		try { await tools.x.y() } catch (e) { return r.data.a + ": " + e.message }`}))
	if err != nil {
		t.Fatal(err)
	}
	if d.Outcome != sandboxpb.Outcome_OUTCOME_COMPLETED || string(d.ResultJson) != `"1: x.y was declined"` || !d.ResultIsString {
		t.Errorf("got %v", d)
	}
	if len(d.Logs) != 1 || d.Logs[0] != "start" || len(d.EmittedJson) != 1 || string(d.EmittedJson[0]) != "true" {
		t.Errorf("got the logs %q and emitted %q", d.Logs, d.EmittedJson)
	}
	if d.Cpu.AsDuration() <= 0 {
		t.Errorf("got %v of CPU", d.Cpu.AsDuration())
	}
}

// TestPause holds that a stopped clock saves a program from its wall clock.
func TestPause(t *testing.T) {
	t.Parallel()
	p := startSandbox(t)
	start := &sandboxpb.Start{Code: "return tools.ask()", Limits: &sandboxpb.Limits{WallClock: durationpb.New(5 * time.Second)}}
	answers := make(chan []*sandboxpb.ExecuteRequest, 1)
	stream, err := p.client.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*sandboxpb.ExecuteRequest{request(start), clock(true)} {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	m, err := stream.Recv()
	if err != nil || m.GetToolCall() == nil {
		t.Fatalf("got %v, %v", m, err)
	}
	time.AfterFunc(5500*time.Millisecond, func() {
		answers <- []*sandboxpb.ExecuteRequest{clock(false), value(m.GetToolCall().CallId, `"yes"`)}
	})
	for _, r := range <-answers {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	m, err = stream.Recv()
	if err != nil || string(m.GetDone().GetResultJson()) != `"yes"` {
		t.Fatalf("got %v, %v", m, err)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	p := startSandbox(t)
	limits := func(l *sandboxpb.Limits) []*sandboxpb.ExecuteRequest {
		return []*sandboxpb.ExecuteRequest{request(&sandboxpb.Start{Code: "return 1", Limits: l})}
	}
	slow := request(&sandboxpb.Start{Code: "await tools.a()"})
	for _, tc := range []struct {
		name     string
		requests []*sandboxpb.ExecuteRequest
		want     string
	}{
		{"no start", []*sandboxpb.ExecuteRequest{clock(true)}, "the first request is not start"},
		{"code too long", []*sandboxpb.ExecuteRequest{request(&sandboxpb.Start{Code: strings.Repeat(" ", 1<<20+1)})}, "code has 1048577 bytes, at most 1048576"},
		{"id too long", []*sandboxpb.ExecuteRequest{request(&sandboxpb.Start{ExecutionId: strings.Repeat("x", 257)})}, "execution_id has 257 bytes, at most 256"},
		{"organization too long", []*sandboxpb.ExecuteRequest{request(&sandboxpb.Start{Organization: strings.Repeat("x", 257)})}, "organization has 257 bytes, at most 256"},
		{"seed too short", []*sandboxpb.ExecuteRequest{request(&sandboxpb.Start{Seed: []byte("1")})}, "seed has 1 bytes, must have 32"},
		{"replay too long", []*sandboxpb.ExecuteRequest{request(&sandboxpb.Start{Replay: &sandboxpb.Replay{
			Taken: make([]*sandboxpb.Taken, maxTaken+1),
		}})}, "replay.taken has 100001 entries, at most 100000"},
		{"wall clock", limits(&sandboxpb.Limits{WallClock: durationpb.New(0)}), "limits.wall_clock is 0s, must be more than 0"},
		{"cpu", limits(&sandboxpb.Limits{Cpu: durationpb.New(-time.Second)}), "limits.cpu is -1s, must be more than 0"},
		{"memory", limits(&sandboxpb.Limits{MemoryBytes: 1}), "limits.memory_bytes is 1, at least 8388608"},
		{"two starts", []*sandboxpb.ExecuteRequest{slow, slow}, "start was sent twice"},
		{"empty request", []*sandboxpb.ExecuteRequest{slow, {}}, "request is empty"},
		{"result without outcome", []*sandboxpb.ExecuteRequest{slow, {Message: &sandboxpb.ExecuteRequest_ToolResult{
			ToolResult: &sandboxpb.ToolResult{CallId: 1},
		}}}, "tool_result 1 has no outcome"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := p.execute(t.Context(), func(*sandboxpb.ToolCall) []*sandboxpb.ExecuteRequest { return nil }, tc.requests...)
			if s := status.Convert(err); s.Code() != codes.InvalidArgument || s.Message() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestLimitsAreCut(t *testing.T) {
	t.Parallel()
	p, err := programOf(&sandboxpb.Start{Limits: &sandboxpb.Limits{
		WallClock: durationpb.New(24 * time.Hour), Cpu: durationpb.New(24 * time.Hour), MemoryBytes: 1 << 40,
		ResultBytes: 1 << 40, PendingToolCalls: 1 << 20,
	}})
	if err != nil {
		t.Fatal(err)
	}
	l := p.Limits
	if p.WallClock != maxWallClock || l.CPU != maxCPU || l.MemoryBytes != maxMemoryBytes ||
		l.ResultBytes != maxResultBytes || l.PendingToolCalls != maxPendingToolCalls {
		t.Errorf("got %+v", p)
	}
	if p, err = programOf(&sandboxpb.Start{}); err != nil || p.WallClock != defaultWallClock || p.Limits.MemoryBytes != defaultMemoryBytes {
		t.Errorf("without limits: got %+v, %v", p, err)
	}
}

// TestCancel holds that a host that goes away takes its program with it.
func TestCancel(t *testing.T) {
	t.Parallel()
	p := startSandbox(t)
	for range 6 { // more than there are processes
		ctx, cancel := context.WithCancel(t.Context())
		_, err := p.execute(ctx, func(*sandboxpb.ToolCall) []*sandboxpb.ExecuteRequest {
			cancel()
			return nil
		}, request(&sandboxpb.Start{Code: "await tools.a()"}))
		cancel()
		if status.Code(err) != codes.Canceled {
			t.Errorf("got %v", err)
		}
	}
	d, err := p.execute(t.Context(), nil, request(&sandboxpb.Start{Code: "return 1"}))
	if err != nil || string(d.ResultJson) != "1" {
		t.Errorf("afterwards: %v, %v", d, err)
	}
}

// TestDrain holds that a program which runs when the sandbox is told to end may complete.
func TestDrain(t *testing.T) {
	t.Parallel()
	p := startSandbox(t)
	d, err := p.execute(t.Context(), func(c *sandboxpb.ToolCall) []*sandboxpb.ExecuteRequest {
		p.stop()
		return []*sandboxpb.ExecuteRequest{value(c.CallId, "7")}
	}, request(&sandboxpb.Start{Code: "return tools.a()"}))
	if err != nil || string(d.GetResultJson()) != "7" {
		t.Errorf("got %v, %v", d, err)
	}
	if err := <-p.ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	close(p.ended)
	if _, err := p.execute(t.Context(), nil, request(&sandboxpb.Start{Code: "return 1"})); status.Code(err) != codes.Unavailable {
		t.Errorf("afterwards: %v", err)
	}
}

func TestServeRefusesOptions(t *testing.T) {
	t.Parallel()
	err := Serve(t.Context(), Options{Listener: bufconn.Listen(1), Processes: -1})
	if err == nil || !strings.Contains(err.Error(), "Command is empty\nProcesses is -1") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkExecute(b *testing.B) {
	p := startSandbox(b)
	for b.Loop() {
		if d, err := p.execute(b.Context(), nil, request(&sandboxpb.Start{Code: "return 1"})); err != nil || d.Error != "" {
			b.Fatal(d, err)
		}
	}
}

// TestReplay holds that a program can be run to where it was by what its calls have told, without waiting, and with the
// same clock and randomness.
func TestReplay(t *testing.T) {
	t.Parallel()
	p := startSandbox(t)
	start := &sandboxpb.Start{
		Seed: []byte(strings.Repeat("s", seedBytes)), StartedUnixMs: 1_700_000_000_000,
		Code: `await new Promise((r) => setTimeout(r, 5000)); const b = tools.b()
			await tools.a({now: Date.now(), random: Math.random(), id: crypto.randomUUID()}); await b
			return tools.c({now: Date.now(), random: Math.random()})`,
	}
	run := func() (calls []*sandboxpb.ToolCall, done *sandboxpb.Done) {
		done, err := p.execute(t.Context(), func(c *sandboxpb.ToolCall) []*sandboxpb.ExecuteRequest {
			calls = append(calls, c)
			answer := value(c.CallId, "1")
			answer.GetToolResult().UnixMs = 1_700_000_100_000
			return []*sandboxpb.ExecuteRequest{answer}
		}, request(start))
		if err != nil || done.GetError() != "" {
			t.Fatalf("got %v, %v", done, err)
		}
		return calls, done
	}
	before, _ := run()
	start.Replay = &sandboxpb.Replay{}
	for _, c := range before {
		start.Replay.Taken, start.Replay.Timers = append(start.Replay.Taken, c.Taken...), c.Timers
	}
	again, took := before, time.Duration(0)
	for tries := 0; tries == 0 || took > 4*time.Second && tries < 5; tries++ { // others may hold one up
		at := time.Now()
		again, _ = run()
		took = time.Since(at)
	}
	if diff := cmp.Diff(before, again, protocmp.Transform()); diff != "" || len(before) != 3 || start.Replay.Timers != 1 {
		t.Errorf("calls (-before +again):\n%s", diff)
	}
	if !strings.Contains(string(again[2].ArgumentsJson), `"now":17000001`) {
		t.Errorf("the clock has not caught up: %s", again[2].ArgumentsJson)
	}
	if took > 4*time.Second {
		t.Errorf("the replay took %v", took)
	}
}

// TestTimersWaitWhilePaused holds that a stopped clock stops a program's timers.
func TestTimersWaitWhilePaused(t *testing.T) {
	t.Parallel()
	p := startSandbox(t)
	stream, err := p.client.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	code := `return Promise.race([tools.ask(), new Promise((r) => setTimeout(r, 5000, "timer"))])`
	for _, r := range []*sandboxpb.ExecuteRequest{request(&sandboxpb.Start{Code: code}), clock(true)} {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	m, err := stream.Recv()
	if err != nil || m.GetToolCall() == nil {
		t.Fatalf("got %v, %v", m, err)
	}
	<-time.NewTimer(5500 * time.Millisecond).C
	for _, r := range []*sandboxpb.ExecuteRequest{value(m.GetToolCall().CallId, `"answer"`), clock(false)} {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	if m, err = stream.Recv(); err != nil || string(m.GetDone().GetResultJson()) != `"answer"` {
		t.Errorf("got %v, %v", m, err)
	}
}

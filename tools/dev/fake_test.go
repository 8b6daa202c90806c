package dev

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tandem-do/tandem/proto/leaktest"
)

// Environment of the fake processes, which are this test binary.
const (
	// envRole is "child" or "supervisor".
	envRole = "TANDEM_TEST_ROLE"
	// envWatch is the socket on which a child says what happens to it.
	envWatch = "TANDEM_TEST_WATCH"
	// envMode holds "name=mode" pairs.
	envMode = "TANDEM_TEST_MODE"
	// envOptions holds a supervisor's options as JSON.
	envOptions = "TANDEM_TEST_OPTIONS"
)

// fastEnd keeps a process under the race detector from waiting for a second at its end.
const fastEnd = "GORACE=atexit_sleep_ms=0"

// Modes of a fake child.
const (
	modeCrash     = "crash"     // ends at once with exit code 1
	modeUsage     = "usage"     // ends at once with exit code 2
	modeUnhealthy = "unhealthy" // never answers a health check
	modeStubborn  = "stubborn"  // takes no notice of SIGTERM or the end of the lifeline
	modeNoSignal  = "nosignal"  // takes no notice of SIGTERM
	modeNoLife    = "nolife"    // takes no notice of the end of the lifeline
	modeParent    = "parent"    // has a child of its own
)

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "child":
		os.Exit(fakeChild(os.Args[1], os.Args[2:]))
	case "supervisor":
		os.Exit(fakeSupervisor())
	case "grandchild":
		fakeSay("grandchild", "start")
		select {}
	}
	leaktest.VerifyTestMain(m)
}

// fakeSay connects to the watcher and says that name is at kind. The connection stays open, and the process does not
// outlive the test at its other end.
func fakeSay(name, kind string) net.Conn {
	conn, err := net.Dial("unix", os.Getenv(envWatch))
	if err != nil {
		fmt.Fprintln(os.Stderr, "no watcher:", err)
		os.Exit(1)
	}
	fmt.Fprintln(conn, name, kind, os.Getpid())
	go func() {
		conn.Read(make([]byte, 1))
		os.Exit(1)
	}()
	return conn
}

// fakeChild is the body of a fake process.
func fakeChild(name string, args []string) int {
	watch := fakeSay(name, "start")
	mode := fakeMode(name)
	fmt.Fprintf(os.Stderr, "%s says hello\n", name)
	switch mode {
	case modeCrash:
		fmt.Fprintln(os.Stderr, "the disk is on fire")
		return 1
	case modeUsage:
		return 2
	case modeParent:
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envRole+"=grandchild")
		if err := cmd.Start(); err != nil {
			return 1
		}
	}
	if args[0] == "--standby" {
		var err error
		if args, err = AwaitFlags(lifelineFD, nil); err != nil || args == nil {
			return 1
		}
	}
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	listen := flags.String("listen", "", "")
	lifeline := flags.Int("lifeline", -1, "")
	for _, known := range []string{
		"otlp-listen", "state-dir", "session-key-file", "link", "public-url", "audience", "address", "router", "sandbox",
		"session-timeout", "paused-session-timeout", "approval-window", "issuer", "log-level", "log-format",
		"otlp-endpoint", "trace-ratio", "trace-limit",
		"service-listen", "bundle", "secrets-file",
	} {
		flags.String(known, "", "")
	}
	for _, known := range []string{"reflection", "development", "follow-hosts", "platform-services"} {
		flags.Bool(known, false, "")
	}
	flags.Parse(args)

	end := make(chan struct{}, 3)
	if name == nameHost || name == nameWorker {
		reloads := make(chan os.Signal, 1)
		signal.Notify(reloads, syscall.SIGUSR1)
		go func() {
			for range reloads {
				fmt.Fprintln(watch, name, "reload", os.Getpid())
			}
		}()
	}
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	if mode == modeStubborn {
		go func() { <-terms; fmt.Fprintln(watch, name, "term", os.Getpid()) }()
	} else if mode != modeNoSignal {
		go func() { <-terms; end <- struct{}{} }()
	}
	if mode != modeStubborn && mode != modeNoLife {
		if _, err := WatchLifeline(*lifeline, func() { end <- struct{}{} }); err != nil {
			return 1
		}
	}
	if err := fakeServe(*listen, mode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-end
	fmt.Fprintln(watch, name, "drain", os.Getpid())
	return 0
}

// fakeMode returns the mode of a child.
func fakeMode(name string) string {
	for pair := range strings.FieldsSeq(os.Getenv(envMode)) {
		if n, mode, _ := strings.Cut(pair, "="); n == name || n == "*" {
			return mode
		}
	}
	return ""
}

// fakeServe answers health checks at address.
func fakeServe(address, mode string) error {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		l, err := net.Listen("unix", path)
		if err != nil || mode == modeUnhealthy {
			return err
		}
		s := grpc.NewServer()
		grpc_health_v1.RegisterHealthServer(s, health.NewServer())
		go s.Serve(l)
		return nil
	}
	var n uintptr
	if _, err := fmt.Sscanf(address, "fd:%d", &n); err != nil {
		return err
	}
	l, err := net.FileListener(os.NewFile(n, "listener"))
	if err != nil || mode == modeUnhealthy {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			fmt.Fprint(w, os.Getpid())
		}
	}))
	return nil
}

// fakeSupervisor runs a stack of fake children in a process of its own.
func fakeSupervisor() int {
	var o Options
	if err := json.Unmarshal([]byte(os.Getenv(envOptions)), &o); err != nil {
		return 1
	}
	o.Stdout, o.Stderr = os.Stdout, os.Stderr
	o.fake.env = []string{envRole + "=child", fastEnd}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// report is a line that a child wrote to the watcher; kind "gone" is the end of its connection.
type report struct {
	name, kind string
	pid        int
}

// watcher takes the reports of all children of a test.
type watcher struct {
	path    string
	reports chan report
}

// newWatcher listens until the test ends.
func newWatcher(t *testing.T) *watcher {
	t.Helper()
	w := &watcher{path: filepath.Join(shortDir(t), "w"), reports: make(chan report, 1024)}
	l, err := net.Listen("unix", w.path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.read(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return w
}

// read takes the reports of one child.
func (w *watcher) read(conn net.Conn) {
	defer conn.Close()
	var r report
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if _, err := fmt.Sscan(lines.Text(), &r.name, &r.kind, &r.pid); err == nil {
			w.reports <- r
		}
	}
	r.kind = "gone"
	w.reports <- r
}

// wait returns the next report that matches; those before it are dropped.
func (w *watcher) wait(t *testing.T, match func(report) bool) report {
	t.Helper()
	for {
		select {
		case r := <-w.reports:
			if match(r) {
				return r
			}
		case <-t.Context().Done():
			t.Fatal("the test ended first")
		}
	}
}

// shortDir is t.TempDir with a path that is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// lines collects what is written, for tests to read at any time.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// running is a stack of fake children under test.
type running struct {
	o              Options
	watch          *watcher
	stdout, stderr *lines
	events         chan event
	result         chan error
	// cancel drains the stack.
	cancel context.CancelFunc
}

// fakeOptions returns options for a stack of fakes on free ports.
func fakeOptions(t *testing.T, w *watcher) Options {
	t.Helper()
	dir := shortDir(t)
	lim := defaultLimits
	lim.backoffFirst, lim.backoffMax = 10*time.Millisecond, 100*time.Millisecond
	return Options{
		Executable: os.Args[0], StateDir: filepath.Join(dir, "s"), ReadyFile: filepath.Join(dir, "ready.json"),
		LogLevel: slog.LevelDebug,
		fake:     fakes{env: []string{envRole + "=child", envWatch + "=" + w.path, fastEnd}, limits: lim},
	}
}

// start runs a stack of fakes; edit may change its options.
func start(t *testing.T, edit func(*Options)) *running {
	t.Helper()
	r := &running{
		watch: newWatcher(t), stdout: &lines{}, stderr: &lines{},
		events: make(chan event, 4096), result: make(chan error, 1),
	}
	r.o = fakeOptions(t, r.watch)
	r.o.Stdout, r.o.Stderr = r.stdout, r.stderr
	r.o.fake.observe = func(e event) { r.events <- e }
	if edit != nil {
		edit(&r.o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	done := make(chan struct{})
	go func() { defer close(done); r.result <- Run(ctx, r.o) }()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

// until returns the events up to and with the first one that matches.
func (r *running) until(t *testing.T, match func(event) bool) []event {
	t.Helper()
	var seen []event
	for {
		select {
		case e := <-r.events:
			seen = append(seen, e)
			if match(e) {
				return seen
			}
		case err := <-r.result:
			t.Fatalf("the stack ended first: %v\n%s", err, r.stderr)
		}
	}
}

// untilReady waits until the stack has said that it is ready, and returns the ready file.
func (r *running) untilReady(t *testing.T) (Ready, []event) {
	t.Helper()
	seen := r.until(t, func(e event) bool { return e.kind == eventReady })
	return readReady(t, r.o.ReadyFile), seen
}

// drain ends the stack and returns the events of that.
func (r *running) drain(t *testing.T) ([]event, error) {
	t.Helper()
	r.cancel()
	err := <-r.result
	close(r.events)
	return slices.Collect(func(yield func(event) bool) {
		for e := range r.events {
			if !yield(e) {
				return
			}
		}
	}), err
}

// readReady reads a ready file.
func readReady(t *testing.T, path string) Ready {
	t.Helper()
	var r Ready
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

package dev

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// worker is a project with a Worker that has these classes.
func worker(t *testing.T, name string, classes ...string) *Project {
	t.Helper()
	m := &bundle.Manifest{Name: name, Format: bundle.FormatModules, Main: "m.js"}
	for _, c := range classes {
		m.Classes = append(m.Classes, bundle.Class{Name: c})
	}
	b, err := bundle.New(m, []byte(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Project{Bundle: b}
}

func pidNames(r Ready) []string {
	var names []string
	for name := range r.Pids {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The primary Worker and what it needs start before what is waited for less.
func TestStartOrderOfProjects(t *testing.T) {
	t.Parallel()
	all := []string{nameTraces, nameRouter, nameHost, nameWorker, "worker:auth"}
	st := &stack{options: Options{Projects: []*Project{worker(t, "web"), worker(t, "auth")}}}
	if got, want := st.startOrder(all), []string{nameWorker, nameRouter, nameHost, "worker:auth", nameTraces}; !slices.Equal(got, want) {
		t.Errorf("projects: got %v, want %v", got, want)
	}
	if got := (&stack{}).startOrder(names); !slices.Equal(got, names) {
		t.Errorf("the MCP application: got %v, want %v", got, names)
	}
}

func TestSeveralWorkers(t *testing.T) {
	t.Parallel()
	updates := make(chan Update)
	r := start(t, func(o *Options) {
		o.Projects, o.Updates = []*Project{worker(t, "web"), worker(t, "auth", "User")}, updates
	})
	first, _ := r.untilReady(t)
	if want := []string{nameHost, nameRouter, nameTraces, nameWorker, "worker:auth"}; !slices.Equal(pidNames(first), want) {
		t.Errorf("processes %v, want %v", pidNames(first), want)
	}
	if len(first.Workers) != 2 || first.Workers["web"] != first.WorkerURL || first.Workers["auth"] == first.WorkerURL {
		t.Errorf("ready file: %+v", first)
	}
	if table := r.stdout.String(); !strings.Contains(table, "  Worker web    "+first.WorkerURL+"\n  Worker auth   "+first.Workers["auth"]) {
		t.Errorf("the table is\n%s", table)
	}
	// One Worker changes: its process is told, and the host.
	updates <- Update{Index: 1, Project: worker(t, "auth", "User")}
	told := map[int]bool{}
	for len(told) < 2 {
		told[r.watch.wait(t, func(w report) bool { return w.kind == "reload" }).pid] = true
	}
	if !told[first.Pids[nameHost]] || !told[first.Pids["worker:auth"]] {
		t.Errorf("told are %v of %v", told, first.Pids)
	}
	if _, err := r.drain(t); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"web           | worker says hello\n", "auth          | worker says hello\n"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, r.stderr)
		}
	}
}

// rooted has a stack of one Worker meet others of a root.
func rooted(t *testing.T, root, name string, classes ...string) func(*Options) {
	return func(o *Options) {
		o.Projects, o.Root, o.RuntimeDir = []*Project{worker(t, name, classes...)}, root, filepath.Join(root, "run")
	}
}

func TestStacksOfOneRootMeet(t *testing.T) {
	t.Parallel()
	root := shortDir(t)
	if err := os.Mkdir(filepath.Join(root, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	first := start(t, rooted(t, root, "web"))
	keeper, _ := first.untilReady(t)
	second := start(t, rooted(t, root, "auth", "User"))
	joined, _ := second.untilReady(t)
	if want := []string{nameHost, nameWorker}; !slices.Equal(pidNames(joined), want) || joined.JoinedPid != os.Getpid() ||
		joined.DashboardURL != keeper.DashboardURL || joined.OTLPEndpoint != keeper.OTLPEndpoint {
		t.Errorf("the second stack says %+v", joined)
	}
	if keeper.JoinedPid != 0 {
		t.Errorf("the first stack says %+v", keeper)
	}
	sockets, err := filepath.Glob(filepath.Join(root, "run", "*", "*", meetingSocket))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets %v, %v", sockets, err)
	}
	dialed := func() error {
		conn, err := net.Dial("unix", sockets[0])
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	if err := dialed(); err != nil {
		t.Errorf("the router of the first stack: %v", err)
	}

	// A Worker runs once.
	third := start(t, rooted(t, root, "auth"))
	var busy *BusyError
	if err := <-third.result; !errors.As(err, &busy) || !strings.Contains(err.Error(), `the Worker "auth"`) ||
		!strings.Contains(err.Error(), "pid "+strconv.Itoa(os.Getpid())) {
		t.Errorf("a second stack of the Worker: %v", err)
	}

	// The first goes, and another comes in its place, which the second meets again at the same address.
	if _, err := first.drain(t); err != nil {
		t.Error(err)
	}
	if dialed() == nil {
		t.Error("somebody serves the router's socket")
	}
	again := start(t, rooted(t, root, "web"))
	if r, _ := again.untilReady(t); r.JoinedPid != 0 || r.Pids[nameRouter] == 0 || r.OTLPEndpoint != keeper.OTLPEndpoint {
		t.Errorf("the first stack, started again, says %+v", r)
	}
	if err := dialed(); err != nil {
		t.Errorf("the router of the first stack, started again: %v", err)
	}
	for _, r := range []*running{again, second} {
		if _, err := r.drain(t); err != nil {
			t.Error(err)
		}
	}
	if left := dirNames(t, filepath.Dir(filepath.Dir(sockets[0]))); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestStacksOfOtherRootsDoNotMeet(t *testing.T) {
	t.Parallel()
	run := shortDir(t)
	for _, root := range []string{"/x/a", "/x/b", ""} {
		r := start(t, func(o *Options) {
			o.Projects, o.Root, o.RuntimeDir = []*Project{worker(t, "web")}, root, run
		})
		if ready, _ := r.untilReady(t); ready.JoinedPid != 0 || ready.Pids[nameRouter] == 0 {
			t.Errorf("root %q: %+v", root, ready)
		}
	}
}

func TestPlatformServicesAreOnce(t *testing.T) {
	t.Parallel()
	base := shortDir(t)
	var stacks []*stack
	for _, name := range []string{"a", "b"} {
		s := &stack{options: Options{Projects: []*Project{worker(t, name, "C")}, Root: "/x", RuntimeDir: base}}
		if len(stacks) > 0 { // the first one's word
			m := stacks[0].meeting
			if err := m.announce(met{Pid: os.Getpid()}, "/nowhere"); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.meet(t.Context()); err != nil {
			t.Fatal(err)
		}
		stacks = append(stacks, s)
	}
	if !stacks[0].platform() || stacks[1].platform() || !stacks[1].needsHost() {
		t.Errorf("platform services: %v, %v", stacks[0].platform(), stacks[1].platform())
	}
	for _, s := range stacks {
		if err := s.leave(); err != nil {
			t.Error(err)
		}
	}
}

func TestMeetingPlaceIsPrivate(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	if err := checkPrivate(dir); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(shortDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := file + ".link"
	if err := os.Symlink(shortDir(t), link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "open to other users", file: "not a directory", link: "not a directory"} {
		if err := checkPrivate(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// Ports that nobody asked for give way to the next free ones; the Workers after the first have those after it.
func TestSearchesPorts(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	o := Options{Port: port, SearchPort: true, Projects: make([]*Project, 3)}
	ls, err := openListeners(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ls.close()
	last := port
	for i, l := range ls.workers() {
		if l.port() <= last || l.port() > port+maxSearch {
			t.Errorf("Worker %d has port %d after %d", i, l.port(), last)
		}
		last = l.port()
	}
	o.SearchPort = false
	var busy *BusyError
	if _, err := openListeners(t.Context(), o, nil); !errors.As(err, &busy) {
		t.Errorf("a port that was asked for: %v", err)
	}
}

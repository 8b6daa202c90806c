package dev

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Files of a meeting place. The locks end with their holders, however these end.
const (
	// membersFile is locked, shared, by every stack that is there.
	membersFile = "members"
	// keeperFile is locked by the stack whose router all use.
	keeperFile = "keeper"
	// servicesFile is locked by the stack whose object host has the platform's services, such as KV.
	servicesFile = "services"
	// workerPrefix begins the names of files that are locked by the stack that runs a Worker.
	workerPrefix = "worker-"
	// metFile is what the keeper says of itself, as JSON, and meetingSocket a link to its router's socket.
	metFile       = "stack.json"
	meetingSocket = "router.sock"

	maxMetBytes = 16 << 10
	// keeperWait is how long a stack waits for the keeper's word.
	keeperWait  = 5 * time.Second
	keeperRetry = 20 * time.Millisecond
	// enterWait is how long it waits for one that is leaving.
	enterWait = time.Second
	// joinTries is how often a place is made that others remove in the same moment.
	joinTries = 10
)

// meeting is the place where the stacks of one project root find each other: a directory of the user's own. The first
// stack there keeps the router, and later ones run their processes with it.
type meeting struct {
	dir, root string
	// locks are held until close; the first is that of membersFile.
	locks []*flock.Flock
	// kept is true when this stack keeps the router.
	kept bool
	// services is true when this stack's object host has the platform's services.
	services bool
	// keeper is the stack that keeps the router otherwise.
	keeper *met
}

// met is what the keeper says of itself.
type met struct {
	// Pid is the supervisor's, Root the project root.
	Pid  int    `json:"pid"`
	Root string `json:"root"`
	// OTLPEndpoint and DashboardURL are its trace store's.
	OTLPEndpoint string `json:"otlp_endpoint"`
	DashboardURL string `json:"dashboard_url"`
}

// openMeeting goes to the meeting place of a project root, below base or a temporary directory. Errors: *BusyError when a
// stack there runs a Worker of one of these names.
func openMeeting(ctx context.Context, base, root string, workers []string) (*meeting, error) {
	base, err := meetingBase(base)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(root))
	m := &meeting{dir: filepath.Join(base, hex.EncodeToString(hash[:8])), root: root}
	if err := m.enter(ctx); err != nil {
		return nil, fmt.Errorf("meet the stacks of %s: %w", root, err)
	}
	if err := m.settle(ctx, workers); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// meetingBase returns the directory of all of this user's meeting places, which it makes. Nobody else may use it.
func meetingBase(base string) (string, error) {
	var errs []error
	for _, dir := range []string{base, os.TempDir(), "/tmp"} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, "tandem-"+strconv.Itoa(os.Getuid()))
		if len(path)+len("/0123456789abcdef/")+len(meetingSocket) > maxSocketPath {
			continue
		}
		err := os.Mkdir(path, 0o700)
		if err == nil || errors.Is(err, fs.ErrExist) {
			err = checkPrivate(path)
		}
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no directory in which stacks can meet (--alone does without): %w",
		errors.Join(append(errs, errors.New("XDG_RUNTIME_DIR and TMPDIR are no use"))...))
}

// checkPrivate refuses a directory that is not this user's alone.
func checkPrivate(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	case info.Mode().Perm()&0o077 != 0 || !ownedByUser(info):
		return fmt.Errorf("%s is open to other users", path)
	}
	return nil
}

func ownedByUser(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}

// enter makes the place, and takes part in it.
func (m *meeting) enter(ctx context.Context) error {
	path := filepath.Join(m.dir, membersFile)
	ctx, cancel := context.WithTimeout(ctx, enterWait)
	defer cancel()
	for range joinTries {
		if err := os.MkdirAll(m.dir, 0o700); err != nil {
			return err
		}
		lock := flock.New(path, flock.SetPermissions(0o600))
		_, err := lock.TryRLockContext(ctx, keeperRetry) // the last one of those before may be removing it
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		here, errHere := lock.Stat()
		there, errThere := os.Stat(path)
		if errHere == nil && errThere == nil && os.SameFile(here, there) {
			m.locks = append(m.locks, lock)
			return nil
		}
		if err := lock.Close(); err != nil {
			return err
		}
	}
	return errors.New("others come and go all the time")
}

// settle finds out who keeps the router, and claims the Workers.
func (m *meeting) settle(ctx context.Context, workers []string) error {
	var err error
	if m.kept, err = m.take(keeperFile); err != nil {
		return err
	}
	for _, name := range workers {
		hash := sha256.Sum256([]byte(name))
		file := workerPrefix + hex.EncodeToString(hash[:8])
		ok, err := m.take(file)
		if err != nil {
			return err
		}
		if !ok {
			return &BusyError{
				What: fmt.Sprintf("the Worker %q of %s", name, m.root), Holder: "another tandem dev" + pidText(m.holder(file)),
				Advice: "stop it, or give --alone to start a stack that has nothing to do with it",
			}
		}
	}
	if !m.kept {
		m.keeper, err = m.await(ctx)
	}
	return err
}

// take locks a file, and writes this process's pid to it. It reports false when another stack has it.
func (m *meeting) take(file string) (bool, error) {
	lock := flock.New(filepath.Join(m.dir, file), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return false, errors.Join(err, lock.Close())
	}
	m.locks = append(m.locks, lock)
	if err := os.WriteFile(lock.Path(), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return false, err
	}
	return true, nil
}

// holder returns the pid in a file that another stack has locked, 0 if it has none.
func (m *meeting) holder(file string) int {
	return readPid(filepath.Join(m.dir, file))
}

// takeServices claims the platform's services for this stack's object host, unless another has them.
func (m *meeting) takeServices() (err error) {
	m.services, err = m.take(servicesFile)
	return err
}

// await waits for the keeper's word.
func (m *meeting) await(ctx context.Context) (*met, error) {
	ctx, cancel := context.WithTimeout(ctx, keeperWait)
	defer cancel()
	tick := time.NewTicker(keeperRetry)
	defer tick.Stop()
	pid := m.holder(keeperFile)
	for {
		if k := m.word(); k != nil && k.Pid == m.holder(keeperFile) {
			return k, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, &BusyError{
				What: "the project root " + m.root, Holder: "another tandem dev" + pidText(pid) + ", which does not come up",
				Advice: "stop it, or give --alone to start a stack that has nothing to do with it",
			}
		}
	}
}

// word is what the present keeper has said, or the last one, or nil.
func (m *meeting) word() *met {
	text, err := os.ReadFile(filepath.Join(m.dir, metFile))
	var k met
	if err != nil || len(text) > maxMetBytes || json.Unmarshal(text, &k) != nil {
		return nil
	}
	return &k
}

// lastOTLPPort is the port at which the keeper before took spans, 0 if there was none: stacks that had joined it go on
// sending theirs there.
func (m *meeting) lastOTLPPort() int {
	k := m.word()
	if k == nil {
		return 0
	}
	_, text, err := net.SplitHostPort(strings.TrimPrefix(k.OTLPEndpoint, "http://"))
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > math.MaxUint16 {
		return 0
	}
	return port
}

// announce is the keeper's word: others find its router, whose socket it links to.
func (m *meeting) announce(k met, socket string) error {
	link := filepath.Join(m.dir, meetingSocket)
	part := link + partSuffix
	err := os.Remove(part)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = os.Symlink(socket, part)
	}
	if err == nil {
		err = os.Rename(part, link)
	}
	text, jsonErr := json.Marshal(k)
	if err = errors.Join(err, jsonErr); err == nil {
		err = writeFile(filepath.Join(m.dir, metFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("announce the stack of %s: %w", m.root, err)
	}
	return nil
}

// routerTarget is the gRPC target of the keeper's router, whoever keeps it.
func (m *meeting) routerTarget() string { return "unix:" + filepath.Join(m.dir, meetingSocket) }

// close leaves the place. The last one removes it.
func (m *meeting) close() error {
	var errs []error
	if m.kept { // its word stays, for the next keeper: see lastOTLPPort
		if err := os.Remove(filepath.Join(m.dir, meetingSocket)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	members := m.locks[0]
	for _, lock := range m.locks[1:] {
		errs = append(errs, lock.Close())
	}
	errs = append(errs, members.Unlock())
	if last, err := members.TryLock(); err == nil && last {
		errs = append(errs, os.RemoveAll(m.dir))
	}
	return errors.Join(append(errs, members.Close())...)
}

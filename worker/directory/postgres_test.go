package directory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresServer is the one server that all tests of this package share. It starts at first use; TestMain stops it.
type postgresServer struct {
	once      sync.Once
	dir       string // also where its socket is
	cmd       *exec.Cmd
	log       bytes.Buffer
	err       error
	databases atomic.Int64
}

var server postgresServer

func TestMain(m *testing.M) {
	code := m.Run()
	server.stop()
	os.Exit(code)
}

// postgresDSN returns a new, empty database on the shared server.
func postgresDSN(t *testing.T) string {
	t.Helper()
	server.once.Do(server.start)
	if errors.Is(server.err, exec.ErrNotFound) {
		const need = "needs PostgreSQL's server: apt-get install postgresql"
		if os.Getenv("CI") != "" {
			t.Fatal(need)
		}
		t.Skip(need)
	}
	if server.err != nil {
		t.Fatalf("start postgres: %v\n%s", server.err, server.log.String())
	}
	name := fmt.Sprintf("test%d", server.databases.Add(1))
	if err := server.exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return server.dsn(name)
}

func (s *postgresServer) dsn(database string) string {
	return "postgres:///" + database + "?user=tandem&host=" + url.QueryEscape(s.dir)
}

func (s *postgresServer) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// start makes a cluster in a temporary directory and runs a server on a unix socket in it. The server refuses to
// run as root, so then it runs as another user of the machine.
func (s *postgresServer) start() {
	initdb, err := postgresBinary("initdb")
	if err != nil {
		s.err = err
		return
	}
	postgres, err := postgresBinary("postgres")
	if err != nil {
		s.err = err
		return
	}
	if s.dir, s.err = os.MkdirTemp("", "pg"); s.err != nil {
		return
	}
	cred, err := unprivileged(s.dir)
	if err != nil {
		s.err = err
		return
	}
	data := filepath.Join(s.dir, "data")
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(name, args...)
		c.Dir, c.Stdout, c.Stderr = s.dir, &s.log, &s.log
		// Dies with the test even if that is killed.
		c.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Pdeathsig: syscall.SIGKILL}
		return c
	}
	if s.err = command(initdb, "-D", data, "-U", "tandem", "-A", "trust", "-E", "UTF8", "--no-sync").Run(); s.err != nil {
		return
	}
	s.cmd = command(postgres, "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "max_connections=60", "-c", "shared_buffers=16MB")
	if s.err = s.cmd.Start(); s.err != nil {
		s.cmd = nil
		return
	}
	s.err = s.awaitReady()
}

// awaitReady asks until the server takes a connection.
func (s *postgresServer) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

func (s *postgresServer) stop() {
	if s.cmd != nil {
		s.cmd.Process.Signal(syscall.SIGINT) // a fast shutdown
		s.cmd.Wait()
	}
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// postgresBinary finds a program of the server in PATH or where Debian puts it, newest version first.
func postgresBinary(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	slices.Sort(found)
	if len(found) > 0 {
		return found[len(found)-1], nil
	}
	return exec.LookPath(name)
}

// unprivileged returns the user to run the server as, and gives it dir; nil when this process is not root.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
}

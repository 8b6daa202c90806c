package lease_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/router/lease"
	"github.com/tandem-do/tandem/router/placement"
)

// script is the state of one datadriven file.
type script struct {
	t     *testing.T
	fs    *vfs.MemFS
	store *lease.Store
}

func (s *script) open() string {
	st, err := lease.Open(lease.Options{Dir: "dir", FS: s.fs})
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	s.store = st
	return fmt.Sprintf("epoch=%d\n", st.Epoch())
}

func (s *script) close() {
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.t.Error(err)
		}
	}
	s.store = nil
}

// crash opens the store that is on disk when the machine stops now.
func (s *script) crash() string {
	clone := s.fs.CrashClone(vfs.CrashCloneCfg{})
	s.close()
	s.fs = clone
	return s.open()
}

// grant: host=ID inc=X [addr=A] [ns=(a,b)]
func (s *script) grant(d *datadriven.TestData) string {
	var rec lease.Record
	d.ScanArgs(s.t, "host", &rec.HostID)
	d.ScanArgs(s.t, "inc", &rec.Incarnation)
	d.MaybeScanArgs(s.t, "addr", &rec.Address)
	d.MaybeScanArgs(s.t, "ns", &rec.Namespaces)
	rec, err := s.store.Grant(rec)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	return fmt.Sprintf("epoch=%d\n", rec.Epoch)
}

func (s *script) place(d *datadriven.TestData) string {
	var host string
	d.ScanArgs(s.t, "host", &host)
	s.store.Place(s.slot(d), host)
	return ""
}

func (s *script) slot(d *datadriven.TestData) (slot placement.Slot) {
	var n uint64
	d.ScanArgs(s.t, "ns", &slot.Namespace)
	d.ScanArgs(s.t, "slot", &n)
	slot.Number = uint32(n)
	return slot
}

func (s *script) placement(d *datadriven.TestData) string {
	host, ok := s.store.Placement(s.slot(d))
	if !ok {
		return "none\n"
	}
	return host + "\n"
}

func (s *script) lease(d *datadriven.TestData) string {
	var host string
	d.ScanArgs(s.t, "host", &host)
	rec, ok := s.store.Lease(host)
	if !ok {
		return "none\n"
	}
	return fmt.Sprintf("inc=%s addr=%s ns=%v epoch=%d ended=%v\n",
		rec.Incarnation, rec.Address, rec.Namespaces, rec.Epoch, rec.Ended)
}

// set writes a key behind the store's back: key=K, the value is the input.
func (s *script) set(d *datadriven.TestData) string {
	var key string
	d.ScanArgs(s.t, "key", &key)
	db, err := pebble.Open("dir", &pebble.Options{FS: s.fs, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		s.t.Fatal(err)
	}
	value := strings.TrimSuffix(d.Input, "\n")
	if err := errors.Join(db.Set([]byte(key), []byte(value), pebble.Sync), db.Close()); err != nil {
		s.t.Fatal(err)
	}
	return ""
}

func (s *script) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "new":
		s.close()
		s.fs = vfs.NewCrashableMem()
		return s.open()
	case "open":
		return s.open()
	case "close":
		s.close()
		return ""
	case "crash":
		return s.crash()
	case "grant":
		return s.grant(d)
	case "end":
		var host string
		var epoch uint64
		d.ScanArgs(s.t, "host", &host)
		d.ScanArgs(s.t, "epoch", &epoch)
		s.store.End(host, epoch)
		return ""
	case "place":
		return s.place(d)
	case "placement":
		return s.placement(d)
	case "lease":
		return s.lease(d)
	case "commit":
		if err := s.store.Commit(); err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		return ""
	case "set":
		return s.set(d)
	}
	s.t.Fatalf("unknown command %q", d.Cmd)
	return ""
}

func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t}
		defer s.close()
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string { return s.run(d) })
	})
}

func TestTooManyHosts(t *testing.T) {
	t.Parallel()
	s, err := lease.Open(lease.Options{Dir: "d", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range lease.MaxHosts {
		if _, err := s.Grant(lease.Record{HostID: fmt.Sprint(i), Incarnation: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Grant(lease.Record{HostID: "more"}); !errors.Is(err, lease.ErrFull) {
		t.Errorf("got %v, want ErrFull", err)
	}
	if _, err := s.Grant(lease.Record{HostID: "7", Incarnation: "2"}); err != nil {
		t.Errorf("a known host: %v", err)
	}
}

// contents returns what is in the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(dir, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[n.Name()] = string(b)
	}
	return files
}

// A directory that cannot be opened is named, and left as it was.
func TestRefusedDirectoryIsUntouched(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
	}{
		{"newer format", func(t *testing.T, dir string) { setKey(t, dir, "format", "2") }},
		{"unknown key", func(t *testing.T, dir string) { setKey(t, dir, "else", "x") }},
		{"damaged lease", func(t *testing.T, dir string) { setKey(t, dir, "lease/a", "{") }},
		{"damaged manifest", func(t *testing.T, dir string) {
			found, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
			if err != nil || len(found) == 0 {
				t.Fatal(err, found)
			}
			if err := os.WriteFile(found[len(found)-1], []byte("not a manifest"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"something else", func(t *testing.T, dir string) {
			for name := range contents(t, dir) {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "router")
			s, err := lease.Open(lease.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Grant(lease.Record{HostID: "a", Incarnation: "1"}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.Commit(), s.Close()); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, dir)
			before := contents(t, dir)
			_, err = lease.Open(lease.Options{Dir: dir})
			if !errors.Is(err, lease.ErrFormat) || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v, want ErrFormat that names %s", err, dir)
			}
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Errorf("the directory changed (-before +after):\n%s", diff)
			}
		})
	}
}

func setKey(t *testing.T, dir, key, value string) {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte(key), []byte(value), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := lease.Open(lease.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = lease.Open(lease.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "another router") {
		t.Errorf("got %v", err)
	}
}

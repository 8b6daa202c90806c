package wranglerstate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-do/tandem/proto/objectid"
)

// workerdBinary returns npm's workerd, which the end-to-end tests install.
func workerdBinary(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("../../e2e/node/node_modules/@cloudflare/workerd-*/bin/workerd")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("workerd is not installed: run npm ci in e2e/node")
	}
	return found[0]
}

// startWorkerd serves testdata/record/worker.mjs until stop sends it a signal.
func startWorkerd(t *testing.T, disk string) (url string, stop func(os.Signal)) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(workerdBinary(t), "serve", "testdata/record/workerd.capnp",
		"--directory-path", "disk="+disk, "--control-fd=3")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{w}, os.Stderr
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func(s os.Signal) {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(s)
			_ = cmd.Wait() // its end is what was asked for
		}
	}
	t.Cleanup(func() { stop(os.Kill) })
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var event struct {
			Event, Socket string
			Port          int
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if event.Event == "listen" && event.Socket == "http" {
			return fmt.Sprintf("http://127.0.0.1:%d", event.Port), stop
		}
	}
	t.Fatal("workerd has ended without listening")
	return "", nil
}

// importLive imports what a workerd that runs has written. It puts the logs of objects away that have been idle for ten
// seconds; an import that this comes between is made again.
func importLive(t *testing.T, disk string) imported {
	t.Helper()
	for n := 0; ; n++ {
		i, diff := importOnce(t, disk, t.TempDir(), nil)
		if diff == "" {
			return i
		}
		if n == 10 {
			t.Fatalf("the source changes all the time (-before +after):\n%s", diff)
		}
	}
}

// What the real workerd writes: while it runs, after it has ended, and after kill -9.
func TestWorkerd(t *testing.T) {
	t.Parallel()
	names := map[string]string{"values": "values", "alarm only": "alarm only", "värde 😀": "värde 😀"}
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			disk := t.TempDir()
			url, stop := startWorkerd(t, disk)
			out, err := exec.Command("node", "testdata/record/record.mjs", "--url", url).CombinedOutput()
			if err != nil {
				t.Fatalf("store values: %v\n%s", err, out)
			}
			while := importLive(t, disk).ok()
			checkRecorded(t, while, names)
			stop(signal)
			after := doImport(t, disk, t.TempDir(), nil).ok()
			checkRecorded(t, after, names)
			if while.text() != after.text() {
				t.Errorf("while it runs:\n%s\nafter:\n%s", while.text(), after.text())
			}
		})
	}
}

// A value that only the platform can make is named, not lost.
func TestWorkerdHostObject(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	url, stop := startWorkerd(t, disk)
	response, err := http.Get(url + "/headers?class=Ledger&name=headers")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	stop(syscall.SIGKILL)
	i := doImport(t, disk, t.TempDir(), func(o *Options) { o.Partial = true })
	id := objectid.NewNamespace("recorded-Ledger").FromName("headers")
	i.want(id.String() + `: key "headers": offset 4: value cannot be serialized: an object of the platform`)
	got := stateOf(t, i.store(), "recorded-Ledger", id)
	if len(got.Values) != 1 || !strings.Contains(got.Values["plain"], "I") {
		t.Errorf("got %v", got)
	}
}

//go:build linux && (amd64 || arm64)

package program

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// confined is the body of the process that TestConfined looks at.
func confined() {
	base, err := confine()
	report := map[string]bool{"confine": err == nil, "filter": filterSystemCalls() == nil}
	armData(base + 64<<20)
	_, err = unix.Mmap(-1, 0, 1<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	report["take a gigabyte"] = err == nil
	_, err = os.Open("/etc/passwd")
	report["open a file"] = err == nil
	_, err = os.ReadDir("/")
	report["read a directory"] = err == nil
	report["create a file"] = os.WriteFile(os.TempDir()+"/confined", nil, 0o600) == nil
	_, err = net.Listen("tcp", "127.0.0.1:0")
	report["listen"] = err == nil
	report["start a process"] = exec.Command("/bin/true").Run() == nil
	report["signal the parent"] = syscall.Kill(os.Getppid(), 0) == nil
	// On another thread, too.
	other := make(chan bool)
	go func() {
		_, err := os.Open("/etc/passwd")
		other <- err == nil
	}()
	report["open a file elsewhere"] = <-other
	_ = json.NewEncoder(os.Stdout).Encode(report)
}

// TestConfined holds what a child that was taken over could not do.
func TestConfined(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, confinedArgument).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]bool
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("report %q: %v", out, err)
	}
	want := map[string]bool{
		"confine": true, "filter": true, "open a file": false, "read a directory": false, "create a file": false,
		"listen": false, "start a process": false, "take a gigabyte": false, "signal the parent": false, "open a file elsewhere": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("abilities (-want +got):\n%s", diff)
	}
}

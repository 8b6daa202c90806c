package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfiles holds that a process tells its goroutines on a socket that goes away with it, and only if it is asked to.
func TestProfiles(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "profiles") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	stop, err := serveProfiles(dir, "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "sandbox-*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets are %q, %v", sockets, err)
	}
	if info, err := os.Stat(sockets[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", sockets[0])
	}}}
	resp, err := client.Get("http://profile/debug/pprof/goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.HasPrefix(string(text), "goroutine profile: total ") {
		t.Errorf("got %.100s, %v", text, err)
	}
	client.CloseIdleConnections()
	stop()
	if _, err := os.Stat(sockets[0]); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	stop, err = serveProfiles("", "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	stop()
}

package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"time"
)

// serveProfiles serves the profiles of net/http/pprof on a unix socket in dir, NAME-PID.sock, that only this user may
// open. With no directory it does nothing. stop ends it and removes the socket.
func serveProfiles(dir, name string) (stop func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.sock", name, os.Getpid()))
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("serve profiles: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("serve profiles: %w", err), l.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it says that it was closed
	}()
	return func() {
		_ = server.Close()
		<-ended
	}, nil
}

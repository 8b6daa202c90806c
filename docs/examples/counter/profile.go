package main

import (
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// serveProfile serves Go's profiles on an address, which nobody but the developer should reach. stop ends it.
func serveProfile(address string) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	l, err := sidecar.Listen(address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(l) //nolint:errcheck // it ends with stop
	}()
	return func() {
		s.Close() //nolint:errcheck // profiles need no goodbye
		<-done
	}, nil
}

package ingress

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A request that comes on a connection which was accepted before the drain is answered, and a connection on which none
// comes does not hold the drain up.
func TestDrainOfFreshConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, err := New(Options{Routes: []Route{{
			Path: "/", AnyHost: true,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") }),
		}}})
		if err != nil {
			t.Fatal(err)
		}
		l := make(pipes)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- in.Serve(ctx, l) }()
		connect := func() net.Conn {
			client, server := net.Pipe()
			l <- server
			return client
		}
		late, silent := connect(), connect()
		defer late.Close()
		defer silent.Close()
		synctest.Wait()
		stop()
		began := time.Now()
		time.Sleep(freshGrace / 2)
		go io.WriteString(late, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(late), nil)
		if err != nil {
			t.Fatalf("the late request: %v", err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "served" || !resp.Close {
			t.Errorf("the late request: %q, close %v, %v", body, resp.Close, err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*freshGrace {
			t.Errorf("the drain took %v", took)
		}
	})
}

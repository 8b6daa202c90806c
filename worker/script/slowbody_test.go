package script

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// A client that is slow to send its request does not hold up what takes an isolate's place after a fault.
func TestSlowBodyAndFault(t *testing.T) {
	t.Parallel()
	reads := make(chan struct{}, 1)
	s, err := New(t.Context(), Options{
		Bundle: newBundle(t, `export default { async fetch(q) {
			if (q.method === "POST") { console.log("reads"); return new Response(await Promise.race([q.text(), scheduler.wait(60_000)])); }
			if (q.url.endsWith("/fault")) console.log("fault");
			return new Response("ok");
		} }`),
		Isolates: 1,
		OnLog: func(e isolate.Entry) {
			switch {
			case strings.Contains(e.Text, "fault") && e.Uncaught == nil:
				panic("a fault of the engine")
			case e.Text == "reads":
				reads <- struct{}{}
			}
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(duplex(s))
	slow, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	defer func() { // the client is still there
		server.Close()
		s.Close()
	}()
	fmt.Fprint(slow, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
	<-reads
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	get := func(path string) string {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(q)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	get("/fault")
	if got := get("/"); got != "ok" {
		t.Errorf("got %s", got)
	}
}

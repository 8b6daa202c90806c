package script

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"testing"

	"github.com/tandem-do/tandem/worker/ingress"
)

// helloModule is what e2e/bench measures as hello world.
const helloModule = `export default { async fetch(request, env) {
	const [, kind, name, action] = new URL(request.url).pathname.split("/");
	if (kind === "hello") return Response.json(1);
	return new Response("not found", { status: 404 });
} };`

// BenchmarkRequest is a request's whole way in the worker process, by 32 connections over loopback. Half of its time are
// the system calls of both sides.
func BenchmarkRequest(b *testing.B) {
	s, err := New(b.Context(), Options{Bundle: newBundle(b, helloModule)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	in, err := ingress.New(ingress.Options{Fallback: ingress.Route{Handler: s, AnyHost: true}})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- in.Serve(ctx, l) }()
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		for p.Next() {
			if err := roundTrip(c, r); err != nil {
				b.Error(err)
				return
			}
		}
	})
	stop()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

// roundTrip sends a request and reads its response, at as little cost as possible.
func roundTrip(c net.Conn, r *bufio.Reader) error {
	if _, err := io.WriteString(c, "GET /hello/ HTTP/1.1\r\nHost: bench\r\n\r\n"); err != nil {
		return err
	}
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			_, err = r.Discard(length)
			return err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
}

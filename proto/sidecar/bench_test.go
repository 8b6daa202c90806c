package sidecar_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// unixLink returns a link to a host on a unix socket.
func unixLink(b *testing.B, h sidecar.Handler) (*sidecar.Link, *grpc.ClientConn) {
	path := "unix:" + filepath.Join(b.TempDir(), "s")
	l, err := sidecar.Listen(path)
	if err != nil {
		b.Fatal(err)
	}
	s := sidecar.NewServer(sidecar.ServerOptions{})
	sidecar.RegisterHandler(s, h)
	routerpb.RegisterRouterServiceServer(s, &brokenRouter{})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sidecar.Serve(ctx, l, s) }()
	conn, err := sidecar.Dial(path)
	if err != nil {
		b.Fatal(err)
	}
	link := sidecar.NewLink(conn, sidecar.LinkOptions{})
	b.Cleanup(func() {
		link.Close()
		conn.Close()
		stop()
		<-served
	})
	return link, conn
}

func BenchmarkCall(b *testing.B) {
	for _, clients := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			link, _ := unixLink(b, handlerFuncs{call: echo})
			args, to := make([]byte, 100), target("x")
			b.ReportAllocs()
			b.SetParallelism(clients)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := link.Call(context.Background(), to, "m", args); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	h := handlerFuncs{fetch: func(_ context.Context, _ sidecar.Target, w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, `{"ok":true}`)
		return err
	}}
	for _, clients := range []int{1, 32} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			link, _ := unixLink(b, h)
			to := target("x")
			b.ReportAllocs()
			b.SetParallelism(clients)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://do/path", nil)
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("Accept", "application/json")
					r.Header.Set("Mcp-Session-Id", "0123456789abcdef")
					resp, err := link.Fetch(context.Background(), to, r)
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		})
	}
}

// BenchmarkUnary is what a call would cost as a gRPC call of its own.
func BenchmarkUnary(b *testing.B) {
	_, conn := unixLink(b, handlerFuncs{})
	client := routerpb.NewRouterServiceClient(conn)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			client.Leave(context.Background(), &routerpb.LeaveRequest{})
		}
	})
}

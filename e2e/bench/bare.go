package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bareServer serves the smallest useful go-sdk server: sessions, the same two tools by name, no authentication, no
// durability. It prints its URL.
func bareServer(ctx context.Context) error {
	type input struct {
		Code string `json:"code"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1.0.0"}, nil)
	for _, name := range []string{"execute", "resume"} {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: "answers 1"},
			func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "1"}}}, nil, nil
			})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		srv.Close() //nolint:errcheck // the process ends
	}()
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// startBare runs bareServer as a process of its own.
func startBare(ctx context.Context) (address string, pid int, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, nil, err
	}
	cmd := exec.CommandContext(ctx, self, "bare-server")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, nil, err
	}
	stop = func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended already
		cmd.Wait()         //nolint:errcheck // killed
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", 0, nil, fmt.Errorf("bare server: %w", err)
	}
	return strings.TrimSpace(line), cmd.Process.Pid, stop, nil
}

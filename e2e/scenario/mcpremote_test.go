package scenario

import (
	"context"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/e2e/harness"
)

// overStdio connects a client to a server that is a command.
func overStdio(t *testing.T, cmd *exec.Cmd, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "desktop", Version: "1"}, o)
	session, err := client.Connect(within(t, 3*time.Minute), &mcp.CommandTransport{Command: cmd},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}) // as desktop clients have it
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, cmd.Stderr)
	}
	t.Cleanup(func() { session.Close() }) //nolint:errcheck // it exits by the signal
	return session
}

// executeOver executes a program and returns the text of the result.
func executeOver(t *testing.T, session *mcp.ClientSession, code string) string {
	t.Helper()
	result, err := session.CallTool(within(t, 3*time.Minute),
		&mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": code}})
	if err != nil {
		t.Fatalf("execute: %v", err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		if block, ok := c.(*mcp.TextContent); ok {
			text.WriteString(block.Text)
		}
	}
	return text.String()
}

// mcp-remote, which desktop clients use, signs in by a browser and serves a client on its standard input and output.
func TestMCPRemoteSignsIn(t *testing.T) {
	t.Parallel()
	s := shared.stack
	cmd := harness.MCPRemote(t, s.MustReady(t).MCPURL, "remote-"+uuid.NewString()+"@example.com")
	session := overStdio(t, cmd, nil)
	if got := session.InitializeResult(); got.ServerInfo.Name != "executor" || got.ProtocolVersion != "2025-11-25" {
		t.Errorf("connected to %+v of version %s", got.ServerInfo, got.ProtocolVersion)
	}
	if got := executeOver(t, session, "return 6 * 7"); got != "42" {
		t.Errorf("execute gave %q", got)
	}
}

// mcp-remote speaks protocol version 2026-07-28 for a client that does not, and puts the input requests of that version
// to it as elicitations.
func TestMCPRemoteBridgesEras(t *testing.T) {
	t.Parallel()
	s := shared.stack
	g := newGuarded(t, s)
	var asked atomic.Int32
	session := overStdio(t, harness.MCPRemote(t, g.opts.URL, "", "--protocol", "auto",
		"--header", "Authorization:Bearer "+g.opts.Token,
	), &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			if !strings.Contains(r.Params.Message, guardedTool) {
				t.Errorf("asked %q", r.Params.Message)
			}
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	if got := executeOver(t, session, guardedCode); !strings.Contains(got, guardedTool) || asked.Load() != 1 {
		t.Errorf("execute gave %q after %d questions", got, asked.Load())
	}
}

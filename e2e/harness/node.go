package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// nodeDir returns the folder of the npm clients.
func nodeDir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "node")
}

// Node is a Node process with the npm MCP SDK. Its clients are named by the test; calls may run side by side.
type Node struct {
	mu      sync.Mutex // guards stdin, next and waiting
	stdin   io.WriteCloser
	next    int
	waiting map[int]chan nodeAnswer
}

type nodeAnswer struct {
	ID    int             `json:"id"`
	Value json.RawMessage `json:"value"`
	Error *NodeError      `json:"error"`
}

// NodeError is an error that the SDK threw.
type NodeError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Code    any    `json:"code"`
}

// Error returns name and message.
func (e *NodeError) Error() string { return e.Name + ": " + e.Message }

// StartNode starts a Node process that ends with the test.
func StartNode(t T) *Node {
	t.Helper()
	return startDriver(t, "driver.mjs")
}

// startDriver starts a Node process that runs a script of requests and answers.
func startDriver(t T, script string, env ...string) *Node {
	t.Helper()
	cmd := exec.Command("node", script)
	cmd.Dir, cmd.Env = nodeDir(), append(os.Environ(), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := &tail{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start node: %v", err)
	}
	n := &Node{stdin: stdin, waiting: map[int]chan nodeAnswer{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.read(stdout)
	}()
	t.Cleanup(func() {
		stdin.Close()
		<-done
		if err := cmd.Wait(); err != nil {
			t.Errorf("node: %v\n%s", err, stderr)
		}
	})
	return n
}

func (n *Node) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var a nodeAnswer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			continue // something else that a library printed
		}
		n.mu.Lock()
		ch := n.waiting[a.ID]
		delete(n.waiting, a.ID)
		n.mu.Unlock()
		if ch != nil {
			ch <- a
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, ch := range n.waiting {
		ch <- nodeAnswer{Error: &NodeError{Name: "Error", Message: "node has exited"}}
		delete(n.waiting, id)
	}
}

// Do runs an operation of the driver within two minutes and decodes its value into out, unless out is nil.
func (n *Node) Do(client, op string, args, out any) error {
	ch := make(chan nodeAnswer, 1)
	n.mu.Lock()
	n.next++
	id := n.next
	n.waiting[id] = ch
	line, err := json.Marshal(map[string]any{"id": id, "op": op, "client": client, "args": args})
	if err == nil {
		_, err = n.stdin.Write(append(line, '\n'))
	}
	n.mu.Unlock()
	if err != nil {
		return fmt.Errorf("node %s: %w", op, err)
	}
	timer := time.NewTimer(2 * time.Minute)
	defer timer.Stop()
	select {
	case a := <-ch:
		if a.Error != nil {
			return a.Error
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(a.Value, out)
	case <-timer.C:
		return fmt.Errorf("node %s: no answer in two minutes", op)
	}
}

// Client is one MCP client in a Node process.
type Client struct {
	node *Node
	name string
	// SessionID is the session that the client is on.
	SessionID string
	// ServerName and ServerVersion are what the server has called itself; empty when no initialize was sent.
	ServerName, ServerVersion string
}

// ConnectOptions say how a client connects.
type ConnectOptions struct {
	// URL is the endpoint; Token the bearer.
	URL, Token string
	// SessionID resumes a session, without initialize.
	SessionID string
	// Query is appended to the URL, such as "elicitation_mode=native".
	Query string
	// Capabilities are the client's.
	Capabilities map[string]any
	// Elicit answers the server's elicitations.
	Elicit map[string]any
}

// Connect makes a client and connects it.
func (n *Node) Connect(t T, o ConnectOptions) *Client {
	t.Helper()
	c, err := n.TryConnect(o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return c
}

// TryConnect is Connect that returns its error.
func (n *Node) TryConnect(o ConnectOptions) (*Client, error) {
	address := o.URL
	if o.Query != "" {
		address += "?" + o.Query
	}
	n.mu.Lock()
	n.next++
	c := &Client{node: n, name: fmt.Sprint("client-", n.next)}
	n.mu.Unlock()
	var result struct {
		SessionID string `json:"sessionId"`
		Server    struct{ Name, Version string }
	}
	args := map[string]any{"url": address, "token": o.Token}
	if o.SessionID != "" {
		args["sessionId"] = o.SessionID
	}
	if o.Capabilities != nil {
		args["capabilities"] = o.Capabilities
	}
	if o.Elicit != nil {
		args["elicit"] = o.Elicit
	}
	if err := n.Do(c.name, "connect", args, &result); err != nil {
		return nil, err
	}
	c.SessionID, c.ServerName, c.ServerVersion = result.SessionID, result.Server.Name, result.Server.Version
	return c, nil
}

// ToolResult is what a tool call gave.
type ToolResult struct {
	IsError           bool
	Text              string
	StructuredContent map[string]any
}

// CallTool calls a tool.
func (c *Client) CallTool(tool string, arguments map[string]any) (ToolResult, error) {
	var raw struct {
		IsError           bool           `json:"isError"`
		StructuredContent map[string]any `json:"structuredContent"`
		Content           []struct{ Type, Text string }
	}
	err := c.node.Do(c.name, "callTool", map[string]any{"tool": tool, "arguments": arguments}, &raw)
	result := ToolResult{IsError: raw.IsError, StructuredContent: raw.StructuredContent}
	for _, block := range raw.Content {
		result.Text += block.Text
	}
	return result, err
}

// Execute runs code with the execute tool; the test fails if the call itself does.
func (c *Client) Execute(t T, code string) ToolResult {
	t.Helper()
	r, err := c.CallTool("execute", map[string]any{"code": code})
	if err != nil {
		t.Fatalf("execute: %v", err)
	}
	return r
}

// Resume resumes a paused execution; the test fails if the call itself does.
func (c *Client) Resume(t T, executionID, action string) ToolResult {
	t.Helper()
	r, err := c.CallTool("resume", map[string]any{"executionId": executionID, "action": action})
	if err != nil {
		t.Fatalf("resume: %v", err)
	}
	return r
}

// ListTools returns the names of the tools.
func (c *Client) ListTools(timeout time.Duration) ([]string, error) {
	var tools []struct{ Name string }
	err := c.node.Do(c.name, "listTools", map[string]any{"timeout": timeout.Milliseconds()}, &tools)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names, err
}

// Close closes the client, which sends no DELETE.
func (c *Client) Close(t T) {
	t.Helper()
	if err := c.node.Do(c.name, "close", nil, nil); err != nil {
		t.Errorf("close: %v", err)
	}
}

// Terminate ends the client's session with DELETE.
func (c *Client) Terminate() error { return c.node.Do(c.name, "terminate", nil, nil) }

// OAuth connects a client that holds no token and signs in by the SDK's own provider from the challenge alone.
func (n *Node) OAuth(url, email string) (client *Client, challenged bool, err error) {
	n.mu.Lock()
	n.next++
	c := &Client{node: n, name: fmt.Sprint("client-", n.next)}
	n.mu.Unlock()
	var result struct {
		Challenged bool
		SessionID  string `json:"sessionId"`
	}
	err = n.Do(c.name, "oauth", map[string]any{"url": url, "email": email}, &result)
	c.SessionID = result.SessionID
	return c, result.Challenged, err
}

// Inspector runs the MCP Inspector's command-line mode on Node 22 and returns what it prints.
func Inspector(t T, args ...string) string {
	t.Helper()
	dir := nodeDir()
	cmd := exec.CommandContext(t.Context(), node22(),
		append([]string{filepath.Join(dir, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
			"--cli"}, args...)...)
	cmd.Dir = t.TempDir()
	stderr := &tail{}
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("inspector %v: %v\n%s\n%s", args, err, out, stderr)
	}
	return string(out)
}

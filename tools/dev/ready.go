package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// Ready is what the ready file says, as JSON.
type Ready struct {
	// MCPURL is the MCP endpoint, APIURL the origin of /api.
	MCPURL string `json:"mcp_url,omitempty"`
	APIURL string `json:"api_url,omitempty"`
	// WorkerURL is the origin of a project's Worker; it is there instead of those above and of AuthURL.
	WorkerURL string `json:"worker_url,omitempty"`
	// AuthURL is the authorization server's origin, DashboardURL the trace store's.
	AuthURL      string `json:"auth_url,omitempty"`
	DashboardURL string `json:"dashboard_url"`
	// OTLPEndpoint takes OTLP over gRPC.
	OTLPEndpoint string `json:"otlp_endpoint"`
	// StateDir is the absolute path of the state directory.
	StateDir string `json:"state_dir"`
	// Pid is the supervisor's.
	Pid int `json:"pid"`
	// Pids are the children's by the names of their subcommands.
	Pids map[string]int `json:"pids"`
}

// describe says where everything of the stack is.
func (s *stack) describe(pids map[string]int) Ready {
	l := s.listeners
	if s.options.Project != nil {
		return Ready{
			WorkerURL: l.worker.url(), DashboardURL: l.dashboard.url(), OTLPEndpoint: l.otlp.url(), StateDir: s.state,
			Pid: os.Getpid(), Pids: maps.Clone(pids),
		}
	}
	return Ready{
		MCPURL: s.mcpURL(), APIURL: l.worker.url(), AuthURL: l.auth.url(), DashboardURL: l.dashboard.url(),
		OTLPEndpoint: l.otlp.url(), StateDir: s.state, Pid: os.Getpid(), Pids: maps.Clone(pids),
	}
}

// writeReady replaces the ready file in one step.
func writeReady(path string, r Ready) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = writeFile(path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write ready file %s: %w", path, err)
	}
	return nil
}

// checkReady says early when the ready file's folder can't take one.
func checkReady(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = errors.New("its folder is a file")
	}
	if err != nil {
		return fmt.Errorf("ready file %s: %w", path, err)
	}
	return nil
}

// clearReady removes the ready file.
func clearReady(path string) error {
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove ready file: %w", err)
	}
	return nil
}

// printReady prints the addresses, how to connect, and last the line that says ready.
func printReady(out io.Writer, r Ready, took time.Duration) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w)
	main, rows := r.MCPURL, [][2]string{
		{"MCP endpoint", r.MCPURL},
		{"API", r.APIURL + "/api/policies"},
		{"Sign-in", r.AuthURL},
		{"Dashboard", r.DashboardURL},
		{"OTLP/gRPC", r.OTLPEndpoint},
		{"State", r.StateDir},
		{"", ""},
		{"Claude Code", "claude mcp add --transport http tandem " + r.MCPURL},
		{"Cursor", `.cursor/mcp.json: {"mcpServers": {"tandem": {"url": "` + r.MCPURL + `"}}}`},
		{"Inspector", "npx @modelcontextprotocol/inspector, then Streamable HTTP and " + r.MCPURL},
	}
	if r.WorkerURL != "" {
		main, rows = r.WorkerURL, [][2]string{
			{"Worker", r.WorkerURL}, {"Dashboard", r.DashboardURL}, {"OTLP/gRPC", r.OTLPEndpoint}, {"State", r.StateDir},
		}
	}
	for _, row := range rows {
		fmt.Fprintf(w, "  %s\t%s\n", row[0], row[1])
	}
	fmt.Fprintf(w, "\nready in %.2f s: %s (Ctrl-C drains and stops)\n", took.Seconds(), main)
	if err := w.Flush(); err != nil {
		return err
	}
	var trimmed strings.Builder
	for line := range strings.Lines(text.String()) {
		trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(out, trimmed.String())
	return err
}

package dev

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Ready is what the ready file says, as JSON.
type Ready struct {
	// MCPURL is the MCP endpoint, APIURL the origin of /api.
	MCPURL string `json:"mcp_url,omitempty"`
	APIURL string `json:"api_url,omitempty"`
	// WorkerURL is the origin of a project's Worker, the primary one of several; it is there instead of those above and of
	// AuthURL. Workers are the origins of all by their names.
	WorkerURL string            `json:"worker_url,omitempty"`
	Workers   map[string]string `json:"workers,omitempty"`
	// AuthURL is the authorization server's origin, DashboardURL the trace store's.
	AuthURL      string `json:"auth_url,omitempty"`
	DashboardURL string `json:"dashboard_url"`
	// OTLPEndpoint takes OTLP over gRPC.
	OTLPEndpoint string `json:"otlp_endpoint"`
	// StateDir is the absolute path of the state directory.
	StateDir string `json:"state_dir"`
	// Pid is the supervisor's.
	Pid int `json:"pid"`
	// Pids are the children's by the names of their subcommands; of the Workers after the first by "worker:" and their names.
	Pids map[string]int `json:"pids"`
	// JoinedPid is the supervisor's of the stack whose router and trace store this one uses; 0 when they are its own.
	JoinedPid int `json:"joined_pid,omitempty"`
}

// describe says where everything of the stack is.
func (s *stack) describe(pids map[string]int) Ready {
	l := s.listeners
	if len(s.options.Projects) > 0 {
		r := Ready{
			WorkerURL: l.worker.url(), Workers: map[string]string{}, DashboardURL: s.dashboardURL(),
			OTLPEndpoint: s.otlpEndpoint(), StateDir: s.state, Pid: os.Getpid(), Pids: maps.Clone(pids),
		}
		for i, w := range l.workers() {
			r.Workers[s.options.Projects[i].name()] = w.url()
		}
		if k := s.keeper(); k != nil {
			r.JoinedPid = k.Pid
		}
		return r
	}
	return Ready{
		MCPURL: s.mcpURL(), APIURL: l.worker.url(), AuthURL: l.auth.url(), DashboardURL: l.dashboard.url(),
		OTLPEndpoint: l.otlp.url(), StateDir: s.state, Pid: os.Getpid(), Pids: maps.Clone(pids),
	}
}

// workerRows are the rows of a stack of Workers, the primary one first.
func (r Ready) workerRows() (rows [][2]string) {
	names := slices.SortedFunc(maps.Keys(r.Workers), func(a, b string) int {
		if primary := r.WorkerURL; r.Workers[a] == primary || r.Workers[b] == primary {
			return cmp.Compare(btoi(r.Workers[b] == primary), btoi(r.Workers[a] == primary))
		}
		return cmp.Compare(a, b)
	})
	for _, name := range names {
		row := "Worker"
		if len(names) > 1 {
			row += " " + name
		}
		rows = append(rows, [2]string{row, r.Workers[name]})
	}
	rows = append(rows,
		[2]string{"Dashboard", r.DashboardURL}, [2]string{"OTLP/gRPC", r.OTLPEndpoint}, [2]string{"State", r.StateDir})
	if r.JoinedPid != 0 {
		rows = append(rows, [2]string{"Joined", fmt.Sprintf("the stack of tandem dev (pid %d)", r.JoinedPid)})
	}
	return rows
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
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
		main, rows = r.WorkerURL, r.workerRows()
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

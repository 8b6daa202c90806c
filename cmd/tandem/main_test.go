package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-do/tandem/tools/dev"
)

// With a subcommand the test binary is tandem itself. An environment variable would not do: the sandbox starts its
// children without any.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
	}
	os.Exit(m.Run())
}

// result is what a command did.
type result struct {
	code           int
	stdout, stderr string
}

// command runs a command that ends by itself, with an environment of "NAME=value" strings.
func command(t *testing.T, environment []string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(args, system{
		lookup: func(name string) (string, bool) {
			for _, pair := range environment {
				if n, v, _ := strings.Cut(pair, "="); n == name {
					return v, true
				}
			}
			return "", false
		},
		stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
	})
	return result{code, stdout.String(), stderr.String()}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  []string
		args []string
		want []string
	}{
		{"command", nil, []string{"wroker"}, []string{`unknown command "wroker"`, "did you mean worker?"}},
		{"wrangler's command", nil, []string{"deploy"}, []string{"tandem has no deploy: tandem build writes", "tandem reload"}},
		{"with flags", nil, []string{"tail", "--format", "json"}, []string{"tandem has no tail: the processes write console lines"}},
		{"with an account", nil, []string{"login"}, []string{"nothing here needs one"}},
		{"wrangler's flag", nil, []string{"dev", "--inspector-port", "9229"},
			[]string{"unknown flag: --inspector-port, which wrangler dev has: the engine has no inspector"}},
		{"wrangler's short flag", nil, []string{"dev", "-l"}, []string{"leave it out: everything is local"}},
		{"reload", nil, []string{"reload", "x"}, []string{`tandem reload takes no arguments, got "x"`}},
		{"far command", nil, []string{"zzzzzzzz"}, []string{`unknown command "zzzzzzzz"`}},
		{"flag", nil, []string{"dev", "--prot", "1"},
			[]string{"unknown flag: --prot", "did you mean --port?", "tandem dev --help"}},
		{"hidden flag is not offered", nil, []string{"worker", "--lifelime", "1"},
			[]string{"unknown flag: --lifelime\n"}},
		{"argument", nil, []string{"router", "x"}, []string{`tandem router takes no arguments, got "x"`}},
		{"two projects", nil, []string{"build", "x", "y"}, []string{`tandem build takes one directory or wrangler file, got ["x" "y"]`}},
		{"many projects", nil, append([]string{"dev"}, make([]string, 65)...), []string{"65 Workers are too many for one stack, at most 64"}},
		{"port", nil, []string{"dev", "--port", "65536"}, []string{"--port", "from 0 to 65535"}},
		{"port text", nil, []string{"dev", "--auth-port", "http"}, []string{"--auth-port", "from 0 to 65535"}},
		{"one port twice", nil, []string{"dev", "--port", "9", "--auth-port", "9"},
			[]string{"--port and --auth-port are both 9"}},
		{"two directories", nil, []string{"dev", "--ephemeral", "--state-dir", "x"},
			[]string{"--state-dir and --ephemeral"}},
		{"duration", nil, []string{"durableobject", "--session-timeout", "25h"},
			[]string{"--session-timeout", "100ms to 24h"}},
		{"level", nil, []string{"router", "--log-level", "loud"},
			[]string{"--log-level", "debug, info, warn, error"}},
		{"format", nil, []string{"router", "--log-format", "xml"},
			[]string{"--log-format", "auto, text, json, color"}},
		{"ratio", nil, []string{"worker", "--trace-ratio", "0"},
			[]string{"--trace-ratio", "above 0 and at most 1"}},
		{"directory", nil, []string{"dev", "--directory", "mysql://x"}, []string{"--directory", "postgres://"}},
		{"cpu", nil, []string{"worker", "--cpu-limit", "1ns"}, []string{"--cpu-limit", "from 10ms to 1h"}},
		{"cpu in the environment", []string{"TANDEM_CPU_LIMIT=1s"}, []string{"durableobject"},
			[]string{`TANDEM_CPU_LIMIT is "1s"`, "milliseconds"}},
		{"memory", nil, []string{"durableobject", "--memory-limit", "1"}, []string{"--memory-limit", "from 64"}},
		{"strict", []string{"TANDEM_STRICT_LIMITS=maybe"}, []string{"dev"}, []string{`TANDEM_STRICT_LIMITS is "maybe"`}},
		{"flag of another name", nil, []string{"worker", "--cpu-limt", "1s"}, []string{"did you mean --cpu-limit?"}},
		{"required", nil, []string{"worker"}, []string{"--router is needed"}},
		{"session too short", []string{"MCP_SESSION_TIMEOUT_MS=99"}, []string{"dev"},
			[]string{`MCP_SESSION_TIMEOUT_MS is "99"`, "from 100 to 86400000"}},
		{"session too long", []string{"MCP_SESSION_TIMEOUT_MS=86400001"}, []string{"durableobject"},
			[]string{`MCP_SESSION_TIMEOUT_MS is "86400001"`, "from 100 to 86400000"}},
		{"session is no number", []string{"MCP_SESSION_TIMEOUT_MS=5m"}, []string{"dev"},
			[]string{`MCP_SESSION_TIMEOUT_MS is "5m"`}},
		{"paused", []string{"MCP_PAUSED_SESSION_IDLE_TIMEOUT_MS=-1"}, []string{"dev"},
			[]string{`MCP_PAUSED_SESSION_IDLE_TIMEOUT_MS is "-1"`, "from 100 to 86400000"}},
		{"approval", []string{"MCP_APPROVAL_WINDOW_MS=1e9"}, []string{"dev"},
			[]string{`MCP_APPROVAL_WINDOW_MS is "1e9"`}},
		{"overflow", []string{"MCP_APPROVAL_WINDOW_MS=99999999999999999999"}, []string{"dev"},
			[]string{"MCP_APPROVAL_WINDOW_MS"}},
		{"two at once", []string{"MCP_APPROVAL_WINDOW_MS=0", "MCP_SESSION_TIMEOUT_MS=x"}, []string{"dev"},
			[]string{"MCP_APPROVAL_WINDOW_MS", "MCP_SESSION_TIMEOUT_MS"}},
		{"sampler", []string{"OTEL_TRACES_SAMPLER_ARG=1.1"}, []string{"dev"},
			[]string{"OTEL_TRACES_SAMPLER_ARG", "at most 1"}},
		{"collector", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=ftp://x"}, []string{"router", "--state-dir", "x"},
			[]string{"ftp://x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := command(t, test.env, test.args...)
			if r.code != exitUsage || r.stdout != "" {
				t.Errorf("exit code %d, stdout %q", r.code, r.stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(r.stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, r.stderr)
				}
			}
		})
	}
}

func TestHelpIsOneScreen(t *testing.T) {
	t.Parallel()
	commands := []string{
		"", "dev", "worker", "durableobject", "router", "sandbox", "auth", "traces", "objects", "objects list",
		"objects show", "objects evict", "objects abort", "objects delete", "objects alarm", "objects export",
		"objects import", "objects namespaces",
	}
	for _, name := range commands {
		args := append(strings.Fields(name), "--help")
		r := command(t, nil, args...)
		if r.code != exitOK || r.stderr != "" {
			t.Errorf("%v: exit code %d, stderr %q", args, r.code, r.stderr)
		}
		if n := strings.Count(r.stdout, "\n"); n > 45 {
			t.Errorf("%v: %d lines of help:\n%s", args, n, r.stdout)
		}
		if !strings.Contains(r.stdout, "Examples:\n") {
			t.Errorf("%v: no examples", args)
		}
		for line := range strings.Lines(r.stdout) {
			if len([]rune(line)) > 140 {
				t.Errorf("%v: long line %q", args, line)
			}
		}
	}
	if r := command(t, nil, "--help"); strings.Contains(r.stdout, programCommand) {
		t.Error("the sandbox's own command is shown")
	}
	if r := command(t, nil, "dev", "--help"); !strings.Contains(r.stdout, exitTable) {
		t.Error("no table of exit codes")
	}
}

func TestPrintConfig(t *testing.T) {
	t.Parallel()
	env := []string{"MCP_SESSION_TIMEOUT_MS=3000", "MCP_APPROVAL_WINDOW_MS=1000", "OTEL_EXPORTER_OTLP_ENDPOINT=h:4317"}
	r := command(t, env, "durableobject", "--print-config", "--approval-window", "2s")
	if r.code != exitOK {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	got := map[string]string{}
	for line := range strings.Lines(r.stdout) {
		f := strings.Fields(line)
		got[f[0]] = strings.Join(f[1:], " ")
	}
	for name, want := range map[string]string{
		"session-timeout":        "3s $MCP_SESSION_TIMEOUT_MS",
		"paused-session-timeout": "9m default",
		"approval-window":        "2s flag",
		"otlp-endpoint":          "h:4317 $OTEL_EXPORTER_OTLP_ENDPOINT",
		"trace-ratio":            "1 default",
		"log-level":              "info default",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if _, ok := got["lifeline"]; ok {
		t.Error("a hidden flag is shown")
	}
	dev := strings.Join(strings.Fields(command(t, nil, "dev", "--print-config").stdout), " ") + " "
	for _, want := range []string{"port 8787 default ", "dashboard-port 8788 default ", "auth-port 8789 default "} {
		if !strings.Contains(" "+dev, " "+want) {
			t.Errorf("dev: %q lacks %q", dev, want)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"--version"}} {
		r := command(t, nil, args...)
		for _, want := range []string{"module   ", "version  ", "commit   ", "go       go1"} {
			if r.code != exitOK || !strings.Contains(r.stdout, want) {
				t.Errorf("%v lacks %q: %d, %q", args, want, r.code, r.stdout)
			}
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("x"), exitFailure},
		{fmt.Errorf("x: %w", usagef("y")), exitUsage},
		{errors.Join(&dev.BusyError{What: "port 1"}, errors.New("x")), exitBusy},
		{fmt.Errorf("listen: %w", syscall.EADDRINUSE), exitBusy},
		{fmt.Errorf("lock: %w", syscall.EAGAIN), exitBusy},
		{&dev.StateError{Dir: "x", Reason: "is corrupt"}, exitState},
		{errors.Join(dev.ErrKilled), exitKilled},
		{errors.Join(&dev.StartError{Process: "x", Cause: errors.New("y")}, dev.ErrKilled), exitFailure},
		{programExit(7), 7},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}

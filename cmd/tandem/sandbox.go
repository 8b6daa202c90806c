package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/sandbox"
	"github.com/tandem-do/tandem/sandbox/program"
)

// programCommand is the subcommand that runs one untrusted program.
const programCommand = "sandbox-program"

// newSandbox returns `tandem sandbox`.
func newSandbox(sys system) *cobra.Command {
	var listen string
	processes, waiting, linger, require := 0, 1024, 30*time.Second, false
	p := &process{sys: sys, traced: true}
	p.serve = func(ctx context.Context, log *slog.Logger) error {
		executable, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the running executable: %w", err)
		}
		l, err := sidecar.Listen(listen)
		if err != nil {
			return err
		}
		return sandbox.Serve(ctx, sandbox.Options{
			Listener: l, Command: []string{executable, programCommand},
			Processes: processes, Waiting: waiting, Linger: linger, RequireProtections: require,
			Reflection: p.flags.reflection, Log: log,
		})
	}
	cmd := &cobra.Command{
		Use:     "sandbox",
		Short:   "Run the sandbox: untrusted programs, each in a process with limits",
		Example: "  tandem sandbox --listen 127.0.0.1:8792 --processes 8",
	}
	fs := cmd.Flags()
	fs.StringVar(&listen, "listen", "127.0.0.1:8792", "host:port, unix:/path or fd:N")
	fs.Var(intValue{&processes, 0, 1024}, "processes", "programs at once; 0 is four times the processors, at least 16")
	fromEnv(fs, "processes", "TANDEM_SANDBOX_PROCESSES")
	fs.Var(intValue{&waiting, 1, 1 << 20}, "waiting", "programs that wait for a process; half for one organization")
	fromEnv(fs, "waiting", "TANDEM_SANDBOX_WAITING")
	fs.Var(durationValue{&linger, time.Second, time.Hour}, "linger", "how long a process stays that is not needed")
	fromEnv(fs, "linger", "TANDEM_SANDBOX_LINGER_MS")
	fs.BoolVar(&require, "require-protections", false, "do not start where the machine refuses a protection")
	fromEnv(fs, "require-protections", "TANDEM_SANDBOX_REQUIRE_PROTECTIONS")
	p.addReflectionFlag(fs)
	return p.command(cmd)
}

// newProgram returns the hidden `tandem sandbox-program`.
func newProgram(sys system) *cobra.Command {
	return &cobra.Command{
		Use: programCommand, Short: "Run one untrusted program; started by the sandbox only", Hidden: true, Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if code := program.Main(sys.stdin, sys.stdout); code != 0 {
				return programExit(code)
			}
			return nil
		},
	}
}

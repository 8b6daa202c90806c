// Command tandem runs Cloudflare Workers and Durable Objects as ordinary processes: `tandem dev` runs a whole stack for
// development, and each process has a subcommand of its own. This package turns flags and environment into Options and
// holds no logic; see the packages it calls.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// system is what a command has of the machine around it.
type system struct {
	// lookup reads the environment.
	lookup func(string) (string, bool)
	// stdin, stdout and stderr are the standard streams.
	stdin          io.Reader
	stdout, stderr io.Writer
	// color is true when stderr is a terminal that takes colors.
	color bool
}

func main() {
	os.Exit(run(os.Args[1:], system{
		lookup: os.LookupEnv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, color: isColorTerminal(os.Stderr),
	}))
}

// run runs one command and returns the exit code.
func run(args []string, sys system) int {
	root := newRoot(sys)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	code := exitCode(err)
	var program programExit
	if err == nil || errors.As(err, &program) {
		return code
	}
	fmt.Fprintf(sys.stderr, "tandem: %v\n", err)
	if code == exitUsage {
		fmt.Fprintf(sys.stderr, "Run '%s --help' for its flags.\n", cmd.CommandPath())
	}
	return code
}

// isColorTerminal is true when f is a terminal and the user has not turned colors off.
func isColorTerminal(f *os.File) bool {
	info, err := f.Stat()
	_, off := os.LookupEnv("NO_COLOR")
	term := os.Getenv("TERM")
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && !off && term != "" && term != "dumb"
}

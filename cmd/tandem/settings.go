package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Annotations of flags.
const (
	// annotationEnv holds the environment variable that sets the flag when it is not given.
	annotationEnv = "tandem_env"
	// annotationFromEnv marks a flag that was set so.
	annotationFromEnv = "tandem_from_env"
)

// fromEnv lets an environment variable set a flag; the usage text names it.
func fromEnv(fs *pflag.FlagSet, flag, variable string) {
	f := fs.Lookup(flag)
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[annotationEnv] = []string{variable}
	f.Usage += " [$" + variable + "]"
}

// applyEnv sets the flags that were not given from the environment. It reports every variable that is wrong.
func applyEnv(fs *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	fs.VisitAll(func(f *pflag.Flag) {
		names := f.Annotations[annotationEnv]
		if len(names) == 0 || f.Changed {
			return
		}
		text, ok := lookup(names[0])
		if !ok || text == "" {
			return
		}
		set := f.Value.Set
		if v, ok := f.Value.(envValue); ok {
			set = v.setEnv
		}
		if err := set(text); err != nil {
			switch f.Value.(type) {
			case directoryValue, secretValue:
				text = "(not shown)" // it may hold a password
			}
			errs = append(errs, fmt.Errorf("environment variable %s is %q: %w", names[0], text, err))
			return
		}
		f.Annotations[annotationFromEnv] = names
	})
	if len(errs) == 0 {
		return nil
	}
	return usageError{errors.Join(errs...)}
}

// require refuses a command whose flags of those names are empty.
func require(fs *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if fs.Lookup(name).Value.String() == "" {
			return usagef("--%s is needed", name)
		}
	}
	return nil
}

// printConfig prints every flag with its value and where that came from.
func printConfig(out io.Writer, fs *pflag.FlagSet) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "print-config" {
			return
		}
		source := "default"
		if names := f.Annotations[annotationFromEnv]; len(names) > 0 {
			source = "$" + names[0]
		} else if f.Changed {
			source = "flag"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, f.Value, source)
	})
	return w.Flush()
}

// durations are the timeouts of the MCP application.
type durations struct {
	session, paused, approval time.Duration
}

// Ranges of the MCP application's timeouts.
const (
	minTimeout = 100 * time.Millisecond
	maxTimeout = 24 * time.Hour
)

// add adds the flags with their defaults.
func (d *durations) add(cmd *cobra.Command) {
	*d = durations{session: 5 * time.Minute, paused: 9 * time.Minute, approval: 4 * time.Minute}
	fs := cmd.Flags()
	for _, f := range []struct {
		target               *time.Duration
		name, variable, text string
	}{
		{&d.session, "session-timeout", "MCP_SESSION_TIMEOUT_MS", "how long a session's runtime outlives its last use"},
		{&d.paused, "paused-session-timeout", "MCP_PAUSED_SESSION_IDLE_TIMEOUT_MS", "the same with paused executions"},
		{&d.approval, "approval-window", "MCP_APPROVAL_WINDOW_MS", "how long a paused execution waits for approval"},
	} {
		fs.Var(durationValue{f.target, minTimeout, maxTimeout}, f.name, f.text)
		fromEnv(fs, f.name, f.variable)
	}
}

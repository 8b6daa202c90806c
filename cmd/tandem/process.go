package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/tools/dev"
	"github.com/tandem-do/tandem/tools/dev/console"
)

// Bounds of a process's end.
const (
	// flushTimeout bounds the flush of spans, orphanFlushTimeout that of a process whose supervisor has ended: the
	// trace store is ending too.
	flushTimeout       = 3 * time.Second
	orphanFlushTimeout = 300 * time.Millisecond
	// defaultGOGC: measured 22 to 29 % more requests for 40 MB, and no collection during a start.
	defaultGOGC  = 400
	ballastBytes = 8 << 20
)

// errParentGone is the cause of a drain after the end of the supervisor.
var errParentGone = errors.New("the supervisor has ended")

// processFlags are the flags of every process.
type processFlags struct {
	level       slog.Level
	format      string
	otlp        string
	ratio       float64
	traceLimit  int
	lifeline    int
	standby     int
	reflection  bool
	profiles    string
	printConfig bool
}

// process is a command that runs one process.
type process struct {
	sys   system
	flags processFlags
	// busy processes take requests.
	busy bool
	// traced processes export spans.
	traced bool
	// required names flags that must be set; needs, if set, says which do once the others are known.
	required []string
	needs    func() []string
	// reloads says that SIGHUP does not end it; nil means that it does.
	reloads func() bool
	// prepare is called while flags are waited for; nil if there is nothing to do ahead of them.
	prepare func()
	// orphaned is true when the supervisor has ended.
	orphaned atomic.Bool
	// serve runs it until ctx ends.
	serve func(ctx context.Context, log *slog.Logger) error
}

// command completes cmd with the flags and the run of a process.
func (p *process) command(cmd *cobra.Command) *cobra.Command {
	cmd.Args = noArguments
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.run(cmd.Name(), cmd.Flags()) }
	p.flags.lifeline, p.flags.standby, p.flags.ratio = -1, -1, 1
	fs := cmd.Flags()
	fs.SortFlags = false
	addLogFlags(fs, &p.flags.level, &p.flags.format)
	if p.traced {
		fs.StringVar(&p.flags.otlp, "otlp-endpoint", "", "OTLP/gRPC collector, host:port or URL; none turns tracing off")
		fromEnv(fs, "otlp-endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT")
		addRatioFlag(fs, &p.flags.ratio)
		fs.IntVar(&p.flags.traceLimit, "trace-limit", telemetry.DefaultTracesPerSecond,
			"new traces that are recorded in a second at most; 0: any")
	} else {
		// The supervisor gives every process the same common flags.
		fs.StringVar(&p.flags.otlp, "otlp-endpoint", "", "not used")
		fs.Var(ratioValue{&p.flags.ratio}, "trace-ratio", "not used")
		fs.IntVar(&p.flags.traceLimit, "trace-limit", 0, "not used")
		hide(fs, "otlp-endpoint", "trace-ratio", "trace-limit")
	}
	fs.IntVar(&p.flags.lifeline, "lifeline", -1, "descriptor of a pipe; drain when its other end is closed")
	fs.IntVar(&p.flags.standby, "standby", -1, "descriptor of a socket from which the other flags come")
	fs.StringVar(&p.flags.profiles, "profile-dir", "", "directory for a unix socket of net/http/pprof; none by default")
	fromEnv(fs, "profile-dir", "TANDEM_PROFILE_DIR")
	hide(fs, "lifeline", "standby", "profile-dir")
	fs.BoolVar(&p.flags.printConfig, "print-config", false, "print the outcome of flags and environment, and exit")
	return cmd
}

// hide keeps flags out of the help text.
func hide(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		fs.Lookup(name).Hidden = true
	}
}

// addLogFlags adds --log-level and --log-format.
func addLogFlags(fs *pflag.FlagSet, level *slog.Level, format *string) {
	fs.Var(levelValue{level}, "log-level", "debug, info, warn or error")
	*format = "auto"
	fs.Var(choiceValue{format, []string{"auto", "text", "json", "color"}}, "log-format",
		"text, json or color; auto is color on a terminal")
}

// addRatioFlag adds --trace-ratio.
func addRatioFlag(fs *pflag.FlagSet, ratio *float64) {
	*ratio = 1
	fs.Var(ratioValue{ratio}, "trace-ratio", "share of new traces that are recorded")
	fromEnv(fs, "trace-ratio", "OTEL_TRACES_SAMPLER_ARG")
}

// addReflectionFlag adds --reflection.
func (p *process) addReflectionFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&p.flags.reflection, "reflection", false, "serve gRPC reflection, for development")
}

// run runs the process until it is told to end.
func (p *process) run(name string, fs *pflag.FlagSet) error {
	collectLess(p.sys)
	if p.flags.standby >= 0 {
		flags, err := dev.AwaitFlags(p.flags.standby, p.prepare)
		if err != nil || flags == nil {
			return err
		}
		if err := fs.Parse(flags); err != nil {
			return usageError{err}
		}
	}
	if err := applyEnv(fs, p.sys.lookup); err != nil {
		return err
	}
	if p.flags.printConfig {
		return printConfig(p.sys.stdout, fs)
	}
	if p.needs != nil {
		p.required = p.needs()
	}
	if err := require(fs, p.required...); err != nil {
		return err
	}
	log := newLog(p.sys, p.flags.level, p.flags.format)
	hangup := !signal.Ignored(syscall.SIGHUP) && (p.reloads == nil || !p.reloads())
	ctx, cancel, stop := signalsOf(func() { os.Exit(exitKilled) }, hangup)
	defer stop()
	if p.flags.lifeline >= 0 {
		stop, err := dev.WatchLifeline(p.flags.lifeline, func() {
			time.AfterFunc(dev.DrainTimeout, func() { os.Exit(exitKilled) })
			p.orphaned.Store(true)
			cancel(errParentGone)
		})
		if err != nil {
			return err
		}
		defer stop()
	}
	stopProfiles, err := serveProfiles(p.flags.profiles, name)
	if err != nil {
		return err
	}
	defer stopProfiles()
	if p.busy {
		defer runtime.KeepAlive(ballast())
	}
	return p.traceAndServe(ctx, name, log)
}

// ballast is memory that nothing touches, and that the system therefore does not give. The collector takes it for in use,
// and lets a small heap grow to some 80 MiB before it begins: measured 6 to 11 % more calls.
func ballast() []byte { return make([]byte, ballastBytes) }

// collectLess sets GOGC to 400 unless the environment has one.
func collectLess(sys system) {
	if _, set := sys.lookup("GOGC"); !set {
		debug.SetGCPercent(defaultGOGC)
	}
}

// traceAndServe serves with tracing set up, and flushes it at the end.
func (p *process) traceAndServe(ctx context.Context, name string, log *slog.Logger) (err error) {
	if p.traced {
		shutdown, err := telemetry.Setup(ctx, telemetry.Options{
			Service: name, Endpoint: p.flags.otlp, SampleRatio: p.flags.ratio, TracesPerSecond: p.flags.traceLimit,
			Version: buildVersion(), Log: log,
		})
		if err != nil {
			return usageError{err}
		}
		defer func() {
			limit := flushTimeout
			if p.orphaned.Load() {
				limit = orphanFlushTimeout
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
			defer cancel()
			if err := shutdown(ctx); err != nil {
				log.Warn("spans were lost", "err", err)
			}
		}()
	}
	if err := p.serve(ctx, log); err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// newLog returns the logger of a process, on stderr.
func newLog(sys system, level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	switch {
	case format == "json":
		return slog.New(slog.NewJSONHandler(sys.stderr, options))
	case format == "color", format == "auto" && sys.color:
		return slog.New(console.NewHandler(sys.stderr, level))
	}
	return slog.New(slog.NewTextHandler(sys.stderr, options))
}

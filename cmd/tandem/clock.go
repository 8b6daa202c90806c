package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	rpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject/clock"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/tools/dev"
)

const (
	// defaultAdvanceWait and maxAdvanceWait bound an advance by real time; the host has the same maximum.
	defaultAdvanceWait = 30 * time.Second
	maxAdvanceWait     = 10 * time.Minute
	// clockSlack is what a call may take beside that.
	clockSlack = 10 * time.Second
)

// addTestClockFlag adds --test-clock.
func addTestClockFlag(fs *pflag.FlagSet, target *bool) {
	fs.BoolVar(target, "test-clock", false, "let tandem clock advance move the time of objects, for tests")
}

// clockFlags are the flags of `tandem clock`.
type clockFlags struct {
	sys            system
	state, address string
	wait           time.Duration
}

// newClock returns `tandem clock`.
func newClock(sys system) *cobra.Command {
	f := &clockFlags{sys: sys, state: defaultStateDir, wait: defaultAdvanceWait}
	cmd := &cobra.Command{
		Use:   "clock",
		Short: "Show and advance the clock of a stack that was started with --test-clock",
		Long: `Show and advance the time by which the objects of a test stack live: alarms, retries, evictions, the
timeouts of sessions, approvals and executions. It never goes backwards.

` + exitTable,
		Example: `  tandem dev --test-clock
  tandem clock advance 24h
  tandem clock show --address 127.0.0.1:8791`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().SortFlags = false
	cmd.PersistentFlags().StringVar(&f.state, "state-dir", f.state, "state directory of the running tandem dev")
	cmd.PersistentFlags().StringVar(&f.address, "address", "", "gRPC target of an object host, instead of a state directory")
	cmd.AddCommand(f.advance(), f.show())
	return cmd
}

func (f *clockFlags) show() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the time of the objects", Args: noArguments,
		Example: "  tandem clock show",
		RunE: func(*cobra.Command, []string) error {
			return f.ask(clockSlack, func(ctx context.Context, c dopb.ClockServiceClient) error {
				r, err := c.GetClock(ctx, &dopb.GetClockRequest{})
				if err != nil {
					return err
				}
				return f.print(r.GetNow().AsTime(), r.GetAhead().AsDuration())
			})
		},
	}
}

func (f *clockFlags) advance() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "advance DURATION",
		Short: "Move the time of the objects on, and wait until what became due is done",
		Long: `Move the time of the objects on by a duration such as 90s or 24h, at most ten years. What becomes due
on the way is carried out in its order; the command returns when that is done.`,
		Example: "  tandem clock advance 24h\n  tandem clock advance 10s --wait 5m",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s takes one duration, got %q", cmd.CommandPath(), args)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			by, err := time.ParseDuration(args[0])
			switch {
			case err != nil:
				return usagef("%q is not a duration such as 90s or 24h", args[0])
			case by < 0:
				return usagef("a clock can't be moved backwards")
			case by > clock.MaxAdvance:
				return usagef("%s is more than one advance can be: %s", args[0], shortDuration(clock.MaxAdvance))
			}
			return f.move(by)
		},
	}
	cmd.Flags().Var(durationValue{&f.wait, time.Second, maxAdvanceWait}, "wait", "how long it may take, by real time")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && strings.Trim(unknown.GetSpecifiedName(), "0123456789.") == "" {
			return usagef("a clock can't be moved backwards")
		}
		return flagError(cmd, err)
	})
	return cmd
}

// move advances the clock and says where it is.
func (f *clockFlags) move(by time.Duration) error {
	return f.ask(f.wait+clockSlack, func(ctx context.Context, c dopb.ClockServiceClient) error {
		r, err := c.AdvanceClock(ctx, &dopb.AdvanceClockRequest{By: durationpb.New(by), Wait: durationpb.New(f.wait)})
		if err != nil {
			return err
		}
		if err := f.print(r.GetNow().AsTime(), r.GetAhead().AsDuration()); err != nil {
			return err
		}
		running := strings.Join(r.GetRunning(), ", ")
		if left := r.GetLeft().AsDuration(); left > 0 {
			return fmt.Errorf("after %s the clock is %v short of where it was to go; still running: %s; "+
				"advance again, or give --wait more", shortDuration(f.wait), left, running)
		}
		if running != "" {
			return fmt.Errorf("the clock was advanced, and after %s this still runs: %s", shortDuration(f.wait), running)
		}
		return nil
	})
}

// print prints a time.
func (f *clockFlags) print(now time.Time, ahead time.Duration) error {
	_, err := fmt.Fprintf(f.sys.stdout, "%s, %s ahead of real time\n",
		now.UTC().Format("2006-01-02T15:04:05.000Z07:00"), shortDuration(ahead.Round(time.Second)))
	return err
}

// ask calls the clock service within a limit.
func (f *clockFlags) ask(limit time.Duration, do func(context.Context, dopb.ClockServiceClient) error) (err error) {
	address, err := f.target()
	if err != nil {
		return err
	}
	ctx, _, stop := signals(func() { os.Exit(exitKilled) })
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := sidecar.Dial(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = do(ctx, dopb.NewClockServiceClient(conn))
	switch s, ok := rpcstatus.FromError(err); {
	case err == nil || !ok:
		return err
	case s.Code() == codes.Unavailable:
		return fmt.Errorf("no object host answers at %s", address)
	case s.Code() == codes.Unimplemented:
		return fmt.Errorf("the object host at %s is too old to have a clock", address)
	default:
		return errors.New(s.Message())
	}
}

// target returns the gRPC target of the host.
func (f *clockFlags) target() (string, error) {
	if f.address != "" {
		return f.address, nil
	}
	running, err := dev.FindRunning(f.state)
	if err != nil {
		return "", err
	}
	if running == nil {
		return "", fmt.Errorf("no tandem dev runs on %s: start one with --test-clock, or give --state-dir or --address",
			f.state)
	}
	return running.ObjectsAddress, nil
}

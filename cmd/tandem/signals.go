package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameSignal is how soon after the first signal another counts as the same: a wrapper often passes on what the
// terminal has sent to its child too.
const sameSignal = 300 * time.Millisecond

// signals returns a context that ends, with the signal as its cause, on the first SIGINT, SIGTERM or SIGHUP; the
// second calls again, once, from another goroutine. stop gives the signals back and waits for that goroutine.
func signals(again func()) (ctx context.Context, cancel context.CancelCauseFunc, stop func()) {
	return signalsOf(again, !signal.Ignored(syscall.SIGHUP)) // as under nohup
}

// signalsOf is signals, with SIGHUP among them or not.
func signalsOf(again func(), hangup bool) (ctx context.Context, cancel context.CancelCauseFunc, stop func()) {
	ctx, cancel = context.WithCancelCause(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, syscall.SIGINT, syscall.SIGTERM)
	if hangup {
		signal.Notify(received, syscall.SIGHUP)
	}
	stopping, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var first time.Time
		for {
			select {
			case s := <-received:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(fmt.Errorf("signal: %s", s))
				case time.Since(first) >= sameSignal:
					again()
					return
				}
			case <-stopping:
				return
			}
		}
	}()
	return ctx, cancel, func() {
		signal.Stop(received)
		close(stopping)
		<-done
		cancel(nil)
	}
}

// reloads returns the signals that ask a process to read its bundles again: SIGHUP, and SIGUSR1 of tandem dev. stop gives
// them back.
func reloads() (requests <-chan os.Signal, stop func()) {
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGHUP, syscall.SIGUSR1)
	return received, func() { signal.Stop(received) }
}

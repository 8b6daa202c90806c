package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// signals returns a context that ends, with the signal as its cause, on the first SIGINT, SIGTERM or SIGHUP; the
// second calls again, once, from another goroutine. stop gives the signals back and waits for that goroutine.
func signals(again func()) (ctx context.Context, cancel context.CancelCauseFunc, stop func()) {
	ctx, cancel = context.WithCancelCause(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(received, syscall.SIGHUP)
	}
	stopping, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; n < 2; n++ {
			select {
			case s := <-received:
				if n == 1 {
					again()
					return
				}
				cancel(fmt.Errorf("signal: %s", s))
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

package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFirstSignalDrainsSecondCallsAgain(t *testing.T) {
	again := make(chan struct{})
	ctx, _, stop := signals(func() { close(again) })
	defer stop()
	began := time.Now()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !strings.Contains(cause.Error(), "signal: terminated") {
		t.Errorf("cause %v", cause)
	}
	tick := time.NewTicker(sameSignal / 10)
	defer tick.Stop()
	for {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
			continue
		case <-again:
		}
		break
	}
	if passed := time.Since(began); passed < sameSignal {
		t.Errorf("a signal %v after the first counts as a second", passed)
	}
}

func TestSignalsStop(t *testing.T) {
	ctx, cancel, stop := signals(func() { t.Error("called") })
	cancel(errParentGone)
	if context.Cause(ctx) != errParentGone {
		t.Errorf("cause %v", context.Cause(ctx))
	}
	stop()
}

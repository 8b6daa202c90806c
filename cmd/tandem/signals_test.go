package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
)

func TestFirstSignalDrainsSecondCallsAgain(t *testing.T) {
	again := make(chan struct{})
	ctx, _, stop := signals(func() { close(again) })
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !strings.Contains(cause.Error(), "signal: terminated") {
		t.Errorf("cause %v", cause)
	}
	select {
	case <-again:
		t.Error("the first signal counts as a second")
	default:
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-again
}

func TestSignalsStop(t *testing.T) {
	ctx, cancel, stop := signals(func() { t.Error("called") })
	cancel(errParentGone)
	if context.Cause(ctx) != errParentGone {
		t.Errorf("cause %v", context.Cause(ctx))
	}
	stop()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/tandem-do/tandem/e2e/harness"
)

// steps is a harness.T for code that is no test: a failure ends attempt with an error.
type steps struct {
	ctx      context.Context // the benchmark's whole life
	cleanups []func()
}

type failure struct{ err error }

func (s *steps) Helper()                        {}
func (s *steps) Context() context.Context       { return s.ctx }
func (s *steps) Cleanup(f func())               { s.cleanups = append(s.cleanups, f) }
func (s *steps) Errorf(format string, a ...any) { panic(failure{fmt.Errorf(format, a...)}) }
func (s *steps) Fatal(a ...any)                 { panic(failure{errors.New(fmt.Sprint(a...))}) }
func (s *steps) Fatalf(format string, a ...any) { panic(failure{fmt.Errorf(format, a...)}) }
func (s *steps) TempDir() string {
	dir, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// attempt runs f and returns what it failed with.
func attempt(ctx context.Context, f func(t *steps) error) (err error) {
	t := &steps{ctx: ctx}
	defer func() {
		for _, c := range slices.Backward(t.cleanups) {
			c()
		}
		if r := recover(); r != nil {
			fail, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = fail.err
		}
	}()
	return f(t)
}

// startStack builds and starts a stack that records one in 10,000 traces.
func startStack(t *steps, env ...string) *harness.Stack {
	binary, err := harness.Build(t.ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stack, err := harness.Start(t.ctx, harness.Options{
		Binary: binary, Args: []string{"--trace-ratio", "0.0001"}, StateDir: t.TempDir() + "/state", Env: env,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stack.Stop)
	return stack
}

// pids returns the processes of a stack that take part in a request.
func pids(r harness.Ready) []int {
	serving := maps.Clone(r.PIDs)
	delete(serving, "traces")
	delete(serving, "auth")
	return slices.Collect(maps.Values(serving))
}

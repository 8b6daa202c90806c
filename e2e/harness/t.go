package harness

import "context"

// T is what the harness needs of a test; *testing.T is one, and the benchmarks have their own.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	TempDir() string
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Package lint holds the rules of this repository that a machine can keep: which package may import which, which library
// stays behind which fence, how large a file or function may be, and what code must not do. `go test ./tools/lint` is the
// whole command. It parses the tree in process, so that a cached result never stands for a changed tree; each failure
// says what to do instead.
package lint

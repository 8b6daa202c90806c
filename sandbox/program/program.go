package program

import "io"

// Main is the body of a child process: it takes one program from in, runs it, and answers on out. It returns the
// exit code.
func Main(in io.Reader, out io.Writer) int { panic("not built yet") }

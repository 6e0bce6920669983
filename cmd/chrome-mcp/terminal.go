package main

import (
	"fmt"
	"io"
	"os"
)

// greet tells a person who started the server by hand what it waits for.
func greet(stdin io.Reader, stderr io.Writer) {
	if isTerminal(stdin) {
		fmt.Fprintln(stderr, "chrome-mcp serves MCP on stdin, for an MCP host to start; chrome-mcp help tells more, Ctrl-C ends it.")
	}
}

// isTerminal reports whether somebody types what r gives.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // the other character device that is a usual stdin
	return err != nil || !os.SameFile(info, null)
}

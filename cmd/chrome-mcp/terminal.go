package main

import (
	"fmt"
	"io"
	"os"
)

// printInteractiveHint prints a hint to stderr if a user started the server in a terminal.
func printInteractiveHint(stdin io.Reader, stderr io.Writer) {
	if isTerminal(stdin) {
		fmt.Fprintln(stderr, "chrome-mcp serves MCP on stdin, started by an MCP host; run chrome-mcp help for usage; press Ctrl-C to stop.")
	}
}

// isTerminal reports whether r is a terminal.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // the null device is also a character device
	return err != nil || !os.SameFile(info, null)
}

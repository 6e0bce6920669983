package main

import "os"

// isTerminal reports whether stream, an io.Reader or io.Writer, is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
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

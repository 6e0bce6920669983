package cli

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"
)

// IsTerminal reports whether stream, an io.Reader or io.Writer, is a terminal.
func IsTerminal(stream any) bool {
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

// SurviveBrokenPipe makes writes to a closed stdout fail, without SIGPIPE ending this process before
// it has ended its browser. Unlike ignoring the signal, it does not affect the programs that this
// process starts.
func SurviveBrokenPipe() { signal.Notify(brokenPipes, syscall.SIGPIPE) }

var brokenPipes = make(chan os.Signal, 1)

// Printable replaces characters that a terminal would interpret or not show: clients choose their
// names, and pages choose host names.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
			return '\ufffd'
		}
		return r
	}, s)
}

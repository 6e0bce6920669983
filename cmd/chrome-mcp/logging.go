package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxLog is the size, in bytes, above which a new process of the data directory starts a new log.
const maxLog = 1 << 20

// openLog opens a log of the data directory for appending. A log that is larger than maxLog is kept
// as path.old, instead of an earlier one.
func openLog(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return owneronly.OpenAppend(path)
}

// newLog returns a logger that writes lines of at least a level to w, and a function that writes what is
// left. It masks secrets and limits lines with the same message.
func newLog(w io.Writer, mask func(string) string, level slog.Level) (log *slog.Logger, flush func()) {
	h := newLogLimiter(slog.NewTextHandler(masked(w, mask), &slog.HandlerOptions{Level: level}))
	return slog.New(h), h.counts.close
}

// masked returns a writer that masks secrets in a log. Each Write must contain complete lines.
func masked(w io.Writer, mask func(string) string) io.Writer { return maskedWriter{w, mask} }

type maskedWriter struct {
	io.Writer
	mask func(string) string
}

func (w maskedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, w.mask(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Package logging writes the log of the program: with secrets masked, and with a limit for lines that a
// page can cause.
package logging

import (
	"io"
	"log/slog"
	"os"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxBytes is the size, in bytes, above which a new process of the data directory starts a new log.
const maxBytes = 1 << 20

// Open opens a log of the data directory for appending. A log that is larger than maxBytes is kept
// as path.old, instead of an earlier one.
func Open(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > maxBytes {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return owneronly.OpenAppend(path)
}

// New returns a logger that writes lines of at least a level to w, and a function that writes what is
// left. It masks secrets and limits lines with the same message.
func New(w io.Writer, mask func(string) string, level slog.Level) (log *slog.Logger, flush func()) {
	h := newLimiter(slog.NewTextHandler(Masked(w, mask), &slog.HandlerOptions{Level: level}))
	return slog.New(h), h.counts.close
}

// Masked returns a writer that masks secrets in a log. Each Write must contain complete lines.
func Masked(w io.Writer, mask func(string) string) io.Writer { return maskedWriter{w, mask} }

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

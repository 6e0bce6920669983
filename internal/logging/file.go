// Package logging writes the log of the program: with secrets masked, and with a limit for lines that a
// page can cause.
package logging

import (
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxBytes is the maximum size of a log file, in bytes.
const maxBytes = 8 << 20

// A File is a log file that several processes append to. When the next line would make it too large, it
// is renamed to path.old, in place of an earlier one, and a new file is started. A File is safe for
// concurrent use.
type File struct {
	path string
	max  int64

	mu   sync.Mutex // guards the field below
	file *os.File   // nil after an error
}

// Open opens a log file, or creates it, as [owneronly.OpenAppend] does.
func Open(path string) (*File, error) {
	file, err := owneronly.OpenAppend(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, max: maxBytes, file: file}, nil
}

// Write appends lines.
func (f *File) Write(lines []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.rotate(int64(len(lines))); err != nil {
		return 0, err
	}
	return f.file.Write(lines)
}

// rotate starts a new file if n more bytes would make the file too large, or if it has been renamed or
// removed. f.mu must be held.
func (f *File) rotate(n int64) (err error) {
	if f.file != nil {
		opened, err := f.file.Stat()
		named, missing := os.Lstat(f.path)
		same := err == nil && missing == nil && os.SameFile(opened, named)
		if same && (opened.Size() == 0 || opened.Size()+n <= f.max) {
			return nil
		}
		f.file.Close() // Windows renames no open file
		if same {
			_ = os.Rename(f.path, f.path+".old") // on an error, as on Windows while another process has it open, it grows
		}
	}
	f.file, err = owneronly.OpenAppend(f.path)
	return err
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	return f.file.Close()
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

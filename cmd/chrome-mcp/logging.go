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

// newLogger returns the program's logger and a function that closes it.
func newLogger(s *settings, stderr io.Writer) (*slog.Logger, func(), error) {
	w, closeLog := stderr, func() {}
	if s.logFile != "" {
		f, err := owneronly.OpenAppend(s.logFile)
		if err != nil {
			return nil, nil, usagef("Name a regular file that you own, or a new file in an existing directory.", "%s: %v", s.nameOf("log-file"), err)
		}
		w, closeLog = f, func() { f.Close() }
	}
	masked := maskedWriter{w, s.openVault().Mask}
	h := newLogLimiter(slog.NewTextHandler(masked, &slog.HandlerOptions{Level: s.logLevel.Level()}))
	return slog.New(h), func() {
		h.counts.close()
		closeLog()
	}, nil
}

package main

import (
	"io"
	"log/slog"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// newLogger returns the program's logger and a function that closes it.
func newLogger(s *settings, stderr io.Writer) (*slog.Logger, func(), error) {
	w, closeLog := stderr, func() {}
	if s.logFile != "" {
		f, err := owneronly.OpenAppend(s.logFile)
		if err != nil {
			return nil, nil, usagef("Name a regular file that you own, or a new file in an existing directory.", "%s: %v", s.flagOrVariable("log-file"), err)
		}
		w, closeLog = f, func() { f.Close() }
	}
	h := newLogLimiter(slog.NewTextHandler(w, &slog.HandlerOptions{Level: s.logLevel.Level()}))
	return slog.New(h), func() {
		h.counts.close()
		closeLog()
	}, nil
}

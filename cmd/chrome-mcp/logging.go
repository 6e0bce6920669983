package main

import (
	"io"
	"log/slog"
	"os"
)

// newLogger returns the program's logger and what closes it.
func newLogger(s *settings, stderr io.Writer) (*slog.Logger, func(), error) {
	w, closeLog := stderr, func() {}
	if s.logFile != "" {
		f, err := os.OpenFile(s.logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, usagef("Name a file in a folder that is there.", "%s: %v", s.named("log-file"), err)
		}
		w, closeLog = f, func() { f.Close() }
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: s.logLevel.Level()})), closeLog, nil
}

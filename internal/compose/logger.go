package compose

import (
	"io"
	"log/slog"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/logging"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

// NewLogger returns the program's logger, which masks the secrets of vault, and a function that
// closes it.
func NewLogger(s *cli.Settings, vault *secrets.Vault, stderr io.Writer) (*slog.Logger, func(), error) {
	w, closeLog := stderr, func() {}
	if s.LogFile != "" {
		f, err := logging.Open(s.LogFile)
		if err != nil {
			return nil, nil, cli.Usagef("Name a regular file that you own, or a new file in an existing directory.",
				"%s: %v", s.NameOf("log-file"), err)
		}
		w, closeLog = f, func() { f.Close() }
	}
	log, flush := logging.New(w, vault.Mask, s.LogLevel.Level())
	return log, func() {
		flush()
		closeLog()
	}, nil
}

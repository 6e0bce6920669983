package bridge

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
)

// onceLogger logs each message that other processes can cause only once at level Warn, and then at
// level Debug, so that they cannot flood the log.
type onceLogger struct {
	*slog.Logger

	mu     sync.Mutex // guards logged
	logged map[string]bool
}

func newOnceLogger(log *slog.Logger) *onceLogger {
	return &onceLogger{Logger: cmp.Or(log, slog.New(slog.DiscardHandler)), logged: map[string]bool{}}
}

// maxLoggedOnce is the maximum number of messages in onceLogger.logged.
const maxLoggedOnce = 100

// once logs a message. msg must be a fixed text that contains nothing of another process.
func (c *onceLogger) once(msg string, args ...any) {
	c.mu.Lock()
	level := slog.LevelWarn
	if c.logged[msg] || len(c.logged) >= maxLoggedOnce {
		level = slog.LevelDebug
	} else {
		c.logged[msg] = true
	}
	c.mu.Unlock()
	c.Log(context.Background(), level, msg, args...)
}

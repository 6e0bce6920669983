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
func (l *onceLogger) once(msg string, args ...any) {
	l.mu.Lock()
	level := slog.LevelWarn
	if l.logged[msg] || len(l.logged) >= maxLoggedOnce {
		level = slog.LevelDebug
	} else {
		l.logged[msg] = true
	}
	l.mu.Unlock()
	l.Log(context.Background(), level, msg, args...)
}

package bridge

import (
	"context"
	"log/slog"
	"sync"
)

// onceLogger is a logger that says each thing that strangers can provoke once,
// so that nobody can flood the log. The rest goes to debug.
type onceLogger struct {
	*slog.Logger

	mu   sync.Mutex // guards said
	said map[string]bool
}

func newComplaints(log *slog.Logger) *onceLogger {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &onceLogger{Logger: log, said: map[string]bool{}}
}

// maxLoggedOnce bounds what is remembered of what was said.
const maxLoggedOnce = 100

// once warns of what. Its text must be one of ours and hold nothing that a
// stranger has chosen.
func (c *onceLogger) once(what string, args ...any) {
	c.mu.Lock()
	level := slog.LevelWarn
	if c.said[what] || len(c.said) >= maxLoggedOnce {
		level = slog.LevelDebug
	} else {
		c.said[what] = true
	}
	c.mu.Unlock()
	c.Log(context.Background(), level, what, args...)
}

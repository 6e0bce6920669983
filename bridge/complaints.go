package bridge

import (
	"context"
	"log/slog"
	"sync"
)

// complaints is a logger that says each thing that strangers can provoke once,
// so that nobody can flood the log. The rest goes to debug.
type complaints struct {
	*slog.Logger

	mu   sync.Mutex // guards said
	said map[string]bool
}

func newComplaints(log *slog.Logger) *complaints {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &complaints{Logger: log, said: map[string]bool{}}
}

// maxSaid bounds what is remembered of what was said.
const maxSaid = 100

// once warns of what. Its text must be one of ours and hold nothing that a
// stranger has chosen.
func (c *complaints) once(what string, args ...any) {
	c.mu.Lock()
	level := slog.LevelWarn
	if c.said[what] || len(c.said) >= maxSaid {
		level = slog.LevelDebug
	} else {
		c.said[what] = true
	}
	c.mu.Unlock()
	c.Log(context.Background(), level, what, args...)
}

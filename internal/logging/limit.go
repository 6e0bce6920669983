package logging

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// logLimit is the maximum number of log lines with the same message in
	// logWindow. A page whose requests are denied may cause thousands.
	logLimit  = 100
	logWindow = time.Minute
	// maxLogMessages is the maximum number of messages that are counted separately.
	maxLogMessages = 1000
)

// A limiter is a slog.Handler that writes at most logLimit lines with the same
// message in logWindow, except at level Debug. It counts the others, and writes
// the counts at the end of the window and in counts.close.
type limiter struct {
	slog.Handler
	counts *counts // shared by all handlers derived with WithAttrs and WithGroup
}

type counts struct {
	plain slog.Handler // writes the counts

	mu    sync.Mutex     // guards the fields below
	end   time.Time      // of the window
	lines map[string]int // by message; those over logLimit were dropped
	timer *time.Timer    // flushes at end, if lines were dropped
}

func newLimiter(h slog.Handler) *limiter {
	return &limiter{h, &counts{plain: h, lines: map[string]int{}}}
}

func (l *limiter) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug && !l.counts.take(r.Message) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

func (l *limiter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limiter{l.Handler.WithAttrs(attrs), l.counts}
}

func (l *limiter) WithGroup(name string) slog.Handler {
	return &limiter{l.Handler.WithGroup(name), l.counts}
}

// take reports whether another line with this message may be written.
func (c *counts) take(message string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !now.Before(c.end) {
		c.flush()
		c.end = now.Add(logWindow)
		clear(c.lines)
	}
	if _, known := c.lines[message]; !known && len(c.lines) >= maxLogMessages {
		message = "(other messages)"
	}
	c.lines[message]++
	if c.lines[message] <= logLimit {
		return true
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(c.end.Sub(now), c.close)
	}
	return false
}

// close writes the counts.
func (c *counts) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
}

// flush writes the counts. c.mu must be held.
func (c *counts) flush() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	for _, message := range slices.Sorted(maps.Keys(c.lines)) {
		dropped := c.lines[message] - logLimit
		if dropped <= 0 {
			continue
		}
		c.lines[message] = logLimit
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped", 0)
		r.AddAttrs(slog.String("message", message), slog.Int("count", dropped))
		_ = c.plain.Handle(context.Background(), r) // slog.Logger ignores errors as well
	}
}

package logging

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLogFlood logs lines at the rate that a page can cause.
func TestLogFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		limited := newLimiter(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		log := slog.New(limited)
		written := func(text string) int {
			synctest.Wait()
			return strings.Count(out.take(), text)
		}
		flood := func(n int) {
			for i := range n {
				log.With("page", i).Info("connection denied", "host", fmt.Sprint(i))
			}
		}
		flood(1000)
		log.Warn("the browser disconnected")
		if got := out.take(); strings.Count(got, "connection denied") != logLimit || !strings.Contains(got, "the browser disconnected") {
			t.Errorf("%d lines, want %d; the log ends with %s", strings.Count(got, "connection denied"), logLimit, got[len(got)-200:])
		}
		time.Sleep(logWindow)
		if n := written(`level=WARN msg="log lines were dropped" message="connection denied" count=900`); n != 1 {
			t.Errorf("the dropped lines are counted %d times", n)
		}
		flood(logLimit + 1)
		if n := written("connection denied"); n != logLimit {
			t.Errorf("in the next window: %d lines, want %d", n, logLimit)
		}
		for range 2 * logLimit {
			log.Debug("connection failed")
		}
		if n := written("connection failed"); n != 2*logLimit {
			t.Errorf("%d lines of level debug", n)
		}
		for i := range 2 * maxLogMessages {
			log.Info(fmt.Sprint("message ", i))
		}
		if n := written("msg="); n > maxLogMessages+logLimit {
			t.Errorf("%d lines with different messages", n)
		}
		limited.counts.close()
		if n := written(`message="connection denied" count=1`); n != 1 {
			t.Errorf("at the end, the dropped lines are counted %d times", n)
		}
	})
}

// A lockedBuffer is a buffer that is safe for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// take returns what was written since the last call.
func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}

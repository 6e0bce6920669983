package shield

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A frameAttacher counts, for each CDP session, the blockers for which new out-of-process iframes
// must wait. The uninstallation of one blocker may be later than the installation of the next. The
// zero value is ready for use.
//
// While frames wait, the new workers and worklets of the page do too, even if the filter excludes
// them, and even if the browser reports that they do not (Chromium 156). So the sessions attach to
// them, and [Shield.HasPaused] says that they must be resumed.
type frameAttacher struct {
	mu     sync.Mutex // also orders the commands
	pauses map[*cdpconn.Session]int
}

// pause makes new frames of a session wait until resume is called.
func (a *frameAttacher) pause(ctx context.Context, s *cdpconn.Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pauses == nil {
		a.pauses = make(map[*cdpconn.Session]int)
	}
	if a.pauses[s]++; a.pauses[s] == 1 {
		_, _ = a.send(ctx, s)
	}
}

// resume undoes one pause.
func (a *frameAttacher) resume(ctx context.Context, s *cdpconn.Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.pauses[s]; !ok {
		return // the session has ended: see Shield.Forget
	}
	if a.pauses[s]--; a.pauses[s] == 0 {
		_, _ = a.send(ctx, s)
	}
}

// send sends the current mode to the browser: whether new frames wait. a.mu must be held.
func (a *frameAttacher) send(ctx context.Context, s *cdpconn.Session) (*cdpconn.Pending, error) {
	return s.Start(ctx, target.CommandSetAutoAttach, map[string]any{"autoAttach": true, "waitForDebuggerOnStart": a.pauses[s] > 0, "flatten": true,
		"filter": []map[string]any{{"type": "iframe"}, {"type": "worker"}, {"type": "worklet"}}})
}

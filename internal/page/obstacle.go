package page

import (
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/obstacle"
)

// obstacle evaluates the signals that js/obstacle_signals.js collected in the top document. It
// returns nil if the script collected none.
func (d *document) obstacle(signals []byte) *executor.Obstacle {
	if len(signals) == 0 || string(signals) == "null" || !d.top() {
		return nil
	}
	s := obstacle.Signals{URL: d.url}
	if err := cdpconn.Unmarshal(signals, &s); err != nil {
		d.tab.log.Debug("decoding obstacle signals failed", "error", err)
		return nil
	}
	t := d.tab
	t.mu.Lock()
	s.Status = t.status[d.loader].status
	for _, f := range t.frames {
		if f.id != t.main {
			s.FrameURLs = append(s.FrameURLs, f.url)
		}
	}
	t.mu.Unlock()
	return obstacle.Detect(&s)
}

// newObstacle returns the obstacle of s unless before has the same one.
func (s *lastSnapshot) newObstacle(before *lastSnapshot) *executor.Obstacle {
	if s.obstacle == nil || before != nil && before.obstacle != nil && *before.obstacle == *s.obstacle {
		return nil
	}
	return s.obstacle
}

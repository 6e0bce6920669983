package page

import (
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/obstacle"
)

// obstacleOf evaluates the signals that js/obstacle_signals.js collected in the top document d. It
// returns nil if the script collected none.
func (t *Tab) obstacleOf(d *frames.Document, signals []byte) *executor.Obstacle {
	if len(signals) == 0 || string(signals) == "null" || !d.IsTop() {
		return nil
	}
	s := obstacle.Signals{URL: d.URL}
	if err := cdpconn.Unmarshal(signals, &s); err != nil {
		t.log.Debug("decoding obstacle signals failed", "error", err)
		return nil
	}
	s.Status = t.responses.Of(d.Loader).Status
	state := t.tree.Lock()
	for f := range state.Frames() {
		if f != state.Top() {
			s.FrameURLs = append(s.FrameURLs, f.URL())
		}
	}
	state.Unlock()
	return t.advised(obstacle.Detect(&s))
}

// responseObstacle returns the obstacle that a response indicates before the page was read, or nil.
func (t *Tab) responseObstacle(url, title string, status int) *executor.Obstacle {
	return t.advised(obstacle.FromResponse(url, title, status))
}

// advised returns o with advice that the user of the tab's browser can follow.
func (t *Tab) advised(o *executor.Obstacle) *executor.Obstacle {
	if t.opts.NoWindow {
		return obstacle.WithoutWindow(o)
	}
	return o
}

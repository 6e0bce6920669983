package page

import (
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/obstacle"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
)

// obstacles detects what keeps a client from using the page of a tab.
type obstacles struct {
	tree      *frames.Tree
	responses *record.Documents
	noWindow  bool // Options.NoWindow
}

// detect evaluates the signals that js/obstacle_signals.js collected in the top document d. It
// returns nil if the script collected none.
func (o obstacles) detect(d *frames.Document, signals []byte) *executor.Obstacle {
	if len(signals) == 0 || string(signals) == "null" || !d.IsTop() {
		return nil
	}
	s := obstacle.Signals{URL: d.URL}
	if err := cdpconn.Unmarshal(signals, &s); err != nil {
		o.tree.Log().Debug("decoding obstacle signals failed", "error", err)
		return nil
	}
	s.Status = o.responses.Of(d.Loader).Status
	state := o.tree.Lock()
	for f := range state.Frames() {
		if f != state.Top() {
			s.FrameURLs = append(s.FrameURLs, f.URL())
		}
	}
	state.Unlock()
	return o.advised(obstacle.Detect(&s))
}

// ofResponse returns the obstacle that a response indicates before the page was read, or nil.
func (o obstacles) ofResponse(url, title string, status int) *executor.Obstacle {
	return o.advised(obstacle.FromResponse(url, title, status))
}

// advised returns found with advice that the user of the tab's browser can follow.
func (o obstacles) advised(found *executor.Obstacle) *executor.Obstacle {
	if o.noWindow {
		return obstacle.WithoutWindow(found)
	}
	return found
}

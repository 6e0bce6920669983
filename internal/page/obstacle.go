package page

import (
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	walls "github.com/chrome-mcp/chrome-mcp/internal/obstacle"
)

// obstacle judges what js/obstacle.js gathered in the top document, nil when
// it did not look.
func (d *document) obstacle(signs []byte) *executor.Obstacle {
	if len(signs) == 0 || string(signs) == "null" || !d.top() {
		return nil
	}
	s := walls.Signals{URL: d.url}
	if err := cdpconn.Unmarshal(signs, &s); err != nil {
		d.tab.log.Debug("what was noticed of obstacles cannot be read", "error", err)
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
	return walls.Detect(&s)
}

// news returns the obstacle of s unless it was there before.
func (s *shown) news(before *shown) *executor.Obstacle {
	if s.obstacle == nil || before != nil && before.obstacle != nil && *before.obstacle == *s.obstacle {
		return nil
	}
	return s.obstacle
}

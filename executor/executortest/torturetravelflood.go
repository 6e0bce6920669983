package executortest

import (
	"strings"
	"testing"
)

// travelFlood is about pages that say as much as they can.
func (s *suite) travelFlood(t *testing.T) {
	works := func(c *scene, after string) {
		c.Helper()
		if got := c.evalString("document.title"); got != "Second" {
			c.Errorf("after %s the title is %q", after, got)
		}
	}
	s.page(t, "a page of a million brackets is converted", "second.html", func(c *scene) {
		c.eval("document.body.innerHTML = '<p>' + '['.repeat(1e6); 0", nil)
		if got, err := c.exec.Markdown(c.ctx, c.tab, nil); err != nil || got.Chars < 1_000_000 || !strings.HasPrefix(got.Markdown, "[[[") {
			c.Errorf("brackets: %+v, %v", got, err)
		}
		works(c, "brackets")
	})
	s.page(t, "what a page says beyond a limit is left out, and the tab works on", "second.html", func(c *scene) {
		c.eval("console.log('x'.repeat(9e6)); 0", nil)
		works(c, "a long console message")
	})
}

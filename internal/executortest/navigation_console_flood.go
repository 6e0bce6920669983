package executortest

import (
	"strings"
	"testing"
)

// consoleFlood tests pages that log and write as much as they can.
func (s *suite) consoleFlood(t *testing.T) {
	works := func(c *testCase, after string) {
		c.Helper()
		if got := c.evalString("document.title"); got != "Second" {
			c.Errorf("after %s the title is %q", after, got)
		}
	}
	s.page(t, "page of a million brackets is converted to markdown", "second.html", func(c *testCase) {
		c.eval("document.body.innerHTML = '<p>' + '['.repeat(1e6); 0", nil)
		if got, err := c.page().Markdown(c.ctx, nil); err != nil || got.Chars < 1_000_000 || !strings.HasPrefix(got.Content, "[[[") {
			c.Errorf("brackets: %+v, %v", got, err)
		}
		works(c, "brackets")
	})
	s.page(t, "messages beyond the limit are dropped and the tab works", "second.html", func(c *testCase) {
		c.eval("console.log('x'.repeat(9e6)); 0", nil)
		works(c, "a long console message")
	})
}

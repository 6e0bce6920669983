package pagesuite

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// consoleFlood tests pages that log and write as much as they can.
func consoleFlood(s *suite.Runner, t *testing.T) {
	works := func(c *suite.Case, after string) {
		c.Helper()
		if got := c.EvalString("document.title"); got != "Second" {
			c.Errorf("after %s the title is %q", after, got)
		}
	}
	s.Page(t, "page of a million brackets is converted to markdown", "second.html", func(c *suite.Case) {
		c.Eval("document.body.innerHTML = '<p>' + '['.repeat(1e6); 0", nil)
		if got, err := c.Page().Markdown(c.Ctx, nil); err != nil || got.Chars < 1_000_000 || !strings.HasPrefix(got.Content, "[[[") {
			c.Errorf("brackets: %+v, %v", got, err)
		}
		works(c, "brackets")
	})
	s.Page(t, "messages beyond the limit are dropped and the tab works", "second.html", func(c *suite.Case) {
		c.Eval("console.log('x'.repeat(9e6)); 0", nil)
		works(c, "a long console message")
	})
}

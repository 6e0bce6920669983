package readingsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// snapshotDeep tests pages that are nested deeper than a recursive script can process.
func snapshotDeep(s *suite.Runner, t *testing.T) {
	for name, query := range suite.Sorted(map[string]string{
		"hundreds of nested boxes":                         "tag=div&n=1200&words=1",
		"thousands of nested spans":                        "tag=span&n=2500",
		"thousands of nested spans with text between them": "tag=span&n=1500&words=1",
	}) {
		s.Page(t, name+" are readable and clickable", "snapshot_deep.html?"+query, func(c *suite.Case) {
			text := c.Snap(nil)
			c.WantIn(text, "Deepest words", `link "Deepest link"`, "After it")
			c.Click(suite.ByRef(c.RefIn(text, "button", "Deep button")), nil)
			c.Await("click", "deep")
			for _, selector := range []string{"#deep", "text=Deep button", `role=button[name="Deep button"]`} {
				c.Click(suite.Selector(selector), nil)
				c.Await("click", "deep")
			}
			c.WantIn(readsDeep(c, "Deepest words", "After it"), "Deepest words")
			links, err := c.Page().Links(c.Ctx, nil)
			if err != nil || len(links.Items) != 1 || links.Items[0].Text != "Deepest link" {
				c.Errorf("links: %+v, %v", links, err)
			}
		})
	}
	s.Page(t, "button with thousands of nested spans has its name", "snapshot_deep.html?tag=span&n=2500&within=button", func(c *suite.Case) {
		c.Click(suite.ByRef(c.Ref("button", "Core")), nil)
		c.Await("click", "deep")
		readsDeep(c, "Core", "After it")
	})
}

// readsDeep checks that the text contains the words and that the other reading methods do not fail.
// It returns the markdown.
func readsDeep(c *suite.Case, words ...string) string {
	c.Helper()
	c.WantIn(c.Text(nil), words...)
	md := markdown(c, &executor.MarkdownOptions{Target: suite.Selector("body")})
	readHTML(c, nil)
	if _, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Labels: true}); err != nil {
		c.Errorf("screenshot: %v", err)
	}
	return md.Content
}

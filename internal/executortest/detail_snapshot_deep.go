package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// snapshotDeep tests pages that are nested deeper than a recursive script can process.
func (s *suite) snapshotDeep(t *testing.T) {
	for name, query := range sorted(map[string]string{
		"hundreds of nested boxes":                         "tag=div&n=1200&words=1",
		"thousands of nested spans":                        "tag=span&n=2500",
		"thousands of nested spans with text between them": "tag=span&n=1500&words=1",
	}) {
		s.page(t, name+" are readable and clickable", "snapshot_deep.html?"+query, func(c *testCase) {
			text := c.snap(nil)
			c.wantIn(text, "Deepest words", `link "Deepest link"`, "After it")
			c.click(byRef(c.refIn(text, "button", "Deep button")), nil)
			c.await("click", "deep")
			for _, selector := range []string{"#deep", "text=Deep button", `role=button[name="Deep button"]`} {
				c.click(css(selector), nil)
				c.await("click", "deep")
			}
			c.wantIn(c.readsDeep("Deepest words", "After it"), "Deepest words")
			links, err := c.page().Links(c.ctx, nil)
			if err != nil || len(links.Items) != 1 || links.Items[0].Text != "Deepest link" {
				c.Errorf("links: %+v, %v", links, err)
			}
		})
	}
	s.page(t, "button with thousands of nested spans has its name", "snapshot_deep.html?tag=span&n=2500&within=button", func(c *testCase) {
		c.click(byRef(c.ref("button", "Core")), nil)
		c.await("click", "deep")
		c.readsDeep("Core", "After it")
	})
}

// readsDeep checks that the text contains the words and that the other reading methods do not fail.
// It returns the markdown.
func (c *testCase) readsDeep(words ...string) string {
	c.Helper()
	c.wantIn(c.text(nil), words...)
	md := c.markdown(&executor.MarkdownOptions{Selector: "body"})
	c.markup(nil)
	if _, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{Labels: true}); err != nil {
		c.Errorf("screenshot: %v", err)
	}
	return md.Content
}

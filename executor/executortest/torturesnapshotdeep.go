package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// snapshotDeep are pages deeper than a script's stack has room for.
func (s *suite) snapshotDeep(t *testing.T) {
	for name, query := range sorted(map[string]string{
		"hundreds of boxes in one another":                           "tag=div&n=1200&words=1",
		"thousands of spans in one another":                          "tag=span&n=2500",
		"thousands of spans in one another, with words between them": "tag=span&n=1500&words=1",
	}) {
		s.page(t, name+" can be read, and what is in them clicked", "snapshot_deep.html?"+query, func(c *scene) {
			text := c.snap(nil)
			c.wantIn(text, "Deepest words", `link "Deepest link"`, "After it")
			c.click(byRef(c.refIn(text, "button", "Deep button")), nil)
			c.await("click", "deep")
			for _, selector := range []string{"#deep", "text=Deep button", `role=button[name="Deep button"]`} {
				c.click(css(selector), nil)
				c.await("click", "deep")
			}
			c.wantIn(c.readsDeep("Deepest words", "After it"), "Deepest words")
			links, err := c.exec.Links(c.ctx, c.tab, nil)
			if err != nil || len(links.Links) != 1 || links.Links[0].Text != "Deepest link" {
				c.Errorf("links: %+v, %v", links, err)
			}
		})
	}
	s.page(t, "a button with thousands of spans in one another has its name", "snapshot_deep.html?tag=span&n=2500&within=button", func(c *scene) {
		c.click(byRef(c.ref("button", "Core")), nil)
		c.await("click", "deep")
		c.readsDeep("Core", "After it")
	})
}

// readsDeep checks that the text holds the words and that the other reading
// tools do not fail. It returns the markdown.
func (c *scene) readsDeep(words ...string) string {
	c.Helper()
	got, err := c.exec.Text(c.ctx, c.tab, nil)
	if err != nil {
		c.Fatalf("text: %v", err)
	}
	c.wantIn(got.Text, words...)
	md, err := c.exec.Markdown(c.ctx, c.tab, &executor.MarkdownOptions{Selector: "body"})
	if err != nil {
		c.Fatalf("markdown: %v", err)
	}
	if _, err := c.exec.HTML(c.ctx, c.tab, nil); err != nil {
		c.Errorf("html: %v", err)
	}
	if _, err := c.exec.Screenshot(c.ctx, c.tab, &executor.ScreenshotOptions{Labels: true}); err != nil {
		c.Errorf("screenshot: %v", err)
	}
	return md.Markdown
}

package suite

import (
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// SnapWith takes snapshots until one contains part: cross-site frames may finish loading after the
// page. The deadline of the case limits it.
func (c *Case) SnapWith(part string) string {
	c.Helper()
	for {
		text := c.Snap(nil)
		if strings.Contains(text, part) {
			return text
		}
		if c.Ctx.Err() != nil {
			c.Fatalf("%q did not appear in the snapshot:\n%s", part, text)
		}
	}
}

// Text reads the text of the page.
func (c *Case) Text(opts *executor.TextOptions) string {
	c.Helper()
	text, err := c.Page().Text(c.Ctx, opts)
	if err != nil {
		c.Fatalf("text: %v", err)
	}
	return text.Content
}

// TextWith reads the text until it contains part: cross-site frames may finish loading after the
// page. The deadline of the case limits it.
func (c *Case) TextWith(part string) string {
	c.Helper()
	for {
		text := c.Text(nil)
		if strings.Contains(text, part) {
			return text
		}
		if c.Ctx.Err() != nil {
			c.Fatalf("%q did not appear in the text:\n%s", part, text)
		}
	}
}

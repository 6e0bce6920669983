package executortest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// hostileFrame tests a frame of a denied origin that tries to send text to the client.
func (s *suite) hostileFrame(t *testing.T) {
	quiet := func(c *testCase, what string, changes executor.Changes) {
		c.Helper()
		reported := strings.Join(changes.Errors, " ") + changes.Diff + changes.Snapshot + changes.Note
		if changes.Dialog != nil {
			reported += changes.Dialog.Message
		}
		for _, d := range changes.Downloads {
			reported += d.SuggestedName + d.Path + d.Reason
		}
		if strings.Contains(reported, "SECRET") {
			c.Errorf("%s contains %q", what, reported)
		}
	}
	s.gated(t, "dialog", "frame-embedder.html", func(c *testCase, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		a := c.click(css("#alert"), nil)
		quiet(c, "the click", a.Changes)
		var err error
		for err == nil { // the frame has its own process and opens the dialog with a delay
			_, err = c.page().Text(c.ctx, nil)
		}
		if c.wantCode(err, executor.ErrDialogOpen); strings.Contains(err.Error(), "SECRET") {
			c.Errorf("while it is open: %v", err)
		}
		res, err := c.page().HandleDialog(c.ctx, executor.DialogAnswer{})
		if err != nil {
			c.Fatal(err)
		}
		if res.Type != executor.DialogAlert || res.Message != "" {
			c.Errorf("answered %+v", *res)
		}
	})
	s.gated(t, "error", "frame-embedder.html", func(c *testCase, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		quiet(c, "the click", c.click(css("#throw"), nil).Changes)
		c.await("thrown", "frame")
		quiet(c, "the next one", c.click(css("h1"), nil).Changes)
	})
	s.gated(t, "download", "frame-embedder.html", func(c *testCase, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		quiet(c, "the click", c.click(css("#download"), nil).Changes)
		c.await("downloaded", "frame")
		quiet(c, "the next one", c.click(css("h1"), nil).Changes)
	})
}

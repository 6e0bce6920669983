package executortest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// hostileFrame is about a frame of a denied origin that does what it can to
// have the client hear of it.
func (s *suite) hostileFrame(t *testing.T) {
	quiet := func(c *scene, what string, changes executor.Changes) {
		c.Helper()
		told := strings.Join(changes.Errors, " ") + changes.Diff + changes.Snapshot + changes.Note
		if changes.Dialog != nil {
			told += changes.Dialog.Message
		}
		for _, d := range changes.Downloads {
			told += d.SuggestedName + d.Path + d.Reason
		}
		if strings.Contains(told, "SECRET") {
			c.Errorf("%s tells %q", what, told)
		}
	}
	s.gated(t, "dialog", "around.html", func(c *scene, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		a := c.click(css("#alert"), nil)
		quiet(c, "the click", a.Changes)
		var err error
		for err == nil { // the frame, in its own process, opens it when it gets to it
			_, err = c.exec.Text(c.ctx, c.tab, nil)
		}
		if c.wantCode(err, executor.ErrDialogOpen); strings.Contains(err.Error(), "SECRET") {
			c.Errorf("while it is open: %v", err)
		}
		res, err := c.exec.HandleDialog(c.ctx, c.tab, executor.DialogAnswer{})
		if err != nil {
			c.Fatal(err)
		}
		if res.Type != executor.DialogAlert || res.Message != "" {
			c.Errorf("answered %+v", *res)
		}
	})
	s.gated(t, "error", "around.html", func(c *scene, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		quiet(c, "the click", c.click(css("#throw"), nil).Changes)
		c.await("thrown", "frame")
		quiet(c, "the next one", c.click(css("h1"), nil).Changes)
	})
	s.gated(t, "download", "around.html", func(c *scene, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		quiet(c, "the click", c.click(css("#download"), nil).Changes)
		c.await("downloaded", "frame")
		quiet(c, "the next one", c.click(css("h1"), nil).Changes)
	})
}

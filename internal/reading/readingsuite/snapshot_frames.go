package readingsuite

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// frame adds a frame to the page of snapshot_late.html and waits for its load.
func frame(c *suite.Case, src, title string) {
	c.Helper()
	c.Eval(fmt.Sprintf("add(%q, %q)", src, title), nil)
	c.Await("loaded", "frame")
}

// wantExpired clicks a ref and checks that it is reported as expired.
func wantExpired(c *suite.Case, ref executor.Ref) {
	c.Helper()
	_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
	c.WantCode(err, executor.ErrRefExpired, string(ref))
}

func snapshotFrames(s *suite.Runner, t *testing.T) {
	s.Page(t, "documents in object and embed elements", "snapshot_objects.html", func(c *suite.Case) {
		c.SnapWith(`"In an object"`)
		c.SnapWith(`"In an embed"`)
		snap := c.SnapWith(`"Far in across"`)
		c.Clicked(suite.ByRef(c.RefIn(snap, "button", "In an object")), "object")
		c.Clicked(suite.ByRef(c.RefIn(snap, "button", "In an embed")), "embed")
		c.Clicked(suite.ByRef(c.RefIn(snap, "button", "Far in across")), "far-across")
		c.WantNotIn(snap, "never shown")
	})
	for name, plan := range suite.Sorted(map[string]string{
		"alternating cross-site frames, three levels":              "ooo",
		"cross-site frame with a same-site and a cross-site child": "oso",
		"same-site frames around a cross-site frame":               "sso",
	}) {
		s.Page(t, name, "snapshot_nest.html?plan="+plan, func(c *suite.Case) {
			text := c.SnapWith("Words of level 3")
			for level := range 4 {
				c.WantIn(text, fmt.Sprintf("text: Words of level %d", level))
			}
			c.Click(suite.ByRef(c.RefIn(text, "button", "Button 3")), nil)
			c.Await("click", "deep3")
			c.Click(suite.ByRef(c.RefIn(text, "button", "Button 1")), nil)
			c.Await("click", "deep1")
		})
	}
	s.Page(t, "srcdoc, blank, blob and sandboxed frames, and one in a shadow root", "snapshot_frames.html", func(c *suite.Case) {
		text := c.SnapWith("In blob")
		c.WantIn(text, `iframe "Srcdoc"`, `button "In srcdoc"`, `iframe "Blank"`, `button "In blank"`, `iframe "Blob"`,
			`iframe "Sandboxed"`, "text: Sandboxed words", `iframe "In a shadow"`, `button "Framed in a shadow"`)
	})
	s.Page(t, "invisible frames are omitted with their content", "snapshot_frames.html", func(c *suite.Case) {
		c.WantNotIn(c.SnapWith("In blob"), "Hidden words", "Unseen words", "Muted words", "Pixel words")
	})
	s.Page(t, "loading frame is shown without content", "snapshot_late.html", func(c *suite.Case) {
		c.Eval(fmt.Sprintf("add(%q, 'Slow')", c.HeldURL("slow")), nil)
		c.AwaitRequest("slow")
		text := c.Snap(nil)
		c.WantIn(text, `iframe "Slow"`)
		c.WantNotIn(text, "held slow")
		c.Release("slow")
		c.Await("loaded", "frame")
		c.WantIn(c.SnapWith("held slow"), "text: held slow")
	})
	for name, other := range suite.Sorted(map[string]bool{"": false, " of another site": true}) {
		address := func(c *suite.Case, file string) string {
			if other {
				return c.OtherURL(file)
			}
			return c.URL(file)
		}
		s.Page(t, "a frame"+name+" navigates: old refs expire, new document is read", "snapshot_late.html", func(c *suite.Case) {
			frame(c, address(c, "frame.html"), "Wanders")
			ref := c.RefIn(c.SnapWith("Words of the frame"), "button", "In the frame")
			c.Eval(fmt.Sprintf("frame.src = %q; 0", address(c, "snapshot_nest.html")), nil)
			c.Await("loaded", "frame")
			text := c.SnapWith("Words of level 0")
			c.WantNotIn(text, "Words of the frame")
			if got := c.RefIn(text, "button", "Button 0"); got == ref {
				c.Errorf("the new document's button has the old document's ref %s", got)
			}
			wantExpired(c, ref)
		})
		s.Page(t, "a frame"+name+" is removed: its refs expire", "snapshot_late.html", func(c *suite.Case) {
			frame(c, address(c, "frame.html"), "Goes")
			ref := c.RefIn(c.SnapWith("Words of the frame"), "button", "In the frame")
			c.Eval("frame.remove(); 0", nil)
			c.WantNotIn(c.Snap(nil), "Words of the frame", "iframe")
			wantExpired(c, ref)
		})
		s.Page(t, "closed shadow roots in a frame"+name, "snapshot_late.html", func(c *suite.Case) {
			frame(c, address(c, "closed.html"), "Closed")
			text := c.SnapWith("In a closed root")
			c.WantIn(text, `textbox "Deep"`, `button "In a box"`)
			c.Click(suite.ByRef(c.RefIn(text, "button", "In a closed root")), nil)
			c.Await("click", "in-closed")
		})
	}
	s.Page(t, "frame navigates to another site", "snapshot_late.html", func(c *suite.Case) {
		frame(c, c.URL("frame.html"), "Moves")
		ref := c.RefIn(c.SnapWith("Words of the frame"), "button", "In the frame")
		c.Eval(fmt.Sprintf("frame.src = %q; 0", c.OtherURL("frame.html?id=cross")), nil)
		c.Await("loaded", "frame")
		text := c.SnapWith("Words from across")
		c.WantNotIn(text, "Words of the frame")
		wantExpired(c, ref)
		c.Click(suite.ByRef(c.RefIn(text, "button", "Across")), nil)
		c.Await("click", "across")
	})
	s.Page(t, "matches in several frames: first in document order", "snapshot_frameorder.html", func(c *suite.Case) {
		target := suite.Selector(`role=button[name="Go"]`)
		c.Eval("add('append', 'a')", nil)
		c.Click(target, nil)
		c.Await("click", "a")
		c.Eval("add('prepend', 'b')", nil)
		c.Click(target, nil)
		c.Await("click", "b")
		c.Eval("drop('b')", nil)
		c.Eval("add('append', 'c')", nil)
		c.Click(target, nil)
		c.Await("click", "a")
		c.Eval("drop('a')", nil)
		c.Eval("add('append', 'd')", nil)
		c.Click(target, nil)
		c.Await("click", "c")
		c.Eval("drop('c')", nil)
		c.Eval("drop('d')", nil)
		c.Click(target, nil)
		c.Await("click", "last")
	})
	s.Page(t, "frame content: partial snapshot, find and diff", "snapshot_nest.html?plan=oo", func(c *suite.Case) {
		text := c.SnapWith("Words of level 2")
		part := c.Snap(&executor.SnapshotOptions{Target: suite.ByRef(c.RefIn(text, "iframe", "Level 1"))})
		c.WantIn(part, "Words of level 1", "Words of level 2")
		c.WantNotIn(part, "Words of level 0")
		part = c.Snap(&executor.SnapshotOptions{Find: "level 2"})
		c.WantIn(part, `iframe "Level 2"`, "Words of level 2")
		c.WantNotIn(part, "Words of level 1")
		if diff := c.Snap(&executor.SnapshotOptions{Diff: true}); diff != "no visible change" {
			c.Errorf("nothing happened, but the diff is:\n%s", diff)
		}
	})
}

func snapshotShadow(s *suite.Runner, t *testing.T) {
	s.Page(t, "slots show assigned or fallback content", "snapshot_shadow.html", func(c *suite.Case) {
		text := bare(c, nil)
		wantLines(c, text, `heading "Named head" [level=2]`, "text: Default words", `heading "Fallback head" [level=2]`, "text: Fallback words")
		c.WantNotIn(text, "Slotted nowhere")
	})
	s.Page(t, "element moved to another slot keeps its ref", "snapshot_shadow.html", func(c *suite.Case) {
		c.Eval(`document.querySelector("i").slot = "other"; 0`, nil)
		c.WantIn(c.Snap(nil), "text: Slotted nowhere")
		ref := c.Ref("button", "Light button")
		c.Eval(`document.querySelector("x-slots#bare").append(document.querySelector("x-open > button")); 0`, nil)
		text := c.Snap(nil)
		c.WantNotIn(text, "Fallback words")
		if got := c.RefIn(text, "button", "Light button"); got != ref {
			c.Errorf("the moved button has ref %s, had %s", got, ref)
		}
	})
	s.Page(t, "nested closed and open shadow roots", "snapshot_shadow.html", func(c *suite.Case) {
		wantLines(c, bare(c, nil), `region "Outer"`, `button "Closed in open"`, `textbox "Core field"`)
	})
	s.Page(t, "closed root of a late-defined custom element", "snapshot_shadow.html", func(c *suite.Case) {
		c.WantNotIn(c.Snap(nil), "Upgraded late")
		c.Eval("define()", nil)
		wantLines(c, bare(c, nil), `button "Upgraded late"`)
	})
	s.Page(t, "closed root attached late", "snapshot_shadow.html", func(c *suite.Case) {
		c.Snap(nil)
		c.Eval("addClosed()", nil)
		wantLines(c, bare(c, nil), `button "Added late"`)
	})
	s.Page(t, "roles, names and states by ElementInternals", "snapshot_internals.html", func(c *suite.Case) {
		text := bare(c, nil)
		wantLines(c, text, `switch "Wifi" [checked]`, `button "Press me"`, `slider "Volume": 7`, `checkbox "Own label" [checked]`, "text: plain")
		ref := c.RefIn(c.Snap(nil), "switch", "Wifi")
		c.Click(executor.Target{Ref: ref}, nil)
		wantLines(c, bare(c, nil), `switch "Wifi"`)
		c.WantNotIn(bare(c, nil), `switch "Wifi" [checked]`)
	})
	s.Page(t, "roles by ElementInternals after other calls", "snapshot_internals.html", func(c *suite.Case) {
		c.Click(suite.Selector("my-button"), nil)
		c.Must(c.Page().Links(c.Ctx, nil))
		wantLines(c, bare(c, nil), `switch "Wifi" [checked]`, `button "Press me"`)
	})
	s.Page(t, "closed roots after other calls", "snapshot_shadow.html", func(c *suite.Case) {
		c.Must(c.Page().Links(c.Ctx, nil))
		wantLines(c, bare(c, nil), `button "Closed in open"`)
	})
	s.Page(t, "role from ElementInternals is selectable", "snapshot_internals.html", func(c *suite.Case) {
		c.Click(suite.Selector(`role=switch[name="Wifi"]`), nil)
		c.WantNotIn(bare(c, nil), `switch "Wifi" [checked]`)
	})
	s.Page(t, "name references resolve in the same shadow root", "snapshot_shadow.html", func(c *suite.Case) {
		wantLines(c, bare(c, nil), `textbox "Name in the root"`, `button "Own name"`)
	})
}

func snapshotModal(s *suite.Runner, t *testing.T) {
	behind := func(c *suite.Case, text string) {
		c.Helper()
		c.WantIn(text, "elements behind the dialog are omitted")
		c.WantNotIn(text, "Behind words", `button "Open"`)
	}
	s.Page(t, "modal dialog with description, without the page behind it", "snapshot_modal.html", func(c *suite.Case) {
		c.Click(suite.Selector("#open"), nil)
		text := bare(c, nil)
		wantLines(c, text, `dialog "Delete file?" [modal] [description="This cannot be undone."]`, `button "Delete" [focused]`)
		behind(c, text)
		c.Click(suite.Selector("#yes"), nil)
		wantLines(c, bare(c, nil), "text: Behind words", `button "Open" [focused]`)
	})
	s.Page(t, "topmost of two modal dialogs", "snapshot_modal.html", func(c *suite.Case) {
		c.Click(suite.Selector("#open"), nil)
		c.Click(suite.Selector("#more"), nil)
		text := bare(c, nil)
		wantLines(c, text, `dialog "Second" [modal]`)
		c.WantNotIn(text, "Delete file?")
		behind(c, text)
		c.Click(suite.Selector("#back"), nil)
		wantLines(c, bare(c, nil), `button "More" [focused]`)
	})
	s.Page(t, "aria-modal dialog", "snapshot_modal.html", func(c *suite.Case) {
		c.Click(suite.Selector("#aria"), nil)
		text := bare(c, nil)
		wantLines(c, text, `dialog "Sign in" [modal]`, `textbox "User"`)
		behind(c, text)
		c.Click(suite.Selector("#close"), nil)
		wantLines(c, bare(c, nil), "text: Behind words")
	})
	s.Page(t, "non-modal dialog does not hide the page", "snapshot_modal.html", func(c *suite.Case) {
		c.Click(suite.Selector("#show"), nil)
		wantLines(c, bare(c, nil), `dialog "Delete file?" [description="This cannot be undone."]`, "text: Behind words", `button "Open"`)
	})
	s.Page(t, "popover is shown while open", "snapshot_modal.html", func(c *suite.Case) {
		c.WantNotIn(c.Snap(nil), "Popover words")
		c.Click(suite.Selector("#popper"), nil)
		wantLines(c, bare(c, nil), "text: Popover words", `button "In popover"`, "text: Behind words")
	})
}

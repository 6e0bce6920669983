package executortest

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// frame adds a frame to the page of snapshot_late.html and waits for its load.
func (c *testCase) frame(src, title string) {
	c.Helper()
	c.eval(fmt.Sprintf("add(%q, %q)", src, title), nil)
	c.await("loaded", "frame")
}

// wantExpired clicks a ref and checks that it is reported as expired.
func (c *testCase) wantExpired(ref executor.Ref) {
	c.Helper()
	_, err := c.page().Click(c.ctx, byRef(ref), nil)
	c.wantCode(err, executor.ErrRefExpired, string(ref))
}

func (s *suite) snapshotFrames(t *testing.T) {
	s.page(t, "documents in object and embed elements", "snapshot_objects.html", func(c *testCase) {
		c.snapWith(`"In an object"`)
		c.snapWith(`"In an embed"`)
		snap := c.snapWith(`"Far in across"`)
		c.clicked(byRef(c.refIn(snap, "button", "In an object")), "object")
		c.clicked(byRef(c.refIn(snap, "button", "In an embed")), "embed")
		c.clicked(byRef(c.refIn(snap, "button", "Far in across")), "far-across")
		c.wantNotIn(snap, "never shown")
	})
	for name, plan := range sorted(map[string]string{
		"alternating cross-site frames, three levels":              "ooo",
		"cross-site frame with a same-site and a cross-site child": "oso",
		"same-site frames around a cross-site frame":               "sso",
	}) {
		s.page(t, name, "snapshot_nest.html?plan="+plan, func(c *testCase) {
			text := c.snapWith("Words of level 3")
			for level := range 4 {
				c.wantIn(text, fmt.Sprintf("text: Words of level %d", level))
			}
			c.click(byRef(c.refIn(text, "button", "Button 3")), nil)
			c.await("click", "deep3")
			c.click(byRef(c.refIn(text, "button", "Button 1")), nil)
			c.await("click", "deep1")
		})
	}
	s.page(t, "srcdoc, blank, blob and sandboxed frames, and one in a shadow root", "snapshot_frames.html", func(c *testCase) {
		text := c.snapWith("In blob")
		c.wantIn(text, `iframe "Srcdoc"`, `button "In srcdoc"`, `iframe "Blank"`, `button "In blank"`, `iframe "Blob"`,
			`iframe "Sandboxed"`, "text: Sandboxed words", `iframe "In a shadow"`, `button "Framed in a shadow"`)
	})
	s.page(t, "invisible frames are omitted with their content", "snapshot_frames.html", func(c *testCase) {
		c.wantNotIn(c.snapWith("In blob"), "Hidden words", "Unseen words", "Muted words", "Pixel words")
	})
	s.page(t, "loading frame is shown without content", "snapshot_late.html", func(c *testCase) {
		c.eval(fmt.Sprintf("add(%q, 'Slow')", c.heldURL("slow")), nil)
		c.awaitRequest("slow")
		text := c.snap(nil)
		c.wantIn(text, `iframe "Slow"`)
		c.wantNotIn(text, "held slow")
		c.release("slow")
		c.await("loaded", "frame")
		c.wantIn(c.snapWith("held slow"), "text: held slow")
	})
	for name, other := range sorted(map[string]bool{"": false, " of another site": true}) {
		address := func(c *testCase, file string) string {
			if other {
				return c.otherURL(file)
			}
			return c.url(file)
		}
		s.page(t, "a frame"+name+" navigates: old refs expire, new document is read", "snapshot_late.html", func(c *testCase) {
			c.frame(address(c, "frame.html"), "Wanders")
			ref := c.refIn(c.snapWith("Words of the frame"), "button", "In the frame")
			c.eval(fmt.Sprintf("frame.src = %q; 0", address(c, "snapshot_nest.html")), nil)
			c.await("loaded", "frame")
			text := c.snapWith("Words of level 0")
			c.wantNotIn(text, "Words of the frame")
			if got := c.refIn(text, "button", "Button 0"); got == ref {
				c.Errorf("the new document's button has the old document's ref %s", got)
			}
			c.wantExpired(ref)
		})
		s.page(t, "a frame"+name+" is removed: its refs expire", "snapshot_late.html", func(c *testCase) {
			c.frame(address(c, "frame.html"), "Goes")
			ref := c.refIn(c.snapWith("Words of the frame"), "button", "In the frame")
			c.eval("frame.remove(); 0", nil)
			c.wantNotIn(c.snap(nil), "Words of the frame", "iframe")
			c.wantExpired(ref)
		})
		s.page(t, "closed shadow roots in a frame"+name, "snapshot_late.html", func(c *testCase) {
			c.frame(address(c, "closed.html"), "Closed")
			text := c.snapWith("In a closed root")
			c.wantIn(text, `textbox "Deep"`, `button "In a box"`)
			c.click(byRef(c.refIn(text, "button", "In a closed root")), nil)
			c.await("click", "in-closed")
		})
	}
	s.page(t, "frame navigates to another site", "snapshot_late.html", func(c *testCase) {
		c.frame(c.url("frame.html"), "Moves")
		ref := c.refIn(c.snapWith("Words of the frame"), "button", "In the frame")
		c.eval(fmt.Sprintf("frame.src = %q; 0", c.otherURL("frame.html?id=cross")), nil)
		c.await("loaded", "frame")
		text := c.snapWith("Words from across")
		c.wantNotIn(text, "Words of the frame")
		c.wantExpired(ref)
		c.click(byRef(c.refIn(text, "button", "Across")), nil)
		c.await("click", "across")
	})
	s.page(t, "matches in several frames: first in document order", "snapshot_frameorder.html", func(c *testCase) {
		target := css(`role=button[name="Go"]`)
		c.eval("add('append', 'a')", nil)
		c.click(target, nil)
		c.await("click", "a")
		c.eval("add('prepend', 'b')", nil)
		c.click(target, nil)
		c.await("click", "b")
		c.eval("drop('b')", nil)
		c.eval("add('append', 'c')", nil)
		c.click(target, nil)
		c.await("click", "a")
		c.eval("drop('a')", nil)
		c.eval("add('append', 'd')", nil)
		c.click(target, nil)
		c.await("click", "c")
		c.eval("drop('c')", nil)
		c.eval("drop('d')", nil)
		c.click(target, nil)
		c.await("click", "last")
	})
	s.page(t, "frame content: partial snapshot, find and diff", "snapshot_nest.html?plan=oo", func(c *testCase) {
		text := c.snapWith("Words of level 2")
		part := c.snap(&executor.SnapshotOptions{Target: byRef(c.refIn(text, "iframe", "Level 1"))})
		c.wantIn(part, "Words of level 1", "Words of level 2")
		c.wantNotIn(part, "Words of level 0")
		part = c.snap(&executor.SnapshotOptions{Find: "level 2"})
		c.wantIn(part, `iframe "Level 2"`, "Words of level 2")
		c.wantNotIn(part, "Words of level 1")
		if diff := c.snap(&executor.SnapshotOptions{Diff: true}); diff != "no visible change" {
			c.Errorf("nothing happened, but the diff is:\n%s", diff)
		}
	})
}

func (s *suite) snapshotShadow(t *testing.T) {
	s.page(t, "slots show assigned or fallback content", "snapshot_shadow.html", func(c *testCase) {
		text := c.bare(nil)
		c.wantLines(text, `heading "Named head" [level=2]`, "text: Default words", `heading "Fallback head" [level=2]`, "text: Fallback words")
		c.wantNotIn(text, "Slotted nowhere")
	})
	s.page(t, "element moved to another slot keeps its ref", "snapshot_shadow.html", func(c *testCase) {
		c.eval(`document.querySelector("i").slot = "other"; 0`, nil)
		c.wantIn(c.snap(nil), "text: Slotted nowhere")
		ref := c.ref("button", "Light button")
		c.eval(`document.querySelector("x-slots#bare").append(document.querySelector("x-open > button")); 0`, nil)
		text := c.snap(nil)
		c.wantNotIn(text, "Fallback words")
		if got := c.refIn(text, "button", "Light button"); got != ref {
			c.Errorf("the moved button has ref %s, had %s", got, ref)
		}
	})
	s.page(t, "nested closed and open shadow roots", "snapshot_shadow.html", func(c *testCase) {
		c.wantLines(c.bare(nil), `region "Outer"`, `button "Closed in open"`, `textbox "Core field"`)
	})
	s.page(t, "closed root of a late-defined custom element", "snapshot_shadow.html", func(c *testCase) {
		c.wantNotIn(c.snap(nil), "Upgraded late")
		c.eval("define()", nil)
		c.wantLines(c.bare(nil), `button "Upgraded late"`)
	})
	s.page(t, "closed root attached late", "snapshot_shadow.html", func(c *testCase) {
		c.snap(nil)
		c.eval("addClosed()", nil)
		c.wantLines(c.bare(nil), `button "Added late"`)
	})
	s.page(t, "roles, names and states by ElementInternals", "snapshot_internals.html", func(c *testCase) {
		text := c.bare(nil)
		c.wantLines(text, `switch "Wifi" [checked]`, `button "Press me"`, `slider "Volume": 7`, `checkbox "Own label" [checked]`, "text: plain")
		ref := c.refIn(c.snap(nil), "switch", "Wifi")
		c.click(executor.Target{Ref: ref}, nil)
		c.wantLines(c.bare(nil), `switch "Wifi"`)
		c.wantNotIn(c.bare(nil), `switch "Wifi" [checked]`)
	})
	s.page(t, "role from ElementInternals is selectable", "snapshot_internals.html", func(c *testCase) {
		c.click(css(`role=switch[name="Wifi"]`), nil)
		c.wantNotIn(c.bare(nil), `switch "Wifi" [checked]`)
	})
	s.page(t, "name references resolve in the same shadow root", "snapshot_shadow.html", func(c *testCase) {
		c.wantLines(c.bare(nil), `textbox "Name in the root"`, `button "Own name"`)
	})
}

func (s *suite) snapshotModal(t *testing.T) {
	behind := func(c *testCase, text string) {
		c.Helper()
		c.wantIn(text, "elements behind the dialog are omitted")
		c.wantNotIn(text, "Behind words", `button "Open"`)
	}
	s.page(t, "modal dialog with description, without the page behind it", "snapshot_modal.html", func(c *testCase) {
		c.click(css("#open"), nil)
		text := c.bare(nil)
		c.wantLines(text, `dialog "Delete file?" [modal] [description="This cannot be undone."]`, `button "Delete" [focused]`)
		behind(c, text)
		c.click(css("#yes"), nil)
		c.wantLines(c.bare(nil), "text: Behind words", `button "Open" [focused]`)
	})
	s.page(t, "topmost of two modal dialogs", "snapshot_modal.html", func(c *testCase) {
		c.click(css("#open"), nil)
		c.click(css("#more"), nil)
		text := c.bare(nil)
		c.wantLines(text, `dialog "Second" [modal]`)
		c.wantNotIn(text, "Delete file?")
		behind(c, text)
		c.click(css("#back"), nil)
		c.wantLines(c.bare(nil), `button "More" [focused]`)
	})
	s.page(t, "aria-modal dialog", "snapshot_modal.html", func(c *testCase) {
		c.click(css("#aria"), nil)
		text := c.bare(nil)
		c.wantLines(text, `dialog "Sign in" [modal]`, `textbox "User"`)
		behind(c, text)
		c.click(css("#close"), nil)
		c.wantLines(c.bare(nil), "text: Behind words")
	})
	s.page(t, "non-modal dialog does not hide the page", "snapshot_modal.html", func(c *testCase) {
		c.click(css("#show"), nil)
		c.wantLines(c.bare(nil), `dialog "Delete file?" [description="This cannot be undone."]`, "text: Behind words", `button "Open"`)
	})
	s.page(t, "popover is shown while open", "snapshot_modal.html", func(c *testCase) {
		c.wantNotIn(c.snap(nil), "Popover words")
		c.click(css("#popper"), nil)
		c.wantLines(c.bare(nil), "text: Popover words", `button "In popover"`, "text: Behind words")
	})
}

package executortest

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// frame has the page of snapshot_late.html add a frame and waits for its load.
func (c *scene) frame(src, title string) {
	c.Helper()
	c.eval(fmt.Sprintf("add(%q, %q)", src, title), nil)
	c.await("loaded", "frame")
}

// wantExpired clicks a ref and checks that it is one of a document or an
// element that is gone.
func (c *scene) wantExpired(ref executor.Ref) {
	c.Helper()
	_, err := c.exec.Click(c.ctx, c.tab, byRef(ref), nil)
	c.wantCode(err, executor.ErrRefExpired, string(ref))
}

func (s *suite) snapshotFrames(t *testing.T) {
	s.page(t, "what object and embed elements show, pictures apart", "snapshot_objects.html", func(c *scene) {
		c.snapWith(`"In an object"`)
		c.snapWith(`"In an embed"`)
		snap := c.snapWith(`"Far in across"`)
		c.clicked(byRef(c.refIn(snap, "button", "In an object")), "object")
		c.clicked(byRef(c.refIn(snap, "button", "In an embed")), "embed")
		c.clicked(byRef(c.refIn(snap, "button", "Far in across")), "far-across")
		c.wantNotIn(snap, "never shown")
	})
	for name, plan := range sorted(map[string]string{
		"frames of two sites in turn, three deep":                             "ooo",
		"a frame of another site that holds one of its own site and one back": "oso",
		"frames of the same site around one of another site":                  "sso",
	}) {
		s.page(t, name, "snapshot_nest.html?plan="+plan, func(c *scene) {
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
	s.page(t, "srcdoc, blank, blob and sandboxed frames, and one in a shadow root", "snapshot_frames.html", func(c *scene) {
		text := c.snapWith("In blob")
		c.wantIn(text, `iframe "Srcdoc"`, `button "In srcdoc"`, `iframe "Blank"`, `button "In blank"`, `iframe "Blob"`,
			`iframe "Sandboxed"`, "text: Sandboxed words", `iframe "In a shadow"`, `button "Framed in a shadow"`)
	})
	s.page(t, "frames that nobody sees are left out with all that is in them", "snapshot_frames.html", func(c *scene) {
		c.wantNotIn(c.snapWith("In blob"), "Hidden words", "Unseen words", "Muted words", "Pixel words")
	})
	s.page(t, "a frame that has not come yet is a frame with nothing in it", "snapshot_late.html", func(c *scene) {
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
		address := func(c *scene, file string) string {
			if other {
				return c.otherURL(file)
			}
			return c.url(file)
		}
		s.page(t, "a frame"+name+" that goes elsewhere: its old refs expire, its new document is read", "snapshot_late.html", func(c *scene) {
			c.frame(address(c, "frame.html"), "Wanders")
			ref := c.refIn(c.snapWith("Words of the frame"), "button", "In the frame")
			c.eval(fmt.Sprintf("frame.src = %q; 0", address(c, "snapshot_nest.html")), nil)
			c.await("loaded", "frame")
			text := c.snapWith("Words of level 0")
			c.wantNotIn(text, "Words of the frame")
			if got := c.refIn(text, "button", "Button 0"); got == ref {
				c.Errorf("the new document's button has the old one's ref %s", got)
			}
			c.wantExpired(ref)
		})
		s.page(t, "a frame"+name+" that is removed takes its refs along", "snapshot_late.html", func(c *scene) {
			c.frame(address(c, "frame.html"), "Goes")
			ref := c.refIn(c.snapWith("Words of the frame"), "button", "In the frame")
			c.eval("frame.remove(); 0", nil)
			c.wantNotIn(c.snap(nil), "Words of the frame", "iframe")
			c.wantExpired(ref)
		})
		s.page(t, "closed shadow roots in a frame"+name, "snapshot_late.html", func(c *scene) {
			c.frame(address(c, "closed.html"), "Closed")
			text := c.snapWith("In a closed root")
			c.wantIn(text, `textbox "Deep"`, `button "In a box"`)
			c.click(byRef(c.refIn(text, "button", "In a closed root")), nil)
			c.await("click", "in-closed")
		})
	}
	s.page(t, "a frame that changes sites", "snapshot_late.html", func(c *scene) {
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
	s.page(t, "of matches in several frames the first in the page is taken, whichever frame came first", "snapshot_frameorder.html", func(c *scene) {
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
	s.page(t, "what is in a frame can be looked at alone, searched and compared", "snapshot_nest.html?plan=oo", func(c *scene) {
		text := c.snapWith("Words of level 2")
		part := c.snap(&executor.SnapshotOptions{Target: byRef(c.refIn(text, "iframe", "Level 1"))})
		c.wantIn(part, "Words of level 1", "Words of level 2")
		c.wantNotIn(part, "Words of level 0")
		part = c.snap(&executor.SnapshotOptions{Find: "level 2"})
		c.wantIn(part, `iframe "Level 2"`, "Words of level 2")
		c.wantNotIn(part, "Words of level 1")
		if diff := c.snap(&executor.SnapshotOptions{Diff: true}); diff != "no visible change" {
			c.Errorf("nothing happened, and the difference is:\n%s", diff)
		}
	})
}

func (s *suite) snapshotShadow(t *testing.T) {
	s.page(t, "slots show what is put into them, else their own content", "snapshot_shadow.html", func(c *scene) {
		text := c.bare(nil)
		c.wantLines(text, `heading "Named head" [level=2]`, "text: Default words", `heading "Fallback head" [level=2]`, "text: Fallback words")
		c.wantNotIn(text, "Slotted nowhere")
	})
	s.page(t, "what is moved to another slot moves in the snapshot and keeps its ref", "snapshot_shadow.html", func(c *scene) {
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
	s.page(t, "closed roots in open ones, and open ones in those", "snapshot_shadow.html", func(c *scene) {
		c.wantLines(c.bare(nil), `region "Outer"`, `button "Closed in open"`, `textbox "Core field"`)
	})
	s.page(t, "a closed root of an element that is defined late", "snapshot_shadow.html", func(c *scene) {
		c.wantNotIn(c.snap(nil), "Upgraded late")
		c.eval("define()", nil)
		c.wantLines(c.bare(nil), `button "Upgraded late"`)
	})
	s.page(t, "a closed root that is added late", "snapshot_shadow.html", func(c *scene) {
		c.snap(nil)
		c.eval("addClosed()", nil)
		c.wantLines(c.bare(nil), `button "Added late"`)
	})
	s.page(t, "roles, names and states by ElementInternals", "snapshot_internals.html", func(c *scene) {
		text := c.bare(nil)
		c.wantLines(text, `switch "Wifi" [checked]`, `button "Press me"`, `slider "Volume": 7`, `checkbox "Own label" [checked]`, "text: plain")
		ref := c.refIn(c.snap(nil), "switch", "Wifi")
		c.click(executor.Target{Ref: ref}, nil)
		c.wantLines(c.bare(nil), `switch "Wifi"`)
		c.wantNotIn(c.bare(nil), `switch "Wifi" [checked]`)
	})
	s.page(t, "a role by ElementInternals can be selected at once", "snapshot_internals.html", func(c *scene) {
		c.click(css(`role=switch[name="Wifi"]`), nil)
		c.wantNotIn(c.bare(nil), `switch "Wifi" [checked]`)
	})
	s.page(t, "names refer to elements of the same root", "snapshot_shadow.html", func(c *scene) {
		c.wantLines(c.bare(nil), `textbox "Name in the root"`, `button "Own name"`)
	})
}

func (s *suite) snapshotModal(t *testing.T) {
	behind := func(c *scene, text string) {
		c.Helper()
		c.wantIn(text, "elements behind the dialog are left out")
		c.wantNotIn(text, "Behind words", `button "Open"`)
	}
	s.page(t, "a modal dialog with its description, and without what is behind it", "snapshot_modal.html", func(c *scene) {
		c.click(css("#open"), nil)
		text := c.bare(nil)
		c.wantLines(text, `dialog "Delete file?" [modal] [description="This cannot be undone."]`, `button "Delete" [focused]`)
		behind(c, text)
		c.click(css("#yes"), nil)
		c.wantLines(c.bare(nil), "text: Behind words", `button "Open" [focused]`)
	})
	s.page(t, "of two modal dialogs the one in front", "snapshot_modal.html", func(c *scene) {
		c.click(css("#open"), nil)
		c.click(css("#more"), nil)
		text := c.bare(nil)
		c.wantLines(text, `dialog "Second" [modal]`)
		c.wantNotIn(text, "Delete file?")
		behind(c, text)
		c.click(css("#back"), nil)
		c.wantLines(c.bare(nil), `button "More" [focused]`)
	})
	s.page(t, "a modal dialog of a script", "snapshot_modal.html", func(c *scene) {
		c.click(css("#aria"), nil)
		text := c.bare(nil)
		c.wantLines(text, `dialog "Sign in" [modal]`, `textbox "User"`)
		behind(c, text)
		c.click(css("#close"), nil)
		c.wantLines(c.bare(nil), "text: Behind words")
	})
	s.page(t, "a dialog that is not modal leaves the page as it is", "snapshot_modal.html", func(c *scene) {
		c.click(css("#show"), nil)
		c.wantLines(c.bare(nil), `dialog "Delete file?" [description="This cannot be undone."]`, "text: Behind words", `button "Open"`)
	})
	s.page(t, "a popover is there while it is open", "snapshot_modal.html", func(c *scene) {
		c.wantNotIn(c.snap(nil), "Popover words")
		c.click(css("#popper"), nil)
		c.wantLines(c.bare(nil), "text: Popover words", `button "In popover"`, "text: Behind words")
	})
}

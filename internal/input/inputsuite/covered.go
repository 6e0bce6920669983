package inputsuite

import (
	"regexp"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// blocked clicks the element with an id. The click must fail before its timeout, with an error that
// contains parts, and must not reach the element. It returns the error.
func blocked(c *suite.Case, id string, parts ...string) error {
	c.Helper()
	_, err := c.Page().Click(c.Ctx, suite.Selector("#"+id), &executor.ClickOptions{Timeout: suite.NeverTimeout})
	c.WantCode(err, executor.ErrNotActionable, parts...)
	c.WantUntouched(id)
	return err
}

// refNamed returns the ref that an error gives for a role and a name.
func refNamed(c *suite.Case, err error, role, name string) executor.Ref {
	c.Helper()
	m := regexp.MustCompile(role + ` "` + regexp.QuoteMeta(name) + `" \[ref=(e\d+)\]`).FindStringSubmatch(err.Error())
	if m == nil {
		c.Fatalf("error %q does not name %s %q with a ref", err, role, name)
	}
	return executor.Ref(m[1])
}

func covered(s *suite.Runner, t *testing.T) {
	s.Page(t, "covered by a link: error has its ref", "covered.html", func(c *suite.Case) {
		err := blocked(c, "bylink", "By a link", "covered")
		c.WantUntouched("stretched")
		c.Clicked(suite.ByRef(refNamed(c, err, "link", "Read the story")), "stretched")
	})
	s.Page(t, "covered by a pseudo-element of its container", "covered.html", func(c *suite.Case) {
		blocked(c, "bypseudo", "By a part that CSS made", `group "Card"`)
	})
	s.Page(t, "covered by a frame", "covered.html", func(c *suite.Case) {
		blocked(c, "byframe", "By a frame", `iframe "Chat"`, "[ref=")
	})
	s.Page(t, "clipped away", "covered.html", func(c *suite.Case) { blocked(c, "bynothing", "Clipped away") })
	s.Page(t, "in collapsed content", "covered.html", func(c *suite.Case) { blocked(c, "folded", "Folded away") })
	s.Page(t, "pointer-events: none", "covered.html", func(c *suite.Case) { blocked(c, "nopointer", "No pointer", "pointer-events") })
	clicks(s, t, "covered.html", [][2]string{
		{"overlay with pointer-events: none", "seethrough"},
		{"covered by a transparent element", "transparent"},
	}...)
	s.Page(t, "covered by a popover in the top layer", "covered.html", func(c *suite.Case) {
		c.Eval("popover.showPopover()", nil)
		blocked(c, "pop", "Under a popover", "covered", "A popover")
		c.Clicked(suite.Selector("#shut"), "shut")
		c.Clicked(suite.Selector("#pop"), "pop")
	})
	s.Page(t, "behind a modal dialog", "covered.html", func(c *suite.Case) {
		c.Eval("dialog.showModal()", nil)
		err := blocked(c, "behind", "Behind", `dialog "Terms"`, "[ref=")
		if _, err := c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Target: suite.ByRef(refNamed(c, err, "dialog", "Terms"))}); err != nil {
			c.Errorf("the ref of the dialog: %v", err)
		}
		c.Click(suite.Selector("#close"), nil)
		c.Clicked(suite.Selector("#behind"), "behind")
	})
	s.Page(t, "behind a modal dialog without backdrop", "covered.html", func(c *suite.Case) {
		c.Eval("clear.showModal()", nil)
		blocked(c, "behind", "Behind", `dialog "No backdrop"`, "[ref=")
	})
	s.Page(t, "full-page overlay does not cause scrolling", "covered.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", '<div id="wall" role="dialog" aria-label="Wall" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		c.Eval(`addEventListener("scroll", () => report("scroll", "page"), true)`, nil)
		blocked(c, "behind", "Wall")
		c.WantUntouched("page")
		c.WantValue("scrollY", "0")
	})
	s.Page(t, "covered while a clock changes elsewhere", "covered.html", func(c *suite.Case) {
		c.Eval("setInterval(() => { clock.textContent = performance.now(); clock.style.left = Math.random() + 'px'; }, 30)", nil)
		blocked(c, "bylink", "Read the story")
	})
	s.Page(t, "covered while a spinner is animated elsewhere", "covered.html", func(c *suite.Case) {
		c.Eval("clock.animate([{ rotate: '0deg' }, { rotate: '360deg' }], { duration: 300, iterations: Infinity })", nil)
		blocked(c, "bylink", "Read the story")
	})
}

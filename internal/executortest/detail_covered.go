package executortest

import (
	"regexp"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// blocked clicks the element with an id. The click must fail before its timeout, with an error that
// contains parts, and must not reach the element. It returns the error.
func (c *testCase) blocked(id string, parts ...string) error {
	c.Helper()
	_, err := c.page().Click(c.ctx, css("#"+id), &executor.ClickOptions{Timeout: neverTimeout})
	c.wantCode(err, executor.ErrNotActionable, parts...)
	c.wantUntouched(id)
	return err
}

// refNamed returns the ref that an error gives for a role and a name.
func (c *testCase) refNamed(err error, role, name string) executor.Ref {
	c.Helper()
	m := regexp.MustCompile(role + ` "` + regexp.QuoteMeta(name) + `" \[ref=(e\d+)\]`).FindStringSubmatch(err.Error())
	if m == nil {
		c.Fatalf("error %q does not name %s %q with a ref", err, role, name)
	}
	return executor.Ref(m[1])
}

func (s *suite) covered(t *testing.T) {
	s.page(t, "covered by a link: error has its ref", "covered.html", func(c *testCase) {
		err := c.blocked("bylink", "By a link", "covered")
		c.wantUntouched("stretched")
		c.clicked(byRef(c.refNamed(err, "link", "Read the story")), "stretched")
	})
	s.page(t, "covered by a pseudo-element of its container", "covered.html", func(c *testCase) {
		c.blocked("bypseudo", "By a part that CSS made", `group "Card"`)
	})
	s.page(t, "covered by a frame", "covered.html", func(c *testCase) {
		c.blocked("byframe", "By a frame", `iframe "Chat"`, "[ref=")
	})
	s.page(t, "clipped away", "covered.html", func(c *testCase) { c.blocked("bynothing", "Clipped away") })
	s.page(t, "in collapsed content", "covered.html", func(c *testCase) { c.blocked("folded", "Folded away") })
	s.page(t, "pointer-events: none", "covered.html", func(c *testCase) { c.blocked("nopointer", "No pointer", "pointer-events") })
	s.clicks(t, "covered.html", [][2]string{
		{"overlay with pointer-events: none", "seethrough"},
		{"covered by a transparent element", "transparent"},
	}...)
	s.page(t, "covered by a popover in the top layer", "covered.html", func(c *testCase) {
		c.eval("popover.showPopover()", nil)
		c.blocked("pop", "Under a popover", "covered", "A popover")
		c.clicked(css("#shut"), "shut")
		c.clicked(css("#pop"), "pop")
	})
	s.page(t, "behind a modal dialog", "covered.html", func(c *testCase) {
		c.eval("dialog.showModal()", nil)
		err := c.blocked("behind", "Behind", `dialog "Terms"`, "[ref=")
		if _, err := c.page().Snapshot(c.ctx, &executor.SnapshotOptions{Target: byRef(c.refNamed(err, "dialog", "Terms"))}); err != nil {
			c.Errorf("the ref of the dialog: %v", err)
		}
		c.click(css("#close"), nil)
		c.clicked(css("#behind"), "behind")
	})
	s.page(t, "behind a modal dialog without backdrop", "covered.html", func(c *testCase) {
		c.eval("clear.showModal()", nil)
		c.blocked("behind", "Behind", `dialog "No backdrop"`, "[ref=")
	})
	s.page(t, "full-page overlay does not cause scrolling", "covered.html", func(c *testCase) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", '<div id="wall" role="dialog" aria-label="Wall" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		c.eval(`addEventListener("scroll", () => report("scroll", "page"), true)`, nil)
		c.blocked("behind", "Wall")
		c.wantUntouched("page")
		c.wantValue("scrollY", "0")
	})
	s.page(t, "covered while a clock changes elsewhere", "covered.html", func(c *testCase) {
		c.eval("setInterval(() => { clock.textContent = performance.now(); clock.style.left = Math.random() + 'px'; }, 30)", nil)
		c.blocked("bylink", "Read the story")
	})
	s.page(t, "covered while a spinner is animated elsewhere", "covered.html", func(c *testCase) {
		c.eval("clock.animate([{ rotate: '0deg' }, { rotate: '360deg' }], { duration: 300, iterations: Infinity })", nil)
		c.blocked("bylink", "Read the story")
	})
}

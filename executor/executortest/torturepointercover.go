package executortest

import (
	"regexp"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// blocked clicks the element with an id, which must fail early with the words
// in parts, and must not reach the element. It returns the error.
func (c *scene) blocked(id string, parts ...string) error {
	c.Helper()
	start := time.Now()
	_, err := c.exec.Click(c.ctx, c.tab, css("#"+id), &executor.ClickOptions{Timeout: hopelessTimeout})
	c.wantCode(err, executor.ErrNotActionable, parts...)
	c.early(start)
	c.wantUntouched(id)
	return err
}

// refNamed returns the ref that an error names beside a role and a name.
func (c *scene) refNamed(err error, role, name string) executor.Ref {
	c.Helper()
	m := regexp.MustCompile(role + ` "` + regexp.QuoteMeta(name) + `" \[ref=(e\d+)\]`).FindStringSubmatch(err.Error())
	if m == nil {
		c.Fatalf("error %q names no %s %q with a ref", err, role, name)
	}
	return executor.Ref(m[1])
}

func (s *suite) cover(t *testing.T) {
	s.page(t, "a link over it, which can be clicked by the ref given", "cover.html", func(c *scene) {
		err := c.blocked("bylink", "By a link", "covered")
		c.wantUntouched("stretched")
		c.clicked(byRef(c.refNamed(err, "link", "Read the story")), "stretched")
	})
	s.page(t, "a part that CSS made of what it is in", "cover.html", func(c *scene) {
		c.blocked("bypseudo", "By a part that CSS made", `group "Card"`)
	})
	s.page(t, "a frame over it", "cover.html", func(c *scene) {
		c.blocked("byframe", "By a frame", `iframe "Chat"`, "[ref=")
	})
	s.page(t, "clipped away", "cover.html", func(c *scene) { c.blocked("bynothing", "Clipped away") })
	s.page(t, "folded away", "cover.html", func(c *scene) { c.blocked("folded", "Folded away") })
	s.page(t, "takes no pointer events", "cover.html", func(c *scene) { c.blocked("nopointer", "No pointer", "pointer-events") })
	s.clicks(t, "cover.html", [][2]string{
		{"a film over it that takes no pointer events", "seethrough"},
		{"transparent, but there", "transparent"},
	}...)
	s.page(t, "a popover in the top layer", "cover.html", func(c *scene) {
		c.eval("popover.showPopover()", nil)
		c.blocked("pop", "Under a popover", "covered", "A popover")
		c.clicked(css("#shut"), "shut")
		c.clicked(css("#pop"), "pop")
	})
	s.page(t, "a modal dialog", "cover.html", func(c *scene) {
		c.eval("dialog.showModal()", nil)
		err := c.blocked("behind", "Behind", `dialog "Terms"`, "[ref=")
		if _, err := c.exec.Snapshot(c.ctx, c.tab, &executor.SnapshotOptions{Target: byRef(c.refNamed(err, "dialog", "Terms"))}); err != nil {
			c.Errorf("the ref of the dialog: %v", err)
		}
		c.click(css("#close"), nil)
		c.clicked(css("#behind"), "behind")
	})
	s.page(t, "a modal dialog with no backdrop", "cover.html", func(c *scene) {
		c.eval("clear.showModal()", nil)
		c.blocked("behind", "Behind", `dialog "No backdrop"`, "[ref=")
	})
	s.page(t, "what covers it all does not make the page scroll about", "cover.html", func(c *scene) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", '<div id="wall" role="dialog" aria-label="Wall" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		c.eval(`addEventListener("scroll", () => report("scroll", "page"), true)`, nil)
		c.blocked("behind", "Wall")
		c.wantUntouched("page")
		c.wantValue("scrollY", "0")
	})
	s.page(t, "while a clock ticks elsewhere", "cover.html", func(c *scene) {
		c.eval("setInterval(() => { clock.textContent = performance.now(); clock.style.left = Math.random() + 'px'; }, 30)", nil)
		c.blocked("bylink", "Read the story")
	})
	s.page(t, "while a spinner turns elsewhere", "cover.html", func(c *scene) {
		c.eval("clock.animate([{ rotate: '0deg' }, { rotate: '360deg' }], { duration: 300, iterations: Infinity })", nil)
		c.blocked("bylink", "Read the story")
	})
}

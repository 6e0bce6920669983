package executortest

import (
	"fmt"
	"image/color"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// backgroundTabs tests background tabs.
func (s *suite) backgroundTabs(t *testing.T) {
	s.pageWith(t, "three background tabs behave like foreground tabs, including frames", "", executor.SessionOptions{Gate: executor.AllowAll}, func(c *testCase) {
		colors := []color.RGBA{{R: 255}, {G: 255}, {B: 255}}
		var tabs []executor.TabID
		for n := range colors {
			tabs = append(tabs, c.open(fmt.Sprintf("navigation-back.html?n=%d", n+1)))
		}
		var work sync.WaitGroup
		for i, tab := range tabs {
			own := &testCase{T: c.T, suite: c.suite, caseSite: c.caseSite, ctx: c.ctx, exec: c.exec, tab: tab}
			work.Go(func() { own.driveBackgroundTab(i+1, colors[i]) })
		}
		work.Wait()
		if !c.listed(tabs[2]).Active {
			c.Error("another tab became the active one")
		}
	})
}

// driveBackgroundTab performs all kinds of calls on a tab.
func (c *testCase) driveBackgroundTab(n int, background color.RGBA) {
	fail := func(what string, err error) bool {
		if err != nil {
			c.Errorf("tab %d: %s: %v", n, what, err)
		}
		return err != nil
	}
	_, err := c.page().Hover(c.ctx, css("#over"), nil)
	if fail("hover", err) {
		return
	}
	_, err = c.page().Click(c.ctx, css("#press"), nil)
	if fail("click", err) {
		return
	}
	_, err = c.page().Type(c.ctx, css("#field"), fmt.Sprint("text ", n), &executor.TypeOptions{KeyEvents: true})
	fail("type", err)
	_, err = c.page().Click(c.ctx, css("#moving"), nil) // after its animation has ended
	fail("click on what moved", err)
	snap, err := c.page().Snapshot(c.ctx, nil)
	if !fail("snapshot", err) {
		c.wantIn(snap.Text, `"Field"`, fmt.Sprint("text ", n))
	}
	shot, err := c.page().Screenshot(c.ctx, nil)
	if !fail("screenshot", err) {
		c.wantColor(c.decode(shot), 1200, 650, background)
	}
	if c.Failed() {
		return
	}
	tab := fmt.Sprint("tab", n)
	for _, kind := range []string{"seen", "over", "pressed", fmt.Sprint("typed text ", n), "moving"} {
		c.await(kind, tab)
	}
}

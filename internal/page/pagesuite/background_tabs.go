package pagesuite

import (
	"fmt"
	"image/color"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// backgroundTabs tests background tabs.
func backgroundTabs(s *suite.Runner, t *testing.T) {
	s.PageWith(t, "three background tabs behave like foreground tabs, including frames", "", executor.SessionOptions{Gate: executor.AllowAll}, func(c *suite.Case) {
		colors := []color.RGBA{{R: 255}, {G: 255}, {B: 255}}
		var tabs []executor.TabID
		for n := range colors {
			tabs = append(tabs, c.Open(fmt.Sprintf("navigation-back.html?n=%d", n+1)))
		}
		var work sync.WaitGroup
		for i, tab := range tabs {
			own := &suite.Case{Checks: c.Checks, Runner: c.Runner, Site: c.Site, Ctx: c.Ctx, Exec: c.Exec, Tab: tab}
			work.Go(func() { driveBackgroundTab(own, i+1, colors[i]) })
		}
		work.Wait()
		if !c.Listed(tabs[2]).Active {
			c.Error("another tab became the active one")
		}
	})
}

// driveBackgroundTab performs all kinds of calls on a tab.
func driveBackgroundTab(c *suite.Case, n int, background color.RGBA) {
	fail := func(what string, err error) bool {
		if err != nil {
			c.Errorf("tab %d: %s: %v", n, what, err)
		}
		return err != nil
	}
	_, err := c.Page().Hover(c.Ctx, suite.Selector("#over"), nil)
	if fail("hover", err) {
		return
	}
	_, err = c.Page().Click(c.Ctx, suite.Selector("#press"), nil)
	if fail("click", err) {
		return
	}
	_, err = c.Page().Type(c.Ctx, suite.Selector("#field"), fmt.Sprint("text ", n), &executor.TypeOptions{KeyEvents: true})
	fail("type", err)
	_, err = c.Page().Click(c.Ctx, suite.Selector("#moving"), nil) // after its animation has ended
	fail("click on what moved", err)
	snap, err := c.Page().Snapshot(c.Ctx, nil)
	if !fail("snapshot", err) {
		c.WantIn(snap.Text, `"Field"`, fmt.Sprint("text ", n))
	}
	shot, err := c.Page().Screenshot(c.Ctx, nil)
	if !fail("screenshot", err) {
		c.WantColor(c.Decode(shot), 1200, 650, background)
	}
	if c.Failed() {
		return
	}
	tab := fmt.Sprint("tab", n)
	for _, kind := range []string{"seen", "over", "pressed", fmt.Sprint("typed text ", n), "moving"} {
		c.Await(kind, tab)
	}
}

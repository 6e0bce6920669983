package suite

import (
	"cmp"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// Clicked clicks the element with an id and checks that it received a trusted click.
func (c *Case) Clicked(target executor.Target, id string) *executor.Action {
	c.Helper()
	a := c.Click(target, nil)
	if !c.Await("click", id).Trusted {
		c.Errorf("the click on #%s was not trusted", id)
	}
	return a
}

// Fill fills fields of a form and fails the case if that fails. The default timeout is await.HangLimit.
func (c *Case) Fill(opts *executor.FillOptions, fields ...executor.Field) *executor.FillResult {
	c.Helper()
	o := *cmp.Or(opts, new(executor.FillOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	res, err := c.Page().FillForm(c.Ctx, fields, &o)
	if err != nil {
		c.Fatalf("fill: %v", err)
	}
	return res
}

// TypeInto types and fails the case if that fails. The default timeout is await.HangLimit.
func (c *Case) TypeInto(selector, text string, opts *executor.TypeOptions) *executor.Action {
	c.Helper()
	o := *cmp.Or(opts, new(executor.TypeOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	a, err := c.Page().Type(c.Ctx, Selector(selector), text, &o)
	if err != nil {
		c.Fatalf("type into %s: %v", selector, err)
	}
	return a
}

// Key presses a key and fails the case if that fails. The default timeout is await.HangLimit.
func (c *Case) Key(key string, opts *executor.PressOptions) *executor.Action {
	c.Helper()
	o := *cmp.Or(opts, new(executor.PressOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	a, err := c.Page().Press(c.Ctx, key, &o)
	if err != nil {
		c.Fatalf("press %s: %v", key, err)
	}
	return a
}

// Quick clicks target several times and checks that the fastest click is within limit. Only deep tests
// call it.
func Quick(c *Case, target executor.Target, limit time.Duration) {
	c.Helper()
	best := time.Hour
	for n := 0; n < 5 || (best > limit && n < 25); n++ { // a busy machine may need more attempts
		start := time.Now()
		c.Click(target, nil)
		best = min(best, time.Since(start))
	}
	if best > limit {
		c.Errorf("the fastest click took %v, want at most %v", best, limit)
	}
}

// PointAt hovers over the first match of selector and fails the case if that fails.
func (c *Case) PointAt(selector string) *executor.Action {
	c.Helper()
	a, err := c.Page().Hover(c.Ctx, Selector(selector), &executor.ActionOptions{Timeout: await.HangLimit})
	if err != nil {
		c.Fatalf("hover %s: %v", selector, err)
	}
	return a
}

// MouseAt sends mouse input and fails the case if that fails.
func (c *Case) MouseAt(action executor.MouseAction, x, y float64) *executor.Action {
	c.Helper()
	a, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: action, X: x, Y: y})
	if err != nil {
		c.Fatalf("mouse %s at %v, %v: %v", action, x, y, err)
	}
	return a
}

package page

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// focusAllowed checks the document that has the focus, which receives keys. It
// queries each document for its focused frame before it accesses that frame, so a
// denied document is never queried. The confirmation c, if any, starts to listen
// for keys in the document that has the focus.
func (v *View) focusAllowed(ctx context.Context, c *hitTargetCheck) error {
	token := ""
	if c != nil {
		token = c.token
	}
	b := v.block(ctx)
	d, err := v.tab.document(ctx)
	if err != nil {
		return err
	}
	for {
		var id int
		if err := d.call(ctx, &id, "focusedFrame", token); err != nil {
			return err
		}
		if id == 0 {
			if c != nil {
				c.path, c.listens = []*document{d}, true
			}
			return nil
		}
		if d = v.frameAt(ctx, d, id); d == nil {
			return executor.Errorf(executor.ErrNotActionable, "Give the key a target.", "a frame whose document is not known has the focus")
		}
		if err := v.check(ctx, d, executor.OpAct, ""); err != nil {
			return err
		}
		b.admit(ctx, d)
	}
}

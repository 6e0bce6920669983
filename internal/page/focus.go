package page

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// focusAllowed asks the gate about the document that has the focus below d,
// which may be acted on: keys go there. Each document is asked which of its
// frames has the focus before that frame's is touched, so a document that is
// denied is asked nothing.
func (v *View) focusAllowed(ctx context.Context, d *document) error {
	for {
		var id int
		if err := d.call(ctx, &id, "focusedFrame"); err != nil {
			return err
		}
		if id == 0 {
			return nil
		}
		if d = v.frameAt(ctx, d, id); d == nil {
			return executor.Errorf(executor.ErrNotActionable, "Give the key a target.", "a frame whose document is not known has the focus")
		}
		if err := v.check(ctx, d, executor.OpAct, ""); err != nil {
			return err
		}
	}
}

package input

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// focusAllowed checks with the gate the document that has the focus, which receives keys. It
// queries each document for its focused frame before it accesses that frame, so it never queries a
// denied document. If c is not nil, focusAllowed also makes the document that has the focus report
// keys to c. If clipboard is set, the keys copy, cut or paste.
func (a *Actor) focusAllowed(ctx context.Context, c *hitTargetCheck, clipboard bool) error {
	token := ""
	if c != nil {
		token = c.token
	}
	b := a.Block(ctx)
	d, err := a.tree.TopDocument(ctx)
	if err != nil {
		return err
	}
	for {
		var id int
		if err := d.Call(ctx, &id, "focusedFrame", token); err != nil {
			return err
		}
		if id == 0 {
			if c != nil {
				c.path, c.listens = []*frames.Document{d}, true
			}
			if clipboard {
				return a.checkClipboard(ctx, d)
			}
			return nil
		}
		if d = a.frameAt(ctx, d, id); d == nil {
			return frameNotReadyError("the frame that has the focus")
		}
		if err := a.client.Check(ctx, d, executor.OpAct, ""); err != nil {
			return err
		}
		b.Admit(ctx, d)
	}
}

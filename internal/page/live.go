package page

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
	"github.com/chrome-mcp/chrome-mcp/internal/live"
)

// Watch opens a live view. It may be called outside of the call queue of the tab.
func (v *View) Watch() executor.LiveView {
	t := v.tab
	l := live.New(&v.client, live.Options{
		Dialogs: &t.dialogs.State, ReadableDialog: v.redactedDialog, SendInput: t.openerGroup.userInput.send, HandedOver: t.HandedOver, ClientError: v.AsClientError,
		Answer: func(ctx context.Context, d *dialogs.Dialog, a executor.DialogAnswer) error {
			if d.Early {
				return t.dialogs.dismissEarly(ctx, d, a.Accept)
			}
			return t.dialogs.reply(ctx, d.Session, a)
		},
		Go:    func(f func()) { t.wg.Go(f) },
		Close: func(l *live.View) bool { return t.rendering.live.CompareAndSwap(l, nil) },
	})
	if before := t.rendering.live.Swap(l); before != nil {
		before.End(nil)
	}
	return l
}

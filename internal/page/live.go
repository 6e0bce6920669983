package page

import (
	"context"
	"sync"

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

// A userInput decides whether input that the user sends in a live view reaches the tab. It does so
// during a handover. The zero value rejects input.
type userInput struct {
	mu      sync.Mutex      // guards the field below
	sending *sync.WaitGroup // the input of this handover that is being sent; nil if none is accepted
}

// accept sets whether input is accepted from now on. If it no longer is, accept returns after the
// input that was accepted before was sent.
func (u *userInput) accept(accepted bool) {
	u.mu.Lock()
	before := u.sending
	switch {
	case !accepted:
		u.sending = nil
	case before == nil:
		u.sending = new(sync.WaitGroup)
	}
	u.mu.Unlock()
	if !accepted && before != nil {
		before.Wait()
	}
}

// send calls f if input is accepted. Calls do not wait for each other: input that opens a dialog
// ends with the answer to the dialog, which is input as well.
func (u *userInput) send(f func() error) error {
	u.mu.Lock()
	sending := u.sending
	if sending == nil {
		u.mu.Unlock()
		return executor.Errorf(executor.ErrBadArgs, "", "the tab is not handed over to the user")
	}
	sending.Add(1)
	u.mu.Unlock()
	defer sending.Done()
	return f()
}

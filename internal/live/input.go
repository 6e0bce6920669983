package live

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// Input sends one event of the user. It returns an error while the tab is not handed over, a dialog
// is open or the live view shows no image.
func (l *View) Input(ctx context.Context, in executor.LiveInput) error {
	if notify.IsClosed(l.ended) {
		return l.endedError()
	}
	ctx, cancel := context.WithTimeout(ctx, l.tree.Timing().LiveInput)
	defer cancel()
	if in.Type == executor.LiveDialog {
		return l.answer(ctx, in)
	}
	if err := l.opts.Dialogs.Err(); err != nil { // the page gets it only after the answer
		return l.opts.ClientError(ctx, err)
	}
	if readable, _ := l.client.AllReadable(ctx); !readable {
		return executor.Errorf(executor.ErrPolicyDenied, "", "the tab is not shown, so it gets no input")
	}
	method, params, err := userCommand(in)
	if err != nil {
		return err
	}
	err = l.opts.SendInput(func() error { return l.tree.Session().Call(ctx, method, params, nil) })
	if err != nil {
		return l.opts.ClientError(ctx, err)
	}
	return nil
}

// answer passes the user's answer to the open dialog on.
func (l *View) answer(ctx context.Context, in executor.LiveInput) error {
	d := l.opts.Dialogs.Open()
	if d == nil || len(in.Text) > maxText {
		return executor.Errorf(executor.ErrBadArgs, "", "no dialog is open in the tab, or the answer is too long")
	}
	err := l.opts.SendInput(func() error {
		return l.opts.Answer(ctx, d, executor.DialogAnswer{Accept: in.Accept, PromptText: in.Text})
	})
	if err != nil {
		return l.opts.ClientError(ctx, err)
	}
	return nil
}

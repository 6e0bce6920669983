package page

import (
	"context"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// maxLiveText is the maximum length of the text of one event, in bytes.
const maxLiveText = 10_000

// Input sends one event of the user. It returns an error while the tab is not handed over, a dialog
// is open or the live view shows no image.
func (l *liveView) Input(ctx context.Context, in executor.LiveInput) error {
	if notify.IsClosed(l.ended) {
		return l.endedError()
	}
	ctx, cancel := context.WithTimeout(ctx, l.view.tab.timing.LiveInput)
	defer cancel()
	if in.Type == executor.LiveDialog {
		return l.answer(ctx, in)
	}
	if err := l.view.tab.dialogs.error(); err != nil { // the page gets it only after the answer
		return l.view.AsClientError(ctx, err)
	}
	if readable, _ := l.view.client.AllReadable(ctx); !readable {
		return executor.Errorf(executor.ErrPolicyDenied, "", "the tab is not shown, so it gets no input")
	}
	method, params, err := liveCommand(in)
	if err != nil {
		return err
	}
	err = l.view.tab.openerGroup.userInput.send(func() error { return l.view.tab.sess.Call(ctx, method, params, nil) })
	if err != nil {
		return l.view.AsClientError(ctx, err)
	}
	return nil
}

// answer passes the user's answer to the open dialog on.
func (l *liveView) answer(ctx context.Context, in executor.LiveInput) error {
	t := l.view.tab
	d := t.dialogs.open.Load()
	if d == nil || len(in.Text) > maxLiveText {
		return executor.Errorf(executor.ErrBadArgs, "", "no dialog is open in the tab, or the answer is too long")
	}
	err := t.openerGroup.userInput.send(func() error {
		if d.early {
			return t.dismissEarly(ctx, d, in.Accept)
		}
		return t.answerDialog(ctx, d.sess, executor.DialogAnswer{Accept: in.Accept, PromptText: in.Text})
	})
	if err != nil {
		return l.view.AsClientError(ctx, err)
	}
	return nil
}

// liveMouse maps the types of mouse input to those of CDP.
var liveMouse = map[executor.LiveInputType]input.DispatchMouseEventType{
	executor.LiveMouseMove: input.DispatchMouseEventTypeMouseMoved, executor.LiveMouseDown: input.DispatchMouseEventTypeMousePressed,
	executor.LiveMouseUp: input.DispatchMouseEventTypeMouseReleased, executor.LiveWheel: input.DispatchMouseEventTypeMouseWheel,
}

var errLiveInput = executor.Errorf(executor.ErrBadArgs, "", "the input is invalid")

// liveCommand returns the CDP command for an event of the user.
func liveCommand(in executor.LiveInput) (method string, params map[string]any, err error) {
	if in.Modifiers&^(bitAlt|bitControl|bitMeta|bitShift) != 0 || len(in.Key) > 64 || len(in.Code) > 64 || len(in.Text) > maxLiveText {
		return "", nil, errLiveInput
	}
	if mouse, ok := liveMouse[in.Type]; ok {
		if in.Button != "" && buttonBits[in.Button] == 0 || in.Clicks < 0 || in.Clicks > 3 || in.Buttons < 0 || in.Buttons > 31 {
			return "", nil, errLiveInput
		}
		params = map[string]any{"type": mouse, "x": in.X, "y": in.Y, "modifiers": in.Modifiers, "buttons": in.Buttons, "clickCount": in.Clicks}
		if in.Button != "" {
			params["button"] = in.Button
		}
		if in.Type == executor.LiveWheel {
			params["deltaX"], params["deltaY"] = in.DeltaX, in.DeltaY
		}
		return input.CommandDispatchMouseEvent, params, nil
	}
	switch in.Type {
	case executor.LiveKeyDown, executor.LiveKeyUp:
		kind := input.DispatchKeyEventTypeKeyUp
		if in.Type == executor.LiveKeyDown {
			if kind = input.DispatchKeyEventTypeRawKeyDown; in.Text != "" {
				kind = input.DispatchKeyEventTypeKeyDown
			}
		}
		params = map[string]any{
			"type": kind, "key": in.Key, "code": in.Code, "windowsVirtualKeyCode": in.KeyCode,
			"modifiers": in.Modifiers, "autoRepeat": in.Repeat,
		}
		if kind == input.DispatchKeyEventTypeKeyDown {
			params["text"], params["unmodifiedText"] = in.Text, in.Text
		}
		return input.CommandDispatchKeyEvent, params, nil
	case executor.LiveText:
		return input.CommandInsertText, map[string]any{"text": in.Text}, nil
	}
	return "", nil, executor.Errorf(executor.ErrBadArgs, "", "unknown type of input %q", string(in.Type))
}

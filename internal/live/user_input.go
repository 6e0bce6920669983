package live

import (
	"slices"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
)

// maxText is the maximum length of the text of one event, in bytes.
const maxText = 10_000

// userMouse maps the types of mouse input to those of CDP.
var userMouse = map[executor.LiveInputType]input.DispatchMouseEventType{
	executor.LiveMouseMove: input.DispatchMouseEventTypeMouseMoved, executor.LiveMouseDown: input.DispatchMouseEventTypeMousePressed,
	executor.LiveMouseUp: input.DispatchMouseEventTypeMouseReleased, executor.LiveWheel: input.DispatchMouseEventTypeMouseWheel,
}

var errUserInput = executor.Errorf(executor.ErrBadArgs, "", "the input is invalid")

// buttons are the buttons that the user can press.
var buttons = []executor.Button{executor.ButtonLeft, executor.ButtonRight, executor.ButtonMiddle}

// userCommand returns the CDP command for an event of the user in a live view.
func userCommand(in executor.LiveInput) (method string, params map[string]any, err error) {
	if in.Modifiers&^keys.AllModifiers != 0 || len(in.Key) > 64 || len(in.Code) > 64 || len(in.Text) > maxText {
		return "", nil, errUserInput
	}
	if mouse, ok := userMouse[in.Type]; ok {
		if in.Button != "" && !slices.Contains(buttons, in.Button) || in.Clicks < 0 || in.Clicks > 3 || in.Buttons < 0 || in.Buttons > 31 {
			return "", nil, errUserInput
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

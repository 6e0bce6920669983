package keys

import (
	"runtime"
	"slices"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Events returns the events that press and release the keys of a chord.
func (c *Chord) Events() []input.DispatchKeyEventParams {
	var events []input.DispatchKeyEventParams
	add := func(kind input.DispatchKeyEventType, k Key, bits int64, text string) {
		e := input.DispatchKeyEventParams{
			Type: kind, Modifiers: bits, Key: k.key, Code: k.code,
			WindowsVirtualKeyCode: k.windows, NativeVirtualKeyCode: k.windows, Text: text, UnmodifiedText: text,
		}
		if kind != input.DispatchKeyEventTypeKeyUp {
			e.Commands = editingCommands(k, bits)
		}
		events = append(events, e)
	}
	var bits int64
	for _, m := range c.Modifiers {
		bits |= modifierKeys[m].bit
		add(input.DispatchKeyEventTypeRawKeyDown, modifierKeys[m].key, bits, "")
	}
	kind, text := input.DispatchKeyEventTypeKeyDown, c.Key.text
	if text == "" || bits&(bitControl|bitAlt|bitMeta) != 0 {
		kind, text = input.DispatchKeyEventTypeRawKeyDown, "" // a shortcut inserts no text
	}
	if c.UsesClipboard() {
		// While the page is in a background tab, Chromium runs copy, cut and paste for a raw key in the
		// view of the window that has the focus, such as the address bar, and the page does not receive
		// the key. Measured on Chromium 156.
		kind = input.DispatchKeyEventTypeKeyDown
	}
	self := modifierKeys[executor.Modifier(c.Key.key)].bit // for a modifier that is pressed alone
	add(kind, c.Key, bits|self, text)
	add(input.DispatchKeyEventTypeKeyUp, c.Key, bits, "")
	for _, m := range slices.Backward(c.Modifiers) {
		bits &^= modifierKeys[m].bit
		add(input.DispatchKeyEventTypeKeyUp, modifierKeys[m].key, bits, "")
	}
	return events
}

// SelectAll returns the chord that selects all text.
func SelectAll() *Chord {
	m := executor.ModControl
	if runtime.GOOS == "darwin" {
		m = executor.ModMeta
	}
	k, _ := ForRune('a')
	return &Chord{Key: k, Modifiers: []executor.Modifier{m}}
}

// DocumentStart returns the chord that moves the caret to the start of a document.
func DocumentStart() *Chord {
	if runtime.GOOS == "darwin" {
		return &Chord{Key: namedKeys["ArrowUp"], Modifiers: []executor.Modifier{executor.ModMeta}}
	}
	return &Chord{Key: namedKeys["Home"], Modifiers: []executor.Modifier{executor.ModControl}}
}

// DocumentEnd returns the chord that moves the caret to the end of a document.
func DocumentEnd() *Chord {
	if runtime.GOOS == "darwin" {
		return &Chord{Key: namedKeys["ArrowDown"], Modifiers: []executor.Modifier{executor.ModMeta}}
	}
	return &Chord{Key: namedKeys["End"], Modifiers: []executor.Modifier{executor.ModControl}}
}

package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// A key is one key of a US keyboard, as UI Events names it.
type key struct {
	key     string // KeyboardEvent.key
	code    string // KeyboardEvent.code
	windows int64  // KeyboardEvent.keyCode
	text    string // the text that the key inserts
}

// Modifier bits of Input.dispatchKeyEvent and dispatchMouseEvent.
const (
	bitAlt     = 1
	bitControl = 2
	bitMeta    = 4
	bitShift   = 8
)

var modifierKeys = map[executor.Modifier]struct {
	bit int64
	key key
}{
	executor.ModAlt:     {bitAlt, key{"Alt", "AltLeft", 18, ""}},
	executor.ModControl: {bitControl, key{"Control", "ControlLeft", 17, ""}},
	executor.ModMeta:    {bitMeta, key{"Meta", "MetaLeft", 91, ""}},
	executor.ModShift:   {bitShift, key{"Shift", "ShiftLeft", 16, ""}},
}

// namedKeys are the keys that insert no text, and keys that insert text and also have a name.
var namedKeys = map[string]key{
	"Enter":      {"Enter", "Enter", 13, "\r"},
	"Tab":        {"Tab", "Tab", 9, ""},
	"Backspace":  {"Backspace", "Backspace", 8, ""},
	"Delete":     {"Delete", "Delete", 46, ""},
	"Escape":     {"Escape", "Escape", 27, ""},
	"Space":      {" ", "Space", 32, " "},
	"ArrowLeft":  {"ArrowLeft", "ArrowLeft", 37, ""},
	"ArrowUp":    {"ArrowUp", "ArrowUp", 38, ""},
	"ArrowRight": {"ArrowRight", "ArrowRight", 39, ""},
	"ArrowDown":  {"ArrowDown", "ArrowDown", 40, ""},
	"Home":       {"Home", "Home", 36, ""},
	"End":        {"End", "End", 35, ""},
	"PageUp":     {"PageUp", "PageUp", 33, ""},
	"PageDown":   {"PageDown", "PageDown", 34, ""},
	"Insert":     {"Insert", "Insert", 45, ""},
	"F1":         {"F1", "F1", 112, ""},
	"F2":         {"F2", "F2", 113, ""},
	"F3":         {"F3", "F3", 114, ""},
	"F4":         {"F4", "F4", 115, ""},
	"F5":         {"F5", "F5", 116, ""},
	"F6":         {"F6", "F6", 117, ""},
	"F7":         {"F7", "F7", 118, ""},
	"F8":         {"F8", "F8", 119, ""},
	"F9":         {"F9", "F9", 120, ""},
	"F10":        {"F10", "F10", 121, ""},
	"F11":        {"F11", "F11", 122, ""},
	"F12":        {"F12", "F12", 123, ""},

	"CapsLock":    {"CapsLock", "CapsLock", 20, ""},
	"NumLock":     {"NumLock", "NumLock", 144, ""},
	"ScrollLock":  {"ScrollLock", "ScrollLock", 145, ""},
	"Pause":       {"Pause", "Pause", 19, ""},
	"PrintScreen": {"PrintScreen", "PrintScreen", 44, ""},
	"ContextMenu": {"ContextMenu", "ContextMenu", 93, ""},
	"AltGraph":    {"AltGraph", "AltRight", 225, ""},

	"NumpadEnter":    {"Enter", "NumpadEnter", 13, "\r"},
	"NumpadAdd":      {"+", "NumpadAdd", 107, "+"},
	"NumpadSubtract": {"-", "NumpadSubtract", 109, "-"},
	"NumpadMultiply": {"*", "NumpadMultiply", 106, "*"},
	"NumpadDivide":   {"/", "NumpadDivide", 111, "/"},
	"NumpadDecimal":  {".", "NumpadDecimal", 110, "."},
}

func init() {
	for n := int64(13); n <= 24; n++ {
		name := "F" + strconv.FormatInt(n, 10)
		namedKeys[name] = key{name, name, 111 + n, ""}
	}
	for n := int64(0); n <= 9; n++ {
		digit := strconv.FormatInt(n, 10)
		namedKeys["Numpad"+digit] = key{digit, "Numpad" + digit, 96 + n, digit}
	}
}

// aliases are other common names of keys, in lower case.
var aliases = map[string]string{
	"return": "Enter", "esc": "Escape", "del": "Delete", "left": "ArrowLeft", "right": "ArrowRight",
	"up": "ArrowUp", "down": "ArrowDown", "spacebar": "Space", " ": "Space", "\n": "Enter", "\t": "Tab",
	"pgup": "PageUp", "pgdn": "PageDown", "pgdown": "PageDown", "ins": "Insert",
	"ctrl": "Control", "ctl": "Control", "cmd": "Meta", "command": "Meta", "option": "Alt", "super": "Meta",
}

// symbols maps each symbol that a US keyboard types, without or with Shift, to its key.
var symbols = map[rune]struct {
	code    string
	windows int64
	shifted bool
}{
	'-': {"Minus", 189, false}, '_': {"Minus", 189, true}, '=': {"Equal", 187, false}, '+': {"Equal", 187, true},
	'[': {"BracketLeft", 219, false}, '{': {"BracketLeft", 219, true}, ']': {"BracketRight", 221, false}, '}': {"BracketRight", 221, true},
	'\\': {"Backslash", 220, false}, '|': {"Backslash", 220, true}, ';': {"Semicolon", 186, false}, ':': {"Semicolon", 186, true},
	'\'': {"Quote", 222, false}, '"': {"Quote", 222, true}, ',': {"Comma", 188, false}, '<': {"Comma", 188, true},
	'.': {"Period", 190, false}, '>': {"Period", 190, true}, '/': {"Slash", 191, false}, '?': {"Slash", 191, true},
	'`': {"Backquote", 192, false}, '~': {"Backquote", 192, true},
	'!': {"Digit1", 49, true}, '@': {"Digit2", 50, true}, '#': {"Digit3", 51, true}, '$': {"Digit4", 52, true}, '%': {"Digit5", 53, true},
	'^': {"Digit6", 54, true}, '&': {"Digit7", 55, true}, '*': {"Digit8", 56, true}, '(': {"Digit9", 57, true}, ')': {"Digit0", 48, true},
}

// A chord is a key with the modifiers that are pressed with it.
type chord struct {
	key       key
	modifiers []executor.Modifier
}

// parseChord parses a key or a chord, such as "Enter", "a", "Control+Shift+ArrowLeft" or
// "Control++". The modifiers in more are added to those of the chord.
func parseChord(s string, more []executor.Modifier) (*chord, error) {
	if s == "" {
		return nil, executor.Errorf(executor.ErrBadArgs, keyHint, "key is empty")
	}
	c := &chord{}
	for _, m := range more {
		c.addModifier(m)
	}
	rest := s
	for utf8.RuneCountInString(rest) > 1 {
		name, after, found := strings.Cut(rest, "+")
		if !found || name == "" || after == "" {
			break
		}
		name = canonicalName(name)
		m := executor.Modifier(name)
		if _, ok := modifierKeys[m]; !ok {
			return nil, executor.Errorf(executor.ErrBadArgs, modifierHint(s, name), "key %q: %q is not a modifier", s, name)
		}
		c.addModifier(m)
		rest = after
	}
	for _, m := range c.modifiers {
		if _, ok := modifierKeys[m]; !ok {
			return nil, executor.Errorf(executor.ErrBadArgs, keyHint, "%q is not a modifier", string(m))
		}
	}
	rest = canonicalName(rest)
	if r, ok := codeRune(rest); ok {
		rest = string(r)
	}
	if k, ok := namedKeys[rest]; ok {
		c.key = k
		return c, nil
	}
	if m, ok := modifierKeys[executor.Modifier(rest)]; ok {
		c.key = m.key
		return c, nil
	}
	if r, size := utf8.DecodeRuneInString(rest); size == len(rest) {
		switch {
		case c.has(executor.ModShift):
			r = shiftedRune(r)
		case r >= 'A' && r <= 'Z' && len(c.modifiers) > 0:
			r += 'a' - 'A' // "Control+A" usually means Ctrl and the A key, without Shift
		}
		k, shifted := keyOf(r)
		c.key = k
		if shifted {
			c.addModifier(executor.ModShift)
		}
		return c, nil
	}
	return nil, executor.Errorf(executor.ErrBadArgs, unknownHint(rest), "key %q is unknown", s)
}

// codeRune returns the letter or digit of a key that is named by its KeyboardEvent.code, such as
// KeyA or Digit1.
func codeRune(name string) (rune, bool) {
	if r, ok := strings.CutPrefix(name, "Key"); ok && len(r) == 1 && r[0] >= 'A' && r[0] <= 'Z' {
		return rune(r[0]) + 'a' - 'A', true
	}
	if r, ok := strings.CutPrefix(name, "Digit"); ok && len(r) == 1 && r[0] >= '0' && r[0] <= '9' {
		return rune(r[0]), true
	}
	return 0, false
}

// canonicalName returns the UI Events name of a key, given an alias or the name in any case. It
// returns single characters and unknown names unchanged.
func canonicalName(name string) string {
	if a, ok := aliases[strings.ToLower(name)]; ok {
		return a
	}
	if utf8.RuneCountInString(name) == 1 {
		return name
	}
	for known := range namedKeys {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	for known := range modifierKeys {
		if strings.EqualFold(string(known), name) {
			return string(known)
		}
	}
	return name
}

// modifierHint returns the hint for a chord that has name in the position of a modifier.
func modifierHint(chord, name string) string {
	before, last, _ := cutLast(chord, "+")
	if _, ok := modifierKeys[executor.Modifier(canonicalName(last))]; ok {
		return fmt.Sprintf("Modifiers come first, as in %s+%s.", canonicalName(last), before)
	}
	if near := typo.Nearest(name, func(yield func(string) bool) {
		for m := range modifierKeys {
			if !yield(string(m)) {
				return
			}
		}
	}); near != "" {
		return fmt.Sprintf("Did you mean %s? %s", near, keyHint)
	}
	return "Modifiers are Alt, Control, Meta and Shift. " + keyHint
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// unknownHint returns the hint for an unknown key name. It suggests the closest known name.
func unknownHint(name string) string {
	if near := typo.Nearest(name, maps.Keys(namedKeys)); near != "" {
		return fmt.Sprintf("Did you mean %s? %s", near, keyHint)
	}
	return keyHint + " To put text into a field, use Page.Type."
}

// keyHint shows how to write a key.
const keyHint = "Keys are named as in Enter, a, ArrowLeft, F5, PageDown or Control+Shift+K."

func (c *chord) has(m executor.Modifier) bool { return slices.Contains(c.modifiers, m) }

// addModifier adds m to the chord unless it has m.
func (c *chord) addModifier(m executor.Modifier) {
	if !c.has(m) {
		c.modifiers = append(c.modifiers, m)
	}
}

// keyOf returns the key that types r, and whether it needs Shift. A character that a US keyboard
// does not have gets a key with a text and no code.
func keyOf(r rune) (k key, shifted bool) {
	text := string(r)
	switch {
	case r >= 'a' && r <= 'z':
		return key{text, "Key" + strings.ToUpper(text), int64(r) - 'a' + 'A', text}, false
	case r >= 'A' && r <= 'Z':
		return key{text, "Key" + text, int64(r), text}, true
	case r >= '0' && r <= '9':
		return key{text, "Digit" + text, int64(r), text}, false
	case r == '\n' || r == '\r':
		return namedKeys["Enter"], false
	case r == '\t':
		return namedKeys["Tab"], false
	case r == ' ':
		return namedKeys["Space"], false
	}
	if s, ok := symbols[r]; ok {
		return key{text, s.code, s.windows, text}, s.shifted
	}
	return key{text, "", 0, text}, false
}

// shiftedRune returns the character that the key of r types with Shift.
func shiftedRune(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r - 'a' + 'A'
	}
	k, _ := keyOf(r)
	for s, sym := range symbols {
		if sym.shifted && sym.code == k.code && k.code != "" {
			return s
		}
	}
	return r
}

// modifierBits returns the CDP modifier bits of list. It returns ErrBadArgs for an unknown
// modifier.
func modifierBits(list []executor.Modifier) (int64, error) {
	var bits int64
	for _, m := range list {
		k, ok := modifierKeys[m]
		if !ok {
			return 0, executor.Errorf(executor.ErrBadArgs, "Modifiers are Alt, Control, Meta and Shift.", "%q is not a modifier", string(m))
		}
		bits |= k.bit
	}
	return bits, nil
}

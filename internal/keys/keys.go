// Package keys describes the keys of a US keyboard, chords of them, and the events that press them.
package keys

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/chromedp/kb"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// A Key is one key of a US keyboard, as UI Events names it.
type Key struct {
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
	key Key
}{
	executor.ModAlt:     {bitAlt, Key{"Alt", "AltLeft", 18, ""}},
	executor.ModControl: {bitControl, Key{"Control", "ControlLeft", 17, ""}},
	executor.ModMeta:    {bitMeta, Key{"Meta", "MetaLeft", 91, ""}},
	executor.ModShift:   {bitShift, Key{"Shift", "ShiftLeft", 16, ""}},
}

// namedKeys are the keys that have a name. init adds those of silentKeys, the function keys and the
// digits of the number pad.
var namedKeys = map[string]Key{
	"Enter":          {"Enter", "Enter", 13, "\r"},
	"Space":          {" ", "Space", 32, " "},
	"AltGraph":       {"AltGraph", "AltRight", 225, ""},
	"NumpadEnter":    {"Enter", "NumpadEnter", 13, "\r"},
	"NumpadAdd":      {"+", "NumpadAdd", 107, "+"},
	"NumpadSubtract": {"-", "NumpadSubtract", 109, "-"},
	"NumpadMultiply": {"*", "NumpadMultiply", 106, "*"},
	"NumpadDivide":   {"/", "NumpadDivide", 111, "/"},
	"NumpadDecimal":  {".", "NumpadDecimal", 110, "."},
}

// silentKeys maps each key that inserts no text, and whose key and code are its name, to its
// keyCode.
var silentKeys = map[string]int64{
	"Tab": 9, "Backspace": 8, "Delete": 46, "Insert": 45, "Escape": 27,
	"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
	"Home": 36, "End": 35, "PageUp": 33, "PageDown": 34,
	"CapsLock": 20, "NumLock": 144, "ScrollLock": 145, "Pause": 19, "PrintScreen": 44, "ContextMenu": 93,
}

func init() {
	for name, code := range silentKeys {
		namedKeys[name] = Key{name, name, code, ""}
	}
	for n := int64(1); n <= 24; n++ {
		name := "F" + strconv.FormatInt(n, 10)
		namedKeys[name] = Key{name, name, 111 + n, ""}
	}
	for n := int64(0); n <= 9; n++ {
		digit := strconv.FormatInt(n, 10)
		namedKeys["Numpad"+digit] = Key{digit, "Numpad" + digit, 96 + n, digit}
	}
}

// aliases are other common names of keys, in lower case.
var aliases = map[string]string{
	"return": "Enter", "esc": "Escape", "del": "Delete", "left": "ArrowLeft", "right": "ArrowRight",
	"up": "ArrowUp", "down": "ArrowDown", "spacebar": "Space", " ": "Space", "\n": "Enter", "\t": "Tab",
	"pgup": "PageUp", "pgdn": "PageDown", "pgdown": "PageDown", "ins": "Insert",
	"ctrl": "Control", "ctl": "Control", "cmd": "Meta", "command": "Meta", "option": "Alt", "super": "Meta",
}

// AllModifiers are the bits of all modifiers.
const AllModifiers = bitAlt | bitControl | bitMeta | bitShift

// Named returns the key with a name, such as "Enter". It panics if there is none.
func Named(name string) Key {
	k, ok := namedKeys[name]
	if !ok {
		panic("keys: no key is named " + name)
	}
	return k
}

// MustInsert reports whether no key of the keyboard types the character of k, so that it must be
// inserted.
func (k Key) MustInsert() bool { return k.code == "" }

// A Chord is a key with the modifiers that are pressed with it.
type Chord struct {
	Key       Key
	Modifiers []executor.Modifier
}

// Parse parses a key or a chord, such as "Enter", "a", "Control+Shift+ArrowLeft" or
// "Control++". The modifiers in more are added to those of the chord.
func Parse(s string, more []executor.Modifier) (*Chord, error) {
	if s == "" {
		return nil, executor.Errorf(executor.ErrBadArgs, keyHint, "key is empty")
	}
	if _, err := ModifierBits(more); err != nil {
		return nil, err
	}
	c := &Chord{}
	for _, m := range more {
		c.AddModifier(m)
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
		c.AddModifier(m)
		rest = after
	}
	rest = canonicalName(rest)
	if r, ok := codeRune(rest); ok {
		rest = string(r)
	}
	if k, ok := namedKeys[rest]; ok {
		c.Key = k
		return c, nil
	}
	if m, ok := modifierKeys[executor.Modifier(rest)]; ok {
		c.Key = m.key
		return c, nil
	}
	if r, size := utf8.DecodeRuneInString(rest); size == len(rest) {
		switch {
		case c.has(executor.ModShift):
			r = shiftedRune(r)
		case r >= 'A' && r <= 'Z' && len(c.Modifiers) > 0:
			r += 'a' - 'A' // "Control+A" usually means Ctrl and the A key, without Shift
		}
		k, shifted := ForRune(r)
		c.Key = k
		if shifted {
			c.AddModifier(executor.ModShift)
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
	plus := strings.LastIndex(chord, "+")
	last := canonicalName(chord[plus+1:])
	if _, ok := modifierKeys[executor.Modifier(last)]; ok {
		return fmt.Sprintf("Modifiers come first, as in %s+%s.", last, chord[:plus])
	}
	if near := typo.Nearest(name, slices.Values([]string{"Alt", "Control", "Meta", "Shift"})); near != "" {
		return fmt.Sprintf("Did you mean %s? %s", near, keyHint)
	}
	return modifiersHint + " " + keyHint
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

func (c *Chord) has(m executor.Modifier) bool { return slices.Contains(c.Modifiers, m) }

// AddModifier adds m to the chord unless it has m.
func (c *Chord) AddModifier(m executor.Modifier) {
	if !c.has(m) {
		c.Modifiers = append(c.Modifiers, m)
	}
}

// ForRune returns the key that types r, and whether it needs Shift. A character that a US keyboard
// does not have gets a key with a text and no code.
func ForRune(r rune) (k Key, shifted bool) {
	switch r {
	case '\n', '\r':
		return namedKeys["Enter"], false
	case '\t':
		return namedKeys["Tab"], false
	}
	if k, ok := kb.Keys[r]; ok && k.Print && r < utf8.RuneSelf {
		return Key{k.Key, k.Code, k.Windows, k.Text}, k.Shift
	}
	return Key{key: string(r), text: string(r)}, false
}

// shiftedRune returns the character that the key of r types with Shift.
func shiftedRune(r rune) rune {
	for shifted, k := range kb.Keys {
		if k.Shift && k.Unmodified == string(r) {
			return shifted
		}
	}
	return r
}

// modifiersHint names the modifiers.
const modifiersHint = "Modifiers are Alt, Control, Meta and Shift."

// ModifierBits returns the CDP modifier bits of list. It returns ErrBadArgs for an unknown
// modifier.
func ModifierBits(list []executor.Modifier) (int64, error) {
	var bits int64
	for _, m := range list {
		k, ok := modifierKeys[m]
		if !ok {
			return 0, executor.Errorf(executor.ErrBadArgs, modifiersHint, "%q is not a modifier", string(m))
		}
		bits |= k.bit
	}
	return bits, nil
}

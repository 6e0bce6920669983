package page

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// fieldInfo is what js/fields.js's inspectField returns.
type fieldInfo struct {
	ID      int    `json:"id"`
	Kind    string `json:"kind"`
	Checked string `json:"checked"` // "true", "false" or "mixed", of what can be checked
	Value   string `json:"value"`
	Type    string `json:"type"`
	Masked  bool   `json:"masked"` // the value is a secret, not to be told
	Limit   int    `json:"limit"`  // how many UTF-16 units the field takes; 0 for no limit
	Bad     bool   `json:"bad"`    // it shows what is no value of its type, and has none
}

// Type puts text into the target.
func (v *View) Type(ctx context.Context, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	var o executor.TypeOptions
	if opts != nil {
		o = *opts
	}
	changes, err := v.act(ctx, target, actOptions{timeout: o.Timeout, brief: !o.PressEnter}, func(ctx context.Context, el *element) (string, error) {
		if o.PressEnter {
			el.watch = nil // the text is not the end of it
		}
		c := v.confirmation(el, nil)
		defer c.end()
		at, err := v.approach(ctx, el, c, aimOptions{Editable: true}, o.Clear)
		if err != nil {
			return "", err
		}
		got, err := v.enter(ctx, el, at, c, text, o)
		switch {
		case err != nil || !o.PressEnter:
		case got.stopped || v.tab.dialogError() != nil:
			got.note = joinNotes(got.note, "Enter was not pressed")
		default:
			_, err = v.strikeConfirmed(ctx, el.doc, &chord{key: namedKeys["Enter"]})
			err = withProgress(err, "the text was typed and Enter was not pressed")
		}
		return got.note, err
	})
	if err != nil {
		return nil, err
	}
	return &executor.Action{OK: true, Changes: changes}, nil
}

// An entry is what became of text that was put into a field.
type entry struct {
	kept bool   // the field holds it, if in a form of the page's own
	note string // what the field holds, when that is not the text
	// stopped: a dialog opened or the page went on, so no key may follow
	stopped bool
}

// textEvents confirm that text reached a field.
var textEvents = []string{"beforeinput", "input", "keydown"}

// wentOn tells where the page led the keys that came after the first ones, as
// fields for one digit each do.
func (v *View) wentOn(field *element, c *confirmation) string {
	events := c.reported()
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.Type == "beforeinput" && !e.OK && !e.Held && e.By != nil {
			return fmt.Sprintf("the rest of the text went to %s [ref=%s]", e.By.label, v.mint(field.doc.world, e.By.ID, e.By.label))
		}
	}
	return ""
}

// A focused is what js/entry.js's beginEntry returns.
type focused struct {
	Focused bool    `json:"focused"`
	Placed  bool    `json:"placed"` // the caret is where it was asked to be
	Part    *[2]int `json:"part"`   // what was selected and is kept so, in UTF-16 units
	Empty   bool    `json:"empty"`
	By      *struct {
		ID int `json:"id"`
		label
	} `json:"by"` // the field that took the focus
}

// An entryStart is what js/entry.js's beginEntry needs to know.
type entryStart struct {
	Token string `json:"token"`
	All   bool   `json:"all"` // what the field holds is to be replaced
}

// approach waits until something can be put into the field that el stands for,
// and tells about the field. The entry of text into a field of the top document
// has begun then: c listens. In a frame what is above it is looked at first.
func (v *View) approach(ctx context.Context, el *element, c *confirmation, opts aimOptions, all bool) (*point, error) {
	opts.Field = true
	c.path = []*document{el.doc}
	if el.doc.top() {
		opts.Entry = &entryStart{c.token, all}
		c.guards = true
	}
	at, err := v.aim(ctx, el, opts)
	if err == nil && at.path != nil {
		c.path = at.path
	}
	return at, err
}

// strokeTime is how long one character may take when each is a key press.
const strokeTime = 50 * time.Millisecond

// enter puts text into the field that at was found for, by the way the field
// takes it, and reads back what the field holds then. Text that would go
// elsewhere is held back.
func (v *View) enter(ctx context.Context, el *element, at *point, c *confirmation, text string, o executor.TypeOptions) (entry, error) {
	none, unknown := entry{}, entry{kept: true, stopped: true} // the page went on, so the text arrived
	field, info := *el, at.field
	field.id = info.ID
	if info.Kind == "value" {
		return v.setValue(ctx, &field, text)
	}
	// The time that was given was for waiting, not for typing.
	ctx, cancel := extend(ctx, answerGrace+inputTimeout+time.Duration(len(text))*strokeTime)
	defer cancel()
	c.el = &field
	focus, err := v.beginEntry(ctx, &field, at.entry, c, o.Clear)
	if err != nil {
		return none, err
	}
	if o.Clear && (text == "" || o.KeyEvents) && (!focus.Empty || info.Kind == "editable") {
		if _, err := v.strike(ctx, el.doc, &chord{key: namedKeys["Delete"]}); err != nil {
			return none, err
		}
	}
	if text == "" && !o.Clear {
		return entry{kept: true}, nil
	}
	if text == "" {
		return v.readBack(ctx, &field, nil, reading{before: info, cleared: o.Clear})
	}
	want := text
	if info.Kind == "text" && !o.Clear {
		want = replacing(info.Value, focus.Part, text)
	}
	if !o.KeyEvents && info.Type == "textarea" && info.Limit == 0 && strings.Count(text, "\n") > manyLines {
		if text, err = v.preset(ctx, &field, want); err != nil {
			return none, err
		}
	}
	if v.tab.dialogError() != nil { // a key that came before opened it
		return entry{note: typedOf(0, utf8.RuneCountInString(text)), stopped: true}, nil
	}
	if note, stopped, err := v.send(ctx, &field, info, text, o.KeyEvents); stopped || err != nil {
		unknown.note = note
		return unknown, err
	}
	first, err := el.doc.start(ctx, "inspectField", field.id) // before the wait, which it costs nothing then
	if err != nil {
		return unknown, nil
	}
	_, _, err = c.wait(ctx, nil, expected{})
	if err != nil && !errors.Is(err, executor.ErrNotActionable) {
		return none, err
	}
	var rest string
	if o.KeyEvents && len(at.path) == 1 {
		rest = v.wentOn(&field, c)
	}
	got, err := v.readBack(ctx, &field, first, reading{before: info, want: want, cleared: o.Clear, unseen: err, rest: rest})
	if err == nil && got.note != "" {
		got.note = joinNotes(got.note, rest)
	}
	return got, err
}

// replacing returns the value with part of it, in UTF-16 units, replaced by
// text, or with text at its end.
func replacing(value string, part *[2]int, text string) string {
	units := utf16.Encode([]rune(value))
	if part == nil || part[0] < 0 || part[0] > part[1] || part[1] > len(units) {
		return value + text
	}
	return string(utf16.Decode(units[:part[0]])) + text + string(utf16.Decode(units[part[1]:]))
}

// beginEntry gives a field the focus, with what the text is to replace
// selected, and starts to listen and to guard, unless that was done: then focus
// tells how it went. It returns ErrNotActionable,
// naming what has the focus instead, when the field does not get it.
func (v *View) beginEntry(ctx context.Context, field *element, focus *focused, c *confirmation, all bool) (*focused, error) {
	if focus == nil {
		c.guards = true
		var pending []*cdpconn.Pending
		for _, up := range c.path[1:] {
			p, err := up.start(ctx, "expect", c.token, 0, expectation{Types: textEvents, Text: true, Below: true})
			if err != nil {
				return nil, v.goneOr(ctx, field, err)
			}
			pending = append(pending, p)
		}
		if err := field.doc.call(ctx, &focus, "beginEntry", field.id, c.token, all); err != nil {
			return nil, v.goneOr(ctx, field, err)
		}
		for i, p := range pending {
			if err := c.path[i+1].finish(ctx, p, nil); err != nil {
				return nil, v.goneOr(ctx, field, err)
			}
		}
	}
	if focus == nil {
		return nil, v.expired(ctx, field)
	}
	switch {
	case focus.Focused && !focus.Placed && !focus.Empty && !all:
		_, err := v.strike(ctx, field.doc, &chord{key: namedKeys["End"]})
		return focus, err
	case focus.Focused:
		return focus, nil
	}
	if focus.By == nil {
		// Some editors take the focus on a click only.
		if _, err := v.press(ctx, field, executor.ButtonLeft, 1, 0); err != nil {
			return nil, err
		}
		again := *focus
		if err := field.doc.call(ctx, &again, "entryFocus", field.id); err != nil {
			return nil, v.goneOr(ctx, field, err)
		}
		if again.Focused {
			if all {
				_, err := v.strike(ctx, field.doc, selectAll())
				return focus, err
			}
			return focus, nil
		}
		focus.By = again.By
	}
	e := &executor.Error{Code: executor.ErrNotActionable, Hint: "Take a snapshot to see what the page did.",
		Err: fmt.Errorf("%s does not take the focus, so nothing was typed", v.describe(ctx, field))}
	if focus.By != nil {
		e.Err = fmt.Errorf("%s [ref=%s] took the focus from %s, so nothing was typed", focus.By.label, v.mint(field.doc.world, focus.By.ID, focus.By.label), v.describe(ctx, field))
		e.Hint = "Type into what has the focus now if it stands for the field, or dismiss it first."
	}
	return nil, e
}

// manyLines is how many lines a textarea takes by typing. Chrome lays the text
// out anew at each line break, so that thousands take minutes.
const manyLines = 200

// preset puts all of the text of a textarea but its last character there at
// once, and returns that one, which is left to be typed: pages hear of it, and
// look at the whole.
func (v *View) preset(ctx context.Context, field *element, want string) (rest string, err error) {
	want = strings.ReplaceAll(want, "\r\n", "\n")
	_, size := utf8.DecodeLastRuneInString(want)
	if err := field.doc.call(ctx, nil, "preset", field.id, want[:len(want)-size]); err != nil {
		return "", v.goneOr(ctx, field, err)
	}
	return want[len(want)-size:], nil
}

// send types text where the focus is: in one event, as an input method does,
// or by a key press for each character. stopped tells that a dialog opened or the
// document ended, and the note how much was typed by then, if not all.
func (v *View) send(ctx context.Context, field *element, info *fieldInfo, text string, keys bool) (note string, stopped bool, err error) {
	if !keys {
		err := v.insert(ctx, field.doc, text)
		return "", err != nil, interrupted(err)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	typed, total := 0, utf8.RuneCountInString(text)
	b := v.block(ctx)
	for _, r := range text {
		b.did(fmt.Sprintf("at most %d of %d characters were typed", typed, total))
		if err := b.err(); err != nil {
			return "", true, err
		}
		typed++
		if r == '\n' && info.Kind == "text" && info.Type != "textarea" {
			r = ' ' // what the browser makes of it in a line; Enter would send the form
		}
		k, shifted := keyOf(r)
		if k.code == "" || r == '\t' { // the key would leave the field
			if err := v.insert(ctx, field.doc, string(r)); err != nil {
				return typedOf(typed, total), true, withProgress(interrupted(err), fmt.Sprintf("at most %d of %d characters were typed", typed-1, total))
			}
			continue
		}
		stroke := &chord{key: k}
		if shifted {
			stroke.modifiers = []executor.Modifier{executor.ModShift}
		}
		if stopped, err := v.strike(ctx, field.doc, stroke); stopped || err != nil {
			return typedOf(typed, total), true, withProgress(err, fmt.Sprintf("at most %d of %d characters were typed", typed-1, total))
		}
	}
	b.did("")
	return "", false, nil
}

// typedOf is the note on text that was not typed to its end.
func typedOf(n, total int) string {
	if n == total {
		return ""
	}
	return fmt.Sprintf("%d of %d characters were typed", n, total)
}

// A number is a limit of a field, which the page controls: a number, a date or a
// time. A limit that is too long or has other characters is ignored.
type number string

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *number) UnmarshalText(text []byte) error {
	*n = ""
	if len(text) <= maxNumber && !bytes.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789+-.:eETW", r) }) {
		*n = number(text)
	}
	return nil
}

// maxNumber is the maximum length of a field limit, in characters.
const maxNumber = 30

// setValue gives a field a value that cannot be typed.
func (v *View) setValue(ctx context.Context, el *element, value string) (entry, error) {
	var got *struct {
		OK     bool   `json:"ok"`
		Type   string `json:"type"`
		Masked bool   `json:"masked"`
		Min    number `json:"min"`
		Max    number `json:"max"`
		Step   number `json:"step"`
		// Set is what the field held at once, Value what it held when the page knew.
		Set   string `json:"set"`
		Value string `json:"value"`
	}
	if err := el.doc.call(ctx, &got, "setValue", el.id, value); err != nil {
		if errors.Is(err, executor.ErrDialogOpen) {
			return entry{kept: true}, nil // the page's change handler opened it
		}
		return entry{}, v.goneOr(ctx, el, err)
	}
	if got == nil {
		return entry{}, v.expired(ctx, el)
	}
	if !got.OK {
		example := map[string]string{
			"date": "2026-11-21", "time": "14:30", "datetime-local": "2026-11-21T14:30", "month": "2026-11", "week": "2026-W47", "color": "#33aaff", "range": "a number",
		}[got.Type]
		if got.Type == "range" {
			example = fmt.Sprintf("a number from %s to %s", cmp.Or(got.Min, "0"), cmp.Or(got.Max, "100"))
		}
		if got.Type != "range" && got.Min+got.Max != "" {
			example += fmt.Sprintf(", from %s to %s", cmp.Or(got.Min, "any"), cmp.Or(got.Max, "any"))
		}
		if got.Step != "" {
			example += " in steps of " + string(got.Step)
		}
		return entry{}, executor.Errorf(executor.ErrBadArgs, "Give it as "+example+".", "a %s field does not take %s", got.Type, unlessMasked(got.Masked, value, "this value"))
	}
	if got.Value == "" && got.Set != "" {
		return entry{note: fmt.Sprintf("the %s field is empty now", got.Type)}, nil
	}
	if got.Value != got.Set {
		return entry{note: fmt.Sprintf("the field holds %s instead", unlessMasked(got.Masked, firstLine(got.Value), "something else"))}, nil
	}
	return entry{kept: true}, nil
}

// unlessMasked quotes what a field holds or should hold, and when that is a
// secret returns the word for it.
func unlessMasked(masked bool, value, word string) string {
	if masked {
		return word
	}
	return strconv.Quote(value)
}

// timeoutOf returns the time of optional options.
func timeoutOf(o *executor.ActionOptions) time.Duration {
	if o == nil {
		return 0
	}
	return o.Timeout
}

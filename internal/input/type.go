package input

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
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// fieldInfo is the result of inspectField of js/fields.js.
type fieldInfo struct {
	ID      int    `json:"id"`
	Kind    string `json:"kind"`
	Checked string `json:"checked"` // "true", "false" or "mixed" for checkable fields
	Value   string `json:"value"`
	Type    string `json:"type"`
	Masked  bool   `json:"masked"` // the value is a secret and must not be reported
	Limit   int    `json:"limit"`  // maximum length in UTF-16 units; 0 means no limit
	Editor  string `json:"editor"` // "model" or "terminal" if the field passes its text to an editor; see js/editors.js
	Bad     bool   `json:"bad"`    // the field shows an invalid value for its type, and its value is empty
}

// Type enters text into the target.
func (a *Actor) Type(ctx context.Context, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	o := *cmp.Or(opts, new(executor.TypeOptions))
	given, err := a.secretText(ctx, text)
	if err != nil {
		return nil, err
	}
	if err := checkDelay(o.Delay, given.plain); err != nil {
		return nil, err
	}
	o.KeyEvents = o.KeyEvents || o.Delay > 0
	if given.hidden && o.KeyEvents {
		return nil, executor.Errorf(executor.ErrBadArgs, "Omit TypeOptions.KeyEvents and TypeOptions.Delay.", "a secret is not entered with a key press for each character")
	}
	text = given.plain
	return actionOf(a.act(ctx, target, actOptions{timeout: o.Timeout, skipFrameWait: !o.PressEnter}, func(ctx context.Context, el *element) (string, error) {
		if o.PressEnter {
			el.effects = nil // the text is not the action's last input
		}
		c := a.newHitTargetCheck(el, nil)
		defer c.end()
		var at *actionPoint
		var got entryResult
		var err error
		if given.hidden {
			if _, err = a.waitActionable(ctx, el, actionabilityOptions{Editable: true, Field: true}); err == nil {
				got, err = a.enterSecret(ctx, el.Element, given, o.Clear)
			}
		} else if at, err = a.waitEditable(ctx, el, c, actionabilityOptions{Editable: true}, o.Clear); err == nil {
			got, err = a.enterText(ctx, el, at, c, text, o)
		}
		if el.effects != nil && got.field != nil {
			el.effects.Entered = append(el.effects.Entered, got.field)
		}
		got.note = phrase.Notes(given.note, got.note)
		switch {
		case err != nil || !o.PressEnter:
		case got.stopped || a.tree.Blocked() != nil:
			got.note = phrase.Notes(got.note, "Enter was not pressed")
		default:
			var sent bool
			sent, err = a.keyboard.pressChecked(ctx, el.Doc, &keys.Chord{Key: keys.Named("Enter")})
			progress := "the text was typed and Enter was not pressed"
			if sent {
				progress = "the text was typed, and Enter was sent: the page may still receive it"
			}
			err = shield.WithProgress(err, progress)
		}
		return got.note, err
	}))
}

// checkDelay returns ErrBadArgs if text cannot be typed with a delay between its characters.
func checkDelay(delay time.Duration, text string) error {
	if delay < 0 {
		return executor.Errorf(executor.ErrBadArgs, "Use a positive time.", "the delay %v is negative", delay)
	}
	gaps := max(utf8.RuneCountInString(text)-1, 0)
	if most := executor.MaxTypingDelay / time.Duration(max(gaps, 1)); delay > most {
		return executor.Errorf(executor.ErrBadArgs, "Use a shorter delay, or type the text in several calls.",
			"the delays between %d characters would take longer than %v", gaps+1, executor.MaxTypingDelay)
	}
	return nil
}

// An entryResult is the result of entering text into a field.
type entryResult struct {
	kept bool   // the field contains the text, possibly as reformatted by the page
	note string // what the field contains, if that is not the text
	// stopped means that a dialog opened or the document was replaced, so no key may follow.
	stopped bool
	field   *EnteredField // the field, if its value was read
}

// textEvents are the events that confirm that text reached a field.
var textEvents = []string{"beforeinput", "input", "keydown"}

// focusMovedNote returns the note on the field to which the page moved the focus during typing, as
// with fields for one digit each, or "".
func (a *Actor) focusMovedNote(field *element, c *hitTargetCheck) string {
	events := c.reported()
	for i := len(events) - 1; i >= 0; i-- {
		if e := events[i]; e.Type == "beforeinput" && !e.OK && !e.Prevented && e.By != nil {
			return "the rest of the text went to " + a.finder.WithRef(field.Doc, *e.By)
		}
	}
	return ""
}

// A focusResult is the result of beginEntry of js/text_entry.js.
type focusResult struct {
	Focused bool                       `json:"focused"`
	Placed  bool                       `json:"placed"` // the caret is at the requested position
	Part    *[2]int                    `json:"part"`   // the existing selection that was kept, in UTF-16 units
	Empty   bool                       `json:"empty"`
	By      *elements.DescribedElement `json:"by"` // the field that took the focus
}

// An entryStart holds the arguments of beginEntry of js/text_entry.js.
type entryStart struct {
	Token string `json:"token"`
	All   bool   `json:"all"`  // the text replaces the field's content
	Text  int64  `json:"text"` // how long text for other elements is blocked at most, in milliseconds
}

// entryStart returns the start of a text entry whose check is c.
func (c *hitTargetCheck) entryStart(all bool) *entryStart {
	return &entryStart{c.token, all, c.actor.timing.TextBlock.Milliseconds()}
}

// waitEditable waits until text can be entered into the field of el, and returns information about
// the field. For a field of the top document, it also starts the text entry: c then observes the
// input. For a field in a frame, the documents above it are checked first.
func (a *Actor) waitEditable(ctx context.Context, el *element, c *hitTargetCheck, opts actionabilityOptions, all bool) (*actionPoint, error) {
	opts.Field = true
	c.path = []*frames.Document{el.Doc}
	if el.Doc.IsTop() {
		opts.Entry = c.entryStart(all)
		c.blocksOtherInput = true
	}
	at, err := a.waitActionable(ctx, el, opts)
	if err == nil && at.path != nil {
		c.path = at.path
	}
	return at, err
}

// enterText enters text into the field in at.field, by the method that the field needs, and reads
// back what the field contains. Text that another element would receive is blocked.
func (a *Actor) enterText(ctx context.Context, el *element, at *actionPoint, c *hitTargetCheck, text string, o executor.TypeOptions) (entryResult, error) {
	none, unknown := entryResult{}, entryResult{kept: true, stopped: true} // the document was replaced, so the text arrived
	field, info := el.withID(at.field.ID), at.field
	if info.Kind == "value" {
		return a.setValue(ctx, field, text)
	}
	limits := a.timing
	// The caller's timeout is for waiting, not for typing.
	ctx, cancel := deadline.Extend(ctx, limits.Script+limits.Input+time.Duration(len(text))*(limits.Stroke+o.Delay))
	defer cancel()
	c.el = field
	focus, err := a.beginEntry(ctx, field, at.entry, c, o.Clear)
	if err != nil {
		return none, err
	}
	if info.Editor != "" {
		return a.enterIntoEditor(ctx, field, focus, c, text, o)
	}
	if info.Kind == "editable" && !o.KeyEvents && focus.Part == nil && strings.ContainsAny(text, "\r\n") {
		if got, done, err := a.enterLines(ctx, field, c, text, o); done || err != nil {
			return got, err
		}
	}
	if o.Clear && (text == "" || o.KeyEvents) && (!focus.Empty || info.Kind == "editable") {
		if _, err := a.keyboard.press(ctx, el.Doc, &keys.Chord{Key: keys.Named("Delete")}); err != nil {
			return none, err
		}
	}
	if text == "" && !o.Clear {
		return entryResult{kept: true}, nil
	}
	if text == "" {
		return a.readBack(ctx, field, nil, readBackState{before: info, cleared: o.Clear})
	}
	want := text
	if info.Kind == "text" && !o.Clear {
		want = replacing(info.Value, focus.Part, text)
	}
	if !o.KeyEvents && info.Type == "textarea" && info.Limit == 0 && strings.Count(text, "\n") > manyLines {
		if text, err = a.prefillTextarea(ctx, field, want); err != nil {
			return none, err
		}
	}
	if a.tree.Blocked() != nil { // an earlier key press opened it
		return entryResult{note: typedOf(0, utf8.RuneCountInString(text)), stopped: true}, nil
	}
	if note, stopped, err := a.send(ctx, field, info, text, o); stopped || err != nil {
		unknown.note = note
		return unknown, err
	}
	first, err := el.Doc.Start(ctx, "inspectField", field.ID) // before the wait, so that it takes no additional time
	if err != nil {
		return unknown, nil
	}
	_, _, err = c.wait(ctx, nil, completionCriteria{})
	if err != nil && !errors.Is(err, executor.ErrNotActionable) {
		return none, err
	}
	var rest string
	if o.KeyEvents && len(at.path) == 1 {
		rest = a.focusMovedNote(field, c)
	}
	got, err := a.readBack(ctx, field, first, readBackState{before: info, want: want, cleared: o.Clear, unconfirmedErr: err, rest: rest, keyEvents: o.KeyEvents})
	if err == nil && got.note != "" {
		got.note = phrase.Notes(got.note, rest)
	}
	return got, err
}

// replacing returns value with part of it, in UTF-16 units, replaced by text, or with text appended
// if part is nil or invalid.
func replacing(value string, part *[2]int, text string) string {
	units := utf16.Encode([]rune(value))
	if part == nil || part[0] < 0 || part[0] > part[1] || part[1] > len(units) {
		return value + text
	}
	return string(utf16.Decode(units[:part[0]])) + text + string(utf16.Decode(units[part[1]:]))
}

// beginEntry moves the focus to a field, selects what the text replaces, and starts the hit target
// check with its input blocker. A focus that is not nil is the result of a start that was already
// made. beginEntry returns ErrNotActionable, naming the element that has the focus instead, if the
// field does not get it.
func (a *Actor) beginEntry(ctx context.Context, field *element, focus *focusResult, c *hitTargetCheck, all bool) (*focusResult, error) {
	if focus == nil {
		c.blocksOtherInput = true
		var pending []*cdpconn.Pending
		for _, up := range c.path[1:] {
			p, err := up.Start(ctx, "startCheck", c.token, 0, hitTargetOptions{Types: textEvents, Text: a.timing.TextBlock.Milliseconds(), Below: true})
			if err != nil {
				return nil, a.finder.Removed(ctx, field.Element, err)
			}
			pending = append(pending, p)
		}
		if err := a.finder.Call(ctx, field.Element, &focus, "beginEntry", field.ID, c.entryStart(all)); err != nil {
			return nil, a.finder.Removed(ctx, field.Element, err)
		}
		for i, p := range pending {
			if err := c.path[i+1].Finish(ctx, p, nil); err != nil {
				return nil, a.finder.Removed(ctx, field.Element, err)
			}
		}
	}
	if focus == nil {
		return nil, a.finder.RemovedError(ctx, field.Element)
	}
	if focus.Focused {
		field.Shown.Act()
	}
	switch {
	case focus.Focused && !focus.Placed && !focus.Empty && !all:
		_, err := a.keyboard.press(ctx, field.Doc, &keys.Chord{Key: keys.Named("End")})
		return focus, err
	case focus.Focused:
		return focus, nil
	}
	if focus.By == nil {
		// Some editors take the focus only on a click.
		if _, err := a.clickOnce(ctx, field); err != nil {
			return nil, err
		}
		again := *focus
		if err := field.Doc.Call(ctx, &again, "entryFocus", field.ID); err != nil {
			return nil, a.finder.Removed(ctx, field.Element, err)
		}
		if again.Focused {
			if all {
				_, err := a.keyboard.press(ctx, field.Doc, keys.SelectAll())
				return focus, err
			}
			return focus, nil
		}
		focus.By = again.By
	}
	e := &executor.Error{Code: executor.ErrNotActionable, Hint: "Take a snapshot to see what the page did.",
		Err: fmt.Errorf("%s cannot be focused; no text was typed", a.finder.Describe(ctx, field.Element))}
	if focus.By != nil {
		e.Err = fmt.Errorf("%s took the focus from %s; no text was typed", a.finder.WithRef(field.Doc, *focus.By), a.finder.Describe(ctx, field.Element))
		e.Hint = "Type into the focused element if it represents the field, or dismiss it first."
	}
	return nil, e
}

// A number is a limit of a field, which the page controls: a number, a date or a time. A limit that
// is too long or has other characters is ignored.
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

// setValue sets the value of a field that accepts no typing, such as a date.
func (a *Actor) setValue(ctx context.Context, el *element, value string) (entryResult, error) {
	var got *struct {
		OK     bool   `json:"ok"`
		Type   string `json:"type"`
		Masked bool   `json:"masked"`
		Min    number `json:"min"`
		Max    number `json:"max"`
		Step   number `json:"step"`
		// Set is the field's value immediately after it was set, Value its value after the page was
		// notified.
		Set   string `json:"set"`
		Value string `json:"value"`
	}
	if err := a.finder.Call(ctx, el.Element, &got, "setValue", el.ID, value); err != nil {
		if errors.Is(err, executor.ErrDialogOpen) {
			return entryResult{kept: true}, nil // the page's change handler opened it
		}
		return entryResult{}, a.finder.Removed(ctx, el.Element, err)
	}
	if got == nil {
		return entryResult{}, a.finder.RemovedError(ctx, el.Element)
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
		return entryResult{}, executor.Errorf(executor.ErrBadArgs, "Use "+example+".", "a %s field does not accept %s", got.Type, unlessMasked(got.Masked, value, "this value"))
	}
	if got.Value == "" && got.Set != "" {
		return entryResult{note: fmt.Sprintf("the %s field is empty now", got.Type)}, nil
	}
	if got.Value != got.Set {
		return entryResult{note: fmt.Sprintf("the field value is %s", unlessMasked(got.Masked, pagetext.FirstLine(got.Value), "different"))}, nil
	}
	return entryResult{kept: true}, nil
}

// unlessMasked returns the quoted value of a field, or word if the value is a secret.
func unlessMasked(masked bool, value, word string) string {
	if masked {
		return word
	}
	return strconv.Quote(value)
}

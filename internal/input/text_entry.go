package input

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/hitcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// A textEntry is the state of one entry of text into a field. Text that another element would
// receive is blocked.
type textEntry struct {
	actor *Actor
	text  string
	opts  executor.TypeOptions
	check *hitTargetCheck // of the input

	// Set by waitEditable.
	field *element
	info  *fieldInfo // before the entry

	focus *focusResult // of the start of the entry; nil if it was not started

	// For readBack.
	want        string // the complete value that the field should have
	unconfirmed error  // of input that was not reported as received; returned only if the field did not change
	focusMoved  string // the result of focusMovedNote, for a text that is typed with key presses
}

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

// newTextEntry returns the entry of text into el. The caller must end its check.
func (a *Actor) newTextEntry(el *element, text string, opts executor.TypeOptions) *textEntry {
	check := &hitTargetCheck{Events: hitcheck.Observe(a.tree), actor: a, el: el, path: []*frames.Document{el.Doc}}
	return &textEntry{actor: a, text: text, opts: opts, check: check}
}

// start returns the arguments that start the entry.
func (e *textEntry) start() *entryStart {
	return &entryStart{e.check.Token, e.opts.Clear, e.actor.timing.TextBlock.Milliseconds()}
}

// waitEditable waits until text can be entered into the field of the element. For a field of the
// top document, it also starts the entry: the check then observes the input. For a field in a
// frame, the documents above it are checked first.
func (e *textEntry) waitEditable(ctx context.Context, opts actionabilityOptions) error {
	c := e.check
	opts.Field = true
	if c.el.Doc.IsTop() {
		opts.Entry = e.start()
		c.stopAtEnd = true
	}
	at, err := e.actor.waitActionable(ctx, c.el, opts)
	if err != nil {
		return err
	}
	if at.path != nil {
		c.path = at.path
	}
	e.field, e.info, e.focus = c.el.withID(at.field.ID), at.field, at.entry
	return nil
}

// enter enters the text by the method that the field needs, and reads back what the field contains.
func (e *textEntry) enter(ctx context.Context) (entryResult, error) {
	if e.info.Kind == "value" {
		return e.setValue(ctx)
	}
	a, o, text := e.actor, e.opts, e.text
	// The caller's timeout is for waiting, not for typing.
	ctx, cancel := deadline.Extend(ctx, a.timing.Script+a.timing.Input+time.Duration(len(text))*(a.timing.Stroke+o.Delay))
	defer cancel()
	e.check.el = e.field
	if err := e.begin(ctx); err != nil {
		return entryResult{}, err
	}
	if e.info.Editor != "" {
		return (&editorEntry{textEntry: e}).enter(ctx)
	}
	if e.info.Kind == "editable" && !o.KeyEvents && e.focus.Part == nil && strings.ContainsAny(text, "\r\n") {
		if got, done, err := (&linesEntry{textEntry: e}).enter(ctx); done || err != nil {
			return got, err
		}
	}
	if o.Clear && (text == "" || o.KeyEvents) && (!e.focus.Empty || e.info.Kind == "editable") {
		if _, err := e.press(ctx, &keys.Chord{Key: keys.Named("Delete")}); err != nil {
			return entryResult{}, err
		}
	}
	if text == "" && !o.Clear {
		return entryResult{kept: true}, nil
	}
	if text == "" {
		return e.readBack(ctx, nil)
	}
	e.want = text
	if e.info.Kind == "text" && !o.Clear {
		e.want = replacing(e.info.Value, e.focus.Part, text)
	}
	if !o.KeyEvents && e.info.Type == "textarea" && e.info.Limit == 0 && strings.Count(text, "\n") > manyLines {
		var err error
		if text, err = e.prefill(ctx); err != nil {
			return entryResult{}, err
		}
	}
	if a.tree.DialogError() != nil { // an earlier key press opened it
		return entryResult{note: typedOf(0, utf8.RuneCountInString(text)), stopped: true}, nil
	}
	if note, stopped, err := e.send(ctx, text); stopped || err != nil {
		return entryResult{kept: true, stopped: true, note: note}, err
	}
	first, err := e.field.Doc.Start(ctx, "inspectField", e.field.ID) // before the wait, so that it takes no additional time
	if err != nil {
		return entryResult{kept: true, stopped: true}, nil // the document was replaced, so the text arrived
	}
	_, _, err = e.check.wait(ctx, nil, completionCriteria{})
	if err != nil && !errors.Is(err, executor.ErrNotActionable) {
		return entryResult{}, err
	}
	if e.check.others.Has(e.check.blockedIn) {
		return entryResult{}, err
	}
	e.unconfirmed = err
	if o.KeyEvents && len(e.check.path) == 1 {
		e.focusMoved = e.focusMovedNote()
	}
	got, err := e.readBack(ctx, first)
	if err == nil && got.note != "" {
		got.note = phrase.Notes(got.note, e.focusMoved)
	}
	return got, err
}

// press presses a chord in the field. See [keyboard.press].
func (e *textEntry) press(ctx context.Context, chord *keys.Chord) (stopped bool, err error) {
	return e.actor.keyboard.press(ctx, e.field.Doc, chord)
}

// removed is [elements.Finder.Removed] for the field.
func (e *textEntry) removed(ctx context.Context, err error) error {
	return e.actor.finder.Removed(ctx, e.field.Element, err)
}

// describe describes the field for messages.
func (e *textEntry) describe(ctx context.Context) string {
	return e.actor.finder.Describe(ctx, e.field.Element)
}

// query calls a function of the page scripts with the id of an element of the document of el. It
// returns the error for an element el that was removed if the function returns nothing.
func query[T any](ctx context.Context, a *Actor, el *element, function string, id int) (*T, error) {
	var got *T
	if err := el.Doc.Call(ctx, &got, function, id); err != nil {
		return nil, a.finder.Removed(ctx, el.Element, err)
	}
	if got == nil {
		return nil, a.finder.RemovedError(ctx, el.Element)
	}
	return got, nil
}

// focusMovedNote returns the note on the field to which the page moved the focus during typing, as
// with fields for one digit each, or "".
func (e *textEntry) focusMovedNote() string {
	events := e.check.Reported()
	for i := len(events) - 1; i >= 0; i-- {
		if ev := events[i]; ev.Type == "beforeinput" && !ev.OK && !ev.Prevented && ev.By != nil {
			return "the rest of the text went to " + e.actor.finder.WithRef(e.field.Doc, *ev.By)
		}
	}
	return ""
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

// begin moves the focus to the field, selects what the text replaces, and starts the hit target
// check with its input blocker, unless waitEditable did so. It returns ErrNotActionable, naming the
// element that has the focus instead, if the field does not get it.
func (e *textEntry) begin(ctx context.Context) error {
	if e.focus == nil {
		if err := e.startInFrame(ctx); err != nil {
			return err
		}
	}
	e.check.others = hitcheck.BlockElsewhere(ctx, e.actor.client, e.check.Token, e.check.path, nil, hitcheck.Options{Types: textEvents, Text: e.actor.timing.TextBlock.Milliseconds()})
	e.check.others.Await(ctx)
	focus, all := e.focus, e.opts.Clear
	if focus.Focused {
		e.field.Shown.RecordInput()
	}
	switch {
	case focus.Focused && !focus.Placed && !focus.Empty && !all:
		_, err := e.press(ctx, &keys.Chord{Key: keys.Named("End")})
		return err
	case focus.Focused:
		return nil
	}
	if focus.By == nil {
		// Some editors take the focus only on a click.
		if _, err := e.actor.clickLeft(ctx, e.field); err != nil {
			return err
		}
		again := *focus
		if err := e.field.Doc.Call(ctx, &again, "entryFocus", e.field.ID); err != nil {
			return e.removed(ctx, err)
		}
		switch {
		case again.Focused && all:
			_, err := e.press(ctx, keys.SelectAll())
			return err
		case again.Focused:
			return nil
		}
		focus.By = again.By
	}
	name := e.describe(ctx)
	if focus.By != nil {
		return executor.Errorf(executor.ErrNotActionable, "Type into the focused element if it represents the field, or dismiss it first.",
			"%s took the focus from %s; no text was typed", e.actor.finder.WithRef(e.field.Doc, *focus.By), name)
	}
	return executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the page did.", "%s cannot be focused; no text was typed", name)
}

// startInFrame starts the entry, after the documents above the field observe the input.
func (e *textEntry) startInFrame(ctx context.Context) error {
	c := e.check
	c.stopAtEnd = true
	var pending []*cdpconn.Pending
	for _, up := range c.path[1:] {
		p, err := up.Start(ctx, "startCheck", c.Token, 0, hitcheck.Options{Types: textEvents, Text: e.actor.timing.TextBlock.Milliseconds(), Below: true})
		if err != nil {
			return e.removed(ctx, err)
		}
		pending = append(pending, p)
	}
	if err := e.actor.finder.Call(ctx, e.field.Element, &e.focus, "beginEntry", e.field.ID, e.start()); err != nil {
		return e.removed(ctx, err)
	}
	for i, p := range pending {
		if err := c.path[i+1].Finish(ctx, p, nil); err != nil {
			return e.removed(ctx, err)
		}
	}
	if e.focus == nil {
		return e.actor.finder.RemovedError(ctx, e.field.Element)
	}
	return nil
}

package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/hitcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// A formFill is the state of one call of [Actor.FillForm].
type formFill struct {
	actor   *Actor
	opts    executor.FillOptions
	effects *Effects
}

// FillForm fills fields in order and then submits.
func (a *Actor) FillForm(ctx context.Context, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	o := *cmp.Or(opts, new(executor.FillOptions))
	if len(fields) == 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Pass at least one field and its value.", "no fields given")
	}
	a.ReleaseButtons(ctx)
	w := a.opts.TrackChanges()
	defer w.End()
	form := &formFill{a, o, w.Effects()}
	form.effects.Brief = o.Submit.IsZero()
	res := &executor.FillResult{Filled: []string{}}
	var notes []string
	for _, f := range fields {
		name := cmp.Or(string(f.Target.Ref), f.Target.Selector)
		note, err := form.fill(ctx, name, f)
		if err != nil {
			return nil, fillError(name, res.Filled, err)
		}
		if note != "" {
			notes = append(notes, name+": "+note)
		}
		res.Filled = append(res.Filled, name)
	}
	var note string
	var err error
	if !o.Submit.IsZero() {
		if note, res.Submitted, err = form.submit(ctx); err != nil {
			return nil, fillError("", res.Filled, err)
		}
	}
	res.Changes, err = w.Finish(ctx)
	res.Note = phrase.Notes(phrase.Notes(notes...), note, res.Note)
	return res, err
}

// submit clicks the submit button as the last input of the action. sent is false if
// the browser did not submit the form because fields are invalid.
func (f *formFill) submit(ctx context.Context) (note string, sent bool, err error) {
	a, effects := f.actor, f.effects
	ctx, cancel := deadline.ForAction(ctx, f.opts.Timeout)
	defer cancel()
	el, err := a.find(ctx, f.opts.Submit, f.opts.Timeout > 0)
	if err != nil {
		return "", false, err
	}
	el.effects, el.submits = effects, true
	effects.Target, effects.Changed = el.Shown, true
	if err := a.finder.Call(ctx, el.Element, nil, "leaveField", el.ID); err != nil {
		return "", false, a.finder.Removed(ctx, el.Element, err)
	}
	if err := lostField(ctx, effects.Entered); err != nil {
		return "", false, err
	}
	effects.Entered = nil // a form that was sent may clear its fields
	note, err = a.clickLeft(ctx, el)
	return phrase.Notes(el.Shown.NewName(), note), err == nil && !effects.Invalid, err
}

// invalidNote is the note on fields that prevented a form from being submitted.
func invalidNote(fields []hitcheck.InvalidField) string {
	var list []string
	for _, f := range fields {
		list = append(list, fmt.Sprintf("%s (%s)", f.Description, f.Message))
	}
	if len(list) == 0 {
		return ""
	}
	return "form not submitted, invalid fields: " + strings.Join(list, ", ")
}

// fillError adds to err the field that it is about, or the submit button if name is empty, and the
// fields that were filled before it.
func fillError(name string, filled []string, err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok {
		e = &executor.Error{Code: executor.CodeOf(err), Err: err}
	}
	c := *e
	state := "no other field was filled"
	if len(filled) > 0 {
		state = "filled before it: " + strings.Join(filled, ", ")
	}
	where := "field " + name
	if name == "" {
		where = "the submit button"
	}
	c.Err = fmt.Errorf("%s: %s (%s)", where, e.Message(), state)
	return &c
}

// fill fills one field, whose name is that of results. The note describes how the page changed the
// value.
func (f *formFill) fill(ctx context.Context, name string, field executor.Field) (note string, err error) {
	ctx, cancel := deadline.ForAction(ctx, f.opts.Timeout)
	defer cancel()
	el, err := f.actor.find(ctx, field.Target, f.opts.Timeout > 0)
	if err != nil {
		return "", err
	}
	text, _ := field.Value.(string)
	given, err := findSecrets(ctx, f.actor.opts.Secrets, text)
	if err != nil {
		return "", err
	}
	if given.hidden {
		var got entryResult
		got, err = (&secretEntry{f.actor, el, given}).enter(ctx, true)
		if note = got.note; err == nil && !got.kept {
			err = executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the page did.", "%s", note)
		}
	} else {
		note, err = f.fillValue(ctx, el, name, field.Value, given.plain)
	}
	return phrase.Notes(el.Shown.NewName(), given.note, note), err
}

// fillValue fills a field with a value, which is text if it is a string.
func (f *formFill) fillValue(ctx context.Context, el *element, name string, value any, text string) (note string, err error) {
	_, isText := value.(string)
	entry := f.actor.newTextEntry(el, text, executor.TypeOptions{Clear: true})
	defer entry.check.end()
	if err := entry.waitEditable(ctx, actionabilityOptions{}); err != nil {
		return "", err
	}
	field, info := entry.field, entry.info
	switch info.Kind {
	case "text", "editable", "value":
		if !isText {
			return "", wrongValue("a string", value)
		}
		got, err := entry.enter(ctx)
		if err == nil && got.field != nil {
			got.field.name = name
			f.effects.Entered = append(f.effects.Entered, got.field)
		}
		if err == nil && !got.kept {
			hint := "Use a value that the field accepts, or call Page.Type with TypeOptions.KeyEvents."
			if info.Kind == "value" { // not typed
				hint = "Use a value that the field accepts."
			}
			err = &executor.Error{Code: executor.ErrNotActionable, Err: errors.New(got.note), Hint: hint}
		}
		return got.note, err
	case "select":
		values, ok := value.([]string)
		if isText {
			values, ok = []string{text}, true
		}
		if !ok {
			return "", wrongValue("a string or a list of strings", value)
		}
		_, _, note, err := f.actor.choose(ctx, field, field.ID, values)
		if err == nil && note != "" {
			err = &executor.Error{Code: executor.ErrNotActionable, Err: errors.New(note), Hint: "Take a snapshot to see what the page did."}
		}
		return "", err
	case "radio":
		if isText {
			return "", f.chooseRadio(ctx, el, field, text)
		}
		fallthrough
	case "check":
		want, ok := value.(bool)
		if !ok {
			return "", wrongValue("true or false", value)
		}
		return "", f.setChecked(ctx, field, info, want)
	case "file":
		return "", executor.Errorf(executor.ErrBadArgs, "Omit the field. Use Page.Upload for its files.", "a file field cannot be filled with a value")
	}
	if isText {
		return "", f.chooseRadio(ctx, el, field, text)
	}
	return "", f.notField(ctx, el)
}

// notField returns the error for an element that is not a form field.
func (f *formFill) notField(ctx context.Context, el *element) error {
	return executor.Errorf(executor.ErrBadArgs, "Take a snapshot and use the ref of the field itself.", "%s is not a form field", f.actor.finder.Describe(ctx, el.Element))
}

// wrongValue returns the error for a value of the wrong type. It names the type of the value, not
// the value, which may be a secret.
func wrongValue(want string, got any) error {
	kind := fmt.Sprintf("a %T", got)
	switch got.(type) {
	case nil:
		kind = "nothing"
	case string:
		kind = "a string"
	case bool:
		kind = "a boolean"
	case []string:
		kind = "a list of strings"
	}
	return executor.Errorf(executor.ErrBadArgs, "Use a value of the type that the field accepts.", "expected %s, got %s", want, kind)
}

// chooseRadio selects the radio button with the given value or label in the group that field
// belongs to or contains. Errors name el.
func (f *formFill) chooseRadio(ctx context.Context, el, field *element, value string) error {
	var got *struct {
		ID       int  `json:"id"`
		Disabled bool `json:"disabled"`
		listedOptions
	}
	if err := f.actor.finder.Call(ctx, field.Element, &got, "pickRadio", field.ID, value); err != nil {
		return f.actor.finder.Removed(ctx, el.Element, err)
	}
	switch {
	case got == nil:
		return f.actor.finder.RemovedError(ctx, el.Element)
	case got.Total == 0 && got.ID == 0:
		return f.notField(ctx, el)
	case got.Disabled:
		return &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("radio button %q is disabled", value), Hint: "Choose another one."}
	case got.ID == 0:
		return executor.Errorf(executor.ErrBadArgs, "Use one of those, or true for the radio button itself.", "no radio button of the group is %q; there are %s", value, got.listedOptions)
	}
	radio := field.withID(got.ID)
	radio.Ref = ""
	info, err := query[fieldInfo](ctx, f.actor, el, "inspectField", radio.ID)
	if err != nil {
		return err
	}
	return f.setChecked(ctx, radio, info, true)
}

// setChecked sets the state of a checkbox or radio button by clicking it. If it was in the mixed
// state, which the first click only ends, setChecked may click twice.
func (f *formFill) setChecked(ctx context.Context, el *element, info *fieldInfo, want bool) error {
	state := strconv.FormatBool(want)
	if info.Checked == state {
		_, err := f.actor.waitActionable(ctx, el, actionabilityOptions{})
		return err
	}
	if info.Kind == "radio" && !want {
		return executor.Errorf(executor.ErrBadArgs, "Set another radio button of the group to true.", "a radio button cannot be unchecked directly")
	}
	for range 2 {
		before := info.Checked
		if _, err := f.actor.clickLeft(ctx, el); err != nil {
			return err
		}
		var after *fieldInfo
		if err := el.Doc.Call(ctx, &after, "waitChecked", el.ID, state, f.actor.timing.Checked.Milliseconds()); err != nil {
			return ignoreInterruption(err)
		}
		if after == nil || after.Checked == state {
			return nil
		}
		if info = after; before != "mixed" {
			break
		}
	}
	return executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the page did.",
		"%s was clicked and is not %s", f.actor.finder.Describe(ctx, el.Element), map[bool]string{true: "checked", false: "unchecked"}[want])
}

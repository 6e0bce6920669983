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
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// FillForm fills fields in order and then submits.
func (a *Actor) FillForm(ctx context.Context, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	o := *cmp.Or(opts, new(executor.FillOptions))
	if len(fields) == 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Pass at least one field and its value.", "no fields given")
	}
	a.ReleaseButtons(ctx)
	w := a.opts.TrackChanges()
	effects := w.Effects()
	effects.Brief = o.Submit.IsZero()
	defer w.End()
	res := &executor.FillResult{Filled: []string{}}
	var notes []string
	for _, f := range fields {
		name := cmp.Or(string(f.Target.Ref), f.Target.Selector)
		note, err := a.fillOne(ctx, effects, name, f, o)
		if err != nil {
			return nil, fillError(name, res.Filled, err)
		}
		if note != "" {
			notes = append(notes, name+": "+note)
		}
		res.Filled = append(res.Filled, name)
	}
	var note string
	if !o.Submit.IsZero() {
		var err error
		if note, res.Submitted, err = a.submit(ctx, effects, o); err != nil {
			return nil, fillError("", res.Filled, err)
		}
	}
	var err error
	res.Changes, err = w.Finish(ctx)
	res.Note = phrase.Notes(phrase.Notes(notes...), note, res.Note)
	return res, err
}

// submit clicks the submit button as the last input of the action. sent is false if
// the browser did not submit the form because fields are invalid.
func (a *Actor) submit(ctx context.Context, effects *Effects, o executor.FillOptions) (note string, sent bool, err error) {
	ctx, cancel := deadline.ForAction(ctx, o.Timeout)
	defer cancel()
	el, err := a.find(ctx, o.Submit, o.Timeout > 0)
	if err != nil {
		return "", false, err
	}
	el.effects, el.submits = effects, true
	effects.Target, effects.Changed = el.Shown, true
	if err := a.finder.Call(ctx, el.Element, nil, "leaveField", el.ID); err != nil {
		return "", false, a.finder.Removed(ctx, el.Element, err)
	}
	if err := a.lostField(ctx, effects.Entered); err != nil {
		return "", false, err
	}
	effects.Entered = nil // a form that was sent may clear its fields
	note, err = a.clickOnce(ctx, el)
	return phrase.Notes(el.Shown.NewName(), note), err == nil && !effects.Invalid, err
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

// fillOne fills one field, whose name is that of results. The note describes how the page changed
// the value.
func (a *Actor) fillOne(ctx context.Context, effects *Effects, name string, f executor.Field, o executor.FillOptions) (note string, err error) {
	ctx, cancel := deadline.ForAction(ctx, o.Timeout)
	defer cancel()
	el, err := a.find(ctx, f.Target, o.Timeout > 0)
	if err != nil {
		return "", err
	}
	defer func() { note = phrase.Notes(el.Shown.NewName(), note) }()
	text, isText := f.Value.(string)
	var unknown string
	if isText {
		given, err := a.secretText(ctx, text)
		if err != nil {
			return "", err
		}
		if given.hidden {
			return a.fillSecret(ctx, el, given)
		}
		text, unknown = given.plain, given.note
	}
	c := a.newHitTargetCheck(el, nil)
	defer c.end()
	at, err := a.waitEditable(ctx, el, c, actionabilityOptions{}, true)
	if err != nil {
		return "", err
	}
	field, info := el.withID(at.field.ID), at.field
	defer func() { note = phrase.Notes(unknown, note) }()
	switch info.Kind {
	case "text", "editable", "value":
		if !isText {
			return "", wrongValue("a string", f.Value)
		}
		got, err := a.enterText(ctx, field, at, c, text, executor.TypeOptions{Clear: true})
		if err == nil && got.field != nil {
			got.field.name = name
			effects.Entered = append(effects.Entered, got.field)
		}
		if err == nil && !got.kept {
			err = &executor.Error{Code: executor.ErrNotActionable, Err: errors.New(got.note), Hint: "Use a value that the field accepts, or call Page.Type with TypeOptions.KeyEvents."}
		}
		return got.note, err
	case "select":
		values, ok := f.Value.([]string)
		if ok && values == nil {
			values = []string{}
		}
		if isText {
			values, ok = []string{text}, true
		}
		if !ok {
			return "", wrongValue("a string or a list of strings", f.Value)
		}
		_, _, note, err := a.choose(ctx, field, at, values)
		if err == nil && note != "" {
			err = &executor.Error{Code: executor.ErrNotActionable, Err: errors.New(note), Hint: "Take a snapshot to see what the page did."}
		}
		return "", err
	case "radio":
		if isText {
			return "", a.chooseRadio(ctx, el, field, text)
		}
		fallthrough
	case "check":
		want, ok := f.Value.(bool)
		if !ok {
			return "", wrongValue("true or false", f.Value)
		}
		return "", a.setChecked(ctx, field, info, want)
	case "file":
		return "", executor.Errorf(executor.ErrBadArgs, "Omit the field, and use Page.Upload if the user has allowed it.", "a file field cannot be filled with a value")
	}
	if isText {
		return "", a.chooseRadio(ctx, el, field, text)
	}
	return "", a.notField(ctx, el)
}

// notField returns the error for an element that is not a form field.
func (a *Actor) notField(ctx context.Context, el *element) error {
	return executor.Errorf(executor.ErrBadArgs, "Take a snapshot and use the ref of the field itself.", "%s is not a form field", a.finder.Describe(ctx, el.Element))
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
		kind = "true or false"
	case []string:
		kind = "a list of strings"
	}
	return executor.Errorf(executor.ErrBadArgs, "Use a value of the type that the field accepts.", "expected %s, got %s", want, kind)
}

// chooseRadio selects the radio button with the given value or label in the group that field
// belongs to or contains. Errors name el.
func (a *Actor) chooseRadio(ctx context.Context, el, field *element, value string) error {
	var got *struct {
		ID       int  `json:"id"`
		Disabled bool `json:"disabled"`
		listedOptions
	}
	if err := a.finder.Call(ctx, field.Element, &got, "pickRadio", field.ID, value); err != nil {
		return a.finder.Removed(ctx, el.Element, err)
	}
	switch {
	case got == nil:
		return a.finder.RemovedError(ctx, el.Element)
	case got.Total == 0 && got.ID == 0:
		return a.notField(ctx, el)
	case got.Disabled:
		return &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("radio button %q is disabled", value), Hint: "Choose another one."}
	case got.ID == 0:
		return executor.Errorf(executor.ErrBadArgs, "Use one of those, or true for the radio button itself.", "no radio button of the group is %q; there are %s", value, got.listedOptions)
	}
	radio := field.withID(got.ID)
	radio.Ref = ""
	var info *fieldInfo
	if err := radio.Doc.Call(ctx, &info, "inspectField", radio.ID); err != nil {
		return a.finder.Removed(ctx, el.Element, err)
	}
	if info == nil {
		return a.finder.RemovedError(ctx, el.Element)
	}
	return a.setChecked(ctx, radio, info, true)
}

// setChecked sets the state of a checkbox or radio button by clicking it. If it was in the mixed
// state, which the first click only ends, setChecked may click twice.
func (a *Actor) setChecked(ctx context.Context, el *element, info *fieldInfo, want bool) error {
	state := strconv.FormatBool(want)
	if info.Checked == state {
		_, err := a.waitActionable(ctx, el, actionabilityOptions{})
		return err
	}
	if info.Kind == "radio" && !want {
		return executor.Errorf(executor.ErrBadArgs, "Set another radio button of the group to true.", "a radio button cannot be unchecked directly")
	}
	for range 2 {
		before := info.Checked
		if _, err := a.clickOnce(ctx, el); err != nil {
			return err
		}
		var after *fieldInfo
		if err := el.Doc.Call(ctx, &after, "waitChecked", el.ID, state, a.timing.Checked.Milliseconds()); err != nil {
			return ignoreInterruption(err)
		}
		if after == nil || after.Checked == state {
			return nil
		}
		if info = after; before != "mixed" {
			break
		}
	}
	return &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("%s was clicked and is not %s", a.finder.Describe(ctx, el.Element), map[bool]string{true: "checked", false: "unchecked"}[want]),
		Hint: "Take a snapshot to see what the page did."}
}

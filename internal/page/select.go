package page

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// SelectOption selects the options of a <select> by value or label.
func (v *View) SelectOption(ctx context.Context, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	if values == nil {
		values = []string{} // a list all the same, to the page's script
	}
	var selected []string
	changes, err := v.act(ctx, target, actOptions{timeout: timeoutOf(opts), brief: true}, func(ctx context.Context, el *element) (note string, err error) {
		at, err := v.aim(ctx, el, aimOptions{Field: true})
		switch {
		case err != nil:
			return "", err
		case at.field == nil || at.field.Kind != "select":
			return "", v.notSelect(ctx, el, values)
		}
		selected, note, err = v.choose(ctx, el, at, values)
		return note, err
	})
	if err != nil {
		return nil, err
	}
	return &executor.Selection{Selected: selected, Changes: changes}, nil
}

// missingOptions bounds the wait for an option that requests may still bring.
const missingOptions = 3 * time.Second

// choose selects options of the select that at was found for.
func (v *View) choose(ctx context.Context, el *element, at *point, values []string) (selected []string, note string, err error) {
	field := *el
	field.id = at.field.ID
	var got *struct {
		Selected []string `json:"selected"`
		Problem  string   `json:"problem"`
		Value    string   `json:"value"`
		Options  []string `json:"options"`
		Total    int      `json:"total"`
	}
	start := time.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = start.Add(executor.DefaultActionTimeout)
	}
	asking, cancel := extend(ctx, answerGrace)
	defer cancel()
	for {
		got = nil
		patience := min(missingPatience, time.Until(deadline))
		err := el.doc.call(asking, &got, "selectOptions", field.id, values, patience.Milliseconds())
		switch {
		case errors.Is(err, errDocumentGone) || errors.Is(err, executor.ErrDialogOpen):
			return values, "", nil // the page's change handler did that, so it was told
		case err != nil:
			return nil, "", err
		case got == nil:
			return nil, "", v.expired(ctx, el)
		}
		missing := got.Problem == "no option" || got.Problem == "disabled option"
		if !missing || ctx.Err() != nil || !el.patient && (time.Since(start) > missingOptions || !v.tab.loading()) {
			break
		}
	}
	name := v.describe(ctx, el)
	switch got.Problem {
	case "":
		return got.Selected, "", nil
	case "reverted":
		return got.Selected, "the page changed the selection at once", nil
	case "single":
		return nil, "", executor.Errorf(executor.ErrBadArgs, "Give one value.", "%s takes one option, not %d", name, len(values))
	case "disabled option":
		return nil, "", &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("option %q of %s is disabled", got.Value, name), Hint: "Choose another option."}
	case "no option":
		return nil, "", executor.Errorf(executor.ErrBadArgs, "Use one of those.", "%s has no option %q; it has %s", name, got.Value, quotedList(got.Options, got.Total))
	}
	return nil, "", v.notSelect(ctx, el, values)
}

// notSelect says what to do with a list that is not a <select>: which option
// of it to click, if it shows that.
func (v *View) notSelect(ctx context.Context, el *element, values []string) error {
	e := executor.Errorf(executor.ErrBadArgs, "Click it and then click the option it shows.", "%s is not a <select>", v.describe(ctx, el))
	var option *struct {
		ID int `json:"id"`
		label
	}
	if len(values) == 0 || el.doc.call(ctx, &option, "listOption", el.id, values[0]) != nil || option == nil || v.check(ctx, el.doc, executor.OpRead, "") != nil {
		return e
	}
	ref := v.mint(el.doc.world, option.ID, option.label)
	e.Hint = fmt.Sprintf("Click its %s [ref=%s].", option.label, ref)
	e.Candidates = []executor.Candidate{{Role: option.Role, Name: option.Name, Ref: ref}}
	return e
}

// quotedList quotes the names of options of which there are total in all.
func quotedList(names []string, total int) string {
	if total == 0 {
		return "none"
	}
	list := make([]string, len(names))
	for i, s := range names {
		list[i] = fmt.Sprintf("%q", s)
	}
	all := strings.Join(list, ", ")
	if total > len(list) {
		all += fmt.Sprintf(" and %d more", total-len(list))
	}
	return all
}

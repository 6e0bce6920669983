package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/hitcheck"
)

// SelectOption selects the options of a <select> by value or label.
func (a *Actor) SelectOption(ctx context.Context, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	var selected, labels []string
	changes, err := a.act(ctx, target, actOptions{timeout: cmp.Or(opts, new(executor.ActionOptions)).Timeout, brief: true}, func(ctx context.Context, el *element) (note string, err error) {
		at, err := a.waitActionable(ctx, el, actionabilityOptions{Field: true})
		switch {
		case err != nil:
			return "", err
		case at.field == nil || at.field.Kind != "select":
			return "", a.customDropdownError(ctx, el, values)
		}
		selected, labels, note, err = a.choose(ctx, el, at.field.ID, values)
		return note, err
	})
	if err != nil {
		return nil, err
	}
	return &executor.Selection{Selected: selected, Labels: labels, Changes: changes}, nil
}

// choose selects options of the <select> of el, whose element id is field. It returns the values of
// those that are selected then and, if the document may be read, their labels.
func (a *Actor) choose(ctx context.Context, el *element, field int, values []string) (selected, labels []string, note string, err error) {
	var got *struct {
		Selected []string `json:"selected"`
		Labels   []string `json:"labels"`
		Problem  string   `json:"problem"`
		Value    string   `json:"value"`
		listedOptions
	}
	if values == nil {
		values = []string{} // the page script expects a list, not null
	}
	start := time.Now()
	end, _ := ctx.Deadline() // of the action
	scriptCtx, cancel := deadline.Extend(ctx, a.timing.Script)
	defer cancel()
	observed := hitcheck.Observe(a.tree)
	defer observed.Stop()
	for {
		got = nil
		wait := min(a.timing.Selector, time.Until(end))
		err := a.finder.Call(scriptCtx, el.Element, &got, "selectOptions", observed.Token, field, values, wait.Milliseconds())
		interrupted := errors.Is(err, frames.ErrDocumentGone) || errors.Is(err, executor.ErrDialogOpen)
		switch {
		case interrupted && len(observed.Reported()) > 0:
			return values, nil, "", nil // the page's change handler caused it, so the options were selected
		case errors.Is(err, frames.ErrDocumentGone):
			return nil, nil, "", a.finder.RemovedBeforeActionError(ctx, el.Element)
		case err != nil:
			observed.Stop(el.Doc) // it must not select them later
			return nil, nil, "", err
		case got == nil:
			return nil, nil, "", a.finder.RemovedError(ctx, el.Element)
		}
		if got.Problem == "waited" {
			continue // the element is compared with what was shown, then the options are selected
		}
		missing := got.Problem == "no option" || got.Problem == "disabled option"
		if !missing || ctx.Err() != nil || !el.useFullTimeout && (time.Since(start) > a.timing.Option || a.opts.Inflight.Since(0) == 0) {
			break
		}
	}
	if len(got.Labels) > 0 && !a.client.CanRead(ctx, el.Doc.Frame) {
		got.Labels = nil
	}
	name := a.finder.Describe(ctx, el.Element)
	switch got.Problem {
	case "":
		return got.Selected, got.Labels, "", nil
	case "reverted":
		return got.Selected, got.Labels, "the page changed the selection", nil
	case "single":
		return nil, nil, "", executor.Errorf(executor.ErrBadArgs, "Give one value.", "%s accepts one option, got %d", name, len(values))
	case "disabled option":
		return nil, nil, "", &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("option %q of %s is disabled", got.Value, name), Hint: "Choose another option."}
	case "no option":
		hint := "Use one of those."
		if got.Total == 0 {
			hint = "Take a snapshot: the page may fill it after another choice."
		}
		return nil, nil, "", executor.Errorf(executor.ErrBadArgs, hint, "%s has no option %q; it has %s", name, got.Value, got.listedOptions)
	}
	return nil, nil, "", a.customDropdownError(ctx, el, values)
}

// customDropdownError returns the error for an element that is not a <select>. If the element shows
// the first of values as an option, the hint and the candidate name that option.
func (a *Actor) customDropdownError(ctx context.Context, el *element, values []string) error {
	e := executor.Errorf(executor.ErrBadArgs, "Click it and then click the option it shows.", "%s is not a <select>", a.finder.Describe(ctx, el.Element))
	var option *elements.DescribedElement
	if len(values) == 0 || el.Doc.Call(ctx, &option, "listOption", el.ID, values[0]) != nil || option == nil || a.client.Check(ctx, el.Doc, executor.OpRead, "") != nil {
		return e
	}
	ref := a.finder.RefFor(el.Doc.Node(option.ID), option.Description)
	e.Hint = fmt.Sprintf("Click its %s [ref=%s].", option.Description, ref)
	e.Candidates = []executor.Candidate{{Role: option.Role, Name: option.Name, Ref: ref}}
	return e
}

// listedOptions are the options that an error names: all of a short list, or the ones nearest to
// the wanted one.
type listedOptions struct {
	Options []string `json:"options"`
	Total   int      `json:"total"`
	Nearest bool     `json:"nearest"`
}

// String returns the quoted names of the options.
func (l listedOptions) String() string {
	if l.Total == 0 {
		return "none"
	}
	list := make([]string, len(l.Options))
	for i, s := range l.Options {
		list[i] = fmt.Sprintf("%q", s)
	}
	all := strings.Join(list, ", ")
	if l.Nearest {
		return fmt.Sprintf("%d, and the nearest are %s", l.Total, all)
	}
	return all
}

package mcp

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// actionResult is the result of an action: what changed on the page.
type actionResult struct{ *executor.Action }

func (r actionResult) Render(t *mcptext.Text) {
	t.Line("ok")
	t.Changes(&r.Changes)
}

type modifiersArg struct {
	Modifiers []executor.Modifier `json:"modifiers,omitempty" enum:"Alt|Control|Meta|Shift"`
}

type clickArgs struct {
	requiredTarget
	tabArg
	Button executor.Button `json:"button,omitempty" enum:"left|right|middle"`
	Count  int             `json:"clickCount,omitempty" min:"1" max:"3"`
	modifiersArg
	timeoutArg
}

func (a clickArgs) run(ctx context.Context, p executor.Page) (actionResult, error) {
	opts := &executor.ClickOptions{Button: a.Button, Count: a.Count, Modifiers: a.Modifiers, Timeout: a.timeout()}
	act, err := p.Click(ctx, a.target(), opts)
	return actionResult{act}, err
}

type typeArgs struct {
	requiredTarget
	Text       string `json:"text" empty:"ok"`
	Clear      bool   `json:"clear,omitempty" jsonschema:"empty it first"`
	PressEnter bool   `json:"pressEnter,omitempty"`
	KeyEvents  bool   `json:"keyEvents,omitempty" jsonschema:"a key press for each character"`
	DelayMS    int    `json:"delayMs,omitempty" min:"1" max:"30000" unit:"milliseconds" jsonschema:"between key presses"`
	tabArg
}

func (a typeArgs) run(ctx context.Context, p executor.Page) (actionResult, error) {
	opts := &executor.TypeOptions{Clear: a.Clear, PressEnter: a.PressEnter, KeyEvents: a.KeyEvents, Delay: time.Duration(a.DelayMS) * time.Millisecond}
	act, err := p.Type(ctx, a.target(), a.Text, opts)
	return actionResult{act}, err
}

type pressArgs struct {
	Key string `json:"key" jsonschema:"Enter, a, Control+Shift+ArrowLeft"`
	modifiersArg
	optionalTarget
	tabArg
}

func (a pressArgs) run(ctx context.Context, p executor.Page) (actionResult, error) {
	act, err := p.Press(ctx, a.Key, &executor.PressOptions{Target: a.target(), Modifiers: a.Modifiers})
	return actionResult{act}, err
}

type hoverArgs struct {
	requiredTarget
	tabArg
}

func (a hoverArgs) run(ctx context.Context, p executor.Page) (actionResult, error) {
	act, err := p.Hover(ctx, a.target(), nil)
	return actionResult{act}, err
}

type scrollArgs struct {
	optionalTarget
	X      *float64 `json:"x,omitempty"`
	Y      *float64 `json:"y,omitempty"`
	DeltaX *float64 `json:"deltaX,omitempty"`
	DeltaY *float64 `json:"deltaY,omitempty"`
	tabArg
}

func (a scrollArgs) Check() error {
	switch {
	case a.X != nil && a.DeltaX != nil:
		return toolschema.BadArgs("Give a position or a step, not both.", "x and deltaX contradict each other")
	case a.Y != nil && a.DeltaY != nil:
		return toolschema.BadArgs("Give a position or a step, not both.", "y and deltaY contradict each other")
	case a.target().IsZero() && a.X == nil && a.Y == nil && a.DeltaX == nil && a.DeltaY == nil:
		return toolschema.BadArgs("Give selector or ref, x or y, deltaX or deltaY.", "no scroll target")
	}
	return a.optionalTarget.Check()
}

func (a scrollArgs) run(ctx context.Context, p executor.Page) (scrollResult, error) {
	opts := executor.ScrollOptions{Target: a.target(), X: a.X, Y: a.Y}
	if a.DeltaX != nil {
		opts.DeltaX = *a.DeltaX
	}
	if a.DeltaY != nil {
		opts.DeltaY = *a.DeltaY
	}
	res, err := p.Scroll(ctx, opts)
	return scrollResult{res}, err
}

type scrollResult struct{ *executor.ScrollResult }

func (r scrollResult) Render(t *mcptext.Text) {
	where := mcptext.Own("")
	if r.AtTop {
		where += ", at the top"
	}
	if r.AtBottom {
		where += ", at the bottom"
	}
	t.Line("at x %d, y %d%s", r.X, r.Y, where)
	t.Note(r.Note)
}

type selectArgs struct {
	requiredTarget
	Values []string `json:"values" jsonschema:"values or labels"`
	tabArg
}

func (a selectArgs) run(ctx context.Context, p executor.Page) (selectResult, error) {
	sel, err := p.SelectOption(ctx, a.target(), a.Values, nil)
	if err == nil {
		sel.Selected = nonNil(sel.Selected)
	}
	return selectResult{sel}, err
}

type selectResult struct{ *executor.Selection }

func (r selectResult) Render(t *mcptext.Text) {
	names := make([]mcptext.Own, len(r.Selected))
	for i, v := range r.Selected {
		names[i] = mcptext.Quote(v, mcptext.MaxTitle)
		if i < len(r.Labels) && r.Labels[i] != "" && r.Labels[i] != v {
			names[i] = mcptext.Quote(r.Labels[i], mcptext.MaxTitle)
			if !strings.EqualFold(r.Labels[i], v) {
				names[i] += " (value " + mcptext.Quote(v, mcptext.MaxTitle) + ")"
			}
		}
	}
	t.Line("selected %s", cmp.Or(mcptext.Join(names), "nothing"))
	t.Changes(&r.Changes)
}

type fillFormArgs struct {
	Fields         formFields   `json:"fields" jsonschema:"selector or ref to value: text, true or false for a checkbox, array for a multiple select"`
	SubmitSelector string       `json:"submitSelector,omitempty" jsonschema:"clicked at the end"`
	SubmitRef      executor.Ref `json:"submitRef,omitempty"`
	tabArg
}

func (a fillFormArgs) Check() error {
	if a.SubmitSelector != "" && a.SubmitRef != "" {
		return toolschema.BadArgs("Give only one of them.", "both submitSelector and submitRef given")
	}
	return nil
}

func (a fillFormArgs) run(ctx context.Context, p executor.Page) (fillResult, error) {
	res, err := p.FillForm(ctx, a.Fields, &executor.FillOptions{Submit: newTarget(a.SubmitSelector, a.SubmitRef)})
	if err == nil {
		res.Filled = nonNil(res.Filled)
	}
	return fillResult{res}, err
}

type fillResult struct{ *executor.FillResult }

func (r fillResult) Render(t *mcptext.Text) {
	submitted := mcptext.Own("")
	if r.Submitted {
		submitted = ", submitted"
	}
	t.Line("filled %s%s", mcptext.Plural(len(r.Filled), "field"), submitted)
	t.Changes(&r.Changes)
}

type handleDialogArgs struct {
	Accept     bool   `json:"accept"`
	PromptText string `json:"promptText,omitempty" empty:"ok" jsonschema:"answer to a prompt"`
	tabArg
}

func (a handleDialogArgs) Check() error {
	if a.PromptText != "" && !a.Accept {
		return toolschema.BadArgs("Accept the prompt, or omit promptText.", "promptText needs accept to be true")
	}
	return nil
}

func (a handleDialogArgs) run(ctx context.Context, p executor.Page) (dialogResult, error) {
	res, err := p.HandleDialog(ctx, executor.DialogAnswer{Accept: a.Accept, PromptText: a.PromptText})
	return dialogResult{res, a.Accept}, err
}

type dialogResult struct {
	*executor.DialogResult
	accepted bool
}

func (r dialogResult) Render(t *mcptext.Text) {
	verb := mcptext.Own("dismissed ")
	if r.accepted {
		verb = "accepted "
	}
	t.Dialog(verb, r.Origin, r.Type, r.Message)
	t.Changes(&r.Changes)
}

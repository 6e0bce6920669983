package browsertools

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// ActionResult is the result of an action: what changed on the page.
type ActionResult struct{ *executor.Action }

func (r ActionResult) Render(t *mcptext.Text) {
	t.Line("ok")
	t.Changes(&r.Changes)
}

type modifiersArg struct {
	Modifiers []executor.Modifier `json:"modifiers,omitempty" enum:"Alt|Control|Meta|Shift"`
}

type ClickArgs struct {
	requiredTarget
	TabArg
	Button executor.Button `json:"button,omitempty" enum:"left|right|middle"`
	Count  int             `json:"clickCount,omitempty" min:"1" max:"3"`
	modifiersArg
	TimeoutArg
}

func (a ClickArgs) Run(ctx context.Context, p executor.Page) (ActionResult, error) {
	opts := &executor.ClickOptions{Button: a.Button, Count: a.Count, Modifiers: a.Modifiers, Timeout: a.Timeout()}
	act, err := p.Click(ctx, a.target(), opts)
	return ActionResult{act}, err
}

type TypeArgs struct {
	requiredTarget
	Text       string `json:"text" empty:"ok"`
	Clear      bool   `json:"clear,omitempty" jsonschema:"empty it first"`
	PressEnter bool   `json:"pressEnter,omitempty"`
	KeyEvents  bool   `json:"keyEvents,omitempty" jsonschema:"a key press for each character"`
	DelayMS    int    `json:"delayMs,omitempty" min:"1" max:"30000" unit:"milliseconds" jsonschema:"between key presses"`
	TabArg
}

func (a TypeArgs) Run(ctx context.Context, p executor.Page) (ActionResult, error) {
	opts := &executor.TypeOptions{Clear: a.Clear, PressEnter: a.PressEnter, KeyEvents: a.KeyEvents, Delay: time.Duration(a.DelayMS) * time.Millisecond}
	act, err := p.Type(ctx, a.target(), a.Text, opts)
	return ActionResult{act}, err
}

type PressArgs struct {
	Key string `json:"key" jsonschema:"Enter, a, Control+Shift+ArrowLeft"`
	modifiersArg
	optionalTarget
	TabArg
}

func (a PressArgs) Run(ctx context.Context, p executor.Page) (ActionResult, error) {
	act, err := p.Press(ctx, a.Key, &executor.PressOptions{Target: a.target(), Modifiers: a.Modifiers})
	return ActionResult{act}, err
}

type HoverArgs struct {
	requiredTarget
	TabArg
}

func (a HoverArgs) Run(ctx context.Context, p executor.Page) (ActionResult, error) {
	act, err := p.Hover(ctx, a.target(), nil)
	return ActionResult{act}, err
}

type ScrollArgs struct {
	optionalTarget
	X      *float64 `json:"x,omitempty"`
	Y      *float64 `json:"y,omitempty"`
	DeltaX *float64 `json:"deltaX,omitempty"`
	DeltaY *float64 `json:"deltaY,omitempty"`
	TabArg
}

func (a ScrollArgs) Check() error {
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

func (a ScrollArgs) Run(ctx context.Context, p executor.Page) (scrollResult, error) {
	opts := &executor.ScrollOptions{Target: a.target(), X: a.X, Y: a.Y}
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

type SelectArgs struct {
	requiredTarget
	Values []string `json:"values" jsonschema:"values or labels"`
	TabArg
}

func (a SelectArgs) Run(ctx context.Context, p executor.Page) (selectResult, error) {
	sel, err := p.SelectOption(ctx, a.target(), a.Values, nil)
	if err == nil {
		sel.Selected = NonNil(sel.Selected)
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

type FillFormArgs struct {
	Fields         formFields   `json:"fields" jsonschema:"selector or ref to value: text, true or false for a checkbox, array for a multiple select"`
	SubmitSelector string       `json:"submitSelector,omitempty" jsonschema:"clicked at the end"`
	SubmitRef      executor.Ref `json:"submitRef,omitempty"`
	TabArg
}

func (a FillFormArgs) Check() error {
	if a.SubmitSelector != "" && a.SubmitRef != "" {
		return toolschema.BadArgs("Give only one of them.", "both submitSelector and submitRef given")
	}
	return nil
}

func (a FillFormArgs) Run(ctx context.Context, p executor.Page) (fillResult, error) {
	res, err := p.FillForm(ctx, a.Fields, &executor.FillOptions{Submit: newTarget(a.SubmitSelector, a.SubmitRef)})
	if err == nil {
		res.Filled = NonNil(res.Filled)
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

type HandleDialogArgs struct {
	Accept     bool   `json:"accept"`
	PromptText string `json:"promptText,omitempty" empty:"ok" jsonschema:"answer to a prompt"`
	TabArg
}

func (a HandleDialogArgs) Check() error {
	if a.PromptText != "" && !a.Accept {
		return toolschema.BadArgs("Accept the prompt, or omit promptText.", "promptText needs accept to be true")
	}
	return nil
}

func (a HandleDialogArgs) Run(ctx context.Context, p executor.Page) (dialogResult, error) {
	res, err := p.HandleDialog(ctx, &executor.DialogAnswer{Accept: a.Accept, PromptText: a.PromptText})
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

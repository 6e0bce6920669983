package browsertools

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type DragArgs struct {
	requiredTarget
	ToSelector string       `json:"toSelector,omitempty" jsonschema:"drop target; or toRef"`
	ToRef      executor.Ref `json:"toRef,omitempty"`
	TabArg
}

func (a DragArgs) Check() error {
	if err := a.requiredTarget.Check(); err != nil {
		return err
	}
	if (a.ToSelector == "") == (a.ToRef == "") {
		return toolschema.BadArgs("Give either of them.", "exactly one of toSelector and toRef is needed")
	}
	return nil
}

func (a DragArgs) Run(ctx context.Context, p executor.Page) (dragResult, error) {
	d, err := p.Drag(ctx, a.target(), newTarget(a.ToSelector, a.ToRef), nil)
	return dragResult{d}, err
}

type dragResult struct{ *executor.Drag }

func (r dragResult) Render(t *mcptext.Text) {
	switch r.Drop {
	case executor.DragAccepted:
		t.Line("ok: the page accepted the drop")
	case executor.DragRejected:
		t.Line("drop rejected by the page")
	default:
		t.Line("ok: pointer drag; the page received the events")
	}
	t.Changes(&r.Changes)
}

type MouseArgs struct {
	Action executor.MouseAction `json:"action" enum:"move|down|up|click|wheel|tap"`
	X      float64              `json:"x"`
	Y      float64              `json:"y"`
	Button executor.Button      `json:"button,omitempty" enum:"left|right|middle"`
	DeltaX float64              `json:"deltaX,omitempty"`
	DeltaY float64              `json:"deltaY,omitempty"`
	TabArg
}

func (a MouseArgs) Run(ctx context.Context, p executor.Page) (ActionResult, error) {
	act, err := p.Mouse(ctx, &executor.MouseOptions{Action: a.Action, X: a.X, Y: a.Y, Button: a.Button, DeltaX: a.DeltaX, DeltaY: a.DeltaY})
	return ActionResult{act}, err
}

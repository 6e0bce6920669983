package browsertools

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type untilArg struct {
	Until executor.WaitUntil `json:"waitUntil,omitempty" enum:"load|domcontentloaded|networkidle|commit"`
}

type NavigateArgs struct {
	URL string `json:"url" jsonschema:"absolute http or https URL"`
	TabArg
	untilArg
	TimeoutArg
}

func (a NavigateArgs) WaitDescription() string { return loadDescription(a.URL) }

// loadDescription describes the load of a URL. It names only the host.
func loadDescription(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return "load of " + mcptext.EscapeURL(u.Host)
	}
	return "the page"
}

func (a NavigateArgs) Run(ctx context.Context, ex executor.Executor) (navigateResult, error) {
	opts := &executor.NavigateOptions{Until: a.Until, Timeout: a.Timeout()}
	if a.Tab == "" {
		nav, err := ex.Navigate(ctx, a.URL, opts)
		return navigateResult{nav, ""}, err
	}
	p, err := ex.Page(ctx, a.Tab)
	if err != nil {
		return navigateResult{}, err
	}
	nav, err := p.Navigate(ctx, a.URL, opts)
	return navigateResult{nav, a.Tab}, err
}

// HistoryArgs are the arguments of back, forward and reload.
type HistoryArgs struct {
	TabArg
	untilArg
	Resubmit bool `json:"resubmit,omitempty"`
}

func (HistoryArgs) WaitDescription() string { return "the page" }

func (a HistoryArgs) options() *executor.NavigateOptions {
	return &executor.NavigateOptions{Until: a.Until, Resubmit: a.Resubmit}
}

func (a HistoryArgs) Back(ctx context.Context, p executor.Page) (navigateResult, error) {
	nav, err := p.Back(ctx, a.options())
	return navigateResult{nav, a.Tab}, err
}

func (a HistoryArgs) Forward(ctx context.Context, p executor.Page) (navigateResult, error) {
	nav, err := p.Forward(ctx, a.options())
	return navigateResult{nav, a.Tab}, err
}

func (a HistoryArgs) Reload(ctx context.Context, p executor.Page) (navigateResult, error) {
	nav, err := p.Reload(ctx, a.options())
	return navigateResult{nav, a.Tab}, err
}

// navigateResult is the result of a navigation and the tab in the arguments of the call.
type navigateResult struct {
	*executor.Navigation
	requestedTab executor.TabID
}

func (r navigateResult) Render(t *mcptext.Text) {
	t.Line("%s", mcptext.URLAndTitle(r.URL, r.Title))
	if r.HTTPStatus != 0 {
		t.Line("HTTP %d", r.HTTPStatus)
	}
	if r.TabID != r.requestedTab {
		t.Line("tab %s", r.TabID)
	}
	t.Note(r.Note)
	t.Obstacle(r.Obstacle)
}

type WaitForArgs struct {
	Selector   string             `json:"selector,omitempty" jsonschema:"visible"`
	Text       string             `json:"text,omitempty" alias:"textContains" jsonschema:"shown"`
	TextGone   string             `json:"textGone,omitempty"`
	Gone       goneArg            `json:"gone,omitempty" jsonschema:"selector or ref no longer visible"`
	URL        string             `json:"url,omitempty" jsonschema:"glob"`
	Load       executor.WaitUntil `json:"load,omitempty" enum:"load|domcontentloaded|networkidle" jsonschema:"networkidle: no request for 500 ms"`
	TimeMS     int                `json:"timeMs,omitempty" min:"1" max:"600000" unit:"milliseconds" jsonschema:"time to let pass"`
	Expression string             `json:"expression,omitempty" jsonschema:"truthy JavaScript; needs the eval grant"`
	TimeoutMS  int                `json:"timeoutMs,omitempty" min:"1" max:"600000" unit:"milliseconds" jsonschema:"default 10000"`
	TabArg
}

func (a WaitForArgs) WaitDescription() string { return "the conditions" }

// Check validates the arguments. It also interprets gone: true, which some models send to wait
// until the selector or text is gone.
func (a *WaitForArgs) Check() error {
	if a.Gone.Bare {
		switch {
		case a.Selector != "" && a.Text == "":
			a.Gone.What, a.Selector = a.Selector, ""
		case a.Text != "" && a.Selector == "" && a.TextGone == "":
			a.TextGone, a.Text = a.Text, ""
		default:
			return toolschema.BadArgs("Set gone to a selector or ref, or textGone to a text.",
				"gone must be a selector or ref, got true")
		}
	}
	if a.Selector+a.Text+a.TextGone+a.Gone.What+a.URL+string(a.Load)+a.Expression == "" && a.TimeMS == 0 {
		return toolschema.BadArgs("Give at least one of selector, text, textGone, gone, url, load, timeMs and expression.", "nothing to wait for")
	}
	if a.TimeoutMS != 0 && a.TimeMS >= a.TimeoutMS {
		return toolschema.BadArgs("Give a longer timeoutMs or omit it.", "timeMs must be less than timeoutMs, got %d and %d", a.TimeMS, a.TimeoutMS)
	}
	return nil
}

func (a WaitForArgs) Run(ctx context.Context, p executor.Page) (waitResult, error) {
	cond := &executor.WaitCondition{
		Visible: executor.Selector(a.Selector), Gone: newTarget(a.Gone.What, ""), Text: a.Text, TextGone: a.TextGone, URL: a.URL, Load: a.Load, Expression: a.Expression,
		Time:    time.Duration(a.TimeMS) * time.Millisecond,
		Timeout: time.Duration(a.TimeoutMS) * time.Millisecond,
	}
	if cond.Timeout == 0 && cond.Time > 0 {
		cond.Timeout = executor.DefaultWaitTimeout + cond.Time
	}
	res, err := p.WaitFor(ctx, cond)
	if err == nil {
		for i, name := range res.Unmet {
			if name == "visible" {
				res.Unmet[i] = "selector"
			}
		}
	}
	return waitResult{res}, err
}

type waitResult struct{ *executor.WaitResult }

func (r waitResult) Render(t *mcptext.Text) {
	t.Line("matched: %t after %d ms", r.Matched, r.Waited.Milliseconds())
	t.Note(r.Note)
	if r.Ref != "" {
		t.Line("ref %s", r.Ref)
	}
	if len(r.Unmet) > 0 {
		t.Line("unmet: %s", mcptext.Own(mcptext.OneLine(strings.Join(r.Unmet, ", "))))
	}
}

package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/evaluate"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Eval runs JavaScript in the main world of the top frame, or of the frame of opts.Target.
func (v *View) Eval(ctx context.Context, expression string, opts *executor.EvalOptions) (*executor.EvalResult, error) {
	if strings.TrimSpace(expression) == "" {
		return nil, executor.Errorf(executor.ErrBadArgs, "Pass a JavaScript expression.", "the expression is empty")
	}
	o := *cmp.Or(opts, new(executor.EvalOptions))
	ctx, cancel := context.WithTimeout(ctx, cdpconn.DefaultCallTimeout)
	defer cancel()
	d, el, err := v.scopeOfEval(ctx, o.Target)
	if err != nil {
		return nil, err
	}
	guarded, err := v.guardScript(ctx)
	if err != nil {
		return nil, err
	}
	dialogs, done := v.tab.dialogs.AnswerAll()
	defer done()
	v.tab.acted.Store(true)
	var remote *evaluate.Value
	var exception *runtime.ExceptionDetails
	if el == nil {
		remote, exception, err = evaluate.Expression(ctx, d, expression, !o.NoAwait)
	} else {
		remote, exception, err = evaluate.CallOn(ctx, v.elements, el, expression, !o.NoAwait)
	}
	if err == nil && exception == nil {
		err = evaluate.Serialize(ctx, d, remote)
	}
	evaluate.Release(ctx, d, remote)
	res := &executor.EvalResult{Origin: d.Origin, Dialogs: dialogs()}
	if err := guarded(); err != nil {
		return nil, err
	}
	switch {
	case errors.Is(err, frames.ErrDocumentGone):
		return nil, executor.Errorf(executor.ErrEvalFailed, "Take a snapshot to see where it is.", "the page navigated away before the expression had a value")
	case err != nil:
		return nil, frames.TimeoutAs(err, "the expression to finish")
	case exception != nil:
		if evaluate.IsSyntaxError(exception) {
			return nil, executor.Errorf(executor.ErrEvalFailed, "Correct the expression.", "%s", pagetext.Text(evaluate.ExceptionText(exception)))
		}
		res.Error = evaluate.ExceptionText(exception)
		return res, nil
	}
	res.OK = true
	res.Type = remote.Kind()
	res.Value, res.Truncated = remote.Bound()
	return res, nil
}

// scopeOfEval returns the document that a script of the client runs in: the top document, or that
// of the element of a target, which it also returns.
func (v *View) scopeOfEval(ctx context.Context, target executor.Target) (*frames.Document, *elements.Element, error) {
	if target.IsZero() {
		d, err := v.documentForEval(ctx, executor.OpEval)
		return d, nil, err
	}
	el, err := v.elements.Resolve(ctx, target, executor.OpEval)
	if err != nil {
		return nil, nil, err
	}
	if err := v.beginClientScript(ctx, el.Doc); err != nil {
		return nil, nil, err
	}
	return el.Doc, el, nil
}

// keyMethods are the raw commands whose input goes to the focused element.
var keyMethods = []string{"Input.dispatchKeyEvent", "Input.insertText", "Input.imeSetComposition"}

// CDP sends one raw CDP command to the page.
func (v *View) CDP(ctx context.Context, method string, params any) (executor.RawJSON, error) {
	if domain, name, ok := strings.Cut(method, "."); !ok || domain == "" || name == "" {
		return nil, executor.Errorf(executor.ErrBadArgs, "Write it like Page.printToPDF.", "invalid CDP method %q", method)
	}
	d, err := v.documentForEval(ctx, executor.OpCDP)
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if params != nil {
		if raw, err = json.Marshal(params); err != nil {
			return nil, executor.Errorf(executor.ErrBadArgs, "Pass parameters that can be encoded as JSON.", "parameters of %s: %w", method, err)
		}
	}
	if err := certificateDenial(method); err != nil {
		return nil, err
	}
	if err := v.CheckRawCommand(ctx, d, method, raw); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cdpconn.DefaultCallTimeout)
	defer cancel()
	start := d.Session.Start
	if strings.HasPrefix(method, "Input.") {
		start = v.StartInput
	}
	switch {
	case slices.Contains(keyMethods, method):
		if err := v.CheckFocus(ctx); err != nil {
			return nil, err
		}
	case strings.HasPrefix(method, "Input."):
		v.Block(ctx).PreventScrolling(ctx) // pointer, wheel and touch input may scroll
	}
	guarded := func() error { return nil }
	if method == cdppage.CommandReload {
		if guarded, err = v.guardScript(ctx); err != nil {
			return nil, err
		}
		v.tab.Interception.ReloadRequested(v.tab.main)
	}
	done := v.TrackRaw(method, raw)
	v.tab.acted.Store(true)
	var p *cdpconn.Pending
	if raw == nil {
		p, err = start(ctx, method, nil)
	} else {
		p, err = start(ctx, method, jsonv2.Value(raw))
	}
	var result jsonv2.Value
	if err == nil {
		err = frames.TimeoutAs(d.Wait(ctx, p, &result), method)
	}
	if err == nil {
		err = v.tab.shield.Unblock(ctx, &v.client)
	}
	done(err)
	err = cmp.Or(guarded(), err)
	if err != nil && strings.HasPrefix(method, "Input.") && !errors.Is(err, executor.ErrDialogOpen) {
		v.ReleaseButtons(ctx) // the caller may not send the rest
	}
	return executor.RawJSON(result), err
}

// certificateDenial returns ErrPolicyDenied for a raw CDP command that makes the browser accept
// certificates, as the button of the warning does.
func certificateDenial(method string) error {
	if !strings.HasPrefix(method, "Security.") || !strings.Contains(method, "Certificate") {
		return nil
	}
	return executor.Errorf(executor.ErrPolicyDenied, "Ask the user, or use a server whose certificate the browser accepts.",
		"%s makes the browser accept certificates: only a person can accept this", method)
}

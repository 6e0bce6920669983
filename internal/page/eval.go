package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
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
	dialogs, done := v.tab.answerDialogs()
	defer done()
	var remote *remoteObject
	var exception *runtime.ExceptionDetails
	if el == nil {
		remote, exception, err = evaluate(ctx, d, expression, !o.NoAwait)
	} else {
		remote, exception, err = v.evaluateOn(ctx, el, expression, !o.NoAwait)
	}
	if err == nil && exception == nil {
		err = serialize(ctx, d, remote)
	}
	releaseEval(ctx, d, remote)
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
		if isSyntaxError(exception) {
			return nil, executor.Errorf(executor.ErrEvalFailed, "Correct the expression.", "%s", pagetext.Text(exceptionText(exception)))
		}
		res.Error = exceptionText(exception)
		return res, nil
	}
	res.OK = true
	res.Type = remote.kind()
	res.Value, res.Truncated = boundValue(remote)
	return res, nil
}

// scopeOfEval returns the document that a script of the client runs in: the top document, or that of
// the element of a target, which it also returns.
func (v *View) scopeOfEval(ctx context.Context, target executor.Target) (*frames.Document, *elements.Element, error) {
	if target.IsZero() {
		d, err := v.documentForEval(ctx, executor.OpEval)
		return d, nil, err
	}
	el, err := v.elements.Resolve(ctx, target, executor.OpEval)
	if err != nil {
		return nil, nil, err
	}
	if err := v.allowScript(ctx, el.Doc); err != nil {
		return nil, nil, err
	}
	return el.Doc, el, nil
}

// A remoteObject describes a value in a response of Runtime.evaluate.
type remoteObject struct {
	Type        string                 `json:"type"`
	Subtype     string                 `json:"subtype"`
	Value       jsonv2.Value           `json:"value"`
	Number      string                 `json:"unserializableValue"`
	Description string                 `json:"description"`
	ObjectID    runtime.RemoteObjectID `json:"objectId"`
	// truncated reports that Value is the start of the value as text.
	truncated bool
}

// A scriptResponse is the response to a command that runs a script.
type scriptResponse struct {
	Result    remoteObject              `json:"result"`
	Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
}

// kind returns the type of the value.
func (o *remoteObject) kind() string {
	if o.Type == "object" && o.Subtype != "" {
		return o.Subtype
	}
	return o.Type
}

// isWritten reports whether the value is the function that the expression consists of.
func (o *remoteObject) isWritten(expression string) bool {
	before, after, found := strings.Cut(expression, o.Description)
	return o.Type == "function" && found && strings.Trim(before+after, "(); \t\r\n") == ""
}

// truthy reports whether the value is true as a condition.
func (o *remoteObject) truthy() bool {
	switch {
	case o.Type == "undefined" || o.Subtype == "null":
		return false
	case o.Number != "":
		return !slices.Contains([]string{"NaN", "-0", "0n"}, o.Number)
	}
	return !slices.Contains([]string{"false", "0", `""`}, string(o.Value)) || o.ObjectID != ""
}

// evaluate runs an expression in the main world of the document. An expression that can be read as
// a block or as an object literal is an object literal, as in the console of DevTools.
func evaluate(ctx context.Context, d *frames.Document, expression string, await bool) (*remoteObject, *runtime.ExceptionDetails, error) {
	if literal, ok := objectLiteral(expression); ok {
		remote, exception, err := evaluateScript(ctx, d, literal, await)
		if err != nil || exception == nil || !isSyntaxError(exception) {
			return remote, exception, err
		}
	}
	return evaluateScript(ctx, d, expression, await)
}

// objectLiteral returns an expression in braces as an object literal, which need not be valid.
func objectLiteral(expression string) (literal string, ok bool) {
	literal = strings.TrimRight(strings.TrimSpace(expression), "; \t\r\n")
	if len(literal) < 2 || literal[0] != '{' || !strings.HasSuffix(literal, "}") {
		return "", false
	}
	level := 0
	for _, c := range literal[1 : len(literal)-1] {
		switch c {
		case '{':
			level++
		case '}':
			if level--; level < 0 { // such as {} + {}
				return "", false
			}
		}
	}
	return "(" + literal + ")", true
}

// evaluateScript runs a script in the main world of the document.
func evaluateScript(ctx context.Context, d *frames.Document, expression string, await bool) (*remoteObject, *runtime.ExceptionDetails, error) {
	if d.MainWorld == "" {
		return nil, nil, frames.ErrDocumentGone
	}
	return runScript(ctx, d, runtime.CommandEvaluate, map[string]any{
		"expression": expression, "uniqueContextId": d.MainWorld, "awaitPromise": await, "userGesture": true,
		"replMode": true, // top-level await, as in the console
		"silent":   true, "objectGroup": evalGroup,
		"timeout": deadline.Limit(ctx).Milliseconds(), // terminates for (;;), but not a loop of microtasks
	}, await)
}

// evaluateOn calls the function that an expression evaluates to with an element, in the main world
// of the element's document.
func (v *View) evaluateOn(ctx context.Context, el *elements.Element, expression string, await bool) (*remoteObject, *runtime.ExceptionDetails, error) {
	d := el.Doc
	group, release := d.ObjectGroup(ctx)
	defer release()
	check, err := el.Start(ctx, "isShown", el.ID)
	if err != nil {
		return nil, nil, err
	}
	argument, err := mainObject(ctx, d, el.ID, group)
	if err != nil {
		return nil, nil, err
	}
	if err := v.elements.Finish(ctx, check, nil); err != nil {
		return nil, nil, err
	}
	if argument == "" {
		return nil, nil, v.elements.RemovedError(ctx, el)
	}
	remote, exception, err := runScript(ctx, d, runtime.CommandCallFunctionOn, map[string]any{
		"functionDeclaration": expression, "uniqueContextId": d.MainWorld, "arguments": []map[string]any{{"objectId": argument}},
		"awaitPromise": await, "userGesture": true, "silent": true, "objectGroup": evalGroup,
	}, false) // awaitPromise suffices
	var ce *cdpconn.Error
	switch {
	case errors.As(err, &ce) && strings.Contains(ce.Message, "does not evaluate to a function"):
		return nil, nil, executor.Errorf(executor.ErrBadArgs, "Write it like (element) => element.value.", "with a target, the expression must be a function")
	case errors.Is(err, context.DeadlineExceeded):
		// Unlike an evaluation, a call has no time limit in the browser.
		_, _ = d.Session.Start(context.WithoutCancel(ctx), runtime.CommandTerminateExecution, nil)
	}
	return remote, exception, err
}

// mainObject returns the remote object for an element id in the main world, or "" if the element no
// longer exists.
func mainObject(ctx context.Context, d *frames.Document, id int, group string) (runtime.RemoteObjectID, error) {
	object, err := d.Object(ctx, id, group)
	if err != nil || object == "" {
		return "", err
	}
	var node dom.DescribeNodeResult
	if err := d.Session.Call(ctx, dom.CommandDescribeNode, dom.DescribeNodeParams{ObjectID: object}, &node); err != nil {
		return "", d.Failure(err)
	}
	if node.Node == nil {
		return "", frames.ErrDocumentGone
	}
	return d.ResolveNode(ctx, node.Node.BackendNodeID, d.MainWorld, group)
}

// runScript sends a command that runs a script of the client in the main world of the document, and
// returns the value, of which an object has no Value yet. With await, it waits for the promise that
// the command returns. The caller calls releaseEval.
func runScript(ctx context.Context, d *frames.Document, method string, params map[string]any, await bool) (*remoteObject, *runtime.ExceptionDetails, error) {
	var answer struct {
		scriptResponse
		Cut   bool `json:"cut"` // see cdpconn.Session.StartShort
		Threw bool `json:"threw"`
	}
	p, err := d.Session.StartShort(ctx, method, params)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Wait(ctx, p, &answer); err != nil {
		if ce, ok := errors.AsType[*cdpconn.Error](err); ok && (ce.Message == "Internal error" || strings.Contains(ce.Message, "terminated")) {
			return nil, nil, context.DeadlineExceeded // the timeout parameter has passed
		}
		return nil, nil, err
	}
	if await && answer.Exception == nil && answer.Result.Subtype == "promise" {
		// With replMode, awaitPromise applies only to top-level awaits of the script.
		p, err := d.Session.StartShort(ctx, runtime.CommandAwaitPromise, map[string]any{"promiseObjectId": answer.Result.ObjectID})
		if err != nil {
			return nil, nil, err
		}
		answer.Result = remoteObject{}
		if err := d.Wait(ctx, p, &answer); err != nil {
			return nil, nil, err
		}
	}
	if answer.Cut {
		releaseEvalGroup(ctx, d)
		answer.Result.ObjectID = ""
		if answer.Threw {
			return nil, &runtime.ExceptionDetails{Exception: &runtime.RemoteObject{Description: answer.Result.Description, Value: answer.Result.Value}}, nil
		}
		return &answer.Result, nil, nil
	}
	return &answer.Result, answer.Exception, nil
}

// evalGroup is the object group of the results of evaluated expressions.
const evalGroup = "chrome-mcp-eval"

// releaseEval releases the result of runScript, if it is an object.
func releaseEval(ctx context.Context, d *frames.Document, remote *remoteObject) {
	if remote != nil && remote.ObjectID != "" {
		releaseEvalGroup(ctx, d)
	}
}

// releaseEvalGroup releases the results of runScript.
func releaseEvalGroup(ctx context.Context, d *frames.Document) {
	_, _ = d.Session.Start(context.WithoutCancel(ctx), runtime.CommandReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: evalGroup})
}

func exceptionText(d *runtime.ExceptionDetails) string {
	text := d.Text
	if d.Exception != nil {
		switch {
		case d.Exception.Description != "":
			text = d.Exception.Description
		case len(d.Exception.Value) > 0:
			text = "thrown: " + string(d.Exception.Value)
		}
	}
	return pagetext.FirstLine(text)
}

// isSyntaxError reports whether the expression could not be parsed. A SyntaxError that the page
// throws, for example from JSON.parse, has a stack.
func isSyntaxError(d *runtime.ExceptionDetails) bool {
	return d.StackTrace == nil && d.Exception != nil && d.Exception.ClassName == "SyntaxError" && !strings.Contains(d.Exception.Description, "\n    at ")
}

// answerDialogs answers dialogs automatically until done is called: it accepts alert and
// beforeunload, and dismisses confirm and prompt. list returns a description of each answered
// dialog.
func (t *Tab) answerDialogs() (list func() []string, done func()) {
	var answered []string // t.dialogs.mu guards it
	t.dialogs.answerWith(func(d executor.Dialog) *executor.DialogAnswer {
		a := &executor.DialogAnswer{Accept: d.Type == executor.DialogAlert || d.Type == executor.DialogBeforeUnload}
		verb := "dismissed"
		if a.Accept {
			verb = "accepted"
		}
		if len(answered) < 20 {
			answered = append(answered, fmt.Sprintf("%s %q %s", d.Type, pagetext.FirstLine(d.Message), verb))
		}
		return a
	})
	list = func() []string {
		t.dialogs.mu.Lock()
		defer t.dialogs.mu.Unlock()
		return slices.Clone(answered)
	}
	return list, func() { t.dialogs.answerWith(nil) }
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
	if err := v.checkRawCommand(ctx, d, method, raw); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cdpconn.DefaultCallTimeout)
	defer cancel()
	start := d.Session.Start
	if strings.HasPrefix(method, "Input.") {
		start = v.startInput
	}
	switch {
	case slices.Contains(keyMethods, method):
		if err := v.focusAllowed(ctx, nil, false); err != nil {
			return nil, err
		}
	case strings.HasPrefix(method, "Input."):
		v.block(ctx).Lock(ctx) // pointer, wheel and touch input may scroll
	}
	guarded := func() error { return nil }
	if method == cdppage.CommandReload {
		if guarded, err = v.guardScript(ctx); err != nil {
			return nil, err
		}
		v.tab.reloadRequested(v.tab.main)
	}
	done := v.tab.trackRawInput(method, raw)
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
		v.releaseButtons(ctx) // the caller may not send the rest
	}
	return executor.RawJSON(result), err
}

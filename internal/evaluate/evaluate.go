// Package evaluate runs scripts of a client in the main world of documents.
package evaluate

import (
	"context"
	"errors"
	"slices"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A Value describes a value of the page, as in a response of Runtime.evaluate.
type Value struct {
	Type        string                 `json:"type"`
	Subtype     string                 `json:"subtype"`
	JSON        jsonv2.Value           `json:"value"`
	Number      string                 `json:"unserializableValue"`
	Description string                 `json:"description"`
	ObjectID    runtime.RemoteObjectID `json:"objectId"`
	// truncated reports that JSON is the start of the value as text.
	truncated bool
}

// A scriptResponse is the response to a command that runs a script.
type scriptResponse struct {
	Result    Value                     `json:"result"`
	Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
}

// Kind returns the type of the value.
func (v *Value) Kind() string {
	if v.Type == "object" && v.Subtype != "" {
		return v.Subtype
	}
	return v.Type
}

// IsFunctionOf reports whether the value is the function that the expression consists of.
func (v *Value) IsFunctionOf(expression string) bool {
	before, after, found := strings.Cut(expression, v.Description)
	return v.Type == "function" && found && strings.Trim(before+after, "(); \t\r\n") == ""
}

// Truthy reports whether the value is true as a condition.
func (v *Value) Truthy() bool {
	switch {
	case v.Type == "undefined" || v.Subtype == "null":
		return false
	case v.Number != "":
		return !slices.Contains([]string{"NaN", "-0", "0n"}, v.Number)
	}
	return !slices.Contains([]string{"false", "0", `""`}, string(v.JSON)) || v.ObjectID != ""
}

// Expression runs an expression in the main world of the document. An expression that can be read
// as a block or as an object literal is an object literal, as in the console of DevTools.
func Expression(ctx context.Context, d *frames.Document, expression string, await bool) (*Value, *runtime.ExceptionDetails, error) {
	if literal, ok := objectLiteral(expression); ok {
		remote, exception, err := evaluateScript(ctx, d, literal, await)
		if err != nil || exception == nil || !IsSyntaxError(exception) {
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
func evaluateScript(ctx context.Context, d *frames.Document, expression string, await bool) (*Value, *runtime.ExceptionDetails, error) {
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

// CallOn calls the function that an expression evaluates to with an element, in the main world
// of the element's document.
func CallOn(ctx context.Context, finder *elements.Finder, el *elements.Element, expression string, await bool) (*Value, *runtime.ExceptionDetails, error) {
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
	if err := finder.Finish(ctx, check, nil); err != nil {
		return nil, nil, err
	}
	if argument == "" {
		return nil, nil, finder.RemovedError(ctx, el)
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
		return "", d.AsGone(err)
	}
	if node.Node == nil {
		return "", frames.ErrDocumentGone
	}
	return d.ResolveNode(ctx, node.Node.BackendNodeID, d.MainWorld, group)
}

// runScript sends a command that runs a script of the client in the main world of the document, and
// returns the value, of which an object has no JSON yet. With await, it waits for the promise that
// the command returns. The caller calls Release.
func runScript(ctx context.Context, d *frames.Document, method string, params map[string]any, await bool) (*Value, *runtime.ExceptionDetails, error) {
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
		answer.Result = Value{}
		if err := d.Wait(ctx, p, &answer); err != nil {
			return nil, nil, err
		}
	}
	if answer.Cut {
		releaseAll(ctx, d)
		answer.Result.ObjectID = ""
		if answer.Threw {
			return nil, &runtime.ExceptionDetails{Exception: &runtime.RemoteObject{Description: answer.Result.Description, Value: answer.Result.JSON}}, nil
		}
		return &answer.Result, nil, nil
	}
	return &answer.Result, answer.Exception, nil
}

// evalGroup is the object group of the results of evaluated expressions.
const evalGroup = "chrome-mcp-eval"

// Release releases a value that Expression or CallOn returned, if it is an object.
func Release(ctx context.Context, d *frames.Document, remote *Value) {
	if remote != nil && remote.ObjectID != "" {
		releaseAll(ctx, d)
	}
}

// releaseAll releases the results of runScript.
func releaseAll(ctx context.Context, d *frames.Document) {
	_, _ = d.Session.Start(context.WithoutCancel(ctx), runtime.CommandReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: evalGroup})
}

// ExceptionText returns the first line of the text of an exception.
func ExceptionText(d *runtime.ExceptionDetails) string {
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

// IsSyntaxError reports whether the expression could not be parsed. A SyntaxError that the page
// throws, for example from JSON.parse, has a stack.
func IsSyntaxError(d *runtime.ExceptionDetails) bool {
	return d.StackTrace == nil && d.Exception != nil && d.Exception.ClassName == "SyntaxError" && !strings.Contains(d.Exception.Description, "\n    at ")
}

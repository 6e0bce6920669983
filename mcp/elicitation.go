package mcp

import (
	"encoding/json"
	"errors"
	"reflect"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// An elicitationSupport describes how the client of a call can show forms. The zero value is a client
// that cannot.
type elicitationSupport struct {
	conn *sdk.ServerSession
	form bool
	// inputRequests returns forms in the result of the call. The client repeats the call with the
	// answers. This applies since protocol version firstStateless.
	inputRequests bool
}

// elicitationSupportOf returns the elicitationSupport of a call of t.
func elicitationSupportOf(t *tool, req *sdk.CallToolRequest) elicitationSupport {
	e := elicitationSupport{conn: req.Session}
	p := initializeParams(req.Session)
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return e
	}
	modes := p.Capabilities.Elicitation
	e.form = modes.Form != nil || modes.URL == nil // neither means forms: the only mode of earlier protocol versions
	e.inputRequests = e.form && p.ProtocolVersion >= firstStateless
	if e.inputRequests && t.kind == batches {
		e.form = false // the client would repeat the call, and with it the completed actions
	}
	return e
}

// parseElicitResult converts a client's elicitation result.
func parseElicitResult(res *sdk.ElicitResult) promptResult {
	switch res.Action {
	case "decline":
		return answerNo
	case "cancel":
		return answerNone
	case "accept":
		switch answer := promptResult(formAnswer(res)); answer {
		case answerOnce, answerSession, answerNo:
			return answer
		}
	}
	return answerInvalid
}

// acceptReply accepts the reply to a pending prompt that a client sent with a call. ok reports
// whether the call is the one that the user was prompted about. If it is not, the reply does not
// apply to it.
func (pr *prompter) acceptReply(id string, response sdk.InputResponse, t *tool, raw json.RawMessage) (p executor.Permission, res promptResult, ok bool) {
	pr.mu.Lock()
	q := pr.pending[id]
	delete(pr.pending, id)
	expired := q == nil || time.Since(q.since) > answerTTL
	if q != nil && expired {
		pr.removeOpen(q)
	}
	pr.mu.Unlock()
	if expired {
		return p, "", false
	}
	res = answerInvalid
	if elicited, ok := response.(*sdk.ElicitResult); ok {
		res = parseElicitResult(elicited)
	}
	pr.complete(q, res)
	args, err := t.decode(raw)
	return q.missing, res, err == nil && t == q.tool && reflect.DeepEqual(args, q.args)
}

// inputRequired is the error of a call that its client must repeat with the user's answer.
type inputRequired struct {
	id   string
	form *sdk.ElicitParams
}

func (e *inputRequired) Error() string { return "waiting for the user to answer: " + e.form.Message }

func (e *inputRequired) Unwrap() error { return executor.ErrConsentRequired }

// inputFor returns the result that requests input from the user if err is an inputRequired,
// otherwise nil.
func inputFor(err error) *sdk.CallToolResult {
	e, ok := errors.AsType[*inputRequired](err)
	if !ok {
		return nil
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{e.id: e.form}}
}

// form returns the elicitation request that the client shows.
func (p *prompt) form() *sdk.ElicitParams {
	return answerForm(p.message, "Allow it?",
		[]string{string(answerOnce), string(answerSession), string(answerNo)}, []string{"Once, for this call", "For this session", "No"})
}

// answerForm returns an elicitation request with one question. labels are what the client shows for
// the answers.
func answerForm(message, title string, answers, labels []string) *sdk.ElicitParams {
	return &sdk.ElicitParams{
		Mode: "form", Message: message,
		RequestedSchema: map[string]any{
			"type": "object", "required": []string{"answer"},
			"properties": map[string]any{
				"answer": map[string]any{"type": "string", "title": title, "enum": answers, "enumNames": labels},
			},
		},
	}
}

// formAnswer returns the answer in the result of an answerForm.
func formAnswer(res *sdk.ElicitResult) string {
	answer, _ := res.Content["answer"].(string)
	return answer
}

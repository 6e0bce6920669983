package mcp

import (
	"errors"
	"reflect"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// supportsElicitation reports whether a client supports form elicitation.
func supportsElicitation(conn *sdk.ServerSession) bool {
	if conn == nil {
		return false
	}
	p := conn.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // neither means forms: the only mode of earlier protocol versions
}

// usesInputRequests reports whether the protocol version requires that a server returns its
// elicitation requests in the result of a call instead of sending them to the client.
func usesInputRequests(conn *sdk.ServerSession) bool {
	return conn.InitializeParams().ProtocolVersion >= "2026-07-28"
}

// parseElicitResult converts a client's elicitation result.
func parseElicitResult(res *sdk.ElicitResult) promptResult {
	switch res.Action {
	case "decline":
		return answerNo
	case "cancel":
		return answerNone
	case "accept":
		switch answer, _ := res.Content["answer"].(string); promptResult(answer) {
		case answerOnce, answerSession, answerNo:
			return promptResult(answer)
		}
	}
	return answerInvalid
}

// acceptReply accepts the reply to a pending prompt that a client sent with a call. ok reports
// whether the call is the one that the user was prompted about. If it is not, the reply does not
// apply to it.
func (a *prompter) acceptReply(id string, response sdk.InputResponse, t *tool, req *sdk.CallToolRequest) (p executor.Permission, res promptResult, ok bool) {
	a.mu.Lock()
	q := a.pending[id]
	delete(a.pending, id)
	expired := q == nil || time.Since(q.since) > answerTTL
	if q != nil && expired {
		a.removeOpen(q)
	}
	a.mu.Unlock()
	if expired {
		return p, "", false
	}
	res = answerInvalid
	if elicited, ok := response.(*sdk.ElicitResult); ok {
		res = parseElicitResult(elicited)
	}
	a.complete(q, res)
	args, err := t.decode(req.Params.Arguments)
	return q.missing, res, err == nil && t == q.tool && reflect.DeepEqual(args, q.args)
}

// inputRequired is the error of a call that its client must repeat with the user's answer.
type inputRequired struct{ q *prompt }

func (e *inputRequired) Error() string { return "waiting for the user to answer: " + e.q.message }

func (e *inputRequired) Unwrap() error { return executor.ErrConsentRequired }

// inputFor returns the result that requests input from the user if err is an inputRequired,
// otherwise nil.
func inputFor(err error) *sdk.CallToolResult {
	e, ok := errors.AsType[*inputRequired](err)
	if !ok {
		return nil
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{e.q.id: e.q.form()}}
}

// form returns the elicitation request that the client shows.
func (q *prompt) form() *sdk.ElicitParams {
	return &sdk.ElicitParams{
		Mode:    "form",
		Message: q.message,
		RequestedSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{"answer": map[string]any{
				"type": "string", "title": "Allow it?",
				"enum":      []string{string(answerOnce), string(answerSession), string(answerNo)},
				"enumNames": []string{"Once, for this call", "For this session", "No"},
			}},
			"required": []string{"answer"},
		},
	}
}

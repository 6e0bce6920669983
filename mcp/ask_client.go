package mcp

import (
	"errors"
	"reflect"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// elicits reports whether a client can ask its user.
func elicits(conn *sdk.ServerSession) bool {
	if conn == nil {
		return false
	}
	p := conn.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // neither means forms, as before there were two
}

// returnsQuestions reports whether servers may send a client no requests of
// their own, and return what they want to know instead.
func returnsQuestions(conn *sdk.ServerSession) bool {
	return conn.InitializeParams().ProtocolVersion >= "2026-07-28"
}

// understood returns what a client's answer means.
func understood(res *sdk.ElicitResult) answer {
	switch res.Action {
	case "decline":
		return answerNo
	case "cancel":
		return answerNone
	case "accept":
		switch said, _ := res.Content["answer"].(string); answer(said) {
		case answerOnce, answerSession, answerNo:
			return answer(said)
		}
	}
	return answerUnclear
}

// returned takes an answer that came with a call. It is not for this call if
// that is another one than was asked about.
func (a *asking) returned(id string, response sdk.InputResponse, t *tool, req *sdk.CallToolRequest) (p executor.Permission, said answer, ok bool) {
	a.mu.Lock()
	q := a.asked[id]
	delete(a.asked, id)
	late := q == nil || time.Since(q.since) > answerFor
	if q != nil && late {
		a.closeQuestion(q)
	}
	a.mu.Unlock()
	if late {
		return p, "", false
	}
	said = answerUnclear
	if res, ok := response.(*sdk.ElicitResult); ok {
		said = understood(res)
	}
	a.answered(q, said)
	args, err := t.decode(req.Params.Arguments)
	return q.missing, said, err == nil && t == q.tool && reflect.DeepEqual(args, q.args)
}

// needsInput ends a call that its client is to make again, with the answer.
type needsInput struct{ q *question }

func (e *needsInput) Error() string { return "the user is asked: " + e.q.words }

func (e *needsInput) Unwrap() error { return executor.ErrConsentRequired }

// inputFor returns the result that asks, nil for any other error.
func inputFor(err error) *sdk.CallToolResult {
	e, ok := errors.AsType[*needsInput](err)
	if !ok {
		return nil
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{e.q.id: e.q.form()}}
}

// form returns what the client shows.
func (q *question) form() *sdk.ElicitParams {
	return &sdk.ElicitParams{
		Mode:    "form",
		Message: q.words,
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

package prompting

import (
	"errors"
	"reflect"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// An Elicitation describes how the client of a call can show forms. The zero value is a client
// that cannot.
type Elicitation struct {
	Conn *sdk.ServerSession
	Form bool
	// InputRequests means that forms are in the result of the call, and that the client repeats the call
	// with the answers. This applies since protocol version 2026-07-28.
	InputRequests bool
}

// parseElicitResult converts a client's elicitation result.
func parseElicitResult(res *sdk.ElicitResult) Answer {
	switch res.Action {
	case "decline":
		return answerDeclined
	case "cancel":
		return answerDismissed
	case "accept":
		switch answer := Answer(FormAnswer(res)); answer {
		case AnswerOnce, AnswerSession, answerNo:
			return answer
		}
	}
	return answerInvalid
}

// acceptReply accepts the reply to a pending prompt that a client sent with a call of tool with the
// arguments that decode returns. ok reports whether the call is the one that the user was prompted
// about. If it is not, the reply does not apply to it.
func (pr *Prompter) acceptReply(id string, response sdk.InputResponse, tool string, decode func() (any, error)) (missing executor.Permission, answer Answer, ok bool) {
	pr.mu.Lock()
	p := pr.pending[id]
	delete(pr.pending, id)
	expired := p == nil || time.Since(p.since) > answerTTL
	if p != nil && expired {
		pr.removeOpen(p)
	}
	pr.mu.Unlock()
	if expired {
		return missing, "", false
	}
	answer = answerInvalid
	if elicited, ok := response.(*sdk.ElicitResult); ok {
		answer = parseElicitResult(elicited)
	}
	pr.complete(p, answer)
	args, err := decode()
	return p.Missing, answer, err == nil && tool == p.Tool && reflect.DeepEqual(args, p.Args)
}

// InputRequired is the error of a call that its client must repeat with the user's answer.
type InputRequired struct {
	ID   string
	Form *sdk.ElicitParams
}

func (e *InputRequired) Error() string { return "waiting for the user to answer: " + e.Form.Message }

func (e *InputRequired) Unwrap() error { return executor.ErrConsentRequired }

// InputFor returns the result that requests input from the user if err is an InputRequired,
// otherwise nil.
func InputFor(err error) *sdk.CallToolResult {
	e, ok := errors.AsType[*InputRequired](err)
	if !ok {
		return nil
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{e.ID: e.Form}}
}

// form returns the elicitation request that the client shows.
func (p *Prompt) form() *sdk.ElicitParams {
	return AnswerForm(p.Message, "Allow it?",
		[]string{string(AnswerOnce), string(AnswerSession), string(answerNo)}, []string{"Once, for this call", "For this session", "No"})
}

// AnswerForm returns an elicitation request with one question. labels are what the client shows for
// the answers.
func AnswerForm(message, title string, answers, labels []string) *sdk.ElicitParams {
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

// FormAnswer returns the answer in the result of an AnswerForm.
func FormAnswer(res *sdk.ElicitResult) string {
	answer, _ := res.Content["answer"].(string)
	return answer
}

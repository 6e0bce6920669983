package prompting

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Channel describes how to prompt the user about one call.
type Channel struct {
	Client      string                         // from Prompter.clientOf
	Elicitation                                // zero if the extension popup shows the prompt
	Popup       bool                           // the extension popup shows the prompt, not the client
	Answers     map[executor.Permission]Answer // answers that arrived with the call
}

type promptChannelKey struct{}

// Begin returns a context for a call of tool that contains its Channel, if the extension popup or
// the client can show a prompt. It accepts the answers in params, which is nil for a call without
// MCP. decode decodes the arguments of the tool.
func (pr *Prompter) Begin(ctx context.Context, tool string, support Elicitation, params *sdk.CallToolParamsRaw, decode func(json.RawMessage) (any, error)) context.Context {
	if pr == nil {
		return ctx
	}
	ch := &Channel{Client: pr.clientOf(support), Answers: map[executor.Permission]Answer{}}
	switch {
	case pr.popup != nil && pr.popup.Connected():
		ch.Popup = true
	case support.Form:
		ch.Elicitation = support
	default:
		return pr.Granter.WithCall(ctx, ch.Client) // prevents the call from using the grants of other clients
	}
	if params != nil {
		for id, response := range params.InputResponses {
			if missing, answer, ok := pr.acceptReply(id, response, tool, func() (any, error) { return decode(params.Arguments) }); ok {
				ch.Answers[missing] = answer
			}
		}
	}
	return context.WithValue(ctx, promptChannelKey{}, ch)
}

// ChannelOf returns the Channel of a call, or nil if nothing can show a prompt.
func ChannelOf(ctx context.Context) *Channel {
	ch, _ := ctx.Value(promptChannelKey{}).(*Channel)
	return ch
}

// DeniedAfterPrompt returns the error of a call that is still denied after a prompt.
func DeniedAfterPrompt(denied *executor.Error, answer Answer) error {
	e := *denied
	e.Missing = nil
	what, hint := "", ""
	switch answer {
	case answerNotYet:
		e.Code, e.Rule, e.Retryable = executor.ErrConsentRequired, "", true
		what = "the user was prompted and has not answered yet"
		hint = "Ask the user to open the chrome-mcp popup in Chrome's toolbar, then repeat this call. The user can allow it once while it waits."
	case answerNo:
		what, hint = "the user denied permission", "Continue without it; the user is not prompted again."
	case answerDeclined:
		what = "the client declined the prompt, possibly without showing it to the user"
		hint = "Continue without it, or report that to the user; the client is not prompted again."
	case answerTooMany:
		what, hint = "the user was not prompted: too many prompts were denied or not answered", "Continue without it."
	case answerDismissed:
		what = "the prompt was dismissed, possibly before the user saw it"
	case answerError:
		what = "the client's answer to the prompt was an error, or was invalid"
	case answerFailed:
		what = "the prompt was not answered in the popup: the extension failed or disconnected"
	case answerLate:
		what = fmt.Sprintf("the prompt was not answered within %.0f seconds", Timeout.Seconds())
	default:
		what = "the client did not answer the prompt with once, session or no"
	}
	e.Err = fmt.Errorf("%w; %s", denied.Err, what)
	if hint != "" {
		e.Hint = hint
	}
	return &e
}

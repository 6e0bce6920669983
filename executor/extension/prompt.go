package extension

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

var _ executor.PermissionPrompter = (*Backend)(nil)

// consentKinds maps each kind of permission to the kind of its prompt on the wire.
var consentKinds = map[executor.PermissionKind]string{
	executor.PermitSite: wire.ConsentSite, executor.PermitMutations: wire.ConsentMutations,
	executor.PermitDownloads: wire.ConsentDownloads,
	executor.PermitClipboard: wire.ConsentClipboard,
}

// Prompt prompts the user in the popup of the browser that has q's tab, or otherwise of the browser
// that connected first. It waits up to 20 s for the answer.
func (b *Backend) Prompt(ctx context.Context, q executor.PermissionPrompt) (executor.PromptAnswer, error) {
	kind, ok := consentKinds[q.Kind]
	if !ok {
		return "", executor.Errorf(executor.ErrBadArgs, "", "cannot prompt for %q", q.Kind)
	}
	c := b.connectionForPrompt(q.Tab)
	if c == nil {
		return "", b.DisconnectedError()
	}
	answer, err := b.ask(ctx, c, kind, q.Site, q.Tool, executor.Errorf(executor.ErrConsentRequired, "",
		"the user has not answered yet: the prompt is in the popup of the extension"))
	if err != nil {
		return "", err
	}
	switch given := executor.PromptAnswer(answer.Answer); given {
	case executor.AnswerOnce, executor.AnswerSession, executor.AnswerNo:
		if answer.Granted == (given != executor.AnswerNo) {
			return given, nil
		}
	}
	return "", executor.Errorf(executor.ErrInternal, "", "invalid answer from the extension")
}

// ask prompts the user for the call of ctx. If the user does not answer within Timing.Consent, it
// returns unanswered.
func (b *Backend) ask(
	ctx context.Context, c *bridge.Conn, kind, origin, tool string, unanswered error,
) (answer wire.PromptResult, err error) {
	limit, cancel := context.WithTimeout(ctx, b.timing.Consent)
	defer cancel()
	call := executor.CallOptionsOf(ctx)
	err = c.Call(limit, wire.MethodConsent, wire.PromptParams{
		Kind: kind, Origin: origin, Tool: tool, Client: call.Client, Call: cmp.Or(call.Hash, rand.Text()),
	}, &answer)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, executor.ErrTimeout) || errors.Is(err, executor.ErrConsentRequired):
		err = unanswered
	}
	return answer, err
}

// connectionForPrompt returns the connection to the browser that prompts its user about a tab, or
// nil if no browser is connected.
func (b *Backend) connectionForPrompt(tab executor.TabID) *bridge.Conn {
	var first *bridge.Conn
	for _, in := range b.connectedInstallations() {
		c := in.connection()
		if c == nil {
			continue
		}
		if _, session, _, err := tab.Split(); err == nil && session == in.id {
			return c
		}
		first = cmp.Or(first, c)
	}
	return first
}

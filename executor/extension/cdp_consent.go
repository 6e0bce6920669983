package extension

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// queueCommand sends a command to the browser of a tab, and calls done with the result. If the user
// must allow scripts on a site first and mayPrompt is true, it prompts the user.
func (c *cdpClient) queueCommand(t *cdpTab, command wire.CDPCommand, mayPrompt bool, done doneFunc) {
	size := weigh(len(command.Params) + len(command.Method))
	if c.sending+size > maxSending {
		done(nil, errTooManyCommands)
		return
	}
	err := t.queue(context.Background(), wire.MethodCDP, command, func(data json.RawMessage, err error) {
		c.sending -= size
		if origin := consentOrigin(err); origin != "" && mayPrompt && c.err == nil {
			c.askConsent(t, command, origin, err, done)
			return
		}
		if err != nil {
			done(nil, cdpError(err))
			return
		}
		done(data, nil)
	})
	if err != nil {
		done(nil, cdpError(err))
		return
	}
	c.sending += size
}

// consentOrigin returns the origin on which the user has not allowed scripts yet, or "" if err has
// another cause.
func consentOrigin(err error) string {
	var problem *bridge.CommandError
	if !errors.Is(err, executor.ErrConsentRequired) || !errors.As(err, &problem) {
		return ""
	}
	return member[string](problem.Data, "origin")
}

// askConsent prompts the user to allow scripts on a site, and sends the command again after the
// answer; the extension denies it if the user did. If the user does not answer in time, the command
// fails with err.
func (c *cdpClient) askConsent(t *cdpTab, command wire.CDPCommand, origin string, err error, done doneFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), c.hub.backend.timing.Consent)
	prompt := wire.PromptParams{Kind: wire.ConsentEval, Origin: origin, Client: c.id, Call: c.id}
	queueErr := t.queue(ctx, wire.MethodConsent, prompt, func(data json.RawMessage, promptErr error) {
		cancel()
		var answer wire.PromptResult
		if promptErr != nil || wire.Unmarshal(data, &answer) != nil {
			done(nil, cdpError(err))
			return
		}
		c.hub.backend.recordConsent(t.clientTabID, c.name, origin, answer.Granted)
		c.queueCommand(t, command, false, done)
	})
	if queueErr != nil {
		cancel()
		done(nil, cdpError(err))
	}
}

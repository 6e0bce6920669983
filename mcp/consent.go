package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
)

// A promptChannel describes how to prompt the user about one call.
type promptChannel struct {
	client             string                               // from clientOf
	elicitationSupport                                      // zero if the extension popup shows the prompt
	popup              bool                                 // the extension popup shows the prompt, not the client
	results            map[executor.Permission]promptResult // answers that arrived with the call
}

type promptChannelKey struct{}

// begin returns a context for a call that contains its promptChannel, if the extension popup or the
// client can show a prompt. It accepts the answers in params, which is nil for a call over plain HTTP.
func (pr *prompter) begin(ctx context.Context, t *tool, support elicitationSupport, params *sdk.CallToolParamsRaw) context.Context {
	if pr == nil {
		return ctx
	}
	by := &promptChannel{client: pr.clientOf(support), results: map[executor.Permission]promptResult{}}
	switch {
	case pr.popup != nil && pr.popup.Connected():
		by.popup = true
	case support.form:
		by.elicitationSupport = support
	default:
		return pr.permit.WithCall(ctx, by.client) // prevents the call from using the grants of other clients
	}
	if params != nil {
		for id, response := range params.InputResponses {
			if p, res, ok := pr.acceptReply(id, response, t, params.Arguments); ok {
				by.results[p] = res
			}
		}
	}
	return context.WithValue(ctx, promptChannelKey{}, by)
}

// runWithConsent runs a call. If the call is denied and the user can grant the missing permission,
// it prompts the user and then repeats the call. It repeats a call only if the call has not acted.
func (s *toolSession) runWithConsent(ctx context.Context, t *tool, raw []byte, args any) (mcptext.Result, error) {
	by, ok := ctx.Value(promptChannelKey{}).(*promptChannel)
	if !ok {
		return t.run(s, ctx, args)
	}
	ctx = s.prompter.permit.WithCall(ctx, by.client)
	var revokes []func()
	defer func() {
		for _, revoke := range revokes {
			revoke()
		}
	}()
	permit := func(p executor.Permission) error {
		revoke, err := s.prompter.permit.Grant(ctx, p, true)
		if err == nil {
			revokes = append(revokes, revoke)
		}
		return err
	}
	for p, res := range by.results {
		if res == answerOnce {
			if err := permit(p); err != nil {
				return nil, err
			}
		}
	}
	for prompts := 0; ; prompts++ {
		var acted atomic.Bool
		out, err := t.run(s, executor.WithCallOptions(ctx, executor.CallOptions{Client: by.client, OnDecision: func(d executor.Decision) {
			if d.Err == nil && (d.Access.Op == executor.OpAct || d.Access.Op == executor.OpUpload) {
				acted.Store(true)
			}
			d.Report(ctx)
		}}), args)
		denied, ok := errors.AsType[*executor.Error](err)
		if !ok || denied.Missing == nil || acted.Load() || prompts == maxPrompts || !s.audit.writes() {
			return out, err
		}
		q := s.newPrompt(ctx, by, t, raw, args, *denied.Missing)
		if q == nil {
			return out, err
		}
		res, ok := by.results[q.missing]
		if !ok {
			if res, err = s.askUser(ctx, by, q); err != nil {
				return nil, err
			}
		}
		switch res {
		case answerOnce:
			if err := permit(q.missing); err != nil {
				return nil, err
			}
		case answerSession: // already granted
		default:
			return nil, deniedAfterPrompt(denied, res)
		}
	}
}

// askUser prompts the user. Other calls may run while the call waits for the answer.
func (s *toolSession) askUser(ctx context.Context, by *promptChannel, q *prompt) (promptResult, error) {
	slot := callSlotOf(ctx)
	slot.suspend()
	res, err := s.prompter.ask(ctx, by, q)
	if err == nil {
		err = slot.enter(ctx)
	}
	return res, err
}

// deniedAfterPrompt returns the error of a call that is still denied after a prompt with result
// res.
func deniedAfterPrompt(denied *executor.Error, res promptResult) error {
	e := *denied
	e.Missing = nil
	what, hint := "", ""
	switch res {
	case answerPending:
		e.Code, e.Rule, e.Retryable = executor.ErrConsentRequired, "", true
		what = "the user was prompted and has not answered yet"
		hint = "Ask the user to open the chrome-mcp popup in Chrome's toolbar, then repeat this call. The user can allow it once while it waits."
	case answerNo:
		what, hint = "the user denied permission", "Continue without it; the user is not prompted again."
	case answerTooMany:
		what, hint = "the user was not prompted: too many prompts were denied or not answered", "Continue without it."
	case answerNone:
		what = "the user dismissed the prompt"
	case answerFailed:
		what = "the prompt was not answered in the popup: the extension failed or disconnected"
	case answerLate:
		what = fmt.Sprintf("the user did not answer within %.0f seconds", promptTimeout.Seconds())
	default:
		what = "the client did not answer the prompt with once, session or no"
	}
	e.Err = fmt.Errorf("%w; %s", denied.Err, what)
	if hint != "" {
		e.Hint = hint
	}
	return &e
}

// callHash returns the hash of a call of t with args in this session. Equal calls have equal hashes.
func (s *toolSession) callHash(t *tool, args any) string {
	text, err := json.Marshal(args)
	if err != nil {
		return rand.Text() // equals no other hash
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s ", s.client, t.name)
	hash.Write(text)
	return hex.EncodeToString(hash.Sum(nil))
}

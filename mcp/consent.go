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
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
)

// maxPrompts is the maximum number of prompts for one call. One or two redirects and a grant need
// three.
const maxPrompts = 5

// elicitationSupportOf returns how the client of a call of t can show forms.
func elicitationSupportOf(t *tool, req *sdk.CallToolRequest) prompting.Elicitation {
	e := prompting.Elicitation{Conn: req.Session}
	p := initializeParams(req.Session)
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return e
	}
	modes := p.Capabilities.Elicitation
	e.Form = modes.Form != nil || modes.URL == nil // neither means forms: the only mode of earlier protocol versions
	e.InputRequests = e.Form && p.ProtocolVersion >= firstStateless
	if e.InputRequests && t.kind == batches {
		e.Form = false // the client would repeat the call, and with it the completed actions
	}
	return e
}

// runWithConsent runs a call. If the call is denied and the user can grant the missing permission,
// it prompts the user and then repeats the call. It repeats a call only if the call has not acted.
func (r *toolRunner) runWithConsent(ctx context.Context, t *tool, raw []byte, args any) (mcptext.Result, error) {
	ch := prompting.ChannelOf(ctx)
	if ch == nil {
		return t.run(r, ctx, args)
	}
	ctx = r.prompter.Granter.WithCall(ctx, ch.Client)
	var revokes []func()
	defer func() {
		for _, revoke := range revokes {
			revoke()
		}
	}()
	grant := func(p executor.Permission) error {
		revoke, err := r.prompter.Granter.Grant(ctx, p, true)
		if err == nil {
			revokes = append(revokes, revoke)
		}
		return err
	}
	for p, answer := range ch.Answers {
		if answer == prompting.AnswerOnce {
			if err := grant(p); err != nil {
				return nil, err
			}
		}
	}
	for prompts := 0; ; prompts++ {
		var acted atomic.Bool
		out, err := t.run(r, executor.WithCallOptions(ctx, executor.CallOptions{Client: ch.Client, OnDecision: func(d executor.Decision) {
			if d.Err == nil && (d.Access.Op == executor.OpAct || d.Access.Op == executor.OpUpload) {
				acted.Store(true)
			}
			d.Report(ctx)
		}}), args)
		denied, ok := errors.AsType[*executor.Error](err)
		if !ok || denied.Missing == nil || acted.Load() || prompts == maxPrompts || !r.audit.writes() {
			return out, err
		}
		prompt := r.newPrompt(ctx, ch, t, raw, args, *denied.Missing)
		if prompt == nil {
			return out, err
		}
		answer, ok := ch.Answers[prompt.Missing]
		if !ok {
			if answer, err = r.promptUser(ctx, ch, prompt); err != nil {
				return nil, err
			}
		}
		switch answer {
		case prompting.AnswerOnce:
			if err := grant(prompt.Missing); err != nil {
				return nil, err
			}
		case prompting.AnswerSession: // already granted
		default:
			return nil, prompting.DeniedAfterPrompt(denied, answer)
		}
	}
}

// promptUser prompts the user. Other calls may run while the call waits for the answer.
func (r *toolRunner) promptUser(ctx context.Context, ch *prompting.Channel, prompt *prompting.Prompt) (answer prompting.Answer, err error) {
	err = callSlotOf(ctx).freeWhile(ctx, func() (err error) {
		answer, err = r.prompter.Ask(ctx, ch, prompt)
		return err
	})
	return answer, err
}

// callHash returns the hash of a call of t with args in this session. Equal calls have equal hashes.
func (r *toolRunner) callHash(t *tool, args any) string {
	text, err := json.Marshal(args)
	if err != nil {
		return rand.Text() // equals no other hash
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s ", r.sessionID, t.name)
	hash.Write(text)
	return hex.EncodeToString(hash.Sum(nil))
}

package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	// promptTimeout is how long a call waits for the user's answer. Hosts allow at least one minute
	// per call, and more if they receive progress notifications.
	promptTimeout = 55 * time.Second
	// repromptDelay is how long a prompt is not repeated after it timed out or its reply was
	// invalid. The client may have no user to prompt.
	repromptDelay = time.Minute
	// answerTTL is how long a client that repeats a call with the user's answer can do so.
	answerTTL = 10 * time.Minute
	// maxPrompts is the maximum number of prompts for one call. One or two redirects and a grant
	// need three.
	maxPrompts = 5
	// maxPending is the maximum number of prompts that wait for a repeated call.
	maxPending = 64
	// maxUnanswered limits the unanswered prompts within repromptDelay, and maxDenied the prompts
	// that the user denied. When a limit is reached, the user is not prompted again.
	maxUnanswered = 64
	maxDenied     = 256
)

// A promptResult is the result of a permission prompt.
type promptResult string

// The results of a prompt. The first three are the values that a client returns.
const (
	answerOnce    promptResult = "once"
	answerSession promptResult = "session"
	answerNo      promptResult = "no"
	answerNone    promptResult = "dismissed"
	answerLate    promptResult = "no answer in time"
	answerInvalid promptResult = "invalid answer"
	answerPending promptResult = "no answer yet"    // the prompt stays open
	answerTooMany promptResult = "too many prompts" // the user is not prompted
)

// A prompter prompts the user of one session for permissions that calls lack. A nil prompter never
// prompts. It is safe for concurrent use.
type prompter struct {
	permit executor.PermissionGranter
	popup  executor.PermissionPrompter // nil means elicitation only
	audit  *auditor
	slot   chan struct{} // occupied while an elicitation is shown: one at a time
	life   context.Context
	cancel context.CancelFunc
	shown  sync.WaitGroup

	mu         sync.Mutex                               // guards the fields below
	open       map[executor.Permission]*prompt          // prompts that wait for an answer
	pending    map[string]*prompt                       // prompts that a repeated call answers, by id
	denied     map[executor.Permission]bool             // permissions that the user denied
	unanswered map[executor.Permission]unansweredPrompt // prompts without a valid answer
	revokes    []func()                                 // revoke the session grants
}

// An unansweredPrompt records a prompt that timed out or had an invalid reply.
type unansweredPrompt struct {
	result promptResult
	since  time.Time
}

func newPrompter(permit executor.PermissionGranter, popup executor.PermissionPrompter, record *auditor) *prompter {
	a := &prompter{
		permit: permit, popup: popup, audit: record, slot: make(chan struct{}, 1),
		open: map[executor.Permission]*prompt{}, pending: map[string]*prompt{},
		denied: map[executor.Permission]bool{}, unanswered: map[executor.Permission]unansweredPrompt{},
	}
	a.life, a.cancel = context.WithCancel(context.Background())
	return a
}

// close cancels open prompts, waits for them, and revokes the session grants.
func (a *prompter) close() {
	if a == nil {
		return
	}
	a.cancel()
	a.shown.Wait()
	a.mu.Lock()
	revokes := a.revokes
	a.revokes = nil
	a.mu.Unlock()
	for _, revoke := range revokes {
		revoke()
	}
}

// A promptChannel describes how to prompt the user about one call.
type promptChannel struct {
	elicitationSupport                                      // zero if the extension popup shows the prompt
	popup              bool                                 // the extension popup shows the prompt, not the client
	results            map[executor.Permission]promptResult // answers that arrived with the call
}

type promptChannelKey struct{}

// begin returns a context for a call that contains its promptChannel, if the extension popup or the
// client can show a prompt. It accepts the answers in params, which is nil for a call over plain HTTP.
func (a *prompter) begin(ctx context.Context, t *tool, support elicitationSupport, params *sdk.CallToolParamsRaw) context.Context {
	if a == nil {
		return ctx
	}
	by := &promptChannel{results: map[executor.Permission]promptResult{}}
	switch {
	case a.popup != nil && a.popup.Connected():
		by.popup = true
	case support.form:
		by.elicitationSupport = support
	default:
		return a.permit.WithCall(ctx) // prevents the call from using the once grants of other calls
	}
	if params != nil {
		for id, response := range params.InputResponses {
			if p, res, ok := a.acceptReply(id, response, t, params.Arguments); ok {
				by.results[p] = res
			}
		}
	}
	return context.WithValue(ctx, promptChannelKey{}, by)
}

// runWithConsent runs a call. If the call is denied and the user can grant the missing permission,
// it prompts the user and then repeats the call. It repeats a call only if the call has not acted.
func (s *toolSession) runWithConsent(ctx context.Context, t *tool, raw []byte, args any) (result, error) {
	by, ok := ctx.Value(promptChannelKey{}).(*promptChannel)
	if !ok {
		return t.run(s, ctx, args)
	}
	ctx = s.prompter.permit.WithCall(ctx)
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
		out, err := t.run(s, executor.WithCallOptions(ctx, executor.CallOptions{OnDecision: func(d executor.Decision) {
			if d.Err == nil && (d.Access.Op == executor.OpAct || d.Access.Op == executor.OpUpload) {
				acted.Store(true)
			}
			d.Report(ctx)
		}}), args)
		denied, ok := errors.AsType[*executor.Error](err)
		if !ok || denied.Missing == nil || acted.Load() || prompts == maxPrompts || !s.audit.writes() {
			return out, err
		}
		q := s.newPrompt(ctx, t, raw, args, *denied.Missing)
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
		what, hint = "the user denied permission", "Continue without it; the user is not prompted again in this session."
	case answerTooMany:
		what, hint = "the user was not prompted: too many prompts were denied or not answered", "Continue without it."
	case answerNone:
		what = "the user dismissed the prompt"
	case answerLate:
		what = fmt.Sprintf("the user did not answer within %.0f seconds", promptTimeout.Seconds())
	default:
		what = "the client's answer to the prompt is not once, session or no"
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

// A prompt is a permission prompt for one call.
type prompt struct {
	id      string
	missing executor.Permission
	site    string // origin that the call concerns
	message string
	tool    *tool
	args    any
	tab     executor.TabID
	entry   audit.Entry // base of its audit entries

	since   time.Time
	waiting int // number of waiting calls; guarded by prompter.mu
	cancel  context.CancelFunc
	done    chan struct{} // closed when result is set
	result  promptResult
}

// ask prompts the user, or waits for the result of an open prompt for the same permission. A once
// answer to another call's prompt applies only if that call has the same tool, site and arguments;
// otherwise ask prompts again. A session grant is in effect when ask returns.
func (a *prompter) ask(ctx context.Context, by *promptChannel, q *prompt) (promptResult, error) {
	for {
		res, answered, err := a.askOnce(ctx, by, q)
		if err != nil || res != answerOnce || answered == q || answered.tool == q.tool && answered.site == q.site && reflect.DeepEqual(answered.args, q.args) {
			return res, err
		}
	}
}

// askOnce returns a result and the prompt that it belongs to, which may be another call's.
func (a *prompter) askOnce(ctx context.Context, by *promptChannel, q *prompt) (promptResult, *prompt, error) {
	a.mu.Lock()
	if res, ok := a.suppressed(q.missing); ok {
		a.mu.Unlock()
		return res, q, nil
	}
	if other := a.open[q.missing]; other != nil && (!by.inputRequests || time.Since(other.since) < promptTimeout) {
		q = other
	} else {
		a.record(q, "", "asked")
		q.since, q.done = time.Now(), make(chan struct{})
		a.open[q.missing] = q
		if by.inputRequests {
			a.storePending(q)
			a.mu.Unlock()
			return "", q, &inputRequired{q.id, q.form()}
		}
		promptCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), promptTimeout)
		q.cancel = cancel
		stop := context.AfterFunc(a.life, cancel)
		a.shown.Go(func() {
			defer stop()
			defer cancel()
			a.complete(q, a.show(promptCtx, by, q))
		})
	}
	q.waiting++
	a.mu.Unlock()
	late := time.NewTimer(promptTimeout) // for a prompt that a repeated call answers
	defer late.Stop()
	select {
	case <-q.done:
		return q.result, q, nil
	case <-ctx.Done():
	case <-late.C:
		if by.inputRequests {
			return answerLate, q, nil
		}
		<-q.done
		return q.result, q, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.waiting--; q.waiting == 0 && q.cancel != nil {
		q.cancel() // no call waits for the answer
	}
	return "", q, context.Cause(ctx)
}

// suppressed returns the result of a prompt for p without prompting, if the user denied p, did not
// answer recently, or if there were too many prompts. a.mu must be held.
func (a *prompter) suppressed(p executor.Permission) (res promptResult, ok bool) {
	if a.denied[p] {
		return answerNo, true
	}
	maps.DeleteFunc(a.unanswered, func(_ executor.Permission, s unansweredPrompt) bool { return time.Since(s.since) >= repromptDelay })
	if s, ok := a.unanswered[p]; ok {
		return s.result, true
	}
	return answerTooMany, len(a.denied) >= maxDenied || len(a.unanswered) >= maxUnanswered
}

// storePending stores q until a repeated call answers it. It removes expired prompts and, at the
// limit, arbitrary ones. a.mu must be held.
func (a *prompter) storePending(q *prompt) {
	for id, old := range a.pending {
		if time.Since(old.since) > answerTTL || len(a.pending) >= maxPending {
			delete(a.pending, id)
			a.removeOpen(old)
		}
	}
	a.pending[q.id] = q
}

// removeOpen removes q from the open prompts. The next call that lacks the permission prompts
// again. a.mu must be held.
func (a *prompter) removeOpen(q *prompt) {
	if a.open[q.missing] == q {
		delete(a.open, q.missing)
	}
}

// show shows the prompt in the extension popup or through the client, and returns the result.
func (a *prompter) show(ctx context.Context, by *promptChannel, q *prompt) promptResult {
	if by.popup {
		answer, err := a.popup.Prompt(ctx, executor.PermissionPrompt{Permission: q.missing, Site: q.site, Tool: q.tool.name, Tab: q.tab})
		switch {
		case errors.Is(err, executor.ErrConsentRequired):
			return answerPending
		case err != nil:
			return answerNone
		}
		return promptResult(answer)
	}
	select {
	case a.slot <- struct{}{}:
		defer func() { <-a.slot }()
	case <-ctx.Done():
		return answerLate
	}
	res, err := by.conn.Elicit(ctx, q.form())
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return answerLate
	case ctx.Err() != nil:
		return answerNone
	case err != nil:
		return answerInvalid
	}
	return parseElicitResult(res)
}

// complete records the result of a prompt, applies it and wakes the waiting calls.
func (a *prompter) complete(q *prompt, res promptResult) {
	var revoke func()
	if res == answerSession {
		var err error
		if revoke, err = a.permit.Grant(context.Background(), q.missing, false); err != nil {
			res = answerInvalid
		}
	}
	decision := audit.Denied
	if res == answerOnce || res == answerSession {
		decision = audit.Allowed
	}
	a.record(q, decision, string(res))
	a.mu.Lock()
	defer a.mu.Unlock()
	switch res {
	case answerSession:
		a.revokes = append(a.revokes, revoke)
	case answerNo:
		a.denied[q.missing] = true
	case answerLate, answerInvalid:
		a.unanswered[q.missing] = unansweredPrompt{res, time.Now()}
	}
	a.removeOpen(q)
	q.result = res
	close(q.done)
}

// record writes an audit entry about a prompt.
func (a *prompter) record(q *prompt, decision, what string) {
	a.audit.consent(q.entry, decision, fmt.Sprintf("%s: %s", q.missing.Kind, what))
}

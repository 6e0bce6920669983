package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

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
	answerFailed  promptResult = "popup failed"
	answerPending promptResult = "no answer yet"    // the prompt stays open
	answerTooMany promptResult = "too many prompts" // the user is not prompted
)

// A prompter prompts the users of one session for permissions that calls lack. Each client of the
// session has its own prompts, grants and denials. A nil prompter never prompts. It is safe for
// concurrent use.
type prompter struct {
	session string // a random name; the first part of the names of the clients
	permit  executor.PermissionGranter
	popup   executor.PermissionPrompter // nil means elicitation only
	audit   *auditor
	life    context.Context
	cancel  context.CancelFunc
	shown   sync.WaitGroup

	mu         sync.Mutex                            // guards the fields below
	slots      map[string]chan struct{}              // by client; occupied while an elicitation is shown: one at a time
	open       map[clientPermission]*prompt          // prompts that wait for an answer
	pending    map[string]*prompt                    // prompts that a repeated call answers, by id
	denied     map[clientPermission]bool             // permissions that the user denied
	unanswered map[clientPermission]unansweredPrompt // prompts without a valid answer
	// forgotten has what the user denied to clients whose MCP session has ended, and when it ended: a
	// client that initializes MCP again does not prompt for the same immediately.
	forgotten map[executor.Permission]time.Time
	grants    map[clientPermission][]func() // session grants; the functions revoke them
}

// A clientPermission is a permission that a client lacks, lacked or has.
type clientPermission struct {
	client string
	executor.Permission
}

// An unansweredPrompt records a prompt that timed out or had an invalid reply.
type unansweredPrompt struct {
	result promptResult
	since  time.Time
}

func newPrompter(session string, permit executor.PermissionGranter, popup executor.PermissionPrompter, record *auditor) *prompter {
	a := &prompter{
		session: session, permit: permit, popup: popup, audit: record, slots: map[string]chan struct{}{},
		open: map[clientPermission]*prompt{}, pending: map[string]*prompt{},
		denied: map[clientPermission]bool{}, unanswered: map[clientPermission]unansweredPrompt{}, grants: map[clientPermission][]func(){},
		forgotten: map[executor.Permission]time.Time{},
	}
	a.life, a.cancel = context.WithCancel(context.Background())
	return a
}

// close cancels open prompts, waits for them, and revokes the session grants.
func (pr *prompter) close() {
	if pr == nil {
		return
	}
	pr.cancel()
	pr.shown.Wait()
	pr.revoke(func(clientPermission) bool { return true })
}

// revoke revokes the session grants that which selects.
func (pr *prompter) revoke(which func(clientPermission) bool) {
	var revokes []func()
	pr.mu.Lock()
	for key, grants := range pr.grants {
		if which(key) {
			delete(pr.grants, key)
			revokes = append(revokes, grants...)
		}
	}
	pr.mu.Unlock()
	for _, revoke := range revokes {
		revoke()
	}
}

// clientOf returns the name of the client that made a call. Clients without an MCP session cannot be
// distinguished: those of plain HTTP requests are one client, and the others of the session are one.
func (pr *prompter) clientOf(support elicitationSupport) string {
	if support.conn == nil {
		return pr.session + " http"
	}
	return pr.mcpClient(support.conn.ID())
}

// mcpClient returns the name of the client with an MCP session. The id may be empty.
func (pr *prompter) mcpClient(id string) string { return pr.session + " mcp " + id }

// forget revokes the grants of an MCP session that has ended, and forgets what its user denied.
func (pr *prompter) forget(mcpSession string) {
	if pr == nil {
		return
	}
	client := pr.mcpClient(mcpSession)
	pr.revoke(func(key clientPermission) bool { return key.client == client })
	pr.mu.Lock()
	defer pr.mu.Unlock()
	maps.DeleteFunc(pr.denied, func(key clientPermission, _ bool) bool {
		if key.client != client {
			return false
		}
		pr.forgotten[key.Permission] = time.Now()
		return true
	})
	delete(pr.slots, client)
}

// A prompt is a permission prompt for one call.
type prompt struct {
	id      string
	client  string // from prompter.clientOf
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

// key identifies the permission and the client that lacks it.
func (p *prompt) key() clientPermission { return clientPermission{p.client, p.missing} }

// ask prompts the user, or waits for the result of an open prompt of the client for the same
// permission. A once answer to another call's prompt applies only if that call has the same tool, site
// and arguments; otherwise ask prompts again. A session grant is in effect when ask returns.
func (pr *prompter) ask(ctx context.Context, by *promptChannel, q *prompt) (promptResult, error) {
	for {
		res, answered, err := pr.askOnce(ctx, by, q)
		if err != nil || res != answerOnce || answered == q || answered.tool == q.tool && answered.site == q.site && reflect.DeepEqual(answered.args, q.args) {
			return res, err
		}
	}
}

// askOnce returns a result and the prompt that it belongs to, which may be another call's.
func (pr *prompter) askOnce(ctx context.Context, by *promptChannel, q *prompt) (promptResult, *prompt, error) {
	pr.mu.Lock()
	if res, ok := pr.suppressed(q.key()); ok {
		pr.mu.Unlock()
		return res, q, nil
	}
	if other := pr.open[q.key()]; other != nil && (!by.inputRequests || time.Since(other.since) < promptTimeout) {
		q = other
	} else {
		pr.record(q, "", "asked")
		q.since, q.done = time.Now(), make(chan struct{})
		pr.open[q.key()] = q
		if by.inputRequests {
			pr.storePending(q)
			pr.mu.Unlock()
			return "", q, &inputRequired{q.id, q.form()}
		}
		promptCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), promptTimeout)
		q.cancel = cancel
		stop := context.AfterFunc(pr.life, cancel)
		pr.shown.Go(func() {
			defer stop()
			defer cancel()
			pr.complete(q, pr.show(promptCtx, by, q))
		})
	}
	q.waiting++
	pr.mu.Unlock()
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
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if q.waiting--; q.waiting == 0 && q.cancel != nil {
		q.cancel() // no call waits for the answer
	}
	return "", q, context.Cause(ctx)
}

// suppressed returns the result of a prompt for p without prompting, if the user denied p to the client
// or recently to one that has left, did not answer recently, or if there were too many prompts. a.mu must be held.
func (pr *prompter) suppressed(p clientPermission) (res promptResult, ok bool) {
	maps.DeleteFunc(pr.forgotten, func(_ executor.Permission, since time.Time) bool { return time.Since(since) >= repromptDelay })
	if _, ok := pr.forgotten[p.Permission]; ok || pr.denied[p] {
		return answerNo, true
	}
	maps.DeleteFunc(pr.unanswered, func(_ clientPermission, s unansweredPrompt) bool { return time.Since(s.since) >= repromptDelay })
	if s, ok := pr.unanswered[p]; ok {
		return s.result, true
	}
	return answerTooMany, countOf(pr.denied, p.client)+len(pr.forgotten) >= maxDenied || countOf(pr.unanswered, p.client) >= maxUnanswered
}

// countOf returns the number of permissions of a client.
func countOf[V any](all map[clientPermission]V, client string) (n int) {
	for key := range all {
		if key.client == client {
			n++
		}
	}
	return n
}

// storePending stores q until a repeated call answers it. It removes expired prompts and, at the
// limit, arbitrary ones. a.mu must be held.
func (pr *prompter) storePending(q *prompt) {
	for id, old := range pr.pending {
		if time.Since(old.since) > answerTTL || len(pr.pending) >= maxPending {
			delete(pr.pending, id)
			pr.removeOpen(old)
		}
	}
	pr.pending[q.id] = q
}

// removeOpen removes q from the open prompts. The next call that lacks the permission prompts
// again. a.mu must be held.
func (pr *prompter) removeOpen(q *prompt) {
	if pr.open[q.key()] == q {
		delete(pr.open, q.key())
	}
}

// show shows the prompt in the extension popup or through the client, and returns the result.
func (pr *prompter) show(ctx context.Context, by *promptChannel, q *prompt) promptResult {
	if by.popup {
		answer, err := pr.popup.Prompt(ctx, executor.PermissionPrompt{Permission: q.missing, Site: q.site, Tool: q.tool.name, Tab: q.tab})
		switch {
		case errors.Is(err, executor.ErrConsentRequired):
			return answerPending
		case ctx.Err() != nil:
			return answerNone
		case err != nil:
			return answerFailed
		}
		return promptResult(answer)
	}
	slot := pr.slotOf(q.client)
	select {
	case slot <- struct{}{}:
		defer func() { <-slot }()
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

// slotOf returns the slot of a client.
func (pr *prompter) slotOf(client string) chan struct{} {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.slots[client] == nil {
		pr.slots[client] = make(chan struct{}, 1)
	}
	return pr.slots[client]
}

// complete records the result of a prompt, applies it and wakes the waiting calls.
func (pr *prompter) complete(q *prompt, res promptResult) {
	var revoke func()
	if res == answerSession {
		var err error
		if revoke, err = pr.permit.Grant(pr.permit.WithCall(context.Background(), q.client), q.missing, false); err != nil {
			res = answerInvalid
		}
	}
	decision := audit.Denied
	if res == answerOnce || res == answerSession {
		decision = audit.Allowed
	}
	pr.record(q, decision, string(res))
	pr.mu.Lock()
	defer pr.mu.Unlock()
	switch res {
	case answerSession:
		pr.grants[q.key()] = append(pr.grants[q.key()], revoke)
	case answerNo:
		pr.denied[q.key()] = true
	case answerLate, answerInvalid:
		pr.unanswered[q.key()] = unansweredPrompt{res, time.Now()}
	}
	pr.removeOpen(q)
	q.result = res
	close(q.done)
}

// record writes an audit entry about a prompt.
func (pr *prompter) record(q *prompt, decision, what string) {
	pr.audit.consent(q.entry, decision, fmt.Sprintf("%s: %s", q.missing.Kind, what))
}

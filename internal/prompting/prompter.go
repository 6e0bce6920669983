package prompting

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
	// Timeout is how long a call waits for the user's answer. Hosts allow at least one minute
	// per call, and more if they receive progress notifications.
	Timeout = 55 * time.Second
	// RepromptDelay is how long a prompt is not repeated after it timed out or its reply was
	// invalid. The client may have no user to prompt.
	RepromptDelay = time.Minute
	// answerTTL is how long a client that repeats a call with the user's answer can do so.
	answerTTL = 10 * time.Minute
	// maxPending is the maximum number of prompts that wait for a repeated call.
	maxPending = 64
	// MaxUnanswered limits the unanswered prompts within RepromptDelay, and MaxDenied the prompts
	// that the user denied. When a limit is reached, the user is not prompted again.
	MaxUnanswered = 64
	MaxDenied     = 256
)

// An Answer is the answer to a permission prompt, or why there is none.
type Answer string

// The results of a prompt. The first three are answers of the user. Of the others, a client may have
// decided without its user: clients without a window decline forms, and cancel them.
const (
	AnswerOnce      Answer = "once"
	AnswerSession   Answer = "session"
	answerNo        Answer = "no"
	answerDeclined  Answer = "declined"
	answerDismissed Answer = "dismissed"
	answerLate      Answer = "no answer in time"
	answerInvalid   Answer = "invalid answer"
	answerError     Answer = "error of the client"
	answerFailed    Answer = "popup failed"
	answerNotYet    Answer = "no answer yet"    // the prompt stays open
	answerTooMany   Answer = "too many prompts" // the user is not prompted
)

// A Prompter prompts the users of one session for permissions that calls lack. Each client of the
// session has its own prompts, grants and denials. A nil Prompter never prompts. It is safe for
// concurrent use.
type Prompter struct {
	session string // a random name; the first part of the names of the clients
	Granter executor.PermissionGranter
	popup   executor.PermissionPrompter // nil means elicitation only
	record  func(e audit.Entry, decision, detail string)
	life    context.Context // done after Close
	cancel  context.CancelFunc
	shown   sync.WaitGroup // goroutines that show prompts

	mu         sync.Mutex                      // guards the fields below
	slots      map[string]chan struct{}        // by client; occupied while an elicitation is shown: one at a time
	open       map[clientPermission]*Prompt    // prompts that wait for an answer
	pending    map[string]*Prompt              // prompts that a repeated call answers, by id
	denied     map[clientPermission]Answer     // answers of prompts that were denied: answerNo or answerDeclined
	unanswered map[clientPermission]pastPrompt // prompts without a valid answer
	// forgotten has what was denied to clients whose MCP session has ended, and when it ended: a
	// client that initializes MCP again does not prompt for the same immediately.
	forgotten map[executor.Permission]pastPrompt
	grants    map[clientPermission][]func() // session grants; the functions revoke them
}

// A clientPermission is a permission that a client lacks, lacked or has.
type clientPermission struct {
	client string
	executor.Permission
}

// A pastPrompt is why a prompt is not repeated, and since when.
type pastPrompt struct {
	answer Answer
	since  time.Time
}

// New returns the Prompter of a session. It calls record for each prompt, with an empty decision,
// and for its result.
func New(session string, granter executor.PermissionGranter, popup executor.PermissionPrompter, record func(e audit.Entry, decision, detail string)) *Prompter {
	pr := &Prompter{
		session: session, Granter: granter, popup: popup, record: record, slots: map[string]chan struct{}{},
		open: map[clientPermission]*Prompt{}, pending: map[string]*Prompt{},
		denied: map[clientPermission]Answer{}, unanswered: map[clientPermission]pastPrompt{}, grants: map[clientPermission][]func(){},
		forgotten: map[executor.Permission]pastPrompt{},
	}
	pr.life, pr.cancel = context.WithCancel(context.Background())
	return pr
}

// Close cancels open prompts, waits for them, and revokes the session grants.
func (pr *Prompter) Close() {
	if pr == nil {
		return
	}
	pr.cancel()
	pr.shown.Wait()
	pr.revoke(func(clientPermission) bool { return true })
}

// revoke revokes the session grants that which selects.
func (pr *Prompter) revoke(which func(clientPermission) bool) {
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
// distinguished: those without MCP are one client, and the others of the workspace are one.
func (pr *Prompter) clientOf(support Elicitation) string {
	if support.Conn == nil {
		return pr.session + " http"
	}
	return pr.mcpClient(support.Conn.ID())
}

// mcpClient returns the name of the client with an MCP session. The id may be empty.
func (pr *Prompter) mcpClient(id string) string { return pr.session + " mcp " + id }

// Forget revokes the grants of an MCP session that has ended, and forgets what its user denied.
func (pr *Prompter) Forget(mcpSession string) {
	if pr == nil {
		return
	}
	client := pr.mcpClient(mcpSession)
	pr.revoke(func(key clientPermission) bool { return key.client == client })
	pr.mu.Lock()
	defer pr.mu.Unlock()
	maps.DeleteFunc(pr.denied, func(key clientPermission, answer Answer) bool {
		if key.client != client {
			return false
		}
		pr.forgotten[key.Permission] = pastPrompt{answer, time.Now()}
		return true
	})
	delete(pr.slots, client)
}

// A Prompt is a permission prompt for one call.
type Prompt struct {
	ID      string
	Client  string // from Prompter.clientOf
	Missing executor.Permission
	Site    string // origin that the call concerns
	Message string
	Tool    string
	Args    any
	Tab     executor.TabID
	Entry   audit.Entry // base of its audit entries

	since   time.Time
	waiting int                // number of waiting calls; guarded by Prompter.mu
	cancel  context.CancelFunc // nil if a repeated call answers the prompt
	done    chan struct{}      // closed when answer is set
	answer  Answer
}

// key identifies the permission and the client that lacks it.
func (p *Prompt) key() clientPermission { return clientPermission{p.Client, p.Missing} }

// Ask prompts the user, or waits for the result of an open prompt of the client for the same
// permission. A once answer to another call's prompt applies only if that call has the same tool, site
// and arguments; otherwise Ask prompts again. A session grant is in effect when Ask returns.
func (pr *Prompter) Ask(ctx context.Context, ch *Channel, p *Prompt) (Answer, error) {
	for {
		answer, other, err := pr.askOnce(ctx, ch, p)
		if err != nil || answer != AnswerOnce || other == p || other.Tool == p.Tool && other.Site == p.Site && reflect.DeepEqual(other.Args, p.Args) {
			return answer, err
		}
	}
}

// askOnce returns a result and the prompt that it belongs to, which may be another call's.
func (pr *Prompter) askOnce(ctx context.Context, ch *Channel, p *Prompt) (Answer, *Prompt, error) {
	pr.mu.Lock()
	if answer, ok := pr.suppressed(p.key()); ok {
		pr.mu.Unlock()
		return answer, p, nil
	}
	// A prompt that waits for a repeated call may never be answered. Only calls of clients that repeat
	// calls wait for it.
	if other := pr.open[p.key()]; other != nil && (other.cancel != nil || ch.InputRequests && time.Since(other.since) < Timeout) {
		p = other
	} else {
		pr.recordPrompt(p, "", "asked")
		p.since, p.done = time.Now(), make(chan struct{})
		pr.open[p.key()] = p
		if ch.InputRequests {
			pr.storePending(p)
			pr.mu.Unlock()
			return "", p, &InputRequired{p.ID, p.form()}
		}
		promptCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Timeout)
		p.cancel = cancel
		stop := context.AfterFunc(pr.life, cancel)
		pr.shown.Go(func() {
			defer stop()
			defer cancel()
			pr.complete(p, pr.show(promptCtx, ch, p))
		})
	}
	p.waiting++
	var late <-chan time.Time
	if p.cancel == nil {
		late = time.After(Timeout)
	}
	pr.mu.Unlock()
	select {
	case <-p.done:
		return p.answer, p, nil
	case <-late:
		return answerLate, p, nil
	case <-pr.life.Done():
		return answerDismissed, p, nil
	case <-ctx.Done():
	}
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if p.waiting--; p.waiting == 0 && p.cancel != nil {
		p.cancel() // no call waits for the answer
	}
	return "", p, context.Cause(ctx)
}

// suppressed returns the result of a prompt without prompting, if the user denied the permission to
// the client, or recently to one that has left, did not answer recently, or if there were too many
// prompts. pr.mu must be held.
func (pr *Prompter) suppressed(key clientPermission) (answer Answer, ok bool) {
	maps.DeleteFunc(pr.forgotten, func(_ executor.Permission, s pastPrompt) bool { return time.Since(s.since) >= RepromptDelay })
	if answer, ok := pr.denied[key]; ok {
		return answer, true
	}
	if s, ok := pr.forgotten[key.Permission]; ok {
		return s.answer, true
	}
	maps.DeleteFunc(pr.unanswered, func(_ clientPermission, s pastPrompt) bool { return time.Since(s.since) >= RepromptDelay })
	if s, ok := pr.unanswered[key]; ok {
		return s.answer, true
	}
	return answerTooMany, countOf(pr.denied, key.client)+len(pr.forgotten) >= MaxDenied || countOf(pr.unanswered, key.client) >= MaxUnanswered
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

// storePending stores p until a repeated call answers it. It removes expired prompts and, at the
// limit, arbitrary ones. pr.mu must be held.
func (pr *Prompter) storePending(p *Prompt) {
	for id, old := range pr.pending {
		if time.Since(old.since) > answerTTL || len(pr.pending) >= maxPending {
			delete(pr.pending, id)
			pr.removeOpen(old)
		}
	}
	pr.pending[p.ID] = p
}

// removeOpen removes p from the open prompts. The next call that lacks the permission prompts
// again. pr.mu must be held.
func (pr *Prompter) removeOpen(p *Prompt) {
	if pr.open[p.key()] == p {
		delete(pr.open, p.key())
	}
}

// show shows the prompt in the extension popup or through the client, and returns the result.
func (pr *Prompter) show(ctx context.Context, ch *Channel, p *Prompt) Answer {
	if ch.Popup {
		answer, err := pr.popup.Prompt(ctx, executor.PermissionPrompt{Permission: p.Missing, Site: p.Site, Tool: p.Tool, Tab: p.Tab})
		switch {
		case errors.Is(err, executor.ErrConsentRequired):
			return answerNotYet
		case ctx.Err() != nil:
			return answerDismissed
		case err != nil:
			return answerFailed
		}
		return Answer(answer)
	}
	slot := pr.slotOf(p.Client)
	select {
	case slot <- struct{}{}:
		defer func() { <-slot }()
	case <-ctx.Done():
		return answerLate
	}
	res, err := ch.Conn.Elicit(ctx, p.form())
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return answerLate
	case ctx.Err() != nil:
		return answerDismissed
	case err != nil:
		return answerError
	}
	return parseElicitResult(res)
}

// slotOf returns the slot of a client.
func (pr *Prompter) slotOf(client string) chan struct{} {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.slots[client] == nil {
		pr.slots[client] = make(chan struct{}, 1)
	}
	return pr.slots[client]
}

// complete records the result of a prompt, applies it and wakes the waiting calls.
func (pr *Prompter) complete(p *Prompt, answer Answer) {
	var revoke func()
	if answer == AnswerSession {
		var err error
		if revoke, err = pr.Granter.Grant(pr.Granter.WithCall(context.Background(), p.Client), p.Missing, false); err != nil {
			answer = answerInvalid
		}
	}
	decision := audit.Denied
	if answer == AnswerOnce || answer == AnswerSession {
		decision = audit.Allowed
	}
	pr.recordPrompt(p, decision, string(answer))
	pr.mu.Lock()
	defer pr.mu.Unlock()
	switch answer {
	case AnswerSession:
		pr.grants[p.key()] = append(pr.grants[p.key()], revoke)
	case answerNo, answerDeclined:
		pr.denied[p.key()] = answer
	case answerLate, answerInvalid, answerError:
		pr.unanswered[p.key()] = pastPrompt{answer, time.Now()}
	}
	pr.removeOpen(p)
	p.answer = answer
	close(p.done)
}

// recordPrompt records a prompt or its result.
func (pr *Prompter) recordPrompt(p *Prompt, decision, what string) {
	pr.record(p.Entry, decision, fmt.Sprintf("%s: %s", p.Missing.Kind, what))
}

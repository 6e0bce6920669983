package mcp

import (
	"context"
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
	// askTimeout is how long a call waits for its user. Hosts give a call a
	// minute or more, and more still while progress is told.
	askTimeout = 55 * time.Second
	// quietFor is how long nothing is asked again that a client did not answer
	// sensibly: it may have nobody to ask.
	quietFor = time.Minute
	// answerFor is how long the answer to a question is taken of a client that
	// makes its call again with it.
	answerFor = 10 * time.Minute
	// maxQuestions is how many things one call is asked about: a redirect or two,
	// and a grant.
	maxQuestions = 5
	// maxOpen bounds the questions that are kept for their answers.
	maxOpen = 64
	// maxQuiet limits the questions without an answer in quietFor, and maxRefused
	// those that the user said no to. Then nothing else is asked.
	maxQuiet   = 64
	maxRefused = 256
)

// An answer is what came of a question.
type answer string

// The answers. The first three are the user's own words.
const (
	answerOnce    answer = "once"
	answerSession answer = "session"
	answerNo      answer = "no"
	answerNone    answer = "closed without an answer"
	answerLate    answer = "no answer in time"
	answerUnclear answer = "an answer that is none"
	answerPending answer = "no answer yet"      // the question stays where it is
	answerTooMany answer = "too many questions" // it is not asked
)

// asking asks one session's user for what calls are denied. A nil one never
// asks. It is safe for concurrent use.
type asking struct {
	permit executor.Permitter
	popup  executor.UserAsker // nil is none
	audit  *auditor
	slot   chan struct{} // of the one question that the user is shown at a time
	life   context.Context
	end    context.CancelFunc
	shown  sync.WaitGroup

	mu      sync.Mutex                        // guards what follows
	open    map[executor.Permission]*question // that wait for an answer
	asked   map[string]*question              // those that clients answer by calling again, by id
	refused map[executor.Permission]bool      // what the user said no to
	quiet   map[executor.Permission]silence   // what was not answered
	revokes []func()                          // of what holds for the session
}

// A silence is a question that was not answered.
type silence struct {
	why   answer
	since time.Time
}

func newAsking(permit executor.Permitter, popup executor.UserAsker, record *auditor) *asking {
	a := &asking{
		permit: permit, popup: popup, audit: record, slot: make(chan struct{}, 1),
		open: map[executor.Permission]*question{}, asked: map[string]*question{},
		refused: map[executor.Permission]bool{}, quiet: map[executor.Permission]silence{},
	}
	a.life, a.end = context.WithCancel(context.Background())
	return a
}

// close ends what was permitted for the session, and open questions.
func (a *asking) close() {
	if a == nil {
		return
	}
	a.end()
	a.shown.Wait()
	a.mu.Lock()
	revokes := a.revokes
	a.revokes = nil
	a.mu.Unlock()
	for _, revoke := range revokes {
		revoke()
	}
}

// An asker is how the user is asked about one call of a client.
type asker struct {
	conn  *sdk.ServerSession
	popup bool // the browser asks, and not the client
	// returns has questions returned to the client, which makes the call again
	// with the answers: so it is from protocol version 2026-07-28 on.
	returns bool
	said    map[executor.Permission]answer // what came with the call
}

type askerKey struct{}

// begin returns the context of a call, in which its user can be asked if their
// browser or the client can do that, and takes the answers that came with it.
func (a *asking) begin(ctx context.Context, t *tool, req *sdk.CallToolRequest) context.Context {
	if a == nil {
		return ctx
	}
	by := &asker{conn: req.Session, popup: a.popup != nil && a.popup.Connected(), said: map[executor.Permission]answer{}}
	if !by.popup && !elicits(req.Session) {
		return ctx
	}
	by.returns = !by.popup && returnsQuestions(req.Session)
	if by.returns && t.kind == batches {
		// To make it again would do again what was done. What is permitted to
		// another call alone is not to this one.
		return a.permit.Call(ctx)
	}
	for id, response := range req.Params.InputResponses {
		if p, said, ok := a.returned(id, response, t, req); ok {
			by.said[p] = said
		}
	}
	return context.WithValue(ctx, askerKey{}, by)
}

// carryOut runs a call, and asks the user where it is denied what they can
// permit. It runs again then, which it may: nothing was done yet.
func (s *session) carryOut(ctx context.Context, t *tool, raw []byte, args any) (result, error) {
	by, ok := ctx.Value(askerKey{}).(*asker)
	if !ok {
		return t.run(s, ctx, args)
	}
	ctx = s.asking.permit.Call(ctx)
	var revokes []func()
	defer func() {
		for _, revoke := range revokes {
			revoke()
		}
	}()
	permit := func(p executor.Permission) error {
		revoke, err := s.asking.permit.Permit(ctx, p, true)
		if err == nil {
			revokes = append(revokes, revoke)
		}
		return err
	}
	for p, said := range by.said {
		if said == answerOnce {
			if err := permit(p); err != nil {
				return nil, err
			}
		}
	}
	for asked := 0; ; asked++ {
		var acted atomic.Bool
		out, err := t.run(s, executor.WithDecisions(ctx, func(d executor.Decision) {
			if d.Err == nil && (d.Access.Op == executor.OpAct || d.Access.Op == executor.OpUpload) {
				acted.Store(true)
			}
			d.Tell(ctx)
		}), args)
		denied, ok := errors.AsType[*executor.Error](err)
		if !ok || denied.Missing == nil || acted.Load() || asked == maxQuestions || !s.audit.writes() {
			return out, err
		}
		q := s.question(ctx, t, raw, args, *denied.Missing)
		if q == nil {
			return out, err
		}
		said, ok := by.said[q.missing]
		if !ok {
			if said, err = s.asking.ask(ctx, by, q); err != nil {
				return nil, err
			}
		}
		switch said {
		case answerOnce:
			if err := permit(q.missing); err != nil {
				return nil, err
			}
		case answerSession: // it is permitted already
		default:
			return nil, unpermitted(denied, said)
		}
	}
}

// unpermitted is a denial after its user was asked.
func unpermitted(denied *executor.Error, said answer) error {
	e := *denied
	e.Missing = nil
	what, hint := "", ""
	switch said {
	case answerPending:
		e.Code, e.Rule, e.Retryable = executor.ErrConsentRequired, "", true
		what = "the user is asked, and has not answered yet"
		hint = "Ask the user to open the chrome-mcp popup in Chrome's toolbar, then make this call again: the user can allow it once while it waits."
	case answerNo:
		what, hint = "the user was asked and said no", "Go on without it: it is not asked again in this session."
	case answerTooMany:
		what, hint = "the user is not asked: too many questions were refused or not answered", "Go on without it."
	case answerNone:
		what = "the user was asked and closed the question without an answer"
	case answerLate:
		what = fmt.Sprintf("the user was asked and has not answered within %.0f seconds", askTimeout.Seconds())
	default:
		what = "the user was asked, and what the client answered is none of once, session and no"
	}
	e.Err = fmt.Errorf("%w; %s", denied.Err, what)
	if hint != "" {
		e.Hint = hint
	}
	return &e
}

// callKey returns the key of a call of t with args by this session's client.
func (s *session) callKey(t *tool, args any) executor.CallKey {
	text, err := json.Marshal(args)
	if err != nil {
		return executor.CallKey{Client: s.client} // equals no other
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s ", s.client, t.name)
	hash.Write(text)
	return executor.CallKey{Client: s.client, Hash: hex.EncodeToString(hash.Sum(nil))}
}

// A question is one to the user.
type question struct {
	id      string
	missing executor.Permission
	site    string // that the call is about
	words   string
	tool    *tool
	args    any
	tab     executor.TabID
	entry   audit.Entry // what its record begins with

	since   time.Time
	waiting int // calls, under asking.mu
	cancel  context.CancelFunc
	done    chan struct{} // closed when said is set
	said    answer
}

// ask asks, or waits for the answer to the same question of another call; what
// is permitted once is so to calls of which the user was shown the like. What
// is permitted for the session is in force when it returns.
func (a *asking) ask(ctx context.Context, by *asker, q *question) (answer, error) {
	for {
		said, of, err := a.askOnce(ctx, by, q)
		if err != nil || said != answerOnce || of == q || of.tool == q.tool && of.site == q.site && reflect.DeepEqual(of.args, q.args) {
			return said, err
		}
	}
}

// askOnce returns an answer and the question that it is one to.
func (a *asking) askOnce(ctx context.Context, by *asker, q *question) (answer, *question, error) {
	a.mu.Lock()
	if said, ok := a.unasked(q.missing); ok {
		a.mu.Unlock()
		return said, q, nil
	}
	if other := a.open[q.missing]; other != nil && (!by.returns || time.Since(other.since) < askTimeout) {
		q = other
	} else {
		a.record(q, "", "asked")
		q.since, q.done = time.Now(), make(chan struct{})
		a.open[q.missing] = q
		if by.returns {
			a.keep(q)
			a.mu.Unlock()
			return "", q, &needsInput{q}
		}
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		q.cancel = cancel
		stop := context.AfterFunc(a.life, cancel)
		a.shown.Go(func() {
			defer stop()
			defer cancel()
			a.answered(q, a.show(asking, by, q))
		})
	}
	q.waiting++
	a.mu.Unlock()
	late := time.NewTimer(askTimeout) // for one that the client was to answer by a call
	defer late.Stop()
	select {
	case <-q.done:
		return q.said, q, nil
	case <-ctx.Done():
	case <-late.C:
		if by.returns {
			return answerLate, q, nil
		}
		<-q.done
		return q.said, q, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.waiting--; q.waiting == 0 && q.cancel != nil {
		q.cancel() // nobody wants to know any more
	}
	return "", q, context.Cause(ctx)
}

// unasked returns the answer to a question for p that the user is not asked. a.mu
// is held.
func (a *asking) unasked(p executor.Permission) (said answer, ok bool) {
	if a.refused[p] {
		return answerNo, true
	}
	maps.DeleteFunc(a.quiet, func(_ executor.Permission, s silence) bool { return time.Since(s.since) >= quietFor })
	if s, ok := a.quiet[p]; ok {
		return s.why, true
	}
	return answerTooMany, len(a.refused) >= maxRefused || len(a.quiet) >= maxQuiet
}

// keep keeps q for the answer that comes with another call. a.mu is held.
func (a *asking) keep(q *question) {
	for id, old := range a.asked {
		if time.Since(old.since) > answerFor || len(a.asked) >= maxOpen {
			delete(a.asked, id)
			a.closeQuestion(old)
		}
	}
	a.asked[q.id] = q
}

// closeQuestion has the next call that needs what q asked for ask again. a.mu is
// held.
func (a *asking) closeQuestion(q *question) {
	if a.open[q.missing] == q {
		delete(a.open, q.missing)
	}
}

// show asks the user through their browser, or else the client, and waits.
func (a *asking) show(ctx context.Context, by *asker, q *question) answer {
	if by.popup {
		said, err := a.popup.AskUser(ctx, executor.Question{Permission: q.missing, Site: q.site, Tool: q.tool.name, Tab: q.tab})
		switch {
		case errors.Is(err, executor.ErrConsentRequired):
			return answerPending
		case err != nil:
			return answerNone
		}
		return answer(said)
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
		return answerUnclear
	}
	return understood(res)
}

// answered records an answer and puts it in force, then tells those who wait.
func (a *asking) answered(q *question, said answer) {
	var revoke func()
	if said == answerSession {
		var err error
		if revoke, err = a.permit.Permit(context.Background(), q.missing, false); err != nil {
			said = answerUnclear
		}
	}
	decision := audit.Denied
	if said == answerOnce || said == answerSession {
		decision = audit.Allowed
	}
	a.record(q, decision, string(said))
	a.mu.Lock()
	defer a.mu.Unlock()
	switch said {
	case answerSession:
		a.revokes = append(a.revokes, revoke)
	case answerNo:
		a.refused[q.missing] = true
	case answerLate, answerUnclear:
		a.quiet[q.missing] = silence{said, time.Now()}
	}
	a.closeQuestion(q)
	q.said = said
	close(q.done)
}

// record records what becomes of a question.
func (a *asking) record(q *question, decision, what string) {
	if a.audit == nil {
		return
	}
	e := q.entry
	e.Decision, e.Detail = decision, fmt.Sprintf("%s: %s", q.missing.Kind, what)
	if decision != "" {
		e.Rule = "user"
	}
	a.audit.to.Record(e)
}

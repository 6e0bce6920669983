// Package handover holds the questions with which agents hand a page over to the user, and the
// answers.
//
// The extension popup, the dashboard and the MCP host can show a question. The first answer counts.
package handover

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

const (
	// answerTTL is how long an answer is stored for a caller that has returned without it.
	answerTTL = time.Hour
	// maxKept is the maximum number of stored answers of one principal.
	maxKept = 256
)

// A Desk holds the open questions of a process, and the answers that no caller has received yet.
// The zero value is ready to use. A Desk is safe for concurrent use.
type Desk struct {
	changed notify.Broadcast

	mu        sync.Mutex               // guards the fields below
	questions map[string]*post         // open questions, and answered ones, by id
	tabs      map[executor.TabID]*post // open questions by tab
}

// A post is a question and its answer.
type post struct {
	executor.HandoverQuestion
	done     chan struct{}            // closed when outcome is set
	outcome  executor.HandoverOutcome // empty while the question is open
	answered time.Time
}

// Changed returns a channel that is closed at the next change of the open questions. Call it before
// [Desk.Questions] to miss no change.
func (d *Desk) Changed() <-chan struct{} { return d.changed.Changed() }

// Questions returns the open questions, the oldest first.
func (d *Desk) Questions() []executor.HandoverQuestion {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]executor.HandoverQuestion, 0, len(d.tabs))
	for _, p := range d.tabs {
		list = append(list, p.HandoverQuestion)
	}
	slices.SortFunc(list, func(a, b executor.HandoverQuestion) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Post opens q and returns it with its ID and Asked set. If the agent has already asked about the
// tab, Post returns that question and false: it is open, or its answer is stored for [Desk.Wait].
// Post returns ErrBackpressure if another agent has an open question about the tab.
func (d *Desk) Post(q executor.HandoverQuestion) (_ executor.HandoverQuestion, opened bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	if p := d.find(q.HandoverAsker, q.Tab); p != nil {
		return p.HandoverQuestion, false, nil
	}
	if d.tabs[q.Tab] != nil {
		return executor.HandoverQuestion{}, false, &executor.Error{Code: executor.ErrBackpressure, Tab: q.Tab, Retryable: true,
			Err:  errHandedOver,
			Hint: "Work in another tab, and try again later."}
	}
	q.ID, q.Asked = strings.ToLower(rand.Text()), time.Now()
	p := &post{HandoverQuestion: q, done: make(chan struct{})}
	if d.tabs == nil {
		d.questions, d.tabs = make(map[string]*post), make(map[executor.TabID]*post)
	}
	d.questions[q.ID], d.tabs[q.Tab] = p, p
	d.changed.Notify()
	return q, true, nil
}

var (
	errHandedOver = errors.New("another agent has handed the page over to the user")
	errUnknown    = errors.New("no such question: it has been answered, or its tab is gone")
)

// Wait waits for the answer to a question and removes it. All callers that are waiting receive it.
// If ctx is done first, Wait returns its error, and the question stays open.
func (d *Desk) Wait(ctx context.Context, id string) (executor.HandoverOutcome, error) {
	d.mu.Lock()
	p := d.questions[id]
	d.mu.Unlock()
	if p == nil {
		return "", executor.Errorf(executor.ErrBadArgs, "", "%w", errUnknown)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if !notify.IsClosed(p.done) {
			return "", context.Cause(ctx)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.questions, id)
	return p.outcome, nil
}

// Answer ends an open question. It returns ErrBadArgs if the question is not open or o is not an
// outcome.
func (d *Desk) Answer(id string, o executor.HandoverOutcome) error {
	switch o {
	case executor.OutcomeDone, executor.OutcomeCannot, executor.OutcomeClosed, executor.OutcomeTimeout:
	default:
		return executor.Errorf(executor.ErrBadArgs, "", "invalid outcome %q", string(o))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.questions[id]
	if p == nil || p.outcome != "" {
		return executor.Errorf(executor.ErrBadArgs, "", "%w", errUnknown)
	}
	d.end(p, o)
	return nil
}

// end ends an open question. d.mu must be held.
func (d *Desk) end(p *post, o executor.HandoverOutcome) {
	p.outcome, p.answered = o, time.Now()
	delete(d.tabs, p.Tab)
	close(p.done)
	d.changed.Notify()
}

// Find returns the question of an agent about a tab, which is open or whose answer is stored.
func (d *Desk) Find(agent executor.HandoverAsker, tab executor.TabID) (_ executor.HandoverQuestion, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	if p := d.find(agent, tab); p != nil {
		return p.HandoverQuestion, true
	}
	return executor.HandoverQuestion{}, false
}

// find implements Find. d.mu must be held.
func (d *Desk) find(agent executor.HandoverAsker, tab executor.TabID) *post {
	for _, p := range d.questions {
		if p.HandoverAsker == agent && p.Tab == tab {
			return p
		}
	}
	return nil
}

// Done returns a channel that is closed when the question is answered, or already if the question
// is unknown.
func (d *Desk) Done(id string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.questions[id]; p != nil {
		return p.done
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Forget ends the open questions of an agent and removes its answers. Call it when the agent's
// connection ends.
func (d *Desk) Forget(agent executor.HandoverAsker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, p := range d.questions {
		if p.HandoverAsker != agent {
			continue
		}
		if p.outcome == "" {
			d.end(p, executor.OutcomeClosed)
		}
		delete(d.questions, id)
	}
}

// expire removes the answers that no caller has received within answerTTL, and the oldest ones of a
// principal beyond maxKept. d.mu must be held.
func (d *Desk) expire() {
	kept := make(map[string][]*post) // by principal
	for id, p := range d.questions {
		switch {
		case p.outcome == "":
		case time.Since(p.answered) >= answerTTL:
			delete(d.questions, id)
		default:
			kept[p.Principal] = append(kept[p.Principal], p)
		}
	}
	for _, answers := range kept {
		more := len(answers) - maxKept
		if more <= 0 {
			continue
		}
		slices.SortFunc(answers, func(a, b *post) int { return a.answered.Compare(b.answered) })
		for _, p := range answers[:more] {
			delete(d.questions, p.ID)
		}
	}
}

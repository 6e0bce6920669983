package server

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

const (
	// queueTimeout is the time that a call waits for its turn. MCP hosts allow about one minute per
	// call.
	queueTimeout = 30 * time.Second
	// maxQueued bounds the waiting calls of one principal.
	maxQueued = 64
)

// defaultMaxCalls returns the default limit of running calls. Calls usually wait for pages.
func defaultMaxCalls() int { return max(8, 4*runtime.NumCPU()) }

// A callQueue limits the calls that run at the same time. The others wait: principals take turns,
// and the calls of one principal run in the order they arrived. A principal without a running call
// does not wait, even if the limit is exceeded, because calls of others can run for minutes. It is
// safe for concurrent use.
type callQueue struct {
	limit int

	mu      sync.Mutex                // guards the fields below
	running int                       // calls of all principals
	runs    map[string]int            // running calls, by the name of the principal
	waiting map[string][]*waitingCall // by the name of the principal
	turns   []string                  // principals with waiting calls, the next one first
	stopped bool
	idle    chan struct{} // closed when the queue is stopped and no call is running
}

// A waitingCall is a call that waits for its turn.
type waitingCall struct {
	turn chan struct{} // closed when the call may run, or err is set
	err  error
}

func newCallQueue(limit int) *callQueue {
	return &callQueue{limit: limit, runs: map[string]int{}, waiting: map[string][]*waitingCall{}, idle: make(chan struct{})}
}

// acquire waits until a call of a principal may run. The caller calls release once when the call
// has ended. acquire returns ErrBackpressure if too many calls wait or the call waited too long.
func (q *callQueue) acquire(ctx context.Context, principal string) (release func(), err error) {
	release = func() { q.release(principal) }
	q.mu.Lock()
	switch queued := len(q.waiting[principal]); {
	case q.stopped:
		q.mu.Unlock()
		return nil, errStopping()
	case q.running < q.limit || q.runs[principal] == 0:
		q.start(principal)
		q.mu.Unlock()
		return release, nil
	case queued >= maxQueued:
		q.mu.Unlock()
		return nil, errBusy("%d calls are already waiting", queued)
	case queued == 0:
		q.turns = append(q.turns, principal)
	}
	call := &waitingCall{turn: make(chan struct{})}
	q.waiting[principal] = append(q.waiting[principal], call)
	q.mu.Unlock()
	timeout := time.NewTimer(queueTimeout)
	defer timeout.Stop()
	select {
	case <-call.turn:
		if call.err != nil {
			return nil, call.err
		}
		return release, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timeout.C:
		err = errBusy("the call waited %v for its turn", queueTimeout)
	}
	if !q.abandon(principal, call) && call.err == nil {
		release() // its turn came at the same time
	}
	return nil, err
}

// abandon removes a waiting call. It reports false if the call no longer waits.
func (q *callQueue) abandon(principal string, call *waitingCall) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.waiting[principal] {
		if other == call {
			q.remove(principal, i)
			return true
		}
	}
	return false
}

// remove removes waiting call i of a principal, and the principal's turn if it was the last one.
// q.mu must be held.
func (q *callQueue) remove(principal string, i int) {
	calls := q.waiting[principal]
	if calls = append(calls[:i:i], calls[i+1:]...); len(calls) > 0 {
		q.waiting[principal] = calls
		return
	}
	delete(q.waiting, principal)
	q.turns = slices.DeleteFunc(q.turns, func(name string) bool { return name == principal })
}

// start counts a call that runs. q.mu must be held.
func (q *callQueue) start(principal string) {
	q.running++
	q.runs[principal]++
}

// release ends a running call of a principal. Waiting calls take its place.
func (q *callQueue) release(principal string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if q.runs[principal]--; q.runs[principal] == 0 {
		delete(q.runs, principal)
		if len(q.waiting[principal]) > 0 {
			q.startNext(principal)
		}
	}
	for q.running < q.limit && len(q.turns) > 0 {
		q.startNext(q.turns[0])
	}
	if q.running == 0 && q.stopped {
		close(q.idle)
	}
}

// startNext starts the first waiting call of a principal, whose next turn comes after those of all
// others. q.mu must be held.
func (q *callQueue) startNext(principal string) {
	call := q.waiting[principal][0]
	i := slices.Index(q.turns, principal)
	q.turns = append(slices.Delete(q.turns, i, i+1), principal)
	q.remove(principal, 0)
	q.start(principal)
	close(call.turn)
}

// stop rejects all calls that are not running. The returned channel is closed when the last running
// call has ended. stop must be called once.
func (q *callQueue) stop() (idle <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	for _, calls := range q.waiting {
		for _, call := range calls {
			call.err = errStopping()
			close(call.turn)
		}
	}
	clear(q.waiting)
	q.turns = nil
	if q.running == 0 {
		close(q.idle)
	}
	return q.idle
}

// errBusy returns ErrBackpressure for a request or call that exceeds a limit of the server.
func errBusy(format string, args ...any) error {
	err := errs.Errorf(errs.ErrBackpressure, "Try again in a few seconds, and make fewer calls at the same time.", "the server is busy: "+format, args...)
	err.Retryable = true
	return err
}

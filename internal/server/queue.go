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
	// queueTimeout bounds the time that a call waits in the queue. MCP hosts allow about one minute
	// per call.
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

	mu      sync.Mutex              // guards the fields below
	running int                     // calls of all principals
	runs    map[string]int          // running calls, by the name of the principal
	waiting map[string][]chan error // calls, by the name of the principal; receive nil when they may run
	turns   []string                // principals with waiting calls, the next one first
	stopped bool
	idle    chan struct{} // closed when the queue is stopped and no call is running
}

func newCallQueue(limit int) *callQueue {
	return &callQueue{limit: limit, runs: map[string]int{}, waiting: map[string][]chan error{}, idle: make(chan struct{})}
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
	call := make(chan error, 1)
	q.waiting[principal] = append(q.waiting[principal], call)
	q.mu.Unlock()
	timeout := time.NewTimer(queueTimeout)
	defer timeout.Stop()
	select {
	case err := <-call:
		if err != nil {
			return nil, err
		}
		return release, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timeout.C:
		err = errBusy("the call waited %v in the queue", queueTimeout)
	}
	if !q.abandon(principal, call) && <-call == nil {
		release() // it got the slot at the same time
	}
	return nil, err
}

// abandon removes a waiting call. It reports false if the call no longer waits.
func (q *callQueue) abandon(principal string, call chan error) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting[principal], call)
	if i >= 0 {
		q.remove(principal, i)
	}
	return i >= 0
}

// remove removes waiting call i of a principal, and the principal's turn if it was the last one.
// q.mu must be held.
func (q *callQueue) remove(principal string, i int) {
	q.waiting[principal] = slices.Delete(q.waiting[principal], i, i+1)
	if len(q.waiting[principal]) > 0 {
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

// release ends a running call of a principal. Waiting calls take its slot.
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
	call <- nil
}

// stop rejects all calls that are not running. The returned channel is closed when the last running
// call has ended. stop must be called once.
func (q *callQueue) stop() (idle <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	for _, calls := range q.waiting {
		for _, call := range calls {
			call <- errStopping()
		}
	}
	clear(q.waiting)
	q.turns = nil
	if q.running == 0 {
		close(q.idle)
	}
	return q.idle
}

// limit returns the function that limits the calls of a workspace. A call uses the workspace, also
// after its client has disconnected.
func (s *Server) limit(ws *workspace) func(context.Context) (release func(), err error) {
	return func(ctx context.Context) (func(), error) {
		s.mu.Lock()
		s.beginUse(ws)
		s.mu.Unlock()
		release, err := s.calls.acquire(ctx, ws.key.principal)
		if err != nil {
			s.endUse(ws)
			return nil, err
		}
		return func() {
			release()
			s.endUse(ws)
		}, nil
	}
}

// errBusy returns ErrBackpressure for a request or call that exceeds a limit of the server.
func errBusy(format string, args ...any) error {
	err := errs.Errorf(errs.ErrBackpressure, "Try again in a few seconds, and make fewer calls at the same time.",
		"the server is busy: "+format, args...)
	err.Retryable = true
	return err
}

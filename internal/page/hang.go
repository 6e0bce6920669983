package page

import (
	"context"
	"errors"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// hangAnswer is how long a page may take to answer before it counts as hung.
// It is asked when it is to be left, so a page that only is busy loses little.
const hangAnswer = time.Second

// busyAnswer is how much longer it gets where its scripts cannot be ended, so
// that there is nothing gentler than to end its process.
const busyAnswer = 5 * time.Second

// startAnswer is how long the process of a new tab may take to start.
const startAnswer = 10 * time.Second

// crashAnswer is how long it may take to end the scripts of a page that does
// not answer before its process is ended: a process that is only starting, or
// has to wait for the processor, answers within it.
const crashAnswer = 4 * time.Second

// free makes a tab that is about to go to another document ready for that. A
// crash is forgotten: going elsewhere is the way out of it. A page that hangs
// would hold up its successor in the same process for ever, so its scripts
// are ended; and where even that is not heard (a loop of microtasks), its
// process.
//
// It must come before the navigation: after that the browser hands the
// commands to the next document, which waits for the same process.
func (t *Tab) free(ctx context.Context) error {
	t.mu.Lock()
	crashed := t.crashed
	t.crashed = false
	fresh := t.own && !t.left // nothing ran in it yet
	t.left = true
	t.mu.Unlock()
	if crashed {
		return nil
	}
	patience := hangAnswer
	if fresh {
		// Its process may be starting. A page that is sent elsewhere before its
		// first, blank document is there may never come to load (Chromium 156).
		patience = startAnswer
	}
	if t.answers(ctx, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, patience) || fresh {
		return nil
	}
	if err := t.elsewhere(); err != nil {
		return err // it stands still, and does not hang
	}
	t.log.Info("ending the scripts of a page that hangs")
	ended, refused := t.obeys(ctx, "Runtime.terminateExecution", crashAnswer)
	if ended || ctx.Err() != nil || refused && t.answersIn(ctx, busyAnswer) {
		return nil
	}
	t.log.Warn("ending the process of a page that hangs")
	if _, err := t.sess.Start(ctx, "Page.crash", nil); err != nil {
		return nil // the navigation will say why
	}
	// A navigation that starts before the process has exited may fail with it.
	limit, cancel := context.WithTimeout(ctx, crashAnswer)
	defer cancel()
	t.await(limit, func() (bool, error) { return t.crashed, nil })
	t.mu.Lock()
	t.crashed = false
	t.mu.Unlock()
	return nil
}

// obeys reports whether the page did a command in time, or whether the way to
// the browser does not have the command.
func (t *Tab) obeys(ctx context.Context, method string, within time.Duration) (done, refused bool) {
	limit, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := t.sess.Call(limit, method, nil, nil)
	return err == nil, err != nil && !errors.Is(err, executor.ErrTimeout)
}

// answersIn reports whether the page answers within some time.
func (t *Tab) answersIn(ctx context.Context, d time.Duration) bool {
	limit, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return t.sess.Call(limit, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, nil) == nil
}

// readTimeoutAs is timeoutAs for a read of the page: one that answers other
// commands does not hang, it is large. ctx is that of the caller.
func (t *Tab) readTimeoutAs(ctx context.Context, err error, what string) error {
	err = timeoutAs(err, what)
	var e *executor.Error
	if errors.Is(err, executor.ErrTimeout) && errors.As(err, &e) && t.answers(ctx, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, hangAnswer) {
		e.Hint = executor.HintReadLess
	}
	return err
}

// answers reports whether the page answers a command in time, with whatever it
// says.
func (t *Tab) answers(ctx context.Context, method string, params any, within time.Duration) bool {
	limit, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := t.sess.Call(limit, method, params, nil)
	return !errors.Is(err, executor.ErrTimeout) && ctx.Err() == nil
}

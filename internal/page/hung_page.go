package page

import (
	"context"
	"errors"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// hungPageTimeout is how long a page may take to answer before it counts as hung.
// It is asked when it is to be left, so a page that only is busy loses little.
const hungPageTimeout = time.Second

// busyPageGrace is how much longer it gets where its scripts cannot be ended, so
// that there is nothing gentler than to end its process.
const busyPageGrace = 5 * time.Second

// newTabTimeout is how long the process of a new tab may take to start.
const newTabTimeout = 10 * time.Second

// terminateTimeout is how long it may take to end the scripts of a page that does
// not answer before its process is ended: a process that is only starting, or
// has to wait for the processor, answers within it.
const terminateTimeout = 4 * time.Second

// unblock makes a tab that is about to go to another document ready for that. A
// crash is forgotten: going elsewhere is the way out of it. A page that hangs
// would hold up its successor in the same process for ever, so its scripts
// are ended; and where even that is not heard (a loop of microtasks), its
// process.
//
// It must come before the navigation: after that the browser hands the
// commands to the next document, which waits for the same process.
func (t *Tab) unblock(ctx context.Context) error {
	t.mu.Lock()
	crashed := t.crashed
	t.crashed = false
	fresh := t.own && !t.navigatedBefore // nothing ran in it yet
	t.navigatedBefore = true
	t.mu.Unlock()
	if crashed {
		return nil
	}
	patience := hungPageTimeout
	if fresh {
		// Its process may be starting. A page that is sent elsewhere before its
		// first, blank document is there may never come to load (Chromium 156).
		patience = newTabTimeout
	}
	if t.responds(ctx, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, patience) || fresh {
		return nil
	}
	if err := t.dialogInOtherTab(); err != nil {
		return err // it stands still, and does not hang
	}
	t.log.Info("terminating scripts of a hung page")
	ended, refused := t.tryCommand(ctx, "Runtime.terminateExecution", terminateTimeout)
	if ended || ctx.Err() != nil || refused && t.respondsWithin(ctx, busyPageGrace) {
		return nil
	}
	t.log.Warn("crashing the renderer of a hung page")
	if _, err := t.sess.Start(ctx, "Page.crash", nil); err != nil {
		return nil // the navigation will say why
	}
	// A navigation that starts before the process has exited may fail with it.
	limit, cancel := context.WithTimeout(ctx, terminateTimeout)
	defer cancel()
	t.await(limit, func() (bool, error) { return t.crashed, nil })
	t.mu.Lock()
	t.crashed = false
	t.mu.Unlock()
	return nil
}

// tryCommand reports whether the page did a command in time, or whether the way to
// the browser does not have the command.
func (t *Tab) tryCommand(ctx context.Context, method string, within time.Duration) (done, refused bool) {
	limit, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := t.sess.Call(limit, method, nil, nil)
	return err == nil, err != nil && !errors.Is(err, executor.ErrTimeout)
}

// respondsWithin reports whether the page answers within some time.
func (t *Tab) respondsWithin(ctx context.Context, d time.Duration) bool {
	limit, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return t.sess.Call(limit, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, nil) == nil
}

// readTimeoutAs is timeoutAs for a read of the page: one that answers other
// commands does not hang, it is large. ctx is that of the caller.
func (t *Tab) readTimeoutAs(ctx context.Context, err error, what string) error {
	err = timeoutAs(err, what)
	var e *executor.Error
	if errors.Is(err, executor.ErrTimeout) && errors.As(err, &e) && t.responds(ctx, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, hungPageTimeout) {
		e.Hint = executor.HintReadLess
	}
	return err
}

// responds reports whether the page answers a command in time, with whatever it
// says.
func (t *Tab) responds(ctx context.Context, method string, params any, within time.Duration) bool {
	limit, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := t.sess.Call(limit, method, params, nil)
	return !errors.Is(err, executor.ErrTimeout) && ctx.Err() == nil
}

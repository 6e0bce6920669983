package frames

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// Command sends a command to the page and waits for the response. A command that the browser rejects
// between two documents is sent again. Command stops waiting when a dialog opens, because the browser
// responds only after the dialog is answered.
func (t *Tree) Command(ctx context.Context, method string, params, result any) error {
	limit, cancel := context.WithTimeout(ctx, t.timing.ErrorPage)
	defer cancel()
	for {
		p, err := t.sess.Start(ctx, method, params)
		if err == nil {
			err = t.Wait(ctx, p, result)
		}
		if !IsBetweenDocuments(err) {
			return err
		}
		// No event reports when that is over.
		if t.Await(ctx, func(s *State) (bool, error) {
			_, navigating := s.TopNavigation()
			return !navigating, nil
		}) != nil {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-limit.Done():
			return err
		}
	}
}

// IsBetweenDocuments reports whether err is the response to a command that the browser rejects because
// the next document is about to commit: it accepts such commands for neither document.
func IsBetweenDocuments(err error) bool {
	ce, ok := errors.AsType[*cdpconn.Error](err)
	return ok && strings.Contains(ce.Message, "Not attached to an active page")
}

// Responds reports whether the page responds to a script within d, even with an error.
func (t *Tree) Responds(ctx context.Context, d time.Duration) bool {
	return !errors.Is(t.TryScript(ctx, d), executor.ErrTimeout) && ctx.Err() == nil
}

// TryScript runs a script without an effect in the page, for at most d.
func (t *Tree) TryScript(ctx context.Context, d time.Duration) error {
	return t.CallWithin(ctx, d, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true})
}

// CallWithin sends a command to the page and waits for the response, for at most d.
func (t *Tree) CallWithin(ctx context.Context, d time.Duration, method string, params any) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return t.sess.Call(ctx, method, params, nil)
}

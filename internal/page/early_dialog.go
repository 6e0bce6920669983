package page

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
)

// A dialog that opened before we attached blocks the page like any other. But the browser reports
// neither the dialog nor its text, and Page.handleJavaScriptDialog answers that no dialog is open
// (Chromium 156). The only sign is that the page responds to no command while the browser still
// responds to input, which it drops.

// earlyLimit bounds the wait for the responses of a blocked page. A user may leave a dialog open
// for that long.
const earlyLimit = 24 * time.Hour

// awaitUnlessBlocked waits for answered, or until it is clear that a dialog blocks the page. If a
// dialog blocks it, the responses arrive when the dialog has closed.
func (t *tabDialogs) awaitUnlessBlocked(ctx context.Context, answered func(context.Context) error) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), earlyLimit)
	done := make(chan error, 1)
	t.wg.Go(func() {
		defer cancel()
		err := answered(wait)
		s := t.tree.Lock()
		if d := t.Open(); d != nil && d.Early {
			t.setOpen(nil)
		}
		t.tree.Changes.Notify()
		s.Unlock()
		done <- err
	})
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(t.tree.Timing().DialogCheck):
		case <-ctx.Done():
			cancel()
			return context.Cause(ctx)
		}
		if !t.dropsInput(ctx) {
			continue
		}
		select {
		case err := <-done:
			return err
		case <-time.After(t.tree.Timing().EarlyDialog):
		}
		s := t.tree.Lock()
		url := cmp.Or(s.LastKnownPage().URL, t.tree.Session().Target().URL)
		if t.Open() == nil {
			t.setOpen(&dialogs.Dialog{Dialog: executor.Dialog{Type: executor.DialogUnknown}, Session: t.tree.Session(), URL: url, Early: true})
		}
		t.tree.Changes.Notify()
		s.Unlock()
		return nil
	}
}

// dropsInput reports whether the browser responds to input for the page within Timing.DialogCheck.
// A busy page responds only when it is done.
func (t *tabDialogs) dropsInput(ctx context.Context) bool {
	return t.tree.CallWithin(ctx, t.tree.Timing().DialogCheck, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": -1, "y": -1}) == nil
}

// dismissEarly closes an early dialog with a same-document navigation, at which the browser closes
// the dialog.
func (t *tabDialogs) dismissEarly(ctx context.Context, d *dialogs.Dialog, accept bool) error {
	if accept {
		return executor.Errorf(executor.ErrDialogOpen, "Dismiss it, or ask the user to answer it in the browser.",
			"a dialog that opened before chrome-mcp attached to the tab cannot be accepted")
	}
	url := d.URL
	if !strings.Contains(url, "#") {
		url += "#"
	}
	err := t.tree.Session().Call(ctx, "Page.navigate", map[string]any{"url": url}, nil)
	if _, rejected := errors.AsType[*cdpconn.Error](err); rejected {
		return executor.Errorf(executor.ErrDialogOpen, "Ask the user to answer it in the browser, or close the tab.",
			"the dialog cannot be dismissed: %w", err)
	}
	return err
}

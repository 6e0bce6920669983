package page

import (
	"context"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// recoverPage prepares a tab for a navigation to another document. It clears a crash, because a
// navigation recovers from it. A hung page would block the next document in the same renderer
// process forever, so recoverPage terminates the scripts of the page. If the page does not respond to
// that either, as in a loop of microtasks, it crashes the renderer.
//
// recoverPage must be called before the navigation. After it, the browser sends commands to the next
// document, which waits for the same process.
func (t *Tab) recoverPage(ctx context.Context) error {
	s := t.tree.Lock()
	crashed := s.ClearCrash()
	s.Unlock()
	fresh := !t.navigatedBefore.Swap(true) && t.own.Load() // no script has run in it yet
	if crashed {
		return nil
	}
	limit := t.timing.HungPage
	if fresh {
		// Its renderer may still be starting. A page that is navigated before its first, blank
		// document exists may never load (Chromium 156).
		limit = t.timing.NewTab
	}
	if t.tree.Responds(ctx, limit) || fresh {
		return nil
	}
	if err := t.dialogs.inOtherTab(); err != nil {
		return err // the page is blocked by the dialog, it does not hang
	}
	t.log.Info("terminating scripts of a hung page")
	err := t.tree.CallWithin(ctx, t.timing.Terminate, "Runtime.terminateExecution", nil)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	// The command may have been rejected, for example because the transport does not support it.
	if !errors.Is(err, executor.ErrTimeout) && t.tree.TryScript(ctx, t.timing.BusyPage) == nil {
		return nil
	}
	t.log.Warn("crashing the renderer of a hung page")
	if _, err := t.sess.Start(ctx, "Page.crash", nil); err != nil {
		return nil // the navigation returns the reason
	}
	// A navigation that starts before the process has exited may fail with it.
	exit, cancel := context.WithTimeout(ctx, t.timing.Terminate)
	defer cancel()
	t.tree.Await(exit, func(s *frames.State) (bool, error) { return s.ClearCrash(), nil })
	return nil
}

package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
)

// An openerGroup is the set of tabs whose pages opened each other. They share a renderer process if
// they are of the same site, and a dialog in one of them blocks the others. The zero value is ready
// to use.
type openerGroup struct {
	mu      sync.Mutex // guards the fields below; no frame tree may be locked while it is held
	tabs    map[*Tab]bool
	dialogs map[*tabDialogs]bool // of tabs that show a dialog

	secrets      int          // number of secrets that were typed, or are being typed, in pages of these tabs
	scripted     bool         // a script of a client has run in a page of these tabs
	secretGuard  *SecretGuard // of the browser; set with the first tab
	handedOverBy *View        // that handed a tab of the group over to the user; nil if no tab is handed over
	handovers    bool         // a tab of the group is or was handed over
	handoverEnd  time.Time    // of the last handover

	userInput userInput
}

// A userInput decides whether input that the user sends in a live view reaches the tab. It does so
// during a handover. The zero value rejects input.
type userInput struct {
	mu      sync.Mutex      // guards the field below
	sending *sync.WaitGroup // the input of this handover that is being sent; nil if none is accepted
}

// accept sets whether input is accepted from now on. If it no longer is, accept returns after the
// input that was accepted before was sent.
func (u *userInput) accept(accepted bool) {
	u.mu.Lock()
	before := u.sending
	switch {
	case !accepted:
		u.sending = nil
	case before == nil:
		u.sending = new(sync.WaitGroup)
	}
	u.mu.Unlock()
	if !accepted && before != nil {
		before.Wait()
	}
}

// send calls f if input is accepted. Calls do not wait for each other: input that opens a dialog
// ends with the answer to the dialog, which is input as well.
func (u *userInput) send(f func() error) error {
	u.mu.Lock()
	sending := u.sending
	if sending == nil {
		u.mu.Unlock()
		return executor.Errorf(executor.ErrBadArgs, "", "the tab is not handed over to the user")
	}
	sending.Add(1)
	u.mu.Unlock()
	defer sending.Done()
	return f()
}

func (g *openerGroup) add(t *Tab) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tabs == nil {
		g.tabs, g.dialogs = make(map[*Tab]bool), make(map[*tabDialogs]bool)
		g.secretGuard = cmp.Or(t.opts.SecretGuard, new(SecretGuard))
	}
	g.tabs[t] = true
	before := g.secretGuard.takeUnshared(string(t.main))
	g.scripted = g.scripted || before.scripted
	if before.secret {
		g.secrets++
		g.secretGuard.add(g)
	}
}

// remove removes a tab that is gone. closed is false for a tab that is no longer shared.
func (g *openerGroup) remove(t *Tab, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.tabs[t] {
		return
	}
	delete(g.tabs, t)
	delete(g.dialogs, &t.dialogs)
	if t.opts.Attach != nil && !closed {
		g.secretGuard.setUnshared(string(t.main), unsharedTab{secret: g.secrets > 0, scripted: g.scripted})
	}
	if g.secrets > 0 && len(g.tabs) == 0 {
		g.secretGuard.remove(g)
	}
	// If the tab was handed over, the other tabs of the group remain handed over until
	// HandedOver.End has masked what the user entered in them.
}

// setOpen records the open dialog; nil means none. The tree of the tab must be locked.
func (t *tabDialogs) setOpen(d *dialogs.Dialog) {
	t.SetOpen(d)
	group := t.group
	group.mu.Lock()
	defer group.mu.Unlock()
	if d == nil {
		delete(group.dialogs, t)
		return
	}
	group.dialogs[t] = true
	for m := range group.tabs {
		m.tree.Changes.Notify()
	}
}

// inOtherTab returns the error for a page that may be blocked by a dialog in another tab of
// its opener group, or nil if no other tab shows one.
func (t *tabDialogs) inOtherTab() error {
	group := t.group
	group.mu.Lock()
	defer group.mu.Unlock()
	var tabs []string
	for m := range group.dialogs {
		if m != t {
			tabs = append(tabs, string(m.tab))
		}
	}
	if len(tabs) == 0 {
		return nil
	}
	slices.Sort(tabs)
	return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: "Answer it with Page.HandleDialog and that tab's id.",
		Err: fmt.Errorf("a dialog that is open in another tab (%s) blocks this page too", strings.Join(tabs, " or "))}
}

// awaitOtherTab returns the error of inOtherTab if the page does not respond.
func (t *tabDialogs) awaitOtherTab(ctx context.Context) error {
	err := t.inOtherTab()
	if err == nil || t.tree.Responds(ctx, t.tree.Timing().OtherTabProbe) {
		return nil
	}
	return err
}

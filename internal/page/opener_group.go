package page

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// An openerGroup is the set of tabs whose pages opened each other. They share a renderer process if
// they are of the same site, and a dialog in one of them blocks the others. The zero value is ready
// to use.
type openerGroup struct {
	mu      sync.Mutex // guards the fields below; no frame tree may be locked while it is held
	tabs    map[*Tab]bool
	dialogs map[*tabDialogs]bool // of tabs that show a dialog

	secrets        int          // number of secrets that were typed, or are being typed, in pages of these tabs
	scripted       bool         // a script of a client has run in a page of these tabs
	secretGuard    *SecretGuard // of the browser; set with the first tab
	handedOverBy   *View        // that handed a tab of the group over to the user; nil if no tab is handed over
	everHandedOver bool         // a tab of the group is or was handed over
	handoverEnd    time.Time    // of the last handover

	userInput userInput
}

// add adds a tab. If it was shared before, it keeps the state that it had then.
func (g *openerGroup) add(t *Tab) {
	guard := cmp.Or(t.opts.SecretGuard, new(SecretGuard))
	var before unsharedTab
	if t.opts.Attach != nil {
		before = guard.share(t)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tabs == nil {
		g.tabs, g.dialogs, g.secretGuard = make(map[*Tab]bool), make(map[*tabDialogs]bool), guard
	}
	g.tabs[t] = true
	g.scripted = g.scripted || before.scripted
	if before.secret {
		g.secrets++
		g.secretGuard.add(g)
	}
	if before.entered != nil {
		g.everHandedOver = true
		t.entered = before.entered
		t.entered.SetUnknown() // the user may have entered more since
	}
}

// unshared returns the state of t, a tab of the group, that it keeps if it is shared again.
func (g *openerGroup) unshared(t *Tab) unsharedTab {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := unsharedTab{secret: g.secrets > 0, scripted: g.scripted}
	if g.everHandedOver {
		u.entered = t.entered
	}
	return u
}

// remove removes a tab that is gone. closed is false for a tab that may still be open: it is no
// longer shared.
func (g *openerGroup) remove(t *Tab, closed bool) {
	if t.opts.Attach != nil {
		g.secretGuard.unshare(t, closed)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.tabs[t] {
		return
	}
	delete(g.tabs, t)
	delete(g.dialogs, &t.dialogs)
	if g.secrets > 0 && len(g.tabs) == 0 {
		g.secretGuard.remove(g)
	}
	// If the tab was handed over, the other tabs of the group remain handed over until
	// HandedOver.End has masked what the user entered in them.
}

// notifyMembers reports a change to all tabs of the group.
func (g *openerGroup) notifyMembers() {
	for _, m := range g.members() {
		m.tree.Changes.Notify()
	}
}

// members returns the tabs of the group.
func (g *openerGroup) members() []*Tab {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.tabs))
}

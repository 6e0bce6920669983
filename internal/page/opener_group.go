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

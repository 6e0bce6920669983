package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// An openerGroup is the set of tabs whose pages opened each other. They share a renderer process if
// they are of the same site, and a dialog in one of them blocks the others. The zero value is ready
// to use.
type openerGroup struct {
	mu      sync.Mutex // guards the fields below; must not be held while a Tab.mu is acquired
	tabs    map[*Tab]bool
	dialogs map[*Tab]bool // tabs that show a dialog
}

func (f *openerGroup) add(t *Tab) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tabs == nil {
		f.tabs, f.dialogs = make(map[*Tab]bool), make(map[*Tab]bool)
	}
	f.tabs[t] = true
}

func (f *openerGroup) remove(t *Tab) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tabs, t)
	delete(f.dialogs, t)
}

// setDialog records the open dialog; nil means none. t.mu must be held. The caller must call the
// result without holding t.mu.
func (t *Tab) setDialog(d *openDialog) (after func()) {
	t.dialogs.set(d)
	f := t.openerGroup
	f.mu.Lock()
	defer f.mu.Unlock()
	if d == nil {
		delete(f.dialogs, t)
		return func() {}
	}
	f.dialogs[t] = true
	var others []*Tab
	for m := range f.tabs {
		if m != t {
			others = append(others, m)
		}
	}
	return func() {
		for _, m := range others {
			m.mu.Lock()
			m.notify()
			m.mu.Unlock()
		}
	}
}

// dialogInOtherTab returns the error for a page that may be blocked by a dialog in another tab of
// its opener group, or nil if no other tab shows one.
func (t *Tab) dialogInOtherTab() error {
	f := t.openerGroup
	f.mu.Lock()
	defer f.mu.Unlock()
	var tabs []string
	for m := range f.dialogs {
		if m != t {
			tabs = append(tabs, string(m.opts.ID))
		}
	}
	if len(tabs) == 0 {
		return nil
	}
	slices.Sort(tabs)
	return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: "Answer it with Page.HandleDialog and that tab's id.",
		Err: fmt.Errorf("a dialog that is open in another tab (%s) blocks this page too", strings.Join(tabs, " or "))}
}

const (
	// otherTabGrace is how long a response may take while another tab of the opener group shows a
	// dialog, before the page is probed.
	otherTabGrace = 150 * time.Millisecond
	// otherTabProbeTimeout is how long the page may take to respond to that probe.
	otherTabProbeTimeout = 250 * time.Millisecond
)

// blockedByOtherTab returns the error of dialogInOtherTab if the page does not respond.
func (t *Tab) blockedByOtherTab(ctx context.Context) error {
	err := t.dialogInOtherTab()
	if err == nil || t.responds(ctx, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, otherTabProbeTimeout) {
		return nil
	}
	return err
}

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

// A family is the tabs whose pages opened each other. They share a process when
// they are of one site, and a dialog in one of them stops the others too. The
// zero value is ready to use.
type family struct {
	mu      sync.Mutex // guards what follows; never held while a Tab's mu is taken
	tabs    map[*Tab]bool
	dialogs map[*Tab]bool // that show one
}

func (f *family) join(t *Tab) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tabs == nil {
		f.tabs, f.dialogs = make(map[*Tab]bool), make(map[*Tab]bool)
	}
	f.tabs[t] = true
}

func (f *family) leave(t *Tab) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tabs, t)
	delete(f.dialogs, t)
}

// setDialog notes which dialog is open, nil for none. t.mu is held; what it
// returns is called without.
func (t *Tab) setDialog(d *openDialog) (after func()) {
	t.dialog = d
	f := t.family
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

// elsewhere returns the error of a page that stands still because of a dialog
// in another tab; nil when there is none.
func (t *Tab) elsewhere() error {
	f := t.family
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
	return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: "Answer it with handle_dialog and that tab's id.",
		Err: fmt.Errorf("a dialog that is open in another tab (%s) blocks this page too", strings.Join(tabs, " or "))}
}

const (
	// familyGrace is how long an answer may take while a dialog is open in
	// another tab, before the page is asked whether it stands still.
	familyGrace = 150 * time.Millisecond
	// familyAnswer is how long the page may take to say that it does not.
	familyAnswer = 250 * time.Millisecond
)

// blockedElsewhere returns the error of elsewhere if the page does stand still.
func (t *Tab) blockedElsewhere(ctx context.Context) error {
	err := t.elsewhere()
	if err == nil || t.answers(ctx, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, familyAnswer) {
		return nil
	}
	return err
}

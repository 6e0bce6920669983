package executor_test

import (
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestBackendOf(t *testing.T) {
	for id, want := range map[executor.TabID]executor.BackendKind{
		executor.NewTabID("cdp", "a", "1"): executor.BackendCDP, executor.NewTabID("ext", "a", "1"): executor.BackendExtension, "": "", "ext": "", "tab:a:1": "",
	} {
		if got := executor.BackendOf(id); got != want {
			t.Errorf("the backend of %q is %q, want %q", id, got, want)
		}
	}
}

// TestAsWatcher uses an Executor that cannot show its tabs.
func TestAsWatcher(t *testing.T) {
	w := executor.AsWatcher(struct{ executor.Executor }{})
	if tabs := w.WatchTabs(t.Context()); len(tabs) > 0 {
		t.Errorf("tabs: %v", tabs)
	}
	if view, err := w.Watch(t.Context(), "cdp:a:1"); view != nil || !errors.Is(err, executor.ErrBadArgs) {
		t.Errorf("live view: %v, %v", view, err)
	}
}

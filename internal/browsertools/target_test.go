package browsertools

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestRefAsSelector(t *testing.T) {
	for _, c := range []struct {
		selector string
		ref      executor.Ref
		want     executor.Target
	}{
		{"e3", "", executor.Target{Ref: "e3"}},
		{"@e3", "", executor.Target{Ref: "e3"}},
		{"ref=e3", "", executor.Target{Ref: "e3"}},
		{"", "e3", executor.Target{Ref: "e3"}},
		{"#e3", "", executor.Target{Selector: "#e3"}},
		{"em", "", executor.Target{Selector: "em"}},
		{"e3", "e4", executor.Target{Selector: "e3", Ref: "e4"}}, // invalid: only one of them is allowed
	} {
		if got := newTarget(c.selector, c.ref); got != c.want {
			t.Errorf("selector %q, ref %q: %+v, want %+v", c.selector, c.ref, got, c.want)
		}
	}
}

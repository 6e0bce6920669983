package chromium_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"reflect"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdpsuite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestSelectorsAsInPlaywright compares the elements that selectors match with those in a stock
// Playwright client. It requires Node and tools/node_modules (make setup), and always runs in CI.
func TestSelectorsAsInPlaywright(t *testing.T) {
	tier.Browser(t)
	node := tier.Node(t, "playwright-core")
	cmd := exec.CommandContext(t.Context(), node, "../../tools/cdp/selectors.mjs", cdpsuite.StartPlain(t, "about:blank").URL)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	compared, matching := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); compared++ {
		var c struct {
			Selector     string
			Ours, Theirs any
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		if !reflect.DeepEqual(c.Ours, c.Theirs) {
			t.Errorf("%s: %v, in Playwright %v", c.Selector, c.Ours, c.Theirs)
		}
		if list, ok := c.Ours.([]any); ok && len(list) > 0 {
			matching++
		}
	}
	t.Logf("%d selectors, of which %d match elements", compared, matching)
	if matching < 150 {
		t.Errorf("%d selectors match elements, want at least 150", matching)
	}
}

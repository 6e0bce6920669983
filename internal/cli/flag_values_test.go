package cli

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
)

func TestPortFlag(t *testing.T) {
	for text, want := range map[string]int{"0": bridge.AnyPort, "4711": 4711, "65535": 65535} {
		var p portFlag
		if err := p.Set(text); err != nil || p.Option() != want || p.String() != text {
			t.Errorf("%s: %d %q, %v", text, p.Option(), &p, err)
		}
	}
	if p := new(portFlag); p.Option() != 0 || p.String() != "" {
		t.Errorf("unset: %d %q", p.Option(), p)
	}
	for _, text := range []string{"", "-1", "65536", "x", "1.5"} {
		if err := new(portFlag).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

package doctor

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

func TestDoctorDistinguishesAttachedFromLaunched(t *testing.T) {
	if got := launched(&cli.Settings{CDPEndpoint: "http://127.0.0.1:9222"}); !strings.HasPrefix(got, "attached") || strings.Contains(got, "closed") {
		t.Errorf("attached browser: doctor prints %q", got)
	}
	if got := launched(&cli.Settings{}); !strings.HasPrefix(got, "launched") {
		t.Errorf("launched browser: doctor prints %q", got)
	}
}

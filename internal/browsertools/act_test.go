package browsertools

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
)

func TestRenderSelection(t *testing.T) {
	r := selectResult{&executor.Selection{Selected: []string{"no", "se", "Peru", "x"}, Labels: []string{"Norway", "SE", "Peru", ""}, Changes: executor.Changes{Unchanged: true}}}
	var got mcptext.Text
	r.Render(&got)
	if want := `selected "Norway" (value "no"), "SE", "Peru", "x"`; !strings.HasPrefix(got.String(), want) {
		t.Errorf("got %s, want %s", got.String(), want)
	}
}

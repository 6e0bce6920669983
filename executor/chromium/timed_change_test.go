package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestTimedChange checks that an action whose handlers start a timer waits for the first change of
// the page, and that others do not wait: the limit is longer than the test.
func TestTimedChange(t *testing.T) {
	const script = `<!doctype html><title>Timers</title><button>Go</button><p>-</p><script>
const button = document.querySelector("button"), show = (text) => { document.querySelector("p").textContent = text; };
%s
</script>`
	scripts := map[string]string{
		"change by a timer":               `button.onclick = () => setTimeout(show, 200, "Changed");`,
		"change by the last of timers":    `button.onclick = () => setTimeout(() => setTimeout(show, 100, "Changed"), 100);`,
		"attribute before the timer":      `button.onclick = () => { button.className = "busy"; setTimeout(show, 200, "Changed"); };`,
		"immediate change before a timer": `button.onclick = () => { show("Changed"); setTimeout(show, 1e6, "Later"); };`,
		"timers of a clock":               `(function tick() { setTimeout(tick, 1); })();`,
		"interval":                        `setInterval(() => { button.title = Date.now(); }, 5);`,
		"timer when the pointer arrives":  `button.onpointermove = button.onmouseover = () => { setTimeout(show, 1e6, "Hovered"); };`,
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, script, scripts[r.URL.Query().Get("case")])
	}))
	t.Cleanup(site.Close)
	o := testOptions(t)
	o.timing.TimedChange, o.timing.Settle, o.timing.Commit = 10*await.HangLimit, 10*await.HangLimit, 10*await.HangLimit
	s := newSession(t, newBrowser(t, o))
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			ctx := await.Context(t)
			_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL + "/?case=" + strings.ReplaceAll(name, " ", "+")})
			if err != nil {
				t.Fatal(err)
			}
			page := pagetest.Of(s, tab.ID)
			if _, err := page.Snapshot(ctx, nil); err != nil {
				t.Fatal(err)
			}
			a, err := page.Click(ctx, executor.Target{Selector: "button"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Contains(script, "Changed"); strings.Contains(a.Diff, "Changed") != want {
				t.Errorf("the click reports %q, %q; want the change: %v", a.Diff, a.Note, want)
			}
		})
	}
}

package chromium

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestAttachedClipboard checks that input to a page of an attached browser, which has the clipboard of
// its user, copies, cuts and pastes only if the gate allows that, and never in a context of ours, whose
// browser others may use.
func TestAttachedClipboard(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>clipboard</title><textarea id=text>kept</textarea><textarea id=target></textarea>
			<div id=rich contenteditable>rich</div><p id=plain>plain</p><script>
			const used = [];
			for (const type of ["copy", "cut", "paste"]) addEventListener(type, (e) => { used.push(e.type); }, true);
			</script>`))
	}))
	t.Cleanup(site.Close)
	_, address := startForeign(t, t.TempDir())
	for _, tt := range []struct {
		name           string
		defaultContext bool
		code           executor.Code
	}{
		{"default context", true, executor.ErrPolicyDenied},
		{"own context", false, executor.ErrNotActionable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := await.Context(t)
			o := fullOptions(t)
			o.CDPEndpoint, o.AttachDefaultContext = address, tt.defaultContext
			b := newBrowser(t, o)
			var granted atomic.Bool
			s, err := b.NewSession(&executor.SessionOptions{Gate: executor.GateFunc(func(_ context.Context, a executor.Access) error {
				if a.Op == executor.OpClipboard && !granted.Load() {
					return executor.Errorf(executor.ErrPolicyDenied, "", "no clipboard")
				}
				return nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL})
			if err != nil {
				t.Fatal(err)
			}
			p := pagetest.Of(s, tab.ID)
			press := func(chord, selector string) error {
				_, err := p.Press(ctx, chord, &executor.PressOptions{Target: executor.Target{Selector: selector}})
				return err
			}
			middle := func(selector string) error {
				_, err := p.Click(ctx, executor.Target{Selector: selector}, &executor.ClickOptions{Button: executor.ButtonMiddle})
				return err
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			shows := func(expression, want string) {
				t.Helper()
				res, err := p.Eval(ctx, expression, nil)
				if err != nil || string(res.Value) != want {
					t.Errorf("%s is %s, %v; want %s", expression, res.Value, err, want)
				}
			}
			for what, err := range map[string]error{
				"copy": press("Control+c", "#text"), "cut": press("Control+x", "#text"), "paste": press("Control+v", "#target"),
				"middle button in a field": middle("#target"), "middle button in an editable element": middle("#rich"),
			} {
				if executor.CodeOf(err) != tt.code {
					t.Errorf("%s: %v, want %s", what, err, tt.code)
				}
			}
			shows("[text.value, target.value, rich.innerText, used.join()].join('|')", `"kept||rich|"`)
			must(press("Control+a", "#text"))
			must(middle("#plain"))

			granted.Store(true)
			if !tt.defaultContext {
				if err := press("Control+c", "#text"); executor.CodeOf(err) != tt.code {
					t.Errorf("copy with a grant: %v, want %s", err, tt.code)
				}
				return
			}
			must(press("Control+a", "#text"))
			must(press("Control+c", "#text"))
			must(press("Control+v", "#target"))
			// The page gets the text from the browser later.
			pasted := &executor.WaitCondition{Expression: "[target.value, used.join()].join('|') === 'kept|copy,paste'"}
			if res, err := p.WaitFor(ctx, pasted); err != nil || !res.Matched {
				shows("[target.value, used.join()].join('|')", "what was pasted")
			}
		})
	}
}

package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// clipboardChords are the keys that use the clipboard.
var clipboardChords = []string{"Control+c", "Control+x", "Control+v", "Meta+v", "Control+Shift+v", "Shift+Insert", "Control+Insert", "Shift+Delete"}

func (s *suite) clipboard(t *testing.T) {
	s.page(t, "middle button pastes nothing", "clipboard.html", func(c *testCase) {
		for _, target := range []string{"#target", "#rich", "#trap"} {
			// On Linux, the middle button pastes what is selected.
			c.must(c.page().Press(c.ctx, "Control+a", &executor.PressOptions{Target: css("#password")}))
			_, err := c.page().Click(c.ctx, css(target), &executor.ClickOptions{Button: executor.ButtonMiddle})
			if err != nil && target != "#trap" { // which covers itself
				c.Error(err)
			}
		}
		c.wantValue("JSON.stringify([target.value, rich.innerText, document.querySelector('#cover').value, log.filter((e) => e.kind === 'paste').length])", `["","rich","",0]`)
	})
	s.gated(t, "keys and middle button without a grant", "clipboard.html", func(c *testCase, k *keeper) {
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpClipboard })
		want := func(what string, err error) {
			c.Helper()
			switch {
			case c.h.UserClipboard:
				c.wantCode(err, executor.ErrPolicyDenied)
			case err != nil && !c.h.SharedClipboard:
				c.Errorf("%s: %v", what, err)
			}
		}
		for _, chord := range clipboardChords {
			want(chord, errOf(c.page().Press(c.ctx, chord, &executor.PressOptions{Target: css("#text")})))
		}
		want("middle click in a field", errOf(c.page().Click(c.ctx, css("#target"), &executor.ClickOptions{Button: executor.ButtonMiddle})))
		want("middle click in an editable element", errOf(c.page().Click(c.ctx, css("#rich"), &executor.ClickOptions{Button: executor.ButtonMiddle})))
		var at struct{ X, Y float64 }
		c.eval("(({x, y}) => ({X: x + 5, Y: y + 5}))(target.getBoundingClientRect())", &at)
		want("middle button at a point", errOf(c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseClick, Button: executor.ButtonMiddle, X: at.X, Y: at.Y})))
		if c.h.UserClipboard {
			c.wantValue("document.querySelector('#text').value", "copied text")
		}
		if asked := k.accesses(executor.OpClipboard); (len(asked) > 0) != c.h.UserClipboard {
			c.Errorf("the gate was asked %d times", len(asked))
		}
		c.must(c.page().Click(c.ctx, css("#plain"), &executor.ClickOptions{Button: executor.ButtonMiddle}))
		c.must(c.page().Press(c.ctx, "Control+a", &executor.PressOptions{Target: css("#text")}))
	})
	s.gated(t, "keys with a grant", "clipboard.html", func(c *testCase, k *keeper) {
		if c.h.SharedClipboard {
			_, err := c.page().Press(c.ctx, "Control+v", &executor.PressOptions{Target: css("#target")})
			c.wantCode(err, executor.ErrNotActionable, "share one clipboard")
			return
		}
		c.must(c.page().Press(c.ctx, "Control+a", &executor.PressOptions{Target: css("#text")}))
		c.must(c.page().Press(c.ctx, "Control+c", nil))
		c.must(c.page().Press(c.ctx, "Control+v", &executor.PressOptions{Target: css("#target")}))
		c.await("paste", "target")
		asked := k.accesses(executor.OpClipboard)
		if len(asked) > 0 != c.h.UserClipboard || len(asked) > 0 && asked[0].Origin != c.origin() {
			c.Errorf("the gate was asked %+v", asked)
		}
	})
}

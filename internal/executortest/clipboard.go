package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// clipboardChords are the keys that use the clipboard.
var clipboardChords = []string{"Control+c", "Control+x", "Control+v", "Meta+v", "Control+Shift+v", "Shift+Insert", "Control+Insert", "Shift+Delete"}

func clipboard(s *suite.Runner, t *testing.T) {
	s.Shared().Page(t, "middle button pastes nothing", "clipboard.html", func(c *suite.Case) {
		for _, target := range []string{"#target", "#rich", "#trap"} {
			// On Linux, the middle button pastes what is selected.
			c.Must(c.Page().Press(c.Ctx, "Control+a", &executor.PressOptions{Target: suite.Selector("#password")}))
			_, err := c.Page().Click(c.Ctx, suite.Selector(target), &executor.ClickOptions{Button: executor.ButtonMiddle})
			if err != nil && target != "#trap" { // which covers itself
				c.Error(err)
			}
		}
		c.WantValue("JSON.stringify([target.value, rich.innerText, document.querySelector('#cover').value, log.filter((e) => e.kind === 'paste').length])", `["","rich","",0]`)
	})
	s.Gated(t, "keys and middle button without a grant", "clipboard.html", func(c *suite.Case, k *suite.Keeper) {
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpClipboard })
		want := func(what string, err error) {
			c.Helper()
			switch {
			case c.H.UserClipboard:
				c.WantCode(err, executor.ErrPolicyDenied)
			case err != nil && !c.H.SharedClipboard:
				c.Errorf("%s: %v", what, err)
			}
		}
		for _, chord := range clipboardChords {
			want(chord, suite.ErrOf(c.Page().Press(c.Ctx, chord, &executor.PressOptions{Target: suite.Selector("#text")})))
		}
		want("middle click in a field", suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#target"), &executor.ClickOptions{Button: executor.ButtonMiddle})))
		want("middle click in an editable element", suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#rich"), &executor.ClickOptions{Button: executor.ButtonMiddle})))
		var at struct{ X, Y float64 }
		c.Eval("(({x, y}) => ({X: x + 5, Y: y + 5}))(target.getBoundingClientRect())", &at)
		want("middle button at a point", suite.ErrOf(c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseClick, Button: executor.ButtonMiddle, X: at.X, Y: at.Y})))
		if c.H.UserClipboard {
			c.WantValue("document.querySelector('#text').value", "copied text")
		}
		if asked := k.Accesses(executor.OpClipboard); (len(asked) > 0) != c.H.UserClipboard {
			c.Errorf("the gate was asked %d times", len(asked))
		}
		c.Must(c.Page().Click(c.Ctx, suite.Selector("#plain"), &executor.ClickOptions{Button: executor.ButtonMiddle}))
		c.Must(c.Page().Press(c.Ctx, "Control+a", &executor.PressOptions{Target: suite.Selector("#text")}))
	})
	s.Gated(t, "keys with a grant", "clipboard.html", func(c *suite.Case, k *suite.Keeper) {
		if c.H.SharedClipboard {
			_, err := c.Page().Press(c.Ctx, "Control+v", &executor.PressOptions{Target: suite.Selector("#target")})
			c.WantCode(err, executor.ErrNotActionable, "share one clipboard")
			return
		}
		c.Must(c.Page().Press(c.Ctx, "Control+a", &executor.PressOptions{Target: suite.Selector("#text")}))
		c.Must(c.Page().Press(c.Ctx, "Control+c", nil))
		c.Must(c.Page().Press(c.Ctx, "Control+v", &executor.PressOptions{Target: suite.Selector("#target")}))
		c.Await("paste", "target")
		asked := k.Accesses(executor.OpClipboard)
		if len(asked) > 0 != c.H.UserClipboard || len(asked) > 0 && asked[0].Origin != c.Origin() {
			c.Errorf("the gate was asked %+v", asked)
		}
	})
}

package executortest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// A trigger is an element of native.html that may make the browser open a native dialog.
type trigger struct {
	id, about string
	asks      bool                              // the dialog blocks the input of the tab in a headless browser that opens it
	result    string                            // what the page receives if the dialog is prevented; not awaited if empty
	note      string                            // of the click
	tier      func(*suite.Runner) *suite.Runner // Deep for a variant of another trigger; nil for cases of each backend
}

// triggers are the triggers of native.html.
var triggers = []trigger{
	{id: "tel", about: "a tel: link", asks: true, note: `the link to "tel:" was not opened`},
	{id: "telByScript", about: "tel: URL opened by a script", asks: true, note: `the link to "tel:" was not opened`, tier: (*suite.Runner).Deep},
	{id: "appByScript", about: "custom protocol URL opened by a script", asks: true, note: `the link to "myapp:" was not opened`, tier: (*suite.Runner).Deep},
	{id: "appInFrame", about: "custom protocol URL in a frame", asks: true, note: `the link to "myapp:" was not opened`, tier: (*suite.Runner).Deep},
	{id: "mailto", about: "a mailto: link", note: `the link to "mailto:" was not opened`, tier: (*suite.Runner).Shared},
	{id: "authFetch", about: "fetch with basic authentication", asks: true, result: "done 401"},
	{id: "authDigest", about: "fetch with digest authentication", asks: true, result: "done 401", tier: (*suite.Runner).Deep},
	{id: "authNtlm", about: "fetch with NTLM authentication", asks: true, result: "done 401", tier: (*suite.Runner).Deep},
	{id: "authRequest", about: "XMLHttpRequest with basic authentication", asks: true, result: "done 401", tier: (*suite.Runner).Deep},
	{id: "authImage", about: "image with basic authentication", asks: true, result: "done error", tier: (*suite.Runner).Deep},
	{id: "authFrame", about: "frame with basic authentication", asks: true, result: "done loaded", tier: (*suite.Runner).Shared},
	{id: "passkeyGet", about: "passkey request", asks: true, tier: (*suite.Runner).Shared},
	{id: "passkeyCreate", about: "passkey creation", tier: (*suite.Runner).Deep},
	{id: "digital", about: "digital credential request", asks: true, result: "failed NotSupportedError", tier: (*suite.Runner).Deep},
	{id: "screen", about: "screen capture request", asks: true, result: "failed NotAllowedError", tier: (*suite.Runner).Shared},
	{id: "password", about: "saved password request", result: "done null", tier: (*suite.Runner).Deep},
	{id: "camera", about: "camera request", tier: (*suite.Runner).Deep},
	{id: "location", about: "geolocation request", tier: (*suite.Runner).Shared},
	{id: "notification", about: "notification permission request", tier: (*suite.Runner).Deep},
	{id: "midi", about: "MIDI request", tier: (*suite.Runner).Deep},
	{id: "clipboard", about: "clipboard request", tier: (*suite.Runner).Deep},
	{id: "usb", about: "USB device request", tier: (*suite.Runner).Deep},
	{id: "serial", about: "serial port request", tier: (*suite.Runner).Deep},
	{id: "hid", about: "HID request", tier: (*suite.Runner).Deep},
	{id: "openFile", about: "file picker", tier: (*suite.Runner).Shared},
	{id: "saveFile", about: "save file picker", tier: (*suite.Runner).Deep},
	{id: "folder", about: "directory picker", tier: (*suite.Runner).Deep},
	{id: "colour", about: "color picker", tier: (*suite.Runner).Deep},
	{id: "date", about: "date picker", tier: (*suite.Runner).Deep},
	{id: "select", about: "select popup", tier: (*suite.Runner).Shared},
	{id: "payment", about: "payment request", tier: (*suite.Runner).Deep},
	{id: "handler", about: "protocol handler registration", tier: (*suite.Runner).Deep},
	{id: "print", about: "printing", tier: (*suite.Runner).Deep},
	{id: "eyedropper", about: "eyedropper", tier: (*suite.Runner).Deep},
	{id: "fullscreen", about: "fullscreen request", tier: (*suite.Runner).Deep},
	{id: "downloads", about: "multiple downloads", tier: (*suite.Runner).Deep},
	{id: "save", about: "form with a password", tier: (*suite.Runner).Deep},
}

// clicksUntilDialog is the number of clicks that the browser handles before a dialog would have
// opened. Chromium first queries the desktop about links to other programs.
const clicksUntilDialog = 25

func nativeDialogs(s *suite.Runner, t *testing.T) {
	for _, tr := range triggers {
		s := s
		if tr.tier != nil {
			s = tr.tier(s)
		}
		s.Page(t, tr.about, "", func(c *suite.Case) {
			c.Tab = c.OpenURL(c.OtherURL("native.html")).ID // passkeys require a host name
			a := c.Click(suite.Selector("#"+tr.id), nil)
			note := tr.note
			if c.H.UserAnswers && note != "" {
				note = "which may ask the user"
			}
			c.WantIn(a.Note, note)
			switch {
			case !c.H.UserAnswers:
				if tr.result != "" {
					got := c.EvalString(fmt.Sprintf("new Promise((done) => { const look = () => (results.%s ? done(results.%[1]s) : setTimeout(look, 10)); look(); })", tr.id))
					if got != tr.result {
						c.Errorf("the page received %q, want %q", got, tr.result)
					}
				}
				takesInput(c, tr.asks && tr.result == "")
			case tr.asks:
				refusesInput(c)
			default:
				takesInput(c, false)
			}
		})
	}
	for name, do := range suite.Sorted(map[string]func(c *suite.Case) error{
		"click": func(c *suite.Case) error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#plain"), nil)) },
		"hover": func(c *suite.Case) error { return suite.ErrOf(c.Page().Hover(c.Ctx, suite.Selector("#plain"), nil)) },
		"press": func(c *suite.Case) error {
			return suite.ErrOf(c.Page().Press(c.Ctx, "a", &executor.PressOptions{Target: suite.Selector("#field")}))
		},
		"press of a chord, without a target": func(c *suite.Case) error { return suite.ErrOf(c.Page().Press(c.Ctx, "Control+Shift+ArrowLeft", nil)) },
		"type with Enter": func(c *suite.Case) error {
			return suite.ErrOf(c.Page().Type(c.Ctx, suite.Selector("#field"), "a", &executor.TypeOptions{PressEnter: true}))
		},
	}) {
		s.Shared().Page(t, "input blocked by a native dialog: "+name, "native.html", func(c *suite.Case) {
			if c.H.UserAnswers {
				c.Click(suite.Selector("#authFetch"), nil)
				refusesInput(c)
				c.WantCode(do(c), executor.ErrNotActionable, "blocked the input", "ask the user")
				return
			}
			c.H.Raw(c.T, c.URL("native.html"), "Input.setIgnoreInputEvents", map[string]any{"ignore": true})
			c.WantCode(do(c), executor.ErrNotActionable, "blocked the input", "ask the user")
			c.H.Raw(c.T, c.URL("native.html"), "Input.setIgnoreInputEvents", map[string]any{"ignore": false})
			if err := do(c); err != nil {
				c.Errorf("the browser no longer blocks input: %v", err)
			}
		})
	}
	s.Page(t, "document with basic authentication", "native.html", func(c *suite.Case) {
		n := c.GoTo(c.Path("/auth/basic"), nil)
		if n.HTTPStatus != http.StatusUnauthorized {
			c.Errorf("status %d, want 401", n.HTTPStatus)
		}
		if n.Obstacle == nil || n.Obstacle.Kind != executor.ObstacleLogin {
			c.Errorf("obstacle %+v, want a login", n.Obstacle)
		}
		c.WantIn(c.Snap(nil), "a password is needed")
	})
}

// takesInput checks that the tab receives input. late means that a dialog may still open.
func takesInput(c *suite.Case, late bool) {
	c.Helper()
	clicks := 1
	if late {
		clicks = clicksUntilDialog
	}
	for range clicks {
		c.Click(suite.Selector("#plain"), nil)
		if r := c.Await("click", "plain"); !r.Trusted {
			c.Errorf("the page received %+v", r)
		}
	}
	if _, err := c.Page().Press(c.Ctx, "a", &executor.PressOptions{Target: suite.Selector("#field")}); err != nil {
		c.Error(err)
	}
	c.Await("keydown", "field")
	if _, err := c.Page().Type(c.Ctx, suite.Selector("#field"), "b", nil); err != nil {
		c.Error(err)
	}
	c.WantValue("field.value", "ab")
}

// refusesInput waits until a native dialog blocks the input of the tab, and checks that calls
// report it.
func refusesInput(c *suite.Case) {
	c.Helper()
	var err error
	for ok := true; ok && c.Ctx.Err() == nil; {
		_, err = c.Page().Click(c.Ctx, suite.Selector("#plain"), nil)
		// The dialog can also open during a click.
		ok = err == nil || strings.Contains(err.Error(), "received the press but not the click")
	}
	c.WantCode(err, executor.ErrNotActionable, "blocked the input", "ask the user")
	_, err = c.Page().Press(c.Ctx, "a", &executor.PressOptions{Target: suite.Selector("#field")})
	c.WantCode(err, executor.ErrNotActionable, "did not receive the key", "ask the user")
	c.WantValue("field.value", "")
}

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
	asks      bool   // the dialog blocks the input of the tab in a headless browser that opens it
	result    string // what the page receives if the dialog is prevented; not awaited if empty
	note      string // of the click
	long      bool   // a variant of another trigger
}

// triggers are the triggers of native.html.
var triggers = []trigger{
	{id: "tel", about: "a tel: link", asks: true, note: `the link to "tel:" was not opened`},
	{id: "telByScript", about: "tel: URL opened by a script", asks: true, note: `the link to "tel:" was not opened`, long: true},
	{id: "appByScript", about: "custom protocol URL opened by a script", asks: true, note: `the link to "myapp:" was not opened`, long: true},
	{id: "appInFrame", about: "custom protocol URL in a frame", asks: true, note: `the link to "myapp:" was not opened`},
	{id: "mailto", about: "a mailto: link", note: `the link to "mailto:" was not opened`},
	{id: "authFetch", about: "fetch with basic authentication", asks: true, result: "done 401"},
	{id: "authDigest", about: "fetch with digest authentication", asks: true, result: "done 401", long: true},
	{id: "authNtlm", about: "fetch with NTLM authentication", asks: true, result: "done 401", long: true},
	{id: "authRequest", about: "XMLHttpRequest with basic authentication", asks: true, result: "done 401", long: true},
	{id: "authImage", about: "image with basic authentication", asks: true, result: "done error", long: true},
	{id: "authFrame", about: "frame with basic authentication", asks: true, result: "done loaded"},
	{id: "passkeyGet", about: "passkey request", asks: true},
	{id: "passkeyCreate", about: "passkey creation", long: true},
	{id: "digital", about: "digital credential request", asks: true, result: "failed NotSupportedError", long: true},
	{id: "screen", about: "screen capture request", asks: true, result: "failed NotAllowedError"},
	{id: "password", about: "saved password request", result: "done null", long: true},
	{id: "camera", about: "camera request", long: true},
	{id: "location", about: "geolocation request"},
	{id: "notification", about: "notification permission request", long: true},
	{id: "midi", about: "MIDI request", long: true},
	{id: "clipboard", about: "clipboard request", long: true},
	{id: "usb", about: "USB device request", long: true},
	{id: "serial", about: "serial port request", long: true},
	{id: "hid", about: "HID request", long: true},
	{id: "openFile", about: "file picker"},
	{id: "saveFile", about: "save file picker", long: true},
	{id: "folder", about: "directory picker", long: true},
	{id: "colour", about: "color picker", long: true},
	{id: "date", about: "date picker", long: true},
	{id: "select", about: "select popup"},
	{id: "payment", about: "payment request", long: true},
	{id: "handler", about: "protocol handler registration", long: true},
	{id: "print", about: "printing", long: true},
	{id: "eyedropper", about: "eyedropper", long: true},
	{id: "fullscreen", about: "fullscreen request", long: true},
	{id: "downloads", about: "multiple downloads", long: true},
	{id: "save", about: "form with a password", long: true},
}

// clicksUntilDialog is the number of clicks that the browser handles before a dialog would have
// opened. Chromium first queries the desktop about links to other programs.
const clicksUntilDialog = 25

func nativeDialogs(s *suite.Runner, t *testing.T) {
	for _, tr := range triggers {
		s := s
		if tr.long {
			s = s.Deep()
		}
		s.Page(t, tr.about, "", func(c *suite.Case) {
			_, tab, err := c.Exec.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.OtherURL("native.html")}) // passkeys require a host name
			if err != nil {
				c.Fatal(err)
			}
			c.Tab = tab.ID
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
		s.Page(t, "input blocked by a native dialog: "+name, "native.html", func(c *suite.Case) {
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

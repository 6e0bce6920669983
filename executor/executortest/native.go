package executortest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// serveAuth asks for a name and a password, which nothing satisfies.
func serveAuth(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", map[string]string{
		"basic": `Basic realm="test"`, "digest": `Digest realm="test", nonce="abc", qop="auth"`, "ntlm": "NTLM",
	}[r.PathValue("scheme")])
	http.Error(w, "a password is needed", http.StatusUnauthorized)
}

// A trigger is something in native.html that may make the browser open a native
// dialog.
type trigger struct {
	id, about string
	asks      bool   // the dialog takes the input of the tab in a headless browser that opens it
	result    string // what the page gets where the dialog is prevented; not waited for when empty
	note      string // of the click that triggers it
}

// triggers are those of native.html.
var triggers = []trigger{
	{id: "tel", about: "a tel: link", asks: true, note: `the link to "tel:" was not opened`},
	{id: "telByScript", about: "a tel: address by script", asks: true, note: `the link to "tel:" was not opened`},
	{id: "appByScript", about: "an address of another program by script", asks: true, note: `the link to "myapp:" was not opened`},
	{id: "appInFrame", about: "an address of another program in a frame", asks: true, note: `the link to "myapp:" was not opened`},
	{id: "mailto", about: "a mailto: link", note: `the link to "mailto:" was not opened`},
	{id: "authFetch", about: "a fetch that needs a password", asks: true, result: "done 401"},
	{id: "authDigest", about: "a fetch that needs digest authentication", asks: true, result: "done 401"},
	{id: "authNtlm", about: "a fetch that needs NTLM authentication", asks: true, result: "done 401"},
	{id: "authRequest", about: "an XMLHttpRequest that needs a password", asks: true, result: "done 401"},
	{id: "authImage", about: "an image that needs a password", asks: true, result: "done error"},
	{id: "authFrame", about: "a frame that needs a password", asks: true, result: "done loaded"},
	{id: "passkeyGet", about: "a request for a passkey", asks: true},
	{id: "passkeyCreate", about: "the making of a passkey"},
	{id: "digital", about: "a request for a digital credential", asks: true, result: "failed NotSupportedError"},
	{id: "screen", about: "a request for the screen", asks: true, result: "failed NotAllowedError"},
	{id: "password", about: "a request for a saved password", result: "done null"},
	{id: "camera", about: "a request for the camera"},
	{id: "location", about: "a request for the location"},
	{id: "notification", about: "a request for notifications"},
	{id: "midi", about: "a request for MIDI devices"},
	{id: "clipboard", about: "a request for the clipboard"},
	{id: "usb", about: "a request for a USB device"},
	{id: "serial", about: "a request for a serial port"},
	{id: "hid", about: "a request for an input device"},
	{id: "openFile", about: "a file picker"},
	{id: "saveFile", about: "a picker for a file to save"},
	{id: "folder", about: "a directory picker"},
	{id: "colour", about: "a color picker"},
	{id: "date", about: "a date picker"},
	{id: "select", about: "a list of options"},
	{id: "payment", about: "a request for a payment"},
	{id: "handler", about: "a request to handle a protocol"},
	{id: "print", about: "printing"},
	{id: "eyedropper", about: "an eyedropper"},
	{id: "fullscreen", about: "full screen"},
	{id: "downloads", about: "several downloads at once"},
	{id: "save", about: "a form with a password"},
}

// dialogTime is how long a dialog of the browser may take to open. Chromium asks
// the desktop first about links to other programs.
const dialogTime = 1500 * time.Millisecond

func (s *suite) nativeDialogs(t *testing.T) {
	for _, tr := range triggers {
		s.page(t, tr.about, "", func(c *scene) {
			tab, err := c.exec.NewTab(c.ctx, c.otherURL("native.html"), nil) // a name, which passkeys need
			if err != nil {
				c.Fatal(err)
			}
			c.tab = tab.ID
			a := c.click(css("#"+tr.id), nil)
			note := tr.note
			if c.h.UserAnswers && note != "" {
				note = "which may ask its user"
			}
			c.wantIn(a.Note, note)
			switch {
			case !c.h.UserAnswers:
				if tr.result != "" {
					got := c.evalString(fmt.Sprintf("new Promise((done) => { const look = () => (results.%s ? done(results.%[1]s) : setTimeout(look, 10)); look(); })", tr.id))
					if got != tr.result {
						c.Errorf("the page got %q, want %q", got, tr.result)
					}
				}
				c.takesInput(tr.asks)
			case tr.asks:
				c.refusesInput()
			default:
				c.takesInput(false)
			}
		})
	}
	for name, do := range sorted(map[string]func(c *scene) error{
		"click": func(c *scene) error { _, err := c.exec.Click(c.ctx, c.tab, css("#plain"), nil); return err },
		"hover": func(c *scene) error { _, err := c.exec.Hover(c.ctx, c.tab, css("#plain"), nil); return err },
		"press": func(c *scene) error {
			_, err := c.exec.Press(c.ctx, c.tab, "a", &executor.PressOptions{Target: css("#field")})
			return err
		},
		"press of a chord, without a target": func(c *scene) error {
			_, err := c.exec.Press(c.ctx, c.tab, "Control+Shift+ArrowLeft", nil)
			return err
		},
		"type with Enter": func(c *scene) error {
			_, err := c.exec.Type(c.ctx, c.tab, css("#field"), "a", &executor.TypeOptions{PressEnter: true})
			return err
		},
	}) {
		s.page(t, "input that the browser keeps from the page: "+name, "native.html", func(c *scene) {
			if c.h.UserAnswers {
				c.click(css("#authFetch"), nil)
				c.refusesInput()
				c.wantCode(do(c), executor.ErrNotActionable, "kept the input from the page", "ask the user")
				return
			}
			c.h.Raw(c.T, c.url("native.html"), "Input.setIgnoreInputEvents", map[string]any{"ignore": true})
			c.wantCode(do(c), executor.ErrNotActionable, "kept the input from the page", "ask the user")
			c.h.Raw(c.T, c.url("native.html"), "Input.setIgnoreInputEvents", map[string]any{"ignore": false})
			if err := do(c); err != nil {
				c.Errorf("the browser keeps nothing from the page any more: %v", err)
			}
		})
	}
	s.page(t, "a document that needs a password", "native.html", func(c *scene) {
		n, err := c.exec.Navigate(c.ctx, c.tab, c.path("/auth/basic"), nil)
		if err != nil {
			c.Fatal(err)
		}
		if n.HTTPStatus != http.StatusUnauthorized {
			c.Errorf("status %d, want 401", n.HTTPStatus)
		}
		c.wantIn(c.snap(nil), "a password is needed")
	})
}

// takesInput checks that the tab takes input, with long for as long as it may take
// a dialog to open.
func (c *scene) takesInput(long bool) {
	c.Helper()
	for start := time.Now(); ; {
		c.click(css("#plain"), nil)
		if r := c.await("click", "plain"); !r.Trusted {
			c.Errorf("the page got %+v", r)
		}
		if !long || time.Since(start) > dialogTime {
			break
		}
	}
	if _, err := c.exec.Press(c.ctx, c.tab, "a", &executor.PressOptions{Target: css("#field")}); err != nil {
		c.Error(err)
	}
	c.await("keydown", "field")
	if _, err := c.exec.Type(c.ctx, c.tab, css("#field"), "b", nil); err != nil {
		c.Error(err)
	}
	c.wantValue("field.value", "ab")
}

// refusesInput waits until a dialog of the browser takes the input of the tab, and
// checks that calls say so.
func (c *scene) refusesInput() {
	c.Helper()
	var err error
	for err == nil && c.ctx.Err() == nil {
		_, err = c.exec.Click(c.ctx, c.tab, css("#plain"), nil)
	}
	c.wantCode(err, executor.ErrNotActionable, "kept the input from the page", "ask the user")
	_, err = c.exec.Press(c.ctx, c.tab, "a", &executor.PressOptions{Target: css("#field")})
	c.wantCode(err, executor.ErrNotActionable, "did not receive the key", "ask the user")
	c.wantValue("field.value", "")
}

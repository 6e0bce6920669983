package executortest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// untrustedSite serves a page whose certificate the browser does not accept.
func (c *testCase) untrustedSite() (url string) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>Vault</title><h1>Vault</h1>")
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // rejected handshakes are expected
	s.StartTLS()
	c.Cleanup(s.Close)
	return s.URL + "/"
}

func (s *suite) errorPages(t *testing.T) {
	s.page(t, "certificate warning is read and left, not acted on", "second.html", func(c *testCase) {
		url := c.untrustedSite()
		_, err := c.page().Navigate(c.ctx, url, nil)
		c.wantCode(err, executor.ErrNavigationFailed, "certificate")
		c.met(executor.WaitCondition{Text: "Advanced"}) // a script of the warning writes its text
		c.wantIn(c.snap(nil), "Advanced")
		for name, act := range sorted(map[string]func() error{
			"click":        func() error { return errOf(c.page().Click(c.ctx, css("#details-button"), nil)) },
			"click a text": func() error { return errOf(c.page().Click(c.ctx, css("text=Advanced"), nil)) },
			"hover":        func() error { return errOf(c.page().Hover(c.ctx, css("#details-button"), nil)) },
			"type":         func() error { return errOf(c.page().Type(c.ctx, css("body"), "thisisunsafe", nil)) },
			"press":        func() error { return errOf(c.page().Press(c.ctx, "Enter", nil)) },
			"mouse": func() error {
				return errOf(c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseClick, X: 40, Y: 40}))
			},
			"eval":            func() error { return errOf(c.page().Eval(c.ctx, "document.title", nil)) },
			"wait for script": func() error { return errOf(c.page().WaitFor(c.ctx, executor.WaitCondition{Expression: "true"})) },
			"raw input": func() error {
				return errOf(c.page().CDP(c.ctx, "Input.insertText", map[string]any{"text": "thisisunsafe"}))
			},
		}) {
			if err := act(); executor.CodeOf(err) != executor.ErrPolicyDenied || !strings.Contains(err.Error(), "only a person can accept this") {
				c.Errorf("%s: %v", name, err)
			}
		}
		c.met(executor.WaitCondition{URL: url})
		_, err = c.page().Reload(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed)
		if nav := c.back(); nav.Title != "Second" {
			c.Errorf("back ended at %+v", *nav)
		}
		_, err = c.page().CDP(c.ctx, "Security.setIgnoreCertificateErrors", map[string]any{"ignore": true})
		c.wantCode(err, executor.ErrPolicyDenied)
		_, err = c.page().Navigate(c.ctx, url, nil)
		c.wantCode(err, executor.ErrNavigationFailed)
	})
	s.page(t, "certificate warning is left by navigating, not acted on", "second.html", func(c *testCase) {
		url := c.untrustedSite()
		_, err := c.page().Navigate(c.ctx, url, nil)
		c.wantCode(err, executor.ErrNavigationFailed, "certificate")
		_, err = c.page().Press(c.ctx, "Enter", nil)
		c.wantCode(err, executor.ErrPolicyDenied, "only a person can accept this")
		_, err = c.page().Reload(c.ctx, nil)
		if code := executor.CodeOf(err); code != executor.ErrNavigationFailed && (code != executor.ErrPolicyDenied || !strings.Contains(err.Error(), "navigate to another URL")) {
			c.Errorf("reload: %v", err)
		}
		_, err = c.page().Navigate(c.ctx, url, nil)
		c.wantCode(err, executor.ErrNavigationFailed, "certificate")
		c.goTo(c.url("second.html"), nil)
		c.click(css("h1"), nil)
	})
	s.page(t, "page that could not be loaded is read and left, not acted on", "second.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, c.navigationURL("reset"), nil)
		c.wantCode(err, executor.ErrNavigationFailed)
		if _, err := c.page().Text(c.ctx, nil); err != nil {
			c.Error(err)
		}
		_, err = c.page().Press(c.ctx, "Enter", nil)
		c.wantCode(err, executor.ErrPolicyDenied, "only a person")
		c.goTo(c.url("second.html"), nil)
		c.click(css("h1"), nil)
	})
	s.page(t, "frame that could not be loaded is not acted on", "second.html", func(c *testCase) {
		c.eval("document.body.innerHTML = '<iframe style=\"position: fixed; inset: 0; width: 300px; height: 300px\"></iframe>'; "+
			"new Promise((done) => { const f = document.querySelector('iframe'); f.onload = () => done(0); f.src = "+quote(c.navigationURL("reset"))+" })", nil)
		_, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseClick, X: 100, Y: 100})
		c.wantCode(err, executor.ErrPolicyDenied, "only a person")
	})
	s.page(t, "own blank page is not an error page", "", func(c *testCase) {
		c.tab = c.openURL("").ID
		c.must(c.page().Press(c.ctx, "Enter", nil))
	})
}

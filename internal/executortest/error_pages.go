package executortest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// untrustedSite serves a page whose certificate the browser does not accept.
func untrustedSite(c *suite.Case) (url string) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>Vault</title><h1>Vault</h1>")
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // rejected handshakes are expected
	s.StartTLS()
	c.Cleanup(s.Close)
	return s.URL + "/"
}

func errorPages(s *suite.Runner, t *testing.T) {
	s.Page(t, "certificate warning is read and left, not acted on", "second.html", func(c *suite.Case) {
		url := untrustedSite(c)
		_, err := c.Page().Navigate(c.Ctx, url, nil)
		c.WantCode(err, executor.ErrNavigationFailed, "certificate")
		c.Met(executor.WaitCondition{Text: "Advanced"}) // a script of the warning writes its text
		c.WantIn(c.Snap(nil), "Advanced")
		for name, act := range suite.Sorted(map[string]func() error{
			"click":        func() error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#details-button"), nil)) },
			"click a text": func() error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("text=Advanced"), nil)) },
			"hover":        func() error { return suite.ErrOf(c.Page().Hover(c.Ctx, suite.Selector("#details-button"), nil)) },
			"type":         func() error { return suite.ErrOf(c.Page().Type(c.Ctx, suite.Selector("body"), "thisisunsafe", nil)) },
			"press":        func() error { return suite.ErrOf(c.Page().Press(c.Ctx, "Enter", nil)) },
			"mouse": func() error {
				return suite.ErrOf(c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseClick, X: 40, Y: 40}))
			},
			"eval":            func() error { return suite.ErrOf(c.Page().Eval(c.Ctx, "document.title", nil)) },
			"wait for script": func() error { return suite.ErrOf(c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Expression: "true"})) },
			"raw input": func() error {
				return suite.ErrOf(c.Page().CDP(c.Ctx, "Input.insertText", map[string]any{"text": "thisisunsafe"}))
			},
		}) {
			if err := act(); executor.CodeOf(err) != executor.ErrPolicyDenied || !strings.Contains(err.Error(), "only a person can accept this") {
				c.Errorf("%s: %v", name, err)
			}
		}
		c.Met(executor.WaitCondition{URL: url})
		_, err = c.Page().Reload(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed)
		if nav := c.Back(); nav.Title != "Second" {
			c.Errorf("back ended at %+v", *nav)
		}
		_, err = c.Page().CDP(c.Ctx, "Security.setIgnoreCertificateErrors", map[string]any{"ignore": true})
		c.WantCode(err, executor.ErrPolicyDenied)
		_, err = c.Page().Navigate(c.Ctx, url, nil)
		c.WantCode(err, executor.ErrNavigationFailed)
	})
	s.Page(t, "certificate warning is left by navigating, not acted on", "second.html", func(c *suite.Case) {
		url := untrustedSite(c)
		_, err := c.Page().Navigate(c.Ctx, url, nil)
		c.WantCode(err, executor.ErrNavigationFailed, "certificate")
		_, err = c.Page().Press(c.Ctx, "Enter", nil)
		c.WantCode(err, executor.ErrPolicyDenied, "only a person can accept this")
		_, err = c.Page().Reload(c.Ctx, nil)
		if code := executor.CodeOf(err); code != executor.ErrNavigationFailed && (code != executor.ErrPolicyDenied || !strings.Contains(err.Error(), "navigate to another URL")) {
			c.Errorf("reload: %v", err)
		}
		_, err = c.Page().Navigate(c.Ctx, url, nil)
		c.WantCode(err, executor.ErrNavigationFailed, "certificate")
		c.GoTo(c.URL("second.html"), nil)
		c.Click(suite.Selector("h1"), nil)
	})
	s.Shared().Page(t, "page that could not be loaded is read and left, not acted on", "second.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, "https"+strings.TrimPrefix(c.URL(""), "http"), nil) // a proxy answers a failed request of http with a page
		c.WantCode(err, executor.ErrNavigationFailed)
		if _, err := c.Page().Text(c.Ctx, nil); err != nil {
			c.Error(err)
		}
		_, err = c.Page().Press(c.Ctx, "Enter", nil)
		c.WantCode(err, executor.ErrPolicyDenied, "only a person")
		c.GoTo(c.URL("second.html"), nil)
		c.Click(suite.Selector("h1"), nil)
	})
	s.Shared().Page(t, "frame that could not be loaded is not acted on", "second.html", func(c *suite.Case) {
		c.Eval("document.body.innerHTML = '<iframe style=\"position: fixed; inset: 0; width: 300px; height: 300px\"></iframe>'; "+
			"new Promise((done) => { const f = document.querySelector('iframe'); f.onload = () => done(0); f.src = "+suite.Quote("https"+strings.TrimPrefix(c.URL(""), "http"))+" })", nil)
		_, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseClick, X: 100, Y: 100})
		c.WantCode(err, executor.ErrPolicyDenied, "only a person")
	})
	s.Shared().Page(t, "own blank page is not an error page", "", func(c *suite.Case) {
		c.Tab = c.OpenURL("").ID
		c.Must(c.Page().Press(c.Ctx, "Enter", nil))
	})
}

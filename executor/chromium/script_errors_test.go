package chromium

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestScriptErrors runs text of a denied site as a script: the error quotes the text. The page does not
// receive that error, and neither does the client, in the list of errors or in the result of an action.
func TestScriptErrors(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/script.js" {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, "throw new Error('of a script')")
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "SECRET")
	}))
	t.Cleanup(other.Close)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, other.URL+"/text", http.StatusFound)
		case "/own":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "ofTheSite")
		case "/worker.js":
			serveWorker(w, fmt.Sprintf("if (e.request.url.includes('/opaque')) e.respondWith(fetch(%q, {mode: 'no-cors'}))", other.URL))
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><title>Page</title><link rel=icon href=data:,><button>Load</button><script>
				let script = '';
				const load = (src) => new Promise((done) => {
					document.body.append(Object.assign(document.createElement('script'), {src, onload: () => done(true), onerror: () => done(false)}));
				});
				addEventListener('click', () => load(script));
			</script>`)
		}
	}))
	t.Cleanup(site.Close)
	gate := executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if a.Origin == other.URL {
			return executor.Errorf(executor.ErrPolicyDenied, "", "the site is denied")
		}
		return nil
	})
	ctx := await.Context(t)
	s, err := newBrowser(t, testOptions(t)).NewSession(&executor.SessionOptions{Gate: gate, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL})
	if err != nil {
		t.Fatal(err)
	}
	p := pagetest.Of(s, tab.ID)
	eval := func(expression string) {
		t.Helper()
		if res, err := p.Eval(ctx, expression, nil); err != nil || !res.OK {
			t.Fatalf("%s: %+v, %v", expression, res, err)
		}
	}
	eval(registerWorker)
	for i, c := range []struct{ src, want string }{
		{other.URL + "/text", "Script error."},
		{"/redirect", "Script error."},
		{"/opaque", "Script error."},
		{other.URL + "/script.js", "of a script"},
		{"/own", "ofTheSite"},
	} {
		eval(fmt.Sprintf("load(%q)", c.src))
		errs, err := p.PageErrors(ctx, nil)
		if err != nil || len(errs.Errors) != i+1 {
			t.Fatalf("errors after %s: %+v, %v", c.src, errs, err)
		}
		if text := errs.Errors[i].Text; !strings.Contains(text, c.want) || strings.Contains(text, "SECRET") {
			t.Errorf("%s: the error is %q, want %q", c.src, text, c.want)
		}
	}
	eval(fmt.Sprintf("script = %q", other.URL+"/text"))
	res, err := p.Click(ctx, executor.Target{Selector: "button"}, nil)
	if err != nil || len(res.Errors) != 1 || res.Errors[0] != "Script error." {
		t.Errorf("the click reports %+v, %v", res, err)
	}
}

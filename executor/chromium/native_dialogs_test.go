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

// TestAttachedDialogs requests a password and a passkey in an attached browser,
// in a separate browser context. No dialog opens: the page receives the 401
// response, and the tab still accepts input. Authentication to the proxy still
// works.
func TestAttachedDialogs(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "a password is needed", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>page</title><link rel=icon href=data:,><button id=plain onclick="this.textContent = 'clicked'">Plain</button>
			<button id=fetch onclick="fetch('/secret').then((r) => document.title = r.status)">Fetch</button>
			<button id=passkey onclick="navigator.credentials.get({publicKey: {challenge: new Uint8Array(32)}}); setTimeout(() => document.title = 'asked', 500)">Passkey</button>`)
	}))
	t.Cleanup(srv.Close)
	site := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1) // a host name, which passkeys need
	_, address := startForeign(t, t.TempDir())
	for trigger, title := range map[string]string{"fetch": "401", "passkey": "asked"} {
		t.Run(trigger, func(t *testing.T) {
			ctx := await.Context(t)
			o := fullOptions(t)
			o.CDPEndpoint, o.Network = address, documents{hosts{"localhost"}}
			s := newSession(t, newBrowser(t, o))
			_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: site + "/"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pagetest.Of(s, tab.ID).Click(ctx, executor.Target{Selector: "#" + trigger}, nil); err != nil {
				t.Fatal(err)
			}
			got, err := pagetest.Of(s, tab.ID).Eval(ctx, fmt.Sprintf("new Promise((done) => { const check = () => (document.title === %q ? done(1) : setTimeout(check, 10)); check(); })", title), nil)
			if err != nil || !got.OK {
				t.Fatalf("the page waits for the dialog: %+v, %v", got, err)
			}
			if _, err := pagetest.Of(s, tab.ID).Click(ctx, executor.Target{Selector: "#plain"}, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

package leaktest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// spellings are paths that some servers read as /admin or below: servers that
// decode paths, merge slashes, resolve dot segments or remove parameters.
var spellings = []string{
	"/admin", "/ADMIN/x", "//admin", "/%61dmin", "/%2561dmin", "/x/..%2fadmin", "/.%2fadmin", "/%2e%2fadmin", "/x%2f..%2fadmin", "/x/..%5cadmin",
	"/x/..;/admin", "/;x/admin", "/%c0%afadmin", "/ad%80min", "/admin%00", "/%ef%bd%81dmin",
}

// Paths navigates to spellings of a denied path, and opens a page of the same host
// that fetches them, loads them in frames and opens WebSockets to them. No request
// may arrive.
func Paths(t *testing.T, h Harness) {
	tier.Browser(t)
	var mu sync.Mutex
	var arrived []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _, _ := strings.Cut(r.RequestURI, "?")
		if reachesAdmin(sent) {
			mu.Lock()
			arrived = append(arrived, sent)
			mu.Unlock()
		}
		if r.Header.Get("Upgrade") == "websocket" {
			if c, err := websocket.Accept(w, r, nil); err == nil {
				c.CloseNow()
			}
			return
		}
		if sent == "/x.json" {
			fmt.Fprint(w, "{}")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		if sent == "/fetches" {
			fmt.Fprintf(w, fetches, "'"+strings.Join(append([]string{"/x"}, spellings...), "', '")+"'")
			return
		}
		fmt.Fprintf(w, "<title>target</title>%s", sent)
	}))
	t.Cleanup(server.Close)
	at := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	p, err := policy.New(policy.Config{AllowDomains: []string{"localhost"}, BlockDomains: []string{"localhost/admin"}})
	if err != nil {
		t.Fatal(err)
	}
	b := h.Start(t, Setup{Policy: p, UnmanagedVisits: func() string { return at + "/user" }})
	t.Cleanup(func() { b.Close(t) })
	s := b.NewSession(t)
	t.Cleanup(func() { s.Close() })
	ctx := t.Context()
	open := func(address string) error {
		_, err := s.Navigate(ctx, address, nil)
		return err
	}
	if _, _, err := s.NewPage(ctx, &executor.NewPageOptions{URL: at + "/"}); err != nil {
		t.Fatal(err)
	}
	for _, spelling := range spellings {
		if err := open(at + spelling); executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("navigate to %s: %v, want %s", spelling, err, executor.ErrPolicyDenied)
		}
	}
	// Other paths of the host are allowed, including non-ASCII paths.
	for _, spelling := range []string{"/caf%C3%A9/%E6%97%A5", "/a%20b/@x;y=z", "/x?next=%2fadmin"} {
		if err := open(at + spelling); err != nil {
			t.Errorf("navigate to %s: %v", spelling, err)
		}
	}
	if err := open(at + "/fetches"); err != nil {
		t.Fatal(err)
	}
	if res, err := pagetest.Of(s, "").WaitFor(ctx, &executor.WaitCondition{Text: "fetched:"}); err != nil || !res.Matched {
		t.Fatalf("the page that fetches: %+v, %v", res, err)
	}
	if text, err := pagetest.Of(s, "").Text(ctx, nil); err != nil || strings.TrimSpace(text.Content) != "fetched: /x ws:/x" {
		t.Errorf("the page shows %q, %v", text.Content, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(arrived) > 0 {
		t.Errorf("the server received %q", arrived)
	}
}

// reachesAdmin reports whether the lenient server serves /admin for a path.
func reachesAdmin(sent string) bool {
	p := sent
	for range 2 {
		if dec, err := url.PathUnescape(p); err == nil {
			p = dec
		}
	}
	p = strings.NewReplacer(`\`, "/", "\x00", "", "\xc0\xaf", "/", "\uff41", "a").Replace(p)
	p = strings.ToValidUTF8(p, "")
	segments := strings.Split(p, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, ";")
	}
	return strings.HasPrefix(strings.ToLower(path.Clean(strings.Join(segments, "/"))), "/admin")
}

// fetches is a page that lists the paths that it could fetch.
const fetches = `<!doctype html><title>fetches</title><p id=said></p><script type=module>
	const got = [];
	const connects = (path) => new Promise((done) => {
		const socket = new WebSocket(new URL(path, location.href.replace('http', 'ws')));
		socket.onopen = () => done(true);
		socket.onerror = () => done(false);
	});
	for (const path of [%s]) {
		await fetch(path).then((r) => { if (r.status === 200) got.push(path) }, () => {});
		if (await connects(path)) got.push('ws:' + path);
		const frame = document.createElement('iframe');
		await new Promise((done) => { frame.onload = done; frame.src = path; document.body.append(frame); });
		frame.remove();
	}
	said.textContent = 'fetched: ' + got.join(' ');
</script>`

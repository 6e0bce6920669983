package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// A pagesSite serves pages and counts the requests for each path.
type pagesSite struct {
	*httptest.Server
	mu   sync.Mutex
	hits map[string]int
}

// article is the main content of a page, long enough to be recognized.
var article = "<article><h1>Walnut lamps</h1>" + strings.Repeat("<p>A lamp of walnut has a warm light, and its cable is covered with linen, which is unusual.</p>", 12) + "</article>"

func newPagesSite(t *testing.T) *pagesSite {
	s := &pagesSite{hits: map[string]int{}}
	types := map[string]string{"/plain": "text/plain", "/image": "image/png", "/latin1": "text/html; charset=iso-8859-1", "/nonsense": "?", "/untyped": "", "/json": "application/json"}
	pages := map[string]string{
		"/article":     "<!doctype html><title>Lamps</title><script src=/x.js></script><nav><a href=/a>Menu</a></nav>" + article,
		"/static":      "<!doctype html><title>Short</title><p>One line. <a href=next>Next</a>",
		"/data":        `<!doctype html><script type="application/ld+json">{}</script><p>One line.`,
		"/app":         "<!doctype html><title>App</title><div id=root>Loading</div><script>document.getElementById('root').textContent = 'Rendered by ' + 'script'</script>",
		"/module":      "<!doctype html><p>Loading</p><script type=module src=/x.js></script>",
		"/meta":        "<!doctype html><meta HTTP-EQUIV=' Refresh ' content='0; url=/static'><p>One moment.",
		"/empty":       "<!doctype html><title>Nothing</title>",
		"/hidden":      "<!doctype html><p>Visible.</p><p style='display: none'>Invisible.</p><p hidden>Invisible.</p>",
		"/latin1":      "<!doctype html><p>caf\xe9",
		"/plain":       "# Not markdown\n\x1b[31mred\x1b[0m",
		"/image":       "PNG",
		"/json":        `{"a": 1}`,
		"/nonsense":    "<p>text",
		"/untyped":     "<p>text",
		"/secret/page": "<!doctype html><p>Secret",
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits[r.URL.Path]++
		s.mu.Unlock()
		if strings.HasPrefix(r.UserAgent(), "chrome-mcp/") && len(r.Header) > 3 { // with Accept and Accept-Encoding
			t.Errorf("%s has headers %v", r.URL.Path, r.Header)
		}
		switch path := r.URL.Path; {
		case path == "/negotiated" && strings.HasPrefix(r.Header.Get("Accept"), "text/markdown, "):
			w.Header().Set("Content-Type", "text/markdown")
			fmt.Fprint(w, "# Märkdown\n\nFrom the server.\n")
		case path == "/redirect":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		case path == "/badredirect":
			if to := r.URL.Query().Get("to"); to != "" {
				w.Header().Set("Location", to)
			}
			w.WriteHeader(http.StatusFound)
		case path == "/refresh":
			w.Header().Set("Refresh", "0; url=/static")
			fmt.Fprint(w, "<p>text")
		case path == "/attachment":
			w.Header().Set("Content-Disposition", "attachment")
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>text")
		case pages[path] != "":
			kind, ok := types[path]
			if !ok {
				kind = "text/html; charset=utf-8"
			}
			w.Header()["Content-Type"] = []string{kind}
			fmt.Fprint(w, pages[path])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *pagesSite) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

// TestReadCommand reads pages with the built program and without a browser.
func TestReadCommand(t *testing.T) {
	site := newPagesSite(t)
	home := t.TempDir()
	log := filepath.Join(home, "audit")
	read := func(args ...string) (stdout, stderr string, code int) {
		return runProgram(t, home, append([]string{"read", "--browser", "/no/such/browser", "--audit-log", log}, args...)...)
	}
	stdout, stderr, code := read(site.URL+"/plain", "--allow-domain", site.URL)
	first, rest, _ := strings.Cut(stdout, "\n")
	if code != 0 || stderr != "" || !strings.HasPrefix(first, "<page ") || !strings.HasSuffix(first, " "+site.URL+">") || !strings.HasPrefix(rest, "# Not markdown\nred\n</page ") {
		t.Errorf("exit code %d\n%q\n%s", code, stdout, stderr)
	}
	stdout, stderr, code = read(site.URL+"/static", "--allow-domain", site.URL, "--json", "--via", "http")
	var page readPage
	if err := json.Unmarshal([]byte(stdout), &page); err != nil || code != 0 || stderr != "" || page != (readPage{
		URL: site.URL + "/static", Title: "Short", Markdown: "One line. [Next](" + site.URL + "/next)", Via: viaHTTP,
	}) {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{site.URL + "/static"}, 4, "is not in the allow list"},
		{[]string{site.URL + "/app", "--allow-domain", site.URL, "--via", "http"}, 1, "error: the page cannot be read without a browser: it needs scripts\nhint: Omit --via http.\n"},
		{[]string{site.URL + "/app", "--allow-domain", site.URL}, cli.ExitUsage, "Reading the page with a browser: it needs scripts.\nerror: --browser: browser /no/such/browser does not exist\n"},
		{[]string{"example.com"}, 3, "error: \"example.com\" is not an http or https URL\n"},
		{[]string{"file:///etc/passwd", "--via", "browser"}, 3, "is not an http or https URL\n"},
		{nil, cli.ExitUsage, "error: read needs a URL\n"},
		{[]string{site.URL, site.URL}, cli.ExitUsage, "error: unexpected argument"},
		{[]string{site.URL, "--via", "curl"}, cli.ExitUsage, "error: --via: "},
		{[]string{site.URL, "--policy", "/no/such/file"}, cli.ExitUsage, "does not exist\n"},
	} {
		stdout, stderr, code := read(c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("read %q: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
	entries, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"tool":"read","origin":"` + site.URL + `","decision":"allowed","code":"OK"`, `"tool":"read","origin":"` + site.URL + `","decision":"denied"`} {
		if !strings.Contains(string(entries), want) {
			t.Errorf("the audit log has no %s:\n%s", want, entries)
		}
	}
	if strings.Contains(string(entries), "/static") {
		t.Errorf("the audit log has a path:\n%s", entries)
	}
}

// TestReadInBrowser reads a page that its script renders.
func TestReadInBrowser(t *testing.T) {
	needChromium(t)
	if testing.Short() {
		t.Skip("starts a browser")
	}
	site := newPagesSite(t)
	home := t.TempDir()
	args := append([]string{"read", site.URL + "/redirect?to=/app", "--headless", "--allow-domain", site.URL}, rootNeedsNoSandbox()...)
	stdout, stderr, code := runProgram(t, home, args...)
	if code != 0 || !strings.Contains(stdout, "\nRendered by script\n</page ") || stderr != "Reading the page with a browser: it needs scripts.\n" {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	stdout, stderr, code = runProgram(t, home, append(args, "--json", "--via", "browser")...)
	var page readPage
	if err := json.Unmarshal([]byte(stdout), &page); err != nil || code != 0 || stderr != "" || page != (readPage{
		URL: site.URL + "/app", Title: "App", Markdown: "Rendered by script", Via: viaBrowser,
	}) {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	stdout, stderr, code = runProgram(t, home, append([]string{"read", site.URL + "/static", "--headless", "--via", "browser", "--json"}, rootNeedsNoSandbox()...)...)
	if code != 4 || stdout != "" || !strings.HasPrefix(stderr, "POLICY_DENIED: ") {
		t.Errorf("denied: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	for _, dir := range []string{"profiles", "tmp"} {
		if left, _ := filepath.Glob(filepath.Join(home, cli.DefaultDataName, dir, "*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

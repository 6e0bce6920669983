package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/policy"
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

// loopbackResolver resolves all names to this machine.
type loopbackResolver struct{}

func (loopbackResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func newReader(t *testing.T, config policy.Config) *httpReader {
	t.Helper()
	rules, err := policy.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &httpReader{guard: policy.NewGuard(rules, nil), resolver: loopbackResolver{}, log: slog.New(slog.DiscardHandler)}
}

func TestReadHTTP(t *testing.T) {
	site := newPagesSite(t)
	r := newReader(t, policy.Config{AllowDomains: []string{site.URL}})
	for _, c := range []struct{ path, want, url string }{
		{"/negotiated", "# Märkdown\n\nFrom the server.\n", ""},
		{"/article", "# Walnut lamps\n\nA lamp of walnut", ""},
		{"/static", "One line. [Next](" + site.URL + "/next)", ""},
		{"/static#part", "One line.", site.URL + "/static"},
		{"/data", "One line.", ""},
		{"/hidden", "Visible.", ""},
		{"/latin1", "café", ""},
		{"/plain", "# Not markdown\n", ""},
		{"/json", "```json\n{\"a\": 1}\n```", ""},
		{"/redirect?to=/redirect?to=/static", "One line.", site.URL + "/static"},
	} {
		page, err := r.read(t.Context(), site.URL+c.path)
		if err != nil || !strings.HasPrefix(page.Markdown, c.want) || strings.Contains(page.Markdown, "Invisible") || strings.Contains(page.Markdown, "Menu") || page.Via != viaHTTP {
			t.Errorf("%s: %+v, %v", c.path, page, err)
			continue
		}
		if want := c.url; want != "" && page.URL != want || want == "" && page.URL != site.URL+c.path {
			t.Errorf("%s: URL %s", c.path, page.URL)
		}
	}
	for path, want := range map[string]string{
		"/app": "it needs scripts", "/module": "it needs scripts", "/empty": "it needs scripts",
		"/meta": "it loads another page", "/refresh": "it loads another page",
		"/image": "it is not a text", "/nonsense": "it is not a text", "/untyped": "it is not a text", "/attachment": "it is a download",
		"/none": "responded with status 404", "/badredirect": "it has an invalid redirect", "/badredirect?to=http://[": "it has an invalid redirect",
		"/redirect?to=/none": "responded with status 404",
		"/redirect?to=" + strings.Repeat("/redirect%3Fto=", 21): "",
	} {
		page, err := r.read(t.Context(), site.URL+path)
		if reason, ok := errors.AsType[needsBrowserError](err); !ok || !strings.Contains(string(reason), want) {
			t.Errorf("%s: %+v, %v, want %q", path, page, err, want)
		}
	}
	site.Close()
	_, err := r.read(t.Context(), site.URL+"/static")
	if _, ok := errors.AsType[needsBrowserError](err); !ok {
		t.Errorf("no server: %v", err)
	}
}

// TestReadHTTPDenied checks that a denied URL, redirect or address gets no request.
func TestReadHTTPDenied(t *testing.T) {
	site, other := newPagesSite(t), newPagesSite(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	named := "http://site.test:" + port
	allowed := policy.Config{AllowDomains: []string{site.URL}}
	for _, c := range []struct {
		name   string
		config policy.Config
		url    string
		code   executor.Code
	}{
		{"no policy", policy.Config{}, site.URL + "/static", executor.ErrPolicyDenied},
		{"another site", allowed, other.URL + "/static", executor.ErrPolicyDenied},
		{"redirect to another site", allowed, site.URL + "/redirect?to=" + other.URL + "/static", executor.ErrPolicyDenied},
		{"blocked path", policy.Config{AllowDomains: []string{site.URL}, BlockDomains: []string{site.URL + "/secret/"}}, site.URL + "/secret/page", executor.ErrPolicyDenied},
		{"redirect to a blocked path", policy.Config{AllowDomains: []string{site.URL}, BlockDomains: []string{site.URL + "/secret/"}}, site.URL + "/redirect?to=/secret/page", executor.ErrPolicyDenied},
		{"redirect to a file", allowed, site.URL + "/redirect?to=file:///etc/passwd", executor.ErrPolicyDenied},
		{"redirect to a blank page", allowed, site.URL + "/redirect?to=about:blank", executor.ErrBadArgs},
		{"all public hosts", policy.Config{AllDomains: true}, site.URL + "/static", executor.ErrPolicyDenied},
		{"name of a private address", policy.Config{AllDomains: true}, named + "/static", executor.ErrPolicyDenied},
		{"allowed name of a private address", policy.Config{AllowDomains: []string{named}}, named + "/static", executor.ErrPolicyDenied},
		{"private address over TLS", policy.Config{AllDomains: true}, "https://site.test:" + port + "/static", executor.ErrPolicyDenied},
		{"redirect to a private address", policy.Config{AllowDomains: []string{site.URL, named}}, site.URL + "/redirect?to=" + named + "/static", executor.ErrPolicyDenied},
	} {
		page, err := newReader(t, c.config).read(t.Context(), c.url)
		if e, ok := errors.AsType[*executor.Error](err); !ok || e.Code != c.code {
			t.Errorf("%s: %+v, %v, want %s", c.name, page, err, c.code)
		}
	}
	if n := site.count("/static") + other.count("/static") + site.count("/secret/page"); n > 0 {
		t.Errorf("%d requests of denied pages", n)
	}
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
		{[]string{site.URL + "/app", "--allow-domain", site.URL}, exitUsage, "Reading the page with a browser: it needs scripts.\nerror: --browser: browser /no/such/browser does not exist\n"},
		{[]string{"example.com"}, 3, "error: \"example.com\" is not an http or https URL\n"},
		{[]string{"file:///etc/passwd", "--via", "browser"}, 3, "is not an http or https URL\n"},
		{nil, exitUsage, "error: read needs a URL\n"},
		{[]string{site.URL, site.URL}, exitUsage, "error: unexpected argument"},
		{[]string{site.URL, "--via", "curl"}, exitUsage, "error: --via: "},
		{[]string{site.URL, "--policy", "/no/such/file"}, exitUsage, "does not exist\n"},
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
		if left, _ := filepath.Glob(filepath.Join(home, defaultDataName, dir, "*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

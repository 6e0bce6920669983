package readcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/readable"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagesite"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

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
	site := pagesite.New(t)
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

// TestReadHTTPTruncated checks that a page that is too large is truncated, also if it is smaller as UTF-8.
func TestReadHTTPTruncated(t *testing.T) {
	for _, tt := range []struct {
		charset, char string
		chars         int
		want          bool
	}{
		{"utf-8", "x", readable.MaxBytes, false},
		{"utf-8", "x", readable.MaxBytes + 1, true},
		{"utf-16le", "x\x00", readable.MaxBytes / 2, false},
		{"utf-16le", "x\x00", readable.MaxBytes/2 + 1, true},
		{"latin1", "\xe9", readable.MaxBytes/2 + 1, true},
	} {
		page, err := pageOf(t.Context(), "https://a.test/", &http.Response{
			Header: http.Header{"Content-Type": {"text/markdown; charset=" + tt.charset}},
			Body:   io.NopCloser(strings.NewReader(strings.Repeat(tt.char, tt.chars))),
		})
		if err != nil || page.Truncated != tt.want {
			t.Errorf("%d characters of %s: truncated %t, %v", tt.chars, tt.charset, page != nil && page.Truncated, err)
		}
	}
}

// TestReadHTTPDenied checks that a denied URL, redirect or address gets no request.
func TestReadHTTPDenied(t *testing.T) {
	site, other := pagesite.New(t), pagesite.New(t)
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
	if n := site.Count("/static") + other.Count("/static") + site.Count("/secret/page"); n > 0 {
		t.Errorf("%d requests of denied pages", n)
	}
}

// TestReadHTTPOwnPorts checks that a page without a browser redirects neither to the servers of this
// program nor to the debugging port of an attached browser, as in a browser, whatever the user allows.
func TestReadHTTPOwnPorts(t *testing.T) {
	site, debugging := pagesite.New(t), pagesite.New(t)
	settings := func(t *testing.T, args ...string) *cli.Settings {
		s, err := cli.Parse(append([]string{"--config=none", "--data", t.TempDir(), "--allow-domain", "127.0.0.1"}, args...), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	address := site.URL + "/redirect?to=" + debugging.URL + "/static"
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"browsers": {"work": {"type": "endpoint", "url": "`+debugging.URL+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	running := settings(t)
	server, err := bridge.New(&bridge.Options{DataDir: running.Data, ExtensionID: "x", Port: bridge.AnyPort, Policy: func() bridge.Policy { return bridge.Policy{} }})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	for name, c := range map[string]struct {
		s   *cli.Settings
		url string
	}{
		"endpoint":       {settings(t, "--cdp-endpoint", debugging.URL), address},
		"named endpoint": {settings(t, "--config", config), address},
		"bridge":         {running, fmt.Sprintf("%s/redirect?to=http://127.0.0.1:%d/", site.URL, server.Port())},
	} {
		page, err := readHTTP(t.Context(), c.s, c.url, io.Discard)
		if executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("%s: %+v, %v, want %s", name, page, err, executor.ErrPolicyDenied)
		}
	}
	if n := debugging.Count("/static"); n > 0 {
		t.Errorf("%d requests at the debugging port", n)
	}
	if page, err := readHTTP(t.Context(), settings(t), address, io.Discard); err != nil {
		t.Errorf("another server on this machine: %+v, %v", page, err)
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagesite"
)

// A readResult is the output of read --json.
type readResult struct {
	URL, Title, Markdown, Via string
	WholePage, Truncated      bool
}

// TestReadCommand reads pages with the built program and without a browser.
func TestReadCommand(t *testing.T) {
	site := pagesite.New(t)
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
	var page readResult
	if err := json.Unmarshal([]byte(stdout), &page); err != nil || code != 0 || stderr != "" || page != (readResult{
		URL: site.URL + "/static", Title: "Short", Markdown: "One line. [Next](" + site.URL + "/next)", Via: "http",
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
	site := pagesite.New(t)
	home := t.TempDir()
	args := append([]string{"read", site.URL + "/redirect?to=/app", "--headless", "--json", "--allow-domain", site.URL}, rootNeedsNoSandbox()...)
	stdout, stderr, code := runProgram(t, home, args...)
	var page readResult
	if err := json.Unmarshal([]byte(stdout), &page); err != nil || code != 0 || stderr != "Reading the page with a browser: it needs scripts.\n" || page != (readResult{
		URL: site.URL + "/app", Title: "App", Markdown: "Rendered by script", Via: "browser",
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

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// localSite creates a directory with a page that loads a script and a style sheet from absolute
// paths, next to a file that must stay private, and returns the directory.
func localSite(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "site")
	for name, text := range map[string]string{
		"private.txt":        "PRIVATE",
		"site/.env":          "PRIVATE",
		"site/notes.txt":     "some notes",
		"site/docs/a.html":   "<!doctype html><title>Guide</title><link rel=stylesheet href=/docs/a.css><h1>Local guide</h1><p class=hidden>not shown</p><p id=out></p><script type=module src=/docs/a.mjs></script>",
		"site/docs/a.css":    ".hidden { display: none }",
		"site/docs/a.mjs":    "document.getElementById('out').textContent = 'the script ran with ' + (await (await fetch('/notes.txt')).text());",
		"site/docs/open.txt": "a text",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../private.txt", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	return dir
}

var filesLine = regexp.MustCompile(`(?m)^files: (http://[a-z2-7]{20}\.localhost:[0-9]+/)$`)

// filesURL returns the URL that the text of chrome_status reports.
func filesURL(t *testing.T, status string) string {
	t.Helper()
	m := filesLine.FindStringSubmatch(status)
	if m == nil {
		t.Fatalf("no URL of files in %s", status)
	}
	return m[1]
}

// readLocalSite reads the files through the tools, and checks that nothing else can be read.
func readLocalSite(t *testing.T, s *mcpServer, files string) {
	t.Helper()
	u, err := url.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	s.call(t, "tab_new", map[string]any{"url": files + "docs/a.html"}, "Guide")
	s.call(t, "wait_for", map[string]any{"text": "the script ran with some notes"}, "matched: true")
	if text := s.call(t, "get_text", nil, "Local guide", "the script ran"); strings.Contains(text, "not shown") {
		t.Errorf("the style sheet has no effect: %s", text)
	}
	s.call(t, "navigate", map[string]any{"url": files + "docs/"})
	s.call(t, "snapshot", nil, "a.html", "open.txt")
	for _, path := range []string{".env", "link.txt", "%2e%2e/private.txt", "docs/..%2f..%2fprivate.txt"} {
		text, _, err := s.try(t.Context(), "navigate", map[string]any{"url": files + path})
		if err != nil || strings.Contains(text, "PRIVATE") {
			t.Errorf("%s: %s %v", path, text, err)
		}
		if text, _, err := s.try(t.Context(), "get_text", nil); err != nil || strings.Contains(text, "PRIVATE") {
			t.Errorf("%s: %s %v", path, text, err)
		}
	}
	other := httpServerURL(t)
	for _, address := range []string{
		"http://localhost:" + u.Port() + "/docs/a.html", "http://127.0.0.1:" + u.Port() + "/docs/a.html",
		"https://" + u.Host + "/", strings.Replace(files, ".localhost", ".a.localhost", 1), "http://" + u.Hostname() + ":" + portOf(t, other) + "/",
		other, "https://example.com/", "file:///etc/passwd",
	} {
		text, failed, err := s.try(t.Context(), "navigate", map[string]any{"url": address})
		if err != nil || !failed || !strings.HasPrefix(text, "POLICY_DENIED") && !strings.HasPrefix(text, "BAD_ARGS") {
			t.Errorf("%s: %s %v", address, text, err)
		}
	}
}

// httpServerURL starts a server on 127.0.0.1 that no policy of these tests allows.
func httpServerURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.NotFoundHandler()}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return "http://" + l.Addr().String() + "/"
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

// TestServeDirectory reads local files in a managed browser. An agent learns their URL from
// chrome_status and from the instructions.
func TestServeDirectory(t *testing.T) {
	needChromium(t)
	s := startMCP(t, "--data", t.TempDir(), "--isolated", "--headless", "--prefer=cdp", "--serve-directory", localSite(t))
	files := filesURL(t, s.call(t, "chrome_status", nil))
	if text := s.client.InitializeResult().Instructions; !strings.Contains(text, files) || !strings.Contains(text, `"site"`) {
		t.Errorf("instructions: %s", text)
	}
	readLocalSite(t, s, files)
}

// TestServeDirectoryOfSession reads local files in a session of call, whose settings come from a
// configuration file. They are served until the session ends.
func TestServeDirectoryOfSession(t *testing.T) {
	needChromium(t)
	c := newCommandLine(t)
	dir := localSite(t)
	text, err := json.Marshal(map[string]any{"serve-directory": "site", "isolated": true, "headless": true, "prefer": "cdp"})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(filepath.Dir(dir), "config.json")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--config", config}, rootNeedsNoSandbox()...)
	out, err := c.run(append([]string{"call", "chrome_status"}, args...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files := filesURL(t, out)
	out, err = c.run(append([]string{"call", "navigate", "url=" + files + "docs/a.html", "then", "wait_for", "text=the script ran", "then", "read_as_markdown"}, args...)...)
	if err != nil || !strings.Contains(out, "# Local guide") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := c.run("sessions", "close", "--all"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if conn, err := net.Dial("tcp", "127.0.0.1:"+portOf(t, files)); err == nil {
		conn.Close()
		t.Error("the files are still served after the session has ended")
	}
}

// TestServeDirectoryOfToken requests files of the server itself and of other tokens, which are hidden
// in the directory that a token serves, through links in it.
func TestServeDirectoryOfToken(t *testing.T) {
	c := newCommandLine(t)
	dir := localSite(t)
	settings, err := json.Marshal(map[string]any{"serve-directory": []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	credentials, stateDir := filepath.Join(dir, ".passwords"), filepath.Join(dir, ".state")
	other, err := json.Marshal(map[string]any{"http-credentials": []string{credentials}, "state-dir": []string{stateDir}})
	if err != nil {
		t.Fatal(err)
	}
	written, tokens := writeTokens(t, map[string]string{"a": string(settings), "b": string(other)})
	tokenFile := filepath.Join(dir, ".tokens.json")
	if err := os.Rename(written, tokenFile); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(credentials, []byte(`{"https://example.com": {"username": "ann", "password": "secret"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(stateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stateDir, "login.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"tokens": ".tokens.json", "passwords": ".passwords", "state": ".state"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	server := c.serve("--token-file", tokenFile)
	_, body := curl(t, "-H", "Authorization: Bearer "+tokens["a"], "--data", "{}", server+"/v1/sessions/default/tools/chrome_status")
	var status struct{ Text string }
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	files, err := url.Parse(filesURL(t, status.Text))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/notes.txt": "200", "/tokens": "404", "/passwords": "404", "/state/login.json": "404"} {
		got, body := curl(t, "-H", "Host: "+files.Host, "http://127.0.0.1:"+files.Port()+path)
		if got != want {
			t.Errorf("%s: %s %s, want %s", path, got, body, want)
		}
	}
}

// TestServeDirectoryInUserChrome reads local files in the user's Chrome.
func TestServeDirectoryInUserChrome(t *testing.T) {
	_, data := sharedUserBrowser(t)
	s := startMCP(t, "--data", data, "--port=0", "--no-cdp-fallback", "--ask=never", "--serve-directory", localSite(t))
	s.until(t, "extension connected: true", "chrome_status", nil)
	readLocalSite(t, s, filesURL(t, s.call(t, "chrome_status", nil)))
}

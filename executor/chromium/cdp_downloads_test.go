package chromium

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// files serves a page with links to downloads: /file, the endless /held and /large.
func files(t *testing.T) string {
	release := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>files</title><a href=/file>file</a><a href=/held>held</a><a href=/large>large</a>")
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", "attachment; filename=a.txt")
		switch r.URL.Path {
		case "/held":
			w.Write(make([]byte, 1000)) // more than the browser needs to determine the type
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/large":
			w.Write(make([]byte, 200_000))
		default:
			fmt.Fprint(w, "content")
		}
	}))
	t.Cleanup(site.Close)
	t.Cleanup(func() { close(release) })
	return site.URL
}

// download clicks a link in a page of the client, and returns the state and the path of the file
// that the client receives, and its GUID.
func (c *testClient) download(page, link string) (state, path, guid string) {
	c.t.Helper()
	c.eval(page, fmt.Sprintf("document.querySelector('a[href=%q]').click()", "/"+link))
	begin := c.event("Browser.downloadWillBegin", nil)
	guid = memberOf(begin.Params, "guid")
	if name := memberOf(begin.Params, "suggestedFilename"); name != "a.txt" {
		c.t.Errorf("suggested name %q", name)
	}
	end := c.event("Browser.downloadProgress", func(m executor.CDPMessage) bool {
		return memberOf(m.Params, "guid") == guid && memberOf(m.Params, "state") != "inProgress"
	})
	return memberOf(end.Params, "state"), memberOf(end.Params, "filePath"), guid
}

// setDownloads sends Browser.setDownloadBehavior.
func (c *testClient) setDownloads(browserContext, behavior, directory string) {
	c.t.Helper()
	params := fmt.Sprintf(`"behavior":%q,"downloadPath":%q,"eventsEnabled":true`, behavior, directory)
	if browserContext != "" {
		params += fmt.Sprintf(`,"browserContextId":%q`, browserContext)
	}
	c.call("", "Browser.setDownloadBehavior", "{"+params+"}", "")
}

// TestCDPClientDownloads checks where downloads of clients are saved, who allows them, their
// limits, and that a client's settings end with it.
func TestCDPClientDownloads(t *testing.T) {
	ctx := await.Context(t)
	site := files(t)
	o := fullOptions(t)
	o.CDPClients, o.Network = true, hosts{"127.0.0.1"}
	o.MaxDownloadBytes, o.MaxDownloads = 100_000, 1
	log := &testlog.Buffer{}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	b := newBrowser(t, o)
	c := connectCDP(t, ctx, b)
	own, err := os.MkdirTemp("", "playwright-artifacts-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(own)
	other, err := os.MkdirTemp("", "ssh-") // another program's
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	browserContext := c.newContext()
	c.setDownloads(browserContext, "allowAndName", own)
	page, _ := c.open(browserContext, site)
	c.title(page, "files")

	if state, path, _ := c.download(page, "file"); state != "canceled" || path != "" {
		t.Errorf("without a session: %s, %s", state, path)
	}
	if text := log.String(); !strings.Contains(text, `msg="download denied" host=127.0.0.1`) || !strings.Contains(text, "no session is open") {
		t.Errorf("the log lacks the reason: %s", text)
	}
	s := newSession(t, b)
	wantFile := func(state, path, want string) {
		t.Helper()
		if content, err := os.ReadFile(path); state != "completed" || path != want || string(content) != "content" {
			t.Errorf("%s, %s with %q, want %s, %v", state, path, content, want, err)
		}
	}
	state, path, guid := c.download(page, "file")
	wantFile(state, path, filepath.Join(own, guid))
	if again, err := running(b).downloads.copyTo("a.txt", own, guid); again != path || err != nil {
		t.Errorf("the same download again: %s, %v", again, err)
	}
	if state, _, _ := c.download(page, "large"); state != "canceled" {
		t.Errorf("a download over the limit: %s", state)
	}
	raw := c.conn.(*cdpClient).setDownloadBehavior(json.RawMessage(fmt.Sprintf(`{"behavior":"deny","browserContextId":%q,"BROWSERCONTEXTID":"other"}`, browserContext)))
	if got := memberOf(raw, "browserContextId"); got != browserContext {
		t.Errorf("set for the browser context %q, want %q", got, browserContext)
	}
	c.setDownloads(browserContext, "deny", own)
	if state, _, _ := c.download(page, "file"); state != "canceled" {
		t.Errorf("denied by the client: %s", state)
	}
	c.setDownloads(browserContext, "allow", other)
	state, path, _ = c.download(page, "file")
	wantFile(state, path, filepath.Join(o.DataDir, "downloads", "a (1).txt"))
	if left := filesBelow(t, other); len(left) > 0 {
		t.Errorf("files %v", left)
	}

	c.call(page, "Page.setDownloadBehavior", fmt.Sprintf(`{"behavior":"allow","downloadPath":%q}`, own), "")
	state, path, guid = c.download(page, "file")
	wantFile(state, path, filepath.Join(own, guid))

	// In the default context, the session and the client have the file.
	c.setDownloads("", "allowAndName", own)
	shared, _ := c.open("", site)
	c.title(shared, "files")
	state, path, guid = c.download(shared, "file")
	wantFile(state, path, filepath.Join(own, guid))
	if saved := filesBelow(t, filepath.Join(o.DataDir, "downloads")); len(saved) != 4 {
		t.Errorf("files %v", saved)
	}

	// The limit of running downloads is free again when the context is gone, whether it is the last one.
	in := running(b)
	waitRunning := func(want int) {
		t.Helper()
		for n := -1; n != want; {
			in.downloads.mu.Lock()
			n = len(in.downloads.clientDownloads)
			in.downloads.mu.Unlock()
			if ctx.Err() != nil {
				t.Fatalf("%d downloads are running, want %d", n, want)
			}
		}
	}
	for _, dispose := range []bool{true, false} {
		leaves := connectCDP(t, ctx, b)
		second := leaves.newContext()
		leaves.setDownloads(second, "default", "")
		held, _ := leaves.open(second, site)
		leaves.title(held, "files")
		leaves.eval(held, `document.querySelector('a[href="/held"]').click()`)
		leaves.event("Browser.downloadWillBegin", nil)
		waitRunning(1)
		if dispose {
			leaves.call("", "Target.disposeBrowserContext", fmt.Sprintf(`{"browserContextId":%q}`, second), "")
			waitRunning(0)
		}
		leaves.conn.Close()
		waitRunning(0)
	}
	c.setDownloads(browserContext, "default", "")
	c.eval(page, `document.querySelector('a[href="/held"]').click()`)
	c.event("Browser.downloadWillBegin", nil)
	waitRunning(1)
	c.setDownloads("", "deny", "")
	c.conn.Close()
	nav, err := s.Navigate(ctx, site, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pagetest.Of(s, nav.TabID).Download(ctx, &executor.DownloadOptions{Target: executor.Target{Selector: `a[href="/file"]`}})
	if err != nil || !strings.HasPrefix(got.Path, o.DataDir) {
		t.Errorf("a session's download: %+v, %v", got, err)
	}
}

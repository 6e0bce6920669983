package chromium

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// recorded returns the number of entries with the given event and code.
func recorded(l *testlog.Recorder, event audit.Event, code string) (n int) {
	for _, e := range l.Entries() {
		if e.Event == event && e.Code == code {
			n++
		}
	}
	return n
}

// TestLimits uses pages that open tabs and start downloads without limit, and kills the browser
// during a download.
func TestLimits(t *testing.T) {
	ctx := await.Context(t)
	// A killed Chromium leaves behind the temporary file of a download, which cannot be assigned to
	// a test.
	t.Setenv("TMPDIR", t.TempDir())
	release := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".bin") {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>limits</title>
				<button id="open" onclick="for (let i = 0; i < 5; i++) window.open('/child')">Open</button>
				<a id="held" href="/held.bin">Held</a> <a id="quick" href="/quick.bin">Quick</a> <a id="large" href="/large.bin">Large</a>`)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", "attachment")
		io.WriteString(w, strings.Repeat("x", 1000))
		switch r.URL.Path {
		case "/held.bin":
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/large.bin":
			io.WriteString(w, strings.Repeat("x", 9000))
		}
	}))
	defer site.Close()
	defer close(release)
	var log testlog.Recorder
	o := testOptions(t)
	o.MaxDownloads, o.MaxDownloadTotal, o.Audit = 1, 5000, &log
	b := newBrowser(t, o)
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll, MaxTabs: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	downloads := func() (names []string) {
		files, _ := filepath.Glob(filepath.Join(o.DataDir, "downloads", "*"))
		for _, f := range files {
			if name := filepath.Base(f); name != ".staging" {
				names = append(names, name)
			}
		}
		return names
	}
	download := func(selector string) error {
		t.Helper()
		_, err := pagetest.Of(s, "").Download(ctx, &executor.DownloadOptions{Target: executor.Target{Selector: selector}})
		return err
	}

	if _, err := s.Navigate(ctx, site.URL, nil); err != nil {
		t.Fatal(err)
	}
	for range 5 { // Chromium lets a page open one tab for each click
		if _, err := pagetest.Of(s, "").Click(ctx, executor.Target{Selector: "#open"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	in := sessionProvider{b}.Current().(*instance)
	// Tabs over the limit are not listed, and are closed again in the browser.
	await.Until(t, "four tabs", func() bool {
		var res struct {
			Infos []struct {
				Type string `json:"type"`
			} `json:"targetInfos"`
		}
		if err := in.conn.BrowserSession().Call(ctx, "Target.getTargets", nil, &res); err != nil {
			t.Fatal(err)
		}
		pages := 0
		for _, info := range res.Infos {
			if info.Type == "page" {
				pages++
			}
		}
		tabs, err := s.Tabs(ctx)
		if err != nil || len(tabs) > 4 {
			t.Fatalf("%d tabs, %v", len(tabs), err)
		}
		return len(tabs) == 4 && pages <= 5 // plus the initial window of the browser
	})
	_, _, err = s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL})
	wantCode(t, err, executor.ErrBackpressure)

	if err := download("#quick"); err != nil {
		t.Fatal(err)
	}
	pending := make(chan error, 1)
	go func() { pending <- download("#held") }()
	await.Until(t, "the download", func() bool { return in.runningTransfers() > 0 })
	_, err = pagetest.Of(s, "").Download(ctx, &executor.DownloadOptions{URL: site.URL + "/quick.bin"})
	wantCode(t, err, executor.ErrDownloadFailed)
	if got := downloads(); len(got) != 1 {
		t.Errorf("files: %v", got)
	}

	if err := forceKill(in.proc.PID); err != nil {
		t.Fatal(err)
	}
	err = <-pending
	if code := executor.CodeOf(err); code != executor.ErrDownloadFailed && code != executor.ErrTargetGone {
		t.Errorf("the download that was running: %v", err)
	}

	// The next browser has the complete quota again.
	if _, err := s.Navigate(ctx, site.URL, nil); err != nil {
		t.Fatal(err)
	}
	wantCode(t, download("#large"), executor.ErrDownloadFailed)
	if err := download("#quick"); err != nil {
		t.Error(err)
	}
	if got := downloads(); len(got) != 2 {
		t.Errorf("files: %v", got)
	}
	staged, err := os.ReadDir(filepath.Join(o.DataDir, "downloads", ".staging"))
	if err != nil || len(staged) > 1 { // the last file of the killed browser may remain until the next start
		t.Errorf("staged: %v, %v", staged, err)
	}
	// A call can return before its download is recorded.
	await.Until(t, "the records of two downloads, and of two that failed", func() bool {
		return recorded(&log, audit.EventDownload, "OK") == 2 && recorded(&log, audit.EventDownload, "DOWNLOAD_FAILED") >= 2
	})
	if n := recorded(&log, audit.EventConnected, ""); n != 2 {
		t.Errorf("%d browsers recorded", n)
	}
}

func (in *instance) runningTransfers() int {
	in.downloads.mu.Lock()
	defer in.downloads.mu.Unlock()
	return len(in.downloads.transfers)
}

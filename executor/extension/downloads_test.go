package extension

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestDownloadOfUnknownDocument sends the events of downloads before the execution context of the
// frame that started them, and checks that the downloads are decided after it.
func TestDownloadOfUnknownDocument(t *testing.T) {
	server := newServer(t)
	fake := startFakeExtension(t, server)
	b := newBackend(t, server, func(o *Options) { o.MaxDownloadBytes = 100 })
	waitConnected(t, b)
	ended := make(chan executor.Download, 10)
	s, err := b.NewSession(&executor.SessionOptions{
		Gate: executor.AllowAll,
		OnEvent: func(ev executor.Event) {
			if d := ev.Download; d != nil && d.State != "running" {
				ended <- *d
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	site := newTestSite(t)
	openTab(t, s, site.URL+"/page")
	in := b.connectedInstallations()[0]
	fake.mu.Lock()
	tab := slices.Collect(maps.Values(fake.tabs))[0].Tab
	fake.mu.Unlock()
	path := filepath.Join(t.TempDir(), "late.txt")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		name     string
		received int64  // bytes of the file while it is in progress
		end      string // its last state
		fileLast bool   // the browser reports the file after the page reports the download
		state    string
		reason   string
	}{
		{"page reports it first", 7, "complete", true, "completed", ""},
		{"browser reports it first", 7, "complete", false, "completed", ""},
		{"too large", 101, "interrupted", true, "canceled", "is larger than 100 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id, frame, url := i+1, fmt.Sprintf("FRAME%d", i), fmt.Sprintf("%s/file%d", site.URL, i)
			file := func() {
				fake.mu.Lock()
				defer fake.mu.Unlock()
				fake.sendEvent(wire.EventDownload, wire.Download{ID: id, URL: url, Filename: path, State: "in_progress", Bytes: tt.received, Total: -1})
				fake.sendEvent(wire.EventDownload, wire.Download{ID: id, URL: url, Filename: path, State: tt.end, Bytes: 7, Total: 7})
			}
			event := func(method, format string, args ...any) {
				fake.mu.Lock()
				defer fake.mu.Unlock()
				fake.sendEvent(wire.EventCDP, wire.CDPEvent{TabID: tab.TabID, Method: method, Params: fmt.Appendf(nil, format, args...)})
			}
			if !tt.fileLast {
				file()
				await.Until(t, "the file to be handled", func() bool {
					in.mu.Lock()
					defer in.mu.Unlock()
					return in.downloads.unmatched[id].State == tt.end
				})
			}
			event("Page.frameAttached", `{"frameId":%q,"parentFrameId":%q}`, frame, tab.TargetID)
			event("Page.frameNavigated", `{"frame":{"id":%q,"parentId":%q,"loaderId":"L","url":%q,"domainAndRegistry":"","securityOrigin":%q,"mimeType":"text/html",`+
				`"secureContextType":"Secure","crossOriginIsolatedContextType":"Isolated","gatedAPIFeatures":[]},"type":"Navigation"}`, frame, tab.TargetID, site.URL+"/frame", site.URL)
			event("Page.downloadWillBegin", `{"frameId":%q,"guid":"G","url":%q,"suggestedFilename":"late.txt"}`, frame, url)
			if tt.fileLast {
				await.Until(t, "the download to be handled", func() bool {
					in.mu.Lock()
					defer in.mu.Unlock()
					return len(in.downloads.begun) == 1
				})
				file()
			}
			decided := false
			await.Until(t, "the end of the file to be handled", func() bool {
				in.mu.Lock()
				defer in.mu.Unlock()
				decided = in.downloads.ended[id]
				for _, d := range in.downloads.begun {
					if d.id == id && d.last != nil && d.last.State == tt.end {
						return true
					}
				}
				return decided
			})
			if decided {
				t.Error("the download was decided before its document was known")
			}
			event("Runtime.executionContextCreated", `{"context":{"id":%d,"origin":%q,"name":%q,"uniqueId":%q,"auxData":{"frameId":%q,"isDefault":false,"type":"isolated"}}}`,
				900+i, site.URL, frames.WorldName, "WORLD"+frame, frame)
			if d := await.Receive(t, "the end of the download", ended); d.State != tt.state || d.SuggestedName != "late.txt" || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("reported %+v, want %s %s", d, tt.state, tt.reason)
			}
		})
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.downloads.begun) != 0 {
		t.Errorf("%d downloads are stored after their end", len(in.downloads.begun))
	}
}

// TestDownloadOfClosedTab checks that a download ends although its tab was closed before.
func TestDownloadOfClosedTab(t *testing.T) {
	server := newServer(t)
	fake := startFakeExtension(t, server)
	b := newBackend(t, server, func(o *Options) { o.MaxDownloads = 1 })
	waitConnected(t, b)
	ended := make(chan executor.Download, 10)
	s, err := b.NewSession(&executor.SessionOptions{
		Gate: executor.AllowAll,
		OnEvent: func(ev executor.Event) {
			if d := ev.Download; d != nil && d.State != "running" {
				ended <- *d
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	site := newTestSite(t)
	openTab(t, s, site.URL+"/page")
	in := b.connectedInstallations()[0]
	path := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	fake.mu.Lock()
	tab := slices.Collect(maps.Values(fake.tabs))[0]
	file := wire.Download{ID: 1, TabID: tab.TabID, URL: site.URL + "/file", Filename: path, State: "in_progress", Bytes: 1, Total: 7}
	fake.sendEvent(wire.EventCDP, wire.CDPEvent{
		TabID: tab.TabID, Method: "Page.downloadWillBegin",
		Params: fmt.Appendf(nil, `{"frameId":%q,"guid":"G","url":%q,"suggestedFilename":"file.txt"}`, tab.TargetID, file.URL),
	})
	fake.sendEvent(wire.EventDownload, file)
	fake.mu.Unlock()
	await.Until(t, "the download to be handled", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return len(in.downloads.begun) == 1 && in.downloads.begun[0].handled
	})
	if _, err := b.quota.Begin(); err == nil {
		t.Error("the download does not count while it runs")
	}
	fake.mu.Lock()
	fake.unshare(tab, "closed")
	file.State, file.Bytes = "complete", 7
	fake.sendEvent(wire.EventDownload, file)
	fake.mu.Unlock()
	if d := await.Receive(t, "the end of the download", ended); d.State != "completed" || d.Path != path {
		t.Errorf("reported %+v", d)
	}
	if _, err := b.quota.Begin(); err != nil {
		t.Errorf("the download counts after its end: %v", err)
	}
}

// TestUnmatchedDownloads checks that the oldest of too many downloads that no page has reported is
// dropped.
func TestUnmatchedDownloads(t *testing.T) {
	in := &installation{backend: &Backend{quota: download.NewQuota(0, 0)}, downloads: newDownloads()}
	for id := range 2 * maxUnmatchedDownloads {
		in.handleDownloadState(wire.Download{ID: id, URL: fmt.Sprint("https://a.test/", id), State: "in_progress"})
	}
	in.handleDownloadState(wire.Download{ID: 0, URL: "https://a.test/0", State: "in_progress"})
	ids := slices.Sorted(maps.Keys(in.downloads.unmatched))
	if len(ids) != maxUnmatchedDownloads || ids[0] != maxUnmatchedDownloads {
		t.Errorf("stored downloads: %v", ids)
	}
}

// TestOldUnmatchedDownload checks that a download of a page is not matched with the file of an older
// download of its URL, such as one of the user.
func TestOldUnmatchedDownload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Backend{quota: download.NewQuota(0, 0)}
		b.timing.DownloadReport = time.Second
		in := &installation{backend: b, downloads: newDownloads()}
		file := func(id int, state string) {
			in.handleDownloadState(wire.Download{ID: id, URL: "https://a.test/f", State: state})
		}
		file(4, "complete")
		file(5, "in_progress")
		time.Sleep(b.timing.DownloadReport)
		entry := &pendingDownload{url: "https://a.test/f", undecided: true}
		in.downloads.begun = append(in.downloads.begun, entry)
		if file(5, "complete"); entry.id != 0 {
			t.Errorf("the download was matched with file %d", entry.id)
		}
		if file(6, "in_progress"); entry.id != 6 {
			t.Errorf("the download was matched with file %d, want 6", entry.id)
		}

		file(7, "in_progress")
		file(8, "in_progress")
		for _, want := range []int{7, 8} {
			if w := in.downloads.take("https://a.test/f", b.timing.DownloadReport); w == nil || w.ID != want {
				t.Errorf("take returned %+v, want file %d", w, want)
			}
		}
		if w := in.downloads.take("https://a.test/f", b.timing.DownloadReport); w != nil {
			t.Errorf("take returned the old file %+v", w)
		}
	})
}

// TestOpenedDownload checks that the first report of a file for which the browser opened a tab decides
// whose file it is: the user may start it before a call, or a call may end before the file has a name.
func TestOpenedDownload(t *testing.T) {
	server := newServer(t)
	startFakeExtension(t, server)
	b := newBackend(t, server, func(*Options) {})
	waitConnected(t, b)
	ended := make(chan executor.Download, 10)
	s, err := b.NewSession(&executor.SessionOptions{
		Gate: executor.AllowAll,
		OnEvent: func(ev executor.Event) {
			if d := ev.Download; d != nil && d.State != "running" {
				ended <- *d
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	site := newTestSite(t)
	openTab(t, s, site.URL+"/page")
	dir := t.TempDir()
	for _, name := range []string{"user.txt", "agent.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := b.connectedInstallations()[0]
	in.mu.Lock()
	rec := slices.Collect(maps.Values(in.tabs))[0]
	rec.info.Own = false // it is a shared tab
	in.mu.Unlock()
	file := func(id int, name, state string, opened bool) {
		if name != "" {
			name = filepath.Join(dir, name)
		}
		in.handleDownloadState(wire.Download{ID: id, TabID: rec.info.TabID, URL: fmt.Sprint(site.URL, "/file", id), Filename: name, State: state, Bytes: 7, Total: 7, Opened: opened})
	}
	call := func() (end func()) {
		end, err := rec.sessionTab.Page.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return end
	}

	file(1, "user.txt", "in_progress", true)
	end := call()
	file(1, "user.txt", "in_progress", false)
	file(1, "user.txt", "complete", true)
	file(3, "user.txt", "complete", false) // the browser reports the tab later than the file
	file(2, "", "in_progress", true)
	end()
	file(3, "user.txt", "in_progress", true)
	end = call()
	file(3, "user.txt", "complete", true)
	end()
	file(2, "", "in_progress", false)
	file(2, "agent.txt", "complete", true)
	if d := await.Receive(t, "the end of a download", ended); d.State != "completed" || d.SuggestedName != "agent.txt" {
		t.Errorf("reported %+v", d)
	}
	if len(ended) != 0 {
		t.Errorf("reported %+v, the user's file", <-ended)
	}
}

package chromium

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestPoolDownloadOfUnknownFrame sends the events of a download before its frame is known. The download
// is saved for the session whose frame it turns out to be.
func TestPoolDownloadOfUnknownFrame(t *testing.T) {
	site := newPoolSite(t)
	p, dir := newPool(t)
	one, two := inPool(t, p, dir, "127.0.0.1"), inPool(t, p, dir, "127.0.0.1")
	a, b := newSession(t, one), newSession(t, two)
	mustNavigate(t, a, site.on("127.0.0.1", "/"))
	mustNavigate(t, b, site.on("127.0.0.1", "/"))
	in := running(one)
	saved, staging, err := in.downloads.staging()
	if err != nil {
		t.Fatal(err)
	}
	const guid, frame = "20c1e0a3", "frame that is not known yet"
	staged := filepath.Join(staging, guid)
	if err := os.WriteFile(staged, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	in.pooled.downloadBegan(cdpbrowser.EventDownloadWillBegin{FrameID: frame, GUID: guid, URL: site.on("127.0.0.1", "/file"), SuggestedFilename: "late.txt"})
	in.pooled.downloadProgressed(cdpbrowser.EventDownloadProgress{GUID: guid, ReceivedBytes: 7, TotalBytes: 7, State: cdpbrowser.DownloadProgressStateCompleted})
	if !in.pooled.undecided.has(guid) {
		t.Fatal("the download of an unknown frame does not wait for a decision")
	}
	if _, err := os.Stat(staged); err != nil {
		t.Fatalf("before the decision: %v", err)
	}
	in.tabs.mu.Lock()
	in.tabs.openers[target.ID(frame)] = in.tabs.tabs[0]
	in.tabs.mu.Unlock()
	final := filepath.Join(saved.Path(), "late.txt")
	await.Until(t, "the saved file", func() bool {
		data, err := os.ReadFile(final)
		return err == nil && string(data) == "content"
	})
	await.Until(t, "the end of the download", func() bool { return !in.pooled.undecided.has(guid) && !in.downloads.has(guid) })
}

// TestUndecidedDownloads checks the limits of downloads that wait for a decision, and which state of
// theirs is stored.
func TestUndecidedDownloads(t *testing.T) {
	var u undecidedDownloads
	guids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, guid := range guids {
		if !u.add(guid) {
			t.Errorf("download %s was not added", guid)
		}
	}
	if len(guids) != maxUndecided || u.add("more") || u.has("more") {
		t.Errorf("more than %d downloads wait", maxUndecided)
	}
	var canceled []string
	progress := func(guid string, bytes float64, state cdpbrowser.DownloadProgressState) bool {
		return u.progressed(cdpbrowser.EventDownloadProgress{GUID: guid, ReceivedBytes: bytes, State: state}, 100,
			func(guid string) { canceled = append(canceled, guid) })
	}
	if progress("more", 1, cdpbrowser.DownloadProgressStateInProgress) {
		t.Error("the progress of another download was stored")
	}
	for _, bytes := range []float64{50, 100} {
		if !progress("a", bytes, cdpbrowser.DownloadProgressStateInProgress) || len(canceled) > 0 {
			t.Errorf("%v bytes: canceled %q", bytes, canceled)
		}
	}
	for _, bytes := range []float64{101, 102} {
		progress("b", bytes, cdpbrowser.DownloadProgressStateInProgress)
	}
	progress("b", 102, cdpbrowser.DownloadProgressStateCompleted) // before it was canceled
	if !slices.Equal(canceled, []string{"b"}) {
		t.Errorf("canceled %q", canceled)
	}
	if last := u.remove("b"); len(last) != 2 || last[0].ReceivedBytes != 101 || last[0].State != cdpbrowser.DownloadProgressStateInProgress ||
		last[1].State != cdpbrowser.DownloadProgressStateCompleted {
		t.Errorf("the last states of a download that is too large: %+v", last)
	}
	if last := u.remove("a"); len(last) != 1 || last[0].ReceivedBytes != 100 {
		t.Errorf("the last state of a download: %+v", last)
	}
	if last := u.remove("c"); len(last) > 0 || u.has("c") {
		t.Errorf("the last state of a download without events: %+v", last)
	}
	if !u.add("more") {
		t.Error("a download that was decided still counts")
	}
}

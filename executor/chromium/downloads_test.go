package chromium

import (
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// TestFailedDownloadResult checks that a tab's download that is too large, or is interrupted, has a
// result for CDP clients: they would wait for it.
func TestFailedDownloadResult(t *testing.T) {
	for state, bytes := range map[cdpbrowser.DownloadProgressState]float64{
		cdpbrowser.DownloadProgressStateInProgress: 11, cdpbrowser.DownloadProgressStateCanceled: 1,
	} {
		in, _, tab, _ := deafBrowser(t, new(session.Session))
		in.opts.MaxDownloadBytes, in.opts.MaxDownloads, in.opts.MaxDownloadTotal = 10, 1, 100
		ds := newDownloads(in)
		tr := tab.NewUserTransfer("file")
		var err error
		if tr.Share, err = ds.quota.Begin(); err != nil {
			t.Fatal(err)
		}
		ds.transfers["G"] = tr
		ds.progressed(cdpbrowser.EventDownloadProgress{GUID: "G", State: state, ReceivedBytes: bytes, TotalBytes: bytes})
		res := in.clients.downloadResult("G")
		if !notify.IsClosed(res.done) {
			t.Errorf("%s: no result", state)
			continue
		}
		wantCode(t, res.err, executor.ErrDownloadFailed)
	}
}

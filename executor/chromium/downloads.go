package chromium

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// watchDownloads makes the browser write downloads to our staging directory, under generated names,
// and send download events. Without a staging directory, downloads are denied.
func (in *instance) watchDownloads(ctx context.Context) error {
	params := in.inContext(map[string]any{"behavior": "deny", "eventsEnabled": true})
	if in.proc != nil || in.local() {
		if _, staging, err := in.staging(); err != nil {
			in.browser.log.Warn("downloads are disabled", "error", err)
		} else {
			params["behavior"], params["downloadPath"] = "allowAndName", staging
		}
	}
	_, err := in.conn.BrowserSession().Start(ctx, "Browser.setDownloadBehavior", params)
	return err
}

// downloadBegan handles the start of a download.
func (in *instance) downloadBegan(e cdpbrowser.EventDownloadWillBegin) {
	if in.knowsDownloader(e) || !in.undecided.add(e.GUID) {
		in.decideDownload(e)
		return
	}
	in.work.Go(func() {
		awaitDownloader(in.opts.timing.AttachTab, func() bool {
			return in.knowsDownloader(e) || in.conn.Err() != nil || notify.IsClosed(in.ended)
		})
		in.decideDownload(e)
		if last := in.undecided.remove(e.GUID); last != nil {
			in.downloadProgressed(*last)
		}
	})
}

// knowsDownloader reports whether the document that started a download is known. Pages of CDP clients
// are not, and in a pool an instance gets only downloads of its tabs.
func (in *instance) knowsDownloader(e cdpbrowser.EventDownloadWillBegin) bool {
	tab, frame := in.downloader(string(e.FrameID))
	if tab == nil {
		return in.opts.CDPClients
	}
	return tab.Page.KnowsDocument(frame)
}

// decideDownload records a download, and cancels it unless a session that may see its tab allows the
// download.
func (in *instance) decideDownload(e cdpbrowser.EventDownloadWillBegin) {
	tab, frame := in.downloader(string(e.FrameID))
	if tab == nil && in.opts.CDPClients {
		in.clientDownloadStarted(e)
		return
	}
	var denied error = executor.ErrPolicyDenied
	if tab != nil {
		denied = in.browser.sessions.MayDownload(tab, frame, e.URL)
	}
	if denied != nil {
		if in.opts.CDPClients { // which get no reason
			in.logDenied(e.URL, denied)
		}
		in.cancel(e.GUID)
		in.clients.downloadResult(e.GUID).set("", executor.ErrPolicyDenied)
		if tab != nil {
			in.browser.sessions.DenyDownload(tab, frame, e.SuggestedFilename, denied)
		}
		return
	}
	tr := tab.AddTransfer(e.SuggestedFilename)
	share, err := in.quota.Begin()
	if err != nil {
		in.cancel(e.GUID)
		in.clients.downloadResult(e.GUID).set("", err)
		tr.End(download.File{}, err)
		in.notifyDownload(tr)
		return
	}
	tr.Share = share
	in.mu.Lock()
	in.transfers[e.GUID] = tr
	in.mu.Unlock()
	in.notifyDownload(tr)
}

// downloader returns the tab and the frame in it that a download of frame belongs to, or nil if
// there is no such tab. A tab that was opened only for a download shows no page and is closed
// immediately, so its opener is returned instead.
func (in *instance) downloader(frame string) (*session.Tab, string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if opener := in.openers[target.ID(frame)]; opener != nil {
		if t := in.targets[target.ID(frame)]; t == nil || t.Page.URL() == "" || t.Page.URL() == "about:blank" {
			return opener, string(opener.Page.Session().Target().TargetID)
		}
	}
	for _, t := range in.tabs {
		if t.Page.HasFrame(frame) {
			return t, frame
		}
	}
	return nil, ""
}

// logDenied logs why a download was denied.
func (in *instance) logDenied(url string, reason error) {
	in.browser.log.Info("download denied", "host", hostOf(url), "reason", reason)
}

func (in *instance) cancel(guid string) {
	in.conn.BrowserSession().Start(context.Background(), "Browser.cancelDownload", in.inContext(map[string]any{"guid": guid}))
	for _, id := range in.clients.contextIDs() { // the events do not name the context
		in.conn.BrowserSession().Start(context.Background(), "Browser.cancelDownload", map[string]any{"guid": guid, "browserContextId": id})
	}
}

// downloadProgressed handles the progress of a download, and moves a complete file to the download
// directory.
func (in *instance) downloadProgressed(e cdpbrowser.EventDownloadProgress) {
	if in.undecided.progressed(e, in.downloadLimit(), in.cancel) || in.clientDownloadProgressed(e) {
		return
	}
	in.mu.Lock()
	tr := in.transfers[e.GUID]
	if e.State != cdpbrowser.DownloadProgressStateInProgress {
		delete(in.transfers, e.GUID)
	}
	in.mu.Unlock()
	if tr == nil {
		if e.State == cdpbrowser.DownloadProgressStateCompleted {
			in.work.Go(func() { in.unlink(e.GUID) }) // a denied download that was complete before it was canceled
		}
		return
	}
	switch e.State {
	case cdpbrowser.DownloadProgressStateCompleted:
		in.work.Go(func() {
			f, err := in.moveToDownloads(e.GUID, tr.Name, int64(e.ReceivedBytes), tr.Share)
			in.clients.downloadResult(e.GUID).set(f.Path, err)
			tr.End(f, err)
			in.notifyDownload(tr)
		})
	case cdpbrowser.DownloadProgressStateCanceled:
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the download of %q was interrupted", tr.Name))
		in.notifyDownload(tr)
	default:
		if err := checkProgress(tr.Name, e, in.opts.MaxDownloadBytes, tr.Share); err != nil {
			tr.End(download.File{}, err)
			in.cancel(e.GUID)
			in.mu.Lock()
			delete(in.transfers, e.GUID) // if it is complete now, its file is removed
			in.mu.Unlock()
			in.notifyDownload(tr)
		}
	}
}

// checkProgress returns an error if a download is larger than limit, or than its share allows.
func checkProgress(name string, e cdpbrowser.EventDownloadProgress, limit int64, share *download.Share) error {
	switch {
	case e.TotalBytes > float64(share.Remaining()), share.Grow(int64(e.ReceivedBytes)) != nil:
		return executor.Errorf(executor.ErrDownloadFailed, "The user can allow more with Options.MaxDownloadTotal.",
			"%q would exceed the total download limit", name)
	case e.ReceivedBytes > float64(limit) || e.TotalBytes > float64(limit):
		return executor.Errorf(executor.ErrDownloadFailed, "The user can allow more with Options.MaxDownloadBytes.",
			"%q is larger than %d MB", name, limit>>20)
	}
	return nil
}

// hasTransfer reports whether a download of the instance is in progress.
func (in *instance) hasTransfer(guid string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.undecided.has(guid) || in.transfers[guid] != nil
}

// downloadLimit returns how many bytes a download may have.
func (in *instance) downloadLimit() float64 {
	return float64(min(in.opts.MaxDownloadBytes, in.quota.Remaining()))
}

// failTransfers fails the downloads of a browser that has exited, because their files are
// incomplete.
func (in *instance) failTransfers() {
	in.mu.Lock()
	lost := in.transfers
	in.transfers = make(map[string]*session.Transfer)
	in.mu.Unlock()
	in.failClientDownloads("browser exited", func(*clientDownload) bool { return true })
	for guid, tr := range lost {
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "browser exited during the download of %q", tr.Name))
		in.notifyDownload(tr)
		in.unlink(guid)
	}
}

// staging returns the download directory and the path of its staging directory.
func (in *instance) staging() (dir *download.Dir, path string, err error) {
	if dir, err = in.files(); err == nil {
		path, err = dir.Staging()
	}
	return dir, path, err
}

// unlink removes the files that the browser has written for a download.
func (in *instance) unlink(guid string) {
	_, staging, err := in.staging()
	if err != nil {
		return
	}
	file := filepath.Join(staging, filepath.Base(guid))
	os.Remove(file)
	os.Remove(file + ".crdownload") // its name until it is complete
}

// moveToDownloads moves a file to the download directory. written is the number of bytes that the
// browser reports; a smaller file is incomplete and results in an error.
func (in *instance) moveToDownloads(guid, name string, written int64, share *download.Share) (download.File, error) {
	dir, staging, err := in.staging()
	if err != nil {
		return download.File{}, err
	}
	file := filepath.Join(staging, guid)
	if info, err := os.Lstat(file); err == nil && info.Size() < written {
		os.Remove(file)
		return download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Check free disk space and retry.",
			"%q is incomplete: %d of %d bytes", name, info.Size(), written)
	}
	f, err := dir.Adopt(file, name, share)
	if err != nil && !errors.Is(err, executor.ErrDownloadFailed) {
		err = executor.Errorf(executor.ErrDownloadFailed, "Check the download directory.", "saving %q: %w", name, err)
	}
	return f, err
}

func (in *instance) notifyDownload(tr *session.Transfer) {
	in.browser.sessions.EmitDownload(tr, executor.BackendCDP, executor.NewTabID("cdp", in.id, tr.Tab().Raw), in.browser.record)
}

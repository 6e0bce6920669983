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
func (r *instance) watchDownloads(ctx context.Context) error {
	params := r.inContext(map[string]any{"behavior": "deny", "eventsEnabled": true})
	if r.proc != nil || r.local() {
		if _, staging, err := r.staging(); err != nil {
			r.browser.log.Warn("downloads are disabled", "error", err)
		} else {
			params["behavior"], params["downloadPath"] = "allowAndName", staging
		}
	}
	_, err := r.conn.BrowserSession().Start(ctx, "Browser.setDownloadBehavior", params)
	return err
}

// downloadBegan handles the start of a download.
func (r *instance) downloadBegan(e cdpbrowser.EventDownloadWillBegin) {
	if r.knowsDownloader(e) || !r.undecided.add(e.GUID) {
		r.decideDownload(e)
		return
	}
	r.work.Go(func() {
		awaitDownloader(r.opts.timing.AttachTab, func() bool {
			return r.knowsDownloader(e) || r.conn.Err() != nil || notify.IsClosed(r.ended)
		})
		r.decideDownload(e)
		if last := r.undecided.remove(e.GUID); last != nil {
			r.downloadProgressed(*last)
		}
	})
}

// knowsDownloader reports whether the document that started a download is known. Pages of CDP clients
// are not, and in a pool an instance gets only downloads of its tabs.
func (r *instance) knowsDownloader(e cdpbrowser.EventDownloadWillBegin) bool {
	tab, frame := r.downloader(string(e.FrameID))
	if tab == nil {
		return r.opts.CDPClients
	}
	return tab.Page.KnowsDocument(frame)
}

// decideDownload records a download, and cancels it unless a session that may see its tab allows the
// download.
func (r *instance) decideDownload(e cdpbrowser.EventDownloadWillBegin) {
	tab, frame := r.downloader(string(e.FrameID))
	if tab == nil && r.opts.CDPClients {
		r.clientDownloadStarted(e)
		return
	}
	var denied error = executor.ErrPolicyDenied
	if tab != nil {
		denied = r.browser.sessions.MayDownload(tab, frame, e.URL)
	}
	if denied != nil {
		if r.opts.CDPClients { // which get no reason
			r.logDenied(e.URL, denied)
		}
		r.cancel(e.GUID)
		r.clients.downloadResult(e.GUID).set("", executor.ErrPolicyDenied)
		if tab != nil {
			r.browser.sessions.DenyDownload(tab, frame, e.SuggestedFilename, denied)
		}
		return
	}
	tr := tab.AddTransfer(e.SuggestedFilename)
	share, err := r.quota.Begin()
	if err != nil {
		r.cancel(e.GUID)
		r.clients.downloadResult(e.GUID).set("", err)
		tr.End(download.File{}, err)
		r.notifyDownload(tr)
		return
	}
	tr.Share = share
	r.mu.Lock()
	r.transfers[e.GUID] = tr
	r.mu.Unlock()
	r.notifyDownload(tr)
}

// downloader returns the tab and the frame in it that a download of frame belongs to, or nil if
// there is no such tab. A tab that was opened only for a download shows no page and is closed
// immediately, so its opener is returned instead.
func (r *instance) downloader(frame string) (*session.Tab, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if opener := r.openers[target.ID(frame)]; opener != nil {
		if t := r.targets[target.ID(frame)]; t == nil || t.Page.URL() == "" || t.Page.URL() == "about:blank" {
			return opener, string(opener.Page.Session().Target().TargetID)
		}
	}
	for _, t := range r.tabs {
		if t.Page.HasFrame(frame) {
			return t, frame
		}
	}
	return nil, ""
}

// logDenied logs why a download was denied.
func (r *instance) logDenied(url string, reason error) {
	r.browser.log.Info("download denied", "host", hostOf(url), "reason", reason)
}

func (r *instance) cancel(guid string) {
	r.conn.BrowserSession().Start(context.Background(), "Browser.cancelDownload", r.inContext(map[string]any{"guid": guid}))
	for _, id := range r.clients.contextIDs() { // the events do not name the context
		r.conn.BrowserSession().Start(context.Background(), "Browser.cancelDownload", map[string]any{"guid": guid, "browserContextId": id})
	}
}

// downloadProgressed handles the progress of a download, and moves a complete file to the download
// directory.
func (r *instance) downloadProgressed(e cdpbrowser.EventDownloadProgress) {
	if r.undecided.progressed(e, r.downloadLimit(), r.cancel) || r.clientDownloadProgressed(e) {
		return
	}
	r.mu.Lock()
	tr := r.transfers[e.GUID]
	if e.State != cdpbrowser.DownloadProgressStateInProgress {
		delete(r.transfers, e.GUID)
	}
	r.mu.Unlock()
	if tr == nil {
		if e.State == cdpbrowser.DownloadProgressStateCompleted {
			r.work.Go(func() { r.unlink(e.GUID) }) // a denied download that was complete before it was canceled
		}
		return
	}
	switch e.State {
	case cdpbrowser.DownloadProgressStateCompleted:
		r.work.Go(func() {
			f, err := r.moveToDownloads(e.GUID, tr.Name, int64(e.ReceivedBytes), tr.Share)
			r.clients.downloadResult(e.GUID).set(f.Path, err)
			tr.End(f, err)
			r.notifyDownload(tr)
		})
	case cdpbrowser.DownloadProgressStateCanceled:
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the download of %q was interrupted", tr.Name))
		r.notifyDownload(tr)
	default:
		if err := checkProgress(tr.Name, e, r.opts.MaxDownloadBytes, tr.Share); err != nil {
			tr.End(download.File{}, err)
			r.cancel(e.GUID)
			r.mu.Lock()
			delete(r.transfers, e.GUID) // if it is complete now, its file is removed
			r.mu.Unlock()
			r.notifyDownload(tr)
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
func (r *instance) hasTransfer(guid string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.undecided.has(guid) || r.transfers[guid] != nil
}

// downloadLimit returns how many bytes a download may have.
func (r *instance) downloadLimit() float64 {
	return float64(min(r.opts.MaxDownloadBytes, r.quota.Remaining()))
}

// failTransfers fails the downloads of a browser that has exited, because their files are
// incomplete.
func (r *instance) failTransfers() {
	r.mu.Lock()
	lost := r.transfers
	r.transfers = make(map[string]*session.Transfer)
	r.mu.Unlock()
	r.failClientDownloads("browser exited", func(*clientDownload) bool { return true })
	for guid, tr := range lost {
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "browser exited during the download of %q", tr.Name))
		r.notifyDownload(tr)
		r.unlink(guid)
	}
}

// staging returns the download directory and the path of its staging directory.
func (r *instance) staging() (dir *download.Dir, path string, err error) {
	if dir, err = r.files(); err == nil {
		path, err = dir.Staging()
	}
	return dir, path, err
}

// unlink removes the files that the browser has written for a download.
func (r *instance) unlink(guid string) {
	_, staging, err := r.staging()
	if err != nil {
		return
	}
	file := filepath.Join(staging, filepath.Base(guid))
	os.Remove(file)
	os.Remove(file + ".crdownload") // its name until it is complete
}

// moveToDownloads moves a file to the download directory. written is the number of bytes that the
// browser reports; a smaller file is incomplete and results in an error.
func (r *instance) moveToDownloads(guid, name string, written int64, share *download.Share) (download.File, error) {
	dir, staging, err := r.staging()
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

func (r *instance) notifyDownload(tr *session.Transfer) {
	r.browser.sessions.EmitDownload(tr, executor.BackendCDP, executor.NewTabID("cdp", r.id, tr.Tab().Raw), r.browser.record)
}

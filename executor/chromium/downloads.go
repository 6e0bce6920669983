package chromium

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// downloads are the downloads of an instance.
type downloads struct {
	in        *instance
	files     func() (*download.Dir, error) // the download directory, created at first use
	quota     *download.Quota               // for all downloads together
	undecided undecidedDownloads

	mu              sync.Mutex                   // guards the fields below
	transfers       map[string]*session.Transfer // by GUID
	clientDownloads map[string]*clientDownload   // by GUID
	exited          bool                         // failAll was called
}

func newDownloads(in *instance) *downloads {
	ds := &downloads{
		in: in, quota: download.NewQuota(in.opts.MaxDownloads, in.opts.MaxDownloadTotal),
		transfers: make(map[string]*session.Transfer), clientDownloads: make(map[string]*clientDownload),
	}
	ds.quota.ShareUsage(in.opts.DownloadsDir, in.opts.DownloadsUsage)
	ds.files = sync.OnceValues(func() (*download.Dir, error) {
		return download.OpenShared(in.opts.DownloadsDir, in.opts.MaxDownloadBytes, ds.quota)
	})
	return ds
}

// watch makes the browser write downloads to our staging directory, under generated names, and send
// download events. Without a staging directory, downloads are denied.
func (ds *downloads) watch(ctx context.Context) error {
	params := ds.in.inContext(map[string]any{"behavior": "deny", "eventsEnabled": true})
	if ds.in.proc != nil || ds.in.opts.local() {
		if _, staging, err := ds.staging(); err != nil {
			ds.in.backend.log.Warn("downloads are disabled", "error", err)
		} else {
			params["behavior"], params["downloadPath"] = "allowAndName", staging
		}
	}
	_, err := ds.in.conn.BrowserSession().Start(ctx, "Browser.setDownloadBehavior", params)
	return err
}

// restore calls watch again. It does not wait.
func (ds *downloads) restore() {
	if ds.in.conn.Err() != nil {
		return
	}
	if err := ds.watch(context.Background()); err != nil {
		ds.in.backend.log.Warn("restoring the download directory failed", "error", err)
	}
}

// began handles the start of a download.
func (ds *downloads) began(e cdpbrowser.EventDownloadWillBegin) {
	start := time.Now()
	if ds.knowsDownloader(e) || !ds.undecided.add(e.GUID) {
		ds.decide(e, start)
		return
	}
	ds.in.work.Go(func() {
		awaitDownloader(ds.in.opts.timing.AttachTab, func() bool {
			return ds.knowsDownloader(e) || ds.in.conn.Err() != nil || notify.IsClosed(ds.in.ended)
		})
		ds.decide(e, start)
		for _, last := range ds.undecided.remove(e.GUID) {
			ds.progressed(last)
		}
	})
}

// knowsDownloader reports whether the document that started a download is known. Pages of CDP
// clients are not, and in a pool an instance gets only downloads of its tabs.
func (ds *downloads) knowsDownloader(e cdpbrowser.EventDownloadWillBegin) bool {
	tab, frame := ds.in.tabs.downloader(string(e.FrameID))
	if tab == nil {
		return ds.in.opts.CDPClients
	}
	return tab.Page.KnowsDocument(frame)
}

// decide records a download that began at start, and cancels it unless a session that may see its tab
// allows the download. One that began during a handover is the user's.
func (ds *downloads) decide(e cdpbrowser.EventDownloadWillBegin, start time.Time) {
	tab, frame := ds.in.tabs.downloader(string(e.FrameID))
	if tab == nil && ds.in.opts.CDPClients {
		ds.clientBegan(e)
		return
	}
	var denied error = executor.ErrPolicyDenied
	byUser := tab != nil && tab.Page.HandedOverSince(start)
	if tab != nil {
		denied = ds.in.backend.sessions.MayDownload(tab, frame, e.URL)
	}
	if denied != nil {
		if ds.in.opts.CDPClients { // which get no reason
			ds.logDenied(e.URL, denied)
		}
		ds.cancel(e.GUID)
		ds.in.clients.downloadResult(e.GUID).set("", executor.ErrPolicyDenied)
		if tab != nil && !byUser {
			ds.in.backend.sessions.DenyDownload(tab, frame, e.SuggestedFilename, denied)
		}
		return
	}
	add := tab.AddTransfer
	if byUser {
		add = tab.NewUserTransfer
		ds.in.clients.downloadResult(e.GUID).set("", executor.ErrPolicyDenied) // no client gets a path or a copy
	}
	tr := add(e.SuggestedFilename)
	share, err := ds.quota.Begin()
	if err != nil {
		ds.cancel(e.GUID)
		ds.in.clients.downloadResult(e.GUID).set("", err)
		tr.End(download.File{}, err)
		ds.emit(tr)
		return
	}
	tr.Share = share
	ds.mu.Lock()
	exited := ds.exited
	if !exited {
		ds.transfers[e.GUID] = tr
	}
	ds.mu.Unlock()
	if exited {
		ds.fail(e.GUID, tr)
		return
	}
	ds.emit(tr)
}

// logDenied logs why a download was denied.
func (ds *downloads) logDenied(url string, reason error) {
	ds.in.backend.log.Info("download denied", "host", hostOf(url), "reason", reason)
}

func (ds *downloads) cancel(guid string) {
	ds.in.conn.BrowserSession().Start(context.Background(), "Browser.cancelDownload", ds.in.inContext(map[string]any{"guid": guid}))
	for _, id := range ds.in.clients.contextIDs() { // the events do not name the context
		ds.in.conn.BrowserSession().Start(context.Background(), "Browser.cancelDownload", map[string]any{"guid": guid, "browserContextId": id})
	}
}

// progressed handles the progress of a download, and moves a complete file to the download
// directory.
func (ds *downloads) progressed(e cdpbrowser.EventDownloadProgress) {
	if ds.undecided.progressed(e, ds.limit(), ds.cancel) || ds.clientProgressed(e) {
		return
	}
	ds.mu.Lock()
	tr := ds.transfers[e.GUID]
	if e.State != cdpbrowser.DownloadProgressStateInProgress {
		delete(ds.transfers, e.GUID)
	}
	ds.mu.Unlock()
	if tr == nil {
		if e.State == cdpbrowser.DownloadProgressStateCompleted {
			ds.in.work.Go(func() { ds.unlink(e.GUID) }) // a denied download that was complete before it was canceled
		}
		return
	}
	switch e.State {
	case cdpbrowser.DownloadProgressStateCompleted:
		ds.in.work.Go(func() {
			f, err := ds.move(e.GUID, tr.Name, int64(e.ReceivedBytes), tr.Share)
			ds.in.clients.downloadResult(e.GUID).set(f.Path, err)
			tr.End(f, err)
			ds.emit(tr)
		})
	case cdpbrowser.DownloadProgressStateCanceled:
		err := executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the download of %q was interrupted", tr.Name)
		ds.in.clients.downloadResult(e.GUID).set("", err)
		tr.End(download.File{}, err)
		ds.emit(tr)
	default:
		if err := checkProgress(tr.Name, e, ds.in.opts.MaxDownloadBytes, tr.Share); err != nil {
			ds.in.clients.downloadResult(e.GUID).set("", err) // the browser may complete it before it cancels it
			tr.End(download.File{}, err)
			ds.cancel(e.GUID)
			ds.mu.Lock()
			delete(ds.transfers, e.GUID) // if it is complete now, its file is removed
			ds.mu.Unlock()
			ds.emit(tr)
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
			"%q is larger than %s", name, download.SizeText(limit))
	}
	return nil
}

// pending returns the number of downloads in progress, including those that wait for a decision.
func (ds *downloads) pending() int {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return len(ds.transfers) + ds.undecided.count() + len(ds.clientDownloads)
}

// has reports whether a download of the instance is in progress.
func (ds *downloads) has(guid string) bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.undecided.has(guid) || ds.transfers[guid] != nil
}

// limit returns how many bytes a download may have.
func (ds *downloads) limit() float64 {
	return float64(min(ds.in.opts.MaxDownloadBytes, ds.quota.Remaining()))
}

// failAll fails the downloads of a browser that has exited, because their files are incomplete. Those
// that are decided later fail then.
func (ds *downloads) failAll() {
	ds.mu.Lock()
	lost := ds.transfers
	ds.transfers, ds.exited = make(map[string]*session.Transfer), true
	ds.mu.Unlock()
	ds.failClients(connectionEnded, func(*clientDownload) bool { return true })
	for guid, tr := range lost {
		ds.fail(guid, tr)
	}
}

// fail ends the transfer of a download whose browser has exited.
func (ds *downloads) fail(guid string, tr *session.Transfer) {
	tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the connection to the browser ended during the download of %q", tr.Name))
	ds.emit(tr)
	ds.unlink(guid)
}

// staging returns the download directory and the path of its staging directory.
func (ds *downloads) staging() (dir *download.Dir, path string, err error) {
	if dir, err = ds.files(); err == nil {
		path, err = dir.Staging()
	}
	return dir, path, err
}

// unlink removes the files that the browser has written for a download.
func (ds *downloads) unlink(guid string) {
	_, staging, err := ds.staging()
	if err != nil {
		return
	}
	file := filepath.Join(staging, filepath.Base(guid))
	os.Remove(file)
	os.Remove(file + ".crdownload") // its name until it is complete
}

// move moves a file to the download directory. written is the number of bytes that the browser
// reports; a smaller file is incomplete and results in an error.
func (ds *downloads) move(guid, name string, written int64, share *download.Share) (download.File, error) {
	dir, staging, err := ds.staging()
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

func (ds *downloads) emit(tr *session.Transfer) {
	ds.in.backend.sessions.EmitDownload(tr, executor.BackendCDP, executor.NewTabID("cdp", ds.in.id, tr.Tab().Raw), ds.in.backend.record)
}

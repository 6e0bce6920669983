package chromium

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// watchDownloads has the browser put what pages download into our staging
// folder, under names of its own, and tell of it. Where there is no folder,
// pages download nothing.
func (r *run) watchDownloads(ctx context.Context) error {
	params := map[string]any{"behavior": "deny", "eventsEnabled": true}
	if r.context != "" {
		params["browserContextId"] = r.context
	}
	if r.proc != nil || r.local() {
		if dir, err := r.files(); err != nil {
			r.browser.log.Warn("pages can download nothing", "error", err)
		} else if staging, err := dir.Staging(); err == nil {
			params["behavior"], params["downloadPath"] = "allowAndName", staging
		}
	}
	_, err := r.conn.Browser().Start(ctx, "Browser.setDownloadBehavior", params)
	return err
}

// downloadBegan takes note of a download, and cancels it unless a session
// that may see its tab is allowed to download.
func (r *run) downloadBegan(ev cdpconn.Event) {
	e, err := cdpconn.Decode(ev, cdpbrowser.DownloadWillBegin)
	if err != nil {
		return
	}
	tab, frame := r.downloader(string(e.FrameID))
	if tab == nil || !r.mayDownload(tab, frame, e.URL) {
		r.cancel(e.GUID)
		if tab != nil {
			name := e.SuggestedFilename
			if !r.mayRead(tab, frame) {
				name = "" // it may say anything
			}
			tab.Begin(name).End(download.File{}, executor.Errorf(executor.ErrPolicyDenied,
				"The user can allow downloads with --enable-downloads.", "the page's download was refused"))
		}
		return
	}
	tr := tab.Begin(e.SuggestedFilename)
	share, err := r.quota.Begin()
	if err != nil {
		r.cancel(e.GUID)
		tr.End(download.File{}, err)
		r.tellDownload(tr)
		return
	}
	tr.Share = share
	r.mu.Lock()
	r.transfers[e.GUID] = tr
	r.mu.Unlock()
	r.tellDownload(tr)
}

// downloader returns the tab, nil when there is none, and the frame in it that
// a download of frame is of. A tab that was opened for nothing but a download
// never shows anything and is closed at once: its opener stands for it.
func (r *run) downloader(frame string) (*session.Tab, string) {
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

// mayDownload reports whether the session that a tab belongs to lets a frame of
// it download url; of a tab that is nobody's, whether any session does.
func (r *run) mayDownload(t *session.Tab, frame, url string) bool {
	owner, may := t.Owner(), false
	r.browser.each(func(s *session.Session) {
		if owner == nil || owner == s {
			may = may || s.MayDownload(context.Background(), t, frame, url) == nil
		}
	})
	return may
}

// mayRead reports whether every session that hears of the tab may read a frame
// of it.
func (r *run) mayRead(t *session.Tab, frame string) bool {
	owner, may := t.Owner(), true
	r.browser.each(func(s *session.Session) {
		if owner == nil || owner == s {
			may = may && s.MayRead(context.Background(), t, frame)
		}
	})
	return may
}

func (r *run) cancel(guid string) {
	params := map[string]any{"guid": guid}
	if r.context != "" {
		params["browserContextId"] = r.context
	}
	r.conn.Browser().Start(context.Background(), "Browser.cancelDownload", params)
}

// downloadProgressed puts a file that is complete into its place.
func (r *run) downloadProgressed(ev cdpconn.Event) {
	e, err := cdpconn.Decode(ev, cdpbrowser.DownloadProgress)
	if err != nil {
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
			r.discard(e.GUID) // it was refused, and there before it was canceled
		}
		return
	}
	switch e.State {
	case cdpbrowser.DownloadProgressStateCompleted:
		r.work.Go(func() {
			tr.End(r.keep(e.GUID, tr.Name, int64(e.ReceivedBytes)))
			r.tellDownload(tr)
		})
	case cdpbrowser.DownloadProgressStateCanceled:
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the download of %q was interrupted", tr.Name))
		r.tellDownload(tr)
	default:
		limit := r.opts.MaxDownloadBytes
		if room := r.quota.Room(); e.ReceivedBytes > float64(room) || e.TotalBytes > float64(room) {
			tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "The user can allow more with --max-download-total.",
				"%q would make the downloads too large in sum", tr.Name))
			r.cancel(e.GUID)
		} else if e.ReceivedBytes > float64(limit) || e.TotalBytes > float64(limit) {
			tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "The user can allow more with --max-download.",
				"%q is larger than %d MB", tr.Name, limit>>20))
			r.cancel(e.GUID)
		}
	}
}

// loseTransfers ends the downloads of a browser that has ended: what there is of
// them is no file.
func (r *run) loseTransfers() {
	r.mu.Lock()
	lost := r.transfers
	r.transfers = make(map[string]*session.Transfer)
	r.mu.Unlock()
	for guid, tr := range lost {
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the browser ended during the download of %q", tr.Name))
		r.tellDownload(tr)
		r.unlink(guid)
	}
}

// discard removes the file of a download that was refused, later.
func (r *run) discard(guid string) { r.work.Go(func() { r.unlink(guid) }) }

// unlink removes what the browser has written of a download.
func (r *run) unlink(guid string) {
	dir, err := r.files()
	if err != nil {
		return
	}
	staging, err := dir.Staging()
	if err != nil {
		return
	}
	file := filepath.Join(staging, filepath.Base(guid))
	os.Remove(file)
	os.Remove(file + ".crdownload") // its name until it is whole
}

// keep puts a file into its place, of which the browser says that it has written
// so many bytes. One that has fewer is not told of as if it were whole.
func (r *run) keep(guid, name string, written int64) (download.File, error) {
	dir, err := r.files()
	if err != nil {
		return download.File{}, err
	}
	staging, err := dir.Staging()
	if err != nil {
		return download.File{}, err
	}
	if info, err := os.Lstat(filepath.Join(staging, guid)); err == nil && info.Size() < written {
		os.Remove(filepath.Join(staging, guid))
		return download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Look whether the disk has room, then try again.",
			"%q has %d of its %d bytes", name, info.Size(), written)
	}
	f, err := dir.Adopt(filepath.Join(staging, guid), name)
	if err != nil && !errors.Is(err, executor.ErrDownloadFailed) {
		err = executor.Errorf(executor.ErrDownloadFailed, "Look at the download folder.", "keeping %q: %w", name, err)
	}
	return f, err
}

func (r *run) tellDownload(tr *session.Transfer) {
	d := tr.Describe(executor.BackendCDP)
	tr.Record(executor.NewTabID("cdp", r.id, tr.Tab().Raw), r.browser.record)
	r.browser.each(func(s *session.Session) {
		s.Emit(executor.Event{Kind: executor.EventDownload, Download: &d}, tr.Tab(), "")
	})
}

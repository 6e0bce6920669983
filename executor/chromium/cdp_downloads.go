package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// setDownloadBehavior returns the parameters of a client's Browser.setDownloadBehavior or
// Page.setDownloadBehavior with our staging directory. It records the client's directory. Like the
// browser, it distinguishes upper and lower case in names: the relay has checked browserContextId.
func (c *cdpClient) setDownloadBehavior(params json.RawMessage) json.RawMessage {
	var p struct {
		Behavior string `json:"behavior"`
		Path     string `json:"downloadPath,omitempty"`
		// These are only for the command of the browser.
		Context string `json:"browserContextId,omitempty"`
		Events  bool   `json:"eventsEnabled,omitempty"`
	}
	if cdpconn.Unmarshal([]byte(params), &p) != nil {
		return json.RawMessage("{}") // the browser rejects it
	}
	in := c.instance
	if p.Context != "" {
		in.downloads.watchContext(p.Context) // before the client's command, which may deny downloads
	}
	dir := p.Path
	if p.Behavior, p.Path = in.downloads.behavior(p.Behavior); p.Path != "" {
		if !isArtifactsDir(dir) {
			dir = ""
		}
		c.mu.Lock()
		c.dir = dir
		c.mu.Unlock()
	}
	raw, _ := json.Marshal(p)
	return raw
}

// behavior returns the behavior that replaces the one that a client sets, and the directory for it,
// or "" if none is to be set.
func (ds *downloads) behavior(behavior string) (replacement, dir string) {
	switch behavior {
	case "allow", "allowAndName", "default":
		_, staging, err := ds.staging()
		if err != nil {
			return "deny", ""
		}
		return "allowAndName", staging
	}
	return behavior, "" // deny, or a value that the browser rejects
}

// watchContext does for a context of a client what watch does for the default one.
func (ds *downloads) watchContext(id string) {
	ds.in.clients.context(id).downloads.Do(func() {
		behavior, dir := ds.behavior("allow")
		params := map[string]any{"behavior": behavior, "browserContextId": id, "eventsEnabled": true}
		if dir != "" {
			params["downloadPath"] = dir
		}
		ds.in.conn.BrowserSession().Start(context.Background(), "Browser.setDownloadBehavior", params)
	})
}

// A clientDownload is a download of a page in a client's context.
type clientDownload struct {
	name, url string
	context   string // id of the browser context; "" if a frame within a page began it
	share     *download.Share
}

// clientBegan records a download of a page that is not a tab, and cancels it unless a session
// allows it.
func (ds *downloads) clientBegan(e cdpbrowser.EventDownloadWillBegin) {
	err := ds.in.backend.sessions.MayDownloadURL(e.URL)
	browserContext, _ := ds.in.clients.pages.Peek(target.ID(e.FrameID))
	d := &clientDownload{name: e.SuggestedFilename, url: e.URL, context: browserContext}
	if err == nil {
		d.share, err = ds.quota.Begin()
	}
	if err != nil {
		ds.logDenied(e.URL, err)
		ds.cancel(e.GUID)
		ds.clientEnded(e.GUID, d, download.File{}, err)
		return
	}
	ds.mu.Lock()
	ds.clientDownloads[e.GUID] = d
	exited := ds.exited
	ds.mu.Unlock()
	if exited {
		ds.failClients(connectionEnded, func(other *clientDownload) bool { return other == d })
	}
}

// clientProgressed is progressed for the downloads of clientBegan. It reports whether e is the
// progress of one.
func (ds *downloads) clientProgressed(e cdpbrowser.EventDownloadProgress) bool {
	ds.mu.Lock()
	d := ds.clientDownloads[e.GUID]
	if e.State != cdpbrowser.DownloadProgressStateInProgress {
		delete(ds.clientDownloads, e.GUID)
	}
	ds.mu.Unlock()
	if d == nil {
		return false
	}
	switch e.State {
	case cdpbrowser.DownloadProgressStateCompleted:
		ds.in.work.Go(func() {
			f, err := ds.move(e.GUID, d.name, int64(e.ReceivedBytes), d.share)
			ds.clientEnded(e.GUID, d, f, err)
		})
	case cdpbrowser.DownloadProgressStateCanceled:
		ds.clientEnded(e.GUID, d, download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the download was interrupted"))
	default:
		if checkProgress(d.name, e, ds.in.opts.MaxDownloadBytes, d.share) != nil {
			ds.cancel(e.GUID)
		}
	}
	return true
}

// clientEnded releases and records a download that has ended.
func (ds *downloads) clientEnded(guid string, d *clientDownload, f download.File, err error) {
	d.share.End(f)
	ds.in.clients.downloadResult(guid).set(f.Path, err)
	entry := audit.Entry{Event: audit.EventDownload, Origin: audit.Origin(d.url), Code: "OK", Bytes: f.Bytes}
	if err != nil {
		entry.Code = string(executor.CodeOf(err))
	}
	ds.in.backend.record(entry)
}

// connectionEnded is the reason for which failAll fails downloads of clients.
const connectionEnded = "the connection to the browser ended"

// failClients ends the downloads of clients for which lost returns true, with a reason.
func (ds *downloads) failClients(reason string, isLost func(*clientDownload) bool) {
	lost := make(map[string]*clientDownload)
	ds.mu.Lock()
	for guid, d := range ds.clientDownloads {
		if isLost(d) {
			lost[guid] = d
			delete(ds.clientDownloads, guid)
		}
	}
	ds.mu.Unlock()
	for guid, d := range lost {
		ds.clientEnded(guid, d, download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "%s", reason))
		ds.unlink(guid)
	}
}

// copyTo copies a file from the download directory to a file with a name in the directory of a
// client, and returns the path of the copy. It never replaces a file: one that exists is the copy
// of an earlier event, because the browser can report twice that a download is complete.
func (ds *downloads) copyTo(file, dir, name string) (path string, err error) {
	downloads, err := ds.files()
	if err != nil {
		return "", err
	}
	from, err := os.OpenInRoot(downloads.Path(), filepath.Base(file))
	if err != nil {
		return "", err
	}
	defer from.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if info, err := root.Stat("."); err != nil || !owneronly.Private(info) || owneronly.CheckOwner(info) != nil {
		return "", errors.New("the directory is no longer private")
	}
	to, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return filepath.Join(dir, name), nil
	}
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		root.Remove(name)
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// artifactsDir is the prefix of the name of the directory that Playwright makes for the files of a
// connection, in the directory for temporary files. No other known client makes one.
const artifactsDir = "playwright-artifacts-"

// isArtifactsDir reports whether path is a directory that Playwright made for files, and that only
// this user can access. Another private directory may be one that programs trust, such as that of an
// agent for keys.
func isArtifactsDir(path string) bool {
	if dir, name := filepath.Split(filepath.Clean(path)); filepath.Clean(dir) != filepath.Clean(os.TempDir()) || !strings.HasPrefix(name, artifactsDir) {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && owneronly.Private(info) && owneronly.CheckOwner(info) == nil
}

// maxDownloadResults limits the results that cdpClients stores.
const maxDownloadResults = 256

// A downloadResult is the path of a downloaded file, or why the download failed.
type downloadResult struct {
	once sync.Once
	done chan struct{} // closed when path and err are set
	path string
	err  error
}

// downloadResult returns the result of a download, which may not have started or ended yet.
func (cs *cdpClients) downloadResult(guid string) *downloadResult {
	fresh := &downloadResult{done: make(chan struct{})}
	if known, ok, _ := cs.results.PeekOrAdd(guid, fresh); ok {
		return known
	}
	return fresh
}

// set sets the result. Only the first call has an effect. It is safe for concurrent use.
func (r *downloadResult) set(path string, err error) {
	r.once.Do(func() {
		r.path, r.err = path, err
		close(r.done)
	})
}

// finishedDownload waits until a complete download has been moved, and returns the parameters of
// its last event with the path of the file, or of the copy if the client has a directory. A download
// that was denied or could not be saved is canceled for the client, even if the browser completed it
// first.
func (c *cdpClient) finishedDownload(ctx context.Context, params json.RawMessage) json.RawMessage {
	var e cdpbrowser.EventDownloadProgress
	if json.Unmarshal(params, &e) != nil || e.State != cdpbrowser.DownloadProgressStateCompleted {
		return params
	}
	ctx, cancel := context.WithTimeout(ctx, c.instance.opts.timing.MoveDownload)
	defer cancel()
	f := c.instance.clients.downloadResult(e.GUID)
	select {
	case <-f.done:
	case <-c.client.Done():
		return params
	case <-ctx.Done():
		return params
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(params, &all) != nil {
		return params
	}
	if f.err != nil {
		all["state"] = json.RawMessage(`"canceled"`)
		delete(all, "filePath")
	} else {
		path := f.path
		c.mu.Lock()
		dir := c.dir
		c.mu.Unlock()
		if dir != "" {
			copied, err := c.instance.downloads.copyTo(path, dir, filepath.Base(e.GUID))
			if err != nil {
				c.instance.backend.log.Warn("copying a download for a client failed", "error", err)
			} else {
				path = copied
			}
		}
		all["filePath"], _ = json.Marshal(path)
	}
	raw, _ := json.Marshal(all)
	return raw
}

package extension

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// downloads matches the downloads that pages report with the files that the browser reports. They
// have no common id, so they are matched by URL. installation.mu guards it.
type downloads struct {
	begun     []*pendingDownload
	unmatched map[int]unmatchedFile
	ended     map[int]bool // later messages about these are outdated
}

// An unmatchedFile is a file that no page has reported, with its latest state. Opened means that the
// browser has reported it as one for which a tab was opened: the first such report decides whether the
// file counts, see countsDownloads.
type unmatchedFile struct {
	wire.Download
	since  time.Time
	counts bool // begin is called for it when its name is known
}

// A pendingDownload is a download that a page has reported.
type pendingDownload struct {
	url       string
	id        int            // Chrome's download id; 0 until it is known
	byUser    bool           // it started while the page was handed over
	undecided bool           // the fields transfer and cancel are not set yet
	last      *wire.Download // latest state while undecided; nil before the first message
	handled   bool           // a message about it was handled after the decision
	transfer  *session.Transfer
	cancel    bool // the download is not allowed
}

const (
	// maxUnmatchedDownloads bounds the number of unmatched files. The user downloads files, too.
	maxUnmatchedDownloads = 50
	// maxUndecided is how many downloads may wait for a decision: their files already arrive.
	maxUndecided = 8
)

func newDownloads() downloads {
	return downloads{unmatched: make(map[int]unmatchedFile), ended: make(map[int]bool)}
}

// take removes and returns the first file with the given URL that was reported less than maxDelay ago, or
// nil. An older one belongs to another download, possibly of the user.
func (ds *downloads) take(url string, maxDelay time.Duration) *wire.Download {
	for _, id := range slices.Sorted(maps.Keys(ds.unmatched)) { // in the order of begun
		f := ds.unmatched[id]
		if (f.URL == url || f.FinalURL == url) && time.Since(f.since) < maxDelay {
			delete(ds.unmatched, id)
			return &f.Download
		}
	}
	return nil
}

// store stores the state w of a file that no page has reported. f is what is known about it, and the zero
// value for a new one.
func (ds *downloads) store(w wire.Download, f unmatchedFile) {
	known, opened := !f.since.IsZero(), w.Opened || f.Opened
	if !known {
		f.since = time.Now()
	}
	if !known || f.State == "in_progress" { // otherwise the message is outdated
		f.Download = w
	}
	f.Opened = opened
	if known || len(ds.unmatched) < maxUnmatchedDownloads {
		ds.unmatched[w.ID] = f
	} else if oldest := slices.Min(slices.Collect(maps.Keys(ds.unmatched))); oldest < w.ID {
		delete(ds.unmatched, oldest)
		ds.unmatched[w.ID] = f
	}
}

// match returns the index in begun of the download whose file is w, or -1.
func (ds *downloads) match(w wire.Download, maxDelay time.Duration) int {
	i := slices.IndexFunc(ds.begun, func(b *pendingDownload) bool { return b.id != 0 && b.id == w.ID })
	if f, known := ds.unmatched[w.ID]; i >= 0 || known && time.Since(f.since) >= maxDelay {
		return i
	}
	return slices.IndexFunc(ds.begun, func(b *pendingDownload) bool {
		return b.id == 0 && (b.url == w.URL || w.FinalURL != "" && b.url == w.FinalURL)
	})
}

// downloadBegan handles a download that a page started. Downloads in the user's tabs count only if
// they start during a call; the others belong to the user, as do all that start during a handover.
func (in *installation) downloadBegan(t *session.Tab, d cdpbrowser.EventDownloadWillBegin) {
	if opener := t.Opener; opener != nil && blank(t.Page.URL()) {
		// The tab was opened only for the download, and closes immediately.
		t, d.FrameID = opener, cdp.FrameID(opener.Page.Session().Target().TargetID)
	}
	_, rec, info := in.backend.locate(t)
	if rec == nil || !countsDownloads(t, info) {
		return
	}
	in.begin(t, d)
}

// countsDownloads reports whether a download that starts now in a tab is subject to the policy and
// the limits.
func countsDownloads(t *session.Tab, info wire.Tab) bool {
	return info.Own || t.Page.Queue.Busy() && !t.Page.HandedOver()
}

func blank(url string) bool { return url == "" || url == "about:blank" }

// begin adds a download of a page. The start of a download overtakes the events of the page: the
// document of a frame that a script has just created, or that has just navigated, may not be known.
// Then the decision waits for it.
func (in *installation) begin(t *session.Tab, d cdpbrowser.EventDownloadWillBegin) {
	entry := &pendingDownload{url: d.URL, byUser: t.Page.HandedOver(), undecided: true}
	in.mu.Lock()
	waiting := 0
	for _, b := range in.downloads.begun {
		if b.undecided {
			waiting++
		}
	}
	in.downloads.begun = append(in.downloads.begun, entry)
	if w := in.downloads.take(d.URL, in.backend.timing.DownloadReport); w != nil { // the browser has reported it first
		entry.id, entry.last = w.ID, w
	}
	in.mu.Unlock()
	if waiting >= maxUndecided || t.Page.KnowsDocument(string(d.FrameID)) {
		in.decide(entry, t, d)
		return
	}
	in.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), in.backend.timing.AttachTab)
		defer cancel()
		t.Page.AwaitKnown(ctx, string(d.FrameID))
		in.decide(entry, t, d)
	})
}

// decide records a download, and cancels it unless it is allowed.
func (in *installation) decide(entry *pendingDownload, t *session.Tab, d cdpbrowser.EventDownloadWillBegin) {
	add := t.AddTransfer
	if entry.byUser {
		add = t.NewUserTransfer
	}
	if denied := in.backend.sessions.MayDownload(t, string(d.FrameID), d.URL); denied == nil {
		entry.transfer = add(d.SuggestedFilename)
		if share, err := in.backend.quota.Begin(); err != nil {
			entry.cancel = true
			entry.transfer.End(download.File{}, err)
		} else {
			entry.transfer.Share = share
		}
		in.notifyDownload(entry.transfer)
	} else {
		entry.cancel = true
		if !entry.byUser {
			in.backend.sessions.DenyDownload(t, string(d.FrameID), d.SuggestedFilename, denied)
		}
	}
	in.mu.Lock()
	entry.undecided = false
	last := entry.last
	in.mu.Unlock()
	if last != nil {
		in.handleDownloadState(*last)
	}
}

// setLast stores the state of an undecided download. The browser reports the end only once. It
// reports whether w is the first state with more than limit bytes: the download is then canceled, and
// reported as too large after the decision.
func (d *pendingDownload) setLast(w wire.Download, limit int64) (exceeded bool) {
	if d.last == nil {
		d.last = &w
		return w.Bytes > limit
	}
	if d.last.State != "in_progress" {
		return false // w is outdated
	}
	before := d.last.Bytes
	w.Bytes = max(w.Bytes, before)
	d.last = &w
	return before <= limit && w.Bytes > limit
}

// handleDownloadState handles the state of a download, as the browser reports it.
func (in *installation) handleDownloadState(w wire.Download) {
	limit := min(in.backend.opts.MaxDownloadBytes, in.backend.quota.Remaining())
	in.mu.Lock()
	if in.downloads.ended[w.ID] {
		in.mu.Unlock()
		return
	}
	i := in.downloads.match(w, in.backend.timing.DownloadReport)
	f := in.downloads.unmatched[w.ID]
	if t := in.tabs[w.TabID]; i < 0 && w.Opened && !f.Opened && t != nil && t.sessionTab != nil {
		f.counts = countsDownloads(t.sessionTab, t.info)
	}
	if t := in.tabs[w.TabID]; i < 0 && f.counts && t != nil && t.sessionTab != nil && (w.Filename != "" || w.State != "in_progress") {
		delete(in.downloads.unmatched, w.ID) // the user may have chosen its name for longer than DownloadReport
		in.mu.Unlock()
		in.begin(t.sessionTab, cdpbrowser.EventDownloadWillBegin{
			FrameID: cdp.FrameID(t.info.TargetID), URL: w.URL, SuggestedFilename: filepath.Base(w.Filename),
		})
		w.Opened = false
		in.handleDownloadState(w)
		return
	}
	if i < 0 {
		in.downloads.store(w, f)
		in.mu.Unlock()
		return
	}
	delete(in.downloads.unmatched, w.ID)
	entry := in.downloads.begun[i]
	entry.id = w.ID
	if entry.undecided {
		exceeded := entry.setLast(w, limit)
		in.mu.Unlock()
		if exceeded {
			in.cancel(w.ID)
		}
		return
	}
	first := !entry.handled
	entry.handled = true
	if w.State != "in_progress" {
		in.downloads.ended[w.ID] = true
		in.downloads.begun = slices.Delete(slices.Clone(in.downloads.begun), i, i+1)
	}
	in.mu.Unlock()
	if entry.cancel {
		if first || w.State == "complete" {
			in.cancel(w.ID)
		}
		return
	}
	in.updateTransfer(entry, w)
}

// updateTransfer ends the transfer of an allowed download if w is its last state or exceeds a limit.
func (in *installation) updateTransfer(entry *pendingDownload, w wire.Download) {
	tr, limit := entry.transfer, in.backend.opts.MaxDownloadBytes
	switch {
	case w.Bytes > limit || w.Total > limit:
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed,
			"The user can allow more with Options.MaxDownloadBytes.",
			"%q is larger than %s", tr.Name, download.SizeText(limit)))
		in.cancel(w.ID)
	case tr.Share.Grow(w.Bytes) != nil:
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed,
			"The user can allow more with Options.MaxDownloadTotal.",
			"%q would exceed the total download limit", tr.Name))
		in.cancel(w.ID)
	case w.State == "complete":
		f, err := verifyDownloaded(w)
		if err != nil {
			err = executor.Errorf(executor.ErrDownloadFailed, "Try again, or look in the download directory.",
				"downloaded file %q not found: %w", tr.Name, err)
		}
		tr.End(f, err)
	case w.State == "interrupted":
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.",
			"the download of %q was interrupted: %q", tr.Name, pagetext.Truncate(w.Error, maxReason)))
	default:
		return
	}
	in.notifyDownload(tr)
}

// verifyDownloaded checks and returns the file that the browser has reported as complete. The disk
// can be full or removed, and a virus scanner can have deleted the file.
func verifyDownloaded(w wire.Download) (download.File, error) {
	info, err := os.Lstat(w.Filename)
	switch {
	case err != nil:
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return download.File{}, err
	case !info.Mode().IsRegular():
		return download.File{}, errors.New("not a regular file")
	case info.Size() == 0 && w.Bytes > 0:
		return download.File{}, errors.New("file is empty")
	}
	return download.File{Path: w.Filename, Name: filepath.Base(w.Filename), Bytes: info.Size()}, nil
}

// cancel cancels a download in the browser.
func (in *installation) cancel(id int) {
	c := in.connection()
	if c == nil {
		return
	}
	in.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), in.backend.timing.CancelDownload)
		defer cancel()
		if err := c.Call(ctx, wire.MethodDownloadCancel, wire.DownloadRef{ID: id}, nil); err != nil {
			in.backend.log.Warn("canceling a denied download failed", "error", err)
		}
	})
}

func (in *installation) notifyDownload(tr *session.Transfer) {
	in.backend.sessions.EmitDownload(tr, executor.BackendExtension, executor.NewTabID("ext", in.id, tr.Tab().Raw),
		in.backend.record)
}

// Downloads implements session.BrowserInstance.
func (h host) Downloads() (*download.Dir, error) { return h.files() }

// startProxy starts the proxy for downloads by URL. The proxy checks each connection with
// Options.Network. The extensions receive its port and deny it to pages.
func (b *Backend) startProxy() (*egress.Proxy, error) {
	p, err := egress.NewPrivate(nil,
		egress.Options{Policy: b.opts.Network, NoProxy: b.opts.NoProxy, Logger: b.opts.Logger}, b.opts.Proxy)
	switch {
	case errors.Is(err, executor.ErrBadArgs):
		return nil, err
	case err != nil:
		return nil, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the filtering proxy did not start: %w", err)
	}
	b.mu.Lock()
	b.proxied = p
	b.mu.Unlock()
	b.opts.Server.PolicyChanged()
	return p, nil
}

// Fetcher implements session.BrowserInstance.
func (h host) Fetcher() session.Fetcher {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	if h.opts.Network != nil {
		p, err := h.proxy()
		if err != nil {
			return session.Fetcher{Transport: failingRoundTripper{err}}
		}
		t.Proxy = http.ProxyURL(p.Client())
	}
	t.DisableKeepAlives = true // each Fetcher downloads one file
	return session.Fetcher{Transport: t, UserAgent: h.userAgent()}
}

// A failingRoundTripper fails each request with err.
type failingRoundTripper struct{ err error }

// RoundTrip implements http.RoundTripper.
func (r failingRoundTripper) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// userAgent returns the User-Agent header of the user's Chrome, or "" if its version is unknown.
func (b *Backend) userAgent() string {
	version := ""
	for _, in := range b.connectedInstallations() {
		if c := in.connection(); c != nil {
			version = c.Chrome()
		}
	}
	major, _, _ := strings.Cut(version, ".")
	if major == "" {
		return ""
	}
	system := "X11; Linux x86_64"
	switch runtime.GOOS {
	case "darwin":
		system = "Macintosh; Intel Mac OS X 10_15_7"
	case "windows":
		system = "Windows NT 10.0; Win64; x64"
	}
	return "Mozilla/5.0 (" + system + ") AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + major + ".0.0.0 Safari/537.36"
}

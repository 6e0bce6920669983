package extension

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// downloads matches what pages say of downloads with what the browser says of
// files: neither knows the other's number, both know the URL. link.mu guards
// it.
type downloads struct {
	begun     []*pendingDownload
	unmatched map[int]wire.Download // of which no page has told; the newest state of each
	ended     map[int]bool          // what is told of these later is older
}

// A pendingDownload is a download that a page told of.
type pendingDownload struct {
	url      string
	id       int // the browser's; 0 until it was told
	transfer *session.Transfer
	cancel   bool // it is not allowed
}

// maxUnmatchedDownloads bounds the files that no page has told of: the user downloads too.
const maxUnmatchedDownloads = 50

func newDownloads() downloads {
	return downloads{unmatched: make(map[int]wire.Download), ended: make(map[int]bool)}
}

// downloadBegan takes note of a download that a page began: one of an agent's
// tab, or one that began during a call. What users download in their own tabs
// is theirs.
func (l *installation) downloadBegan(t *session.Tab, d page.Download) {
	if opener := t.Opener; opener != nil && blank(t.Page.URL()) {
		// It was opened for nothing but this, and is closed at once.
		t, d.Frame = opener, string(opener.Page.Session().Target().TargetID)
	}
	_, rec, info := l.backend.locate(t)
	if rec == nil || !(info.Own || t.Page.Busy()) {
		return
	}
	l.begin(t, d)
}

func blank(url string) bool { return url == "" || url == "about:blank" }

// begin takes note of a download that counts.
func (l *installation) begin(t *session.Tab, d page.Download) {
	entry := &pendingDownload{url: d.URL}
	if l.mayDownload(t, d) {
		entry.transfer = t.AddTransfer(d.Name)
		if share, err := l.backend.quota.Begin(); err != nil {
			entry.cancel = true
			entry.transfer.End(download.File{}, err)
		} else {
			entry.transfer.Share = share
		}
		l.notifyDownload(entry.transfer)
	} else {
		name := d.Name
		if !l.mayRead(t, d.Frame) {
			name = "" // it may say anything
		}
		entry.cancel = true
		t.AddTransfer(name).End(download.File{}, executor.Errorf(executor.ErrPolicyDenied,
			"The user can allow downloads with --enable-downloads.", "the page's download was denied"))
	}
	l.mu.Lock()
	l.files.begun = append(l.files.begun, entry)
	var told *wire.Download
	for id, w := range l.files.unmatched { // it came first
		if w.URL == d.URL || w.FinalURL == d.URL {
			told = &w
			delete(l.files.unmatched, id)
			break
		}
	}
	l.mu.Unlock()
	if told != nil {
		l.downloaded(*told)
	}
}

// mayDownload reports whether the session that a tab belongs to lets a frame of
// it download a URL; of a tab that is nobody's, whether any session does.
func (l *installation) mayDownload(t *session.Tab, d page.Download) bool {
	owner, may := t.Owner(), false
	l.backend.each(func(s *session.Session) {
		if owner == nil || owner == s {
			may = may || s.MayDownload(context.Background(), t, d.Frame, d.URL) == nil
		}
	})
	return may
}

// mayRead reports whether every session that hears of the tab may read a frame
// of it.
func (l *installation) mayRead(t *session.Tab, frame string) bool {
	owner, may := t.Owner(), true
	l.backend.each(func(s *session.Session) {
		if owner == nil || owner == s {
			may = may && s.CanRead(context.Background(), t, frame)
		}
	})
	return may
}

// downloaded applies what the browser says of a file.
func (l *installation) downloaded(w wire.Download) {
	l.mu.Lock()
	if l.files.ended[w.ID] {
		l.mu.Unlock()
		return
	}
	i := slices.IndexFunc(l.files.begun, func(b *pendingDownload) bool { return b.id != 0 && b.id == w.ID })
	if i < 0 {
		i = slices.IndexFunc(l.files.begun, func(b *pendingDownload) bool {
			return b.id == 0 && (b.url == w.URL || w.FinalURL != "" && b.url == w.FinalURL)
		})
	}
	if t := l.tabs[w.TabID]; i < 0 && w.Opened && t != nil && t.tab != nil && (t.info.Own || t.tab.Page.Busy()) {
		if w.Filename == "" && w.State == "in_progress" {
			l.mu.Unlock()
			return // what it is called is told in a moment
		}
		l.mu.Unlock()
		l.begin(t.tab, page.Download{Frame: t.info.TargetID, URL: w.URL, Name: filepath.Base(w.Filename)})
		w.Opened = false
		l.downloaded(w)
		return
	}
	if i < 0 {
		before, known := l.files.unmatched[w.ID]
		if known && before.State != "in_progress" {
			w = before // what is told later is older
		}
		if known || len(l.files.unmatched) < maxUnmatchedDownloads {
			l.files.unmatched[w.ID] = w
		} else {
			for id := range l.files.unmatched { // the oldest
				if id < w.ID {
					delete(l.files.unmatched, id)
					l.files.unmatched[w.ID] = w
					break
				}
			}
		}
		l.mu.Unlock()
		return
	}
	entry := l.files.begun[i]
	first := entry.id == 0
	entry.id = w.ID
	if w.State != "in_progress" {
		l.files.ended[w.ID] = true
		l.files.begun = slices.Delete(slices.Clone(l.files.begun), i, i+1)
	}
	l.mu.Unlock()
	if entry.cancel {
		if first || w.State == "complete" {
			l.cancel(w.ID)
		}
		return
	}
	l.progress(entry, w)
}

func (l *installation) progress(entry *pendingDownload, w wire.Download) {
	tr, limit := entry.transfer, l.backend.opts.MaxDownloadBytes
	switch {
	case w.Bytes > limit || w.Total > limit:
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "The user can allow more with --max-download.",
			"%q is larger than %d MB", tr.Name, limit>>20))
		l.cancel(w.ID)
	case w.Bytes > l.backend.quota.Remaining():
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "The user can allow more with --max-download-total.",
			"%q would exceed the total download limit", tr.Name))
		l.cancel(w.ID)
	case w.State == "complete":
		f, err := verifyDownloaded(w)
		if err != nil {
			err = executor.Errorf(executor.ErrDownloadFailed, "Try again; look at the folder of downloads.", "downloaded file %q not found: %w", tr.Name, err)
		}
		tr.End(f, err)
	case w.State == "interrupted":
		tr.End(download.File{}, executor.Errorf(executor.ErrDownloadFailed, "Try again.", "the download of %q was interrupted: %q", tr.Name, truncate(w.Error)))
	default:
		return
	}
	l.notifyDownload(tr)
}

// verifyDownloaded returns the file that a browser says it has written whole: a disk that
// is full or gone, or somebody's virus scanner, may have been of another opinion.
func verifyDownloaded(w wire.Download) (download.File, error) {
	info, err := os.Lstat(w.Filename)
	switch {
	case err != nil:
		var path *fs.PathError
		if errors.As(err, &path) {
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

// cancel ends a download.
func (l *installation) cancel(id int) {
	c := l.connection()
	if c == nil {
		return
	}
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := c.Call(ctx, wire.MethodDownloadCancel, wire.DownloadRef{ID: id}, nil); err != nil {
			l.backend.log.Warn("a download that is not allowed was not cancelled", "error", err)
		}
	})
}

func (l *installation) notifyDownload(tr *session.Transfer) {
	d := tr.Describe(executor.BackendExtension)
	tr.Record(executor.NewTabID("ext", tr.Tab().InstanceID, tr.Tab().Raw), l.backend.record)
	l.backend.each(func(s *session.Session) {
		s.Emit(executor.Event{Kind: executor.EventDownload, Download: &d}, tr.Tab(), "")
	})
}

func (b *Backend) openDownloads() (*download.Dir, error) {
	dir, err := download.Open(filepath.Join(b.opts.DataDir, "downloads"), b.opts.MaxDownloadBytes)
	if err == nil {
		dir.Share(b.quota)
	}
	return dir, err
}

// Downloads implements session.Browser.
func (b host) Downloads() (*download.Dir, error) { return b.files() }

// startProxy starts the proxy through which URLs are fetched. The proxy checks
// each connection with Options.Network. Browsers receive its port and close it to
// their pages.
func (b *Backend) startProxy() (*egress.Proxy, error) {
	p, err := egress.NewPrivate(egress.Options{Policy: b.opts.Network, NoProxy: b.opts.NoProxy, Logger: b.opts.Logger}, b.opts.Proxy)
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

// Fetcher implements session.Browser.
func (b host) Fetcher() session.Fetcher {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	if b.opts.Network != nil {
		p, err := b.proxy()
		if err != nil {
			return session.Fetcher{Transport: failingRoundTripper{err}}
		}
		t.Proxy = http.ProxyURL(p.Client())
	}
	t.DisableKeepAlives = true // one file each: nothing is to stay open after it
	return session.Fetcher{Transport: t, UserAgent: b.userAgent()}
}

// failingRoundTripper is a RoundTripper of which nothing comes.
type failingRoundTripper struct{ err error }

// RoundTrip implements http.RoundTripper.
func (r failingRoundTripper) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// userAgent is what a Chrome of the user's says it is.
func (b *Backend) userAgent() string {
	version := ""
	for _, l := range b.connectedInstallations() {
		if c := l.connection(); c != nil {
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

package session

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// A Fetcher says how to fetch a URL as a browser would.
type Fetcher struct {
	Transport http.RoundTripper // decides on addresses as the browser's own network does
	UserAgent string
}

// A Transfer is a download that a page began. The backend reports its end.
type Transfer struct {
	Name string // as the server or the page suggests it
	n    int    // sequence number among the tab's transfers, from 1
	tab  *Tab
	done chan struct{}
	once sync.Once

	recorded sync.Once
	// Share is what the transfer takes of a quota, until its end. Set it right
	// after Begin; nil is none.
	Share *download.Share
	file  download.File
	err   error
	told  string // the state that was told of last
}

// beginTimeout is how long after a click a download may begin: the server
// answers first.
const beginTimeout = 10 * time.Second

// Begin takes note of a download that the tab's page began.
func (t *Tab) Begin(name string) *Transfer {
	tr := &Transfer{Name: name, tab: t, done: make(chan struct{})}
	t.mu.Lock()
	t.began++
	tr.n = t.began
	t.transfers = append(t.transfers, tr)
	t.dropTransfers()
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
	hook := t.hook
	t.mu.Unlock()
	if hook != nil {
		hook(tr)
	}
	return tr
}

// onBegin has f called with each download that begins, until stop is called.
func (t *Tab) onBegin(f func(*Transfer)) (stop func()) {
	t.mu.Lock()
	t.hook = f
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		t.hook = nil
		t.mu.Unlock()
	}
}

// End says how a transfer ended: with a file, or with an error.
func (tr *Transfer) End(f download.File, err error) {
	tr.once.Do(func() {
		tr.file, tr.err = f, err
		tr.Share.End(f)
		close(tr.done)
	})
}

// Tab returns the tab whose page began the transfer.
func (tr *Transfer) Tab() *Tab { return tr.tab }

// ended reports whether the transfer has ended.
func (tr *Transfer) ended() bool {
	select {
	case <-tr.done:
		return true
	default:
		return false
	}
}

// Describe returns the state of the transfer.
func (tr *Transfer) Describe(kind executor.BackendKind) executor.Download {
	d := executor.Download{Backend: kind, SuggestedName: tr.Name, State: "running"}
	if !tr.ended() {
		return d
	}
	d.State = "completed"
	if tr.err != nil {
		d.State, d.Reason = "canceled", tr.reason()
		return d
	}
	d.Path, d.Bytes = tr.file.Path, tr.file.Bytes
	return d
}

// Record tells record, once, of a transfer that has ended in a tab of this id.
// What the file is called may be anything, and is not told.
func (tr *Transfer) Record(id executor.TabID, record func(audit.Entry)) {
	if !tr.ended() {
		return
	}
	tr.recorded.Do(func() {
		e := audit.Entry{Event: audit.EventDownload, Tab: string(id), Origin: audit.Origin(tr.tab.Page.URL()), Code: "OK", Bytes: tr.file.Bytes}
		if tr.err != nil {
			e.Code, e.Bytes = string(executor.CodeOf(tr.err)), 0
		}
		record(e)
	})
}

// reason says why the transfer failed, and what to do about it.
func (tr *Transfer) reason() string {
	var e *executor.Error
	if !errors.As(tr.err, &e) {
		return tr.err.Error()
	}
	if e.Hint == "" {
		return e.Message()
	}
	return e.Message() + ". " + e.Hint
}

// downloads is the page.Downloads of a tab.
type downloads struct {
	tab  *Tab
	kind executor.BackendKind
}

// Begun implements page.Downloads.
func (d downloads) Begun() int {
	d.tab.mu.Lock()
	defer d.tab.mu.Unlock()
	return d.tab.began
}

// News implements page.Downloads.
func (d downloads) News(ctx context.Context, begun, want int) page.DownloadNews {
	t := d.tab
	for {
		t.mu.Lock()
		if t.news == nil {
			t.news = make(chan struct{})
		}
		news, there := t.news, t.began-begun >= want
		t.mu.Unlock()
		if there {
			return t.freshDownloads(d.kind, begun)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return t.freshDownloads(d.kind, begun)
		}
	}
}

// Limits of the downloads of one tab. A page can start any number.
const (
	maxReported  = 10  // in one result
	maxTransfers = 100 // finished transfers stored between results, and running ones
)

// dropTransfers removes the oldest finished transfers if there are too many. t.mu
// must be held.
func (t *Tab) dropTransfers() {
	excess := len(t.transfers) - maxTransfers
	if excess <= 0 {
		return
	}
	t.transfers = slices.DeleteFunc(t.transfers, func(tr *Transfer) bool {
		if excess == 0 || !tr.ended() {
			return false
		}
		excess--
		t.dropped++
		return true
	})
}

// freshDownloads returns the changes of the tab's transfers since the last call.
// Changes of the first begun transfers of the tab are earlier ones.
func (t *Tab) freshDownloads(kind executor.BackendKind, begun int) (d page.DownloadNews) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.More, t.dropped = t.dropped, 0
	var running []*Transfer
	for _, tr := range t.transfers {
		now := tr.Describe(kind)
		if now.State != tr.told {
			tr.told = now.State
			switch {
			case len(d.Began)+len(d.Earlier) == maxReported:
				d.More++
			case tr.n > begun:
				d.Began = append(d.Began, now)
			default:
				d.Earlier = append(d.Earlier, now)
			}
		}
		if now.State == "running" {
			running = append(running, tr)
		}
	}
	t.transfers = running
	return d
}

// Download fetches a URL, or clicks a target that starts a download.
func (s *Session) Download(ctx context.Context, id executor.TabID, opts executor.DownloadOptions) (*executor.Download, error) {
	timeout := opts.Timeout
	if timeout <= 0 {
		timeout = executor.DefaultDownloadTimeout
	}
	if (opts.URL == "") == opts.Target.IsZero() {
		return nil, executor.Wrap("download", id, executor.Errorf(executor.ErrBadArgs, "Give either of them.", "exactly one of url and a target is needed"))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, t, err := s.locate(ctx, id)
	if err != nil && opts.URL != "" && id == "" && errors.Is(err, executor.ErrTabNotFound) && b != nil && len(s.candidates(b)) == 0 {
		_, _, err = s.open(ctx, "", false, nil) // a first call may well be a download
		if err == nil {
			b, t, err = s.locate(ctx, "")
		}
	}
	if err != nil {
		return nil, executor.Wrap("download", id, explain(err))
	}
	id = s.id(b, t)
	dir, err := b.Downloads()
	if err != nil {
		return nil, executor.Wrap("download", id, explain(err))
	}
	if opts.URL != "" {
		res, err := s.fetch(ctx, b, t, dir, opts)
		return res, executor.Wrap("download", id, explain(err))
	}
	return onTab(ctx, s, "download", id, timeout, func(v *page.View) (*executor.Download, error) {
		return s.downloadByClick(ctx, v, t, opts)
	})
}

// fetch downloads a URL with the tab's cookies. It does not take the tab's
// turn: it does nothing to the page.
func (s *Session) fetch(ctx context.Context, b Browser, t *Tab, dir *download.Dir, opts executor.DownloadOptions) (*executor.Download, error) {
	v := s.view(t)
	f := b.Fetcher()
	req := download.Request{
		URL: opts.URL, Name: opts.SuggestedName, Transport: f.Transport, UserAgent: f.UserAgent,
		Check:   func(ctx context.Context, url string) error { return v.Allows(ctx, executor.OpDownload, url) },
		Cookies: v.CookiesOfDownload,
	}
	if u := t.Page.URL(); strings.HasPrefix(u, "http") {
		req.Referer = u
	}
	file, res, err := dir.Fetch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &executor.Download{Path: file.Path, Backend: s.host.Kind(), Bytes: file.Bytes, MIMEType: res.MIMEType, SuggestedName: res.SuggestedName}, nil
}

// downloadByClick clicks and waits for the download that this starts.
func (s *Session) downloadByClick(ctx context.Context, v *page.View, t *Tab, opts executor.DownloadOptions) (*executor.Download, error) {
	if err := v.Allows(ctx, executor.OpDownload, ""); err != nil {
		return nil, err
	}
	began := make(chan *Transfer, 1)
	stop := t.onBegin(func(tr *Transfer) {
		select {
		case began <- tr:
		default:
		}
	})
	defer stop()
	if _, err := v.Click(ctx, opts.Target, nil); err != nil {
		return nil, err
	}
	if err := v.LoadFailure(ctx); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	var tr *Transfer
	select {
	case tr = <-began:
	case <-wait.Done():
		return nil, &executor.Error{Code: executor.ErrDownloadFailed, Err: errors.New("the click started no download"),
			Hint: "Take a snapshot to see what it did, or give the file's url."}
	}
	select {
	case <-tr.done:
	case <-ctx.Done():
		return nil, executor.Errorf(executor.ErrTimeout, executor.HintMoreTime, "the download of %q was still running", tr.Name)
	}
	if tr.err != nil {
		return nil, tr.err
	}
	t.mu.Lock()
	tr.told = "completed" // by this call
	t.mu.Unlock()
	return &executor.Download{Path: tr.file.Path, Backend: s.host.Kind(), Bytes: tr.file.Bytes, SuggestedName: tr.Name}, nil
}

package session

import (
	"context"
	"errors"
	"net/http"
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
	t.transfers = append(t.transfers, tr)
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
	hook := t.began
	t.mu.Unlock()
	if hook != nil {
		hook(tr)
	}
	return tr
}

// onBegin has f called with each download that begins, until stop is called.
func (t *Tab) onBegin(f func(*Transfer)) (stop func()) {
	t.mu.Lock()
	t.began = f
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		t.began = nil
		t.mu.Unlock()
	}
}

// End says how a transfer ended: with a file, or with an error.
func (tr *Transfer) End(f download.File, err error) {
	tr.once.Do(func() {
		tr.file, tr.err = f, err
		tr.Share.End(f.Bytes)
		close(tr.done)
	})
}

// Tab returns the tab whose page began the transfer.
func (tr *Transfer) Tab() *Tab { return tr.tab }

// Describe tells how far the transfer is.
func (tr *Transfer) Describe(kind executor.BackendKind) executor.Download {
	d := executor.Download{Backend: kind, SuggestedName: tr.Name, State: "running"}
	select {
	case <-tr.done:
		d.State = "completed"
		if tr.err != nil {
			d.State, d.Reason = "canceled", tr.reason()
			return d
		}
		d.Path, d.Bytes = tr.file.Path, tr.file.Bytes
	default:
	}
	return d
}

// Record tells record, once, of a transfer that has ended in a tab of this id.
// What the file is called may be anything, and is not told.
func (tr *Transfer) Record(id executor.TabID, record func(audit.Entry)) {
	select {
	case <-tr.done:
	default:
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

// awaitDownloads is freshDownloads, once there are want of them or ctx is done.
func (t *Tab) awaitDownloads(ctx context.Context, kind executor.BackendKind, want int) []executor.Download {
	var list []executor.Download
	for {
		t.mu.Lock()
		if t.news == nil {
			t.news = make(chan struct{})
		}
		news := t.news
		t.mu.Unlock()
		list = append(list, t.freshDownloads(kind)...)
		if len(list) >= want {
			return list
		}
		select {
		case <-news:
		case <-ctx.Done():
			return list
		}
	}
}

// freshDownloads returns what the tab's transfers have come to since the last
// call.
func (t *Tab) freshDownloads(kind executor.BackendKind) []executor.Download {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []executor.Download
	var running []*Transfer
	for _, tr := range t.transfers {
		d := tr.Describe(kind)
		if d.State != tr.told {
			list = append(list, d)
			tr.told = d.State
		}
		if d.State == "running" {
			running = append(running, tr)
		}
	}
	t.transfers = running
	return list
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
	if err != nil && opts.URL != "" && id == "" && errors.Is(err, executor.ErrTabNotFound) && b != nil && !s.hasTab(b) {
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
	t.freshDownloads(s.host.Kind())
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
		return nil, executor.Errorf(executor.ErrTimeout, "Try again with a longer timeoutMs.", "the download of %q was still running", tr.Name)
	}
	if tr.err != nil {
		return nil, tr.err
	}
	t.freshDownloads(s.host.Kind()) // told of here
	return &executor.Download{Path: tr.file.Path, Backend: s.host.Kind(), Bytes: tr.file.Bytes, SuggestedName: tr.Name}, nil
}

package session

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// A Fetcher contains what is needed to fetch a URL as a browser does.
type Fetcher struct {
	Transport http.RoundTripper // filters addresses as the browser's own network does
	UserAgent string
}

// A Transfer is a download that a page started. The backend reports its end.
type Transfer struct {
	Name string // as suggested by the server or the page
	n    int    // sequence number among the tab's transfers, from 1; 0 for a transfer of the user
	tab  *Tab
	done chan struct{}
	once sync.Once

	recorded sync.Once
	// Share is the part of the download quota that the transfer uses until it ends. Set it right
	// after AddTransfer or NewUserTransfer; nil means no quota.
	Share         *download.Share
	file          download.File
	err           error
	reportedState string // the last reported state
}

// AddTransfer records that the tab's page started a download.
func (t *Tab) AddTransfer(name string) *Transfer {
	tr := &Transfer{Name: name, tab: t, done: make(chan struct{})}
	t.mu.Lock()
	t.transferCount++
	tr.n = t.transferCount
	t.transfers = append(t.transfers, tr)
	t.dropTransfers()
	onStart := t.onStart
	t.mu.Unlock()
	t.transferStarted.Notify()
	if onStart != nil {
		onStart(tr)
	}
	return tr
}

// NewUserTransfer returns the transfer of a download that started while the tab was handed over. It is
// the user's: no result, event or audit entry reports it.
func (t *Tab) NewUserTransfer(name string) *Transfer {
	return &Transfer{Name: name, tab: t, done: make(chan struct{})}
}

// onTransfer calls f with each new transfer until stop is called.
func (t *Tab) onTransfer(f func(*Transfer)) (stop func()) {
	t.mu.Lock()
	t.onStart = f
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		t.onStart = nil
		t.mu.Unlock()
	}
}

// End ends a transfer, with a file or an error.
func (tr *Transfer) End(f download.File, err error) {
	tr.once.Do(func() {
		tr.file, tr.err = f, err
		tr.Share.End(f)
		close(tr.done)
	})
}

// Tab returns the tab whose page started the transfer.
func (tr *Transfer) Tab() *Tab { return tr.tab }

// ended reports whether the transfer has ended.
func (tr *Transfer) ended() bool { return notify.IsClosed(tr.done) }

// Describe returns the state of the transfer.
func (tr *Transfer) Describe(kind executor.BackendKind) executor.Download {
	d := executor.Download{Backend: kind, SuggestedName: tr.Name, State: "running"}
	switch {
	case !tr.ended():
	case tr.err != nil:
		d.State, d.Reason = "canceled", tr.reason()
	default:
		d.State, d.Path, d.Bytes = "completed", tr.file.Path, tr.file.Bytes
	}
	return d
}

// Record passes an entry about an ended transfer to record, at most once. id is the id of the tab.
// The entry omits the file name, because it can contain any text.
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

// reason returns why the transfer failed, and what to do about it.
func (tr *Transfer) reason() string {
	e, ok := errors.AsType[*executor.Error](tr.err)
	switch {
	case !ok:
		return tr.err.Error()
	case e.Hint == "":
		return e.Message()
	}
	return e.Message() + ". " + e.Hint
}

// downloads implements page.Downloads for a tab.
type downloads struct {
	tab  *Tab
	kind executor.BackendKind
}

// Started implements page.Downloads.
func (d downloads) Started() int {
	d.tab.mu.Lock()
	defer d.tab.mu.Unlock()
	return d.tab.transferCount
}

// News implements page.Downloads.
func (d downloads) News(ctx context.Context, startedBefore, want int) page.DownloadNews {
	for ctx.Err() == nil {
		started := d.tab.transferStarted.Changed()
		if d.Started()-startedBefore >= want {
			break
		}
		select {
		case <-started:
		case <-ctx.Done():
		}
	}
	return d.tab.newDownloads(d.kind, startedBefore)
}

// now returns the changes since the last call.
func (d downloads) now() page.DownloadNews { return d.tab.newDownloads(d.kind, d.Started()) }

// Limits of the downloads of one tab. A page can start any number.
const (
	maxReported  = 10  // in one result
	maxTransfers = 100 // finished transfers stored between results, and running ones
)

// dropTransfers removes the oldest finished transfers if there are too many. t.mu must be held.
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

// newDownloads returns the transfers of the tab whose state has changed since the last call. The
// first startedBefore transfers of the tab are reported as earlier ones.
func (t *Tab) newDownloads(kind executor.BackendKind, startedBefore int) (d page.DownloadNews) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.More, t.dropped = t.dropped, 0
	var running []*Transfer
	for _, tr := range t.transfers {
		now := tr.Describe(kind)
		if now.State != tr.reportedState {
			tr.reportedState = now.State
			switch {
			case len(d.Started)+len(d.Earlier) == maxReported:
				d.More++
			case tr.n > startedBefore:
				d.Started = append(d.Started, now)
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
func (p *tabPage) Download(ctx context.Context, o *executor.DownloadOptions) (*executor.DownloadedFiles, error) {
	s, id := p.session, p.tab
	defer s.reportDownloads(ctx)
	opts := *cmp.Or(o, new(executor.DownloadOptions))
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
		var opened *executor.Tab
		opened, _, err = s.open(ctx, "", false, nil) // the first call may be a download
		if err == nil {
			b, t, err = s.locate(ctx, opened.ID)
		}
	}
	if err != nil {
		return nil, executor.Wrap("download", id, asExecutorError(err))
	}
	id = s.ids.of(b, t)
	dir, err := b.Downloads()
	if err != nil {
		return nil, executor.Wrap("download", id, asExecutorError(err))
	}
	if opts.URL != "" {
		res, err := s.fetch(ctx, b, t, dir, opts)
		return res, executor.Wrap("download", id, asExecutorError(err))
	}
	return onTab(ctx, &tabPage{s, id}, "download", timeout, func(v *page.View) (*executor.DownloadedFiles, error) {
		return s.downloadByClick(ctx, v, t, opts)
	})
}

// fetch downloads a URL with the tab's cookies. It bypasses the tab's call queue, because it does
// not use the page.
func (s *Session) fetch(ctx context.Context, b BrowserInstance, t *Tab, dir *download.Dir, opts executor.DownloadOptions) (*executor.DownloadedFiles, error) {
	v := s.view(t)
	f := b.Fetcher()
	req := download.Request{
		URL: opts.URL, Name: opts.SuggestedName, Transport: f.Transport, UserAgent: f.UserAgent,
		Check:   func(ctx context.Context, url string) error { return v.Check(ctx, executor.OpDownload, url) },
		Cookies: v.DownloadCookies,
	}
	if u := t.Page.URL(); strings.HasPrefix(u, "http") {
		req.Referer = u
	}
	file, res, err := dir.Fetch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &executor.DownloadedFiles{
		Path: file.Path, Backend: s.provider.Kind(), Bytes: file.Bytes, MIMEType: res.MIMEType, SuggestedName: res.SuggestedName,
	}, nil
}

// downloadByClick clicks the target and waits for the downloads that the click starts.
func (s *Session) downloadByClick(ctx context.Context, v *page.View, t *Tab, opts executor.DownloadOptions) (*executor.DownloadedFiles, error) {
	if err := v.Check(ctx, executor.OpDownload, ""); err != nil {
		return nil, err
	}
	started := notify.NewQueue[*Transfer](0)
	defer t.onTransfer(started.Put)()
	if _, err := v.Click(ctx, opts.Target, nil); err != nil {
		return nil, err
	}
	if err := v.LoadFailure(ctx); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, s.timing.DownloadStart)
	defer cancel()
	go func() {
		select {
		case <-t.Page.Gone():
			cancel()
		case <-wait.Done():
		}
	}()
	var transfers []*Transfer
	for {
		tr, err := started.Next(wait)
		if err != nil {
			break
		}
		transfers = append(transfers, tr)
		cancel() // others are only waited for if they start before this one ends
		select {
		case <-tr.done:
		case <-ctx.Done():
		}
	}
	switch {
	case len(transfers) > 0:
	case notify.IsClosed(t.Page.Gone()):
		return nil, executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the tab was closed before a download started")
	default:
		return nil, &executor.Error{Code: executor.ErrDownloadFailed, Err: errors.New("the click started no download"),
			Hint: "Take a snapshot to see what it did, or pass the file's url."}
	}
	return t.downloadedFiles(s.provider.Kind(), transfers)
}

// downloadedFiles returns the result of a click that started transfers: the first that was saved,
// and the others. If none was saved, it returns the error of the first.
func (t *Tab) downloadedFiles(kind executor.BackendKind, transfers []*Transfer) (*executor.DownloadedFiles, error) {
	saved := slices.IndexFunc(transfers, func(tr *Transfer) bool { return tr.ended() && tr.err == nil })
	if saved < 0 {
		if tr := transfers[0]; !tr.ended() {
			return nil, executor.Errorf(executor.ErrTimeout, "Do not start it again: it continues, and a later result reports its end.", "the download of %q is still running", tr.Name)
		}
		return nil, transfers[0].err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	first := transfers[saved]
	files := &executor.DownloadedFiles{Path: first.file.Path, Backend: kind, Bytes: first.file.Bytes, SuggestedName: first.Name}
	for i, tr := range transfers {
		now := tr.Describe(kind)
		switch {
		case i == saved:
		case len(files.Others) == maxReported:
			files.More++
			continue
		default:
			files.Others = append(files.Others, now)
		}
		tr.reportedState = now.State // reported by this call
	}
	return files, nil
}

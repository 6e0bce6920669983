package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

const (
	// hintNameTab is the hint for a call that does not name one of several tabs.
	hintNameTab = "Give a tab id, choose a tab with Executor.SelectTab, or open one with Executor.NewPage."
	// hintOpenTab is the hint for a call that needs a tab when no tab is open.
	hintOpenTab = "Open a tab with Executor.NewPage or Executor.Navigate."
)

// A Tab is one tab of a browser.
type Tab struct {
	Raw            string    // the last part of its id
	InstanceID     string    // the middle part of its id; empty means the ID of the BrowserInstance
	ShareSequence  int       // increases with each tab that a user shares; 0 for other tabs and for tabs that the page of a shared tab opened
	SharedByUserAt time.Time // when the user shared the tab manually; zero if it was shared automatically
	Page           *page.Tab // the page that it shows
	Opener         *Tab      // the tab whose page opened it; nil if none

	transferStarted notify.Broadcast
	owner           atomic.Pointer[Session]
	reported        atomic.Bool // it was listed in its opener's Changes

	mu            sync.Mutex             // guards the fields below
	lastSession   *Session               // the session whose call used the tab last; nil if none has
	sent          []*page.PointedElement // elements that the user has sent; nil for an unknown one
	transfers     []*Transfer
	dropped       int             // finished transfers that were removed before they were reported
	transferCount int             // total number of transfers
	onStart       func(*Transfer) // is called with each new transfer; may be nil
}

// Owner returns the session that opened the tab or its opener. It returns nil for a tab of the user.
func (t *Tab) Owner() *Session { return t.owner.Load() }

// SetOwner sets the session that opened the tab.
func (t *Tab) SetOwner(s *Session) { t.owner.Store(s) }

// tab returns the tab with the given id, or the active tab if id is empty.
func (s *Session) tab(ctx context.Context, b BrowserInstance, id executor.TabID) (*Tab, error) {
	if id == "" {
		return s.activeTab(ctx, b)
	}
	prefix, instance, _, err := id.Split()
	if err != nil {
		return nil, err
	}
	if prefix != s.ids.prefix() || id.Browser() != s.opts.Browser || !b.HasInstance(instance) {
		return nil, executor.Errorf(executor.ErrStaleTab, "Take a tab id from Executor.Tabs.", "tab %s belongs to another or an earlier browser instance", id)
	}
	if t := s.ids.find(b, id); t != nil {
		return t, nil
	}
	if why := whyUnshared(b, id); why != nil {
		return nil, executor.Errorf(executor.ErrTabNotFound, why.Hint, "tab %s is no longer shared: %w; %s", id, why.Err, describeTabs(s.list(ctx, b)))
	}
	return nil, executor.Errorf(executor.ErrTabNotFound, "Take a tab id from Executor.Tabs.", "tab %s not found; %s", id, describeTabs(s.list(ctx, b)))
}

// noticeShared handles the tabs that the user has shared manually since its last call: it reports
// those of selection.noticeShared, and the elements that the user has sent.
func (s *Session) noticeShared(ctx context.Context, b BrowserInstance) {
	s.noticeSent(ctx, b)
	ctx, cancel := context.WithTimeout(ctx, s.timing.SharedTitles)
	defer cancel()
	for _, t := range s.selection.noticeShared(b, s.ids) {
		executor.SharedTab{Tab: s.describe(ctx, b, t)}.Report(ctx)
	}
}

// activeTab returns the tab that the client opened or selected last. Before that, it returns the
// only tab that belongs to the client or has no owner, which becomes active, or a tab that the user
// shared later.
func (s *Session) activeTab(ctx context.Context, b BrowserInstance) (*Tab, error) {
	s.noticeShared(ctx, b)
	active := s.selection.tab()
	if t := s.ids.find(b, active); t != nil {
		return t, nil
	}
	t, err := s.soleTab(ctx, b, active)
	if err == nil {
		s.selection.replace(active, s.ids.of(b, t))
	}
	return t, err
}

// candidates returns the tabs that a call without a tab id may refer to if no tab is active: the
// client's tabs and, until the client has chosen a tab, tabs without an owner. If the tab that the
// client chose is closed, its calls must not go to a tab of the user.
func (s *Session) candidates(b BrowserInstance) []*Tab {
	chose := s.selection.isChosen()
	var list []*Tab
	for _, t := range b.Tabs() {
		if owner := t.Owner(); owner == s || owner == nil && !chose {
			list = append(list, t)
		}
	}
	return list
}

// soleTab returns the tab that a call refers to if the client has chosen no tab or its active tab
// is closed. If the active tab is no longer shared, no other tab takes its place: the call was
// meant for that one.
func (s *Session) soleTab(ctx context.Context, b BrowserInstance, active executor.TabID) (*Tab, error) {
	candidates := s.candidates(b)
	others := slices.ContainsFunc(b.Tabs(), func(t *Tab) bool { return t.Owner() == nil })
	if why := whyUnshared(b, active); why != nil {
		if len(candidates) == 0 && !others {
			return nil, executor.Errorf(executor.ErrTabNotFound, why.Hint, "no tab is shared: %w", why.Err)
		}
		return nil, s.noActiveTab(ctx, b, why.Hint+" "+hintNameTab, "the active tab is no longer shared: %v", why.Err)
	}
	switch {
	case len(candidates) == 1:
		return candidates[0], nil
	case len(candidates) > 1:
		return nil, s.noActiveTab(ctx, b, hintNameTab, "no tab is active")
	case others:
		return nil, s.noActiveTab(ctx, b, hintNameTab, "the active tab is gone")
	case tabsOfOtherDrivers(ctx, b) > 0:
		return nil, executor.Errorf(executor.ErrTabNotFound,
			hintOpenTab+" Or ask the user to choose in the extension popup which agent drives the tab.",
			"no tab is shared with this agent: another agent drives the shared tabs")
	case s.provider.Kind() == executor.BackendExtension:
		return nil, executor.Errorf(executor.ErrTabNotFound,
			hintOpenTab+" Or ask the user to share one with the chrome-mcp button in Chrome's toolbar.", "no tab is shared%s%s", s.ids.inBrowser(), s.selection.whyClosed())
	case isFromEarlierInstance(b, active):
		return nil, executor.Errorf(executor.ErrTabNotFound, hintOpenTab,
			"the browser exited with its tabs and was restarted; no tab is open")
	}
	return nil, executor.Errorf(executor.ErrTabNotFound, hintOpenTab, "no tab is open%s%s", s.ids.inBrowser(), s.selection.whyClosed())
}

// whyUnshared returns why a tab is no longer shared, or nil if that is unknown.
func whyUnshared(b BrowserInstance, id executor.TabID) *executor.Error {
	if sharer, ok := b.(Sharer); ok && id != "" {
		return sharer.WhyUnshared(id)
	}
	return nil
}

// tabsOfOtherDrivers returns the number of shared tabs of b that other servers drive.
func tabsOfOtherDrivers(ctx context.Context, b BrowserInstance) int {
	if sharer, ok := b.(Sharer); ok {
		return sharer.TabsOfOtherDrivers(ctx)
	}
	return 0
}

// isFromEarlierInstance reports whether id belongs to a browser that ran before b.
func isFromEarlierInstance(b BrowserInstance, id executor.TabID) bool {
	_, instance, _, err := id.Split()
	return id != "" && err == nil && !b.HasInstance(instance)
}

// noActiveTab returns the error of a call that names no tab while no tab is active.
func (s *Session) noActiveTab(ctx context.Context, b BrowserInstance, hint, format string, args ...any) error {
	tabs := s.list(ctx, b)
	return &executor.Error{Code: executor.ErrTabNotFound, Hint: hint,
		Err: &executor.NoActiveTabError{Reason: fmt.Sprintf(format, args...), Tabs: tabs, List: describeTabs(tabs)}}
}

// describeTabs describes up to ten tabs in one line.
func describeTabs(list []executor.Tab) string {
	if len(list) == 0 {
		return "no tab is open"
	}
	text := "open tabs:"
	for i, t := range list {
		if i == 10 {
			return text + ", …"
		}
		if i > 0 {
			text += ","
		}
		text += " " + string(t.ID)
		if t.URL != executor.DeniedURL {
			text += fmt.Sprintf(" (%s)", pagetext.Text(pagetext.Truncate(t.URL, 60)))
		}
	}
	return text
}

// view returns the client's view of a tab.
func (s *Session) view(t *Tab) *page.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.views[t]; v != nil {
		return v
	}
	var id executor.TabID
	if b := s.provider.Current(); b != nil {
		id = s.ids.of(b, t)
		open := b.Tabs()
		for old := range s.views { // remove views of closed tabs
			if !slices.Contains(open, old) {
				delete(s.views, old)
			}
		}
	}
	v := t.Page.NewView(page.ViewOptions{
		ID: id, Gate: s.gate, AfterAction: s.opts.AfterAction, Secrets: s.opts.Secrets,
		NewTabs: func(ctx context.Context, start time.Time, want int) []executor.Tab {
			return s.openedBy(ctx, t, start, want)
		},
		Downloads: downloads{t, s.provider.Kind()},
		Consent: func(ctx context.Context, origin string) error {
			if c, ok := s.provider.Current().(Consenter); ok {
				return c.Consent(ctx, t, origin)
			}
			return nil
		},
	})
	s.views[t] = v
	if s.opts.Record && !s.closed {
		t.Page.Recording.Start()
	}
	return v
}

// noteOpenedEarlier is the note on a tab that a page opened before the action whose result reports
// the tab, for example with a timer.
const noteOpenedEarlier = "opened before this action"

// openedBy returns the tabs that t's page opened and that were not reported yet, as described for
// page.ViewOptions.NewTabs.
func (s *Session) openedBy(ctx context.Context, t *Tab, start time.Time, want int) []executor.Tab {
	b := s.provider.Current()
	if b == nil {
		return nil
	}
	var opened []*Tab
	found := 0 // since start
	for {
		changed := b.Changed()
		for _, o := range b.Tabs() {
			if (o.Opener == t || inferOpener(ctx, t, o)) && o.reported.CompareAndSwap(false, true) {
				opened = append(opened, o)
				if !o.Page.OpenedAt().Before(start) {
					found++
				}
			}
		}
		if found >= want {
			break
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		}
		break
	}
	ctx, cancel := context.WithTimeout(ctx, s.timing.NewTabContent)
	defer cancel()
	var fresh []executor.Tab
	for _, o := range opened {
		o.Page.WaitForInitialNavigation(ctx)
		if notify.IsClosed(o.Page.Gone()) { // the browser closes a tab whose first response is a download
			fresh = append(fresh, executor.Tab{})
			continue
		}
		tab := s.describe(ctx, b, o)
		if o.Page.OpenedAt().Before(start) {
			tab.Note = phrase.Notes(noteOpenedEarlier, tab.Note)
		}
		fresh = append(fresh, tab)
	}
	return fresh
}

// inferOpener reports whether o, which has no opener, was opened by the browser for t's page. If
// so, it assigns o to t's session.
func inferOpener(ctx context.Context, t, o *Tab) bool {
	if o == t || o.Opener != nil || o.Owner() != nil || !t.Page.Popups.OpenedWithoutOpener(ctx, o.Page) {
		return false
	}
	o.SetOwner(t.Owner())
	return true
}

// describe returns the description of a tab that the gate allows.
func (s *Session) describe(ctx context.Context, b BrowserInstance, t *Tab) executor.Tab {
	info := executor.Tab{ID: s.ids.of(b, t), Index: slices.Index(b.Tabs(), t), Browser: s.opts.Browser}
	info.Active = info.ID == s.selection.tab()
	url, title, _, err := s.view(t).Info(ctx)
	if err != nil {
		info.URL = executor.DeniedURL
		return info
	}
	info.URL, info.Title, info.Note = url, title, s.view(t).DialogNote()
	s.view(t).Entered.Mask(&info)
	return info
}

func (s *Session) list(ctx context.Context, b BrowserInstance) []executor.Tab {
	tabs := b.Tabs()
	list := make([]executor.Tab, len(tabs))
	var wg sync.WaitGroup
	for i, t := range tabs { // in parallel: a busy page returns its title late or never
		wg.Go(func() { list[i] = s.describe(ctx, b, t) })
	}
	wg.Wait()
	return list
}

// Tabs lists the open tabs. It starts no browser: without one, there are no tabs.
func (s *Session) Tabs(ctx context.Context) ([]executor.Tab, error) {
	if err := s.alive(); err != nil {
		return nil, executor.Wrap("list tabs", "", err)
	}
	if err := reportIdleClose(ctx, s); err != nil {
		return nil, executor.Wrap("list tabs", "", err)
	}
	b := s.provider.Current()
	if b == nil && s.provider.AttachesToRunning() {
		var err error
		if b, err = s.browser(ctx); err != nil {
			return nil, executor.Wrap("list tabs", "", asExecutorError(err))
		}
	}
	if b == nil {
		return []executor.Tab{}, nil
	}
	s.noticeShared(ctx, b)
	defer s.reportDownloads(ctx)
	if slices.ContainsFunc(b.Tabs(), func(t *Tab) bool { return t.ShareSequence > 0 }) {
		_, _ = s.activeTab(ctx, b) // so that the list shows which tab the next call refers to
	}
	return s.list(ctx, b), nil
}

// SelectTab makes a tab the active one.
func (s *Session) SelectTab(ctx context.Context, id executor.TabID) (*executor.Tab, error) {
	defer s.reportDownloads(ctx)
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return nil, executor.Wrap("select tab", id, asExecutorError(err))
	}
	if _, _, _, err := s.view(t).Info(ctx); err != nil {
		return nil, executor.Wrap("select tab", id, asExecutorError(err))
	}
	s.selection.choose(s.ids.of(b, t))
	info := s.describe(ctx, b, t)
	return &info, nil
}

// locate returns the tab with the given id. It does not start a browser for an invalid id.
func (s *Session) locate(ctx context.Context, id executor.TabID) (BrowserInstance, *Tab, error) {
	if id != "" {
		if _, _, _, err := id.Split(); err != nil {
			return nil, nil, err
		}
	}
	b, err := s.browser(ctx)
	if err != nil {
		return nil, nil, err
	}
	if id != "" { // otherwise activeTab does
		s.noticeShared(ctx, b)
	}
	t, err := s.tab(ctx, b, id)
	return b, t, err
}

// Close closes the tab, or releases it.
func (p *tabPage) Close(ctx context.Context) (*executor.ClosedTab, error) {
	p.session.reportDownloads(ctx) // those of the tab are not known afterwards
	closed, err := p.session.closeTab(ctx, p.tab)
	return closed, executor.Wrap("close tab", p.tab, asExecutorError(err))
}

func (s *Session) closeTab(ctx context.Context, id executor.TabID) (*executor.ClosedTab, error) {
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.view(t).Check(ctx, executor.OpDismiss, ""); err != nil {
		return nil, err
	}
	if err := s.awaitHandoverEnd(ctx, t); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timing.CloseTabs)
	defer cancel()
	released, err := b.CloseTab(ctx, t)
	if err != nil {
		return nil, err
	}
	return &executor.ClosedTab{Tab: s.ids.of(b, t), Closed: !released, Released: released}, nil
}

package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// closeTimeout bounds the closing of one session's tabs.
const closeTimeout = 5 * time.Second

// titleTimeout bounds the wait of any call for the titles of tabs that the user
// has shared.
const titleTimeout = time.Second

// A Tab is one tab of a browser.
type Tab struct {
	Raw    string    // the last part of its id
	Run    string    // the middle part; empty means the Browser's ID
	Shared int       // grows with each tab that a user shares; 0 for others, and for what the page of one opened
	Chosen time.Time // when the user shared it by hand; zero when it came to be shared by itself
	Page   *page.Tab // what happens in it
	Opener *Tab      // the tab whose page opened it; nil when none did

	mu        sync.Mutex // guards what follows
	owner     *Session
	reported  bool // it was told of in its opener's Changes
	transfers []*Transfer
	dropped   int // finished transfers that were removed before they were reported
	began     int // total number of transfers
	hook      func(*Transfer)
	news      chan struct{} // closed and replaced when a transfer begins; nil until somebody waits
}

// Owner returns the session that opened the tab, or the tab that it came
// from; nil when it was adopted.
func (t *Tab) Owner() *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owner
}

// SetOwner says which session opened the tab.
func (t *Tab) SetOwner(s *Session) {
	t.mu.Lock()
	t.owner = s
	t.mu.Unlock()
}

// prefix is the first part of the tab ids of the session.
func (s *Session) prefix() string {
	if s.host.Kind() == executor.BackendExtension {
		return "ext"
	}
	return "cdp"
}

// ID returns the id of a tab of the running browser b.
func (s *Session) id(b Browser, t *Tab) executor.TabID {
	return tabID(b, t, s.prefix())
}

func tabID(b Browser, t *Tab, prefix string) executor.TabID {
	run := t.Run
	if run == "" {
		run = b.ID()
	}
	return executor.NewTabID(prefix, run, t.Raw)
}

// find returns the tab of b with an id, nil when there is none.
func find(b Browser, id executor.TabID, prefix string) *Tab {
	for _, t := range b.Tabs() {
		if tabID(b, t, prefix) == id {
			return t
		}
	}
	return nil
}

// tab resolves a tab id, the active tab when it is empty.
func (s *Session) tab(ctx context.Context, b Browser, id executor.TabID) (*Tab, error) {
	if id == "" {
		return s.activeTab(ctx, b)
	}
	prefix, run, _, err := id.Split()
	if err != nil {
		return nil, err
	}
	if prefix != s.prefix() || !b.Is(run) {
		return nil, executor.Errorf(executor.ErrStaleTab, "Take a tab id from tabs_list.", "tab %s is of another browser or of an earlier run", id)
	}
	if t := find(b, id, prefix); t != nil {
		return t, nil
	}
	return nil, executor.Errorf(executor.ErrTabNotFound, "Take a tab id from tabs_list.", "there is no tab %s%s", id, s.openTabs(ctx, b))
}

// noticeShared handles the tabs that the user has shared by hand since its last
// call. Until the client opens or selects a tab, the newest shared tab becomes
// active, because it is the tab that the user means. It is reported to the client
// if it replaces another active tab. Shared tabs that do not become active are
// always reported.
func (s *Session) noticeShared(ctx context.Context, b Browser) {
	s.mu.Lock()
	var fresh []*Tab
	for _, t := range b.Tabs() {
		if t.Owner() == nil && t.Chosen.After(s.noticed) {
			fresh = append(fresh, t)
		}
	}
	if len(fresh) == 0 {
		s.mu.Unlock()
		return
	}
	slices.SortStableFunc(fresh, func(a, b *Tab) int { return a.Chosen.Compare(b.Chosen) })
	newest := fresh[len(fresh)-1]
	s.noticed = newest.Chosen
	if !s.chose {
		if before := find(b, s.active, s.prefix()); before == nil || before == newest {
			fresh = fresh[:len(fresh)-1]
		}
		s.active = s.id(b, newest)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, titleTimeout)
	defer cancel()
	for _, t := range fresh {
		executor.SharedTab{Tab: s.describe(ctx, b, t)}.Report(ctx)
	}
}

// choose makes the tab active that the client has opened or selected.
func (s *Session) choose(b Browser, t *Tab) {
	s.mu.Lock()
	s.active, s.chose = s.id(b, t), true
	s.mu.Unlock()
}

// activeTab returns the tab that the client opened or selected last. Before that,
// it returns the tab that the user shared last, or the only tab that is the
// client's or has no owner, which then becomes active.
func (s *Session) activeTab(ctx context.Context, b Browser) (*Tab, error) {
	s.noticeShared(ctx, b)
	s.mu.Lock()
	active := s.active
	s.mu.Unlock()
	if t := find(b, active, s.prefix()); t != nil {
		return t, nil
	}
	t, err := s.onlyTab(ctx, b, active)
	if err == nil {
		s.mu.Lock()
		if s.active == active { // nobody has chosen another meanwhile
			s.active = s.id(b, t)
		}
		s.mu.Unlock()
	}
	return t, err
}

// candidates returns the tabs that a call without a tab id may refer to while no
// tab is active: the client's tabs and, until the client has chosen a tab, tabs
// without an owner. After the client's tab is gone, its calls were meant for that
// tab, and not for a tab of the user.
func (s *Session) candidates(b Browser) []*Tab {
	s.mu.Lock()
	chose := s.chose
	s.mu.Unlock()
	var list []*Tab
	for _, t := range b.Tabs() {
		if owner := t.Owner(); owner == s || owner == nil && !chose {
			list = append(list, t)
		}
	}
	return list
}

// onlyTab returns the tab that a call refers to when the client has chosen no
// tab, or its active tab is gone.
func (s *Session) onlyTab(ctx context.Context, b Browser, active executor.TabID) (*Tab, error) {
	candidates := s.candidates(b)
	others := slices.ContainsFunc(b.Tabs(), func(t *Tab) bool { return t.Owner() == nil })
	switch {
	case len(candidates) == 0 && others:
		return nil, executor.Errorf(executor.ErrTabNotFound, executor.HintNameTab,
			"the active tab is gone%s", s.openTabs(ctx, b))
	case len(candidates) == 1:
		return candidates[0], nil
	case len(candidates) == 0 && elsewhere(ctx, b) > 0:
		return nil, executor.Errorf(executor.ErrTabNotFound,
			executor.HintOpenTab+" Or ask the user to choose in the popup of the chrome-mcp button who drives the tab.",
			"no tab is shared with this agent: another agent drives what the user shares")
	case len(candidates) == 0 && s.host.Kind() == executor.BackendExtension:
		return nil, executor.Errorf(executor.ErrTabNotFound,
			executor.HintOpenTab+" Or ask the user to share one with the chrome-mcp button in Chrome's toolbar.", "no tab is shared")
	case len(candidates) == 0 && ofEarlierRun(b, active):
		return nil, executor.Errorf(executor.ErrTabNotFound, executor.HintOpenTab,
			"the browser exited with its tabs and was restarted; no tab is open")
	case len(candidates) == 0:
		return nil, executor.Errorf(executor.ErrTabNotFound, executor.HintOpenTab, "no tab is open")
	}
	last := slices.MaxFunc(candidates, func(a, b *Tab) int { return cmp.Compare(a.Shared, b.Shared) })
	if last.Shared > 0 {
		return last, nil
	}
	return nil, executor.Errorf(executor.ErrTabNotFound, executor.HintNameTab, "no tab is active%s", s.openTabs(ctx, b))
}

// elsewhere returns the number of shared tabs of b that other programs drive.
func elsewhere(ctx context.Context, b Browser) int {
	if sharer, ok := b.(Sharer); ok {
		return sharer.Elsewhere(ctx)
	}
	return 0
}

// ofEarlierRun reports whether a tab was of a browser that ran before b.
func ofEarlierRun(b Browser, id executor.TabID) bool {
	_, run, _, err := id.Split()
	return id != "" && err == nil && !b.Is(run)
}

// openTabs lists the tabs for an error message.
func (s *Session) openTabs(ctx context.Context, b Browser) string {
	list := s.list(ctx, b)
	text := "; open are"
	if len(list) == 0 {
		return "; none is open"
	}
	for i, t := range list {
		if i == 10 {
			return text + ", …"
		}
		if i > 0 {
			text += ","
		}
		text += " " + string(t.ID)
		if t.URL != executor.DeniedURL {
			text += fmt.Sprintf(" (%s)", pagetext.Text(cutURL(t.URL)))
		}
	}
	return text
}

func cutURL(u string) string {
	if r := []rune(u); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return u
}

// view returns the client's view of a tab.
func (s *Session) view(t *Tab) *page.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.views[t]; v != nil {
		return v
	}
	var id executor.TabID
	if b := s.host.Current(); b != nil {
		id = s.id(b, t)
		open := b.Tabs()
		for old := range s.views { // those of tabs that are gone
			if !slices.Contains(open, old) {
				delete(s.views, old)
			}
		}
	}
	v := t.Page.NewView(page.ViewOptions{
		ID: id, Gate: s.gate, AfterAction: s.opts.AfterAction,
		NewTabs:   func(ctx context.Context, want int) []executor.Tab { return s.openedBy(ctx, t, want) },
		Downloads: downloads{t, s.host.Kind()},
		Consent: func(ctx context.Context, origin string) error {
			if c, ok := s.host.Current().(Consenter); ok {
				return c.Consent(ctx, t, origin)
			}
			return nil
		},
	})
	s.views[t] = v
	if s.opts.Record && !s.closed {
		t.Page.Record()
	}
	return v
}

// openedBy returns the tabs that t's page opened and that were not told of,
// once there are want of them or ctx is done.
func (s *Session) openedBy(ctx context.Context, t *Tab, want int) []executor.Tab {
	b := s.host.Current()
	if b == nil {
		return nil
	}
	var opened []*Tab
	for {
		changed := b.Changed()
		for _, o := range b.Tabs() {
			if (o.Opener == t || adopt(ctx, t, o)) && o.tell() {
				opened = append(opened, o)
			}
		}
		if len(opened) >= want {
			break
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		}
		break
	}
	var fresh []executor.Tab
	for _, o := range opened {
		o.Page.Arrived(ctx)
		fresh = append(fresh, s.describe(ctx, b, o))
	}
	return fresh
}

// adopt reports whether a tab that has no opener is one that t's page had the
// browser open. It belongs to t's session then.
func adopt(ctx context.Context, t, o *Tab) bool {
	if o == t || o.Opener != nil || o.Owner() != nil || !t.Page.Requested(ctx, o.Page) {
		return false
	}
	o.SetOwner(t.Owner())
	return true
}

// tell reports whether the tab was not told of yet, and that it is now.
func (t *Tab) tell() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := !t.reported
	t.reported = true
	return fresh
}

// describe tells of a tab what the gate lets be told.
func (s *Session) describe(ctx context.Context, b Browser, t *Tab) executor.Tab {
	info := executor.Tab{ID: s.id(b, t), Index: slices.Index(b.Tabs(), t)}
	s.mu.Lock()
	info.Active = info.ID == s.active
	s.mu.Unlock()
	url, title, _, err := s.view(t).Info(ctx)
	if err != nil {
		info.URL = executor.DeniedURL
		return info
	}
	info.URL, info.Title, info.Note = url, title, s.view(t).DialogNote()
	return info
}

func (s *Session) list(ctx context.Context, b Browser) []executor.Tab {
	tabs := b.Tabs()
	list := make([]executor.Tab, len(tabs))
	var wg sync.WaitGroup
	for i, t := range tabs { // at once: a page that is busy tells its title late, or never
		wg.Go(func() { list[i] = s.describe(ctx, b, t) })
	}
	wg.Wait()
	return list
}

// ListTabs lists the open tabs. No browser, no tabs: it starts none.
func (s *Session) ListTabs(ctx context.Context) ([]executor.Tab, error) {
	if err := s.alive(); err != nil {
		return nil, executor.Wrap("list tabs", "", err)
	}
	b := s.host.Current()
	if b == nil && s.host.Joins() {
		var err error
		if b, err = s.browser(ctx); err != nil {
			return nil, executor.Wrap("list tabs", "", explain(err))
		}
	}
	if b == nil {
		return []executor.Tab{}, nil
	}
	s.noticeShared(ctx, b)
	if slices.ContainsFunc(b.Tabs(), func(t *Tab) bool { return t.Shared > 0 }) {
		_, _ = s.activeTab(ctx, b) // so that the list says which tab the next call means
	}
	return s.list(ctx, b), nil
}

// SelectTab makes a tab the active one.
func (s *Session) SelectTab(ctx context.Context, id executor.TabID) (*executor.Tab, error) {
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return nil, executor.Wrap("select tab", id, explain(err))
	}
	if _, _, _, err := s.view(t).Info(ctx); err != nil {
		return nil, executor.Wrap("select tab", id, explain(err))
	}
	s.choose(b, t)
	info := s.describe(ctx, b, t)
	return &info, nil
}

// locate resolves a tab id without starting a browser for an id that cannot
// be of it.
func (s *Session) locate(ctx context.Context, id executor.TabID) (Browser, *Tab, error) {
	if id != "" {
		if _, _, _, err := id.Split(); err != nil {
			return nil, nil, err
		}
	}
	b, err := s.browser(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.noticeShared(ctx, b)
	t, err := s.tab(ctx, b, id)
	return b, t, err
}

// CloseTab closes a tab, or lets it go.
func (s *Session) CloseTab(ctx context.Context, id executor.TabID) (*executor.ClosedTab, error) {
	closed, err := s.closeTab(ctx, id)
	return closed, executor.Wrap("close tab", id, explain(err))
}

func (s *Session) closeTab(ctx context.Context, id executor.TabID) (*executor.ClosedTab, error) {
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.view(t).Allows(ctx, executor.OpDismiss, ""); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	released, err := b.CloseTab(ctx, t)
	if err != nil {
		return nil, err
	}
	return &executor.ClosedTab{Tab: s.id(b, t), Closed: !released, Released: released}, nil
}

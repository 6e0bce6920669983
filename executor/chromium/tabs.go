package chromium

import (
	"context"
	"slices"
	"strconv"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// Tabs implements session.Browser.
func (r *run) Tabs() []*session.Tab {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*session.Tab(nil), r.tabs...)
}

// Changed implements session.Browser.
func (r *run) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// notify wakes whoever waits for a tab. r.mu must be held.
func (r *run) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// NewTab implements session.Browser.
func (r *run) NewTab(ctx context.Context, owner *session.Session) (*session.Tab, error) {
	params := map[string]any{"url": "about:blank"}
	if r.context != "" {
		params["browserContextId"] = r.context
	}
	if r.ownWindows() {
		// A tab that another one hides is not drawn at full speed; each in a
		// window of its own is.
		params["newWindow"], params["width"], params["height"] = true, r.opts.Width, r.opts.Height+windowFrame
	} else {
		params["background"] = true // focus is not ours to move
	}
	r.mu.Lock()
	r.opening++
	r.mu.Unlock()
	opened := make(chan openedTab, 1)
	// A call that is cancelled has opened its tab all the same, perhaps: what
	// nobody waits for is closed again.
	r.work.Go(func() { opened <- r.open(params, owner) })
	select {
	case o := <-opened:
		return o.tab, o.err
	case <-ctx.Done():
		r.work.Go(func() {
			if o := <-opened; o.tab != nil {
				limit, cancel := context.WithTimeout(context.Background(), attachTimeout)
				defer cancel()
				if _, err := r.CloseTab(limit, o.tab); err != nil {
					r.browser.log.Debug("a tab that nobody waited for was not closed", "error", err)
				}
			}
		})
		return nil, context.Cause(ctx)
	}
}

type openedTab struct {
	tab *session.Tab
	err error
}

// open has the browser make a tab and waits until it is attached to.
func (r *run) open(params map[string]any, owner *session.Session) openedTab {
	ctx, cancel := context.WithTimeout(context.Background(), attachTimeout)
	defer cancel()
	var res struct {
		ID target.ID `json:"targetId"`
	}
	err := r.conn.Browser().Call(ctx, "Target.createTarget", params, &res)
	var t *session.Tab
	if err == nil {
		t, err = r.awaitTab(ctx, res.ID)
	}
	if t != nil {
		t.SetOwner(owner)
		t.Page.MarkOwn()
	}
	r.mu.Lock()
	r.opening--
	r.mu.Unlock()
	r.list(t)
	return openedTab{t, err}
}

// list puts a claimed tab into the list of tabs, and those that wait to be
// claimed when nobody is left to claim them.
func (r *run) list(claimed *session.Tab) {
	var fresh []*session.Tab
	r.mu.Lock()
	for _, t := range r.targets {
		if !slices.Contains(r.tabs, t) && (t == claimed || r.opening == 0) {
			r.tabs = append(r.tabs, t)
			fresh = append(fresh, t)
		}
	}
	r.notify()
	r.mu.Unlock()
	for _, t := range fresh {
		r.tellOpened(t)
	}
}

func (r *run) tellOpened(t *session.Tab) {
	r.browser.each(func(s *session.Session) {
		s.Emit(executor.Event{Kind: executor.EventTabOpened, URL: t.Page.URL()}, t, "")
	})
}

// ownWindows reports whether each tab gets a window of its own: where nobody
// looks at them.
func (r *run) ownWindows() bool { return r.proc != nil && r.proc.headless }

// awaitTab waits until the tab of a target is attached.
func (r *run) awaitTab(ctx context.Context, id target.ID) (*session.Tab, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	for {
		r.mu.Lock()
		t, changed := r.targets[id], r.changed
		r.mu.Unlock()
		if t != nil {
			return t, nil
		}
		select {
		case <-changed:
		case <-r.conn.Done():
			return nil, executor.Errorf(executor.ErrTargetGone, "Try again: the next call starts afresh.", "the browser ended")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// CloseTab implements session.Browser. A tab of a joined browser that no
// session opened is only let go.
func (r *run) CloseTab(ctx context.Context, t *session.Tab) (released bool, err error) {
	s := r.conn.Browser()
	id := t.Page.Session().Target().TargetID
	if r.proc == nil && t.Owner() == nil {
		err := s.Call(ctx, "Target.detachFromTarget", map[string]any{"sessionId": t.Page.Session().ID()}, nil)
		r.remove(t)
		return true, err
	}
	if err := s.Call(ctx, "Target.closeTarget", map[string]any{"targetId": id}, nil); err != nil {
		return false, err
	}
	select {
	case <-t.Page.Gone():
		r.remove(t)
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// remove takes a tab off the books.
func (r *run) remove(t *session.Tab) {
	r.mu.Lock()
	found := false
	for i, x := range r.tabs {
		if x == t {
			r.tabs = append(r.tabs[:i:i], r.tabs[i+1:]...)
			found = true
			break
		}
	}
	for id, x := range r.targets {
		if x == t {
			delete(r.targets, id)
		}
	}
	r.notify()
	r.mu.Unlock()
	if found {
		r.browser.each(func(s *session.Session) { s.Emit(executor.Event{Kind: executor.EventTabClosed}, t, "") })
	}
}

func (r *run) pageOptions(waiting bool, tab func() *session.Tab) page.Options {
	return page.Options{
		Logger: r.opts.Logger, Waiting: waiting, Own: r.proc != nil || r.context != "", NoDialogs: r.proc != nil || r.context != "", NoPrograms: r.proc != nil && blocksPrograms, Failure: r.failure, Wall: r.wall(), Shared: !r.ownWindows(),
		// The browser sends its response to a command in order with its events.
		TabsKnown: func(ctx context.Context) error {
			return r.conn.Browser().Call(ctx, "Browser.getVersion", nil, nil)
		},
		OnEvent: func(ev page.Event) {
			if t := tab(); t != nil {
				r.browser.each(func(s *session.Session) {
					s.Emit(executor.Event{Kind: ev.Kind, URL: ev.URL, Dialog: ev.Dialog}, t, ev.Frame)
				})
			}
		},
	}
}

// nextRaw returns the last part of a new tab's id. r.mu must be held.
func (r *run) nextRaw() string {
	r.lastRaw++
	return strconv.Itoa(r.lastRaw)
}

package chromium

import (
	"context"
	"maps"
	"slices"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// Tabs implements session.BrowserInstance.
func (r *instance) Tabs() []*session.Tab {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tabs)
}

// Changed implements session.BrowserInstance.
func (r *instance) Changed() <-chan struct{} { return r.changed.Changed() }

// NewTab implements session.BrowserInstance.
func (r *instance) NewTab(ctx context.Context, owner *session.Session) (*session.Tab, error) {
	params := r.inContext(map[string]any{"url": "about:blank"})
	if r.ownWindows() {
		// Chromium does not draw a tab at full speed while another tab covers it. In its own window
		// it does.
		params["newWindow"], params["width"], params["height"] = true, r.opts.Width, r.opts.Height+windowFrame
	} else {
		params["background"] = true // we must not move the focus
	}
	r.mu.Lock()
	r.opening++
	r.mu.Unlock()
	return session.OpenTab(ctx, r, &r.work, r.browser.log, func() (*session.Tab, error) { return r.open(params, owner) })
}

// open creates a tab and waits until it is attached.
func (r *instance) open(params map[string]any, owner *session.Session) (*session.Tab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.opts.timing.AttachTab)
	defer cancel()
	var res target.CreateTargetResult
	err := r.conn.BrowserSession().Call(ctx, "Target.createTarget", params, &res)
	var t *session.Tab
	if err == nil {
		t, err = r.awaitTab(ctx, res.TargetID)
	}
	if t != nil {
		t.SetOwner(owner)
		t.Page.MarkOwn()
	}
	r.mu.Lock()
	r.opening--
	r.mu.Unlock()
	r.list(t)
	return t, err
}

// list adds a claimed tab to the list of tabs. When no call of NewTab is in progress, it also adds
// the unclaimed tabs.
func (r *instance) list(claimed *session.Tab) {
	var fresh []*session.Tab
	r.mu.Lock()
	for _, t := range r.targets {
		if !slices.Contains(r.tabs, t) && (t == claimed || r.opening == 0) {
			r.tabs = append(r.tabs, t)
			fresh = append(fresh, t)
		}
	}
	r.changed.Notify()
	r.mu.Unlock()
	for _, t := range fresh {
		r.notifyTabOpened(t)
	}
}

func (r *instance) notifyTabOpened(t *session.Tab) {
	r.browser.sessions.Emit(executor.Event{Kind: executor.EventTabOpened, URL: t.Page.URL()}, t, "")
}

// ownWindows reports whether each tab has its own window, which is the case in headless mode.
func (r *instance) ownWindows() bool { return r.proc != nil && r.proc.headless }

// awaitTab waits until the tab of a target is attached.
func (r *instance) awaitTab(ctx context.Context, id target.ID) (*session.Tab, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.timing.AttachTab)
	defer cancel()
	var t *session.Tab
	err := r.await(ctx, func() bool {
		t = r.targets[id]
		return t != nil
	})
	return t, err
}

// await waits until done, which it calls with r.mu held after each change of the tabs, returns true.
func (r *instance) await(ctx context.Context, done func() bool) error {
	for {
		r.mu.Lock()
		ok, changed := done(), r.changed.Changed()
		r.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-r.conn.Done():
			return executor.Errorf(executor.ErrTargetGone, "Open the page again: the next call starts the browser, or connects to it again.", "browser exited")
		case <-r.ended:
			if evicted := r.evicted.Load(); evicted != nil {
				return evicted
			}
			return session.ErrClosed()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// CloseTab implements session.BrowserInstance. A tab of an attached browser that no session opened
// is only detached.
func (r *instance) CloseTab(ctx context.Context, t *session.Tab) (released bool, err error) {
	s := r.conn.BrowserSession()
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

// remove removes a closed or detached tab from the instance.
func (r *instance) remove(t *session.Tab) {
	r.mu.Lock()
	listed := slices.Contains(r.tabs, t)
	r.tabs = slices.DeleteFunc(r.tabs, func(x *session.Tab) bool { return x == t })
	maps.DeleteFunc(r.targets, func(_ target.ID, x *session.Tab) bool { return x == t })
	r.changed.Notify()
	r.mu.Unlock()
	if listed {
		r.browser.sessions.Emit(executor.Event{Kind: executor.EventTabClosed}, t, "")
	}
}

// setPermission starts granting a permission in the instance's browser context, or removing the
// grant.
func (r *instance) setPermission(ctx context.Context, g executor.PageGrant, granted bool) (*cdpconn.Pending, error) {
	setting := map[bool]string{true: "granted", false: "prompt"}[granted]
	return r.conn.BrowserSession().Start(ctx, "Browser.setPermission", r.inContext(map[string]any{
		"origin": g.Origin, "permission": map[string]any{"name": g.Permission}, "setting": setting,
	}))
}

func (r *instance) pageOptions(waiting bool, tab func() *session.Tab) page.Options {
	own := r.proc != nil || r.context != ""
	setPermission := r.setPermission
	if !own {
		setPermission = nil
	}
	var quota int64
	if r.pooled != nil {
		quota = poolStorageQuota
	}
	return page.Options{
		StorageQuota:       quota,
		Timing:             r.opts.timing,
		SetPermission:      setPermission,
		Logger:             r.opts.Logger,
		WaitingForDebugger: waiting,
		Own:                own,
		NoDialogs:          own,
		NoPrograms:         r.proc != nil && blocksPrograms,
		NoWindow:           r.proc != nil && r.proc.headless,
		ProxyError:         r.networkError,
		RequestFilter:      r.requestFilter(),
		Shared:             !r.ownWindows(),
		SecretGuard:        &r.secrets,
		SharedBrowser:      r.pooled != nil || r.proc == nil && own, // others may use an attached browser
		UserClipboard:      r.proc == nil || !r.proc.headless,
		// The browser sends its response to a command in order with its events.
		TabsKnown: func(ctx context.Context) error {
			return r.conn.BrowserSession().Call(ctx, "Browser.getVersion", nil, nil)
		},
		OnHandover: r.handovers.Notify,
		OnEvent: func(ev page.Event) {
			if t := tab(); t != nil {
				r.browser.sessions.Emit(executor.Event{Kind: ev.Kind, URL: ev.URL, Dialog: ev.Dialog}, t, ev.Frame)
			}
		},
	}
}

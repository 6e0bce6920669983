package chromium

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// Tabs implements session.BrowserInstance.
func (in *instance) Tabs() []*session.Tab { return in.tabs.list() }

// Changed implements session.BrowserInstance.
func (in *instance) Changed() <-chan struct{} { return in.tabs.changed.Changed() }

// NewTab implements session.BrowserInstance.
func (in *instance) NewTab(ctx context.Context, owner *session.Session) (*session.Tab, error) {
	params := in.inContext(map[string]any{"url": "about:blank"})
	if in.ownWindows() {
		// Chromium does not draw a tab at full speed while another tab covers it. In its own window
		// it does.
		params["newWindow"], params["width"], params["height"] = true, in.opts.Width, in.proc.WindowHeight(in.opts.Height)
	} else {
		params["background"] = true // we must not move the focus
	}
	in.tabs.beginOpening()
	return session.OpenTab(ctx, in, &in.work, in.backend.log, func() (*session.Tab, error) { return in.open(params, owner) })
}

// open creates a tab and waits until it is attached.
func (in *instance) open(params map[string]any, owner *session.Session) (*session.Tab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), in.opts.timing.AttachTab)
	defer cancel()
	var res target.CreateTargetResult
	err := in.conn.BrowserSession().Call(ctx, "Target.createTarget", params, &res)
	var t *session.Tab
	if err == nil {
		t, err = in.awaitTab(ctx, res.TargetID)
		if err != nil { // no session would see it
			in.conn.BrowserSession().Start(context.Background(), "Target.closeTarget", map[string]any{"targetId": res.TargetID})
		}
	}
	if t != nil {
		t.SetOwner(owner)
		t.Page.MarkOwn()
	}
	for _, fresh := range in.tabs.endOpening(t) {
		in.notifyTabOpened(fresh)
	}
	return t, err
}

func (in *instance) notifyTabOpened(t *session.Tab) {
	in.backend.sessions.Emit(executor.Event{Kind: executor.EventTabOpened, URL: t.Page.URL()}, t, "")
}

// ownWindows reports whether each tab has its own window, which is the case in headless mode.
func (in *instance) ownWindows() bool { return in.proc != nil && in.proc.Headless }

// awaitTab waits until the tab of a target is attached.
func (in *instance) awaitTab(ctx context.Context, id target.ID) (*session.Tab, error) {
	ctx, cancel := context.WithTimeout(ctx, in.opts.timing.AttachTab)
	defer cancel()
	var t *session.Tab
	err := in.await(ctx, func() bool {
		t = in.tabs.tabOf(id)
		return t != nil
	})
	return t, err
}

// await waits until done, which it calls after each change of the tabs, returns true.
func (in *instance) await(ctx context.Context, done func() bool) error {
	for {
		changed := in.Changed()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-in.conn.Done():
			return executor.Errorf(executor.ErrTargetGone, "Open the page again: the next call starts the browser, or connects to it again.", "the browser exited, or the connection to it ended")
		case <-in.ended:
			if evicted := in.evicted.Load(); evicted != nil {
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
func (in *instance) CloseTab(ctx context.Context, t *session.Tab) (released bool, err error) {
	s := in.conn.BrowserSession()
	id := t.Page.Session().Target().TargetID
	if in.proc == nil && t.Owner() == nil {
		in.tabs.release(id)
		err := s.Call(ctx, "Target.detachFromTarget", map[string]any{"sessionId": t.Page.Session().ID()}, nil)
		in.remove(t)
		return true, err
	}
	if err := cdpconn.ClosePage(ctx, s, t.Page.Session(), t.Page.HasDialog); err != nil {
		return false, err
	}
	in.remove(t)
	return false, nil
}

// remove removes a closed or detached tab from the instance.
func (in *instance) remove(t *session.Tab) {
	if in.tabs.remove(t) {
		in.backend.sessions.Emit(executor.Event{Kind: executor.EventTabClosed}, t, "")
	}
}

func (in *instance) pageOptions(waiting bool, tab func() *session.Tab) page.Options {
	own := in.proc != nil || in.contextID != ""
	setPermission := in.setPermission
	if !own {
		setPermission = nil
	}
	var quota int64
	if in.pooled != nil {
		quota = poolStorageQuota
	}
	return page.Options{
		StorageQuota:       quota,
		Timing:             in.opts.timing,
		SetPermission:      setPermission,
		Logger:             in.opts.Logger,
		WaitingForDebugger: waiting,
		Own:                own,
		NoDialogs:          own,
		NoPrograms:         in.proc != nil && launch.BlocksPrograms,
		NoWindow:           in.proc != nil && in.proc.Headless,
		ProxyError:         in.networkError,
		DeniedByProxy:      func(url string) bool { return errors.Is(in.documents.denied(hostOf(url)), executor.ErrPolicyDenied) },
		RequestFilter:      in.documents.requestFilter(),
		Shared:             !in.ownWindows(),
		SecretGuard:        &in.secrets,
		SharedBrowser:      in.pooled != nil || in.proc == nil && own, // others may use an attached browser
		UserClipboard:      in.proc == nil || !in.proc.Headless,
		// The browser sends its response to a command in order with its events.
		TabsKnown: func(ctx context.Context) error {
			return in.conn.BrowserSession().Call(ctx, "Browser.getVersion", nil, nil)
		},
		OnHandover: in.handovers.Notify,
		OnEvent: func(ev page.Event) {
			if t := tab(); t != nil {
				in.backend.sessions.Emit(executor.Event{Kind: ev.Kind, URL: ev.URL, Dialog: ev.Dialog}, t, ev.Frame)
			}
		},
	}
}

package chromium

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// follow calls handle with the events of the browser's CDP session, in order, until the connection
// is closed.
func follow(conn *cdpconn.Conn, handle func(cdpconn.Event)) {
	for {
		ev, err := conn.BrowserSession().Next(context.Background())
		if err != nil {
			return
		}
		handle(ev)
	}
}

// handle handles one event of the browser's CDP session.
func (in *instance) handle(ev cdpconn.Event) {
	switch ev.Method {
	case "Target.attachedToTarget":
		onEvent(ev, target.AttachedToTarget, func(e target.EventAttachedToTarget) {
			if ev.Child != nil {
				in.onAttached(ev.Child, e)
			}
		})
	case "Target.detachedFromTarget":
		in.detached(ev.Child)
	case "Target.targetInfoChanged":
		onEvent(ev, target.TargetInfoChanged, func(e target.EventTargetInfoChanged) { in.discovered(e.TargetInfo) })
	case "Fetch.requestPaused":
		onEvent(ev, fetch.RequestPaused, in.documents.paused)
	case "Fetch.authRequired":
		onEvent(ev, fetch.AuthRequired, in.documents.handleChallenge)
	case "Browser.downloadWillBegin":
		onEvent(ev, browser.DownloadWillBegin, in.downloads.began)
	case "Browser.downloadProgress":
		onEvent(ev, browser.DownloadProgress, in.downloads.progressed)
	}
}

// onEvent calls f with the parameters of an event. It drops an invalid event.
func onEvent[E any](ev cdpconn.Event, kind cdp.Event[E], f func(E)) {
	if e, err := cdpconn.Decode(ev, kind); err == nil {
		f(e)
	}
}

// discovered attaches to a page of an attached browser that came into scope because its user
// navigated from a browser page to a regular page.
func (in *instance) discovered(info *target.Info) {
	if in.proc != nil || info == nil || info.Type != "page" || !in.inScope(info) {
		return
	}
	if !in.tabs.beginAttach(info.TargetID, info.URL) {
		return
	}
	in.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), in.opts.timing.AttachTab)
		defer cancel()
		err := in.conn.BrowserSession().Call(ctx, "Target.attachToTarget", map[string]any{"targetId": info.TargetID, "flatten": true}, nil)
		if err != nil {
			in.backend.log.Debug("attaching to tab failed", "error", err)
			in.tabs.attachFailed(info.TargetID)
		}
	})
}

// inScope reports whether we drive a page: a page in a browser that we launched, in our context of
// an attached browser, or, with AttachDefaultContext, a regular page of the user.
func (in *instance) inScope(info *target.Info) bool {
	switch {
	case in.proc != nil:
		return true
	case !in.opts.AttachDefaultContext:
		return string(info.BrowserContextID) == in.contextID
	case in.defaultContext != "" && string(info.BrowserContextID) != in.defaultContext:
		return false // of another client, or of another profile of the user
	}
	scheme, _, found := strings.Cut(info.URL, ":")
	return found && slices.Contains([]string{"http", "https", "about", "blob", "data"}, scheme)
}

// releaseTarget resumes a target that we do not drive, before any other command, and detaches from
// it.
func (in *instance) releaseTarget(s *cdpconn.Session) {
	ctx := context.Background()
	p, err := s.Start(ctx, "Runtime.runIfWaitingForDebugger", nil)
	detach := func() {
		in.conn.BrowserSession().Start(ctx, "Target.detachFromTarget", map[string]any{"sessionId": s.ID()})
	}
	if err != nil || p.Delayed() == nil {
		detach()
		return
	}
	in.work.Go(func() {
		<-p.Delayed()
		detach()
	})
}

// onAttached adds a tab for a page that was attached.
func (in *instance) onAttached(s *cdpconn.Session, e target.EventAttachedToTarget) {
	info := e.TargetInfo
	switch {
	case info.Type == "browser":
		return // the session of a CDP client
	case info.Type == "page" && in.clients.own(info):
		in.clients.pageAttached(s, info)
		return
	}
	opener := in.tabs.tabOf(info.OpenerID)
	twice := in.tabs.tabOf(info.TargetID) != nil
	if info.Type != "page" || info.Subtype != "" || twice || opener == nil && !in.inScope(info) {
		in.tabs.attachFailed(info.TargetID) // discovered may find it again
		in.releaseTarget(s)
		return
	}
	if in.proc == nil && in.contextID == "" && opener == nil {
		s.Start(context.Background(), "Runtime.runIfWaitingForDebugger", nil) // a tab of the user
		e.WaitingForDebugger = false
	}
	end, ok := in.beginPopup(opener)
	if !ok {
		in.work.Go(func() {
			in.closeUnlisted(s, in.opts.timing.AttachTab)
			in.tabs.attachFailed(info.TargetID)
		})
		return
	}
	if opener != nil {
		opener.Page.Popups.Opened()
	}
	t := in.tabs.newTab(info.TargetID, opener)
	end = sync.OnceFunc(end)
	in.work.Go(func() {
		defer end()
		ctx, cancel := context.WithTimeout(context.Background(), in.opts.timing.AttachTab)
		defer cancel()
		ready := make(chan struct{})
		options := in.pageOptions(e.WaitingForDebugger, func() *session.Tab {
			if !notify.IsClosed(ready) {
				return nil // drop events that occur before the tab is known
			}
			return t
		})
		if opener != nil {
			options.Opener = opener.Page
		}
		options.Scriptable = info.OpenerID != "" && info.CanAccessOpener
		options.ID = executor.NewTabID("cdp", in.ID(), t.Raw)
		p, err := page.Attach(ctx, s, options)
		if err == nil {
			err = in.proxyCredentials.store(ctx, p, info)
		}
		if err != nil {
			in.backend.log.Debug("attaching to tab failed", "error", err)
			if in.contextID == "" && !in.ownWindows() && t.Owner() == nil { // possibly a page of the user
				in.tabs.unresponsive(info.TargetID, info.URL) // the browser reports the detach as a change
				in.releaseTarget(s)
			} else {
				in.closeUnlisted(s, in.opts.timing.AttachTab)
			}
			in.tabs.attachFailed(info.TargetID)
			return
		}
		listed := in.tabs.attachDone(info.TargetID, t, p)
		end() // it counts as a tab of its session now
		close(ready)
		if listed {
			in.notifyTabOpened(t)
		}
	})
}

// closeUnlisted closes a page that no session sees, so that no call would close it. It waits until the
// page is gone, for at most limit.
func (bc *browserContext) closeUnlisted(s *cdpconn.Session, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	// Its opener waits until it runs, and would otherwise wait forever.
	if p, err := s.Start(ctx, "Runtime.runIfWaitingForDebugger", nil); err == nil && p.Delayed() != nil {
		<-p.Delayed()
	}
	_ = cdpconn.ClosePage(ctx, bc.conn.BrowserSession(), s, func() bool { return false })
}

// beginPopup counts a tab that the page of opener opened toward the limit of its session, until end is
// called. ok is false if a limit is reached. opener may be nil.
func (in *instance) beginPopup(opener *session.Tab) (end func(), ok bool) {
	if opener == nil || opener.Owner() == nil {
		return func() {}, true
	}
	if in.tabs.pendingPopups() < executor.DefaultMaxTabs {
		end, ok = opener.Owner().BeginPopup(in)
	}
	if !ok {
		in.backend.log.Info("tab limit reached; closed the new tab")
	}
	return end, ok
}

// detached removes the tab of a CDP session that was detached.
func (in *instance) detached(s *cdpconn.Session) {
	if s == nil || s.Target() == nil {
		return
	}
	t := in.tabs.targetGone(s.Target().TargetID)
	if t != nil && t.Page.Session() == s { // not one that releaseTarget released
		in.remove(t)
		in.work.Go(t.Page.Wait)
	}
}

package chromium

import (
	"context"
	"slices"
	"strconv"
	"strings"

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
func (r *instance) handle(ev cdpconn.Event) {
	switch ev.Method {
	case "Target.attachedToTarget":
		onEvent(ev, target.AttachedToTarget, func(e target.EventAttachedToTarget) {
			if ev.Child != nil {
				r.attached(ev.Child, e)
			}
		})
	case "Target.detachedFromTarget":
		r.detached(ev.Child)
	case "Target.targetInfoChanged":
		onEvent(ev, target.TargetCreated, func(e target.EventTargetCreated) { r.discovered(e.TargetInfo) })
	case "Fetch.requestPaused":
		onEvent(ev, fetch.RequestPaused, r.handlePausedDocument)
	case "Fetch.authRequired":
		onEvent(ev, fetch.AuthRequired, r.handleChallenge)
	case "Browser.downloadWillBegin":
		onEvent(ev, browser.DownloadWillBegin, r.downloadBegan)
	case "Browser.downloadProgress":
		onEvent(ev, browser.DownloadProgress, r.downloadProgressed)
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
func (r *instance) discovered(info *target.Info) {
	if r.proc != nil || info == nil || info.Type != "page" || !r.inScope(info) {
		return
	}
	r.mu.Lock()
	known := r.attaching[info.TargetID] || r.targets[info.TargetID] != nil
	r.attaching[info.TargetID] = true
	r.mu.Unlock()
	if known {
		return
	}
	r.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), r.opts.timing.AttachTab)
		defer cancel()
		err := r.conn.BrowserSession().Call(ctx, "Target.attachToTarget", map[string]any{"targetId": info.TargetID, "flatten": true}, nil)
		if err != nil {
			r.browser.log.Debug("attaching to tab failed", "error", err)
			r.notAttached(info.TargetID)
		}
	})
}

// inScope reports whether we drive a page: a page in a browser that we launched, in our context of
// an attached browser, or, with AttachDefaultContext, a regular page of the user.
func (r *instance) inScope(info *target.Info) bool {
	switch {
	case r.proc != nil:
		return true
	case !r.opts.AttachDefaultContext:
		return string(info.BrowserContextID) == r.context
	case r.defaultContext != "" && string(info.BrowserContextID) != r.defaultContext:
		return false // of another client, or of another profile of the user
	}
	scheme, _, found := strings.Cut(info.URL, ":")
	return found && slices.Contains([]string{"http", "https", "about", "blob", "data"}, scheme)
}

// releaseTarget resumes a target that we do not drive, before any other command, and detaches from
// it.
func (r *instance) releaseTarget(s *cdpconn.Session) {
	ctx := context.Background()
	p, err := s.Start(ctx, "Runtime.runIfWaitingForDebugger", nil)
	detach := func() {
		r.conn.BrowserSession().Start(ctx, "Target.detachFromTarget", map[string]any{"sessionId": s.ID()})
	}
	if err != nil || p.Delayed() == nil {
		detach()
		return
	}
	r.work.Go(func() {
		<-p.Delayed()
		detach()
	})
}

// attached adds a tab for a page that was attached.
func (r *instance) attached(s *cdpconn.Session, e target.EventAttachedToTarget) {
	info := e.TargetInfo
	switch {
	case info.Type == "browser":
		return // the session of a CDP client
	case info.Type == "page" && r.isClientContext(info):
		r.clientPageAttached(s, info)
		return
	}
	r.mu.Lock()
	opener := r.targets[info.OpenerID]
	twice := r.targets[info.TargetID] != nil
	r.mu.Unlock()
	if info.Type != "page" || info.Subtype != "" || twice || opener == nil && !r.inScope(info) {
		r.releaseTarget(s)
		return
	}
	if r.proc == nil && r.context == "" && opener == nil {
		s.Start(context.Background(), "Runtime.runIfWaitingForDebugger", nil) // a tab of the user
		e.WaitingForDebugger = false
	}
	if r.overTabLimit(info) {
		r.work.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.opts.timing.AttachTab)
			defer cancel()
			// Its opener waits until it runs, and would otherwise wait forever.
			if p, err := s.Start(ctx, "Runtime.runIfWaitingForDebugger", nil); err == nil && p.Delayed() != nil {
				<-p.Delayed()
			}
			_ = r.conn.BrowserSession().Call(ctx, "Target.closeTarget", map[string]any{"targetId": info.TargetID}, nil)
			r.notAttached(info.TargetID)
		})
		return
	}
	if opener != nil {
		opener.Page.OpenedTab()
	}
	r.mu.Lock()
	r.attaching[info.TargetID] = true
	r.lastRaw++
	t := &session.Tab{Raw: strconv.Itoa(r.lastRaw), Opener: opener}
	if opener != nil {
		t.SetOwner(opener.Owner())
		r.openers[info.TargetID] = opener
	}
	r.mu.Unlock()
	r.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), r.opts.timing.AttachTab)
		defer cancel()
		ready := make(chan struct{})
		options := r.pageOptions(e.WaitingForDebugger, func() *session.Tab {
			if !notify.IsClosed(ready) {
				return nil // drop events that occur before the tab is known
			}
			return t
		})
		if opener != nil {
			options.Opener = opener.Page
		}
		options.Scriptable = info.OpenerID != "" && info.CanAccessOpener
		options.ID = executor.NewTabID("cdp", r.ID(), t.Raw)
		p, err := page.Attach(ctx, s, options)
		if err == nil {
			err = r.warmUp(ctx, p, info)
		}
		if err != nil {
			r.browser.log.Debug("tab closed while attaching", "error", err)
			r.notAttached(info.TargetID)
			return
		}
		r.mu.Lock()
		t.Page = p
		delete(r.attaching, info.TargetID)
		r.targets[info.TargetID] = t
		listed := r.opening == 0 || opener != nil
		if listed {
			r.tabs = append(r.tabs, t)
		}
		r.changed.Notify()
		r.mu.Unlock()
		close(ready)
		if listed {
			r.notifyTabOpened(t)
		}
	})
}

// overTabLimit reports whether a page opened more tabs than its session may have.
func (r *instance) overTabLimit(info *target.Info) bool {
	r.mu.Lock()
	opener := r.targets[info.OpenerID]
	pending := 0 // opened by pages, but not listed yet
	for id := range r.openers {
		if r.targets[id] == nil {
			pending++
		}
	}
	r.mu.Unlock()
	if opener == nil || opener.Owner() == nil {
		return false
	}
	if pending < executor.DefaultMaxTabs && !opener.Owner().Full(r) {
		return false
	}
	r.browser.log.Info("tab limit reached; closed the new tab")
	return true
}

// hasTarget reports whether a target is a tab of the instance.
func (r *instance) hasTarget(id target.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.targets[id] != nil || r.attaching[id]
}

func (r *instance) notAttached(id target.ID) {
	r.mu.Lock()
	delete(r.attaching, id)
	r.changed.Notify()
	r.mu.Unlock()
}

// detached removes the tab of a CDP session that was detached.
func (r *instance) detached(s *cdpconn.Session) {
	if s == nil || s.Target() == nil {
		return
	}
	r.mu.Lock()
	t := r.targets[s.Target().TargetID]
	delete(r.openers, s.Target().TargetID)
	r.mu.Unlock()
	if t != nil && t.Page.Session() == s { // not one that releaseTarget released
		r.remove(t)
		r.work.Go(t.Page.Wait)
	}
}

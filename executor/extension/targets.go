package extension

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// follow adds and removes tabs as their CDP sessions are attached and detached.
func (in *installation) follow() {
	for {
		ev, err := in.cdp.BrowserSession().Next(context.Background())
		if err != nil {
			return
		}
		if ev.Child == nil {
			continue
		}
		switch ev.Method {
		case "Target.attachedToTarget":
			in.addTab(ev.Child)
		case "Target.detachedFromTarget":
			in.sessionClosed(ev.Child)
		}
	}
}

// addTab creates the tab of a CDP session. The debugger is attached when a call needs it.
func (in *installation) addTab(s *cdpconn.Session) {
	in.mu.Lock()
	var t *tab
	for _, x := range in.tabs {
		if string(x.cdpSessionID) == s.ID() {
			t = x
		}
	}
	if t == nil {
		in.mu.Unlock()
		return // no longer shared
	}
	made := &session.Tab{Raw: strconv.Itoa(t.index), InstanceID: in.id, ShareSequence: t.shareSequence}
	if t.info.SharedByUserAt > 0 {
		made.SharedByUserAt = time.UnixMilli(t.info.SharedByUserAt)
	}
	if opener := in.tabs[t.info.OpenerTabID]; t.info.OpenerTabID != 0 && opener != nil && opener.sessionTab != nil {
		made.Opener = opener.sessionTab
		made.SetOwner(opener.sessionTab.Owner())
	}
	options := page.Options{
		Timing: in.backend.timing,
		Logger: in.backend.log, SecretGuard: &in.backend.secrets, Own: t.info.Own, Scriptable: t.info.OpenerTabID != 0,
		Shared: true, UserClipboard: true, ID: executor.NewTabID("ext", in.id, made.Raw),
		Attach: func(ctx context.Context) error { return s.Call(ctx, commandAttach, nil, nil) },
		OnEvent: func(ev page.Event) {
			in.backend.sessions.Emit(executor.Event{Kind: ev.Kind, URL: ev.URL, Dialog: ev.Dialog}, made, ev.Frame)
		},
		OnHandover: in.backend.handovers.Notify,
		OnDownload: func(d cdpbrowser.EventDownloadWillBegin) { in.downloadBegan(made, d) },
		TabsKnown:  in.openedTabsKnown,
	}
	if made.Opener != nil {
		options.Opener = made.Opener.Page
	}
	made.Page = page.AttachLazily(s, options)
	made.Page.SetLastKnown(t.info.URL, t.info.Title)
	t.sessionTab = made
	listed := !t.info.Own || made.Opener != nil || in.opening == 0
	if listed {
		in.list(t)
	}
	in.mu.Unlock()
	in.backend.changed.Notify()
	if listed {
		in.notifyTabOpened(made)
	}
}

// errTabsPending reports that the browser has not reported yet which page opened a new tab.
var errTabsPending = errors.New("the opener of a new tab is unknown")

// openedTabsKnown returns nil after share has counted each tab that a page has opened until now. It
// returns an error if that is unknown. It implements page.Options.TabsKnown.
func (in *installation) openedTabsKnown(ctx context.Context) error {
	return callInOrder(ctx, in, wire.MethodTabsOpened, wire.Empty{}, func(opened wire.TabsOpened) error {
		if opened.Pending > 0 {
			return errTabsPending
		}
		return nil
	})
}

// list adds a tab to the listed tabs. in.mu must be held.
func (in *installation) list(t *tab) {
	t.listed = true
	in.order = append(in.order, t)
}

// unlist removes a tab from the listed tabs. in.mu must be held.
func (in *installation) unlist(t *tab) {
	in.order = slices.DeleteFunc(slices.Clone(in.order), func(x *tab) bool { return x == t })
}

// sessionClosed reports that the tab of a closed session is gone.
func (in *installation) sessionClosed(s *cdpconn.Session) {
	in.backend.changed.Notify()
	in.mu.Lock()
	gone := in.detachedTabs[s.ID()]
	delete(in.detachedTabs, s.ID())
	in.mu.Unlock()
	if gone == nil || gone.sessionTab == nil {
		return
	}
	if gone.listed {
		in.backend.sessions.Emit(executor.Event{Kind: executor.EventTabClosed}, gone.sessionTab, "")
	}
	in.work.Go(gone.sessionTab.Page.Wait)
}

func (in *installation) notifyTabOpened(t *session.Tab) {
	in.backend.sessions.Emit(executor.Event{Kind: executor.EventTabOpened, URL: t.Page.URL()}, t, "")
}

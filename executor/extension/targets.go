package extension

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// follow adds and removes tabs as their CDP sessions are attached and detached.
func (l *installation) follow() {
	for {
		ev, err := l.cdp.BrowserSession().Next(context.Background())
		if err != nil {
			return
		}
		if ev.Child == nil {
			continue
		}
		switch ev.Method {
		case "Target.attachedToTarget":
			l.addTab(ev.Child)
		case "Target.detachedFromTarget":
			l.sessionClosed(ev.Child)
		}
	}
}

// addTab creates the tab of a CDP session. The debugger is attached when a call needs it.
func (l *installation) addTab(s *cdpconn.Session) {
	l.mu.Lock()
	var t *tab
	for _, x := range l.tabs {
		if string(x.cdpSessionID) == s.ID() {
			t = x
		}
	}
	if t == nil {
		l.mu.Unlock()
		return // no longer shared
	}
	made := &session.Tab{Raw: strconv.Itoa(t.index), InstanceID: l.id, ShareSequence: t.shareSequence}
	if t.info.SharedByUserAt > 0 {
		made.SharedByUserAt = time.UnixMilli(t.info.SharedByUserAt)
	}
	if opener := l.tabs[t.info.OpenerTabID]; t.info.OpenerTabID != 0 && opener != nil && opener.tab != nil {
		made.Opener = opener.tab
		made.SetOwner(opener.tab.Owner())
	}
	options := page.Options{
		Logger: l.backend.log, Own: t.info.Own, Scriptable: t.info.OpenerTabID != 0, Shared: true, ID: executor.NewTabID("ext", l.id, made.Raw),
		Attach:     func(ctx context.Context) error { return s.Call(ctx, commandAttach, nil, nil) },
		OnEvent:    func(ev page.Event) { l.emit(made, ev) },
		OnDownload: func(d page.Download) { l.downloadBegan(made, d) },
		TabsKnown:  l.openedTabsKnown,
	}
	if made.Opener != nil {
		options.Opener = made.Opener.Page
	}
	made.Page = page.AttachLazily(s, options)
	made.Page.SetLastKnown(t.info.URL, t.info.Title)
	t.tab = made
	listed := !t.info.Own || made.Opener != nil || l.opening == 0
	if listed {
		l.list(t)
	}
	l.mu.Unlock()
	l.backend.changed.Notify()
	if listed {
		l.notifyTabOpened(made)
	}
}

// errTabsPending reports that the browser has not reported yet which page opened a new tab.
var errTabsPending = errors.New("the opener of a new tab is unknown")

// openedTabsKnown returns nil after share has counted each tab that a page has opened until now. It
// returns an error if that is unknown. It implements page.Options.TabsKnown.
func (l *installation) openedTabsKnown(ctx context.Context) error {
	c := l.connection()
	if c == nil {
		return l.backend.DisconnectedError()
	}
	known := make(chan error, 1)
	err := c.Queue(ctx, wire.MethodTabsOpened, wire.Empty{}, func(data json.RawMessage, err error) {
		var opened wire.TabsOpened
		if err == nil {
			err = wire.Unmarshal(data, &opened)
		}
		if err == nil && opened.Pending > 0 {
			err = errTabsPending
		}
		known <- err
	})
	if err != nil {
		return err
	}
	select {
	case err = <-known:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.cdp.Done():
		return session.ErrClosed()
	}
}

// list adds a tab to the listed tabs. l.mu must be held.
func (l *installation) list(t *tab) {
	t.listed = true
	l.order = append(l.order, t)
}

// unlist removes a tab from the listed tabs. l.mu must be held.
func (l *installation) unlist(t *tab) {
	l.order = slices.DeleteFunc(slices.Clone(l.order), func(x *tab) bool { return x == t })
}

// sessionClosed reports that the tab of a closed session is gone.
func (l *installation) sessionClosed(s *cdpconn.Session) {
	l.backend.changed.Notify()
	l.mu.Lock()
	gone := l.detachedTabs[s.ID()]
	delete(l.detachedTabs, s.ID())
	l.mu.Unlock()
	if gone == nil || gone.tab == nil {
		return
	}
	if gone.listed {
		l.backend.sessions.Each(func(x *session.Session) { x.Emit(executor.Event{Kind: executor.EventTabClosed}, gone.tab, "") })
	}
	l.work.Go(gone.tab.Page.Wait)
}

func (l *installation) emit(t *session.Tab, ev page.Event) {
	l.backend.sessions.Each(func(s *session.Session) {
		s.Emit(executor.Event{Kind: ev.Kind, URL: ev.URL, Dialog: ev.Dialog}, t, ev.Frame)
	})
}

func (l *installation) notifyTabOpened(t *session.Tab) {
	l.backend.sessions.Each(func(s *session.Session) {
		s.Emit(executor.Event{Kind: executor.EventTabOpened, URL: t.Page.URL()}, t, "")
	})
}

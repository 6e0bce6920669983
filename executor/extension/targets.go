package extension

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// follow makes tabs of the sessions of the browser, in order.
func (l *link) follow() {
	for {
		ev, err := l.cdp.Browser().Next(context.Background())
		if err != nil {
			return
		}
		if ev.Child == nil {
			continue
		}
		switch ev.Method {
		case "Target.attachedToTarget":
			l.adopt(ev.Child)
		case "Target.detachedFromTarget":
			l.dropped(ev.Child)
		}
	}
}

// adopt makes a tab of a session. The debugger is attached when a call needs
// it.
func (l *link) adopt(s *cdpconn.Session) {
	l.mu.Lock()
	var t *tab
	for _, x := range l.tabs {
		if string(x.session) == s.ID() {
			t = x
		}
	}
	if t == nil {
		l.mu.Unlock()
		return // let go of meanwhile
	}
	made := &session.Tab{Raw: strconv.Itoa(t.n), Run: l.id, Shared: t.shared}
	if t.info.Chosen > 0 {
		made.Chosen = time.UnixMilli(t.info.Chosen)
	}
	if opener := l.tabs[t.info.OpenerTabID]; t.info.OpenerTabID != 0 && opener != nil && opener.tab != nil {
		made.Opener = opener.tab
		made.SetOwner(opener.tab.Owner())
	}
	options := page.Options{
		Logger: l.backend.log, Own: t.info.Own, Scriptable: t.info.OpenerTabID != 0, Shared: true, ID: executor.NewTabID("ext", l.id, made.Raw),
		Wake:       func(ctx context.Context) error { return s.Call(ctx, commandAttach, nil, nil) },
		OnEvent:    func(ev page.Event) { l.tell(made, ev) },
		OnDownload: func(d page.Download) { l.downloadBegan(made, d) },
	}
	if made.Opener != nil {
		options.Opener = made.Opener.Page
	}
	made.Page = page.Adopt(s, options)
	made.Page.Note(t.info.URL, t.info.Title)
	t.tab = made
	listed := !t.info.Own || made.Opener != nil || l.opening == 0
	if listed {
		l.list(t)
	}
	l.mu.Unlock()
	l.backend.notify()
	if listed {
		l.tellOpened(made)
	}
}

// list puts a tab among those that are listed. l.mu must be held.
func (l *link) list(t *tab) {
	t.listed = true
	l.order = append(l.order, t)
}

// unlist takes a tab off the list. l.mu must be held.
func (l *link) unlist(t *tab) {
	l.order = slices.DeleteFunc(slices.Clone(l.order), func(x *tab) bool { return x == t })
}

// dropped tells that a tab is gone, once its session is.
func (l *link) dropped(s *cdpconn.Session) {
	l.backend.notify()
	l.mu.Lock()
	gone := l.gone[s.ID()]
	delete(l.gone, s.ID())
	l.mu.Unlock()
	if gone == nil || gone.tab == nil {
		return
	}
	if gone.listed {
		l.backend.each(func(x *session.Session) { x.Emit(executor.Event{Kind: executor.EventTabClosed}, gone.tab, "") })
	}
	l.work.Go(gone.tab.Page.Wait)
}

func (l *link) tell(t *session.Tab, ev page.Event) {
	l.backend.each(func(s *session.Session) {
		s.Emit(executor.Event{Kind: ev.Kind, URL: ev.URL, Dialog: ev.Dialog}, t, ev.Frame)
	})
}

func (l *link) tellOpened(t *session.Tab) {
	l.backend.each(func(s *session.Session) {
		s.Emit(executor.Event{Kind: executor.EventTabOpened, URL: t.Page.URL()}, t, "")
	})
}

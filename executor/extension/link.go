package extension

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A link is one installation of the extension, over all its connections.
type link struct {
	backend      *Backend
	installation string
	id           string // short; it is the middle part of tab ids
	tr           *transport
	cdp          *cdpconn.Conn
	work         sync.WaitGroup

	mu       sync.Mutex           // guards what follows, and the order of what goes into tr
	conn     connection           // nil while there is none
	served   chan struct{}        // closed when the last connection's end was told
	listed   chan struct{}        // closed when the tabs of conn are known
	tabs     map[int]*tab         // by the browser's number
	order    []*tab               // those that are listed, in the order they came
	gone     map[string]*tab      // let go of, until their sessions have ended; by session
	last     int                  // number of the newest tab
	consents map[string]time.Time // when the user\'s leave for scripts was last heard, by origin
	opening  int                  // calls of open in progress; meanwhile own tabs wait to be claimed
	files    downloads
}

// A tab is one that is shared. link.mu guards it.
type tab struct {
	info    wire.Tab
	n       int // ours, never given twice
	session target.SessionID
	shared  int          // the how many-th that a user shared; 0 for our own
	tab     *session.Tab // nil until it is followed
	listed  bool
}

func newLink(b *Backend, installation string) *link {
	l := &link{
		backend: b, installation: installation, id: strings.ToLower(rand.Text()[:4]),
		tr: newTransport(), tabs: make(map[int]*tab), gone: make(map[string]*tab), served: make(chan struct{}), files: newDownloads(),
	}
	close(l.served)
	l.tr.connect(nil, executor.ErrExtensionDisconnected)
	l.cdp = cdpconn.New(l.tr)
	l.work.Go(l.follow)
	return l
}

// connection returns the connection that there is.
func (l *link) connection() connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// connect takes up a connection, once what the one before told is through.
func (l *link) connect(ctx context.Context, c connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == c || c.Err() != nil {
		return
	}
	before, served, listed := l.served, make(chan struct{}), make(chan struct{})
	l.served = served
	l.conn, l.listed = c, listed
	l.consents = make(map[string]time.Time)
	l.work.Go(func() {
		<-before
		l.serve(ctx, c, listed)
		close(served)
	})
}

// serve reads one connection to its end. It closes listed when the tabs are
// known, or never will be.
func (l *link) serve(ctx context.Context, c connection, listed chan<- struct{}) {
	l.mu.Lock()
	if l.conn == c {
		l.tr.connect(c, nil)
	}
	l.mu.Unlock()
	known := sync.OnceFunc(func() { close(listed) })
	err := c.Queue(ctx, wire.MethodTabsList, wire.Nothing{}, func(data json.RawMessage, err error) {
		var list wire.TabsList
		if err == nil {
			err = wire.Unmarshal(data, &list)
		}
		if err == nil {
			l.reconcile(list.Tabs)
		} else if c.Err() == nil {
			l.backend.log.Warn("the extension did not tell its tabs", "error", err)
		}
		known()
	})
	l.backend.log.Info("an extension is connected", "browser", l.id, "chrome", c.Chrome())
	l.backend.record(audit.Entry{Event: audit.EventConnected, Detail: "browser " + l.id + ", Chrome " + cut(c.Chrome())})
	for err == nil {
		var ev *wire.Event
		if ev, err = c.Next(ctx); err == nil {
			l.take(ev)
		}
	}
	l.disconnected(c, err)
	known()
}

// disconnected ends what waits for a connection that has ended. The tabs stay:
// they are shared again, or not, when the extension is back.
func (l *link) disconnected(c connection, err error) {
	l.mu.Lock()
	if l.conn == c {
		l.conn = nil
	}
	why := executor.Errorf(executor.ErrExtensionDisconnected, "Try again: the extension connects again by itself while Chrome runs.", "the extension disconnected: %w", err)
	why.Retryable = true
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Code == executor.ErrExtensionDisconnected {
		why.Err, why.Hint, why.Retryable = err, e.Hint, e.Retryable // which know who ended it
	}
	l.tr.connect(nil, why)
	for _, t := range l.tabs {
		l.detach(t, page.Detached{Code: why.Code, Message: why.Message(), Hint: why.Hint, Lasting: !why.Retryable}, why)
	}
	l.mu.Unlock()
	b := l.backend
	b.record(audit.Entry{Event: audit.EventDisconnected, Detail: "browser " + l.id})
	b.mu.Lock()
	b.lost, b.lostAt = err, time.Now()
	closed := b.closed
	b.mu.Unlock()
	if !closed {
		b.log.Warn("an extension disconnected", "browser", l.id, "error", err)
	}
	b.notify()
}

// ready waits until the tabs of a connection are known.
func (l *link) ready(ctx context.Context) error {
	l.mu.Lock()
	listed := l.listed
	l.mu.Unlock()
	if listed == nil {
		return nil
	}
	select {
	case <-listed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take applies one event. What makes no sense is dropped.
func (l *link) take(ev *wire.Event) {
	var err error
	l.mu.Lock()
	switch ev.Event {
	case wire.EventTabShared, wire.EventTabUpdated:
		var t wire.Tab
		if err = wire.Unmarshal(ev.Data, &t); err == nil {
			l.share(t)
		}
	case wire.EventTabUnshared:
		var u wire.TabUnshared
		if err = wire.Unmarshal(ev.Data, &u); err == nil {
			l.unshare(u.TabID, u.Reason)
		}
	case wire.EventDetached:
		var d wire.Detached
		if err = wire.Unmarshal(ev.Data, &d); err == nil && l.tabs[d.TabID] != nil {
			why := taken(d.Reason)
			l.detach(l.tabs[d.TabID], page.Detached{Code: why.Code, Message: why.Message(), Hint: why.Hint}, why)
		}
	case wire.EventCDP:
		var e wire.CDPEvent
		if err = wire.Unmarshal(ev.Data, &e); err == nil {
			l.relay(&e)
		}
	case wire.EventDownload:
		var d wire.Download
		if err = wire.Unmarshal(ev.Data, &d); err == nil {
			defer l.downloaded(d) // without the lock
		}
	case wire.EventStopped:
		for id := range l.tabs {
			l.unshare(id, "stopped")
		}
	default:
		err = fmt.Errorf("event %q is not known", ev.Event)
	}
	l.mu.Unlock()
	if err != nil {
		l.backend.log.Warn("an event of the extension makes no sense", "event", ev.Event, "error", err)
	}
}

// reconcile compares the tabs that are known with those that are shared.
func (l *link) reconcile(list []wire.Tab) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := make(map[int]bool)
	for _, t := range list {
		there[t.TabID] = true
		l.share(t)
	}
	for id := range l.tabs {
		if !there[id] {
			l.unshare(id, "closed")
		}
	}
	l.backend.notify()
}

// share takes note of a tab that is shared, or of what is new about it. l.mu
// must be held.
func (l *link) share(info wire.Tab) {
	if info.TargetID == "" {
		l.backend.log.Debug("a tab has no target yet") // an update follows
		return
	}
	t := l.tabs[info.TabID]
	if t != nil && t.info.TargetID != info.TargetID {
		l.unshare(info.TabID, "closed") // the browser gave its number to another
		t = nil
	}
	if t != nil {
		t.info = info
		if t.tab != nil {
			t.tab.Page.Note(info.URL, info.Title)
		}
		return
	}
	l.last++
	t = &tab{info: info, n: l.last, session: tabSession(l.last)}
	if !info.Own && info.OpenerTabID == 0 { // that a page opens a tab is no sharing
		b := l.backend
		b.mu.Lock()
		b.shared++
		t.shared = b.shared
		b.mu.Unlock()
	}
	l.tabs[info.TabID] = t
	l.recordShared(t, audit.Allowed, ruleUser, "")
	l.tr.route(t.session, route{tab: info.TabID})
	l.tr.event("", "Target.attachedToTarget", map[string]any{
		"sessionId": t.session, "waitingForDebugger": false,
		"targetInfo": map[string]any{
			"targetId": info.TargetID, "type": "page", "title": info.Title, "url": info.URL, "attached": true, "canAccessOpener": false,
		},
	})
}

// unshare lets a tab go: what waits for it ends, and says why. l.mu must be
// held.
func (l *link) unshare(id int, reason string) {
	t := l.tabs[id]
	if t == nil {
		return
	}
	delete(l.tabs, id)
	l.gone[string(t.session)] = t
	why := unshared(reason)
	if reason != "closed" {
		l.recordShared(t, audit.Denied, "", why.Message())
	}
	l.detach(t, page.Detached{Code: why.Code, Message: why.Message(), Hint: why.Hint, Final: true}, why)
	l.tr.unroute(t.session)
	l.tr.event("", "Target.detachedFromTarget", map[string]any{"sessionId": t.session, "targetId": t.info.TargetID})
	l.unlist(t)
}

// detach ends what an attached debugger kept up in a tab. l.mu must be held.
func (l *link) detach(t *tab, d page.Detached, why error) {
	for _, child := range l.tr.children(t.info.TabID) {
		l.tr.event(t.session, "Target.detachedFromTarget", map[string]any{"sessionId": child})
	}
	l.tr.event(t.session, page.EventDetached, d)
	// Last, so that a call which follows one that failed finds the tab as it is.
	l.tr.failTab(t.info.TabID, why)
}

// relay passes on an event of the browser's own protocol. l.mu must be held.
func (l *link) relay(e *wire.CDPEvent) {
	t := l.tabs[e.TabID]
	domain, _, ok := strings.Cut(e.Method, ".")
	if t == nil || !ok || domain == "ChromeMCP" && e.Method != cdpconn.EventsDropped {
		return
	}
	from := t.session
	if e.SessionID != "" {
		from = target.SessionID(e.SessionID)
		if strings.HasPrefix(e.SessionID, sessionPrefix) || !l.tr.leads(from, e.TabID) {
			return
		}
	}
	if domain == "Target" {
		var child struct {
			ID target.SessionID `json:"sessionId"`
		}
		if json.Unmarshal(e.Params, &child) != nil {
			return
		}
		switch e.Method {
		case "Target.attachedToTarget":
			if child.ID == "" || strings.HasPrefix(string(child.ID), sessionPrefix) ||
				!l.tr.route(child.ID, route{tab: e.TabID, session: string(child.ID)}) {
				return
			}
		case "Target.detachedFromTarget":
			if strings.HasPrefix(string(child.ID), sessionPrefix) || !l.tr.leads(child.ID, e.TabID) {
				return
			}
			l.tr.unroute(child.ID)
		}
	}
	l.tr.event(from, e.Method, e.Params)
}

// describe says in a few words what is there.
func (l *link) describe() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	shared, own := 0, 0
	for _, t := range l.tabs {
		if t.info.Own {
			own++
		} else {
			shared++
		}
	}
	text := "the user's own Chrome"
	if l.conn != nil && l.conn.Chrome() != "" {
		text += " " + l.conn.Chrome()
	}
	switch shared {
	case 0:
		text += ", no tab shared"
	case 1:
		text += ", 1 tab shared"
	default:
		text += ", " + strconv.Itoa(shared) + " tabs shared"
	}
	if own > 0 {
		text += ", " + strconv.Itoa(own) + " opened here"
	}
	return text
}

// close ends the link; its connection is the server's.
func (l *link) close() {
	l.cdp.Close()
	l.mu.Lock()
	var pages []*page.Tab
	for _, t := range l.tabs {
		if t.tab != nil {
			pages = append(pages, t.tab.Page)
		}
	}
	l.mu.Unlock()
	for _, p := range pages {
		p.Wait()
	}
	l.work.Wait()
}

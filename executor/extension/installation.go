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
	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// An installation is an installation of the extension. It survives its connections.
type installation struct {
	backend *Backend
	key     string
	id      string // short; it is the middle part of tab ids
	tr      *transport
	cdp     *cdpconn.Conn
	work    sync.WaitGroup

	mu             sync.Mutex           // guards the fields below, and the order of messages to tr
	conn           *bridge.Conn         // nil while disconnected
	connectionDone chan struct{}        // closed when the end of the last connection has been handled
	tabsKnown      chan struct{}        // closed when the tabs of conn are known
	tabs           map[int]*tab         // by Chrome's tab id
	order          []*tab               // the listed tabs, in the order in which they appeared
	detachedTabs   map[string]*tab      // no longer shared, until their sessions have ended; by session id
	last           int                  // index of the newest tab
	consents       map[string]time.Time // when the user's consent to scripts was last confirmed, by origin
	endings        map[string]string    // why the last tabs were unshared, by the last part of their tab ids
	opening        int                  // number of running calls of open; while it is not 0, our tabs are not listed
	downloads      downloads
}

// A tab is a shared tab, or one that we opened. installation.mu guards it.
type tab struct {
	info          wire.Tab
	index         int // the last part of its tab id, never reused
	cdpSessionID  target.SessionID
	shareSequence int          // increases with each tab that a user shares; 0 for our own tabs
	sessionTab    *session.Tab // nil until addTab has created it
	listed        bool
}

// maxEndings is how many unshared tabs an installation remembers.
const maxEndings = 1000

func newInstallation(b *Backend, key string) *installation {
	in := &installation{
		backend: b, key: key, id: strings.ToLower(rand.Text()[:4]),
		tr: newTransport(b.timing), tabs: make(map[int]*tab), detachedTabs: make(map[string]*tab),
		connectionDone: make(chan struct{}), endings: make(map[string]string), downloads: newDownloads(),
	}
	close(in.connectionDone)
	in.tr.tools = toolCommands{in}
	in.tr.connect(nil, executor.ErrExtensionDisconnected)
	in.cdp = cdpconn.New(in.tr)
	in.work.Go(in.follow)
	return in
}

// connection returns the current connection, or nil.
func (in *installation) connection() *bridge.Conn {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.conn
}

// connect starts using c after all events of the previous connection have been handled.
func (in *installation) connect(ctx context.Context, c *bridge.Conn) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.conn == c || c.Err() != nil {
		return
	}
	before, served, listed := in.connectionDone, make(chan struct{}), make(chan struct{})
	in.connectionDone = served
	in.conn, in.tabsKnown = c, listed
	in.consents = make(map[string]time.Time)
	in.work.Go(func() {
		<-before
		in.serve(ctx, c, listed)
		close(served)
	})
	in.backend.changed.Notify()
}

// serve reads c until it ends. It closes listed when the tabs are known, or when the connection has
// ended before.
func (in *installation) serve(ctx context.Context, c *bridge.Conn, listed chan<- struct{}) {
	in.mu.Lock()
	if in.conn == c {
		in.tr.connect(c, nil)
		in.backend.hub.connected(c)
	}
	in.mu.Unlock()
	known := sync.OnceFunc(func() { close(listed) })
	err := c.Queue(ctx, wire.MethodTabsList, wire.Empty{}, func(data json.RawMessage, err error) {
		var list wire.TabsList
		if err == nil {
			err = wire.Unmarshal(data, &list)
		}
		if err == nil {
			in.reconcile(list)
		} else if c.Err() == nil {
			in.backend.log.Warn("listing the tabs failed", "error", err)
		}
		known()
	})
	in.backend.log.Info("an extension is connected", "browser", in.id, "chrome", c.Chrome())
	in.backend.record(audit.Entry{
		Event: audit.EventConnected, Detail: "browser " + in.id + ", Chrome " + pagetext.Truncate(c.Chrome(), maxReason),
	})
	for err == nil {
		var ev *bridge.Event
		if ev, err = c.Next(ctx); err == nil {
			in.handleEvent(ev)
		}
	}
	in.disconnected(c, err)
	known()
}

// callInOrder sends a command, and waits until handle has returned. It calls handle with the result,
// in the order in which the result arrived among the events.
func callInOrder[T any](ctx context.Context, in *installation, method string, params any, handle func(T) error) error {
	c := in.connection()
	if c == nil {
		return in.backend.DisconnectedError()
	}
	handled := make(chan error, 1)
	err := c.Queue(ctx, method, params, func(data json.RawMessage, err error) {
		var result T
		if err == nil {
			err = wire.Unmarshal(data, &result)
		}
		if err == nil {
			err = handle(result)
		}
		handled <- err
	})
	if err != nil {
		return err
	}
	select {
	case err := <-handled:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-in.cdp.Done():
		return session.ErrClosed()
	}
}

// disconnected fails all calls that wait for c, which has ended with err. The tabs stay until the
// extension reconnects and reports which of them are still shared.
func (in *installation) disconnected(c *bridge.Conn, err error) {
	in.mu.Lock()
	if in.conn == c {
		in.conn = nil
	}
	why := executor.Errorf(executor.ErrExtensionDisconnected,
		"Try again: the extension reconnects automatically while Chrome is running.",
		"the extension disconnected: %w", err)
	why.Retryable = true
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Code == executor.ErrExtensionDisconnected {
		why.Err, why.Hint, why.Retryable = err, e.Hint, e.Retryable // err says who ended the connection
	}
	in.tr.connect(nil, why)
	for _, t := range in.tabs {
		in.detach(t, page.Detached{Code: why.Code, Message: why.Message(), Hint: why.Hint, NeedsUser: !why.Retryable}, why)
	}
	in.mu.Unlock()
	b := in.backend
	b.record(audit.Entry{Event: audit.EventDisconnected, Detail: "browser " + in.id})
	b.mu.Lock()
	b.lost, b.lostAt = err, time.Now()
	closed := b.closed
	b.mu.Unlock()
	if !closed {
		b.log.Warn("an extension disconnected", "browser", in.id, "error", err)
	}
	b.changed.Notify()
}

// ready waits until the tabs of the current connection are known.
func (in *installation) ready(ctx context.Context) error {
	in.mu.Lock()
	listed := in.tabsKnown
	in.mu.Unlock()
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

// handleEvent applies an event. It logs and drops an invalid event.
func (in *installation) handleEvent(ev *bridge.Event) {
	var err error
	in.mu.Lock()
	switch ev.Name {
	case wire.EventTabShared, wire.EventTabUpdated:
		var t wire.Tab
		if err = wire.Unmarshal(ev.Data, &t); err == nil {
			in.share(t)
		}
	case wire.EventTabUnshared:
		var u wire.TabUnshared
		if err = wire.Unmarshal(ev.Data, &u); err == nil {
			in.unshare(u.TabID, u.Reason)
		}
	case wire.EventDetached:
		var d wire.Detached
		if err = wire.Unmarshal(ev.Data, &d); err == nil && in.tabs[d.TabID] != nil {
			why := detachedError(d.Reason)
			in.detach(in.tabs[d.TabID], page.Detached{Code: why.Code, Message: why.Message(), Hint: why.Hint}, why)
		}
	case wire.EventCDP:
		var e wire.CDPEvent
		if err = wire.Unmarshal(ev.Data, &e); err == nil {
			in.dispatchCDPEvent(&e)
		}
	case wire.EventDownload:
		var d wire.Download
		if err = wire.Unmarshal(ev.Data, &d); err == nil {
			defer in.handleDownloadState(d) // without the lock
		}
	case wire.EventElementSent:
		var e wire.ElementSent
		if err = wire.Unmarshal(ev.Data, &e); err == nil {
			if t := in.tabs[e.TabID]; t != nil && t.sessionTab != nil {
				in.work.Go(func() { t.sessionTab.ElementSent(context.Background(), e.Frame == "", e.Frame) })
			}
		}
	case wire.EventStopped:
		for id := range in.tabs {
			in.unshare(id, "stopped")
		}
		in.backend.hub.stop(unsharedError("stopped"))
	case wire.EventClientStopped:
		var r wire.ClientRef
		if err = wire.Unmarshal(ev.Data, &r); err == nil {
			in.backend.hub.stopClient(r.Client)
		}
	default:
		err = fmt.Errorf("unknown event %q", ev.Name)
	}
	in.mu.Unlock()
	if err != nil {
		in.backend.log.Warn("invalid event from the extension", "event", ev.Name, "error", err)
	}
}

// reconcile updates the known tabs to those of list, which are shared now.
func (in *installation) reconcile(list wire.TabsList) {
	in.mu.Lock()
	defer in.mu.Unlock()
	there := make(map[int]bool)
	for _, t := range list.Tabs {
		there[t.TabID] = true
		in.share(t)
	}
	for _, ended := range list.Ended { // while the extension was disconnected
		in.unshare(ended.TabID, ended.Reason)
	}
	gone := reasonUnknown
	if list.Elsewhere > 0 { // or another server drives it now
		gone = "released"
	}
	for id := range in.tabs {
		if !there[id] {
			in.unshare(id, gone)
		}
	}
	in.backend.changed.Notify()
}

// share adds a shared tab, or updates a known one. in.mu must be held.
func (in *installation) share(info wire.Tab) {
	if info.TargetID == "" {
		in.backend.log.Debug("a tab has no target yet") // an update follows
		return
	}
	t := in.tabs[info.TabID]
	if t != nil && t.info.TargetID != info.TargetID {
		in.unshare(info.TabID, "closed") // the browser has reused the id for another tab
		t = nil
	}
	if t != nil {
		t.info = info
		in.backend.hub.updateTab(in, t)
		if t.sessionTab != nil {
			t.sessionTab.Page.SetLastKnown(info.URL, info.Title)
		}
		return
	}
	in.last++
	t = &tab{info: info, index: in.last, cdpSessionID: tabSession(in.last)}
	if !info.Own && info.OpenerTabID == 0 { // a tab that a page opened was not shared by the user
		b := in.backend
		b.mu.Lock()
		b.shared++
		t.shareSequence = b.shared
		b.mu.Unlock()
	}
	if opener := in.tabs[info.OpenerTabID]; info.OpenerTabID != 0 && opener != nil && opener.sessionTab != nil {
		opener.sessionTab.Page.Popups.Opened()
	}
	in.tabs[info.TabID] = t
	defer in.backend.hub.updateTab(in, t)
	in.recordShared(t, audit.Allowed, ruleUser, "")
	in.tr.route(t.cdpSessionID, route{tab: info.TabID})
	in.tr.event("", "Target.attachedToTarget", map[string]any{
		"sessionId": t.cdpSessionID, "waitingForDebugger": false,
		"targetInfo": map[string]any{
			"targetId": info.TargetID, "type": "page", "title": info.Title, "url": info.URL, "attached": true, "canAccessOpener": false,
		},
	})
}

// unshare removes a tab that is no longer shared. Calls on it fail with the reason. in.mu must be
// held.
func (in *installation) unshare(id int, reason string) {
	t := in.tabs[id]
	if t == nil {
		return
	}
	delete(in.tabs, id)
	in.backend.hub.removeTab(in, t, reason)
	in.detachedTabs[string(t.cdpSessionID)] = t
	why := unsharedError(reason)
	if reason != "closed" && reason != reasonUnknown {
		in.recordShared(t, audit.Denied, "", why.Message())
		if len(in.endings) == maxEndings {
			clear(in.endings)
		}
		in.endings[strconv.Itoa(t.index)] = reason
	}
	in.detach(t, page.Detached{Code: why.Code, Message: why.Message(), Hint: why.Hint, Permanent: true, MayBeOpen: reason == reasonUnknown}, why)
	in.tr.unroute(t.cdpSessionID)
	in.tr.event("", "Target.detachedFromTarget", map[string]any{"sessionId": t.cdpSessionID, "targetId": t.info.TargetID})
	in.unlist(t)
}

// detach handles the detachment of the debugger from a tab. Commands in progress fail with why. in.mu
// must be held.
func (in *installation) detach(t *tab, d page.Detached, why error) {
	in.backend.hub.debuggerDetached(in, t)
	for _, child := range in.tr.removeChildren(t.info.TabID) {
		in.tr.event(t.cdpSessionID, "Target.detachedFromTarget", map[string]any{"sessionId": child})
	}
	in.tr.event(t.cdpSessionID, page.EventDetached, d)
	// Last, so that the call after a failed one sees the new state of the tab.
	in.tr.failTab(t.info.TabID, why)
}

// dispatchCDPEvent forwards a CDP event to its session. in.mu must be held.
func (in *installation) dispatchCDPEvent(e *wire.CDPEvent) {
	t := in.tabs[e.TabID]
	domain, _, ok := strings.Cut(e.Method, ".")
	if t == nil || !ok || domain == "ChromeMCP" && e.Method != cdpconn.EventsDropped {
		return
	}
	if !in.backend.hub.event(in, e) {
		return
	}
	from := t.cdpSessionID
	if e.SessionID != "" {
		from = target.SessionID(e.SessionID)
		if strings.HasPrefix(e.SessionID, sessionPrefix) || !in.tr.routesTo(from, e.TabID) {
			return
		}
	}
	if domain == "Target" {
		child := member[target.SessionID](e.Params, "sessionId")
		switch e.Method {
		case "Target.attachedToTarget":
			if child == "" || strings.HasPrefix(string(child), sessionPrefix) ||
				!in.tr.route(child, route{tab: e.TabID, session: string(child)}) {
				return
			}
		case "Target.detachedFromTarget":
			if strings.HasPrefix(string(child), sessionPrefix) || !in.tr.routesTo(child, e.TabID) {
				return
			}
			in.tr.unroute(child)
		}
	}
	in.tr.event(from, e.Method, e.Params)
}

// describe describes the browser and its tabs in a few words.
func (in *installation) describe() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	shared, own := 0, 0
	for _, t := range in.tabs {
		if t.info.Own {
			own++
		} else {
			shared++
		}
	}
	text := "the user's own Chrome"
	if in.conn != nil && in.conn.Chrome() != "" {
		text += " " + in.conn.Chrome()
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

// close closes the installation. The server closes its connection.
func (in *installation) close() {
	in.cdp.Close()
	in.mu.Lock()
	var pages []*page.Tab
	for _, t := range in.tabs {
		if t.sessionTab != nil {
			pages = append(pages, t.sessionTab.Page)
		}
	}
	in.mu.Unlock()
	for _, p := range pages {
		p.Wait()
	}
	in.work.Wait()
}

package relay

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A target is what CDP reports about a target.
type target struct {
	ID        string `json:"targetId"`
	Type      string `json:"type"`
	Title     string `json:"title"`
	URL       string `json:"url"`
	ContextID string `json:"browserContextId"`
}

// A cdpSession is a CDP session of a client.
type cdpSession struct {
	id       string // "" is the client's own session of the browser target
	parent   string
	target   target // when it was attached
	paused   recent // by id of a paused request: the policy allows reading the response
	contexts *executionContexts
	settings sessionSettings

	mu         sync.Mutex      // guards the fields below
	origin     string          // of the target's current URL, for the audit log
	hidden     map[string]bool // targets whose events are not for the client
	autoAttach bool            // the client has requested it
}

func newCDPSession(id, parent string, t target) *cdpSession {
	return &cdpSession{
		id: id, parent: parent, target: t, contexts: newExecutionContexts(),
		origin: audit.Origin(t.URL), hidden: map[string]bool{},
	}
}

// setURL sets the URL of the document.
func (s *cdpSession) setURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.origin = audit.Origin(url)
}

// setAutoAttach records whether the client attaches to targets automatically.
func (s *cdpSession) setAutoAttach(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.autoAttach = on
}

// autoAttaches reports whether the client attaches to targets automatically.
func (s *cdpSession) autoAttaches() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.autoAttach
}

// currentOrigin returns the origin of the document.
func (s *cdpSession) currentOrigin() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origin
}

// targetEvent handles Target.targetCreated and Target.targetInfoChanged, and reports whether the event
// is for client c.
func (s *cdpSession) targetEvent(c *client, m *executor.CDPMessage) bool {
	var e struct{ TargetInfo target }
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	visible := c.server.visible(e.TargetInfo, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !visible {
		s.hidden[e.TargetInfo.ID] = true
		return false
	}
	if s.hidden[e.TargetInfo.ID] { // such as a new tab that has left an internal page of the browser
		delete(s.hidden, e.TargetInfo.ID)
		m.Method = "Target.targetCreated"
	}
	return true
}

// targetGone handles Target.targetDestroyed and Target.targetCrashed, and reports whether the event is
// for the client.
func (s *cdpSession) targetGone(m *executor.CDPMessage) bool {
	var e struct{ TargetID string }
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hidden := s.hidden[e.TargetID]
	if m.Method == "Target.targetDestroyed" {
		delete(s.hidden, e.TargetID)
	}
	return !hidden
}

// frameNavigated handles Page.frameNavigated.
func (s *cdpSession) frameNavigated(m *executor.CDPMessage) {
	var e struct {
		Frame struct{ ParentID, URL string }
	}
	if json.Unmarshal(m.Params, &e) == nil && e.Frame.ParentID == "" {
		s.setURL(e.Frame.URL)
	}
}

// recent is a map that contains at least the last maxRecent keys that were set, and at most twice as
// many. The zero value is ready to use. It is safe for concurrent use.
type recent struct {
	mu                sync.Mutex // guards the fields below
	current, previous map[string]bool
}

// maxRecent limits the keys of a recent.
const maxRecent = 10_000

func (r *recent) set(key string, v bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || len(r.current) >= maxRecent {
		r.previous, r.current = r.current, map[string]bool{}
	}
	r.current[key] = v
}

// get returns the value of a key, and whether the key is known.
func (r *recent) get(key string) (v, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, known = r.current[key]; !known {
		v, known = r.previous[key]
	}
	return v, known
}

// empty reports whether no key was ever set.
func (r *recent) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current == nil
}

// noTarget is Chromium's message for an unknown target. Its code is codeInvalidParams.
const noTarget = "No target with given id found"

// internalSchemes are the schemes of the browser's internal pages and of those of extensions, with
// the colon.
var internalSchemes = []string{
	"chrome:", "chrome-untrusted:", "chrome-search:", "devtools:", "chrome-extension:", "isolated-app:", "view-source:",
}

// visible reports whether client c can see a target or, if c is nil, whether all clients can.
func (s *Server) visible(t target, c *client) bool {
	switch t.Type {
	case "page", "iframe", "tab", "browser":
	case "worker", "shared_worker", "service_worker":
		// A service worker of a denied site can be left from a time at which it was allowed.
		if isHTTP(t.URL) && s.opts.Policy.CheckDocument(t.URL) != nil {
			return false
		}
	default:
		return false
	}
	if slices.ContainsFunc(internalSchemes, func(scheme string) bool { return strings.HasPrefix(t.URL, scheme) }) {
		return false
	}
	owner := s.browserContextOwner(t.ContextID)
	return owner == nil || owner == c
}

// checkTarget returns why the client cannot use a target.
func (c *client) checkTarget(ctx context.Context, id string) error {
	var res struct{ TargetInfo target }
	err := c.browser.call(ctx, "", "Target.getTargetInfo", map[string]any{"targetId": id}, &res)
	if err != nil || res.TargetInfo.ID != id || !c.server.visible(res.TargetInfo, c) {
		return chromiumError(codeInvalidParams, noTarget)
	}
	return nil
}

// attached handles Target.attachedToTarget. It reports whether the event is for the client.
func (c *client) attached(ctx context.Context, m *executor.CDPMessage) bool {
	var e struct {
		SessionID  string
		TargetInfo target
	}
	if json.Unmarshal(m.Params, &e) != nil || e.SessionID == "" {
		return false
	}
	if c.sessions.add(e.SessionID, m.SessionID, e.TargetInfo, c.server.visible(e.TargetInfo, c)) {
		return true
	}
	// Detaching also resumes a target that waits for the debugger.
	c.background(ctx, m.SessionID, "Target.detachFromTarget", map[string]any{"sessionId": e.SessionID})
	return false
}

// detached handles Target.detachedFromTarget. It reports whether the event is for the client.
func (c *client) detached(m *executor.CDPMessage) bool {
	var e struct{ SessionID string }
	if json.Unmarshal(m.Params, &e) != nil {
		return false
	}
	removed, root := c.sessions.remove(e.SessionID)
	if root { // of a client for one page
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closing {
			c.wg.Go(c.detachedRoot)
		}
	}
	for _, id := range removed {
		c.browser.sessionClosed(id)
	}
	return len(removed) > 0
}

// detachedRoot ends the connection of a client whose page is closed, as Chromium does.
func (c *client) detachedRoot() {
	_ = c.conn.write(executor.CDPMessage{
		Method: "Inspector.detached", Params: json.RawMessage(`{"reason":"target_closed"}`),
	})
	c.end(websocket.StatusNormalClosure, "the page is closed")
}

// watchEvent handles an event of the session that observes all targets.
func (c *client) watchEvent(ctx context.Context, m *executor.CDPMessage) {
	var e struct {
		TargetInfo target
		TargetID   string
	}
	switch m.Method {
	case "Target.targetCreated", "Target.targetInfoChanged", "Target.targetDestroyed":
		if json.Unmarshal(m.Params, &e) != nil {
			return
		}
	default:
		return
	}
	if m.Method == "Target.targetDestroyed" {
		c.sessions.targetDestroyed(e.TargetID)
		c.server.targetDestroyed(e.TargetID)
		return
	}
	t := e.TargetInfo
	hidden, parent, deferred := c.sessions.targetChanged(t, c.server.visible(t, c))
	if deferred { // such as a new tab that has left an internal page of the browser
		c.background(ctx, parent, "Target.attachToTarget", map[string]any{"targetId": t.ID, "flatten": true})
	}
	for _, s := range hidden { // the client gets the event detachedFromTarget
		c.background(ctx, s.parent, "Target.detachFromTarget", map[string]any{"sessionId": s.id})
	}
}

package relay

import (
	"maps"
	"slices"
	"sync"
)

const (
	// maxSessions limits the CDP sessions of a client.
	maxSessions = 2000
	// maxDepth is how many parents pageOf follows.
	maxDepth = 16
)

// A sessionTree has the CDP sessions of a client.
type sessionTree struct {
	mu    sync.Mutex // guards the fields below
	byID  map[string]*cdpSession
	root  *cdpSession // for commands without a session id; nil until the client's commands are read
	watch string      // id of the session that observes all targets, or ""
	// notAttached has the targets that are hidden, or for which there were too many sessions: the session
	// that attached each automatically, by the id of the target.
	notAttached map[string]string
}

func newSessionTree() *sessionTree {
	return &sessionTree{
		byID:        map[string]*cdpSession{"": newCDPSession("", "", target{Type: "browser"})},
		notAttached: map[string]string{},
	}
}

// start sets the root session. It returns false if the session is detached.
func (t *sessionTree) start(root string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.root = t.byID[root]; t.root == nil {
		return false
	}
	if root != "" {
		delete(t.byID, "")
	}
	return true
}

// observe sets the session that observes all targets, which the client does not see. It returns
// false if the session is detached.
func (t *sessionTree) observe(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	attached := t.byID[id] != nil
	delete(t.byID, id)
	t.watch = id
	return attached
}

// ofEvent returns the session of an event, or nil. It reports whether the session is the one that
// observes all targets, and whether the client's commands are read.
func (t *sessionTree) ofEvent(id string) (s *cdpSession, watched, started bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id], id != "" && id == t.watch, t.root != nil
}

// ofRequest returns the session of a request, or nil if the client has none with the id.
func (t *sessionTree) ofRequest(r request) *cdpSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !r.hasSessionID || r.sessionID == "" {
		return t.root
	}
	if s := t.byID[r.sessionID]; s != t.root {
		return s
	}
	return nil // the client of a page does not know the id
}

// clientID returns the id that the client uses for a session: "" for the root session.
func (t *sessionTree) clientID(s *cdpSession) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == t.root {
		return ""
	}
	return s.id
}

// canDetach reports whether the client can detach a session: any but its root session.
func (t *sessionTree) canDetach(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	return s != nil && id != "" && s != t.root
}

// all returns all sessions.
func (t *sessionTree) all() []*cdpSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.byID))
}

// pageOf returns the target id of the page of a session. For the session of a frame or worker that
// the client attached without a page, it returns the id of that target.
func (t *sessionTree) pageOf(s *cdpSession) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := s.target.ID
	for range maxDepth {
		if s == nil {
			break
		}
		if s.target.Type == "page" {
			return s.target.ID
		}
		if s.parent == s.id {
			break
		}
		s = t.byID[s.parent]
	}
	return id
}

// add adds a session that was attached below parent, unless its target is hidden or there are too
// many sessions.
func (t *sessionTree) add(id, parent string, x target, visible bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !visible || len(t.byID) >= maxSessions {
		t.notAttached[x.ID] = parent
		return false
	}
	t.byID[id] = newCDPSession(id, parent, x)
	delete(t.notAttached, x.ID)
	return true
}

// remove removes a session, unless it is the root session, and the sessions below it, and returns their
// ids. It reports whether the session is the root session.
func (t *sessionTree) remove(id string) (removed []string, root bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s == t.root {
		return nil, s != nil
	}
	return t.removeLocked(s), false
}

// removeLocked removes s and the sessions below it, and returns their ids. t.mu must be held.
func (t *sessionTree) removeLocked(s *cdpSession) []string {
	removed := []string{s.id}
	delete(t.byID, s.id)
	for _, below := range t.byID {
		if below.parent == s.id && below.id != "" {
			removed = append(removed, t.removeLocked(below)...)
		}
	}
	return removed
}

// targetChanged updates the URL of a target in its sessions. It returns these sessions if the client
// must not see the target, and, if the client may see a target that was hidden, the session that
// attached it automatically.
func (t *sessionTree) targetChanged(x target, visible bool) (hidden []*cdpSession, parent string, deferred bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID {
		if s.target.ID == x.ID && x.ID != "" {
			s.setURL(x.URL)
			if !visible {
				hidden = append(hidden, s)
				if above := t.byID[s.parent]; above != nil && above.autoAttaches() {
					t.notAttached[x.ID] = s.parent
				}
			}
		}
	}
	if visible {
		parent, deferred = t.notAttached[x.ID]
		delete(t.notAttached, x.ID)
	}
	return hidden, parent, deferred
}

// targetDestroyed forgets a hidden target.
func (t *sessionTree) targetDestroyed(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.notAttached, id)
}

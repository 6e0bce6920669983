package frames

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// WorldName is the name of the isolated world of our scripts in each document. The scripts share
// the DOM with the page and no JavaScript.
const WorldName = "chrome-mcp"

// A Frame is a frame of a tab, in any renderer process. It belongs to the State of its tree.
type Frame struct {
	id     cdp.FrameID
	parent cdp.FrameID // empty for the top frame
	order  int64       // order of attachment, used to sort siblings
	sess   *cdpconn.Session

	loader                  cdp.LoaderID
	earlierLoaders          []cdp.LoaderID // of the last documents before loader, at most maxEarlierLoaders
	url                     string
	unreachableURL          string          // the URL that failed to load, if the document is an error page
	lifecycleEvents         map[string]bool // that the document of loader has reached, or that of earlyLoader
	earlyLoader             cdp.LoaderID    // loader of lifecycle events that arrived before loader was known
	cutReason               string          // why the response of loader ended early; empty if it did not
	sameDocumentNavigations int             // number of navigations within the document
	worldOverdue            bool            // the world did not appear in time, and WaitForFrames no longer waits for it

	world     *executionContext // our isolated world; nil until the browser reports it
	mainWorld *executionContext // the main world; nil until the browser reports it
	owner     Node              // the element of the frame in its parent's document; cached
}

// An executionContext is an execution context. Its origin is the effective origin of its document,
// as the browser reports it: about:blank, srcdoc and blob: documents have the origin that they
// inherit, opaque origins are executor.OriginOpaque.
type executionContext struct {
	id     string                     // CDP's uniqueId
	number runtime.ExecutionContextID // CDP's id, unique within one process
	origin string
}

// ID returns the id of the frame.
func (f *Frame) ID() cdp.FrameID { return f.id }

// Parent returns the id of the frame around f, or "" for the top frame.
func (f *Frame) Parent() cdp.FrameID { return f.parent }

// Session returns the CDP session that reports the frame.
func (f *Frame) Session() *cdpconn.Session { return f.sess }

// Loader returns the loader id of the document, or "" if it is not known.
func (f *Frame) Loader() cdp.LoaderID { return f.loader }

// URL returns the URL of the document.
func (f *Frame) URL() string { return f.url }

// UnreachableURL returns the URL that failed to load if the document is an error page, and ""
// otherwise.
func (f *Frame) UnreachableURL() string { return f.unreachableURL }

// CutReason returns why the response of the document ended early, or "" if it did not.
func (f *Frame) CutReason() string { return f.cutReason }

// SameDocumentNavigations returns how many navigations within its documents the frame has had.
func (f *Frame) SameDocumentNavigations() int { return f.sameDocumentNavigations }

// Reached reports whether the document has reached a lifecycle event, such as DOMContentLoaded.
func (f *Frame) Reached(event string) bool { return f.lifecycleEvents[event] }

// HadLoader reports whether loader is that of the document or of one of the last documents before
// it.
func (f *Frame) HadLoader(loader cdp.LoaderID) bool {
	return f.loader == loader || slices.Contains(f.earlierLoaders, loader)
}

// World returns CDP's unique id of our isolated world in the document, or "" if it is not known.
func (f *Frame) World() string {
	if f.world == nil {
		return ""
	}
	return f.world.id
}

// AddFrameTree adds the frames that the browser returned for a CDP session. Events may have
// reported newer documents before the response, so it does not change the document of a frame that
// already has one.
func (s *State) AddFrameTree(sess *cdpconn.Session, tree *cdppage.FrameTree) {
	if tree == nil || tree.Frame == nil {
		return
	}
	f := s.frameWith(tree.Frame.ID)
	f.sess = cmp.Or(f.sess, sess)
	if f.sess == sess && f.loader == "" {
		f.parent = tree.Frame.ParentID
		s.tree.observer.FrameAdded(f.id, f.parent)
		f.setDocument(tree.Frame)
		s.hasLeftBlank = s.hasLeftBlank || f == s.Top() && !IsBlank(f.url)
	}
	for _, child := range tree.ChildFrames {
		s.AddFrameTree(sess, child)
	}
}

// maxEarlierLoaders is how many loaders of earlier documents a frame remembers. A script can replace
// a document before a call that waits for it has seen it.
const maxEarlierLoaders = 16

// isInitial reports whether f has loaded no document yet. A frame that a script creates starts with
// an empty document, which has the origin of its parent, and which no event reports. If the
// response to its first request is a download, it keeps that document.
func (s *State) isInitial(f *Frame) bool {
	parent := s.frames[f.parent]
	return f != s.Top() && f.loader == "" && f.world == nil && parent != nil && f.sess == parent.sess
}

// isInitial is State.isInitial for the frame with an id. It returns false for an unknown frame.
func (t *Tree) isInitial(id cdp.FrameID) bool {
	s := t.Lock()
	defer s.Unlock()
	f := s.frames[id]
	return f != nil && s.isInitial(f)
}

// IsErrorPage reports whether the document of f is an error page of the browser.
func (f *Frame) IsErrorPage() bool {
	return f.unreachableURL != "" || strings.HasPrefix(f.url, "chrome-error:")
}

func (f *Frame) setDocument(d *cdp.Frame) {
	if f.loader != "" && f.loader != d.LoaderID {
		f.earlierLoaders = append(f.earlierLoaders, f.loader)
		f.earlierLoaders = f.earlierLoaders[max(0, len(f.earlierLoaders)-maxEarlierLoaders):]
	}
	f.loader, f.url, f.unreachableURL, f.cutReason = d.LoaderID, d.URL+d.URLFragment, d.UnreachableURL, ""
	if f.earlyLoader != f.loader {
		f.lifecycleEvents = nil
	}
	f.earlyLoader = ""
}

// frameAttached records a new frame, or that a frame is in another CDP session now.
func (s *State) frameAttached(sess *cdpconn.Session, id, parent cdp.FrameID) {
	f := s.frameWith(id)
	f.parent, f.sess = parent, sess
	s.tree.observer.FrameAdded(id, parent)
}

// dropFrame records that a frame was removed, with those in it. The top frame stays.
func (s *State) dropFrame(id cdp.FrameID) {
	if id == s.tree.topFrame {
		return
	}
	s.rememberPastDocument(s.frames[id])
	s.tree.observer.FrameRemoved(id)
	delete(s.frames, id)
	delete(s.pendingNavigations, id)
	s.dropFramesIn(id)
}

// dropFramesIn is dropFrame for the frames in a frame.
func (s *State) dropFramesIn(id cdp.FrameID) {
	for child, f := range s.frames {
		if f.parent == id {
			s.dropFrame(child)
		}
	}
}

// frameNavigated records a frame's new document. It does not change the frame's worlds. The browser
// has already reported the end of the old document's worlds. But a document that is restored from
// the back/forward cache already has its worlds, and the first document of a popup window takes
// over the worlds of the empty document. The frames in a restored document also exist before it:
// the browser attaches us to those that have a separate process, and reports only the worlds of the
// others.
func (s *State) frameNavigated(sess *cdpconn.Session, d *cdp.Frame, restored bool) {
	f := s.frameWith(d.ID)
	for id, child := range s.frames {
		switch {
		case child.parent == d.ID && (!restored || child.sess == sess):
			s.dropFrame(id)
		case restored && s.orphan(child):
			child.parent = d.ID // or a frame below d: restoreFrames queries the frame tree, which sets it
		}
	}
	f.parent, f.sess = d.ParentID, sess
	f.lifecycleEvents = nil
	f.setDocument(d)
	if restored {
		f.lifecycleEvents = map[string]bool{"DOMContentLoaded": true, "load": true}
	}
	s.tree.observer.DocumentCommitted(s, f, restored, s.pendingNavigations[d.ID])
	delete(s.pendingNavigations, d.ID)
	if f == s.Top() {
		s.hasLeftBlank = s.hasLeftBlank || !IsBlank(d.URL)
		s.crashed = false
		s.pastDocuments = s.pastDocuments[s.countBeforeTop:]
		s.countBeforeTop = len(s.pastDocuments)
		s.lostBeforeTop, s.pastDocumentsLost = s.pastDocumentsLost, false
	} else if !strings.HasPrefix(d.URL, "about:") {
		s.tree.documentsLoaded.Add(1)
	}
}

// lifecycle records a lifecycle event of the document of loader.
func (s *State) lifecycle(id cdp.FrameID, loader cdp.LoaderID, name string) {
	f := s.frames[id]
	if f == nil {
		return
	}
	if f.loader == "" && f.earlyLoader != loader {
		// The frame tree, which contains the loader id, was requested but has not arrived yet.
		f.earlyLoader, f.lifecycleEvents = loader, nil
	}
	if f.loader != "" && f.loader != loader {
		return
	}
	if f.lifecycleEvents == nil {
		f.lifecycleEvents = make(map[string]bool)
	}
	f.lifecycleEvents[name] = true
}

// CutShort records that the response of a document that already replaced the previous one ended
// early. The browser shows the part that arrived and reports no more lifecycle events, so the
// document counts as loaded.
func (s *State) CutShort(loader cdp.LoaderID, why string) {
	f := s.Top()
	if f.loader != loader {
		return
	}
	f.cutReason = why
	s.lifecycle(f.id, loader, "DOMContentLoaded")
	s.lifecycle(f.id, loader, "load")
}

// WaitForFrames waits until the document of every out-of-process iframe is known, a dialog opens,
// or Timing.Frames has passed. It does not wait for the same frame twice, because the frame may
// hang.
func (t *Tree) WaitForFrames(ctx context.Context) {
	withoutWorld := func(s *State) (list []*Frame) {
		for _, f := range s.frames {
			if f.sess != nil && f.sess != t.sess && f.world == nil && !f.worldOverdue {
				list = append(list, f)
			}
		}
		return list
	}
	limit, cancel := context.WithTimeout(ctx, t.timing.Frames)
	defer cancel()
	if t.Await(limit, func(s *State) (bool, error) { return t.observer.DialogError() != nil || len(withoutWorld(s)) == 0, nil }) == nil || ctx.Err() != nil {
		return
	}
	s := t.Lock()
	defer s.Unlock()
	for _, f := range withoutWorld(s) {
		f.worldOverdue = true
	}
}

// Sessions returns the CDP sessions of the tab and of its out-of-process iframes.
func (t *Tree) Sessions() []*cdpconn.Session {
	s := t.Lock()
	defer s.Unlock()
	list := []*cdpconn.Session{t.sess}
	seen := map[*cdpconn.Session]bool{t.sess: true}
	for _, f := range s.frames {
		if f.sess != nil && !seen[f.sess] {
			seen[f.sess] = true
			list = append(list, f.sess)
		}
	}
	return list
}

// HasOutOfProcessFrames reports whether the tab has an out-of-process iframe.
func (t *Tree) HasOutOfProcessFrames() bool { return len(t.Sessions()) > 1 }

// frameMoved records that a frame has a separate CDP session, because its next document is in
// another process.
func (s *State) frameMoved(sess *cdpconn.Session, id, parent cdp.FrameID) {
	f := s.frameWith(id)
	if f.parent == "" {
		f.parent = parent
	}
	s.dropDocument(f)
	s.tree.documentsLoaded.Add(1)
	f.sess, f.loader, f.worldOverdue = sess, "", false
}

// sessionEnded records that the CDP session of an out-of-process iframe has ended. The iframe may
// continue to exist in its parent's process. Its next navigation or world there shows whether it
// does. The frames in it are gone with its document, and so are their sessions.
func (s *State) sessionEnded(sess *cdpconn.Session) {
	for id, f := range s.frames {
		parent := s.frames[f.parent]
		switch {
		case f.sess != sess || f == s.Top() || parent != nil && parent.sess == sess: // not the iframe itself
		case parent == nil || parent.sess == nil:
			s.dropFrame(id)
		default:
			s.dropDocument(f)
			s.dropFramesIn(id)
			f.sess = parent.sess
		}
	}
}

// dropDocument records that the document of a frame is gone, and that the next one is not known.
func (s *State) dropDocument(f *Frame) {
	s.rememberPastDocument(f)
	s.tree.observer.DocumentDropped(f.id, s.pendingNavigations[f.id])
	f.world, f.mainWorld = nil, nil
}

// worldCreated records a new execution context of a frame. The returned function, if any, must be
// called without the lock.
func (s *State) worldCreated(sess *cdpconn.Session, d *runtime.ExecutionContextDescription) (after func()) {
	var aux struct {
		FrameID   cdp.FrameID `json:"frameId"`
		IsDefault bool        `json:"isDefault"`
	}
	if d == nil || cdpconn.Unmarshal(d.AuxData, &aux) != nil {
		return nil
	}
	f := s.frames[aux.FrameID]
	if f == nil && aux.FrameID != "" { // a frame of a document that is being restored
		f = s.frameWith(aux.FrameID)
		f.sess = sess
	}
	if f == nil || f.sess != sess {
		return nil
	}
	w := &executionContext{id: d.UniqueID, number: d.ID, origin: effectiveOrigin(d.Origin)}
	switch {
	case aux.IsDefault:
		f.mainWorld = w
	case d.Name == WorldName:
		f.world, f.worldOverdue = w, false
		after = s.tree.observer.DocumentCreated(s.Document(f))
	}
	s.tree.observer.WorldAdded(s)
	return after
}

// dropWorlds drops the execution contexts of a CDP session that the browser has destroyed.
func (s *State) dropWorlds(sess *cdpconn.Session, destroyed func(*executionContext) bool) {
	for _, f := range s.frames {
		if f.sess != sess {
			continue
		}
		if f.world != nil && destroyed(f.world) {
			delete(s.scriptedWorlds, f.world.id)
			s.rememberPastDocument(f)
			f.world = nil
		}
		if f.mainWorld != nil && destroyed(f.mainWorld) {
			f.mainWorld = nil
		}
		if s.orphan(f) && f.world == nil && f.mainWorld == nil {
			delete(s.frames, f.id)
		}
	}
}

// orphan reports whether the browser has reported only worlds of f, and not the frame around it.
// Such a frame has no position among the frames yet.
func (s *State) orphan(f *Frame) bool { return f != s.Top() && f.parent == "" }

// restoreFrames queries the frames in a document that was restored from the back/forward cache,
// because no event reports them.
func (t *Tree) restoreFrames(sess *cdpconn.Session) {
	p, err := sess.Start(context.Background(), cdppage.CommandGetFrameTree, nil)
	if err != nil {
		return
	}
	t.wg.Go(func() {
		var result cdppage.GetFrameTreeResult
		if p.Wait(context.Background(), &result) != nil {
			return
		}
		s := t.Lock()
		defer s.Unlock()
		s.AddFrameTree(sess, result.FrameTree)
		t.Changes.Notify()
	})
}

// effectiveOrigin converts the origin that the browser reports for an execution context to an
// origin of executor.Access. The browser reports "://" for an opaque origin.
func effectiveOrigin(origin string) string {
	if strings.HasPrefix(origin, "http://") || strings.HasPrefix(origin, "https://") {
		return origin
	}
	return executor.OriginOpaque
}

// frameWith returns the frame with an id. It adds the frame if it is unknown.
func (s *State) frameWith(id cdp.FrameID) *Frame {
	f := s.frames[id]
	if f == nil {
		f = &Frame{id: id, order: s.tree.framesAttached.Add(1)}
		s.frames[id] = f
	}
	return f
}

// InOrder returns the frames of the tab in the order in which they were attached, parents before
// their children. It omits frames whose parent is not known yet.
func (s *State) InOrder() []*Frame {
	children := make(map[cdp.FrameID][]*Frame, len(s.frames))
	for _, f := range slices.SortedFunc(maps.Values(s.frames), func(a, b *Frame) int { return cmp.Compare(a.order, b.order) }) {
		if f != s.Top() {
			children[f.parent] = append(children[f.parent], f)
		}
	}
	list := make([]*Frame, 0, len(s.frames))
	var add func(f *Frame)
	add = func(f *Frame) {
		list = append(list, f)
		for _, c := range children[f.id] {
			add(c)
		}
	}
	add(s.Top())
	return list
}

// OriginOfURL returns the origin of the document at url, or executor.OriginOpaque if the URL does
// not determine it. url must come from the browser, not from a page.
func OriginOfURL(url string) string {
	rest := strings.TrimPrefix(url, "blob:")
	scheme, rest, ok := strings.Cut(rest, "://")
	if !ok || (scheme != "http" && scheme != "https") {
		return executor.OriginOpaque
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	host, _, _ = strings.Cut(host, "#")
	if host == "" || strings.ContainsAny(host, "@\\ ") {
		return executor.OriginOpaque
	}
	return scheme + "://" + host
}

// Loaders returns the loader ids of all frames, by frame id.
func (t *Tree) Loaders() map[string]string {
	m := make(map[string]string)
	s := t.Lock()
	defer s.Unlock()
	for f := range s.Frames() {
		m[string(f.ID())] = string(f.Loader())
	}
	return m
}

// NoNewDocuments reports whether no frame was added, and none shows another document, since Loaders
// returned before. Frames may have been removed.
func (t *Tree) NoNewDocuments(before map[string]string) bool {
	now := t.Loaders()
	for id, loader := range now {
		if old, ok := before[id]; !ok || old != loader {
			return false
		}
	}
	return true
}

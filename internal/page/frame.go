package page

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

// A frame is a frame of a tab, in any renderer process. frameTree.mu guards it.
type frame struct {
	id     cdp.FrameID
	parent cdp.FrameID // empty for the top frame
	order  int64       // order of attachment, used to sort siblings
	sess   *cdpconn.Session

	loader                  cdp.LoaderID
	past                    []cdp.LoaderID // of the last documents before loader, at most maxPastLoaders
	url                     string
	unreachable             string          // the URL that failed to load, if the document is an error page
	reached                 map[string]bool // lifecycle events of loader, or of early
	cut                     string          // why the response of loader ended early; empty if it did not
	early                   cdp.LoaderID    // loader of lifecycle events that arrived before loader was known
	sameDocumentNavigations int             // number of navigations within the document
	late                    bool            // its world did not appear in time, and waitForFrames no longer waits for it

	world     *executionContext // our isolated world; nil until the browser reports it
	mainWorld *executionContext // the main world; nil until the browser reports it
	owner     node              // the element of the frame in its parent's document; cached
}

// An executionContext is an execution context. Its origin is the effective origin of its document,
// as the browser reports it: about:blank, srcdoc and blob: documents have the origin that they
// inherit, opaque origins are executor.OriginOpaque.
type executionContext struct {
	id     string                     // CDP's uniqueId
	number runtime.ExecutionContextID // CDP's id, unique within one process
	origin string
}

// addFrameTree adds the frames that the browser returned for a CDP session. Events may have
// reported newer documents before the response, so it does not change the document of a frame that
// already has one. t.mu must be held.
func (t *frameTree) addFrameTree(s *cdpconn.Session, tree *cdppage.FrameTree) {
	if tree == nil || tree.Frame == nil {
		return
	}
	f := t.frameWith(tree.Frame.ID)
	f.sess = cmp.Or(f.sess, s)
	if f.sess == s && f.loader == "" {
		f.parent = tree.Frame.ParentID
		t.observer.frameAdded(f.id, f.parent)
		f.setDocument(tree.Frame)
		t.shown = t.shown || f.id == t.main && !isBlank(f.url)
	}
	for _, child := range tree.ChildFrames {
		t.addFrameTree(s, child)
	}
}

// maxPastLoaders is how many loaders of earlier documents a frame remembers. A script can replace a
// document before a call that waits for it has seen it.
const maxPastLoaders = 16

// isInitial reports whether f has loaded no document yet. A frame that a script creates starts with an
// empty document, which has the origin of its parent, and which no event reports. If the response to
// its first request is a download, it keeps that document. t.mu must be held.
func (f *frame) isInitial(t *frameTree) bool {
	parent := t.frames[f.parent]
	return f.id != t.main && f.loader == "" && f.world == nil && parent != nil && f.sess == parent.sess
}

func (f *frame) setDocument(d *cdp.Frame) {
	if f.loader != "" && f.loader != d.LoaderID {
		f.past = append(f.past, f.loader)
		f.past = f.past[max(0, len(f.past)-maxPastLoaders):]
	}
	f.loader, f.url, f.unreachable, f.cut = d.LoaderID, d.URL+d.URLFragment, d.UnreachableURL, ""
	if f.early != f.loader {
		f.reached = nil
	}
	f.early = ""
}

func (t *frameTree) frameAttached(s *cdpconn.Session, id, parent cdp.FrameID) {
	f := t.frameWith(id)
	f.parent, f.sess = parent, s
	t.observer.frameAdded(id, parent)
}

func (t *frameTree) dropFrame(id cdp.FrameID) {
	if id == t.main {
		return
	}
	t.rememberPastDocument(t.frames[id])
	t.observer.frameRemoved(id)
	delete(t.frames, id)
	delete(t.started, id)
	for child, f := range t.frames {
		if f.parent == id {
			t.dropFrame(child)
		}
	}
}

// frameNavigated records a frame's new document. It does not change the frame's worlds. The browser
// has already reported the end of the old document's worlds. But a document that is restored from
// the back/forward cache already has its worlds, and the first document of a popup window takes
// over the worlds of the empty document. The frames in a restored document also exist before it:
// the browser attaches us to those that have a separate process, and reports only the worlds of the
// others.
func (t *frameTree) frameNavigated(s *cdpconn.Session, d *cdp.Frame, restored bool) {
	f := t.frameWith(d.ID)
	for id, child := range t.frames {
		switch {
		case !restored && child.parent == d.ID, child.parent == d.ID && child.sess == s:
			t.dropFrame(id)
		case restored && child.orphan(t):
			child.parent = d.ID // or a frame below d: restoreFrames queries the frame tree, which sets it
		}
	}
	f.parent, f.sess = d.ParentID, s
	f.reached = nil
	f.setDocument(d)
	if restored {
		f.reached = map[string]bool{"DOMContentLoaded": true, "load": true}
	}
	t.observer.documentCommitted(f, restored, t.started[d.ID])
	delete(t.started, d.ID)
	if d.ID != t.main && !strings.HasPrefix(d.URL, "about:") {
		t.loaded.Add(1)
	}
	if d.ID == t.main {
		t.shown = t.shown || !isBlank(d.URL)
		t.crashed = false
		t.pastDocuments = t.pastDocuments[t.pastDocumentsStart:]
		t.pastDocumentsStart = len(t.pastDocuments)
	}
}

func (t *frameTree) lifecycle(id cdp.FrameID, loader cdp.LoaderID, name string) {
	f := t.frames[id]
	if f == nil {
		return
	}
	if f.loader == "" && f.early != loader {
		// The frame tree, which contains the loader id, was requested but has not arrived yet.
		f.early, f.reached = loader, nil
	}
	if f.loader != "" && f.loader != loader {
		return
	}
	if f.reached == nil {
		f.reached = make(map[string]bool)
	}
	f.reached[name] = true
}

// cutShort records that the response of a document that already replaced the previous one ended
// early. The browser shows the part that arrived and reports no more lifecycle events, so the
// document counts as loaded.
func (t *frameTree) cutShort(loader cdp.LoaderID, why string) {
	f := t.frames[t.main]
	if f.loader != loader {
		return
	}
	f.cut = why
	for _, event := range lifecycleEvents {
		t.lifecycle(t.main, loader, event)
	}
}

// waitForFrames waits until the document of every out-of-process iframe is known, a dialog opens,
// or Timing.Frames has passed. It does not wait for the same frame twice, because the frame may hang.
func (t *frameTree) waitForFrames(ctx context.Context) {
	unknown := func() (list []*frame) {
		for _, f := range t.frames {
			if f.sess != nil && f.sess != t.sess && f.world == nil && !f.late {
				list = append(list, f)
			}
		}
		return list
	}
	limit, cancel := context.WithTimeout(ctx, t.timing.Frames)
	defer cancel()
	if t.await(limit, func() (bool, error) { return t.observer.blocked() != nil || len(unknown()) == 0, nil }) == nil || ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range unknown() {
		f.late = true
	}
}

// frameSessions is like sessions. t.mu must not be held.
func (t *frameTree) frameSessions() []*cdpconn.Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions()
}

// sessions returns the CDP sessions of the tab and of its out-of-process iframes. t.mu must be held.
func (t *frameTree) sessions() []*cdpconn.Session {
	list := []*cdpconn.Session{t.sess}
	seen := map[*cdpconn.Session]bool{t.sess: true}
	for _, f := range t.frames {
		if f.sess != nil && !seen[f.sess] {
			seen[f.sess] = true
			list = append(list, f.sess)
		}
	}
	return list
}

// hasOutOfProcessFrames reports whether the tab has an out-of-process iframe.
func (t *frameTree) hasOutOfProcessFrames() bool { return len(t.frameSessions()) > 1 }

func (t *frameTree) sessionOf(id cdp.FrameID) *cdpconn.Session {
	if f := t.frames[id]; f != nil {
		return f.sess
	}
	return nil
}

// worldCreated records a new execution context of a frame. t.mu must be held. The returned
// function, if any, must be called without it.
func (t *frameTree) worldCreated(s *cdpconn.Session, d *runtime.ExecutionContextDescription) (after func()) {
	var aux struct {
		FrameID   cdp.FrameID `json:"frameId"`
		IsDefault bool        `json:"isDefault"`
	}
	if d == nil || cdpconn.Unmarshal(d.AuxData, &aux) != nil {
		return nil
	}
	f := t.frames[aux.FrameID]
	if f == nil && aux.FrameID != "" { // a frame of a document that is being restored
		f = t.frameWith(aux.FrameID)
		f.sess = s
	}
	if f == nil || f.sess != s {
		return nil
	}
	w := &executionContext{id: d.UniqueID, number: d.ID, origin: effectiveOrigin(d.Origin)}
	switch {
	case aux.IsDefault:
		f.mainWorld = w
	case d.Name == WorldName:
		f.world, f.late = w, false
		after = t.observer.documentCreated(t.documentOf(f))
	}
	t.observer.worldAdded()
	return after
}

func (t *frameTree) worldDestroyed(s *cdpconn.Session, id string) {
	delete(t.scripts, id)
	t.dropWorlds(s, func(w *executionContext) bool { return w.id == id })
}

// dropWorlds drops the execution contexts of a CDP session that the browser has destroyed.
func (t *frameTree) dropWorlds(s *cdpconn.Session, destroyed func(*executionContext) bool) {
	for _, f := range t.frames {
		if f.sess != s {
			continue
		}
		if f.world != nil && destroyed(f.world) {
			delete(t.scripts, f.world.id)
			t.rememberPastDocument(f)
			f.world = nil
		}
		if f.mainWorld != nil && destroyed(f.mainWorld) {
			f.mainWorld = nil
		}
		if f.orphan(t) && f.world == nil && f.mainWorld == nil {
			delete(t.frames, f.id)
		}
	}
}

// orphan reports whether the browser has reported only worlds of f, and not the frame around it.
// Such a frame has no position among the frames yet. t.mu must be held.
func (f *frame) orphan(t *frameTree) bool { return f.id != t.main && f.parent == "" }

// restoreFrames queries the frames in a document that was restored from the back/forward cache,
// because no event reports them.
func (t *frameTree) restoreFrames(s *cdpconn.Session) {
	p, err := s.Start(context.Background(), cdppage.CommandGetFrameTree, nil)
	if err != nil {
		return
	}
	t.wg.Go(func() {
		var result cdppage.GetFrameTreeResult
		if p.Wait(context.Background(), &result) != nil {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.addFrameTree(s, result.FrameTree)
		t.changed.Notify()
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

// frameWith returns the frame with an id. It adds the frame if it is unknown. t.mu must be held.
func (t *frameTree) frameWith(id cdp.FrameID) *frame {
	f := t.frames[id]
	if f == nil {
		f = &frame{id: id, order: t.attached.Add(1)}
		t.frames[id] = f
	}
	return f
}

// inOrder returns the frames of the tab in the order in which they were attached, parents before
// their children. t.mu must be held.
func (t *frameTree) inOrder() []*frame {
	children := make(map[cdp.FrameID][]*frame, len(t.frames))
	for _, f := range slices.SortedFunc(maps.Values(t.frames), func(a, b *frame) int { return cmp.Compare(a.order, b.order) }) {
		if f.id != t.main {
			children[f.parent] = append(children[f.parent], f)
		}
	}
	list := make([]*frame, 0, len(t.frames))
	var add func(f *frame)
	add = func(f *frame) {
		list = append(list, f)
		for _, c := range children[f.id] {
			add(c)
		}
	}
	if f := t.frames[t.main]; f != nil {
		add(f)
	}
	return list
}

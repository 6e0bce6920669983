package page

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A frameTree tracks the frames of a page target, their documents and our isolated worlds in them. Its
// methods are safe for concurrent use. What must not change between two looks at it is in its State.
type frameTree struct {
	sess     *cdpconn.Session // of the page target
	main     cdp.FrameID      // of the top frame
	observer treeObserver
	scripts  string // installs the page scripts in a world
	log      *slog.Logger
	timing   timing.Timing
	wg       sync.WaitGroup
	changed  notify.Broadcast           // the state of the tab has changed
	attached atomic.Int64               // see framesAttached
	loaded   atomic.Int64               // see documentsLoaded
	title    atomic.Pointer[notedTitle] // of the top document, when it was last read; nil if it was not

	mu    sync.Mutex // guards state
	state State
}

// A State is the state of a locked tree. It is valid until Unlock, and so are its frames. Events are
// handled with the tree locked, so that all that one of them changes changes together.
type State struct {
	tree *frameTree

	frames             map[cdp.FrameID]*frame
	installed          map[string]bool            // isolated worlds, by CDP's unique id, that have the page scripts
	pending            map[cdp.FrameID]navigation // pending navigations, by frame
	navigationsStarted int                        // cross-document navigations of the top frame that started
	firstURL           string                     // of the first navigation of the top frame
	shown              bool                       // the top frame has had a non-blank document
	past               []*document                // past documents, the oldest first; see rememberPastDocument
	pastStart          int                        // how many of past are older than the current top document

	gone       error // why the tab is gone; nil while it exists
	crashed    bool
	isDetached bool          // the target is not attached; lastKnown describes it
	detachErr  error         // why it was detached; nil before the first attachment
	lastKnown  lastKnownPage // of a tab that is not attached
}

// A lastKnownPage describes the page of a tab that is not attached.
type lastKnownPage struct{ url, title string }

// A treeObserver follows the frames of a tab, and knows what blocks the tab. The methods with a State
// are called while the tree is locked; so are blocked, mayBeBlocked and ownsBlank, which must not lock it.
type treeObserver interface {
	frameAdded(id, parent cdp.FrameID)
	frameRemoved(id cdp.FrameID)
	// documentCommitted is called after f has a new document. started is the navigation of the frame,
	// if it is known. restored means that the document is from the back/forward cache.
	documentCommitted(s *State, f *frame, restored bool, started navigation)
	// documentDropped is called when the document of a frame is gone, because the frame moves to another process.
	// started is the pending navigation of the frame, if it is known.
	documentDropped(id cdp.FrameID, started navigation)
	// documentCreated is called when our isolated world of d is known. The returned function, if any,
	// is called without the lock.
	documentCreated(d *document) (after func())
	// worldAdded is called when a world of a frame is known.
	worldAdded(s *State)
	// blocked returns ErrDialogOpen if a dialog blocks the page, and nil otherwise.
	blocked() error
	// mayBeBlocked returns ErrDialogOpen if a dialog of another tab may block the page.
	mayBeBlocked() error
	// awaitOtherTab returns the error of mayBeBlocked if the page does not respond.
	awaitOtherTab(ctx context.Context) error
	// ownsBlank reports whether no page can write into the first, blank document of the tab.
	ownsBlank() bool
}

// newFrameTree returns the tree of the page target of sess, of which only the top frame is known.
// scripts is a script that installs the page scripts in a world, unless they are installed there.
func newFrameTree(sess *cdpconn.Session, top cdp.FrameID, observer treeObserver, scripts string, log *slog.Logger, t timing.Timing) *frameTree {
	tree := &frameTree{sess: sess, main: top, observer: observer, scripts: scripts, log: log, timing: t}
	tree.state = State{
		tree: tree, frames: map[cdp.FrameID]*frame{top: {id: top, sess: sess}},
		installed: make(map[string]bool), pending: make(map[cdp.FrameID]navigation),
	}
	return tree
}

// Lock locks the tree and returns its state. The caller must call [State.Unlock].
func (t *frameTree) Lock() *State {
	t.mu.Lock()
	return &t.state
}

// Unlock unlocks the tree.
func (s *State) Unlock() { s.tree.mu.Unlock() }

// Reset forgets all frames but the top one, and all documents.
func (s *State) Reset() {
	t := s.tree
	s.frames = map[cdp.FrameID]*frame{t.main: {id: t.main, sess: t.sess}}
	clear(s.installed)
	clear(s.pending)
}

// notifyChanged wakes up those who wait for a change of the tab, after a change that the tree does not
// know.
func (t *frameTree) notifyChanged() { t.changed.Notify() }

// nextChange returns a channel that is closed at the next change of the tab.
func (t *frameTree) nextChange() <-chan struct{} { return t.changed.Changed() }

// framesAttached returns how many frames have ever been attached to the tab.
func (t *frameTree) framesAttached() int64 { return t.attached.Load() }

// documentsLoaded returns how many documents the frames of the tab have loaded, without those at about:
// URLs, which belong to the documents around them.
func (t *frameTree) documentsLoaded() int64 { return t.loaded.Load() }

// waitUntil waits until cond is true. It calls cond without the lock, first immediately, and then after
// every change.
func (t *frameTree) waitUntil(ctx context.Context, cond func() bool) error {
	return t.changed.Wait(ctx, cond)
}

// awaitUnblocked is await, but it returns ErrDialogOpen as soon as a dialog is open.
func (t *frameTree) awaitUnblocked(ctx context.Context, cond func(*State) (bool, error)) error {
	return t.await(ctx, func(s *State) (bool, error) {
		if err := t.observer.blocked(); err != nil {
			return false, err
		}
		return cond(s)
	})
}

// await waits until cond is true. It calls cond first immediately, and then after every change. It
// returns an error if cond does, when the tab is gone, or when ctx is done. If ctx has no deadline,
// the timeout is cdpconn.DefaultCallTimeout.
func (t *frameTree) await(ctx context.Context, cond func(*State) (bool, error)) error {
	ctx, cancel := cdpconn.Bounded(ctx)
	defer cancel()
	var failed error
	err := t.changed.Wait(ctx, func() (done bool) {
		s := t.Lock()
		defer s.Unlock()
		if done, failed = cond(s); !done && failed == nil {
			failed = s.Unusable()
		}
		return done || failed != nil
	})
	return cmp.Or(failed, err)
}

// obstruction returns why the page does not respond to commands, or nil if it does: the tab cannot be
// used, or a dialog blocks it. changed is closed at the next change.
func (t *frameTree) obstruction() (changed <-chan struct{}, err error) {
	s := t.Lock()
	defer s.Unlock()
	return t.changed.Changed(), cmp.Or(s.Unusable(), t.observer.blocked())
}

// Unusable returns why the tab can no longer be used, or nil.
func (s *State) Unusable() error {
	switch {
	case s.gone != nil:
		return s.gone
	case s.isDetached && s.detachErr != nil:
		return s.detachErr
	case s.crashed:
		return executor.Errorf(executor.ErrTargetGone, "Reload the tab, or open another.", "the page crashed")
	}
	return nil
}

// Gone returns why the tab is gone for ever, or nil.
func (s *State) Gone() error { return s.gone }

// End records that the tab is gone, for the reason err unless one is known already.
func (s *State) End(err error) {
	s.gone = cmp.Or(s.gone, err)
	s.isDetached = false
}

// Crashed reports whether the renderer process of the page has crashed.
func (s *State) Crashed() bool { return s.crashed }

// SetCrashed records that the renderer process has crashed, or that a navigation replaces it. It
// returns whether it had crashed before.
func (s *State) SetCrashed(crashed bool) (before bool) {
	before, s.crashed = s.crashed, crashed
	return before
}

// Detached reports whether the target is not attached. Only LastKnown describes its page then.
func (s *State) Detached() bool { return s.isDetached }

// DetachReason returns why the target was detached last, or nil.
func (s *State) DetachReason() error { return s.detachErr }

// Detach records that the target is not attached, for the reason err, which is nil before the first
// attachment. It forgets all that depends on the attachment.
func (s *State) Detach(err error) {
	if url := s.Top().url; url != "" {
		s.lastKnown.url = url
	}
	s.isDetached, s.detachErr, s.crashed = true, err, false
	s.Reset()
}

// Attach records that the target is attached.
func (s *State) Attach() { s.isDetached, s.detachErr = false, nil }

// LastKnown returns the URL and the title of the page of a tab that is not attached.
func (s *State) LastKnown() (url, title string) { return s.lastKnown.url, s.lastKnown.title }

// SetLastKnown sets what LastKnown returns.
func (s *State) SetLastKnown(url, title string) { s.lastKnown = lastKnownPage{url, title} }

// Top returns the top frame.
func (s *State) Top() *frame { return s.frames[s.tree.main] }

// Frame returns the frame with an id, or nil if it is not known.
func (s *State) Frame(id cdp.FrameID) *frame { return s.frames[id] }

// Frames returns the frames of the tab in no order.
func (s *State) Frames() iter.Seq[*frame] { return maps.Values(s.frames) }

// FrameOf returns the frame that has an execution context, or nil if it is not known. ours means that
// the context is our isolated world; otherwise it is the main world.
func (s *State) FrameOf(sess *cdpconn.Session, number runtime.ExecutionContextID, ours bool) *frame {
	for _, f := range s.frames {
		w := f.mainWorld
		if ours {
			w = f.world
		}
		if f.sess == sess && w != nil && w.number == number {
			return f
		}
	}
	return nil
}

// HasScripts records that the page scripts are installed in our isolated world of f.
func (s *State) HasScripts(f *frame) { s.installed[f.world.id] = true }

// FirstURL returns the URL of the first navigation of the top frame, or "" if there was none.
func (s *State) FirstURL() string { return s.firstURL }

// blankIsOurs reports whether a blank top document without an origin is the first document of the
// tab, and no page can write into it.
func (s *State) blankIsOurs() bool { return s.tree.observer.ownsBlank() && !s.shown }

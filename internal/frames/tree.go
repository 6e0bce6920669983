package frames

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A Tree tracks the frames of a page target, their documents and our isolated worlds in them. Its
// methods are safe for concurrent use. Code that needs several facts of the same moment locks the
// tree and reads them from its [State].
type Tree struct {
	sess     *cdpconn.Session // of the page target
	topFrame cdp.FrameID
	observer Observer
	log      *slog.Logger
	timing   timing.Timing
	wg       sync.WaitGroup
	reports  Reports

	installScript   string       // installs the page scripts in a world
	framesAttached  atomic.Int64 // see FramesAttached
	documentsLoaded atomic.Int64 // see DocumentsLoaded

	Title   Title            // of the top document, when it was last read
	Changes notify.Broadcast // of the state of the tab, also of the parts that the tree does not track

	mu    sync.Mutex // guards state
	state State
}

// A State is the state of a locked [Tree]. It and its frames may be used until [State.Unlock]. Each
// event is handled under one lock, so no other code sees a part of its changes.
type State struct {
	tree *Tree

	frames             map[cdp.FrameID]*Frame
	scriptedWorlds     map[string]bool // isolated worlds, by CDP's unique id, that have the page scripts
	pendingNavigations map[cdp.FrameID]Navigation
	navigationsStarted int         // cross-document navigations of the top frame that started
	firstURL           string      // of the first navigation of the top frame
	hasLeftBlank       bool        // the top frame has had a non-blank document
	pastDocuments      []*Document // the oldest first; see rememberPastDocument
	countBeforeTop     int         // how many of pastDocuments are older than the current top document
	pastDocumentsLost  bool        // a past document since the current top document is not in pastDocuments
	lostBeforeTop      bool        // a past document from before the current top document is not in pastDocuments

	targetState
}

// An Observer follows the frames of a tab, and knows what blocks the tab. Its methods must not
// lock the tree, because most are called while it is locked; AwaitOtherTab never is.
type Observer interface {
	// FrameAdded is called when the frame around a frame is known.
	FrameAdded(id, parent cdp.FrameID)
	// FrameRemoved is called when a frame was removed.
	FrameRemoved(id cdp.FrameID)
	// OpensProgram is called when a frame starts to navigate to url, and reports whether the
	// browser passes that to another program.
	OpensProgram(id cdp.FrameID, url string) bool
	// DocumentCommitted is called after f has a new document. navigation is the pending one of the
	// frame, if it is known. restored means that the document is from the back/forward cache.
	DocumentCommitted(s *State, f *Frame, restored bool, navigation Navigation)
	// DocumentDropped is called when the document of a frame is gone, because the frame moves to
	// another process. navigation is the pending one of the frame, if it is known.
	DocumentDropped(id cdp.FrameID, navigation Navigation)
	// DocumentCreated is called when our isolated world of d is known. The returned function, if
	// any, is called without the lock.
	DocumentCreated(d *Document) (after func())
	// WorldAdded is called when a world of a frame is known.
	WorldAdded(s *State)
	// DialogError returns ErrDialogOpen if a dialog blocks the page, and nil otherwise.
	DialogError() error
	// OtherDialogError returns ErrDialogOpen if a dialog of another tab may block the page.
	OtherDialogError() error
	// AwaitOtherTab returns the error of OtherDialogError if the page does not respond.
	AwaitOtherTab(ctx context.Context) error
	// EarlyDialogURL returns the URL of the page if it is blocked by a dialog of its top document
	// that opened before the tab was attached, and "" otherwise.
	EarlyDialogURL() string
	// OwnsBlank reports whether no page can write into the first, blank document of the tab.
	OwnsBlank() bool
}

// New returns the tree of the page target of sess, of which only the top frame is known.
// installScript installs the page scripts in a world unless they are installed there.
func New(sess *cdpconn.Session, top cdp.FrameID, observer Observer, installScript string, log *slog.Logger, t timing.Timing) *Tree {
	tree := &Tree{sess: sess, topFrame: top, observer: observer, installScript: installScript, log: log, timing: t}
	tree.state = State{
		tree: tree, frames: map[cdp.FrameID]*Frame{top: {id: top, sess: sess}},
		scriptedWorlds: make(map[string]bool), pendingNavigations: make(map[cdp.FrameID]Navigation),
	}
	return tree
}

// Session returns the CDP session of the page target.
func (t *Tree) Session() *cdpconn.Session { return t.sess }

// TopFrame returns the id of the top frame.
func (t *Tree) TopFrame() cdp.FrameID { return t.topFrame }

// Log returns the logger of the tab.
func (t *Tree) Log() *slog.Logger { return t.log }

// Reports returns the receivers of what page scripts report.
func (t *Tree) Reports() *Reports { return &t.reports }

// DialogError returns ErrDialogOpen if a dialog blocks the page, and nil otherwise.
func (t *Tree) DialogError() error { return t.observer.DialogError() }

// Timing returns the durations of the tab.
func (t *Tree) Timing() *timing.Timing { return &t.timing }

// WaitIdle waits until the goroutines of the tree have returned, which happens after its CDP
// session has ended.
func (t *Tree) WaitIdle() { t.wg.Wait() }

// Lock locks the tree and returns its state. The caller must call [State.Unlock].
func (t *Tree) Lock() *State {
	t.mu.Lock()
	return &t.state
}

// Unlock unlocks the tree.
func (s *State) Unlock() { s.tree.mu.Unlock() }

// reset forgets all frames but the top one, and all current documents.
func (s *State) reset() {
	t := s.tree
	s.frames = map[cdp.FrameID]*Frame{t.topFrame: {id: t.topFrame, sess: t.sess}}
	clear(s.scriptedWorlds)
	clear(s.pendingNavigations)
}

// FramesAttached returns how many frames have ever been attached to the tab.
func (t *Tree) FramesAttached() int64 { return t.framesAttached.Load() }

// DocumentsLoaded returns how many documents the frames of the tab have loaded, without those at
// about: URLs, which belong to the documents around them.
func (t *Tree) DocumentsLoaded() int64 { return t.documentsLoaded.Load() }

// AwaitUnlessDialog is Await, but it returns ErrDialogOpen as soon as a dialog is open.
func (t *Tree) AwaitUnlessDialog(ctx context.Context, cond func(*State) (bool, error)) error {
	return t.Await(ctx, func(s *State) (bool, error) {
		if err := t.observer.DialogError(); err != nil {
			return false, err
		}
		return cond(s)
	})
}

// Await waits until cond is true. It calls cond first immediately, and then after every change. It
// returns an error if cond does, when the tab is gone, or when ctx is done. If ctx has no deadline,
// the timeout is cdpconn.DefaultCallTimeout.
func (t *Tree) Await(ctx context.Context, cond func(*State) (bool, error)) error {
	ctx, cancel := cdpconn.Bounded(ctx)
	defer cancel()
	var condErr error
	err := t.Changes.Wait(ctx, func() (done bool) {
		s := t.Lock()
		defer s.Unlock()
		if done, condErr = cond(s); !done && condErr == nil {
			condErr = s.Unusable()
		}
		return done || condErr != nil
	})
	return cmp.Or(condErr, err)
}

// Sleep sleeps for d. It returns an error early if a dialog opens or the tab is gone.
func (t *Tree) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := t.AwaitUnlessDialog(limit, func(*State) (bool, error) {
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// obstruction returns why the page does not respond to commands, or nil if it does: the tab cannot
// be used, or a dialog blocks it. changed is closed at the next change.
func (t *Tree) obstruction() (changed <-chan struct{}, err error) {
	s := t.Lock()
	defer s.Unlock()
	return t.Changes.Changed(), cmp.Or(s.Unusable(), t.observer.DialogError())
}

// Detach records that the target is not attached, for the reason err, which is nil before the first
// attachment. It forgets all that depends on the attachment.
func (s *State) Detach(err error) {
	if url := s.Top().url; url != "" {
		s.lastKnownPage.URL = url
	}
	s.isDetached, s.detachErr, s.crashed = true, err, false
	s.reset()
}

// Top returns the top frame.
func (s *State) Top() *Frame { return s.frames[s.tree.topFrame] }

// Frame returns the frame with an id, or nil if it is not known.
func (s *State) Frame(id cdp.FrameID) *Frame { return s.frames[id] }

// Frames returns the frames of the tab in no order.
func (s *State) Frames() iter.Seq[*Frame] { return maps.Values(s.frames) }

// FrameOf returns the frame that has an execution context, or nil if it is not known. ours means
// that the context is our isolated world; otherwise it is the main world.
func (s *State) FrameOf(sess *cdpconn.Session, number runtime.ExecutionContextID, ours bool) *Frame {
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

// ScriptsInstalled records that the page scripts are installed in our isolated world of f.
func (s *State) ScriptsInstalled(f *Frame) { s.scriptedWorlds[f.world.id] = true }

// FirstURL returns the URL of the first navigation of the top frame, or "" if there was none.
func (s *State) FirstURL() string { return s.firstURL }

// blankIsOurs reports whether a blank top document without an origin is the first document of the
// tab, and no page can write into it.
func (s *State) blankIsOurs() bool { return s.tree.observer.OwnsBlank() && !s.hasLeftBlank }

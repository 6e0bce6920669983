package page

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A frameTree tracks the frames of a page target, their documents and our isolated worlds in them. Its
// methods are safe for concurrent use, except for those that require mu.
//
// An event is handled with mu held, so that all that it changes changes together for code that holds
// mu. The observer's methods are called then.
type frameTree struct {
	sess     *cdpconn.Session // of the page target
	main     cdp.FrameID      // of the top frame
	observer treeObserver
	log      *slog.Logger
	timing   timing.Timing
	wg       sync.WaitGroup
	changed  notify.Broadcast           // the state of the tab has changed
	attached atomic.Int64               // frames that have ever been attached to the tab
	loaded   atomic.Int64               // documents that frames have loaded, without about: URLs, which belong to the documents around them
	title    atomic.Pointer[notedTitle] // of the top document, when it was last read; nil if it was not

	mu                 sync.Mutex // guards the fields below
	frames             map[cdp.FrameID]*frame
	pastDocuments      []*document // past documents, the oldest first; see rememberPastDocument
	pastDocumentsStart int         // how many of pastDocuments are older than the current top document
	gone               error       // why the tab is gone; nil while it exists
	crashed            bool
	shown              bool                       // the top frame has had a non-blank document
	scripts            map[string]bool            // isolated worlds, by CDP's unique id, that have the page scripts
	started            map[cdp.FrameID]navigation // pending navigations, by frame
	navigationsStarted int                        // cross-document navigations of the top frame that started
	first              string                     // first URL of the tab

	isDetached bool  // the target is not attached; lastKnown describes it
	detachErr  error // why it was detached; nil before the first attachment
	lastKnown  lastKnownPage
}

// A treeObserver follows the frames of a tab, and knows what blocks the tab. Its methods are called
// with frameTree.mu held, apart from awaitOtherTab.
type treeObserver interface {
	frameAdded(id, parent cdp.FrameID)
	frameRemoved(id cdp.FrameID)
	// documentCommitted is called after f has a new document. started is the navigation of the frame,
	// if it is known. restored means that the document is from the back/forward cache.
	documentCommitted(f *frame, restored bool, started navigation)
	// documentCreated is called when our isolated world of d is known. The returned function, if any,
	// is called without frameTree.mu.
	documentCreated(d *document) (after func())
	// worldAdded is called when a world of a frame is known.
	worldAdded()
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
func newFrameTree(sess *cdpconn.Session, top cdp.FrameID, observer treeObserver, log *slog.Logger, t timing.Timing) *frameTree {
	return &frameTree{
		sess: sess, main: top, observer: observer, log: log, timing: t,
		frames:  map[cdp.FrameID]*frame{top: {id: top, sess: sess}},
		scripts: make(map[string]bool), started: make(map[cdp.FrameID]navigation),
	}
}

// reset forgets all frames but the top one, and all documents. t.mu must be held.
func (t *frameTree) reset() {
	t.frames = map[cdp.FrameID]*frame{t.main: {id: t.main, sess: t.sess}}
	clear(t.scripts)
	clear(t.started)
}

// awaitUnblocked is await, but it returns ErrDialogOpen as soon as a dialog is open.
func (t *frameTree) awaitUnblocked(ctx context.Context, cond func() (bool, error)) error {
	return t.await(ctx, func() (bool, error) {
		if err := t.observer.blocked(); err != nil {
			return false, err
		}
		return cond()
	})
}

// await waits until cond is true. It calls cond with t.mu held, first immediately and then after
// every change. It returns an error if cond does, when the tab is gone, or when ctx is done. If ctx
// has no deadline, the timeout is cdpconn.DefaultCallTimeout.
func (t *frameTree) await(ctx context.Context, cond func() (bool, error)) error {
	ctx, cancel := cdpconn.Bounded(ctx)
	defer cancel()
	var failed error
	err := t.changed.Wait(ctx, func() (done bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if done, failed = cond(); !done && failed == nil {
			failed = t.goneError()
		}
		return done || failed != nil
	})
	return cmp.Or(failed, err)
}

// goneError returns why the tab can no longer be used, or nil. t.mu must be held.
func (t *frameTree) goneError() error {
	switch {
	case t.gone != nil:
		return t.gone
	case t.isDetached && t.detachErr != nil:
		return t.detachErr
	case t.crashed:
		return executor.Errorf(executor.ErrTargetGone, "Reload the tab, or open another.", "the page crashed")
	}
	return nil
}

// blankIsOurs reports whether a blank top document without an origin is the first document of the
// tab, and no page can write into it. t.mu must be held.
func (t *frameTree) blankIsOurs() bool { return t.observer.ownsBlank() && !t.shown }

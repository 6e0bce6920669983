package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
)

// A Tab is the treeObserver of its frameTree.

func (t *Tab) frameAdded(id, parent cdp.FrameID) { t.entered.frameAttached(id, parent) }

func (t *Tab) frameRemoved(id cdp.FrameID) {
	t.inflight.forget(id)
	t.entered.frameDetached(id)
}

func (t *Tab) documentCommitted(s *State, f *frame, restored bool, started navigation) {
	t.recordArrival(s, f, restored, started)
	t.inflight.forget(f.id, f.loader, started.loader)
	if f.id == t.main {
		t.inflight.forget("", f.loader)
		t.responses.committed(f.loader)
	}
}

// recordArrival records how the new document of f came there, for what the user entered in earlier
// ones.
func (t *Tab) recordArrival(s *State, f *frame, restored bool, started navigation) {
	how, top := arrivalNew, f.id == t.main
	known := started.loader != "" && started.loader == f.loader
	switch {
	case restored:
		how = arrivalRestored
	case known && started.again, !known && top:
		how = arrivalAgain
	}
	var docs []*document
	if top && how != arrivalNew {
		for _, f := range s.inOrder() {
			if d := s.documentOf(f); d != nil {
				docs = append(docs, d)
			}
		}
	}
	t.entered.arrived(how, top, docs)
}

func (t *Tab) documentDropped(id cdp.FrameID, started navigation) {
	t.inflight.forget(id, started.loader)
}

func (t *Tab) documentCreated(d *document) (after func()) {
	t.entered.created(d)
	t.watchNewDocument(d)
	return t.unblockLate(d)
}

func (t *Tab) worldAdded(s *State) { t.assignRequestFrames(s) }

func (t *Tab) blocked() error { return t.dialogs.error() }

func (t *Tab) mayBeBlocked() error { return t.dialogInOtherTab() }

func (t *Tab) awaitOtherTab(ctx context.Context) error { return t.blockedByOtherTab(ctx) }

func (t *Tab) ownsBlank() bool { return t.own.Load() && !t.opts.Scriptable }

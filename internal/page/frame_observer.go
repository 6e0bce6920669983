package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
)

// A frameObserver is the observer of the frame tree of a tab.
type frameObserver struct{ tab *Tab }

func (o frameObserver) frameAdded(id, parent cdp.FrameID) { o.tab.entered.frameAttached(id, parent) }

func (o frameObserver) frameRemoved(id cdp.FrameID) {
	o.tab.inflight.forget(id)
	o.tab.entered.frameDetached(id)
}

func (o frameObserver) documentCommitted(s *State, f *frame, restored bool, started navigation) {
	t := o.tab
	t.recordArrival(s, f, restored, started)
	t.inflight.forget(f.id, f.loader, started.loader)
	if f == s.Top() {
		t.inflight.forget("", f.loader)
		t.responses.committed(f.loader)
	}
}

// recordArrival records how the new document of f came there, for what the user entered in earlier
// ones.
func (t *Tab) recordArrival(s *State, f *frame, restored bool, started navigation) {
	how, top := arrivalNew, f == s.Top()
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

func (o frameObserver) documentDropped(id cdp.FrameID, started navigation) {
	o.tab.inflight.forget(id, started.loader)
}

func (o frameObserver) documentCreated(d *document) (after func()) {
	t := o.tab
	t.entered.created(d)
	t.watchNewDocument(d)
	return t.unblockLate(d)
}

func (o frameObserver) worldAdded(s *State) { o.tab.assignRequestFrames(s) }

func (o frameObserver) blocked() error { return o.tab.dialogs.error() }

func (o frameObserver) mayBeBlocked() error { return o.tab.dialogInOtherTab() }

func (o frameObserver) awaitOtherTab(ctx context.Context) error { return o.tab.blockedByOtherTab(ctx) }

func (o frameObserver) ownsBlank() bool { return o.tab.own.Load() && !o.tab.opts.Scriptable }

package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// A frameObserver is the observer of the frame tree of a tab.
type frameObserver struct{ tab *Tab }

func (o frameObserver) FrameAdded(id, parent cdp.FrameID) { o.tab.entered.frameAttached(id, parent) }

func (o frameObserver) FrameRemoved(id cdp.FrameID) {
	o.tab.inflight.forget(id)
	o.tab.entered.frameDetached(id)
}

func (o frameObserver) DocumentCommitted(s *frames.State, f *frames.Frame, restored bool, started frames.Navigation) {
	t := o.tab
	t.recordArrival(s, f, restored, started)
	t.inflight.forget(f.ID(), f.Loader(), started.Loader)
	if f == s.Top() {
		t.inflight.forget("", f.Loader())
		t.responses.Committed(f.Loader())
	}
}

// recordArrival records how the new document of f came there, for what the user entered in earlier
// ones.
func (t *Tab) recordArrival(s *frames.State, f *frames.Frame, restored bool, started frames.Navigation) {
	how, top := arrivalNew, f == s.Top()
	known := started.Loader != "" && started.Loader == f.Loader()
	switch {
	case restored:
		how = arrivalRestored
	case known && started.Again, !known && top:
		how = arrivalAgain
	}
	var docs []*frames.Document
	if top && how != arrivalNew {
		for _, f := range s.InOrder() {
			if d := s.Document(f); d != nil {
				docs = append(docs, d)
			}
		}
	}
	t.entered.arrived(how, top, docs)
}

func (o frameObserver) OpensProgram(id cdp.FrameID, url string) bool {
	return o.tab.recordHandover(id, url)
}

func (o frameObserver) DocumentDropped(id cdp.FrameID, started frames.Navigation) {
	o.tab.inflight.forget(id, started.Loader)
}

func (o frameObserver) DocumentCreated(d *frames.Document) (after func()) {
	t := o.tab
	t.entered.created(d)
	t.watchNewDocument(d)
	return t.shield.DocumentCreated(d)
}

func (o frameObserver) WorldAdded(s *frames.State) { o.tab.recording.WorldAdded(s) }

func (o frameObserver) Blocked() error { return o.tab.dialogs.error() }

func (o frameObserver) MayBeBlocked() error { return o.tab.dialogInOtherTab() }

func (o frameObserver) AwaitOtherTab(ctx context.Context) error { return o.tab.blockedByOtherTab(ctx) }

func (o frameObserver) OwnsBlank() bool { return o.tab.own.Load() && !o.tab.opts.Scriptable }

func (o frameObserver) EarlyDialogURL() string {
	main := o.tab.main
	if open := o.tab.dialogs.open.Load(); open != nil && open.frameOr(main) == main {
		return open.url
	}
	return ""
}

package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/internal/entered"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// A frameObserver is the observer of the frame tree of a tab.
type frameObserver struct{ tab *Tab }

func (o frameObserver) FrameAdded(id, parent cdp.FrameID) { o.tab.entered.FrameAttached(id, parent) }

func (o frameObserver) FrameRemoved(id cdp.FrameID) {
	o.tab.inflight.Forget(id)
	o.tab.entered.FrameDetached(id)
}

func (o frameObserver) DocumentCommitted(s *frames.State, f *frames.Frame, restored bool, navigation frames.Navigation) {
	t := o.tab
	o.recordArrival(s, f, restored, navigation)
	t.inflight.Forget(f.ID(), f.Loader(), navigation.Loader)
	if f == s.Top() {
		t.inflight.Forget("", f.Loader())
		t.responses.Committed(f.Loader())
	}
}

// recordArrival records how the new document of f came there, for what the user entered in earlier
// ones.
func (o frameObserver) recordArrival(s *frames.State, f *frames.Frame, restored bool, navigation frames.Navigation) {
	how, top := entered.ArrivalNew, f == s.Top()
	known := navigation.Loader != "" && navigation.Loader == f.Loader()
	switch {
	case restored:
		how = entered.ArrivalRestored
	case known && navigation.Revisit, !known && top:
		how = entered.ArrivalAgain
	}
	var docs []*frames.Document
	if top && how != entered.ArrivalNew {
		for _, f := range s.InOrder() {
			if d := s.Document(f); d != nil {
				docs = append(docs, d)
			}
		}
	}
	o.tab.entered.Arrived(how, top, docs)
}

func (o frameObserver) OpensProgram(id cdp.FrameID, url string) bool {
	return o.tab.externalNavigations.record(id, url)
}

func (o frameObserver) DocumentDropped(id cdp.FrameID, navigation frames.Navigation) {
	o.tab.inflight.Forget(id, navigation.Loader)
}

func (o frameObserver) DocumentCreated(d *frames.Document) (after func()) {
	t := o.tab
	t.entered.Created(d)
	if v := t.openerGroup.handoverView(); v != nil { // the user can use the document immediately
		t.wg.Go(func() { v.Entered.watchFields(context.Background(), t, d, true) })
	}
	return t.shield.DocumentCreated(d)
}

func (o frameObserver) WorldAdded(s *frames.State) { o.tab.Recording.WorldAdded(s) }

func (o frameObserver) DialogError() error { return o.tab.dialogs.Err() }

func (o frameObserver) OtherDialogError() error { return o.tab.dialogs.inOtherTab() }

func (o frameObserver) AwaitOtherTab(ctx context.Context) error {
	return o.tab.dialogs.awaitOtherTab(ctx)
}

func (o frameObserver) OwnsBlank() bool { return o.tab.own.Load() && !o.tab.opts.Scriptable }

func (o frameObserver) EarlyDialogURL() string {
	main := o.tab.main
	if open := o.tab.dialogs.Open(); open != nil && open.FrameOr(main) == main {
		return open.URL
	}
	return ""
}

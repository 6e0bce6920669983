package page

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// hintHandedOver is the hint of errors about a page that is handed over.
const hintHandedOver = "Wait for the answer of the user, or work in another tab."

// HandedOver reports whether the tab, or a tab of its opener group, is handed over to the user.
func (t *Tab) HandedOver() bool { return t.openerGroup.handedOver() }

// HandedOverSince reports whether the tab, or a tab of its opener group, is handed over, or was until
// after start.
func (t *Tab) HandedOverSince(start time.Time) bool {
	g := t.openerGroup
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handedOverBy != nil || g.handoverEnd.After(start)
}

// AwaitHandoverEnd waits until the tab is not handed over. Calls that use [Tab.Acquire] need not
// call it.
func (t *Tab) AwaitHandoverEnd(ctx context.Context) error {
	if t.tree.Changes.Wait(ctx, func() bool { return t.tree.Gone() != nil || !t.HandedOver() }) != nil {
		return handedOverError(ctx)
	}
	return nil
}

// handoverView returns the view that handed a tab of the group over, or nil.
func (g *openerGroup) handoverView() *View {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handedOverBy
}

// handedOver reports whether a tab of the group is handed over.
func (g *openerGroup) handedOver() bool { return g.handoverView() != nil }

// beginHandover marks the group as handed over by v. It returns false if it already was handed
// over.
func (g *openerGroup) beginHandover(v *View) bool {
	g.mu.Lock()
	free := g.handedOverBy == nil
	if free {
		g.handedOverBy, g.everHandedOver = v, true
	}
	g.mu.Unlock()
	if free && v.tab.opts.OnHandover != nil {
		v.tab.opts.OnHandover()
	}
	return free
}

// wasHandedOver reports whether a tab of the group is or was handed over.
func (g *openerGroup) wasHandedOver() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.everHandedOver
}

// endHandover marks the group as no longer handed over by v.
func (g *openerGroup) endHandover(v *View) {
	g.mu.Lock()
	if g.handedOverBy == v {
		g.handedOverBy, g.handoverEnd = nil, time.Now()
	}
	g.mu.Unlock()
	g.notifyMembers()
	if v.tab.opts.OnHandover != nil {
		v.tab.opts.OnHandover()
	}
}

// acceptInput sets whether input of the user reaches the tabs of the group.
func (g *openerGroup) acceptInput(accepted bool) {
	g.userInput.accept(accepted)
	g.notifyMembers()
}

// HandOver hands the tab over to the user: see executor.Handover.
func (v *View) HandOver(ctx context.Context) (*executor.HandedOver, error) {
	t := v.tab
	d, err := v.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	if !t.openerGroup.beginHandover(v) {
		return nil, &executor.Error{Code: executor.ErrBackpressure, Retryable: true, Err: errors.New("the page is handed over to the user"), Hint: hintHandedOver}
	}
	// A CDP client may have paused the page. The beginning of the handover has released it.
	title, err := d.Title(ctx)
	if err == nil {
		err = t.openerGroup.awaitOtherCalls(ctx, t)
	}
	if err != nil {
		t.openerGroup.endHandover(v)
		return nil, err
	}
	for _, m := range t.openerGroup.members() {
		if m == t {
			m.beforeHandover.Store(&frames.LastKnownPage{URL: d.URL, Title: title})
		} else {
			m.beforeHandover.Store(nil)
		}
		m.Recording.Pause()
		m.shield.EndCall()
		m.emulation.SetHandedOver(ctx, true)
		for _, d := range m.tree.Documents() {
			v.Entered.watchFields(ctx, m, d, false)
		}
	}
	t.openerGroup.acceptInput(true)
	return &executor.HandedOver{
		Tab: v.opts.ID, URL: d.URL, Title: title, Origin: d.Origin, Visible: !t.opts.NoWindow, Gone: t.Gone(),
		Show: func(ctx context.Context) {
			if t.opts.Attach == nil { // the extension shows the tabs of the user's Chrome
				_ = t.tree.CallWithin(ctx, t.timing.Front, "Page.bringToFront", nil)
			}
		},
		End: sync.OnceFunc(v.endHandover),
	}, nil
}

// awaitOtherCalls waits for the running calls on the tabs of the group other than t.
func (g *openerGroup) awaitOtherCalls(ctx context.Context, t *Tab) error {
	ctx, cancel := context.WithTimeout(ctx, t.timing.OtherCalls)
	defer cancel()
	for _, m := range g.members() {
		if m == t {
			continue
		}
		if err := m.Queue.awaitIdle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// endHandover ends the handover that v began.
func (v *View) endHandover() {
	group := v.tab.openerGroup
	group.acceptInput(false)
	var wg sync.WaitGroup
	for _, m := range group.members() {
		wg.Go(func() { v.resume(m) })
	}
	wg.Wait()
	group.endHandover(v)
}

// resume makes a tab of the group mask what the user entered and prepares it for clients.
func (v *View) resume(t *Tab) {
	ctx, cancel := context.WithTimeout(context.Background(), t.timing.Resume)
	defer cancel()
	if t.opts.Attach != nil && t.EnsureAttached(ctx) != nil { // the connection was lost during the handover
		t.entered.SetUnknown()
	}
	docs := t.tree.Documents()
	v.Entered.maskFields(context.Background(), t, docs)
	s := t.tree.Lock() // a document that is not known, or was not when docs were listed, is not masked
	t.entered.HandoverEnded(s, docs)
	s.Unlock()
	limit, cancel := context.WithTimeout(context.Background(), t.timing.Resume)
	defer cancel()
	discardMessages(limit, t.tree)
	t.emulation.SetHandedOver(limit, false)
	t.Recording.Resume()
}

// discardMessages discards the console messages that the browser has stored. Otherwise it would
// report those of the handover to each CDP client that enables the domain later.
func discardMessages(ctx context.Context, tree *frames.Tree) {
	var wg sync.WaitGroup
	for _, s := range tree.Sessions() {
		wg.Go(func() {
			_ = s.Call(ctx, "Runtime.discardConsoleEntries", nil, nil)
			_ = s.Call(ctx, "Log.clear", nil, nil)
		})
	}
	wg.Wait()
}

// publicPage returns the URL and title that clients receive while the tab is handed over, without
// reading the page d. before is the page before the handover, if it is known. For a page that the
// user has opened, the URL is only the origin, because it may contain a code.
func publicPage(d *frames.Document, before *frames.LastKnownPage) (url, title string) {
	switch {
	case before != nil && before.URL == d.URL:
		return d.URL, before.Title
	case d.Origin == executor.OriginOpaque || d.Origin == executor.OriginInternal:
		return "about:blank", ""
	}
	return d.Origin + "/", ""
}

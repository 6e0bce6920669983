package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

const (
	// blockTime is how long deniedscripts.BlockInput blocks input in a document without a renewal.
	// blockRenewal is the time between renewals.
	blockTime    = 5 * time.Second
	blockRenewal = 2 * time.Second
)

// An inputBlocker blocks the input of one call in the documents of its tab that the call may not
// act on. Every document starts blocked, including documents that load during the call. Documents
// that the gate allows are unblocked. A tab has at most one blocker, from the first input of a call
// to the last.
type inputBlocker struct {
	v *View

	mu       sync.Mutex // guards the fields below
	sources  []string   // scripts that run in each new document
	scripts  map[*cdpconn.Session][]*cdpconn.Pending
	required []requirement   // commands that must complete before input is sent
	open     map[string]bool // isolated worlds of the documents that input may reach
	renewal  *time.Timer
	answered time.Time   // start of the last probe to which all documents have responded
	inputs   []sentInput // the input of this call, and pending input of earlier calls
	blocked  []blockedEvent
	progress string // what the call had done before, for the error
	ended    bool
	handled  bool // all input has been handled
}

// inputBlocking holds the input blocker of a tab. The zero value is ready to use. It is safe for
// concurrent use.
type inputBlocking struct {
	mu        sync.Mutex    // guards the fields below; may be held while inputBlocker.mu is acquired
	blocker   *inputBlocker // nil while no call sends input
	late      []sentInput   // input that the browser had not confirmed when its call ended
	unblocked time.Time     // when the last blocker ended
}

// current returns the blocker of the current call, or nil.
func (b *inputBlocking) current() *inputBlocker {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.blocker
}

// begin returns the blocker of the current call. If there is none, it creates one for v, which the
// caller must install.
func (b *inputBlocking) begin(v *View) (blocker *inputBlocker, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blocker != nil {
		return b.blocker, false
	}
	b.blocker = &inputBlocker{
		v: v, sources: []string{deniedscripts.AtStart(deniedscripts.BlockInput)},
		scripts: make(map[*cdpconn.Session][]*cdpconn.Pending), open: make(map[string]bool), inputs: b.late,
	}
	b.blocker.renewal = time.AfterFunc(blockRenewal, b.blocker.renew)
	return b.blocker, true
}

// end removes the blocker of the current call. late is the input that the browser has not
// confirmed.
func (b *inputBlocking) end(late []sentInput, confirmed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blocker, b.late = nil, late
	if confirmed {
		b.unblocked = time.Now()
	}
}

// endedRecently reports whether no call sends input and one did less than blockTime ago.
func (b *inputBlocking) endedRecently() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.blocker == nil && time.Since(b.unblocked) <= blockTime
}

// A sentInput is an input command.
type sentInput struct {
	*cdpconn.Pending
	sent time.Time
}

// unhandled returns the inputs that a document may still receive, so that denied documents must
// stay blocked. Chromium never confirms an input whose frame was replaced, so an input also counts as
// handled if all documents of the tab respond to a script that was sent blockTime after it.
func (b *inputBlocker) unhandled() (pending []sentInput) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range b.inputs {
		if !notify.IsClosed(i.Done()) && time.Since(i.sent) < b.v.tab.timing.PendingInput && b.answered.Sub(i.sent) < blockTime {
			pending = append(pending, i)
		}
	}
	return pending
}

// A requirement is a pending command in a document's CDP session.
type requirement struct {
	doc     *frames.Document
	pending *cdpconn.Pending
}

// wait waits for the response. After a timeout the command stays pending, because its response is
// still needed.
func (r requirement) wait(ctx context.Context) error {
	return r.doc.AwaitResponse(ctx, r.pending)
}

// lateError returns the error of input that was not sent because r got no response.
func (r requirement) lateError() error {
	what, hint := "a frame that input may not reach", "Try again when the frame has loaded, or reload the page."
	if r.doc.World != "" { // from admit
		what, hint = "the page", "Try again; if it still does not respond, reload the page."
	}
	return &executor.Error{Code: executor.ErrNotActionable, Retryable: true, Err: errors.New(what + " is loading or does not respond, so the input was not sent"), Hint: hint}
}

// block starts to block input in every document of the tab that v may not act on, and returns the
// tab's blocker. If a blocker is already installed, block only returns it. It does not wait for the
// browser, but startInput does.
func (v *View) block(ctx context.Context) *inputBlocker {
	t := v.tab
	b, isNew := t.blocking.begin(v)
	if !isNew {
		return b
	}
	for _, s := range t.tree.Sessions() {
		b.install(ctx, s)
	}
	for _, d := range t.tree.Documents() {
		if v.mayReach(ctx, d) {
			b.admit(ctx, d)
		}
	}
	b.require(ctx)
	return b
}

// mayReach reports whether the gate lets input reach d. It also checks documents that are not the
// target of the input, so it records no decision.
func (v *View) mayReach(ctx context.Context, d *frames.Document) bool {
	ctx = executor.WithCallOptions(ctx, executor.CallOptions{OnDecision: func(executor.Decision) {}})
	return v.client.Check(ctx, d, executor.OpList, "") == nil && v.client.Check(ctx, d, executor.OpAct, "") == nil
}

// install blocks input in all current and future documents of a CDP session.
func (b *inputBlocker) install(ctx context.Context, s *cdpconn.Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || len(b.scripts[s]) == len(b.sources) {
		return
	}
	if b.scripts[s] == nil {
		// A frame that moves to its own process waits until input is blocked in it.
		b.v.tab.frameAttacher.pause(ctx, s)
	}
	for _, source := range b.sources[len(b.scripts[s]):] {
		p, err := s.Start(ctx, cdppage.CommandAddScriptToEvaluateOnNewDocument, map[string]any{
			"source": source, "worldName": frames.WorldName, "runImmediately": true,
		})
		if err != nil {
			if b.scripts[s] == nil {
				b.v.tab.frameAttacher.resume(ctx, s)
			}
			return
		}
		b.scripts[s] = append(b.scripts[s], p)
	}
}

// admit lets input reach d, which may be acted on.
func (b *inputBlocker) admit(ctx context.Context, d *frames.Document) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.open[d.World] {
		return
	}
	b.open[d.World] = true
	if p, err := d.StartFunction(ctx, frames.FunctionCall{Function: deniedscripts.UnblockInput}); err == nil && d.Session == b.v.tab.sess {
		b.required = append(b.required, requirement{d, p})
	}
}

// admit lets the input of the current call reach d, which may be acted on.
func (t *Tab) admit(ctx context.Context, d *frames.Document) {
	if b := t.blocking.current(); b != nil {
		b.admit(ctx, d)
	}
}

// require records which CDP sessions must respond before input is sent: those with a blocked
// document. Other sessions may hang.
func (b *inputBlocker) require(ctx context.Context) {
	t := b.v.tab
	anything := b.v.mayReach(ctx, t.tree.UnknownDocument(""))
	s := t.tree.Lock()
	defer s.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	done := make(map[*cdpconn.Session]bool)
	for f := range s.Frames() {
		scripts := b.scripts[f.Session()]
		if scripts == nil || done[f.Session()] || (f.World() == "" && anything) || b.open[f.World()] {
			continue
		}
		done[f.Session()] = true
		b.required = append(b.required, requirement{t.tree.UnknownDocument(f.ID()), scripts[len(scripts)-1]})
	}
}

// ready waits until input is blocked in all required CDP sessions.
func (b *inputBlocker) ready(ctx context.Context) error {
	b.mu.Lock()
	required := b.required
	b.required = nil
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(parentContext(ctx), b.v.tab.timing.Block)
	defer cancel()
	for _, r := range required {
		err := r.wait(ctx)
		if err == nil || errors.Is(err, frames.ErrDocumentGone) {
			continue // a removed frame receives no input
		}
		b.mu.Lock()
		b.required = append(b.required, required...)
		b.mu.Unlock()
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, executor.ErrTimeout) {
			return r.lateError()
		}
		return err
	}
	return nil
}

// renew keeps input blocked in denied documents until all input has been handled: a document that
// handles input late must still block it. It stops when the next blocker starts, which takes over
// the pending input.
func (b *inputBlocker) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), blockRenewal)
	defer cancel()
	t := b.v.tab
	next := t.blocking.current()
	if (next == nil || next == b) && !t.isGone() && b.probe(ctx) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.handled {
			b.renewal.Reset(blockRenewal)
		}
	}
}

// probe runs a script in all documents and waits for the responses. The script blocks denied
// documents for another blockTime and, after the end of the call, unblocks documents that v may act
// on and that loaded since. probe returns false if all input has been handled.
func (b *inputBlocker) probe(ctx context.Context) bool {
	docs, start := b.v.tab.tree.Documents(), time.Now()
	reachable := make([]bool, len(docs))
	for i, d := range docs {
		reachable[i] = b.v.mayReach(ctx, d)
	}
	var sent []requirement
	b.mu.Lock()
	if b.handled {
		b.mu.Unlock()
		return false
	}
	for i, d := range docs {
		script := deniedscripts.BlockInput
		if b.open[d.World] || b.ended && reachable[i] {
			script = deniedscripts.UnblockInput
		}
		if p, err := d.StartFunction(ctx, frames.FunctionCall{Function: script}); err == nil {
			sent = append(sent, requirement{d, p})
		}
	}
	b.mu.Unlock()
	for _, r := range sent {
		if err := r.wait(ctx); err != nil && !errors.Is(err, frames.ErrDocumentGone) {
			return true
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if start.After(b.answered) {
		b.answered = start
	}
	return true
}

// stopRenewal stops the renewal. It is called when all input has been handled.
func (b *inputBlocker) stopRenewal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handled = true
	b.renewal.Stop()
}

// lock prevents input from scrolling the current and future blocked documents. The browser chooses
// the document that it scrolls only after the page has handled the input. lock waits until the
// current documents have been drawn.
func (b *inputBlocker) lock(ctx context.Context) {
	t := b.v.tab
	b.mu.Lock()
	if len(b.sources) == 1 {
		b.sources = append(b.sources, deniedscripts.AtStart(deniedscripts.LockScrolling))
	}
	b.mu.Unlock()
	for _, s := range t.tree.Sessions() {
		b.install(ctx, s)
	}
	b.require(ctx)
	b.waitLocked(ctx)
}

// waitLocked prevents scrolling in the blocked documents and waits until they have been drawn.
func (b *inputBlocker) waitLocked(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.v.tab.timing.InputEnd)
	defer cancel()
	for _, r := range runAll(ctx, b.blockedDocuments(), deniedscripts.LockScrolling, true) {
		_ = r.doc.Wait(ctx, r.pending, nil)
	}
}

// blockedDocuments returns the known documents in which input is blocked.
func (b *inputBlocker) blockedDocuments() (list []*frames.Document) {
	all := b.v.tab.tree.Documents()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range all {
		if !b.open[d.World] {
			list = append(list, d)
		}
	}
	return list
}

// startInput waits until input is blocked in denied documents and sends input. It does not wait for
// the response. All input must use it. It returns ErrPolicyDenied, and sends nothing, if the page has
// become an error page of the browser since the call was checked.
func (v *View) startInput(ctx context.Context, method string, params any) (*cdpconn.Pending, error) {
	if err := v.errorPageDenial(params); err != nil {
		return nil, err
	}
	b := v.block(ctx)
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	if e, ok := params.(mouseEvent); ok && e.Button == executor.ButtonMiddle {
		v.blockPaste(ctx)
	}
	p, err := v.tab.sess.Start(ctx, method, params)
	if err == nil {
		b.mu.Lock()
		b.inputs = append(b.inputs, sentInput{p, time.Now()})
		b.mu.Unlock()
	}
	return p, err
}

// setProgress records the progress of the call for the error of unblock.
func (b *inputBlocker) setProgress(progress string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress = progress
}

// A blockedEvent is the first event that was blocked in a document.
type blockedEvent struct {
	doc  *frames.Document // nil if it is not known
	kind string
}

// recordBlocked records that an event was blocked in d, which is nil if the document is not known.
func (b *inputBlocker) recordBlocked(d *frames.Document, kind string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.blocked, func(e blockedEvent) bool { return e.doc == nil || d != nil && e.doc.World == d.World }) {
		b.blocked = append(b.blocked, blockedEvent{d, kind})
	}
}

// err returns ErrPolicyDenied if input was blocked in a document that it may not reach. A document that
// has just loaded also blocks input, until it is admitted.
func (b *inputBlocker) err(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // a gate that is not asked in time would deny
	b.mu.Lock()
	blocked, progress := slices.Clone(b.blocked), b.progress
	b.mu.Unlock()
	for _, e := range blocked {
		if e.doc == nil || !b.v.mayReach(ctx, e.doc) {
			return withProgress(executor.Errorf(executor.ErrPolicyDenied, "Take a snapshot to see what the page did. The page may direct input to that frame on purpose.",
				"input was blocked because a denied frame was about to receive it (%s)", e.kind), progress)
		}
	}
	return nil
}

// withProgress adds the progress of a call to its error.
func withProgress(err error, progress string) error {
	e, ok := errors.AsType[*executor.Error](err)
	if progress == "" || !ok {
		return err
	}
	c := *e
	c.Err = fmt.Errorf("%w; %s", e.Err, progress)
	return &c
}

// unblock removes the blocker of v after the browser has confirmed all sent input. Without the
// confirmation, input stays blocked until it arrives, for at most Timing.PendingInput. It returns
// ErrPolicyDenied if input was blocked in a denied document.
func (v *View) unblock(ctx context.Context) error {
	b := v.tab.blocking.current()
	if b == nil || b.v != v {
		return nil
	}
	return b.end(ctx)
}

// endInput removes the blocker at the end of a call.
func (t *Tab) endInput() {
	if b := t.blocking.current(); b != nil {
		_ = b.end(context.Background())
	}
}

// end removes the blocker, as described for View.unblock.
func (b *inputBlocker) end(ctx context.Context) error {
	t := b.v.tab
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.v.tab.timing.InputEnd)
	defer cancel()
	confirmed := true
	b.mu.Lock()
	inputs, locked := b.inputs, len(b.sources) > 1
	b.mu.Unlock()
	for _, p := range inputs {
		_ = requirement{t.tree.UnknownDocument(""), p.Pending}.wait(ctx) // it stays pending for waitHandled
		confirmed = confirmed && notify.IsClosed(p.Done())
	}
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	if !confirmed && time.Since(inputs[0].sent) > blockTime { // input of an earlier call, possibly lost
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.v.tab.timing.InputEnd)
		b.probe(ctx)
		cancel()
		confirmed = len(b.unhandled()) == 0
	}
	if confirmed {
		b.stopRenewal()
	}
	s := t.tree.Lock()
	if s.Gone() == nil { // otherwise there is nothing to uninstall, and the tab's goroutines may have ended
		t.wg.Go(func() {
			if !confirmed {
				b.waitHandled()
			}
			b.uninstall()
		})
	}
	s.Unlock()
	if confirmed && locked {
		// Documents receive wheel and touch events in their next animation frame, possibly after
		// the browser has confirmed them.
		b.waitLocked(ctx)
	}
	if confirmed {
		// A document's response arrives after its reports.
		for _, r := range runAll(ctx, b.blockedDocuments(), deniedscripts.UnblockInput, false) {
			_ = r.doc.Wait(ctx, r.pending, nil)
		}
	}
	t.blocking.end(b.unhandled(), confirmed)
	if confirmed { // documents that are new since; unblockLate unblocks documents that are reported later
		runAll(ctx, b.blockedDocuments(), deniedscripts.UnblockInput, false)
	}
	return b.err(ctx)
}

// waitHandled waits until all sent input has been handled, stops the renewal, and then unblocks all
// documents. Late input must not reach a document that loaded after the call.
func (b *inputBlocker) waitHandled() {
	t := b.v.tab
	for pending := b.unhandled(); len(pending) > 0; pending = b.unhandled() { // no input is added after the end
		select {
		case <-pending[0].Done():
		case <-t.Gone():
			return
		case <-time.After(blockRenewal / 4):
		}
	}
	b.stopRenewal()
	docs := b.blockedDocuments()
	t.blocking.mu.Lock()
	defer t.blocking.mu.Unlock()
	if t.blocking.blocker != nil { // it unblocks them
		return
	}
	t.blocking.late, t.blocking.unblocked = nil, time.Now() // unblockLate unblocks documents that are reported later
	runAll(context.Background(), docs, deniedscripts.UnblockInput, false)
}

// uninstall removes the scripts that block input in new documents.
func (b *inputBlocker) uninstall() {
	ctx, t := context.Background(), b.v.tab
	for s, scripts := range b.scripts { // no script is added after the end
		t.frameAttacher.resume(ctx, s)
		for _, p := range scripts {
			var script cdppage.AddScriptToEvaluateOnNewDocumentResult
			select {
			case <-p.Done():
			case <-s.Gone():
				continue
			case <-t.Gone():
				return
			}
			if p.Wait(ctx, &script) == nil {
				_, _ = s.Start(ctx, cdppage.CommandRemoveScriptToEvaluateOnNewDocument, map[string]any{"identifier": script.Identifier})
			}
		}
	}
}

// blockChild blocks input in a CDP session that is attached while input is sent.
func (t *Tab) blockChild(ctx context.Context, s *cdpconn.Session) {
	if b := t.blocking.current(); b != nil {
		b.install(ctx, s)
	}
}

// runAll starts a script in documents and returns the pending commands, except of documents that are
// gone.
func runAll(ctx context.Context, docs []*frames.Document, script string, await bool) (started []requirement) {
	for _, d := range docs {
		if p, err := d.StartFunction(ctx, frames.FunctionCall{Function: script, Await: await}); err == nil {
			started = append(started, requirement{d, p})
		}
	}
	return started
}

// unblockLate unblocks a document that loaded while a call sent input, but was reported only after
// the call. The returned function, if any, must be called without the lock of the tree.
func (t *Tab) unblockLate(d *frames.Document) (after func()) {
	if !t.blocking.endedRecently() {
		return nil
	}
	return func() {
		_, _ = d.StartFunction(context.Background(), frames.FunctionCall{Function: deniedscripts.UnblockInput})
	}
}

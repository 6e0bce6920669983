package shield

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
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

const (
	// BlockTime is how long deniedscripts.BlockInput blocks input in a document without a renewal.
	// blockRenewal is the time between renewals.
	BlockTime    = 5 * time.Second
	blockRenewal = 2 * time.Second
)

// A Blocker blocks the input of one call in the documents of its tab that the call may not
// act on. Every document starts blocked, including documents that load during the call. Documents
// that the gate allows are unblocked. A tab has at most one blocker, from the first input of a call
// to the last. Its methods are safe for concurrent use.
type Blocker struct {
	shield *Shield
	tree   *frames.Tree
	client *frames.Client

	mu       sync.Mutex // guards the fields below; as Shield.mu, it is acquired after the lock of the tree
	sources  []string   // scripts that run in each new document
	scripts  map[*cdpconn.Session][]*cdpconn.Pending
	required []command       // those that must complete before input is sent
	open     map[string]bool // isolated worlds of the documents that input may reach
	renewal  *time.Timer
	answered time.Time   // start of the last probe to which all documents have responded
	inputs   []sentInput // the input of this call, and pending input of earlier calls
	blocked  []blockedEvent
	progress string // what the call had done before, for the error
	ended    bool
	handled  bool // all input has been handled
}

// A sentInput is an input command.
type sentInput struct {
	*cdpconn.Pending
	sent time.Time
}

// unhandled returns the inputs that a document may still receive, so that denied documents must
// stay blocked. Chromium never confirms an input whose frame was replaced, so an input also counts
// as handled if all documents of the tab respond to a script that was sent BlockTime after it.
func (b *Blocker) unhandled() (pending []sentInput) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range b.inputs {
		if !notify.IsClosed(i.Done()) && time.Since(i.sent) < b.tree.Timing().PendingInput && b.answered.Sub(i.sent) < BlockTime {
			pending = append(pending, i)
		}
	}
	return pending
}

// A command is a pending command in a document's CDP session.
type command struct {
	doc     *frames.Document
	pending *cdpconn.Pending
	admits  bool // it lets input reach the document
}

// wait waits for the response. After a timeout the command stays pending, because its response is
// still needed.
func (c command) wait(ctx context.Context) error {
	return c.doc.AwaitResponse(ctx, c.pending)
}

// lateError returns the error of input that was not sent because c, which is required, got no
// response.
func (c command) lateError() error {
	what, hint := "a frame that input may not reach", "Try again when the frame has loaded, or reload the page."
	if c.admits {
		what, hint = "the page", "Try again; if it still does not respond, reload the page."
	}
	return &executor.Error{Code: executor.ErrNotActionable, Retryable: true, Err: errors.New(what + " is loading or does not respond, so the input was not sent"), Hint: hint}
}

// MayReach reports whether the gate lets input reach d. It also checks documents that are not the
// target of the input, so it records no decision.
func MayReach(ctx context.Context, c *frames.Client, d *frames.Document) bool {
	ctx = executor.WithCallOptions(ctx, executor.CallOptions{OnDecision: func(executor.Decision) {}})
	return c.Check(ctx, d, executor.OpList, "") == nil && c.Check(ctx, d, executor.OpAct, "") == nil
}

// install blocks input in all current and future documents of a CDP session.
func (b *Blocker) install(ctx context.Context, s *cdpconn.Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || len(b.scripts[s]) == len(b.sources) {
		return
	}
	if b.scripts[s] == nil {
		// A frame that moves to its own process waits until input is blocked in it.
		b.shield.attacher.pause(ctx, s)
	}
	for _, source := range b.sources[len(b.scripts[s]):] {
		p, err := s.Start(ctx, cdppage.CommandAddScriptToEvaluateOnNewDocument, map[string]any{
			"source": source, "worldName": frames.WorldName, "runImmediately": true,
		})
		if err != nil {
			if b.scripts[s] == nil {
				b.shield.attacher.resume(ctx, s)
			}
			return
		}
		b.scripts[s] = append(b.scripts[s], p)
	}
}

// Admit lets input reach d, which may be acted on.
func (b *Blocker) Admit(ctx context.Context, d *frames.Document) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.open[d.World] {
		return
	}
	b.open[d.World] = true
	if p, err := d.StartFunction(ctx, frames.FunctionCall{Function: deniedscripts.UnblockInput}); err == nil && d.Session == b.tree.Session() {
		b.required = append(b.required, command{doc: d, pending: p, admits: true})
	}
}

// require records which CDP sessions must respond before input is sent: those with a blocked
// document. Other sessions may hang.
func (b *Blocker) require(ctx context.Context) {
	anything := MayReach(ctx, b.client, b.tree.UnknownDocument(""))
	s := b.tree.Lock()
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
		b.required = append(b.required, command{doc: b.tree.UnknownDocument(f.ID()), pending: scripts[len(scripts)-1]})
	}
}

// Ready waits until input is blocked in all required CDP sessions.
func (b *Blocker) Ready(ctx context.Context) error {
	b.mu.Lock()
	required := b.required
	b.required = nil
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(deadline.Caller(ctx), b.tree.Timing().Block)
	defer cancel()
	for _, c := range required {
		err := c.wait(ctx)
		if err == nil || errors.Is(err, frames.ErrDocumentGone) {
			continue // a removed frame receives no input
		}
		b.mu.Lock()
		b.required = append(b.required, required...)
		b.mu.Unlock()
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, executor.ErrTimeout) {
			return c.lateError()
		}
		return err
	}
	return nil
}

// renew keeps input blocked in denied documents until all input has been handled: a document that
// handles input late must still block it. It stops when the next blocker starts, which takes over
// the pending input.
func (b *Blocker) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), blockRenewal)
	defer cancel()
	next := b.shield.current()
	if (next == nil || next == b) && b.tree.Gone() == nil && b.probe(ctx) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.handled {
			b.renewal.Reset(blockRenewal)
		}
	}
}

// probe runs a script in all documents and waits for the responses. The script blocks denied
// documents for another BlockTime and, after the end of the call, unblocks documents that the
// client may act on and that loaded since. probe returns false if all input has been handled.
func (b *Blocker) probe(ctx context.Context) bool {
	docs, start := b.tree.Documents(), time.Now()
	reachable := make([]bool, len(docs))
	for i, d := range docs {
		reachable[i] = MayReach(ctx, b.client, d)
	}
	var sent []command
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
			sent = append(sent, command{doc: d, pending: p})
		}
	}
	b.mu.Unlock()
	for _, c := range sent {
		if err := c.wait(ctx); err != nil && !errors.Is(err, frames.ErrDocumentGone) {
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
func (b *Blocker) stopRenewal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handled = true
	b.renewal.Stop()
}

// PreventScrolling prevents input from scrolling the current and future blocked documents. The
// browser chooses the document that it scrolls only after the page has handled the input.
// PreventScrolling waits until the current documents have been drawn.
func (b *Blocker) PreventScrolling(ctx context.Context) {
	b.mu.Lock()
	if len(b.sources) == 1 {
		b.sources = append(b.sources, deniedscripts.AtStart(deniedscripts.LockScrolling))
	}
	b.mu.Unlock()
	for _, s := range b.tree.Sessions() {
		b.install(ctx, s)
	}
	b.require(ctx)
	b.awaitScrollLock(ctx)
}

// awaitScrollLock prevents scrolling in the blocked documents and waits until they have been drawn.
func (b *Blocker) awaitScrollLock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.tree.Timing().InputEnd)
	defer cancel()
	for _, c := range runAll(ctx, b.blockedDocuments(), deniedscripts.LockScrolling, true) {
		_ = c.doc.Wait(ctx, c.pending, nil)
	}
}

// blockedDocuments returns the known documents in which input is blocked.
func (b *Blocker) blockedDocuments() (list []*frames.Document) {
	all := b.tree.Documents()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range all {
		if !b.open[d.World] {
			list = append(list, d)
		}
	}
	return list
}

// Send waits until input is blocked in denied documents and sends input. It does not wait for the
// response.
func (b *Blocker) Send(ctx context.Context, method string, params any) (*cdpconn.Pending, error) {
	if err := b.Ready(ctx); err != nil {
		return nil, err
	}
	p, err := b.tree.Session().Start(ctx, method, params)
	if err == nil {
		b.mu.Lock()
		b.inputs = append(b.inputs, sentInput{p, time.Now()})
		b.mu.Unlock()
	}
	return p, err
}

// SetProgress records the progress of the call for the errors of End and Err.
func (b *Blocker) SetProgress(progress string) {
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
func (b *Blocker) recordBlocked(d *frames.Document, kind string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.blocked, func(e blockedEvent) bool { return e.doc == nil || d != nil && e.doc.World == d.World }) {
		b.blocked = append(b.blocked, blockedEvent{d, kind})
	}
}

// Err returns ErrPolicyDenied if input was blocked in a document that it may not reach. A document
// that has just loaded also blocks input, until it is admitted.
func (b *Blocker) Err(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // a gate whose context has expired would deny
	b.mu.Lock()
	blocked, progress := slices.Clone(b.blocked), b.progress
	b.mu.Unlock()
	for _, e := range blocked {
		if e.doc == nil || !MayReach(ctx, b.client, e.doc) {
			frame := "a denied frame"
			if e.doc == nil {
				frame = "a frame whose site is not known"
			}
			return WithProgress(executor.Errorf(executor.ErrPolicyDenied, "Take a snapshot to see what the page did. The page may direct input to that frame on purpose.",
				"input was blocked because %s was about to receive it (%s)", frame, e.kind), progress)
		}
	}
	return nil
}

// WithProgress adds the progress of a call to its error. The error is not retryable: the same call
// would do again what is done.
func WithProgress(err error, progress string) error {
	e, ok := errors.AsType[*executor.Error](err)
	if progress == "" || !ok {
		return err
	}
	c := *e
	c.Err, c.Retryable = fmt.Errorf("%w; %s", e.Err, progress), false
	return &c
}

// End removes the blocker, as described for [Shield.Unblock].
func (b *Blocker) End(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.tree.Timing().InputEnd)
	defer cancel()
	confirmed := true
	b.mu.Lock()
	inputs, locked := b.inputs, len(b.sources) > 1
	b.mu.Unlock()
	for _, p := range inputs {
		_ = command{doc: b.tree.UnknownDocument(""), pending: p.Pending}.wait(ctx) // it stays pending for waitHandled
		confirmed = confirmed && notify.IsClosed(p.Done())
	}
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	if !confirmed && time.Since(inputs[0].sent) > BlockTime { // input of an earlier call, possibly lost
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.tree.Timing().InputEnd)
		b.probe(ctx)
		cancel()
		confirmed = len(b.unhandled()) == 0
	}
	if confirmed {
		b.stopRenewal()
	}
	s := b.tree.Lock()
	if s.Gone() == nil { // otherwise there is nothing to uninstall, and the tab's goroutines may have ended
		b.shield.wg.Go(func() {
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
		b.awaitScrollLock(ctx)
	}
	if confirmed {
		// A document's response arrives after its reports.
		for _, c := range runAll(ctx, b.blockedDocuments(), deniedscripts.UnblockInput, false) {
			_ = c.doc.Wait(ctx, c.pending, nil)
		}
	}
	b.shield.end(b.unhandled(), confirmed)
	if confirmed { // documents that are new since; DocumentCreated unblocks documents that are reported later
		runAll(ctx, b.blockedDocuments(), deniedscripts.UnblockInput, false)
	}
	return b.Err(ctx)
}

// waitHandled waits until all sent input has been handled, stops the renewal, and then unblocks all
// documents. Late input must not reach a document that loaded after the call.
func (b *Blocker) waitHandled() {
	for pending := b.unhandled(); len(pending) > 0; pending = b.unhandled() { // no input is added after the end
		select {
		case <-pending[0].Done():
		case <-b.tree.Session().Gone():
			return
		case <-time.After(blockRenewal / 4):
		}
	}
	b.stopRenewal()
	docs := b.blockedDocuments()
	b.shield.mu.Lock()
	defer b.shield.mu.Unlock()
	if b.shield.blocker != nil { // it unblocks them
		return
	}
	b.shield.late, b.shield.unblocked = nil, time.Now() // DocumentCreated unblocks documents that are reported later
	runAll(context.Background(), docs, deniedscripts.UnblockInput, false)
}

// uninstall removes the scripts that block input in new documents.
func (b *Blocker) uninstall() {
	ctx := context.Background()
	for s, scripts := range b.scripts { // no script is added after the end
		b.shield.attacher.resume(ctx, s)
		for _, p := range scripts {
			var script cdppage.AddScriptToEvaluateOnNewDocumentResult
			select {
			case <-p.Done():
			case <-s.Gone():
				continue
			case <-b.tree.Session().Gone():
				return
			}
			if p.Wait(ctx, &script) == nil {
				_, _ = s.Start(ctx, cdppage.CommandRemoveScriptToEvaluateOnNewDocument, map[string]any{"identifier": script.Identifier})
			}
		}
	}
}

// runAll starts a script in documents and returns the pending commands, except of documents that
// are gone.
func runAll(ctx context.Context, docs []*frames.Document, script string, await bool) (started []command) {
	for _, d := range docs {
		if p, err := d.StartFunction(ctx, frames.FunctionCall{Function: script, Await: await}); err == nil {
			started = append(started, command{doc: d, pending: p})
		}
	}
	return started
}

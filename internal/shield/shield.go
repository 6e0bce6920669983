// Package shield prevents input from reaching documents that a client may not act on, and
// screenshots from showing those that it may not read.
package shield

import (
	"context"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// A Shield blocks the input of a tab in the documents that the client may not act on. Its methods
// are safe for concurrent use.
type Shield struct {
	tree     *frames.Tree
	attacher frameAttacher
	wg       sync.WaitGroup

	// mu guards the fields below. It may be acquired while the frame tree is locked, and held while
	// Blocker.mu is acquired. The tree must not be locked while it is held.
	mu        sync.Mutex
	blocker   *Blocker    // nil while no call sends input
	late      []sentInput // input that the browser had not confirmed when its call ended
	unblocked time.Time   // when the last blocker ended
}

// New returns the Shield of a tab.
func New(tree *frames.Tree) *Shield { return &Shield{tree: tree} }

// WaitIdle waits until the goroutines of the Shield have returned, which happens after the target
// is gone.
func (s *Shield) WaitIdle() { s.wg.Wait() }

// AttachFrames starts to attach to the out-of-process iframes of a CDP session. Input is blocked in
// them first while a call sends input.
func (s *Shield) AttachFrames(ctx context.Context, sess *cdpconn.Session) (*cdpconn.Pending, error) {
	s.attacher.mu.Lock()
	defer s.attacher.mu.Unlock()
	return s.attacher.send(ctx, sess)
}

// HasPaused reports whether the frames and workers of a CDP session ever had to wait for us.
// Otherwise only another CDP client can have made a worker wait, and resumes it itself.
func (s *Shield) HasPaused(sess *cdpconn.Session) bool {
	s.attacher.mu.Lock()
	defer s.attacher.mu.Unlock()
	_, ok := s.attacher.pauses[sess]
	return ok
}

// Forget forgets a CDP session that has ended.
func (s *Shield) Forget(sess *cdpconn.Session) {
	s.attacher.mu.Lock()
	defer s.attacher.mu.Unlock()
	delete(s.attacher.pauses, sess)
}

// Block starts to block input in every document of the tab that c may not act on, and returns the
// tab's blocker. If a blocker is already installed, Block only returns it. It does not wait for the
// browser, but [Blocker.Ready] does.
func (s *Shield) Block(ctx context.Context, c *frames.Client) *Blocker {
	b, isNew := s.begin(c)
	if !isNew {
		return b
	}
	for _, sess := range s.tree.Sessions() {
		b.install(ctx, sess)
	}
	for _, d := range s.tree.Documents() {
		if MayReach(ctx, c, d) {
			b.Admit(ctx, d)
		}
	}
	b.require(ctx)
	return b
}

// begin returns the blocker of the current call. If there is none, it creates one for c, which the
// caller must install.
func (s *Shield) begin(c *frames.Client) (blocker *Blocker, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocker != nil {
		return s.blocker, false
	}
	s.blocker = &Blocker{
		shield: s, tree: s.tree, client: c, sources: []string{deniedscripts.AtStart(deniedscripts.BlockInput)},
		scripts: make(map[*cdpconn.Session][]*cdpconn.Pending), open: make(map[string]bool), inputs: s.late,
	}
	s.blocker.renewal = time.AfterFunc(blockRenewal, s.blocker.renew)
	return s.blocker, true
}

// current returns the blocker of the current call, or nil.
func (s *Shield) current() *Blocker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocker
}

// end removes the blocker of the current call. late is the input that the browser has not
// confirmed.
func (s *Shield) end(late []sentInput, confirmed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocker, s.late = nil, late
	if confirmed {
		s.unblocked = time.Now()
	}
}

// Admit lets the input of the current call reach d, which may be acted on.
func (s *Shield) Admit(ctx context.Context, d *frames.Document) {
	if b := s.current(); b != nil {
		b.Admit(ctx, d)
	}
}

// BlockTarget blocks input in a CDP session that is attached while input is sent.
func (s *Shield) BlockTarget(ctx context.Context, sess *cdpconn.Session) {
	if b := s.current(); b != nil {
		b.install(ctx, sess)
	}
}

// RecordBlocked records that an event was blocked in d, which is nil if the document is not known.
func (s *Shield) RecordBlocked(d *frames.Document, kind string) {
	if b := s.current(); b != nil {
		b.recordBlocked(d, kind)
	}
}

// Unblock removes the blocker of c after the browser has confirmed all sent input. Without the
// confirmation, input stays blocked until it arrives, for at most Timing.PendingInput. It returns
// ErrPolicyDenied if input was blocked in a denied document.
func (s *Shield) Unblock(ctx context.Context, c *frames.Client) error {
	b := s.current()
	if b == nil || b.client != c {
		return nil
	}
	return b.End(ctx)
}

// EndCall removes the blocker, if there is one, at the end of a call.
func (s *Shield) EndCall() {
	if b := s.current(); b != nil {
		_ = b.End(context.Background())
	}
}

// DocumentCreated unblocks a document that loaded while a call sent input, but was reported only
// after the call. The returned function, if any, must be called without the lock of the tree.
func (s *Shield) DocumentCreated(d *frames.Document) (after func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocker != nil || time.Since(s.unblocked) > BlockTime {
		return nil
	}
	return func() {
		_, _ = d.StartFunction(context.Background(), frames.FunctionCall{Function: deniedscripts.UnblockInput})
	}
}

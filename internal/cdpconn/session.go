package cdpconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// An Error is an error that the browser returned for a command. It wraps errs.ErrCDP.
type Error struct {
	Method  string
	Code    int64
	Message string
}

// Error returns the command and the browser's message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Method, e.Message) }

// Unwrap returns errs.ErrCDP.
func (e *Error) Unwrap() error { return errs.ErrCDP }

// A Command is a CDP command.
type Command struct {
	Method string
	Params any // nil if it has none
}

// A Session is a CDP session. It is attached to one target: the browser, a page, an out-of-process
// iframe or a worker. Its methods are safe for concurrent use.
type Session struct {
	conn   *Conn
	parent *Session
	id     target.SessionID
	info   *target.Info
	stream *stream // shared with the parent, unless the parent is the browser session
	client *Client // the client that the session is forwarded to, or nil
	gone   chan struct{}
	once   sync.Once // closes gone

	inOrder atomic.Bool        // replies wait for the events before them; see InOrder
	budgets map[string]*budget // by method; used only by the connection's reading goroutine

	navigations atomic.Int64 // see Navigations

	mu     sync.Mutex           // guards the fields below
	subs   map[string][]*stream // by method; see Subscribe
	reason error                // of End
}

var _ cdp.Session = (*Session)(nil)

func newSession(c *Conn, parent *Session, id target.SessionID, info *target.Info) *Session {
	s := &Session{conn: c, parent: parent, id: id, info: info, gone: make(chan struct{})}
	if parent == nil || parent.parent == nil {
		s.stream = newStream()
	} else {
		s.stream = parent.stream
		s.inOrder.Store(parent.inOrder.Load())
	}
	return s
}

// ID returns CDP's id of the session. It is empty for the browser session.
func (s *Session) ID() string { return string(s.id) }

// Target returns the target's information from the time when the session was attached. It is nil
// for the browser session.
func (s *Session) Target() *target.Info { return s.info }

// Gone returns a channel that is closed when the session is detached or the connection is closed.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Conn returns the connection that carries the session.
func (s *Session) Conn() *Conn { return s.conn }

// End ends the session and the sessions below it here, without the browser. Calls fail with reason.
func (s *Session) End(reason error) {
	s.mu.Lock()
	s.reason = reason
	s.mu.Unlock()
	s.conn.drop(s.id)
	s.markGone()
}

// EndReason returns the reason that was passed to End for the session or one above it, or nil.
func (s *Session) EndReason() error {
	for ; s != nil; s = s.parent {
		s.mu.Lock()
		reason := s.reason
		s.mu.Unlock()
		if reason != nil {
			return reason
		}
	}
	return nil
}

// Navigations returns how many navigations of frames the browser has reported to the session and to
// those below it.
func (s *Session) Navigations() int64 { return s.navigations.Load() }

// countNavigation counts a navigation for the session and those above it.
func (s *Session) countNavigation() {
	for ; s != nil; s = s.parent {
		s.navigations.Add(1)
	}
}

// isBelow reports whether a is an ancestor of s.
func (s *Session) isBelow(a *Session) bool {
	for p := s.parent; p != nil; p = p.parent {
		if p == a {
			return true
		}
	}
	return false
}

// markGone closes gone, the streams of the session's subscriptions, and the session's own stream if
// it has one. Only the first call has an effect.
func (s *Session) markGone() {
	s.once.Do(func() {
		close(s.gone)
		if s.parent == nil || s.parent.parent == nil {
			s.stream.close()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, list := range s.subs {
			for _, sub := range list {
				sub.close()
			}
		}
		s.subs = nil
	})
}

// Call sends a command, waits for its result, and decodes it into result unless result is nil. It
// returns an *Error if the browser returns an error, errs.ErrTargetGone if the session is
// detached or the connection is closed before the reply arrives, and errs.ErrTimeout if the
// deadline of ctx or DefaultCallTimeout passes.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	p, err := s.conn.send(ctx, s, method, params, false)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// Bounded returns ctx if it has a deadline, and otherwise a copy with the timeout
// DefaultCallTimeout. Waiting for a browser must be limited: a browser that was stopped by a signal
// accepts no commands, and a page in an endless loop of microtasks responds to none.
func Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultCallTimeout)
}

// Start sends a command and does not wait for its result. Commands that are started one after
// another reach the browser in that order. If the browser accepts no commands, Start waits as long
// as Call does.
func (s *Session) Start(ctx context.Context, method string, params any) (*Pending, error) {
	return s.conn.send(ctx, s, method, params, false)
}

// StartShort is like Start, for a command whose reply a page can make arbitrarily large. If the
// reply has more than MaxShortReply bytes and can be truncated inside a string, Wait returns the
// truncated reply with two additional members: cut, which is true, and threw, which reports
// whether the reply contains an exception.
func (s *Session) StartShort(ctx context.Context, method string, params any) (*Pending, error) {
	return s.conn.send(ctx, s, method, params, true)
}

// A Pending is a command that was sent. Wait returns its result.
type Pending struct {
	session *Session
	method  string
	id      int64
	delayed <-chan struct{} // closed when the command has been sent; nil if it was not delayed
	done    chan struct{}   // closed when result and err are set
	result  jsonv2.Value
	err     error
}

// finish sets the result of the command. It must be called only once.
func (p *Pending) finish(result jsonv2.Value, err error) {
	p.result, p.err = result, err
	close(p.done)
}

// Delayed returns nil, or, if DelayPopupWindows delays the command, a channel that is closed when the
// popup window's commands have been sent or the connection is closed.
func (p *Pending) Delayed() <-chan struct{} { return p.delayed }

// Done returns a channel that is closed when the result is available.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait waits for the result and decodes it into result unless result is nil. It returns the errors
// of Call.
func (p *Pending) Wait(ctx context.Context, result any) error {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.session.conn.forget(p)
		return p.session.callError(ctx, p.method)
	}
	if p.err != nil || result == nil {
		return p.err
	}
	if err := Unmarshal(p.result, result); err != nil {
		return fmt.Errorf("decoding the result of %s: %w", p.method, err)
	}
	return nil
}

// callError returns the error of a call of method that returns because ctx is done.
func (s *Session) callError(ctx context.Context, method string) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		if s.parent == nil {
			return errs.Errorf(errs.ErrTimeout, "Try again; if the browser still does not respond, ask the user to restart it.", "%w", errBrowserTimeout)
		}
		return errs.Errorf(errs.ErrTimeout, HungHint, "%w", ErrCallTimeout)
	}
	return fmt.Errorf("%s: %w", method, context.Cause(ctx))
}

// InOrder orders the replies of the session, and of sessions that later attach below it, relative
// to the events. A call returns only after Next has returned all events that the browser sent
// before the reply, and was then called again. So when a call returns, the caller of Next has
// handled all these events. The goroutine that calls Next must not wait for a call of such a
// session.
func (s *Session) InOrder() { s.inOrder.Store(true) }

// Next returns the next event of the session and of the sessions below it, in the order in which
// the browser sent them. It returns errs.ErrTargetGone after the session is gone and all events
// were read. Only one goroutine may call it, and only on the browser session or on a session
// directly below it.
func (s *Session) Next(ctx context.Context) (Event, error) {
	return s.stream.next(ctx)
}

// An Event is a protocol event.
type Event struct {
	Session *Session // the session that received it
	Method  string
	Params  jsonv2.Value
	Child   *Session // the session that Target.attachedToTarget or Target.detachedFromTarget names
	// Lost, if not 0, is the number of events of this method that were dropped. The event then has
	// no parameters.
	Lost int

	reply func() // if not nil, completes a command; the other fields are then empty
}

// Decode decodes the parameters of ev.
func Decode[E any](ev Event, _ cdp.Event[E]) (E, error) {
	var e E
	err := Unmarshal(ev.Params, &e)
	return e, err
}

// On decodes the parameters of ev and calls f with them. It drops an event that cannot be decoded.
func On[E any](ev Event, event cdp.Event[E], f func(E)) {
	if e, err := Decode(ev, event); err == nil {
		f(e)
	}
}

// withinBudget reports whether an event with parameters of n bytes is within the limit of its
// method, and subtracts it from the budget.
func (s *Session) withinBudget(method string, n int) bool {
	b := s.budgets[method]
	if b == nil {
		b = &budget{}
		if s.budgets == nil {
			s.budgets = make(map[string]*budget)
		}
		s.budgets[method] = b
	}
	return b.take(n+messageExtra, time.Now())
}

// deliver adds ev to the stream of the session and to the subscriptions to its method.
func (s *Session) deliver(ev Event) {
	s.stream.put(ev)
	if ev.Lost > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs[ev.Method] {
		sub.put(ev)
	}
}

// Subscribe implements cdp.Session. It returns a channel with the parameters of the events of one
// method of this session, and a function that cancels the subscription. Unread events are buffered.
// If the buffer is full, events for which MayDrop returns true are dropped. The channel is closed
// when the subscription is canceled or the session is gone.
func (s *Session) Subscribe(method string) (<-chan jsonv2.Value, func()) {
	sub := newStream()
	out := make(chan jsonv2.Value)
	s.mu.Lock()
	select {
	case <-s.gone:
		sub.close()
	default:
		if s.subs == nil {
			s.subs = make(map[string][]*stream)
		}
		s.subs[method] = append(s.subs[method], sub)
	}
	s.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer close(out)
		for {
			ev, err := sub.next(ctx)
			if err != nil {
				return
			}
			if ev.Lost > 0 {
				continue
			}
			select {
			case out <- ev.Params:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, func() {
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.subs != nil {
			s.subs[method] = slices.DeleteFunc(s.subs[method], func(x *stream) bool { return x == sub })
		}
	}
}

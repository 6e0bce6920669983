package cdpconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// An Error is the browser's own answer that a command failed. It is an
// executor.ErrCDP.
type Error struct {
	Method  string
	Code    int64
	Message string
}

// Error returns the command and the browser's message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Method, e.Message) }

// Unwrap makes the error an executor.ErrCDP.
func (e *Error) Unwrap() error { return executor.ErrCDP }

// A Session is attached to one target: the browser, a page, a cross-origin
// frame, a worker. Its methods are safe for concurrent use.
type Session struct {
	conn   *Conn
	parent *Session
	id     target.SessionID
	info   *target.Info
	stream *stream // the parent's, unless the parent is the browser
	gone   chan struct{}
	once   sync.Once

	inOrder atomic.Bool        // replies wait for the events before them; see InOrder
	budgets map[string]*budget // by method of a log event; used only by the connection's reader

	mu   sync.Mutex // guards subs
	subs map[string][]*stream
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

// ID returns the protocol's session id, empty for the browser's.
func (s *Session) ID() string { return string(s.id) }

// Target returns what the browser told of the target when the session was
// attached; nil for the browser's own session.
func (s *Session) Target() *target.Info { return s.info }

// Gone is closed when the session was detached or the connection has ended.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Conn returns the connection that carries the session.
func (s *Session) Conn() *Conn { return s.conn }

func (s *Session) isBelow(a *Session) bool {
	for p := s.parent; p != nil; p = p.parent {
		if p == a {
			return true
		}
	}
	return false
}

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

// Call sends a command and waits for its result, which it decodes into result
// unless that is nil. It returns *Error for the browser's own error,
// executor.ErrTargetGone when the session or the connection ends meanwhile,
// executor.ErrTimeout when ctx's deadline or DefaultCallTimeout passes.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	p, err := s.conn.send(ctx, s, method, params, false)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// Bounded returns ctx with DefaultCallTimeout as its deadline, unless it has one.
// Nothing waits for a browser for ever: one that was stopped by a signal takes no
// commands, and a page that spins in microtasks answers none.
func Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultCallTimeout)
}

// Start sends a command and does not wait for its result: commands that are
// started one after another reach the browser in that order. It waits, as long as
// Call would, for a browser that takes no commands.
func (s *Session) Start(ctx context.Context, method string, params any) (*Pending, error) {
	return s.conn.send(ctx, s, method, params, false)
}

// StartShort is like Start, for a command whose response the page can make as
// large as it likes. If the response has more than MaxShortReply bytes, Wait
// stores its beginning, cut in a string, with two added members: cut, which is
// true, and threw, which reports whether the response contains an exception.
func (s *Session) StartShort(ctx context.Context, method string, params any) (*Pending, error) {
	return s.conn.send(ctx, s, method, params, true)
}

// A Pending is a command whose result has not been asked for yet.
type Pending struct {
	session *Session
	method  string
	id      int64
	done    chan struct{}
	result  jsonv2.Value
	err     error
}

func (p *Pending) finish(result jsonv2.Value, err error) {
	p.result, p.err = result, err
	close(p.done)
}

// Done is closed when the result is there.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait waits for the result as Call does.
func (p *Pending) Wait(ctx context.Context, result any) error {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.session.conn.forget(p)
		return callError(ctx, p.method)
	}
	if p.err != nil || result == nil {
		return p.err
	}
	if err := Unmarshal(p.result, result); err != nil {
		return fmt.Errorf("decoding the result of %s: %w", p.method, err)
	}
	return nil
}

func callError(ctx context.Context, method string) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return executor.Errorf(executor.ErrTimeout, HungHint, "%w", ErrCallTimeout)
	}
	return fmt.Errorf("%s: %w", method, context.Cause(ctx))
}

// InOrder makes the replies of the session, and of those that attach below it
// from then on, keep their place among the events: a call returns only after
// Next was called again for the last event that the browser sent before the
// reply. So whoever reads the events knows, when a call returns, all that the
// browser had told by then. It must not wait for a call of such a session
// between two calls of Next.
func (s *Session) InOrder() { s.inOrder.Store(true) }

// Next returns the next event of the session and of those below it, in the
// order the browser sent them. It returns executor.ErrTargetGone once the
// session is gone and every event was read. Only one goroutine may call it,
// and only on the browser's session or on one right below it.
func (s *Session) Next(ctx context.Context) (Event, error) {
	return s.stream.next(ctx)
}

// An Event is one protocol event.
type Event struct {
	Session *Session // where it came from
	Method  string
	Params  jsonv2.Value
	Child   *Session // of Target.attachedToTarget and Target.detachedFromTarget
	// Lost, if not 0, is the number of events of that method that were dropped.
	// The event then has no parameters.
	Lost int

	reply func() // instead of all of it, a reply in its place among the events
}

// Decode decodes the parameters of ev.
func Decode[E any](ev Event, _ cdp.Event[E]) (E, error) {
	var e E
	err := Unmarshal(ev.Params, &e)
	return e, err
}

// affords reports whether a log event is within its limit.
func (s *Session) affords(ev Event) bool {
	b := s.budgets[ev.Method]
	if b == nil {
		b = &budget{}
		if s.budgets == nil {
			s.budgets = make(map[string]*budget)
		}
		s.budgets[ev.Method] = b
	}
	return b.take(len(ev.Params)+logExtra, time.Now())
}

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

// Subscribe is cdp.Session's: it buffers the events of one method of this
// session alone. The channel is closed by cancel and when the session goes.
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
		list := s.subs[method]
		for i, x := range list {
			if x == sub {
				s.subs[method] = append(list[:i:i], list[i+1:]...)
				break
			}
		}
	}
}

package executor_test

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A fakeBackend is a Backend whose sessions record their calls. Its fields are set before it is
// used.
type fakeBackend struct {
	kind      executor.BackendKind
	connected atomic.Bool  // used if it is the extension backend, as are the next two
	lost      atomic.Int64 // in milliseconds since 1970
	changed   chan struct{}
	status    executor.Status
	newErr    error
	absent    error                                          // default errAbsent
	do        func(ctx context.Context, method string) error // called by each method; nil means no-op

	mu       sync.Mutex // guards the fields below
	sessions []*fakeSession
}

// errAbsent is the default error for a missing extension.
var errAbsent = executor.Errorf(executor.ErrNoBackend, "Open the Chrome that has it.", "no extension is connected")

var _ executor.ExtensionBackend = (*fakeBackend)(nil)

func (b *fakeBackend) Kind() executor.BackendKind             { return b.kind }
func (b *fakeBackend) Connected() bool                        { return b.connected.Load() }
func (b *fakeBackend) DisconnectedError() error               { return cmp.Or(b.absent, error(errAbsent)) }
func (b *fakeBackend) LastDisconnect() time.Time              { return time.UnixMilli(b.lost.Load()) }
func (b *fakeBackend) Changed() <-chan struct{}               { return b.changed }
func (b *fakeBackend) Status(context.Context) executor.Status { return b.status }
func (b *fakeBackend) Close() error                           { panic("a shared backend was closed") }

func (b *fakeBackend) NewSession(opts *executor.SessionOptions) (executor.Executor, error) {
	if b.newErr != nil {
		return nil, b.newErr
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &fakeSession{backend: b, opts: *opts}
	b.sessions = append(b.sessions, s)
	return s, nil
}

// opened returns the sessions.
func (b *fakeBackend) opened() []*fakeSession {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sessions)
}

// calls returns the names of the methods that were called on all sessions.
func (b *fakeBackend) calls() []string {
	var names []string
	for _, s := range b.opened() {
		s.mu.Lock()
		for _, c := range s.recorded {
			names = append(names, c.method)
		}
		s.mu.Unlock()
	}
	return names
}

// count returns how often a method was called.
func (b *fakeBackend) count(method string) int {
	n := 0
	for _, name := range b.calls() {
		if name == method {
			n++
		}
	}
	return n
}

// A recordedCall is a call that a session received, with its result.
type recordedCall struct {
	method string
	args   []any
	result any
	err    error
}

// A fakeSession is a session of a fakeBackend. It embeds nothing, so that a method added to the
// interface does not compile until it is added here.
type fakeSession struct {
	backend *fakeBackend
	opts    executor.SessionOptions

	mu       sync.Mutex // guards the fields below
	recorded []recordedCall
}

var _ executor.Executor = (*fakeSession)(nil)

// do records a call, calls the backend's do function, and returns a new result.
func do[T any](s *fakeSession, method string, ctx context.Context, args ...any) (T, error) {
	var result T
	switch v := reflect.ValueOf(&result).Elem(); v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	}
	var err error
	s.mu.Lock()
	i := len(s.recorded)
	s.recorded = append(s.recorded, recordedCall{method: method, args: append([]any{ctx}, args...), result: result})
	s.mu.Unlock()
	if s.backend.do != nil {
		err = s.backend.do(ctx, method)
	}
	s.mu.Lock()
	s.recorded[i].err = err
	s.mu.Unlock()
	return result, err
}

// last returns the last call.
func (s *fakeSession) last() recordedCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recorded[len(s.recorded)-1]
}

func (s *fakeSession) Status(ctx context.Context) executor.Status {
	st := s.backend.status
	st.ActiveTabID = "of the session"
	return st
}

func (s *fakeSession) Close() error {
	_, err := do[struct{}](s, "Close", context.Background())
	return err
}

func (s *fakeSession) Ready(ctx context.Context) error {
	_, err := do[struct{}](s, "Ready", ctx)
	return err
}

func (s *fakeSession) Ping(ctx context.Context) error {
	_, err := do[struct{}](s, "Ping", ctx)
	return err
}

func (s *fakeSession) Tabs(ctx context.Context) ([]executor.Tab, error) {
	return do[[]executor.Tab](s, "Tabs", ctx)
}

func (s *fakeSession) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	return do[*executor.Tab](s, "SelectTab", ctx, tab)
}

func (s *fakeSession) Page(ctx context.Context, tab executor.TabID) (executor.Page, error) {
	p, err := do[*fakePage](s, "Page", ctx, tab)
	p.session = s
	return p, err
}

func (s *fakeSession) NewPage(ctx context.Context, opts *executor.NewPageOptions) (executor.Page, *executor.Tab, error) {
	p, err := do[*fakePage](s, "NewPage", ctx, opts)
	p.session = s
	return p, new(executor.Tab), err
}

func (s *fakeSession) Navigate(ctx context.Context, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return do[*executor.Navigation](s, "Navigate", ctx, url, opts)
}

func (s *fakeSession) SaveState(ctx context.Context, name string) (*executor.StateResult, error) {
	return do[*executor.StateResult](s, "SaveState", ctx, name)
}

func (s *fakeSession) LoadState(ctx context.Context, name string) (*executor.StateResult, error) {
	return do[*executor.StateResult](s, "LoadState", ctx, name)
}

// A fakePage is a page of a fakeSession. A Manager returns the page of its session, so one method is
// enough.
type fakePage struct {
	executor.Page
	session *fakeSession
}

func (p *fakePage) Click(ctx context.Context, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	return do[*executor.Action](p.session, "Click", ctx, target, opts)
}

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// A workspace is a session of the server, as users call it, that is open, or is being opened or closed.
type workspace struct {
	key      workspaceKey
	settings Settings
	ready    chan struct{} // closed when Workspace or err is set
	Workspace
	err  error
	gone chan struct{} // closed when the workspace is closed, or was not opened

	// The fields below are guarded by Server.mu.
	info     Info
	keep     bool             // has no idle timeout
	users    clients          // recorded only for tokens
	uses     int              // requests in progress, open streams and running calls
	unused   notify.Broadcast // notified when uses becomes 0
	idle     *time.Timer      // runs while uses is 0, unless the workspace has no idle timeout
	idleAt   time.Time        // when idle fires; zero while it does not run
	ttl      *time.Timer      // nil without a limit
	closing  bool             // accepts no requests
	closeErr error            // of Workspace.Close; set before gone is closed
}

// A workspaceKey identifies a workspace. Principals do not see each other's workspaces.
type workspaceKey struct{ principal, name string }

// Info describes a workspace.
type Info struct {
	Name string `json:"name"`
	// Principal is the name of its token. It is empty for the workspaces of the operating-system
	// user.
	Principal string    `json:"principal,omitempty"`
	Started   time.Time `json:"started"`
	LastUsed  time.Time `json:"used"` // when the last request began
	// Ends is when the server closes the workspace if no further request arrives. It is zero if no
	// limit applies, as for a workspace in use without a TTL.
	Ends time.Time `json:"ends,omitzero"`
}

// FullName returns the name of the workspace for the operating-system user: SESSION@TOKEN for that of
// a token.
func (i Info) FullName() string {
	if i.Principal == "" {
		return i.Name
	}
	return i.Name + "@" + i.Principal
}

// workspaceName matches valid names of workspaces.
var workspaceName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`)

// CheckName returns ErrBadArgs unless name can be the name of a workspace.
func CheckName(name string) error {
	if !workspaceName().MatchString(name) {
		return errs.Errorf(errs.ErrBadArgs,
			"Use up to 63 letters, digits, dots, dashes and underscores, and do not begin with a dot or a dash.",
			"invalid session name %q", name)
	}
	return nil
}

// open opens a workspace, or checks that the open workspace of that name has the given settings. If
// it has others, and is not in use and was not used, another one replaces it. Concurrent calls
// for one name open it once. With keep, the workspace has no idle timeout. open reports whether it
// replaced a workspace.
func (s *Server) open(
	ctx context.Context, p *Principal, client clientID, name string, settings Settings, keep bool,
) (replaced bool, err error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	if p.hasToken() {
		if flags := p.Settings.differences(settings); len(flags) > 0 {
			return false, errs.Errorf(errs.ErrBadArgs, "Omit them.",
				"the token sets %s to other values", strings.Join(quoteSettings(flags), ", "))
		}
		settings, keep = p.Settings, false
	}
	for {
		s.mu.Lock()
		s.ended.find(workspaceKey{p.Name, name}).markNoticed(client) // no notification needed: it opens the workspace again
		ws, err := s.openLocked(ctx, p, name, settings)
		s.mu.Unlock()
		if err != nil {
			return false, err
		}
		<-ws.ready
		if ws.err != nil {
			return false, ws.err
		}
		if err := ws.settings.check(name, settings); err != nil {
			if s.replace(ctx, ws) {
				replaced = true
				continue
			}
			return false, err
		}
		s.mu.Lock()
		ws.info.LastUsed = time.Now()
		ws.keep = ws.keep || keep
		s.updateIdleTimer(ws)
		s.mu.Unlock()
		return replaced, nil
	}
}

// Open opens a workspace of the owner of a token before the first client connects.
func (s *Server) Open(ctx context.Context, p *Principal, name string) error {
	_, err := s.open(ctx, p, clientID{}, name, p.Settings, false)
	return err
}

// replace closes a workspace so that another one with other settings can replace it. It waits until
// the workspace is not in use, for at most Timing.SessionUse. It reports false, and does not close
// it if it remains in use or was used, see Workspace.HasState.
func (s *Server) replace(ctx context.Context, ws *workspace) bool {
	if ws.HasState() {
		return false
	}
	used := s.awaitUnused(ctx, ws)
	if ws.HasState() { // by the call that has just ended
		return false
	}
	inUse := false
	_, err := s.end(ws, "a client opened it with other settings", func() bool {
		inUse = ws.uses > 0 || ws.info.LastUsed != used
		return inUse
	})
	return !inUse && err == nil
}

// awaitUnused waits until a workspace is not in use, for at most Timing.SessionUse, and returns the
// time at which it was last used.
func (s *Server) awaitUnused(ctx context.Context, ws *workspace) time.Time {
	ctx, cancel := context.WithTimeout(ctx, s.limits.SessionUse)
	defer cancel()
	for {
		changed := ws.unused.Changed()
		s.mu.Lock()
		uses, used := ws.uses, ws.info.LastUsed
		s.mu.Unlock()
		if uses == 0 {
			return used
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return used
		}
	}
}

// openLocked returns the workspace of a name. If there is none, it starts to open it. If an earlier
// one is being closed, it waits for its end, until ctx is done. s.mu must be held; it is not held
// during the wait.
func (s *Server) openLocked(ctx context.Context, p *Principal, name string, settings Settings) (*workspace, error) {
	key := workspaceKey{p.Name, name}
	for {
		if s.closed {
			return nil, errStopping()
		}
		old := s.workspaces[key]
		if old == nil {
			break
		}
		if !old.closing {
			return old, nil
		}
		s.mu.Unlock()
		var err error
		select {
		case <-old.gone:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		s.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	if err := s.checkWorkspaces(p); err != nil {
		return nil, err
	}
	now := time.Now()
	ws := &workspace{
		key: key, info: Info{Name: name, Principal: p.Name, Started: now, LastUsed: now}, settings: settings,
		ready: make(chan struct{}), gone: make(chan struct{}),
	}
	s.workspaces[key] = ws
	s.ended.reopen(key)
	s.beginUse(ws)
	go func() {
		defer s.endUse(ws)
		ws.Workspace, ws.err = s.opts.Open(OpenRequest{
			Principal: p.Name, Name: name, Settings: settings, Limit: s.limit(ws),
			Close: func(reason string) error { return s.closeWorkspace(ws, reason) },
		})
		if ws.err != nil {
			s.remove(ws)
		} else {
			s.log.Info("session opened", "session", name, "principal", p.Name)
			s.startTTL(ws)
		}
		close(ws.ready)
	}()
	return ws, nil
}

// remove forgets a workspace that is closed, or was not opened.
func (s *Server) remove(ws *workspace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.workspaces, ws.key)
	close(ws.gone)
}

// checkWorkspaces returns an error if no more workspaces may be open. A workspace counts until it is
// closed, because its browser context exists until then. s.mu must be held.
func (s *Server) checkWorkspaces(p *Principal) error {
	own, closing := 0, 0
	for key, ws := range s.workspaces {
		if key.principal == p.Name {
			own++
			if ws.closing {
				closing++
			}
		}
	}
	limit := cmp.Or(p.MaxSessions, defaultPrincipalSessions)
	switch {
	case own >= limit && closing > 0:
		err := errs.Errorf(errs.ErrBackpressure, "Try again in a few seconds.",
			"%s, the maximum for this token; %s", openSessions(own), phrase.Count(closing, "of them is being closed", "of them are being closed"))
		err.Retryable = true
		return err
	case own >= limit:
		return errs.Errorf(errs.ErrBackpressure, "Close a session that is no longer needed.",
			"%s, the maximum for this token", openSessions(own))
	case len(s.workspaces) >= s.opts.MaxSessions:
		err := errs.Errorf(errs.ErrBackpressure, "Try again later.",
			"%s, the maximum of the server", openSessions(s.opts.MaxSessions))
		err.Retryable = true
		return err
	case !s.openings.allow(p):
		err := errs.Errorf(errs.ErrBackpressure, "Use an open session, or try again in a few seconds.",
			"the token has opened too many sessions; it can open %d a minute", openingsPerMinute)
		err.Retryable = true
		return err
	}
	return nil
}

// openSessions returns how many sessions are open, as the beginning of a sentence.
func openSessions(n int) string { return phrase.Count(n, "session is open", "sessions are open") }

// A workspaceUse is whether a request opens its workspace. Only workspaces of tokens are opened by requests.
type workspaceUse int

const (
	mustBeOpen       workspaceUse = iota // fails if the workspace is not open
	opensUnlessEnded                     // opens it; the first call of each client after its end reports the end instead
	alwaysOpens                          // opens it
	newClient                            // opens it; the client does not know an earlier workspace of this name
)

// use returns the workspace that a request of a client names, and marks it as used until the caller
// calls release. ctx is that of the request. A request does not find the workspaces of other
// principals.
func (s *Server) use(
	ctx context.Context, client clientID, name string, use workspaceUse,
) (ws *workspace, release func(), err error) {
	p := principalOf(ctx)
	key := workspaceKey{p.Name, name}
	s.mu.Lock()
	ws = s.workspaces[key]
	if ws != nil && ws.closing {
		ws = nil
	}
	opens := p.hasToken() && use != mustBeOpen && CheckName(name) == nil
	expectsOpen := use == mustBeOpen || use == opensUnlessEnded // the client may rely on an earlier workspace, so it learns about its end
	end := s.ended.find(key)
	ownEnd := expectsOpen && end.mustNotice(client) // of a workspace that the client used
	if ownEnd || use == newClient {
		end.markNoticed(client)
	}
	unnoticedEnd := end != nil && !end.noticed && use == opensUnlessEnded
	switch {
	case ownEnd:
		err = errEnded(name, end.reason, opens || ws != nil)
	case ws != nil:
	case end != nil && !opens:
		err = errEnded(name, end.reason, false)
	case unnoticedEnd:
		end.noticed = true
		err = errEnded(name, end.reason, true)
	case opens:
		ws, err = s.openLocked(ctx, p, name, p.Settings)
	default:
		err = errUnknown(name)
	}
	if err != nil {
		s.mu.Unlock()
		return nil, nil, err
	}
	if p.hasToken() && expectsOpen {
		ws.users.add(client)
	}
	ws.info.LastUsed = time.Now()
	s.beginUse(ws)
	s.mu.Unlock()
	release = sync.OnceFunc(func() { s.endUse(ws) })
	select {
	case <-ws.ready:
		err = ws.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return ws, release, nil
}

// Close closes a workspace of p. The errors of running calls give the reason. The operating-system
// user can also close those of tokens, by SESSION@TOKEN. Close returns ErrBadArgs if the workspace
// is not open.
func (s *Server) Close(p *Principal, name, reason string) error {
	ws := s.find(p, name)
	if ws == nil {
		return errUnknown(name)
	}
	return s.closeWorkspace(ws, reason)
}

// find returns a workspace of p, or nil. The operating-system user can also name those of tokens, by
// SESSION@TOKEN.
func (s *Server) find(p *Principal, name string) *workspace {
	key := workspaceKey{p.Name, name}
	if of, token, ok := strings.Cut(name, "@"); ok && p == osUser {
		key = workspaceKey{token, of} // names of workspaces have no @
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workspaces[key]
}

// closeWorkspace closes a workspace. The errors of running calls, and of the next ones of its
// clients, give the reason. It returns ErrBadArgs if the workspace is already being closed.
func (s *Server) closeWorkspace(ws *workspace, reason string) error {
	<-ws.ready
	ended, err := s.end(ws, reason, nil)
	if !ended {
		return errUnknown(ws.key.name)
	}
	return err
}

// end closes an opened workspace and remembers the reason. It does nothing if another call has
// closed the workspace or keep, which is called with s.mu held, returns true. keep may be nil.
func (s *Server) end(ws *workspace, reason string, keep func() bool) (ended bool, err error) {
	s.mu.Lock()
	if s.workspaces[ws.key] != ws || ws.closing || keep != nil && keep() {
		s.mu.Unlock()
		return false, nil
	}
	ws.closing = true
	s.ended.add(ws.key, reason, ws.users)
	for _, timer := range []*time.Timer{ws.idle, ws.ttl} {
		if timer != nil {
			timer.Stop()
		}
	}
	s.mu.Unlock()
	err = ws.Close(reason)
	ws.closeErr = err
	s.remove(ws)
	s.log.Info("session closed", "session", ws.key.name, "principal", ws.key.principal, "reason", reason, "error", err)
	return true, err
}

// closeAll closes all workspaces at the same time, and opens no more. It returns an error if some
// are not closed when ctx is done.
func (s *Server) closeAll(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	all := slices.Collect(maps.Values(s.workspaces))
	s.mu.Unlock()
	for _, ws := range all {
		go func() {
			if <-ws.ready; ws.err == nil {
				s.end(ws, "the server stopped", nil)
			}
		}()
	}
	var failed []error
	for _, ws := range all { // those that another call closes, too
		select {
		case <-ws.gone:
			failed = append(failed, ws.closeErr)
		case <-ctx.Done():
			failed = append(failed, fmt.Errorf("session %q did not close in time", ws.key.name))
		}
	}
	return errors.Join(failed...)
}

// errNoWorkspace is in the chain of the error of a request for a workspace that is not open.
var errNoWorkspace = errors.New("not found")

func errUnknown(name string) error {
	return errs.Errorf(errs.ErrBadArgs,
		"Open the session first. `Client.Sessions` and GET /v1/sessions list the open ones.",
		"session %q %w", name, errNoWorkspace)
}

// errEnded is the error of a request for a workspace that has ended. reopens reports whether the
// next call opens it again.
func errEnded(name, reason string, reopens bool) error {
	hint := "Open it again, and start over."
	if reopens {
		hint = "Its pages are closed. The next call opens it again: start over."
	}
	return errs.Errorf(errs.ErrSessionEnded, hint, "session %q ended: %s", name, reason)
}

// errStopped is in the chain of the error of a request while the server stops.
var errStopped = errors.New("the server is stopping")

func errStopping() error {
	err := errs.Errorf(errs.ErrNoBackend, "Try again later.", "%w", errStopped)
	err.Retryable = true
	return err
}

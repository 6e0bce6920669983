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
)

// A session is an open session, or one that is being opened or closed.
type session struct {
	key      sessionKey
	settings Settings
	ready    chan struct{} // closed when Session or err is set
	Session
	err  error
	gone chan struct{} // closed when the session is closed, or was not opened

	// The fields below are guarded by Server.mu.
	info     Info
	keep     bool             // has no idle timeout
	users    clients          // of a principal with settings
	uses     int              // requests in progress, open streams and running calls
	unused   notify.Broadcast // notified when uses becomes 0
	idle     *time.Timer      // runs while uses is 0, unless the session has no idle timeout
	idleAt   time.Time        // when idle fires; zero while it does not run
	ttl      *time.Timer      // nil without a limit
	closing  bool             // accepts no requests
	closeErr error            // of Session.Close; set before gone is closed
}

// A sessionKey identifies a session. Principals do not see each other's sessions.
type sessionKey struct{ principal, name string }

// Info describes a session.
type Info struct {
	Name string `json:"name"`
	// Principal is the name of its token. It is empty for the sessions of the operating-system user.
	Principal string    `json:"principal,omitempty"`
	Started   time.Time `json:"started"`
	Used      time.Time `json:"used"` // when the last request began
	// Ends is when the server closes the session if no further request arrives. It is zero if no
	// limit applies, as for a session in use without a TTL.
	Ends time.Time `json:"ends,omitzero"`
}

// sessionName matches valid names of sessions.
var sessionName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`)

// CheckName returns ErrBadArgs unless name can be the name of a session.
func CheckName(name string) error {
	if !sessionName().MatchString(name) {
		return errs.Errorf(errs.ErrBadArgs, "Use up to 63 letters, digits, dots, dashes and underscores, and do not begin with a dot or a dash.", "invalid session name %q", name)
	}
	return nil
}

// open opens a session, or checks that the open session of that name has the given settings. If it
// has others, and is not in use and has no browser, another one replaces it. Concurrent calls for
// one name open it once. With keep, the session has no idle timeout. open reports whether it replaced
// a session.
func (s *Server) open(ctx context.Context, p *Principal, client clientID, name string, settings Settings, keep bool) (replaced bool, err error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	if p.Settings != nil {
		if flags := p.Settings.differences(settings); len(flags) > 0 {
			return false, errs.Errorf(errs.ErrBadArgs, "Omit them.", "the token sets %s to other values", strings.Join(quoteSettings(flags), ", "))
		}
		settings, keep = p.Settings, false
	}
	for {
		s.mu.Lock()
		s.ended.find(sessionKey{p.Name, name}).report(client) // it knows, because it opens the session again
		ses, err := s.openLocked(ctx, p, name, settings)
		s.mu.Unlock()
		if err != nil {
			return false, err
		}
		<-ses.ready
		if ses.err != nil {
			return false, ses.err
		}
		if err := ses.settings.check(name, settings); err != nil {
			if s.replace(ctx, ses) {
				replaced = true
				continue
			}
			return false, err
		}
		if keep {
			s.mu.Lock()
			ses.keep = true
			s.updateIdleTimer(ses)
			s.mu.Unlock()
		}
		return replaced, nil
	}
}

// Open opens a session of a principal with settings before its first client connects.
func (s *Server) Open(ctx context.Context, p *Principal, name string) error {
	_, err := s.open(ctx, p, clientID{}, name, p.Settings, false)
	return err
}

// replace closes a session so that another one with other settings can replace it. It reports
// false, and does nothing, if the session is in use or has a browser.
func (s *Server) replace(ctx context.Context, ses *session) bool {
	if ses.HasBrowser() {
		return false
	}
	used := s.awaitUnused(ctx, ses)
	if ses.HasBrowser() { // the call that has just ended may have started it
		return false
	}
	inUse := false
	_, err := s.end(ses, "a client opened it with other settings", func() bool {
		inUse = ses.uses > 0 || ses.info.Used != used
		return inUse
	})
	return !inUse && err == nil
}

// awaitUnused waits until a session is not in use, for at most Timing.SessionUse, and returns when it
// was last used.
func (s *Server) awaitUnused(ctx context.Context, ses *session) time.Time {
	ctx, cancel := context.WithTimeout(ctx, s.limits.SessionUse)
	defer cancel()
	for {
		changed := ses.unused.Changed()
		s.mu.Lock()
		uses, used := ses.uses, ses.info.Used
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

// openLocked returns the session of a name. If there is none, it starts to open it. If an earlier
// one is being closed, it waits for its end, until ctx is done. s.mu must be held; it is not held
// during the wait.
func (s *Server) openLocked(ctx context.Context, p *Principal, name string, settings Settings) (*session, error) {
	key := sessionKey{p.Name, name}
	for {
		if s.closed {
			return nil, errStopping()
		}
		old := s.sessions[key]
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
	if err := s.checkSessions(p); err != nil {
		return nil, err
	}
	now := time.Now()
	ses := &session{key: key, info: Info{Name: name, Principal: p.Name, Started: now, Used: now}, settings: settings, ready: make(chan struct{}), gone: make(chan struct{})}
	s.sessions[key] = ses
	s.ended.reopen(key)
	s.beginUse(ses)
	go func() {
		defer s.endUse(ses)
		ses.Session, ses.err = s.opts.Open(OpenRequest{
			Principal: p.Name, Name: name, Settings: settings, Limit: s.limit(ses),
			Close: func(reason string) error { return s.closeSession(ses, reason) },
		})
		if ses.err != nil {
			s.remove(ses)
		} else {
			s.log.Info("session opened", "session", name, "principal", p.Name)
			s.startTTL(ses)
		}
		close(ses.ready)
	}()
	return ses, nil
}

// remove forgets a session that is closed, or was not opened.
func (s *Server) remove(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, ses.key)
	close(ses.gone)
}

// checkSessions returns an error if no more sessions may be open. A session counts until it is
// closed, because its browser context exists until then. s.mu must be held.
func (s *Server) checkSessions(p *Principal) error {
	own, closing := 0, 0
	for key, ses := range s.sessions {
		if key.principal == p.Name {
			own++
			if ses.closing {
				closing++
			}
		}
	}
	limit := cmp.Or(p.MaxSessions, defaultPrincipalSessions)
	switch {
	case own >= limit && closing > 0:
		err := errs.Errorf(errs.ErrBackpressure, "Try again in a few seconds.", "%d sessions are open, the maximum for this token; %d of them are being closed", own, closing)
		err.Retryable = true
		return err
	case own >= limit:
		return errs.Errorf(errs.ErrBackpressure, "Close a session that is no longer needed.", "%d sessions are open, the maximum for this token", own)
	case len(s.sessions) >= s.opts.MaxSessions:
		err := errs.Errorf(errs.ErrBackpressure, "Try again later.", "%d sessions are open, the maximum of the server", s.opts.MaxSessions)
		err.Retryable = true
		return err
	case !s.openings.allow(p):
		err := errs.Errorf(errs.ErrBackpressure, "Use an open session, or try again in a few seconds.", "the token has opened too many sessions; it can open %d a minute", openingsPerMinute)
		err.Retryable = true
		return err
	}
	return nil
}

// A sessionUse says whether a request opens its session, if that is a session of a principal with
// settings.
type sessionUse int

const (
	mustBeOpen       sessionUse = iota // fails if the session is not open
	opensUnlessEnded                   // opens it; the first call of each client after its end reports the end instead
	alwaysOpens                        // opens it
	newClient                          // opens it; the client does not know an earlier session of this name
)

// use returns the session that a request of a client names, and marks it as used until the caller
// calls release. ctx is that of the request. A request does not find the sessions of other
// principals.
func (s *Server) use(ctx context.Context, client clientID, name string, use sessionUse) (ses *session, release func(), err error) {
	p := principalOf(ctx)
	key := sessionKey{p.Name, name}
	s.mu.Lock()
	ses = s.sessions[key]
	if ses != nil && ses.closing {
		ses = nil
	}
	opens := p.Settings != nil && use != mustBeOpen && CheckName(name) == nil
	end := s.ended.find(key)
	if use == newClient {
		end.report(client)
	}
	calls := use == mustBeOpen || use == opensUnlessEnded
	switch {
	case calls && end.report(client):
		err = errEnded(name, end.reason, opens || ses != nil)
	case ses != nil:
	case end != nil && (!opens || use == opensUnlessEnded && !end.reported):
		end.reported = end.reported || opens
		err = errEnded(name, end.reason, opens)
	case opens:
		ses, err = s.openLocked(ctx, p, name, p.Settings)
	default:
		err = errUnknown(name)
	}
	if err != nil {
		s.mu.Unlock()
		return nil, nil, err
	}
	if p.Settings != nil && calls {
		ses.users.add(client)
	}
	ses.info.Used = time.Now()
	s.beginUse(ses)
	s.mu.Unlock()
	release = sync.OnceFunc(func() { s.endUse(ses) })
	select {
	case <-ses.ready:
		err = ses.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return ses, release, nil
}

// Close closes a session of p. The errors of running calls give the reason. The operating-system user
// can also close those of tokens, by SESSION@TOKEN. Close returns ErrBadArgs if the session is not open.
func (s *Server) Close(p *Principal, name, reason string) error {
	key := sessionKey{p.Name, name}
	if of, token, ok := strings.Cut(name, "@"); ok && p == localUser {
		key = sessionKey{token, of} // names of sessions have no @
	}
	s.mu.Lock()
	ses := s.sessions[key]
	s.mu.Unlock()
	if ses == nil {
		return errUnknown(name)
	}
	return s.closeSession(ses, reason)
}

// closeSession closes a session. The errors of running calls, and of the next ones of its clients,
// give the reason. It returns ErrBadArgs if the session is already being closed.
func (s *Server) closeSession(ses *session, reason string) error {
	<-ses.ready
	ended, err := s.end(ses, reason, nil)
	if !ended {
		return errUnknown(ses.key.name)
	}
	return err
}

// end closes an opened session and remembers the reason. It does nothing if another call has closed
// the session or keep, which is called with s.mu held, returns true. keep may be nil.
func (s *Server) end(ses *session, reason string, keep func() bool) (ended bool, err error) {
	s.mu.Lock()
	if s.sessions[ses.key] != ses || ses.closing || keep != nil && keep() {
		s.mu.Unlock()
		return false, nil
	}
	ses.closing = true
	s.ended.add(ses.key, reason, ses.users)
	for _, timer := range []*time.Timer{ses.idle, ses.ttl} {
		if timer != nil {
			timer.Stop()
		}
	}
	s.mu.Unlock()
	err = ses.Close(reason)
	ses.closeErr = err
	s.remove(ses)
	s.log.Info("session closed", "session", ses.key.name, "principal", ses.key.principal, "reason", reason, "error", err)
	return true, err
}

// closeAll closes all sessions at the same time, and opens no more. It returns an error if some are
// not closed when ctx is done.
func (s *Server) closeAll(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	all := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, ses := range all {
		go func() {
			if <-ses.ready; ses.err == nil {
				s.end(ses, "the server stopped", nil)
			}
		}()
	}
	var failed []error
	for _, ses := range all { // those that another call closes, too
		select {
		case <-ses.gone:
			failed = append(failed, ses.closeErr)
		case <-ctx.Done():
			failed = append(failed, fmt.Errorf("session %q did not close in time", ses.key.name))
		}
	}
	return errors.Join(failed...)
}

// errNoSession is in the chain of the error of a request for a session that is not open.
var errNoSession = errors.New("not found")

func errUnknown(name string) error {
	return errs.Errorf(errs.ErrBadArgs, "Open the session first. `Client.Sessions` and GET /v1/sessions list the open ones.", "session %q %w", name, errNoSession)
}

// errEnded is the error of a request for a session that has ended. reopens reports whether the next
// call opens it again.
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

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// Settings are the settings of a session: the values of each flag by which a client opened it.
type Settings map[string][]string

// A session is an open session, or one that is being opened or closed.
type session struct {
	key      sessionKey
	settings Settings
	ready    chan struct{} // closed when Session or err is set
	Session
	err error

	// The fields below are guarded by Server.mu.
	info   Info
	keep   bool        // has no idle timeout
	uses   int         // requests in progress, open streams and running calls
	idle   *time.Timer // runs while uses is 0, unless the session has no idle timeout
	idleAt time.Time   // when idle fires; zero while it does not run
	ttl    *time.Timer // nil without a limit
}

// A sessionKey identifies a session. Principals do not see each other's sessions.
type sessionKey struct{ principal, name string }

// Info describes a session.
type Info struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Used    time.Time `json:"used"` // when the last request began
	// Ends is when the server closes the session if no further request arrives. It is zero if no
	// limit applies, as for a session in use without a TTL.
	Ends time.Time `json:"ends,omitzero"`
}

// sessionName matches valid names of sessions.
var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`) })

// CheckName returns ErrBadArgs unless name can be the name of a session.
func CheckName(name string) error {
	if !sessionName().MatchString(name) {
		return errs.Errorf(errs.ErrBadArgs, "Use up to 63 letters, digits, dots, dashes and underscores, and do not begin with a dot or a dash.", "invalid session name %q", name)
	}
	return nil
}

// open opens a session, or checks that the open session of that name has the given settings.
// Concurrent calls for one name open it once. With keep, the session has no idle timeout.
func (s *Server) open(p *Principal, name string, settings Settings, keep bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if p.Settings != nil {
		if flag := p.Settings.difference(settings); flag != "" {
			return errs.Errorf(errs.ErrBadArgs, "Omit the setting.", "the token sets %s to another value", flag)
		}
		settings, keep = p.Settings, false
	}
	s.mu.Lock()
	one, err := s.openLocked(p, name, settings)
	if err == nil && keep {
		one.keep = true
		s.restIdle(one)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	<-one.ready
	if one.err != nil {
		return one.err
	}
	return one.settings.check(name, settings)
}

// openLocked returns the session of a name. If there is none, it starts to open it. s.mu must be
// held.
func (s *Server) openLocked(p *Principal, name string, settings Settings) (*session, error) {
	key := sessionKey{p.Name, name}
	if s.closed {
		return nil, errStopping()
	}
	if one := s.sessions[key]; one != nil {
		return one, nil
	}
	if err := s.checkSessions(p); err != nil {
		return nil, err
	}
	now := time.Now()
	one := &session{key: key, info: Info{Name: name, Started: now, Used: now}, settings: settings, ready: make(chan struct{})}
	s.sessions[key] = one
	s.ended.forget(key)
	s.hold(one)
	go func() {
		defer s.drop(one)
		one.Session, one.err = s.opts.Open(OpenRequest{Principal: p.Name, Name: name, Settings: settings, Limit: s.limit(one)})
		if one.err != nil {
			s.mu.Lock()
			delete(s.sessions, key)
			s.mu.Unlock()
		} else {
			s.log.Info("session opened", "session", name, "principal", p.Name)
			s.startTTL(one)
		}
		close(one.ready)
	}()
	return one, nil
}

// checkSessions returns an error if no more sessions may be open. s.mu must be held.
func (s *Server) checkSessions(p *Principal) error {
	own := 0
	for key := range s.sessions {
		if key.principal == p.Name {
			own++
		}
	}
	limit := cmp.Or(p.MaxSessions, defaultPrincipalSessions)
	switch {
	case own >= limit:
		return errs.Errorf(errs.ErrBackpressure, "Close a session that is no longer needed.", "%d sessions are open, the maximum of this client", own)
	case len(s.sessions) >= s.opts.MaxSessions:
		err := errs.Errorf(errs.ErrBackpressure, "Try again later.", "%d sessions are open, the maximum of the server", s.opts.MaxSessions)
		err.Retryable = true
		return err
	}
	return nil
}

// check returns an error that names the first difference between the settings s of the open session
// and those of a later client.
func (s Settings) check(name string, later Settings) error {
	flag := s.difference(later)
	if flag == "" {
		return nil
	}
	has := "unset"
	if values, ok := s[flag]; ok {
		has = fmt.Sprintf("%q", values)
	}
	return errs.Errorf(errs.ErrBadArgs, "Omit the setting, close the session, or use a session with another name.",
		"session %q was opened with other settings: %s is %s there, not %q", name, flag, has, later[flag])
}

// difference returns the first flag that later sets to another value than s, or "".
func (s Settings) difference(later Settings) string {
	for _, flag := range slices.Sorted(maps.Keys(later)) {
		if !slices.Equal(s[flag], later[flag]) {
			return flag
		}
	}
	return ""
}

// A demand says what a request needs of its session.
type demand int

const (
	// existing is a request that makes no sense without its session, such as one that names an MCP
	// session.
	existing demand = iota
	// continued is a call. It opens a session of a principal with settings, but if that session has
	// ended, the first call reports it: its client must know that the pages are gone.
	continued
	// fresh is the first request of a client. It opens a session of a principal with settings.
	fresh
)

// use returns the session that a request names, and marks it as used until the caller calls
// release. ctx is that of the request. A request does not find the sessions of other principals.
func (s *Server) use(ctx context.Context, name string, needs demand) (one *session, release func(), err error) {
	p := principalOf(ctx)
	key := sessionKey{p.Name, name}
	s.mu.Lock()
	one = s.sessions[key]
	if one == nil {
		opens := p.Settings != nil && needs != existing && CheckName(name) == nil
		reason, ended := s.ended.reason(key)
		switch {
		case ended && !(opens && needs == fresh):
			if opens {
				s.ended.forget(key)
			}
			err = errEnded(name, reason, opens)
		case opens:
			one, err = s.openLocked(p, name, p.Settings)
		default:
			err = errUnknown(name)
		}
	}
	if err != nil {
		s.mu.Unlock()
		return nil, nil, err
	}
	one.info.Used = time.Now()
	s.hold(one)
	s.mu.Unlock()
	release = sync.OnceFunc(func() { s.drop(one) })
	select {
	case <-one.ready:
		err = one.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return one, release, nil
}

// close closes a session of p.
func (s *Server) close(p *Principal, name string) error {
	s.mu.Lock()
	one := s.sessions[sessionKey{p.Name, name}]
	s.mu.Unlock()
	if one == nil {
		return errUnknown(name)
	}
	<-one.ready
	ended, err := s.end(one, "a client closed it", nil)
	if !ended {
		return errUnknown(name)
	}
	return err
}

// end closes an opened session and remembers the reason. It does nothing if another call has closed
// the session or keep, which is called with s.mu held, returns true. keep may be nil.
func (s *Server) end(one *session, reason string, keep func() bool) (ended bool, err error) {
	s.mu.Lock()
	if s.sessions[one.key] != one || keep != nil && keep() {
		s.mu.Unlock()
		return false, nil
	}
	delete(s.sessions, one.key)
	s.ended.add(one.key, reason)
	for _, timer := range []*time.Timer{one.idle, one.ttl} {
		if timer != nil {
			timer.Stop()
		}
	}
	s.closing.Add(1)
	s.mu.Unlock()
	defer s.closing.Done()
	err = one.Close()
	s.log.Info("session closed", "session", one.key.name, "principal", one.key.principal, "reason", reason, "error", err)
	return true, err
}

// closeAll closes all sessions at the same time, and opens no more.
func (s *Server) closeAll() error {
	s.mu.Lock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	open := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	failed := make([]error, len(open))
	var closing sync.WaitGroup
	for i, one := range open {
		closing.Go(func() {
			if <-one.ready; one.err == nil {
				_, failed[i] = s.end(one, "the server stopped", nil)
			}
		})
	}
	closing.Wait()
	s.closing.Wait() // those that another call closes
	return errors.Join(failed...)
}

// errNoSession is in the chain of the error of a request for a session that is not open.
var errNoSession = errors.New("not found")

func errUnknown(name string) error {
	return errs.Errorf(errs.ErrBadArgs, "Open the session first.", "session %q %w", name, errNoSession)
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

package server

import (
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
	info     Info
	settings Settings
	ready    chan struct{} // closed when Session or err is set
	Session
	err error
}

// Info describes a session.
type Info struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Used    time.Time `json:"used"` // when the last request began
}

// sessionName matches valid names of sessions.
var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`) })

// CheckName returns ErrBadArgs unless name can be the name of a session.
func CheckName(name string) error {
	if !sessionName().MatchString(name) {
		return errs.Errorf(errs.ErrBadArgs, "Use up to 63 letters, digits, dots, dashes and underscores.", "session %q is not a usable name", name)
	}
	return nil
}

// open opens a session, or checks that the open session of that name has the given settings.
// Concurrent calls for one name open it once.
func (s *Server) open(name string, settings Settings) error {
	if err := CheckName(name); err != nil {
		return err
	}
	s.mu.Lock()
	one := s.sessions[name]
	switch {
	case s.closed:
		s.mu.Unlock()
		return errStopping()
	case one != nil:
		s.mu.Unlock()
		<-one.ready
		if one.err != nil {
			return one.err
		}
		return one.settings.check(name, settings)
	case len(s.sessions) >= maxSessions:
		s.mu.Unlock()
		return errs.Errorf(errs.ErrBackpressure, "Close a session that is no longer needed.", "%d sessions are open", maxSessions)
	}
	now := time.Now()
	one = &session{info: Info{Name: name, Started: now, Used: now}, settings: settings, ready: make(chan struct{})}
	s.sessions[name] = one
	s.mu.Unlock()
	one.Session, one.err = s.opts.Open(name, settings)
	if one.err != nil {
		s.mu.Lock()
		delete(s.sessions, name)
		s.mu.Unlock()
	} else {
		s.log.Info("session opened", "session", name)
	}
	close(one.ready)
	return one.err
}

// check returns an error that names the first difference between the settings of the open session
// and those of a later client. Flags that the later client does not set are not compared.
func (open Settings) check(name string, later Settings) error {
	for _, flag := range slices.Sorted(maps.Keys(later)) {
		if slices.Equal(open[flag], later[flag]) {
			continue
		}
		has := "unset"
		if values, ok := open[flag]; ok {
			has = fmt.Sprintf("%q", values)
		}
		return errs.Errorf(errs.ErrBadArgs, "Omit the option, close the session, or use a session with another name.",
			"session %q was opened with other settings: %s is %s there, not %q", name, flag, has, later[flag])
	}
	return nil
}

// use returns an open session for a request.
func (s *Server) use(name string) (*session, error) {
	s.mu.Lock()
	one := s.sessions[name]
	if one != nil {
		one.info.Used = time.Now()
	}
	s.mu.Unlock()
	if one == nil {
		return nil, errUnknown(name)
	}
	<-one.ready
	return one, one.err
}

// close closes a session.
func (s *Server) close(name string) error {
	s.mu.Lock()
	one := s.sessions[name]
	s.mu.Unlock()
	if one == nil {
		return errUnknown(name)
	}
	<-one.ready
	s.mu.Lock()
	mine := s.sessions[name] == one
	if mine {
		delete(s.sessions, name)
	}
	s.mu.Unlock()
	if !mine {
		return errUnknown(name)
	}
	err := one.Close()
	s.log.Info("session closed", "session", name, "error", err)
	return err
}

// closeAll closes all sessions at the same time, and opens no more.
func (s *Server) closeAll() error {
	s.mu.Lock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	names := slices.Collect(maps.Keys(s.sessions))
	s.mu.Unlock()
	failed := make([]error, len(names))
	var closing sync.WaitGroup
	for i, name := range names {
		closing.Go(func() {
			if err := s.close(name); errs.CodeOf(err) != errs.ErrBadArgs { // otherwise another call closed it
				failed[i] = err
			}
		})
	}
	closing.Wait()
	return errors.Join(failed...)
}

func errUnknown(name string) error {
	return errs.Errorf(errs.ErrBadArgs, "Open it first.", "session %q %w", name, errNotFound)
}

func errStopping() error {
	return errs.Errorf(errs.ErrNoBackend, "Try again.", "the server is stopping")
}

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/spf13/pflag"
)

// A serverSession is a session of the server. It implements server.Session.
type serverSession struct {
	*mcp.HTTPSession
	tools    *mcp.Server
	closeAll func() error
	ended    context.Context // done when the session is being closed
	end      context.CancelFunc

	mu      sync.Mutex // guards streams.Add against Close
	streams sync.WaitGroup
}

// ServeStream implements server.Session. Each client has its own MCP session.
func (s *serverSession) ServeStream(stream io.ReadWriteCloser) error {
	s.mu.Lock()
	if s.ended.Err() != nil {
		s.mu.Unlock()
		return stream.Close()
	}
	s.streams.Add(1)
	s.mu.Unlock()
	defer s.streams.Done()
	// When the session closes, the input of the stream ends, as stdin does. The results of calls that
	// have just ended are still sent, unless the client does not read them.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := context.AfterFunc(s.ended, func() {
		if conn, ok := stream.(interface{ SetReadDeadline(time.Time) error }); ok {
			conn.SetReadDeadline(time.Unix(1, 0))
		}
		select {
		case <-ctx.Done():
		case <-time.After(mcp.DrainTimeout + cancelTimeout):
			stream.Close()
		}
	})
	defer stop()
	err := s.tools.Run(ctx, mcp.LineTransport(&sessionInput{stream, s.ended}, stream))
	if s.ended.Err() != nil {
		err = nil
	}
	return errors.Join(err, stream.Close())
}

// A sessionInput is the input of a stream. It ends when the session does.
type sessionInput struct {
	io.ReadWriteCloser
	ended context.Context
}

func (i *sessionInput) Read(p []byte) (int, error) {
	n, err := i.ReadWriteCloser.Read(p)
	if err != nil && i.ended.Err() != nil {
		err = io.EOF
	}
	return n, err
}

// Close implements server.Session.
func (s *serverSession) Close() error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	err := s.HTTPSession.Close()
	s.streams.Wait()
	return errors.Join(err, s.closeAll())
}

// A sessionOpener opens the sessions of a server.
type sessionOpener struct {
	data     string         // directory
	pool     *chromium.Pool // for sessions with a temporary profile
	profiles *profileUsers
	front    *httpFront // may be nil
	log      *slog.Logger
}

// open opens a session with the settings of its first client.
func (o *sessionOpener) open(r server.OpenRequest) (server.Session, error) {
	s, err := sessionSettings(r.Name, o.data, r.Settings)
	if usage, ok := errors.AsType[*usageError](err); ok {
		err = executor.Errorf(executor.ErrBadArgs, usage.hint, "settings of the session: %w", usage)
	}
	if err != nil {
		return nil, err
	}
	s.limit, s.pool = r.Limit, o.pool
	if r.Principal != "" {
		s.outputName += "@" + r.Principal // names of sessions have no @
	}
	user := o.profiles.user(r.Principal, r.Name)
	s.wrapBackend = user.wrap(s)
	o.front.block(s)
	rules, err := s.validPolicy()
	if err != nil {
		return nil, err
	}
	s.observe = o.front.record
	ctx := context.Background()
	tools, closeServer, err := openMCP(ctx, s, rules, o.log.With("session", r.Name, "principal", r.Principal))
	if err != nil {
		return nil, err
	}
	closeAll := func() error {
		defer user.release() // after the browser has exited
		return closeServer()
	}
	h, err := tools.OpenHTTP(ctx)
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	one := &serverSession{HTTPSession: h, tools: tools, closeAll: closeAll}
	one.ended, one.end = context.WithCancel(ctx)
	return one, nil
}

// Settings that forServer computes, because their values can come from the environment.
const (
	proxySetting   = "--proxy"
	noProxySetting = "no_proxy"
)

// forServer returns the settings that a client sends to open a session: the flags and variables
// that its user set. Paths are absolute, because the server has another working directory.
func (s *settings) forServer(flags *pflag.FlagSet) (server.Settings, error) {
	values := server.Settings{}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "data", "session", "connect", "connect-token-file", "no-server", "json", "structured", "tools", "log-level", "log-file", "proxy":
			return // those of the client, of the server, or the same for all sessions
		}
		set := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			set = list.GetSlice()
		}
		if path := f.Name == "policy" || f.Name == "audit-log" || f.Name == "browser" && strings.ContainsRune(set[0], filepath.Separator); path && err == nil {
			set[0], err = filepath.Abs(set[0])
		}
		values["--"+f.Name] = set
	})
	if s.proxy != "" {
		values[proxySetting] = []string{s.proxy}
	}
	if s.noProxy != "" {
		values[noProxySetting] = []string{s.noProxy}
	}
	return values, err
}

// sessionSettings returns the settings of a session that a client opens with values. Only the
// default session uses the default profile; others have temporary profiles unless they name one.
func sessionSettings(name, data string, values server.Settings) (*settings, error) {
	s, groups := define()
	flags := pflag.NewFlagSet("session", pflag.ContinueOnError)
	for _, g := range groups {
		flags.AddFlagSet(g.flags)
	}
	for flag, set := range values {
		if flag == noProxySetting {
			s.noProxy = strings.Join(set, ",")
			continue
		}
		for _, value := range set {
			if err := flags.Set(strings.TrimPrefix(flag, "--"), value); err != nil {
				return nil, usagef("", "%s: %s", flag, reason(err))
			}
		}
	}
	s.given = flags.Changed
	s.data = data
	if err := s.complete(); err != nil {
		return nil, err
	}
	if name != server.DefaultSession && !s.given("profile") && !s.given("cdp-endpoint") {
		s.isolated = true
	}
	if !s.given("tools") {
		s.tools = mcp.Toolsets()
	}
	if !s.given("structured") {
		s.structured = true
	}
	s.closeTimeout = terminalCloseTimeout
	s.outputName = name
	return s, nil
}

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/spf13/pflag"
)

// A serverSession is a session of the server. It implements server.Session.
type serverSession struct {
	*mcp.HTTPSession
	stack    *executorStack
	site     *siteRecorder // of a chat
	closeAll func() error
	pool     *chromium.Pool // may be nil

	principal, name string
	record          audit.Recorder // the audit log; may be nil
	desk            *handover.Desk
	ended           context.Context // done when the session is being closed
	end             context.CancelFunc

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
	// When the session closes, the input of the stream ends, as stdin does. The results of calls
	// that have just ended are still sent, unless the client does not read them.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	limits := timing.Current()
	stop := context.AfterFunc(s.ended, func() {
		if conn, ok := stream.(interface{ SetReadDeadline(time.Time) error }); ok {
			conn.SetReadDeadline(time.Unix(1, 0))
		}
		select {
		case <-ctx.Done():
		case <-time.After(limits.Drain + limits.CancelCalls):
			stream.Close()
		}
	})
	defer stop()
	err := s.HTTPSession.Run(ctx, mcp.StdioTransport(&sessionInput{stream, s.ended}, stream))
	if s.ended.Err() != nil {
		err = nil
	}
	return errors.Join(err, stream.Close())
}

// ServeDevTools implements server.Session.
func (s *serverSession) ServeDevTools(w http.ResponseWriter, r *http.Request) error {
	if s.stack.cdp == nil {
		return executor.Errorf(executor.ErrBadArgs, "Open it with --cdp-clients=multi and --unsafe-enable-eval.", "CDP clients are not enabled for the session")
	}
	s.stack.cdp.relay.ServeDevTools(w, r, "")
	return nil
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

// HasBrowser implements server.Session.
func (s *serverSession) HasBrowser() bool {
	st := s.stack.Status(s.ended)
	return st.CDPAttached || st.ActiveTabID != "" || slices.ContainsFunc(st.Browsers, func(b executor.Browser) bool { return b.Open })
}

// HandedOver implements server.Session.
func (s *serverSession) HandedOver() bool {
	return slices.ContainsFunc(s.desk.Questions(), func(q executor.HandoverQuestion) bool { return q.Principal == s.principal && q.Session == s.name })
}

// Close implements server.Session.
func (s *serverSession) Close(reason string) error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	err := s.HTTPSession.End(reason)
	s.streams.Wait()
	err = errors.Join(err, s.closeAll())
	if s.pool != nil {
		s.pool.CloseUnused(s.principal) // the session may have been the last one in its browser
	}
	if s.record != nil {
		s.record.Record(audit.Entry{Event: audit.EventClosed, Detail: reason})
	}
	return err
}

// stoppedByUser is the reason in the errors of a session that the user stopped on the dashboard.
const stoppedByUser = "the user stopped it on the dashboard"

// A sessionOpener opens the sessions of a server.
type sessionOpener struct {
	data         string                 // directory
	installation string                 // bridge.Options.Installation
	pool         *chromium.Pool         // for sessions with a temporary profile
	egress       *chromium.RemoteEgress // may be nil
	vault        *secrets.Vault         // may be nil
	profiles     *profileLeases
	usages       fileUsages
	audits       *auditLogs    // nil means that each session opens its own
	listener     *httpListener // may be nil
	board        *dashboard.Board
	dashboard    *dashboardService
	desk         *handover.Desk
	log          *slog.Logger
}

// open opens a session with the settings of its first client.
func (o *sessionOpener) open(r server.OpenRequest) (server.Session, error) {
	session, err := o.openFor(r, "")
	if err != nil {
		return nil, err
	}
	return session, nil
}

// openFor opens a session. If chatAgent is not empty, the session is that of a chat with this agent.
func (o *sessionOpener) openFor(r server.OpenRequest, chatAgent string) (*serverSession, error) {
	s, err := sessionSettings(r.Name, o.data, r.Settings)
	if err != nil {
		return nil, asBadSettings(err)
	}
	s.chatAgent, s.installation = chatAgent, o.installation
	s.limit, s.pool, s.remoteEgress, s.vault, s.auditLogs = r.Limit, o.pool, o.egress, o.vault, o.audits
	s.handover = mcp.HandoverOptions{Questions: o.desk, Session: r.Name, Principal: r.Principal, Dashboard: o.dashboard.available}
	s.dirs = sessionDirs{r.Name, r.Principal, r.Principal != "" && chatAgent == "", &o.usages}
	lease := o.profiles.lease(r.Principal, r.Name)
	s.wrapBackend = lease.wrap(s)
	s.wrapNamed = func(b executor.Backend, profile string) executor.Backend {
		return lease.newSibling().wrapProfile(b, profile)
	}
	o.listener.block(s)
	rules, err := s.validPolicy()
	if err != nil {
		return nil, asBadSettings(err)
	}
	s.watched = o.board.Open(dashboard.SessionOptions{Principal: r.Principal, Name: r.Name, Stop: func() {
		if err := r.Close(stoppedByUser); err != nil {
			o.log.Warn("stopping a session failed", "session", r.Name, "principal", r.Principal, "error", err)
		}
	}})
	var named audit.Recorder
	s.observe = func(log audit.Recorder) audit.Recorder {
		if log != nil {
			named = namedRecorder{log, r.Name, r.Principal}
		}
		return o.listener.record(named)
	}
	site := new(siteRecorder)
	if chatAgent != "" {
		record := s.observe
		s.observe = func(log audit.Recorder) audit.Recorder {
			site.next = record(log)
			return site
		}
	}
	ctx := context.Background()
	tools, stack, closeServer, err := openMCP(ctx, s, rules, o.log.With("session", r.Name, "principal", r.Principal))
	if err != nil {
		s.watched.Close()
		return nil, err
	}
	closeAll := func() error {
		defer lease.release() // after the browsers have exited
		return closeServer()
	}
	h, err := tools.OpenHTTP(ctx)
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	one := &serverSession{HTTPSession: h, stack: stack, site: site, closeAll: closeAll, pool: o.pool, desk: o.desk, principal: r.Principal, name: r.Name}
	one.ended, one.end = context.WithCancel(ctx)
	if o.audits != nil && named != nil { // the log outlives the session
		one.record = named
		named.Record(audit.Entry{Event: audit.EventOpened})
	}
	return one, nil
}

// asBadSettings returns err with the code ErrBadArgs if it is a *usageError.
func asBadSettings(err error) error {
	if usage, ok := errors.AsType[*usageError](err); ok {
		return executor.Errorf(executor.ErrBadArgs, usage.hint, "settings of the session: %w", usage)
	}
	return err
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
		case "data", "session", "connect", "connect-token-file", "unsafe-connect-http", "principal-file", "no-server", "cdp-listen", "egress-address", "idle-browser", "json", "structured", "tools", "log-level", "log-file", "config", "proxy":
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
	s.addBrowsers(values)
	return values, err
}

// checkSettings checks the names and values of settings that a client sent.
func checkSettings(values server.Settings) error {
	_, _, err := parseSettings(values)
	return asBadSettings(err)
}

// maxSettingName bounds the name of an unknown setting in an error, in characters.
const maxSettingName = 60

// parseSettings sets the flags that the settings of a session name.
func parseSettings(values server.Settings) (*settings, *pflag.FlagSet, error) {
	s, groups := define()
	flags := pflag.NewFlagSet("session", pflag.ContinueOnError)
	for _, g := range groups {
		flags.AddFlagSet(g.flags)
	}
	known := map[string]*pflag.Flag{}
	for _, name := range sessionFlags() {
		known["--"+name] = flags.Lookup(name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == noProxySetting {
			s.noProxy = strings.Join(values[name], ",")
			continue
		}
		if name == browsersSetting {
			if err := s.setBrowsers(values[name]); err != nil {
				return nil, nil, err
			}
			continue
		}
		flag := known[name]
		if flag == nil {
			return nil, nil, usagef("Settings are the flags of a session, with dashes; see `chrome-mcp help flags`.", "unknown setting %q", pagetext.Truncate(name, maxSettingName)).suggest(name, known)
		}
		if _, list := flag.Value.(pflag.SliceValue); !list && len(values[name]) > 1 {
			return nil, nil, usagef("Send one.", "%s has %d values", name, len(values[name]))
		}
		for _, value := range values[name] {
			if err := flags.Set(flag.Name, value); err != nil {
				return nil, nil, usagef("", "%s: %s", name, reason(err))
			}
		}
	}
	return s, flags, nil
}

// sessionSettings returns the settings of a session that a client opens with values. Only the
// default session uses the default profile; others have temporary profiles unless they name one.
func sessionSettings(name, data string, values server.Settings) (*settings, error) {
	s, flags, err := parseSettings(values)
	if err != nil {
		return nil, err
	}
	s.given = flags.Changed
	s.data = data
	if err := s.complete(); err != nil {
		return nil, err
	}
	if name != server.DefaultSession && !s.given("profile") && !s.given("cdp-endpoint") {
		s.isolated = true
	}
	if err := s.checkDefaultProfile(); err != nil {
		return nil, err
	}
	if !s.given("tools") {
		s.tools = mcp.Toolsets()
	}
	if !s.given("structured") {
		s.structured = true
	}
	s.closeTimeout = timing.Current().CloseTerminal
	return s, nil
}

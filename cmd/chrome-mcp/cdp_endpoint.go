package main

import (
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/policy"
	"github.com/chrome-mcp/chrome-mcp/relay"
)

// The values of --cdp-clients.
const (
	cdpMulti  = "multi"
	cdpSingle = "single"
)

// servesCDP reports whether CDP clients can connect: on the address of --cdp-listen, or on a route
// of the server for a session with --cdp-clients.
func (s *settings) servesCDP() bool { return s.cdpListen != "" || s.given("cdp-clients") }

// checkCDPListen checks that the value of --cdp-listen is a loopback address with a port.
func (s *settings) checkCDPListen() error {
	if s.cdpListen == "" {
		return nil
	}
	const hint = "Write it as 127.0.0.1:0; port 0 selects a free port."
	host, port, err := net.SplitHostPort(s.cdpListen)
	if err != nil {
		return usagef(hint, "%s: %q is not a host and port", s.nameOf("cdp-listen"), s.cdpListen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef(hint, "%s: %q is not a port from 0 to 65535", s.nameOf("cdp-listen"), port)
	}
	if !isLoopback(host) {
		return usagef("Write it as 127.0.0.1:0. For clients on other machines, use `chrome-mcp serve --listen` with --cdp-clients.",
			"%s: %q is not a loopback address", s.nameOf("cdp-listen"), host)
	}
	return nil
}

// listenersUnused returns an error if the command line of a program that neither listens for CDP
// clients nor launches browsers has the address of a listener. where is "on" with the name of a
// command, or "with" and a flag. The variables may be set for all programs.
func (s *settings) listenersUnused(flags *pflag.FlagSet, where string) error {
	given := func(flag string) bool { return flags.Changed(flag) && s.sources[flag] == "" }
	switch {
	case given("cdp-listen"):
		return usagef("Pass it to the chrome-mcp that an MCP host starts. Without a host, use `chrome-mcp serve --listen` with --cdp-clients.",
			"--cdp-listen has no effect %s", where)
	case given("egress-address"):
		return usagef("Pass it to `chrome-mcp serve`, or to the chrome-mcp that an MCP host starts.", "--egress-address has no effect %s", where)
	case given("idle-browser"):
		return usagef("Pass it to the chrome-mcp that an MCP host starts. In the server, `serve --session-idle` closes sessions with their browsers.", "--idle-browser has no effect %s", where)
	}
	return nil
}

// checkCDPGrant checks that CDP clients have the grant that they need.
func (s *settings) checkCDPGrant(rules *policy.Policy) error {
	if !s.servesCDP() || rules.Config().Eval {
		return nil
	}
	flag := "cdp-listen"
	if s.cdpListen == "" {
		flag = "cdp-clients"
	}
	return usagef("Set --unsafe-enable-eval if you trust the CDP clients on all allowed sites.",
		"%s needs --unsafe-enable-eval: a CDP client can run any script on allowed sites", s.nameOf(flag))
}

// A cdpEndpoint serves CDP clients. A nil *cdpEndpoint has no clients.
type cdpEndpoint struct {
	relay  *relay.Server
	file   *owneronly.File // nil unless it listens
	served sync.WaitGroup
}

// newCDPEndpoint returns an endpoint that does not listen.
func newCDPEndpoint(s *settings, guard *policy.Guard, browser executor.CDPBrowser, log *slog.Logger, record audit.Recorder) (*cdpEndpoint, error) {
	maxClients := relay.DefaultMaxClients
	if s.cdpClients == cdpSingle {
		maxClients = 1
	}
	server, err := relay.New(relay.Options{
		Browser:    browser,
		Policy:     guard.Network(),
		UploadsDir: guard.Policy().Config().UploadsDir,
		MaxClients: maxClients,
		Audit:      record,
		Logger:     log,
	})
	if err != nil {
		return nil, err
	}
	return &cdpEndpoint{relay: server}, nil
}

// listen serves the address of --cdp-listen until close, and writes the URL to a file in the data
// directory.
func (e *cdpEndpoint) listen(s *settings, rules *policy.Policy, log *slog.Logger) error {
	l, err := net.Listen("tcp", s.cdpListen)
	if err != nil {
		if opErr, ok := errors.AsType[*net.OpError](err); ok {
			err = opErr.Err
		}
		return executor.Errorf(executor.ErrLaunchFailed, "Use port 0 for a free port, or stop the program that uses it.",
			"%s: cannot listen on %s: %w", s.nameOf("cdp-listen"), s.cdpListen, err)
	}
	address := l.Addr().(*net.TCPAddr)
	rules.AddOwnPort(address.Port)
	if e.file, err = writeCDPFile(s.data, address.Port, "http://"+address.String()+e.relay.Path()); err != nil {
		l.Close()
		return err
	}
	e.served.Go(func() {
		if err := e.relay.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) {
			log.Error("serving CDP clients failed", "error", err)
		}
	})
	return nil
}

// clients returns the connected clients.
func (e *cdpEndpoint) clients() (all []executor.CDPClient) {
	if e == nil {
		return nil
	}
	for _, c := range e.relay.Clients() {
		all = append(all, executor.CDPClient{Name: c.Name, Since: c.Since})
	}
	return all
}

// close stops listening, disconnects all clients, and removes the file.
func (e *cdpEndpoint) close() error {
	if e == nil {
		return nil
	}
	e.file.Remove()
	err := e.relay.Close()
	e.served.Wait()
	return err
}

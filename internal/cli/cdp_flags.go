package cli

import (
	"net"
	"strconv"

	"github.com/chrome-mcp/chrome-mcp/policy"
)

// The values of --cdp-clients.
const (
	cdpMulti  = "multi"
	CDPSingle = "single"
)

// ServesCDP reports whether CDP clients can connect: on the address of --cdp-listen, or on a route
// of the server for a session with --cdp-clients.
func (s *Settings) ServesCDP() bool { return s.CDPListen != "" || s.Given("cdp-clients") }

// checkCDPListen checks that the value of --cdp-listen is a loopback address with a port.
func (s *Settings) checkCDPListen() error {
	if s.CDPListen == "" {
		return nil
	}
	const hint = "Write it as 127.0.0.1:0; port 0 selects a free port."
	host, port, err := net.SplitHostPort(s.CDPListen)
	if err != nil {
		return Usagef(hint, "%s: %q is not a host and port", s.NameOf("cdp-listen"), s.CDPListen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Usagef(hint, "%s: %q is not a port from 0 to 65535", s.NameOf("cdp-listen"), port)
	}
	if !IsLoopback(host) {
		return Usagef("Write it as 127.0.0.1:0. For clients on other machines, use `chrome-mcp serve --listen` with --cdp-clients.",
			"%s: %q is not a loopback address", s.NameOf("cdp-listen"), host)
	}
	return nil
}

// ListenersUnused returns an error if the command line of a program that neither listens for CDP
// clients nor launches browsers has the address of a listener. where is "on" with the name of a
// command, or "with" and a flag. The variables may be set for all programs.
func (s *Settings) ListenersUnused(where string) error {
	switch {
	case s.OnCommandLine("cdp-listen"):
		return Usagef("Pass it to the chrome-mcp that an MCP host starts. Without a host, use `chrome-mcp serve --listen` with --cdp-clients.",
			"--cdp-listen has no effect %s", where)
	case s.OnCommandLine("egress-address"):
		return Usagef("Pass it to `chrome-mcp serve`, or to the chrome-mcp that an MCP host starts.",
			"--egress-address has no effect %s", where)
	case s.OnCommandLine("idle-browser"):
		return Usagef("Pass it to the chrome-mcp that an MCP host starts. In the server, `serve --session-idle` closes sessions with their browsers.", "--idle-browser has no effect %s", where)
	}
	return nil
}

// CheckCDPGrant checks that CDP clients have the grant that they need.
func (s *Settings) CheckCDPGrant(rules *policy.Policy) error {
	if !s.ServesCDP() || rules.Config().Eval {
		return nil
	}
	flag := "cdp-listen"
	if s.CDPListen == "" {
		flag = "cdp-clients"
	}
	return Usagef("Set --unsafe-enable-eval if you trust the CDP clients on all allowed sites.",
		"%s needs --unsafe-enable-eval: a CDP client can run any script on allowed sites", s.NameOf(flag))
}

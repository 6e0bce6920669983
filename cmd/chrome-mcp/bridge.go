package main

import (
	"cmp"
	"log/slog"
	"os"

	ps "github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// newBridge returns the server for the extension, which does not listen yet.
// Its port is closed to the agent, in both backends, before any extension is
// told the rules.
func newBridge(s *settings, guard *policy.Guard, log *slog.Logger) (*bridge.Server, error) {
	var server *bridge.Server
	server, err := bridge.New(bridge.Options{
		DataDir:     s.data,
		ExtensionID: extension.ID(),
		Port:        s.port.option(),
		Version:     programVersion(),
		Policy: func() wire.Policy {
			guard.Policy().AddOwnPort(server.Port())
			return wireRules(guard.Policy())
		},
		Logger: log,
	})
	if err == nil {
		guard.SetChanged(server.PolicyChanged)
	}
	return server, err
}

// openBridge starts the server for the extension. One that cannot be started
// is no reason to end: calls and chrome_status tell of it.
func openBridge(server *bridge.Server, rules *policy.Policy, log *slog.Logger) error {
	if err := server.Start(); err != nil {
		log.Error("the extension cannot connect", "error", err)
		return err
	}
	rules.AddOwnPort(server.Port())
	return nil
}

// wireRules returns what the extension enforces of the policy.
func wireRules(rules *policy.Policy) wire.Policy {
	c := rules.Config()
	return wire.Policy{
		Allow:        c.AllowDomains,
		Block:        c.BlockDomains,
		Subresources: string(c.Subresources),
		Resources:    c.SubresourceDomains,
		Private:      c.AllowPrivate,
		UnsafeAll:    c.AllDomains,
		OwnPorts:     c.OwnPorts,
	}
}

// starter names the program that started this one, by which people tell
// several servers apart.
func starter() string {
	parent, err := ps.NewProcess(int32(os.Getppid()))
	if err != nil {
		return ""
	}
	name, _ := parent.Name()
	return cmp.Or(name, "chrome-mcp")
}

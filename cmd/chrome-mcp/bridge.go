package main

import (
	"cmp"
	"log/slog"
	"os"

	ps "github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// newBridge returns the server for the extension, which does not listen yet. Policy closes its port
// to the agent in both backends before any extension receives the policy.
func newBridge(s *settings, guard *policy.Guard, log *slog.Logger) (*bridge.Server, error) {
	var server *bridge.Server
	server, err := bridge.New(bridge.Options{
		DataDir:     s.data,
		ExtensionID: extension.ID(),
		Port:        s.port.option(),
		Version:     programVersion(),
		Policy: func() bridge.Policy {
			guard.Policy().AddOwnPort(server.Port())
			return wireRules(guard.Policy())
		},
		Logger: log,
	})
	if err == nil {
		guard.OnChange(server.PolicyChanged)
	}
	return server, err
}

// openBridge starts the server for the extension. The program continues if that fails: tool calls
// and chrome_status report the error.
func openBridge(server *bridge.Server, rules *policy.Policy, log *slog.Logger) error {
	if err := server.Start(); err != nil {
		log.Error("starting the bridge failed; the extension cannot connect", "error", err)
		return err
	}
	rules.AddOwnPort(server.Port())
	return nil
}

// wireRules returns the part of the policy that the extension enforces.
func wireRules(rules *policy.Policy) bridge.Policy {
	c := rules.Config()
	return bridge.Policy{
		Allow:        c.AllowDomains,
		Block:        c.BlockDomains,
		Subresources: string(c.Subresources),
		Resources:    c.SubresourceDomains,
		Private:      c.AllowPrivate,
		UnsafeAll:    c.AllDomains,
		OwnPorts:     c.OwnPorts,
	}
}

// parentProcessName returns the name of the program that started this one. It distinguishes servers
// for the user if the client sends no name.
func parentProcessName() string {
	parent, err := ps.NewProcess(int32(os.Getppid()))
	if err != nil {
		return ""
	}
	name, _ := parent.Name()
	return cmp.Or(name, "chrome-mcp")
}

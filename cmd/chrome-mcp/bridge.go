package main

import (
	"cmp"
	"log/slog"
	"os"
	"sync"
	"time"

	ps "github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
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

// ownPortsAge is how long a list of the ports of running servers is used, because a page can cause
// many checks.
const ownPortsAge = time.Second

// ownPorts returns a function that lists the ports of all running servers of a data directory, by
// which pages could reach them: those for the extension, and that of the server for many clients.
func ownPorts(data string) func() []int {
	var mu sync.Mutex // guards the variables below
	var ports []int
	var listed time.Time
	return func() []int {
		mu.Lock()
		defer mu.Unlock()
		if !listed.IsZero() && time.Since(listed) < ownPortsAge {
			return ports
		}
		ports, listed = nil, time.Now()
		for _, s := range bridge.RunningServers(data) {
			ports = append(ports, s.Port)
		}
		if port := server.ListeningPort(data); port != 0 {
			ports = append(ports, port)
		}
		return ports
	}
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

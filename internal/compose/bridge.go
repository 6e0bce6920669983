package compose

import (
	"cmp"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	ps "github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpendpoint"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/ownchrome"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// newBridge returns the server for the extension, which does not listen yet. Policy closes its port
// to the agent in both backends before any extension receives the policy.
func newBridge(s *setup, guard *policy.Guard, log *slog.Logger) (*bridge.Server, error) {
	port := s.Port.Option()
	if s.chatAgent != "" {
		port = bridge.AnyPort
	}
	var bridgeServer *bridge.Server
	bridgeServer, err := bridge.New(&bridge.Options{
		DataDir:      s.Data,
		ExtensionID:  extension.ID(),
		StoreID:      extension.StoreID,
		Port:         port,
		Name:         s.chatAgent,
		Installation: s.installation,
		Version:      s.Version,
		Policy: func() bridge.Policy {
			guard.Policy().AddOwnPort(bridgeServer.Port())
			return ownchrome.Rules(guard.Policy())
		},
		Logger: log,
	})
	return bridgeServer, err
}

// openBridge starts the server for the extension, under name unless it is empty. The program continues if
// that fails: tool calls and chrome_status report the error.
func openBridge(bridgeServer *bridge.Server, name string, rules *policy.Policy, log *slog.Logger) error {
	if err := bridgeServer.StartAs(name); err != nil {
		log.Error("starting the bridge failed; the extension cannot connect", "error", err)
		return err
	}
	rules.AddOwnPort(bridgeServer.Port())
	return nil
}

// ownPortsAge is how long a list of the ports of running servers is used, because a page can cause
// many checks.
const ownPortsAge = time.Second

// ownPorts returns a function that lists the ports of all running servers of a data directory, by
// which pages could reach them: those for the extension and for CDP clients, those of dashboards,
// and that of the server for many clients.
func ownPorts(data string) func() []int {
	var mu sync.Mutex // guards the variables below
	var ports []int
	var listening int // of the server for many clients
	var listed time.Time
	return func() []int {
		mu.Lock()
		defer mu.Unlock()
		if !listed.IsZero() && time.Since(listed) < ownPortsAge {
			return slices.Concat(ports, dashboard.Ports(data))
		}
		ports, listed = nil, time.Now()
		for _, s := range bridge.RunningServers(data) {
			ports = append(ports, s.Port)
		}
		for _, e := range cdpendpoint.Running(data) {
			ports = append(ports, e.Port)
		}
		if port, err := server.ListeningPort(data); err == nil { // otherwise the last one may still be in use
			listening = port
		}
		if listening != 0 {
			ports = append(ports, listening)
		}
		return slices.Concat(ports, dashboard.Ports(data)) // not kept: a login opens the page immediately
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

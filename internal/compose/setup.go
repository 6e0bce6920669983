// Package compose makes executors, policies and MCP servers of the settings: for one client on
// stdin and stdout, and for the sessions of a server.
package compose

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/fileserver"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/sessiondir"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// A setup has the settings of a client, and what the process that serves it adds.
type setup struct {
	*cli.Settings
	vault *secrets.Vault // of the process
	own   *secrets.View  // the secrets of the session; nil, which masks no value, if it has none

	watched      *dashboard.Workspace                // the session on the dashboard; nil for doctor
	observe      func(audit.Recorder) audit.Recorder // adds an observer to the audit log; may be nil
	files        *fileserver.Server                  // of ServeDirectory; set by openMCP
	endpoints    *endpointPorts                      // of all sessions of the process
	handover     mcp.HandoverOptions                 // the questions of the server, and the names of the session
	closeTimeout time.Duration                       // replaces Timing.CloseBrowser if not 0

	// Set by the server for a workspace.
	pool         *chromium.Pool  // of the sessions with temporary profiles
	dirs         sessiondir.Dirs // of downloads and saved results
	auditLogs    *AuditLogs
	limit        func(context.Context) (release func(), err error)         // mcp.Options.Limit
	callRate     *mcp.CallRate                                             // mcp.Options.CallRate
	wrapBackend  func(executor.Backend) executor.Backend                   // nil means no wrapper
	wrapNamed    func(b executor.Backend, profile string) executor.Backend // wrapBackend for a named browser with a profile
	chatAgent    string                                                    // name of the agent, if the session is that of a chat
	installation string                                                    // of the extension whose user has the chat
}

// newSetup returns a setup with the secrets of a process that its settings name.
func newSetup(settings *cli.Settings, vault *secrets.Vault) *setup {
	s := &setup{Settings: settings, vault: vault, endpoints: new(endpointPorts)}
	if !s.Secrets.None {
		s.own = vault.View(s.Secrets.Names)
	}
	return s
}

// secretsOfCalls returns the secrets that calls may use, or nil if there are none.
func (s *setup) secretsOfCalls() executor.Secrets {
	if s.own == nil {
		return nil
	}
	return s.own
}

package compose

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/rest"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/sessiondir"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A Workspace is a workspace of the server. It implements server.Workspace.
type Workspace struct {
	*mcp.Workspace
	stack    *stack
	site     *siteRecorder // of a chat
	closeAll func() error
	pool     *chromium.Pool // may be nil

	principal, name string
	record          audit.Recorder // the audit log; may be nil
	desk            *handover.Desk
	ended           context.Context // done when the workspace is being closed
	end             context.CancelFunc

	mu      sync.Mutex // guards streams.Add against Close
	streams sync.WaitGroup
}

// ServeTool implements server.Workspace.
func (ws *Workspace) ServeTool(w http.ResponseWriter, r *http.Request, tool string) {
	rest.ServeTool(ws.Workspace, w, r, tool)
}

// ServeStream implements server.Workspace. Each client has its own MCP session.
func (ws *Workspace) ServeStream(stream io.ReadWriteCloser) error {
	ws.mu.Lock()
	if ws.ended.Err() != nil {
		ws.mu.Unlock()
		return stream.Close()
	}
	ws.streams.Add(1)
	ws.mu.Unlock()
	defer ws.streams.Done()
	// When the workspace closes, the input of the stream ends, as stdin does. The results of calls
	// that have just ended are still sent, unless the client does not read them.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	limits := timing.Current()
	stop := context.AfterFunc(ws.ended, func() {
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
	err := ws.Workspace.Run(ctx, mcp.StdioTransport(&streamInput{stream, ws.ended}, stream))
	if ws.ended.Err() != nil {
		err = nil
	}
	return errors.Join(err, stream.Close())
}

// ServeDevTools implements server.Workspace.
func (ws *Workspace) ServeDevTools(w http.ResponseWriter, r *http.Request) error {
	if ws.stack.cdp == nil {
		return executor.Errorf(executor.ErrBadArgs, "Only the user can enable them: `chrome-mcp help flags` describes --cdp-clients.",
			"CDP clients are not enabled for the session")
	}
	ws.stack.cdp.ServeDevTools(w, r)
	return nil
}

// A streamInput is the input of a stream. It ends when the workspace does.
type streamInput struct {
	io.ReadWriteCloser
	ended context.Context
}

func (i *streamInput) Read(p []byte) (int, error) {
	n, err := i.ReadWriteCloser.Read(p)
	if err != nil && i.ended.Err() != nil {
		err = io.EOF
	}
	return n, err
}

// HasState implements server.Workspace.
func (ws *Workspace) HasState() bool {
	if ws.Succeeded() || ws.stack.guard.Granted() {
		return true
	}
	st := ws.stack.Status(ws.ended)
	return st.CDPAttached || st.ActiveTabID != "" ||
		slices.ContainsFunc(st.Browsers, func(b executor.Browser) bool { return b.Open })
}

// HandedOver implements server.Workspace.
func (ws *Workspace) HandedOver() bool {
	return slices.ContainsFunc(ws.desk.Questions(),
		func(q executor.HandoverQuestion) bool { return q.Principal == ws.principal && q.Session == ws.name })
}

// Close implements server.Workspace.
func (ws *Workspace) Close(reason string) error {
	ws.mu.Lock()
	ws.end()
	ws.mu.Unlock()
	err := ws.Workspace.End(reason)
	ws.streams.Wait()
	err = errors.Join(err, ws.closeAll())
	if ws.pool != nil {
		ws.pool.CloseUnused(ws.principal) // the workspace may have been the last one in its browser
	}
	if ws.record != nil {
		ws.record.Record(audit.Entry{Event: audit.EventClosed, Detail: reason})
	}
	return err
}

// BridgePort returns the port of the bridge of a chat.
func (ws *Workspace) BridgePort() int { return ws.stack.bridge.Port() }

// AllowSite allows the site of u in a chat until revoke is called.
func (ws *Workspace) AllowSite(u *policy.URL) (revoke func(), err error) {
	return ws.stack.guard.AllowSite(u)
}

// LastOrigin returns the origin of the last decision about a page of a chat, or "".
func (ws *Workspace) LastOrigin() string {
	if origin := ws.site.last.Load(); origin != nil {
		return *origin
	}
	return ""
}

// stoppedByUser is the reason in the errors of a workspace that the user stopped on the dashboard.
const stoppedByUser = "the user stopped it on the dashboard"

// An Opener opens the workspaces of a server.
type Opener struct {
	Data         string                 // directory
	Version      string                 // of the program
	Installation string                 // bridge.Options.Installation
	Pool         *chromium.Pool         // for workspaces with a temporary profile
	Egress       *chromium.RemoteEgress // may be nil
	Vault        *secrets.Vault
	Profiles     *profilelease.Leases
	usages       sessiondir.Usages
	rates        callRates
	endpoints    endpointPorts
	Audits       *AuditLogs                          // nil means that each workspace opens its own
	OwnHosts     []string                            // hosts of the server that are not loopback; pages must not reach them
	Private      []string                            // files and directories with secrets of the server and of all tokens; cli.Settings.Private
	Count        func(audit.Recorder) audit.Recorder // returns a recorder that counts entries and passes them on; may be nil
	Board        *dashboard.Board
	Dashboard    *Dashboard
	Desk         *handover.Desk
	Log          *slog.Logger
}

// Open opens a workspace with the settings of its first client.
func (o *Opener) Open(r server.OpenRequest) (server.Workspace, error) {
	ws, err := o.OpenFor(r, "")
	if err != nil {
		return nil, err
	}
	return ws, nil
}

// OpenFor opens a workspace. If chatAgent is not empty, the workspace is that of a chat with this
// agent.
func (o *Opener) OpenFor(r server.OpenRequest, chatAgent string) (*Workspace, error) {
	settings, err := cli.SessionSettings(r.Name, o.Data, r.Settings)
	if err != nil {
		return nil, asBadSettings(err)
	}
	settings.Version, settings.RemoteEgress = o.Version, o.Egress
	settings.BlockDomain = append(settings.BlockDomain, o.OwnHosts...)
	settings.Private = o.Private
	s := newSetup(settings, o.Vault)
	s.closeTimeout = timing.Current().CloseTerminal
	s.chatAgent, s.installation = chatAgent, o.Installation
	s.limit, s.pool, s.auditLogs, s.endpoints = r.Limit, o.Pool, o.Audits, &o.endpoints
	s.handover = mcp.HandoverOptions{
		Questions: o.Desk, Session: r.Name, Principal: r.Principal, Dashboard: o.Dashboard.available,
	}
	s.dirs = sessiondir.Dirs{
		Name: r.Name, Principal: r.Principal, Token: r.Principal != "" && chatAgent == "", Usages: &o.usages,
	}
	if s.dirs.Token {
		s.callRate = o.rates.of(r.Principal, s.MaxCalls)
	}
	lease := o.Profiles.Lease(r.Principal, r.Name)
	if !s.Isolated && s.CDPEndpoint == "" { // otherwise the default browser uses no profile
		s.wrapBackend = func(b executor.Backend) executor.Backend { return lease.Wrap(b, s.Profile) }
	}
	s.wrapNamed = func(b executor.Backend, profile string) executor.Backend {
		return lease.NewSibling().Wrap(b, profile)
	}
	rules, err := ValidPolicy(settings)
	if err != nil {
		return nil, asBadSettings(err)
	}
	s.watched = o.Board.Open(dashboard.WorkspaceOptions{Principal: r.Principal, Name: r.Name, Stop: func() {
		if err := r.Close(stoppedByUser); err != nil {
			o.Log.Warn("stopping a session failed", "session", r.Name, "principal", r.Principal, "error", err)
		}
	}})
	var named audit.Recorder // set when openMCP calls observe; nil without an audit log
	s.observe = func(log audit.Recorder) audit.Recorder {
		if log != nil {
			named = namedRecorder{log, r.Name, r.Principal}
		}
		if o.Count == nil {
			return named
		}
		return o.Count(named)
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
	mcpServer, stack, closeMCP, err := openMCP(ctx, s, rules, o.Log.With("session", r.Name, "principal", r.Principal))
	if err != nil {
		s.watched.Close()
		return nil, err
	}
	closeAll := func() error {
		defer lease.Release() // after the browsers have exited
		return closeMCP()
	}
	served, err := mcpServer.OpenWorkspace(ctx)
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	ws := &Workspace{
		Workspace: served, stack: stack, site: site, closeAll: closeAll, pool: o.Pool, desk: o.Desk,
		principal: r.Principal, name: r.Name,
	}
	ws.ended, ws.end = context.WithCancel(ctx)
	if o.Audits != nil && named != nil { // the log outlives the workspace
		ws.record = named
		named.Record(audit.Entry{Event: audit.EventOpened})
	}
	return ws, nil
}

// asBadSettings returns err with the code ErrBadArgs if it is a *cli.UsageError.
func asBadSettings(err error) error {
	if usage, ok := errors.AsType[*cli.UsageError](err); ok {
		return executor.Errorf(executor.ErrBadArgs, usage.Hint, "settings of the session: %w", usage)
	}
	return err
}

// CheckSettings checks the names and values of settings that a client sent.
func CheckSettings(values server.Settings) error {
	_, _, err := cli.ParseSettings(values)
	return asBadSettings(err)
}

// A siteRecorder notes the origin of the last entry of an audit log.
type siteRecorder struct {
	next audit.Recorder // nil without an audit log
	last atomic.Pointer[string]
}

// Ready implements audit.Recorder.
func (r *siteRecorder) Ready() error {
	if r.next == nil {
		return nil
	}
	return r.next.Ready()
}

// Record implements audit.Recorder.
func (r *siteRecorder) Record(e audit.Entry) {
	if strings.Contains(e.Origin, "://") {
		r.last.Store(&e.Origin)
	}
	if r.next != nil {
		r.next.Record(e)
	}
}

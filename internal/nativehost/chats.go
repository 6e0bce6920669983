package nativehost

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/chat"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/logging"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/sidepanel"
	"github.com/chrome-mcp/chrome-mcp/internal/transcript"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// chatsName is the name of the directory of the chats in the data directory.
const chatsName = "chats"

// serveChats serves the side panels of a browser until it closes stdin.
func serveChats(version, data, origin string, stdin io.Reader, stdout io.Writer) error {
	if !slices.ContainsFunc(extension.IDs(), func(id string) bool { return origin == "chrome-extension://"+id+"/" }) {
		return errors.New("the caller is not the chrome-mcp extension")
	}
	cli.SurviveBrokenPipe()    // when the browser exits, both pipes break
	var closers []func() error // in reverse order
	err := sidepanel.Serve(stdin, stdout, func(installation string) (opts sidepanel.Options, err error) {
		if installation == "" {
			return opts, errors.New("the extension is older than the program: reload it")
		}
		settings, err := cli.ChatSettings(data, os.Environ())
		if err != nil {
			return opts, err
		}
		dir := filepath.Join(data, chatsName)
		if err := owneronly.MakePrivateDir(dir); err != nil {
			return opts, err
		}
		file, err := logging.Open(filepath.Join(dir, "log"))
		if err != nil {
			return opts, err
		}
		closers = append(closers, file.Close)
		vault := secrets.Open(data)
		log := slog.New(slog.NewTextHandler(logging.Masked(file, vault.Mask), nil))
		store, err := transcript.Open(filepath.Join(dir, "chats.db"))
		if err != nil {
			return opts, err
		}
		closers = append(closers, store.Close)
		chats, err := startChatServer(version, data, installation, settings, vault, log)
		if err != nil {
			return opts, err
		}
		closers = append(closers, chats.Close)
		return sidepanel.Options{DataDir: data, ChatsDir: dir, Store: store, OpenServer: chats.Open, Logger: log}, nil
	})
	for _, c := range slices.Backward(closers) {
		err = errors.Join(err, c())
	}
	return err
}

// A chatServer serves MCP to the agents of chats, each with the token of its chat, on a Unix socket
// in the directory of the chats.
type chatServer struct {
	dir      string
	settings server.Settings // of all sessions
	server   *server.Server
	tokens   *server.Tokens
	opener   *compose.Opener
	stop     context.CancelFunc
	served   chan error

	mu       sync.Mutex                    // guards the fields below
	agents   map[string]string             // by chat
	sessions map[string]*compose.Workspace // by chat
}

// startChatServer starts to serve the chats of an installation of the extension. It returns ErrBackpressure if another process serves the chats of
// the data directory.
func startChatServer(version, data, installation string, settings server.Settings, vault *secrets.Vault, log *slog.Logger) (*chatServer, error) {
	c := &chatServer{
		dir: filepath.Join(data, chatsName), settings: settings, tokens: new(server.Tokens), served: make(chan error, 1),
		agents: map[string]string{}, sessions: map[string]*compose.Workspace{},
		opener: &compose.Opener{
			Data: data, Version: version, Installation: installation, Vault: vault, Profiles: profilelease.New(), Audits: compose.NewAuditLogs(log), Dashboard: new(compose.Dashboard),
			Board: new(dashboard.Board), Desk: new(handover.Desk), Log: log,
		},
	}
	if err := os.RemoveAll(c.principals()); err != nil {
		return nil, err
	}
	if err := owneronly.MakePrivateDir(c.principals()); err != nil {
		return nil, err
	}
	socket, err := server.Listen(context.Background(), c.dir)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.server = server.New(server.Options{Version: version, Open: c.openSession, SocketTokens: c.tokens, Logger: log})
	go func() {
		err := c.server.Serve(ctx, socket)
		socket.Release()
		c.served <- err
	}()
	return c, nil
}

// principals returns the directory of the files with the tokens.
func (c *chatServer) principals() string { return filepath.Join(c.dir, "principals") }

// Close closes all sessions.
func (c *chatServer) Close() error {
	c.stop()
	err := <-c.served
	c.opener.Audits.Close()
	return errors.Join(err, os.RemoveAll(c.principals()))
}

// openSession opens the session of a chat.
func (c *chatServer) openSession(r server.OpenRequest) (server.Workspace, error) {
	c.mu.Lock()
	agent := c.agents[r.Principal]
	c.mu.Unlock()
	if agent == "" {
		return nil, errors.New("the chat is closed")
	}
	session, err := c.opener.OpenFor(r, agent)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[r.Principal] = session
	return session, nil
}

// Open opens the MCP server of a chat.
func (c *chatServer) Open(ctx context.Context, id, agent string) (sidepanel.TabServer, error) {
	tabs := &chatTabServer{server: c, principal: &server.Principal{Name: id, Settings: c.settings, MaxSessions: 1}, file: filepath.Join(c.principals(), id)}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.agents[id] = agent
	c.mu.Unlock()
	tabs.command = chat.MCPServer{Command: program, Args: []string{"--connect", server.SocketPath(c.dir), "--principal-file", tabs.file, "--config", cli.NoConfig}}
	if _, err = owneronly.WriteFile(tabs.file, []byte(c.tokens.Add(tabs.principal)+"\n")); err == nil {
		err = c.server.Open(ctx, tabs.principal, server.DefaultSession)
	}
	if err != nil {
		return nil, errors.Join(err, tabs.Close())
	}
	c.mu.Lock()
	tabs.session = c.sessions[id]
	c.mu.Unlock()
	return tabs, nil
}

// chatTabServer is the MCP server of one chat.
type chatTabServer struct {
	server    *chatServer
	principal *server.Principal
	file      string // with its token
	command   chat.MCPServer
	session   *compose.Workspace // nil if it was not opened
}

// Server implements sidepanel.TabServer.
func (t *chatTabServer) Server() chat.MCPServer { return t.command }

// Port implements sidepanel.TabServer.
func (t *chatTabServer) Port() int { return t.session.BridgePort() }

// Allow implements sidepanel.TabServer.
func (t *chatTabServer) Allow(url string) (revoke func(), err error) {
	u, err := policy.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return t.session.AllowSite(u)
}

// SetStopped implements sidepanel.TabServer.
func (t *chatTabServer) SetStopped(stopped bool) {
	if stopped {
		t.session.StopCalls("the user stopped this turn in the side panel")
	} else {
		t.session.AllowCalls()
	}
}

// SiteOf implements sidepanel.TabServer. The site is that of the last decision about a page.
func (t *chatTabServer) SiteOf(title string) string {
	if !isToolCall(title) {
		return ""
	}
	_, host, _ := strings.Cut(t.session.LastOrigin(), "://")
	return host
}

// toolTitle matches the titles that agents give to calls of a tool: its name, and possibly the name of the
// server before or after it.
var toolTitle = regexp.MustCompile(`^(?:(?:Tool: |mcp__|mcp[._])?chrome-mcp(?:__|: |[_/.]))?([a-z_]+)(?: \(chrome-mcp[^()]*\))?$`)

// isToolCall reports whether the title of a tool call of an agent is that of one of our tools. The title of
// another one, such as a command, can contain the name of a tool.
func isToolCall(title string) bool {
	match := toolTitle.FindStringSubmatch(title)
	return match != nil && toolNames()[match[1]]
}

// toolNames returns the names of all tools.
var toolNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, tool := range mcp.Tools() {
		names[tool.Name] = true
	}
	return names
})

// Close implements sidepanel.TabServer.
func (t *chatTabServer) Close() error {
	c, id := t.server, t.principal.Name
	c.tokens.Remove(t.principal)
	err := os.Remove(t.file)
	if t.session != nil {
		err = errors.Join(err, c.server.Close(t.principal, server.DefaultSession, "the chat was closed"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.agents, id)
	delete(c.sessions, id)
	return err
}

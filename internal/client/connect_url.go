package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// isURL reports whether the value of --connect is a URL and not the path of a socket.
func isURL(connect string) bool {
	return strings.HasPrefix(connect, "http://") || strings.HasPrefix(connect, "https://")
}

// onlyConnectFlags returns an error if the command line has a flag other than more and those that
// have an effect on every session of a token.
func onlyConnectFlags(cmd *cobra.Command, s *cli.Settings, with string, more ...string) error {
	allowed := append(more, "config", "connect", "session", "log-level", "log-file")
	var misplaced error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if misplaced == nil && !slices.Contains(allowed, f.Name) && s.OnCommandLine(f.Name) {
			misplaced = cli.Usagef("Omit it; the token determines the settings.", "--%s has no effect with %s", f.Name, with)
		}
	})
	return misplaced
}

// CheckFlags checks combinations of --connect and the flags that need it.
func CheckFlags(s *cli.Settings) error {
	if s.Connect != "" {
		if err := s.ListenersUnused("with --connect"); err != nil {
			return err
		}
	}
	switch {
	case isURL(s.Connect):
		return nil
	case s.ConnectToken != "":
		return cli.Usagef("", "%s requires --connect URL", s.NameOf("connect-token-file"))
	case s.ConnectHTTP:
		return cli.Usagef("", "%s requires --connect URL", s.NameOf("unsafe-connect-http"))
	case s.Connect == "" && s.PrincipalFile != "":
		return cli.Usagef("", "%s requires --connect SOCKET", s.NameOf("principal-file"))
	}
	return nil
}

// Connect serves MCP on stdin and stdout with a session of the server of --connect. The caller has
// checked the flags.
func Connect(cmd *cobra.Command, s *cli.Settings) error {
	if isURL(s.Connect) {
		return connectURL(cmd, s)
	}
	return connectSocket(cmd, s)
}

// connectURL serves MCP on stdin and stdout with a session of a server on HTTP.
func connectURL(cmd *cobra.Command, s *cli.Settings) error {
	if err := onlyConnectFlags(cmd, s, "--connect URL", "connect-token-file", "unsafe-connect-http"); err != nil {
		return err
	}
	base, err := url.Parse(s.Connect)
	if err != nil || base.Hostname() == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return cli.Usagef("Write it as https://chrome.example.com.", "--connect: the URL must have a host, and no user, query or fragment")
	}
	if err := cli.CheckPort("--connect", base); err != nil {
		return err
	}
	if base.Scheme == "http" && !cli.IsLoopback(base.Hostname()) && !s.ConnectHTTP {
		return cli.Usagef("Use https, or set --unsafe-connect-http if only machines that you trust are on the network.",
			"--connect: over http, others on the network between here and %s can read the token", base.Host)
	}
	if s.ConnectToken == "" {
		return cli.Usagef("Set --connect-token-file FILE.", "--connect URL needs a token")
	}
	if err := server.CheckName(s.Session); err != nil {
		return s.FlagValueError("session", err)
	}
	token, err := server.ReadToken(s.ConnectToken)
	if err != nil {
		return s.FlagValueError("connect-token-file", err)
	}
	log, closeLog, err := compose.NewLogger(s, secrets.Open(s.Data), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer closeLog()
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/mcp")
	transport := &bearerTransport{next: http.DefaultTransport, token: token, session: s.Session}
	client := &http.Client{Transport: errorTransport{transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	if err := checkReady(cmd.Context(), client, base.String()); err != nil {
		return err
	}
	remote := &sdk.StreamableClientTransport{Endpoint: base.String() + "/mcp", HTTPClient: client, MaxEventSize: -1}
	return relayMCP(cmd.Context(), transport, remote, cmd.InOrStdin(), cmd.OutOrStdout(), log)
}

// checkReady checks that a server is reachable and accepts the token.
func checkReady(ctx context.Context, client *http.Client, base string) error {
	ctx, cancel := context.WithTimeout(ctx, timing.Current().RemoteServer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return cli.Usagef("", "--connect: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return executor.Errorf(executor.ErrNoBackend, "Check the URL, and that the server is running.", "cannot connect to %s: %w", base, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized:
		return cli.Usagef("Use a token of that server.", "--connect-token-file: %s rejects the token", base)
	}
	return executor.Errorf(executor.ErrNoBackend, "Check the URL, and the log of the server.", "%s: %w", base, readRemoteError(resp))
}

// A bearerTransport adds to each request the token, the session, and the protocol version that the
// client negotiated: the SDK's transport does not read it from the messages.
type bearerTransport struct {
	next           http.RoundTripper
	token, session string
	version        atomic.Value // string; nil before the response to initialize
	gone           atomic.Bool  // the server has ended the MCP session
}

// RoundTrip implements http.RoundTripper.
func (t *bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	r.Header.Set(server.SessionHeader, t.session)
	const header = "Mcp-Protocol-Version"
	if version, ok := t.version.Load().(string); ok && r.Header.Get(header) == "" {
		r.Header.Set(header, version)
	}
	resp, err := t.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "" {
		t.gone.Store(true)
	}
	return resp, err
}

// observe records the protocol version in a response to initialize.
func (t *bearerTransport) observe(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Response)
	if !ok || r.Error != nil {
		return
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(r.Result, &result) == nil && result.ProtocolVersion != "" {
		t.version.Store(result.ProtocolVersion)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// connectTimeout is the time that a remote server has to answer the first request.
const connectTimeout = 10 * time.Second

// isURL reports whether the value of --connect is a URL and not the path of a socket.
func isURL(connect string) bool {
	return strings.HasPrefix(connect, "http://") || strings.HasPrefix(connect, "https://")
}

// bridgeURL serves MCP on stdin and stdout with a session of a server on HTTP.
func bridgeURL(cmd *cobra.Command, s *settings) error {
	var misplaced error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "connect", "connect-token-file", "session", "log-level", "log-file":
			return
		}
		if misplaced == nil && s.sources[f.Name] == "" {
			misplaced = usagef("Omit it; the token determines the settings.", "--%s has no effect with --connect URL", f.Name)
		}
	})
	if misplaced != nil {
		return misplaced
	}
	base, err := url.Parse(s.connect)
	if err != nil || base.Hostname() == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return usagef("Write it as https://chrome.example.com.", "--connect: the URL must have a host, and no user, query or fragment")
	}
	if s.connectToken == "" {
		return usagef("Set --connect-token-file FILE.", "--connect URL needs a token")
	}
	if err := server.CheckName(s.session); err != nil {
		return s.flagValueError("session", err)
	}
	token, err := server.ReadToken(s.connectToken)
	if err != nil {
		return s.flagValueError("connect-token-file", err)
	}
	log, closeLog, err := newLogger(s, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer closeLog()
	if base.Scheme == "http" && !isLoopback(base.Hostname()) {
		log.Warn("the connection is not encrypted; others on the network can read the token", "host", base.Host)
	}
	base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/mcp")
	transport := &bearerTransport{next: http.DefaultTransport, token: token, session: s.session}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	if err := checkReady(cmd.Context(), client, base.String()); err != nil {
		return err
	}
	remote := &sdk.StreamableClientTransport{Endpoint: base.String() + "/mcp", HTTPClient: client, MaxEventSize: -1}
	return relayMCP(cmd.Context(), transport, remote, cmd.InOrStdin(), cmd.OutOrStdout(), log)
}

// isLoopback reports whether a host of a URL is this machine.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost"
}

// checkReady checks that a server is reachable and accepts the token.
func checkReady(ctx context.Context, client *http.Client, base string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return usagef("", "--connect: %w", err)
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
		return usagef("Use a token of that server.", "--connect-token-file: %s rejects the token", base)
	}
	return executor.Errorf(executor.ErrNoBackend, "Check the URL, and the log of the server.", "%s answers HTTP %d", base, resp.StatusCode)
}

// A bearerTransport adds to each request the token, the session, and the protocol version that the
// client negotiated: the SDK's transport does not read it from the messages.
type bearerTransport struct {
	next           http.RoundTripper
	token, session string

	mu      sync.Mutex // guards the fields below
	version string
	gone    bool // the server has ended the MCP session
}

// RoundTrip implements http.RoundTripper.
func (t *bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	r.Header.Set(server.SessionHeader, t.session)
	const header = "Mcp-Protocol-Version"
	t.mu.Lock()
	if t.version != "" && r.Header.Get(header) == "" {
		r.Header.Set(header, t.version)
	}
	t.mu.Unlock()
	resp, err := t.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "" {
		t.mu.Lock()
		t.gone = true
		t.mu.Unlock()
	}
	return resp, err
}

// ended reports whether the server has ended the MCP session.
func (t *bearerTransport) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
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
		t.mu.Lock()
		t.version = result.ProtocolVersion
		t.mu.Unlock()
	}
}

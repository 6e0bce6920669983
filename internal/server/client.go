package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/filelock"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// ErrNotRunning is the error of a [Client] if no server listens on the socket.
var ErrNotRunning = errors.New("no server is running")

// A Client talks to a server. Its methods are safe for concurrent use.
type Client struct {
	path  string
	token string // empty for the operating-system user
	http  *http.Client
}

// NewClient returns a client of the server that listens on a socket. It does not connect yet.
func NewClient(path string) *Client {
	c := &Client{path: path}
	c.http = &http.Client{Transport: &http.Transport{DialContext: c.dial}}
	return c
}

// SetToken sets a token of [Options.SocketTokens]. Call it before the Client is used.
func (c *Client) SetToken(token string) { c.token = token }

// dial connects to the socket.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	info, err := os.Lstat(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotRunning
	}
	if err == nil {
		err = checkSocket(info)
	}
	if err != nil {
		return nil, errs.Errorf(errs.ErrLaunchFailed, "Check the data directory, or use another one.",
			"server socket %s: %w", c.path, err)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.path)
	if isNotListening(err) {
		return nil, ErrNotRunning // its server was killed, or has just exited
	}
	return conn, err
}

// authorize adds the token to a request.
func (c *Client) authorize(r *http.Request) {
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// base is the URL of the server. Its host is not used.
const base = "http://chrome-mcp"

// Status returns the state of the server, or ErrNotRunning.
func (c *Client) Status(ctx context.Context) (st Status, err error) {
	err = c.get(ctx, "/v1/server", &st)
	return st, err
}

// Stop asks the server to exit. WaitStopped waits until it has exited.
func (c *Client) Stop(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/server/stop", nil, nil)
}

// errOtherServer reports that another server has started.
var errOtherServer = errors.New("another server is running")

// WaitStopped waits until the server with status st, or with a zero status any server, has closed
// its browsers and no longer uses the data directory.
func (c *Client) WaitStopped(ctx context.Context, st Status) error {
	unlock, err := filelock.Lock(ctx, lockPath(c.path), func() error {
		if next, err := c.Status(ctx); err == nil && !next.Started.Equal(st.Started) {
			return errOtherServer // which the old one has left the directory to
		}
		return nil
	})
	switch {
	case err == nil:
		unlock()
	case errors.Is(err, errOtherServer), errors.Is(err, fs.ErrNotExist): // no server has used the directory
		return nil
	}
	return err
}

// Sessions returns the open workspaces of the operating-system user, sorted by name.
func (c *Client) Sessions(ctx context.Context) (infos []Info, err error) {
	err = c.get(ctx, "/v1/sessions", &infos)
	return infos, err
}

// AllSessions returns the open workspaces, also those of tokens, sorted by token and name.
func (c *Client) AllSessions(ctx context.Context) (infos []Info, err error) {
	err = c.get(ctx, "/v1/sessions?all=true", &infos)
	return infos, err
}

// OpenSession opens a workspace. If it is open with other settings and is in use or was used (see
// [Workspace.HasState]), OpenSession returns an error that names the differences; otherwise it replaces
// the workspace, and reports that. With keep, the workspace has no idle timeout, even if it is
// already open.
func (c *Client) OpenSession(ctx context.Context, name string, s Settings, keep bool) (replaced bool, err error) {
	if s == nil {
		s = Settings{}
	}
	path := "/v1/sessions/" + url.PathEscape(name)
	if keep {
		path += "?keep=true"
	}
	header, err := c.send(ctx, http.MethodPut, path, s, nil)
	return err == nil && header.Get(ReplacedHeader) != "", err
}

// CloseSession closes a workspace and its browser. SESSION@TOKEN is the name of one of a token.
func (c *Client) CloseSession(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, "/v1/sessions/"+url.PathEscape(name), nil, nil)
}

// MCP returns the URL of MCP's streamable HTTP transport, and an HTTP client whose requests to it
// reach an open workspace.
func (c *Client) MCP(session string) (url string, client *http.Client) {
	return base + "/mcp", &http.Client{Transport: workspaceTransport{c, session}}
}

// DevTools returns the URL of the endpoint for CDP clients, and a transport whose requests to it reach
// an open workspace. SESSION@TOKEN names one of a token, for /json/clients.
func (c *Client) DevTools(session string) (url string, transport http.RoundTripper) {
	return base, workspaceTransport{c, session}
}

// Stream connects to an open workspace.
func (c *Client) Stream(ctx context.Context, session string) (*Stream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		base+"/v1/sessions/"+url.PathEscape(session)+"/stream", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", streamProtocol)
	c.authorize(req)
	conn, err := c.dial(ctx, "", "")
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	in := bufio.NewReader(conn)
	var resp *http.Response
	if err = req.Write(conn); err == nil {
		resp, err = http.ReadResponse(in, req)
	}
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		err = responseError(resp)
		resp.Body.Close()
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &Stream{conn, in}, nil
}

// Close closes the idle connections to the server.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// A workspaceTransport adds the name of a workspace to each request.
type workspaceTransport struct {
	client  *Client
	session string
}

func (t workspaceTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(SessionHeader, t.session)
	t.client.authorize(r)
	return t.client.http.Transport.RoundTrip(r)
}

// responseError returns the error in a response.
func responseError(resp *http.Response) error {
	var f failure
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil || f.Error.Code == "" {
		return fmt.Errorf("the server answered HTTP %d", resp.StatusCode)
	}
	return errs.Errorf(f.Error.Code, f.Error.Hint, "%s", f.Error.Message)
}

// ParseError returns the text of the error in the body of a response, with its hint, and the error
// as JSON. It reports false if the body has no error of a server.
func ParseError(body []byte) (text string, raw json.RawMessage, ok bool) {
	var f failure
	var members struct{ Error json.RawMessage }
	if json.Unmarshal(body, &f) != nil || f.Error.Code == "" || json.Unmarshal(body, &members) != nil {
		return "", nil, false
	}
	return f.text(), members.Error, true
}

// get sends a GET request that a server answers without its browsers, within Timing.ServerAnswer. If ctx
// is done, the error is its cause.
func (c *Client) get(ctx context.Context, path string, result any) error {
	limit := timing.Current().ServerAnswer
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := c.do(limited, http.MethodGet, path, nil, result)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return errs.Errorf(errs.ErrTimeout, "Try again. If it still does not answer, end its process.",
			"the server did not answer within %v", limit)
	}
	return err
}

// do sends a request and decodes the response into result, which may be nil.
func (c *Client) do(ctx context.Context, method, path string, body, result any) error {
	_, err := c.send(ctx, method, path, body, result)
	return err
}

// send is do. It also returns the header of the response.
func (c *Client) send(ctx context.Context, method, path string, body, result any) (http.Header, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, content)
	if err != nil {
		return nil, err
	}
	c.authorize(req)
	resp, err := c.http.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which is not a real one
		}
		if method == http.MethodGet &&
			(errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
			err = ErrNotRunning // it exited before it answered
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return nil, responseError(resp)
	}
	if result == nil {
		return resp.Header, nil
	}
	return resp.Header, json.NewDecoder(resp.Body).Decode(result)
}

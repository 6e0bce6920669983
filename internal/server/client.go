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
)

// ErrNotRunning is the error of a [Client] if no server listens on the socket.
var ErrNotRunning = errors.New("no server is running")

// A Client talks to a server. Its methods are safe for concurrent use.
type Client struct {
	path string
	http *http.Client
}

// NewClient returns a client of the server that listens on a socket. It does not connect yet.
func NewClient(path string) *Client {
	c := &Client{path: path}
	c.http = &http.Client{Transport: &http.Transport{DialContext: c.dial}}
	return c
}

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
		return nil, errs.Errorf(errs.ErrLaunchFailed, "Check the data directory, or use another one.", "server socket %s: %w", c.path, err)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.path)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotRunning // its server was killed, or has just ended
	}
	return conn, err
}

// base is the URL of the server. Its host is not used.
const base = "http://chrome-mcp"

// Status returns the state of the server, or ErrNotRunning.
func (c *Client) Status(ctx context.Context) (st Status, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/server", nil, &st)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		err = ErrNotRunning // it ended before it answered
	}
	return st, err
}

// Stop asks the server to end. It does not wait for the end.
func (c *Client) Stop(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/server/stop", nil, nil)
}

// Sessions returns the open sessions, sorted by name.
func (c *Client) Sessions(ctx context.Context) (infos []Info, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/sessions", nil, &infos)
	return infos, err
}

// OpenSession opens a session. If it is open with other settings, OpenSession returns an error that
// names the first difference.
func (c *Client) OpenSession(ctx context.Context, name string, s Settings) error {
	if s == nil {
		s = Settings{}
	}
	return c.do(ctx, http.MethodPut, "/v1/sessions/"+url.PathEscape(name), s, nil)
}

// KeepSession is OpenSession for a session without an idle timeout. An open session of that name
// has none from then on.
func (c *Client) KeepSession(ctx context.Context, name string, s Settings) error {
	if s == nil {
		s = Settings{}
	}
	return c.do(ctx, http.MethodPut, "/v1/sessions/"+url.PathEscape(name)+"?keep=true", s, nil)
}

// CloseSession closes a session and its browser.
func (c *Client) CloseSession(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, "/v1/sessions/"+url.PathEscape(name), nil, nil)
}

// MCP returns the URL of MCP's streamable HTTP transport, and an HTTP client whose requests to it
// reach an open session.
func (c *Client) MCP(session string) (url string, client *http.Client) {
	return base + "/mcp", &http.Client{Transport: sessionTransport{c.http.Transport, session}}
}

// A Stream is a connection to a session over MCP's stdio transport.
type Stream interface {
	io.ReadWriteCloser
	// CloseWrite ends the requests. The server then closes the stream after its last response.
	CloseWrite() error
}

// Stream connects to an open session.
func (c *Client) Stream(ctx context.Context, session string) (Stream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/sessions/"+url.PathEscape(session)+"/stream", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", streamProtocol)
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
	return &stream{conn, in}, nil
}

// Close closes the idle connections to the server.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// A sessionTransport adds the name of a session to each request.
type sessionTransport struct {
	http.RoundTripper
	session string
}

func (t sessionTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(SessionHeader, t.session)
	return t.RoundTripper.RoundTrip(r)
}

// responseError returns the error in a response.
func responseError(resp *http.Response) error {
	var f failure
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil || f.Error.Code == "" {
		return fmt.Errorf("the server answered HTTP %d", resp.StatusCode)
	}
	return errs.Errorf(f.Error.Code, f.Error.Hint, "%s", f.Error.Message)
}

// do sends a request and decodes the response into result, which may be nil.
func (c *Client) do(ctx context.Context, method, path string, body, result any) error {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, content)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which is not a real one
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return responseError(resp)
	}
	if result == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(result)
}

package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// servePipe serves an HTTP listener on in-memory connections until the end of the test. closed
// receives the time when the server closes a connection.
func servePipe(t *testing.T) (l *pipeListener, closed <-chan time.Time) {
	return servePipeTLS(t, nil)
}

// servePipeTLS is servePipe with TLS, unless config is nil.
func servePipeTLS(t *testing.T, config *tls.Config) (l *pipeListener, closed <-chan time.Time) {
	return servePipeSession(t, config, endlessWorkspace{failed: make(chan error, 1)})
}

// servePipeSession is servePipeTLS with a session.
func servePipeSession(t *testing.T, config *tls.Config, session Workspace) (l *pipeListener, closed <-chan time.Time) {
	listener, l := listenPipe(t)
	listener.tls = config
	serve := listener.start(New(Options{Open: func(OpenRequest) (Workspace, error) { return session, nil }}))
	times := make(chan time.Time, 4*maxConnections)
	serverState := listener.web.ConnState
	listener.web.ConnState = func(conn net.Conn, state http.ConnState) {
		if serverState(conn, state); state == http.StateClosed {
			times <- time.Now()
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	t.Cleanup(func() {
		listener.web.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
	return l, times
}

// TestHTTPSlowClients checks when clients that send or read too slowly are disconnected, also if
// they send one byte per second.
func TestHTTPSlowClients(t *testing.T) {
	authorized := "Authorization: Bearer " + testToken + "\r\n"
	for _, tt := range []struct {
		name     string
		sent     string // with HOST for the host
		bytes    string // sent after that, repeatedly, one byte per second
		unread   bool   // the client reads nothing
		after    time.Duration
		response string // start of the last one
	}{
		{name: "nothing sent", after: headerTimeout},
		{name: "part of the header", sent: "POST /mcp HTTP/1.1\r\nHost: HOST\r\n", after: headerTimeout},
		{name: "slow header", sent: "POST /mcp HTTP/1.1\r\nHost: HOST\r\n", bytes: "X: y\r\n", after: headerTimeout},
		{name: "no body", sent: "PUT /v1/sessions/a HTTP/1.1\r\nHost: HOST\r\n" + authorized + "Content-Length: 100\r\n\r\n", after: bodyTimeout, response: "HTTP/1.1 400 "},
		{name: "slow body", sent: "POST /mcp HTTP/1.1\r\nHost: HOST\r\n" + authorized + "Content-Length: 100\r\n\r\n", bytes: "{", after: bodyTimeout, response: "HTTP/1.1 400 "},
		{name: "slow chunks", sent: "POST /mcp HTTP/1.1\r\nHost: HOST\r\n" + authorized + "Transfer-Encoding: chunked\r\n\r\n", bytes: "1\r\n{\r\n", after: bodyTimeout, response: "HTTP/1.1 400 "},
		{name: "slow body without token", sent: "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 100\r\n\r\n", bytes: "{", after: bodyTimeout, response: "HTTP/1.1 401 "},
		{name: "slow body of a page", sent: "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n", bytes: "{", after: bodyTimeout, response: "HTTP/1.1 403 "},
		{name: "response not read", sent: "GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n", unread: true, after: writeTimeout},
		{name: "stream not read", sent: "POST /mcp HTTP/1.1\r\nHost: HOST\r\n" + authorized + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(ping), ping), unread: true, after: writeTimeout},
		{name: "no other request", sent: "GET /readyz HTTP/1.1\r\nHost: HOST\r\n" + authorized + "\r\n", after: idleTimeout, response: "HTTP/1.1 200 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, closed := servePipe(t)
				conn := l.dial()
				begin := time.Now()
				response := make(chan string, 1)
				if tt.unread {
					response <- ""
				} else {
					go func() {
						text, _ := io.ReadAll(conn)
						response <- string(text)
					}()
				}
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					_, err := io.WriteString(conn, strings.ReplaceAll(tt.sent, "HOST", l.addr.String()))
					for i := 0; err == nil && tt.bytes != ""; i++ {
						time.Sleep(time.Second)
						_, err = conn.Write([]byte{tt.bytes[i%len(tt.bytes)]})
					}
				}()
				select {
				case at := <-closed:
					if took := at.Sub(begin); took < tt.after || took > tt.after+time.Second {
						t.Errorf("disconnected after %v, want %v", took, tt.after)
					}
				case <-time.After(time.Hour):
					t.Error("still connected after an hour")
					conn.Close()
				}
				if got := <-response; !strings.HasPrefix(got, tt.response) || tt.response == "" && got != "" {
					t.Errorf("response %q, want %q", got, tt.response)
				}
				conn.Close()
				<-sent
			})
		})
	}
}

// TestHTTP2SlowClients checks that an HTTP/2 connection that sends no request is closed as early as
// one of HTTP/1.
func TestHTTP2SlowClients(t *testing.T) {
	site := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate
	site.Close()
	roots := site.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	synctest.Test(t, func(t *testing.T) {
		l, closed := servePipeTLS(t, &tls.Config{Certificates: site.TLS.Certificates, NextProtos: []string{"h2"}})
		client := tls.Client(l.dial(), &tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: []string{"h2"}})
		defer client.Close()
		begin := time.Now()
		go io.Copy(io.Discard, client)
		if _, err := io.WriteString(client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil { // with empty SETTINGS
			t.Fatal(err)
		}
		if took := (<-closed).Sub(begin); took < headerTimeout || took > headerTimeout+time.Second {
			t.Errorf("closed after %v, want %v", took, headerTimeout)
		}
	})
}

// TestHTTP2RequestsOfPrincipal checks that the requests in progress of a principal are limited on
// all its connections together, and that other principals are served.
func TestHTTP2RequestsOfPrincipal(t *testing.T) {
	site := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate
	site.Close()
	roots := site.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	synctest.Test(t, func(t *testing.T) {
		l, _ := servePipeTLS(t, &tls.Config{Certificates: site.TLS.Certificates, NextProtos: []string{"h2"}})
		dialed := 0
		transport := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dialed++
			conn := tls.Client(l.dial(), &tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: []string{"h2"}})
			return conn, conn.HandshakeContext(ctx)
		}}
		defer transport.CloseIdleConnections()
		request := func(token, method, path string, body io.Reader) int {
			r, err := http.NewRequestWithContext(t.Context(), method, "https://"+l.addr.String()+path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			if body != nil {
				r.ContentLength = 2 // more would be reserved for an unknown length
			}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				return 0 // the test has ended
			}
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.StatusCode
		}
		// Their bodies do not arrive.
		var unsent []*io.PipeWriter
		statuses := make(chan int, 2*maxPrincipalRequests)
		start := func() {
			body, w := io.Pipe()
			unsent = append(unsent, w)
			go func() { statuses <- request(testToken, http.MethodPut, "/v1/sessions/a", body) }()
			synctest.Wait()
		}
		for range maxPrincipalRequests {
			start()
		}
		if len(statuses) > 0 {
			t.Fatalf("status %d within the limit", <-statuses)
		}
		if n := (maxPrincipalRequests + maxStreams - 1) / maxStreams; dialed < n {
			t.Errorf("%d connections, want at least %d", dialed, n)
		}
		start()
		if len(statuses) != 1 || <-statuses != http.StatusTooManyRequests {
			t.Error("the limit is exceeded")
		}
		if got := request(otherToken, http.MethodGet, "/readyz", nil); got != http.StatusOK {
			t.Errorf("another principal: status %d", got)
		}
		for _, w := range unsent {
			go func() { _, _ = io.WriteString(w, "{}") }()
		}
		for range maxPrincipalRequests {
			<-statuses
		}
		if got := request(testToken, http.MethodGet, "/readyz", nil); got != http.StatusOK {
			t.Errorf("afterwards: status %d", got)
		}
	})
}

// ready requests /readyz on a connection and returns the status of the response.
func ready(t *testing.T, conn net.Conn, host net.Addr) int {
	t.Helper()
	fmt.Fprintf(conn, "GET /readyz HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", host, testToken)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// TestHTTPHalfOpenConnections opens more connections than the server accepts, which send no token.
// Clients with a token connect immediately, and their connections stay open.
func TestHTTPHalfOpenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, closed := servePipe(t)
		begin := time.Now()
		old := l.dial()
		if got := ready(t, old, l.addr); got != http.StatusOK {
			t.Fatalf("status %d", got)
		}
		for i := range 2 * maxConnections {
			conn := l.dial()
			if i%2 == 0 {
				fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\n", l.addr)
			}
		}
		synctest.Wait()
		if n := len(closed); n != maxConnections+1 {
			t.Errorf("%d connections were closed, want %d", n, maxConnections+1)
		}
		if got := ready(t, l.dial(), l.addr); got != http.StatusOK {
			t.Errorf("a new connection: status %d", got)
		}
		if got := ready(t, old, l.addr); got != http.StatusOK {
			t.Errorf("an open connection: status %d", got)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestHTTPConnectionsOfPrincipal checks that a principal has a limited number of connections, which
// does not affect others.
func TestHTTPConnectionsOfPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, closed := servePipe(t)
		conns := make([]net.Conn, maxPrincipalConnections)
		for i := range conns {
			conns[i] = l.dial()
			if got := ready(t, conns[i], l.addr); got != http.StatusOK {
				t.Fatalf("connection %d: status %d", i, got)
			}
		}
		excess := l.dial()
		if got := ready(t, excess, l.addr); got != http.StatusTooManyRequests {
			t.Errorf("beyond the limit: status %d", got)
		}
		synctest.Wait()
		if len(closed) != 1 {
			t.Errorf("%d connections were closed, want 1", len(closed))
		}
		if got := ready(t, conns[0], l.addr); got != http.StatusOK {
			t.Errorf("an open connection: status %d", got)
		}
		conns[1].Close()
		synctest.Wait()
		if got := ready(t, l.dial(), l.addr); got != http.StatusOK {
			t.Errorf("after a connection was closed: status %d", got)
		}
	})
}

// TestHTTPConnectionsAreEnough checks that all principals together cannot use all connections.
func TestHTTPConnectionsAreEnough(t *testing.T) {
	listener, err := ListenHTTP(HTTPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for range 3 {
		for range 20 {
			p := &Principal{}
			listener.AddTokens(Credential{Principal: p}, Credential{Principal: p})
		}
		if all := maxPrincipalConnections * len(listener.tokens) / 2; listener.connections() <= all {
			t.Errorf("%d connections, of which principals can use %d", listener.connections(), all)
		}
	}
}

// A bulkyWorkspace answers each call with a quarter of what a principal may leave unread.
type bulkyWorkspace struct {
	fakeWorkspace
	sent chan error
}

func (s bulkyWorkspace) ServeTool(w http.ResponseWriter, _ *http.Request, _ string) {
	_, err := w.Write(make([]byte, maxUnsent/4))
	s.sent <- err
}

// TestHTTPUnreadResponses checks that the responses which a principal does not read use limited memory:
// it is disconnected from the next one. Other principals are served.
func TestHTTPUnreadResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := bulkyWorkspace{sent: make(chan error, 8)}
		l, _ := servePipeSession(t, nil, session)
		call := func(token string) net.Conn {
			conn := l.dial()
			fmt.Fprintf(conn, "POST /v1/sessions/a/tools/snapshot HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", l.addr, token)
			synctest.Wait()
			return conn
		}
		unread := make([]net.Conn, 4)
		for i := range unread {
			unread[i] = call(testToken)
		}
		if len(session.sent) > 0 {
			t.Fatalf("within the limit: %v", <-session.sent)
		}
		next := call(testToken)
		if len(session.sent) != 1 {
			t.Fatal("the limit is exceeded")
		}
		if err := <-session.sent; errs.CodeOf(err) != errs.ErrBackpressure {
			t.Errorf("beyond the limit: %v", err)
		}
		begin := time.Now()
		if text, err := io.ReadAll(next); len(text) > 0 || err != nil || time.Since(begin) > 0 {
			t.Errorf("beyond the limit: %q, %v after %v, want a closed connection", text, err, time.Since(begin))
		}
		read := func(what string, conn net.Conn) {
			t.Helper()
			go io.Copy(io.Discard, conn)
			if err := <-session.sent; err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		read("another principal", call(otherToken))
		read("the first response", unread[0])
		read("the next response", call(testToken))
		for _, conn := range unread {
			conn.Close()
		}
	})
}

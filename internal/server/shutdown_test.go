package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A drainWorkspace makes one limited call for each request. The call ends when proceed is closed.
type drainWorkspace struct {
	limit   func(context.Context) (release func(), err error)
	called  chan struct{}
	proceed chan struct{}
	closed  chan struct{} // by Close
}

func (s *drainWorkspace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // a client that waits for messages
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		<-s.closed
		return
	}
	release, err := s.limit(r.Context())
	if err != nil {
		failMCP(w, r, err)
		return
	}
	s.called <- struct{}{}
	select {
	case <-s.proceed:
	case <-s.closed:
	}
	release()
	fmt.Fprint(w, "result")
}

func (s *drainWorkspace) ServeTool(w http.ResponseWriter, r *http.Request, _ string) {
	s.ServeHTTP(w, r)
}

func (s *drainWorkspace) HasState() bool { return true }
func (*drainWorkspace) HandedOver() bool { return false }

func (s *drainWorkspace) ServeStream(stream io.ReadWriteCloser) error {
	<-s.closed
	return stream.Close()
}

func (s *drainWorkspace) ServeDevTools(w http.ResponseWriter, r *http.Request) error {
	s.ServeHTTP(w, r)
	return nil
}

func (s *drainWorkspace) Close(string) error {
	close(s.closed)
	return nil
}

// startDraining starts a server with a running call and a waiting client, and returns the response
// to the call.
func startDraining(t *testing.T) (*fixture, *drainWorkspace, <-chan string) {
	t.Helper()
	ws := &drainWorkspace{called: make(chan struct{}), proceed: make(chan struct{}), closed: make(chan struct{})}
	f, socket := startPipe(t, Options{Open: func(r OpenRequest) (Workspace, error) {
		ws.limit = r.Limit
		return ws, nil
	}})
	if err := f.OpenSession(t.Context(), "a", nil, false); err != nil {
		t.Fatal(err)
	}
	response := make(chan string, 1)
	send := func(method string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, base+"/mcp", nil)
		if err != nil {
			return err.Error()
		}
		resp, err := workspaceTransport{f.Client, "a"}.RoundTrip(req)
		if err != nil {
			return err.Error()
		}
		if method == http.MethodGet {
			t.Cleanup(func() { resp.Body.Close() })
			return ""
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(body), errors.Join(err))
	}
	if failed := send(http.MethodGet); failed != "" {
		t.Fatal(failed)
	}
	openStream(t, socket, "a")
	go func() { response <- send(http.MethodPost) }()
	<-ws.called
	return f, ws, response
}

// TestStopDrainsCalls checks that a running call finishes when the server stops, and that clients
// which wait for messages do not delay the end.
func TestStopDrainsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ws, response := startDraining(t)
		start := time.Now()
		if err := f.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(timing.Default().ServerDrain / 2)
		select {
		case err := <-f.ended:
			t.Fatalf("the server ended during a call: %v", err)
		case <-ws.closed:
			t.Fatal("the session was closed during a call")
		default:
		}
		close(ws.proceed)
		if got := <-response; !strings.HasPrefix(got, "200 result") {
			t.Errorf("the call returned %s", got)
		}
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d >= timing.Default().ServerDrain {
			t.Errorf("the end took %v", d)
		}
	})
}

// TestStopEndsLongCalls checks that a call which does not finish in time is ended.
func TestStopEndsLongCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ws, response := startDraining(t)
		start := time.Now()
		if err := f.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ws.closed
		if d := time.Since(start); d != timing.Default().ServerDrain {
			t.Errorf("the call had %v", d)
		}
		if got := <-response; !strings.HasPrefix(got, "200 result") {
			t.Errorf("the call returned %s", got)
		}
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
	})
}

// TestStopWithHalfOpenConnections stops a server while connections have sent a part of a request.
func TestStopWithHalfOpenConnections(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, l := listenPipe(t)
				f, socket := startPipe(t, Options{HTTP: web})
				header := fmt.Sprintf("Host: %s\r\nAuthorization: Bearer %s\r\n", l.addr, testToken)
				dial := func() net.Conn {
					conns := l
					if network == "unix" {
						conns = socket
					}
					conn := conns.dial()
					t.Cleanup(func() { conn.Close() })
					return conn
				}
				if err := f.OpenSession(t.Context(), "a", nil, false); err != nil {
					t.Fatal(err)
				}
				for _, sent := range []string{"", "POST /mcp HT", "POST /mcp HTTP/1.1\r\n" + header, "PUT /v1/sessions/b HTTP/1.1\r\n" + header + "Content-Length: 100\r\n\r\n{"} {
					if _, err := io.WriteString(dial(), sent); err != nil {
						t.Fatal(err)
					}
				}
				// A client that reads no response.
				conn := dial()
				conn.SetWriteDeadline(time.Now().Add(time.Second))
				in := bufio.NewWriter(conn)
				for err := error(nil); err == nil; {
					_, err = io.WriteString(in, "GET /v1/sessions HTTP/1.1\r\n"+header+"\r\n")
				}
				start := time.Now()
				if err := f.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := <-f.ended; err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d >= timing.Default().ServerDrain {
					t.Errorf("the end took %v", d)
				}
				<-socket.closed
				<-l.closed
			})
		})
	}
}

// TestStopRejectsCalls checks that a call on an open connection is rejected while the server
// drains.
func TestStopRejectsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, ws, response := startDraining(t)
		if err := f.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until Serve has noticed
		_, err := ws.limit(t.Context())
		wantError(t, err, errs.ErrNoBackend, "the server is stopping")
		close(ws.proceed)
		<-response
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
	})
}

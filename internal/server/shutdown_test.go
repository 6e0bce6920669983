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
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A drainSession makes one limited call for each request. The call ends when proceed is closed.
type drainSession struct {
	limit   func(context.Context) (release func(), err error)
	called  chan struct{}
	proceed chan struct{}
	closed  chan struct{} // by Close
}

func (s *drainSession) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

func (s *drainSession) ServeTool(w http.ResponseWriter, r *http.Request, _ string) { s.ServeHTTP(w, r) }

func (s *drainSession) HasBrowser() bool { return true }
func (*drainSession) HandedOver() bool   { return false }

func (s *drainSession) ServeStream(stream io.ReadWriteCloser) error {
	<-s.closed
	return stream.Close()
}

func (s *drainSession) ServeDevTools(w http.ResponseWriter, r *http.Request) error {
	s.ServeHTTP(w, r)
	return nil
}

func (s *drainSession) Close(string) error {
	close(s.closed)
	return nil
}

// startDraining starts a server with a running call and a waiting client, and returns the response
// to the call.
func startDraining(t *testing.T) (*fixture, *drainSession, <-chan string) {
	ses := &drainSession{called: make(chan struct{}), proceed: make(chan struct{}), closed: make(chan struct{})}
	f := start(t, Options{Open: func(r OpenRequest) (Session, error) {
		ses.limit = r.Limit
		return ses, nil
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
		resp, err := sessionTransport{f.Client, "a"}.RoundTrip(req)
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
	stream, err := f.Stream(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stream.Close() })
	go func() { response <- send(http.MethodPost) }()
	<-ses.called
	return f, ses, response
}

// TestStopDrainsCalls checks that a running call finishes when the server stops, and that clients
// which wait for messages do not delay the end.
func TestStopDrainsCalls(t *testing.T) {
	f, ses, response := startDraining(t)
	start := time.Now()
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-f.ended:
		t.Fatalf("the server ended during a call: %v", err)
	case <-ses.closed:
		t.Fatal("the session was closed during a call")
	case <-time.After(200 * time.Millisecond):
	}
	close(ses.proceed)
	if got := <-response; !strings.HasPrefix(got, "200 result") {
		t.Errorf("the call returned %s", got)
	}
	if err := <-f.ended; err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > timing.Default().ServerDrain {
		t.Errorf("the end took %v", d)
	}
}

// TestStopEndsLongCalls checks that a call which does not finish in time is ended.
func TestStopEndsLongCalls(t *testing.T) {
	f, ses, response := startDraining(t)
	start := time.Now()
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ses.closed
	if d := time.Since(start); d < timing.Default().ServerDrain {
		t.Errorf("the call had %v", d)
	}
	if got := <-response; !strings.HasPrefix(got, "200 result") {
		t.Errorf("the call returned %s", got)
	}
	if err := <-f.ended; err != nil {
		t.Error(err)
	}
}

// TestStopWithHalfOpenConnections stops a server while connections have sent a part of a request.
func TestStopWithHalfOpenConnections(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			f, url := startHTTP(t, Options{}, HTTPOptions{})
			address, header := SocketPath(f.dir), "Host: x\r\n"
			if network == "tcp" {
				address = strings.TrimPrefix(url, "http://")
				header = fmt.Sprintf("Host: %s\r\nAuthorization: Bearer %s\r\n", address, testToken)
			}
			dial := func() net.Conn {
				conn, err := net.Dial(network, address)
				if err != nil {
					t.Fatal(err)
				}
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
			conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
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
			if d := time.Since(start); d > timing.Default().ServerDrain {
				t.Errorf("the end took %v", d)
			}
			if _, err := f.Status(t.Context()); !errors.Is(err, ErrNotRunning) {
				t.Errorf("after the end: %v", err)
			}
			if conn, err := net.Dial(network, address); err == nil {
				conn.Close()
				t.Errorf("%s is still open", address)
			}
		})
	}
}

// TestStopRejectsCalls checks that a call on an open connection is rejected while the server
// drains.
func TestStopRejectsCalls(t *testing.T) {
	f, ses, response := startDraining(t)
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for { // until Serve has noticed
		release, err := ses.limit(t.Context())
		if err != nil {
			wantError(t, err, errs.ErrNoBackend, "the server is stopping")
			break
		}
		release()
	}
	close(ses.proceed)
	<-response
	if err := <-f.ended; err != nil {
		t.Error(err)
	}
}

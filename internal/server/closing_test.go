package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// startClosing opens the session a of ann and starts to close it. The session closes when h.ending
// is closed.
func startClosing(h *harness) {
	h.t.Helper()
	h.ending = make(chan struct{})
	h.want(200, "ann/a", ann, "POST", "/mcp", SessionHeader, "a")
	go h.want(204, "", ann, "DELETE", "/v1/sessions/a")
	synctest.Wait()
}

// TestClosingSession checks what requests get while their session is being closed.
func TestClosingSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{})
		startClosing(h)
		h.want(200, "[]", ann, "GET", "/v1/sessions")
		h.want(200, `"sessions":0`, ann, "GET", "/v1/server")
		if n := h.server.openWorkspaces(); n != 0 {
			t.Errorf("%d sessions are open", n)
		}
		h.want(404, `SESSION_ENDED: session \"a\" ended: a client closed it`, ann, "GET", "/mcp", SessionHeader, "a")
		h.want(404, "not found", ann, "DELETE", "/v1/sessions/a")
		h.want(404, "SESSION_ENDED", ann, "POST", "/v1/sessions/a/tools/snapshot") // the next call opens it
		opened := make(chan int, 3)
		for _, r := range [][]string{{"PUT", "/v1/sessions/a"}, {"POST", "/mcp", SessionHeader, "a"}, {"POST", "/v1/sessions/a/tools/snapshot"}} {
			body := map[bool]string{true: "{}", false: ping}[r[0] == "PUT"]
			go func() {
				status, _, _ := h.send(ann, r[0], r[1], body, r[2:]...)
				opened <- status
			}()
		}
		synctest.Wait()
		if len(opened) > 0 || len(h.opened) != 1 {
			t.Fatalf("opened %v before the old session was closed", h.opened)
		}
		close(h.ending)
		for range cap(opened) {
			if status := <-opened; status >= 300 {
				t.Errorf("status %d", status)
			}
		}
		h.wantClosed("ann/a")
		if got := strings.Join(h.opened, " "); got != "ann/a ann/a" {
			t.Errorf("opened %s", got)
		}
	})
}

// TestClosingSessionWaitEnds checks that a request does not wait for the end of a session longer
// than its client.
func TestClosingSessionWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{})
		startClosing(h)
		ctx, cancel := context.WithTimeout(withPrincipal(t.Context(), ann), time.Minute)
		defer cancel()
		start := time.Now()
		if _, err := h.server.open(ctx, ann, clientID{}, "a", nil, false); err != context.DeadlineExceeded || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		close(h.ending)
	})
}

// TestClosingSessionsCount checks that a session counts until it is closed.
func TestClosingSessionsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{})
		h.want(200, "ann/b", ann, "POST", "/mcp", SessionHeader, "b")
		startClosing(h)
		status, body, header := h.send(ann, "POST", "/mcp", ping, SessionHeader, "c")
		if status != http.StatusTooManyRequests || !strings.Contains(body, "2 sessions are open, the maximum for this token; 1 of them is being closed") || header.Get("Retry-After") == "" {
			t.Errorf("beyond the limit: %d %s", status, body)
		}
		close(h.ending)
		synctest.Wait()
		h.want(200, "ann/c", ann, "POST", "/mcp", SessionHeader, "c")
	})
}

// TestStopWaitsForClosingSessions checks that a server which stops waits for a session that a
// client closes at the same time, and opens no other one, but not forever.
func TestStopWaitsForClosingSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{})
		startClosing(h)
		opened := make(chan int, 1)
		go func() {
			status, _, _ := h.send(ann, "POST", "/mcp", ping, SessionHeader, "a")
			opened <- status
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), timing.Default().CloseSessions)
		defer cancel()
		start := time.Now()
		if err := h.server.closeAll(ctx); err == nil || !strings.Contains(err.Error(), `session "a" did not close in time`) || time.Since(start) != timing.Default().CloseSessions {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.AfterFunc(time.Second, func() { close(h.ending) })
		if err := h.server.closeAll(t.Context()); err != nil {
			t.Error(err)
		}
		h.wantClosed("ann/a")
		if status := <-opened; status != http.StatusServiceUnavailable || len(h.opened) != 1 {
			t.Errorf("status %d, opened %v", status, h.opened)
		}
	})
}

// A failingWorkspace cannot be closed.
type failingWorkspace struct{ fakeWorkspace }

var errFailing = errors.New("the browser did not exit")

func (failingWorkspace) Close(string) error { return errFailing }

// TestCloseErrors checks that the errors of sessions are reported, by the server that stops too.
func TestCloseErrors(t *testing.T) {
	s := New(Options{Open: func(OpenRequest) (Workspace, error) { return failingWorkspace{}, nil }})
	for _, name := range []string{"a", "b"} {
		if _, err := s.open(t.Context(), osUser, clientID{}, name, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(osUser, "a", "a client closed it"); err != errFailing {
		t.Error(err)
	}
	if err := s.closeAll(t.Context()); !errors.Is(err, errFailing) {
		t.Error(err)
	}
	_, err := s.open(t.Context(), osUser, clientID{}, "a", nil, false)
	wantError(t, err, errs.ErrNoBackend, "the server is stopping")
}

// TestIdleTimerAndUse checks that an idle timer which fires when a request begins or has just ended
// does not end the session.
func TestIdleTimerAndUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{SessionIdle: time.Minute})
		h.want(204, "", osUser, "PUT", "/v1/sessions/a")
		ws, release, err := h.server.use(t.Context(), clientID{}, "a", mustBeOpen)
		if err != nil {
			t.Fatal(err)
		}
		h.server.endIdle(ws)
		h.wantClosed()
		release()
		h.server.endIdle(ws)
		h.wantClosed()
		time.Sleep(time.Minute + 1)
		synctest.Wait()
		h.wantClosed("/a")
	})
}

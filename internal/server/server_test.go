package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A fakeWorkspace answers each request with its name.
type fakeWorkspace struct {
	name   string
	closed *atomic.Int32
}

func (s fakeWorkspace) ServeHTTP(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s.name) }

// ServeTool answers with its name and the tool.
func (s fakeWorkspace) ServeTool(w http.ResponseWriter, _ *http.Request, tool string) {
	fmt.Fprint(w, s.name, " ", tool)
}

// ServeStream echoes what it receives, until the client ends its output.
func (s fakeWorkspace) ServeStream(stream io.ReadWriteCloser) error {
	_, err := io.Copy(stream, stream)
	return errors.Join(err, stream.Close())
}

// ServeDevTools answers with its name and the path.
func (s fakeWorkspace) ServeDevTools(w http.ResponseWriter, r *http.Request) error {
	fmt.Fprint(w, s.name, " ", r.URL.Path)
	return nil
}

func (s fakeWorkspace) HasState() bool { return true }
func (fakeWorkspace) HandedOver() bool { return false }

func (s fakeWorkspace) Close(string) error {
	s.closed.Add(1)
	return nil
}

// A fixture is a server that runs, with a client.
type fixture struct {
	*Client
	server         *Server
	dir            string
	opened, closed atomic.Int32
	ended          chan error // result of Serve
}

// OpenSession is Client.OpenSession without its first result.
func (f *fixture) OpenSession(ctx context.Context, name string, s Settings, keep bool) error {
	_, err := f.Client.OpenSession(ctx, name, s, keep)
	return err
}

func start(t *testing.T, opts Options) *fixture {
	t.Helper()
	dir := shortDir(t)
	l, err := Listen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	f := serve(t, opts, l, l.Release, NewClient(SocketPath(dir)))
	f.dir = dir
	return f
}

// serve starts a server on a listener. release is called when it has ended.
func serve(t *testing.T, opts Options, l net.Listener, release func(), client *Client) *fixture {
	f := &fixture{Client: client, ended: make(chan error, 1)}
	if opts.Open == nil {
		opts.Open = func(r OpenRequest) (Workspace, error) {
			f.opened.Add(1)
			return fakeWorkspace{r.Name, &f.closed}, nil
		}
	}
	f.server = New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer release()
		f.ended <- f.server.Serve(ctx, l)
	}()
	t.Cleanup(func() {
		f.Client.Close()
		cancel()
		<-done
	})
	return f
}

// shortDir returns a temporary directory whose path leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "srv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// wantError checks the code and the text of an error.
func wantError(t *testing.T, err error, code errs.Code, text string) {
	t.Helper()
	if errs.CodeOf(err) != code || err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %s with %q", err, code, text)
	}
}

func TestSessions(t *testing.T) {
	f := start(t, Options{Version: "1"})
	ctx := t.Context()
	st, err := f.Status(ctx)
	if err != nil || st.Version != "1" || st.PID != os.Getpid() || st.Sessions != 0 {
		t.Fatalf("status %+v, %v", st, err)
	}
	var opening sync.WaitGroup
	for range 10 {
		opening.Go(func() {
			if err := f.OpenSession(ctx, "work", Settings{"--allow-domain": {"example.com"}}, false); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	if n := f.opened.Load(); n != 1 {
		t.Errorf("10 concurrent calls opened %d sessions", n)
	}
	if err := f.OpenSession(ctx, "test", nil, false); err != nil {
		t.Fatal(err)
	}
	infos, err := f.Sessions(ctx)
	if err != nil || len(infos) != 2 || infos[0].Name != "test" || infos[1].Name != "work" {
		t.Fatalf("sessions %+v, %v", infos, err)
	}
	if got := f.request(t, "work"); got != "200 work" {
		t.Errorf("a request for work got %q", got)
	}
	if got := f.request(t, "none"); !strings.HasPrefix(got, "404 ") || !strings.Contains(got, `session \"none\" not found`) {
		t.Errorf("a request for an unknown session got %q", got)
	}
	if err := f.CloseSession(ctx, "work"); err != nil || f.closed.Load() != 1 {
		t.Errorf("closing: %v, closed %d", err, f.closed.Load())
	}
	wantError(t, f.CloseSession(ctx, "work"), errs.ErrBadArgs, `session "work" not found`)
	if got := f.request(t, "work"); !strings.HasPrefix(got, "404 ") {
		t.Errorf("a request for a closed session got %q", got)
	}
	wantError(t, f.OpenSession(ctx, "../x", nil, false), errs.ErrBadArgs, "invalid session name")
}

// request sends a request to a session and returns status and body.
func (f *fixture) request(t *testing.T, session string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := workspaceTransport{f.Client, session}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body strings.Builder
	if err := resp.Write(&body); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(body.String(), "\r\n\r\n")
	return strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, text))
}

func TestStream(t *testing.T) {
	f := start(t, Options{})
	_, err := f.Stream(t.Context(), "a")
	wantError(t, err, errs.ErrBadArgs, `session "a" not found`)
	if err := f.OpenSession(t.Context(), "a", nil, false); err != nil {
		t.Fatal(err)
	}
	s, err := f.Stream(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := io.WriteString(s, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(s); err != nil || string(got) != "hello" {
		t.Errorf("the stream returned %q, %v", got, err)
	}
}

func TestSessionSettingsConflict(t *testing.T) {
	f := start(t, Options{})
	ctx := t.Context()
	opened := Settings{"--allow-domain": {"example.com"}, "--headless": {"true"}}
	if err := f.OpenSession(ctx, DefaultSession, opened, false); err != nil {
		t.Fatal(err)
	}
	for _, same := range []Settings{opened, nil, {"--headless": {"true"}}} {
		if err := f.OpenSession(ctx, DefaultSession, same, false); err != nil {
			t.Errorf("%v: %v", same, err)
		}
	}
	for text, other := range map[string]Settings{
		`--allow-domain is ["example.com"] there, not ["example.org"]`:               {"--allow-domain": {"example.org"}},
		`--allow-domain is ["example.com"] there, not ["example.com" "example.org"]`: {"--allow-domain": {"example.com", "example.org"}},
		`--enable-mutations is unset there, not ["true"]`:                            {"--headless": {"true"}, "--enable-mutations": {"true"}},
		`other settings: --cdp-endpoint differs; --proxy differs; browsers differs`:  {"--cdp-endpoint": {"wss://h/?token=SECRET"}, "--proxy": {"http://ann:SECRET@proxy"}, "browsers": {"SECRET"}},
	} {
		err := f.OpenSession(ctx, DefaultSession, other, false)
		wantError(t, err, errs.ErrBadArgs, text)
		if e, ok := errors.AsType[*errs.Error](err); !ok || !strings.Contains(e.Hint, "`chrome-mcp sessions close "+DefaultSession+"`") {
			t.Errorf("hint of %v", err)
		}
		if strings.Contains(fmt.Sprint(err), "SECRET") {
			t.Errorf("the error has a secret: %v", err)
		}
	}
}

func TestFailedOpenLeavesNoSession(t *testing.T) {
	fails := true
	f := start(t, Options{Open: func(r OpenRequest) (Workspace, error) {
		if fails {
			return nil, errs.Errorf(errs.ErrLaunchFailed, "Try again.", "no memory")
		}
		return fakeWorkspace{r.Name, new(atomic.Int32)}, nil
	}})
	err := f.OpenSession(t.Context(), "a", nil, false)
	wantError(t, err, errs.ErrLaunchFailed, "no memory")
	if e, ok := errors.AsType[*errs.Error](err); !ok || e.Hint != "Try again." {
		t.Errorf("the hint is lost: %+v", err)
	}
	if infos, err := f.Sessions(t.Context()); err != nil || len(infos) != 0 {
		t.Errorf("sessions %+v, %v", infos, err)
	}
	fails = false
	if err := f.OpenSession(t.Context(), "a", nil, false); err != nil {
		t.Error(err)
	}
}

func TestStopClosesSessions(t *testing.T) {
	f := start(t, Options{})
	for _, name := range []string{"a", "b"} {
		if err := f.OpenSession(t.Context(), name, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-f.ended; err != nil || f.closed.Load() != 2 {
		t.Errorf("Serve returned %v and closed %d sessions", err, f.closed.Load())
	}
	if _, err := f.Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the end: %v", err)
	}
}

// TestServerExitsBeforeAnswer checks that a read reports no running server if the server closes the
// connection instead of answering, and that a change reports the failure: it may have been made.
func TestServerExitsBeforeAnswer(t *testing.T) {
	dir := shortDir(t)
	socket, err := Listen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Release()
	go func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(conn))
			conn.Close()
		}
	}()
	client := NewClient(SocketPath(dir))
	if _, err := client.Sessions(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("a read returned %v", err)
	}
	if err := client.CloseSession(t.Context(), "a"); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("a change returned %v", err)
	}
}

// TestIdleTimeout checks that a server ends after its idle timeout, but not during a request.
func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = time.Minute
		release := make(chan struct{})
		f, _ := startPipe(t, Options{IdleTimeout: timeout, Open: func(r OpenRequest) (Workspace, error) {
			<-release
			return fakeWorkspace{r.Name, new(atomic.Int32)}, nil
		}})
		time.Sleep(timeout - 1)
		opened := make(chan error, 1)
		go func() { opened <- f.OpenSession(t.Context(), "a", nil, false) }()
		time.Sleep(10 * timeout)
		select {
		case err := <-f.ended:
			t.Fatalf("the server ended during a request: %v", err)
		default:
		}
		close(release)
		if err := <-opened; err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < timeout || took > timeout+timing.Default().CloseConnections {
			t.Errorf("the server ended after %v, want %v", took, timeout)
		}
	})
}

func TestSocket(t *testing.T) {
	t.Run("second server", func(t *testing.T) {
		f := start(t, Options{})
		_, err := Listen(t.Context(), f.dir)
		wantError(t, err, errs.ErrBackpressure, "another server uses the data directory")
		if _, err := f.Status(t.Context()); err != nil {
			t.Errorf("the first server: %v", err)
		}
	})
	t.Run("server that is stopping", func(t *testing.T) {
		dir := shortDir(t)
		client := NewClient(SocketPath(dir))
		defer client.Close()
		if err := client.WaitStopped(t.Context(), Status{}); err != nil {
			t.Errorf("without a data directory: %v", err)
		}
		old, err := Listen(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := New(Options{}).Serve(ctx, old); err != nil {
			t.Fatal(err)
		}
		// Its browsers still run.
		short, cancel := context.WithTimeout(t.Context(), StopTimeout/300)
		defer cancel()
		if _, err := Listen(short, dir); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a new server: %v", err)
		}
		if err := client.WaitStopped(short, Status{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client: %v", err)
		}
		old.Release()
		if err := client.WaitStopped(t.Context(), Status{}); err != nil {
			t.Errorf("a client after the end: %v", err)
		}
		next, err := Listen(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		old.Release() // does not affect the next one
		if _, err := Listen(t.Context(), dir); errs.CodeOf(err) != errs.ErrBackpressure {
			t.Errorf("a third server: %v", err)
		}
		next.Release()
	})
	t.Run("next server", func(t *testing.T) {
		f := start(t, Options{})
		if err := f.WaitStopped(t.Context(), Status{Started: time.Now().AddDate(0, 0, -1)}); err != nil {
			t.Errorf("waiting for an earlier server: %v", err)
		}
	})
	t.Run("socket of a killed server", func(t *testing.T) {
		dir := shortDir(t)
		if err := os.MkdirAll(filepath.Dir(SocketPath(dir)), 0o700); err != nil {
			t.Fatal(err)
		}
		dead, err := net.Listen("unix", SocketPath(dir))
		if err != nil {
			t.Fatal(err)
		}
		dead.(*net.UnixListener).SetUnlinkOnClose(false)
		dead.Close()
		if _, err := NewClient(SocketPath(dir)).Status(t.Context()); !errors.Is(err, ErrNotRunning) {
			t.Errorf("a client: %v", err)
		}
		l, err := Listen(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		l.Release()
	})
	t.Run("another file", func(t *testing.T) {
		dir := shortDir(t)
		if err := os.MkdirAll(filepath.Dir(SocketPath(dir)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(SocketPath(dir), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Listen(t.Context(), dir)
		wantError(t, err, errs.ErrLaunchFailed, "not a socket")
		if data, err := os.ReadFile(SocketPath(dir)); err != nil || string(data) != "mine" {
			t.Errorf("the file contains %q, %v", data, err)
		}
		_, err = NewClient(SocketPath(dir)).Status(t.Context())
		wantError(t, err, errs.ErrLaunchFailed, "not a socket")
	})
	t.Run("long path", func(t *testing.T) {
		_, err := Listen(t.Context(), filepath.Join(shortDir(t), strings.Repeat("x", 100)))
		wantError(t, err, errs.ErrBadArgs, "longer than")
	})
	t.Run("no server", func(t *testing.T) {
		if _, err := NewClient(SocketPath(shortDir(t))).Status(t.Context()); !errors.Is(err, ErrNotRunning) {
			t.Error(err)
		}
	})
}

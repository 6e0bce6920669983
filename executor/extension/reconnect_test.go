package extension

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	extfiles "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/steps"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A testSite serves pages that show their own path. The response to /hangs waits for a value in
// proceed.
type testSite struct {
	*httptest.Server
	requested chan struct{} // receives a value for each request for /hangs
	proceed   chan struct{}
}

func newTestSite(t *testing.T) *testSite {
	s := &testSite{requested: make(chan struct{}, 16), proceed: make(chan struct{}, 16)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			s.requested <- struct{}{}
			select {
			case <-s.proceed:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><p>this is %[1]s</p>", r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

// startServer starts a bridge server with the data directory data.
func startServer(t testing.TB, data, name string, log *slog.Logger) *bridge.Server {
	t.Helper()
	server, err := bridge.New(&bridge.Options{
		DataDir: data, ExtensionID: extfiles.ID(), Port: bridge.AnyPort, Name: name, Logger: log,
		Policy: func() bridge.Policy { return bridge.Policy{Allow: []string{"127.0.0.1"}, Subresources: "public"} },
	})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// A testEnv is a user's Chrome with the extension, a site, and a server with one client.
type testEnv struct {
	t      *testing.T
	server *bridge.Server
	b      *Backend
	s      executor.Executor
	u      *userBrowser
	site   *testSite
}

// newTestEnv starts the server, the browser and the client, and waits until the extension is
// connected.
func newTestEnv(t *testing.T, log *slog.Logger, opts userBrowserOptions) *testEnv {
	env := &testEnv{t: t, site: newTestSite(t)}
	data := filepath.Join(t.TempDir(), "data")
	env.server = startServer(t, data, "first", log)
	env.u = newUserBrowser(t, data, opts)
	env.b, env.s = newClient(t, env.server)
	waitConnected(t, env.b)
	return env
}

// newClient returns a backend on server and a session of the backend.
func newClient(t *testing.T, server *bridge.Server) (*Backend, executor.Executor) {
	t.Helper()
	b := newBackend(t, server)
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	return b, s
}

// newGuardedSession opens a session with a guard for the policy conf. The session is closed when
// the test ends.
func (env *testEnv) newGuardedSession(conf policy.Config) executor.Executor {
	env.u.t.Helper()
	p, err := policy.New(conf)
	if err != nil {
		env.u.t.Fatal(err)
	}
	guard := policy.NewGuard(p, nil)
	s, err := env.b.NewSession(&executor.SessionOptions{Gate: guard})
	if err != nil {
		env.u.t.Fatal(err)
	}
	env.u.t.Cleanup(func() { s.Close() })
	return guard.Wrap(s)
}

// share opens a page and shares it, as the user does.
func (env *testEnv) share(path string) (tab int, id executor.TabID) {
	env.t.Helper()
	tab = env.u.open(env.site.URL + path)
	env.u.toggle(tab)
	return tab, env.waitListed(path)
}

// waitListed waits until the page at path is listed and returns the id of its tab.
func (env *testEnv) waitListed(path string) executor.TabID {
	env.t.Helper()
	var id executor.TabID
	await.Until(env.t, path+" in the list", func() bool {
		tabs, err := env.s.Tabs(env.t.Context())
		if err != nil {
			env.t.Fatal(err)
		}
		for _, tab := range tabs {
			if tab.URL == env.site.URL+path {
				id = tab.ID
			}
		}
		return id != ""
	})
	return id
}

// waitForPage waits until the tab shows the page of testSite at path.
func waitForPage(t testing.TB, s executor.Executor, id executor.TabID, path string) {
	t.Helper()
	res, err := pagetest.Of(s, id).WaitFor(t.Context(), &executor.WaitCondition{Text: "this is " + path, Timeout: await.HangLimit})
	if err != nil || !res.Matched {
		t.Fatalf("tab %s does not show %s: %+v, %v", id, path, res, err)
	}
}

// startHungNavigation starts a navigation to /hangs and waits for its request. The channel
// receives the error of the call.
func (env *testEnv) startHungNavigation(id executor.TabID) <-chan error {
	env.t.Helper()
	done := navigate(env.t.Context(), env.s, id, env.site.URL+"/hangs")
	select {
	case <-env.site.requested:
	case err := <-done:
		env.t.Fatalf("the call returned: %v", err)
	case <-await.Context(env.t).Done():
		env.t.Fatal("/hangs was not requested")
	}
	return done
}

// waitReconnected waits until the extension has a connection other than before.
func (env *testEnv) waitReconnected(before *bridge.Conn) {
	env.t.Helper()
	await.Until(env.t, "the extension to reconnect", func() bool {
		list := env.server.Connections()
		return len(list) > 0 && !slices.Contains(list, before)
	})
	waitConnected(env.t, env.b)
}

// TestReconnect kills or stops the worker, servers, calls and browsers one after another in one
// test environment, and checks that everything else continues to work.
func TestReconnect(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{})
	u := env.u
	steps.Run(t, "worker is killed while idle", func(t *testing.T) {
		before := env.server.Connections()[0]
		u.killWorker() // no tab event restarts it, only the alarm
		env.waitReconnected(before)
	})
	tab, id := env.share("/shared")
	steps.Run(t, "worker is killed between calls", func(t *testing.T) {
		waitForPage(t, env.s, id, "/shared")
		before := env.server.Connections()[0]
		u.killWorker()
		env.waitReconnected(before)
		waitForPage(t, env.s, id, "/shared") // with the same tab id
		if env.server.Connections()[0].InstanceID() != before.InstanceID() {
			t.Error("the instance id changed")
		}
	})
	steps.Run(t, "worker is killed during a call", func(t *testing.T) {
		before := env.server.Connections()[0]
		done := env.startHungNavigation(id)
		u.killWorker()
		wantCode(t, await.Receive(t, "the end of the call", done), executor.ErrExtensionDisconnected)
		env.site.proceed <- struct{}{}                                           // during a navigation, the browser does not respond to a new debugger
		if _, err := pagetest.Of(env.s, id).Text(t.Context(), nil); err != nil { // disconnected: calls fail immediately
			if _, err := pagetest.Of(env.s, id).Text(t.Context(), nil); err != nil {
				wantCode(t, err, executor.ErrExtensionDisconnected, "reconnects automatically")
			}
		}
		env.waitReconnected(before)
		if _, err := pagetest.Of(env.s, id).Navigate(t.Context(), env.site.URL+"/shared", nil); err != nil {
			t.Fatal(err)
		}
		waitForPage(t, env.s, id, "/shared")
	})
	steps.Run(t, "user stops sharing during a call", func(t *testing.T) {
		done := env.startHungNavigation(id)
		u.toggle(tab)
		wantCode(t, await.Receive(t, "the end of the call", done), executor.ErrDetached, "the user stopped sharing")
		env.site.proceed <- struct{}{}
		_, err := pagetest.Of(env.s, id).Text(t.Context(), nil)
		wantCode(t, err, executor.ErrTabNotFound)
		tab, id = env.share("/again")
		waitForPage(t, env.s, id, "/again")
	})
	steps.Run(t, "handshake file is deleted", func(t *testing.T) {
		before := env.server.Connections()[0]
		done := env.startHungNavigation(id)
		if n, err := bridge.Stop(u.data); n != 1 || err != nil {
			t.Fatalf("%d servers, %v", n, err)
		}
		err := await.Receive(t, "the end of the call", done)
		wantCode(t, err, executor.ErrExtensionDisconnected, "chrome-mcp stop", "restarts the program")
		if e, _ := errors.AsType[*executor.Error](err); e.Retryable {
			t.Error("the error of the stopped call is retryable")
		}
		await.Receive(t, "the end of the connection", before.Done())
		env.site.proceed <- struct{}{}
		awaitDisconnected(t, env.b) // the connection closes before the backend is notified
		_, err = pagetest.Of(env.s, id).Text(t.Context(), nil)
		wantCode(t, err, executor.ErrNoBackend, "restarts the program")
		if err := env.server.Rotate(); err != nil { // as after SIGHUP: connections are accepted again
			t.Fatal(err)
		}
		env.waitReconnected(before)
		if _, err := pagetest.Of(env.s, id).Navigate(t.Context(), env.site.URL+"/again", nil); err != nil {
			t.Fatal(err)
		}
		waitForPage(t, env.s, id, "/again")
	})
	steps.Run(t, "token is rotated", func(t *testing.T) {
		before := env.server.Connections()[0]
		if err := env.server.Rotate(); err != nil {
			t.Fatal(err)
		}
		await.Receive(t, "the end of the connection", before.Done())
		env.waitReconnected(before)
		waitForPage(t, env.s, id, "/again")
	})
	steps.Run(t, "two servers", func(t *testing.T) {
		one := env.server.Connections()[0]
		second := startServer(t, u.data, "second", nil)
		b, s := newClient(t, second)
		waitConnected(t, b)
		mine := openTab(t, env.s, env.site.URL+"/of-first")
		theirs := openTab(t, s, env.site.URL+"/of-second")
		waitForPage(t, s, theirs, "/of-second")
		waitForPage(t, env.s, mine, "/of-first")
		waitForPage(t, env.s, id, "/again") // driven by the first server
		third, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pagetest.Of(third, "").Text(t.Context(), nil); executor.CodeOf(err) != executor.ErrTabNotFound || !strings.Contains(err.Error(), "another agent drives") {
			t.Errorf("call on a tab that the first server drives: %v", err)
		}
		third.Close()
		for path, x := range map[string]executor.Executor{"/of-first": s, "/of-second": env.s} {
			tabs, err := x.Tabs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, tab := range tabs {
				if strings.HasSuffix(tab.URL, path) {
					t.Errorf("a server lists %s, a tab of the other server", tab.URL)
				}
			}
		}
		var groups []string
		await.Until(t, "three tab groups", func() bool {
			u.worker("chrome.tabGroups.query({}).then((all) => all.map((g) => g.title).sort())", &groups)
			return len(groups) >= 3
		})
		if want := []string{"chrome-mcp", "chrome-mcp: first", "chrome-mcp: second"}; !slices.Equal(groups, want) {
			t.Errorf("groups %q, want %q", groups, want)
		}
		if env.server.Displaced() != nil || second.Displaced() != nil || one.Err() != nil {
			t.Error("a connection was displaced or closed")
		}
		s.Close()
		waitForPage(t, env.s, mine, "/of-first")
		if _, err := pagetest.Of(env.s, mine).Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	steps.Run(t, "server is killed", func(t *testing.T) {
		first := startServerProcess(t, u.data, env.site.URL+"/child")
		if got := first.readLine(); got != "read" {
			t.Fatalf("the server printed %q", got)
		}
		first.cmd.Process.Kill()
		first.cmd.Wait()
		next := startServerProcess(t, u.data, env.site.URL+"/child")
		if got := next.readLine(); got != "read" {
			t.Fatalf("the next server printed %q", got)
		}
		if first.port == next.port {
			t.Errorf("both servers have port %d", next.port)
		}
		waitForPage(t, env.s, id, "/again") // the server of this process is not affected
	})
	steps.Run(t, "two browsers", func(t *testing.T) {
		other := newUserBrowser(t, u.data, userBrowserOptions{})
		theirs := other.open(env.site.URL + "/other-browser")
		await.Until(t, "the second browser to connect", func() bool { return len(env.server.Connections()) == 2 })
		other.toggle(theirs)
		last := env.waitListed("/other-browser")
		waitForPage(t, env.s, last, "/other-browser")
		waitForPage(t, env.s, id, "/again")
		if browserPart(last) == browserPart(id) {
			t.Errorf("tabs %s and %s of two browsers have the same browser part", last, id)
		}
		end := env.server.Connections()[1]
		other.Kill()
		await.Receive(t, "the end of its connection", end.Done())
		_, err := pagetest.Of(env.s, last).Text(t.Context(), nil)
		if code := executor.CodeOf(err); code != executor.ErrStaleTab && code != executor.ErrTabNotFound && code != executor.ErrExtensionDisconnected {
			t.Errorf("call on a tab of a killed browser: %v", err)
		}
		waitForPage(t, env.s, id, "/again")
	})
	steps.Run(t, "browser is killed", func(t *testing.T) {
		if why := u.act("keep", map[string]any{"origin": env.site.URL, "on": true}); why != "" {
			t.Fatal(why)
		}
		before := env.server.Connections()[0]
		awaitHosts(t, 1) // the host of the second browser has exited
		done := env.startHungNavigation(id)
		u.Kill()
		wantCode(t, await.Receive(t, "the end of the call", done), executor.ErrExtensionDisconnected)
		_, err := pagetest.Of(env.s, id).Text(t.Context(), nil)
		wantCode(t, err, executor.ErrExtensionDisconnected, "open Chrome")
		awaitHosts(t, 0)
		u.start()
		env.waitReconnected(before)
		if _, err := pagetest.Of(env.s, id).Text(t.Context(), nil); !errors.Is(err, executor.ErrTabNotFound) && !errors.Is(err, executor.ErrStaleTab) {
			t.Errorf("call on a tab of the killed browser: %v", err)
		}
		u.open(env.site.URL + "/kept") // shared automatically
		waitForPage(t, env.s, env.waitListed("/kept"), "/kept")
		if env.server.Connections()[0].InstanceID() == before.InstanceID() {
			t.Error("the instance id did not change when the browser restarted")
		}
	})
}

// openTab opens a tab of the client s at url and returns its id.
func openTab(t *testing.T, s executor.Executor, url string) executor.TabID {
	t.Helper()
	_, tab, err := s.NewPage(await.Context(t), &executor.NewPageOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return tab.ID
}

// browserPart returns a tab id without its last part, the tab: what remains identifies the browser
// instance.
func browserPart(id executor.TabID) string {
	parts := strings.Split(string(id), ":")
	return strings.Join(parts[:len(parts)-1], ":")
}

// TestReconnectAfterIdle checks that a call succeeds, on the same connection, after the
// extension and the server were idle for longer than Chrome keeps an idle worker running.
func TestReconnectAfterIdle(t *testing.T) {
	tier.Deep(t)
	t.Parallel() // with TestLongExtension, because it mainly waits
	env := newTestEnv(t, nil, userBrowserOptions{})
	_, id := env.share("/idle")
	waitForPage(t, env.s, id, "/idle")
	before := env.server.Connections()[0]
	time.Sleep(65 * time.Second)
	waitForPage(t, env.s, id, "/idle")
	if now := env.server.Connections(); len(now) != 1 || now[0] != before {
		t.Error("the connection changed")
	}
}

const (
	// serverEnv makes the test binary run runServerProcess. Its value is the data directory.
	serverEnv = "EXTENSION_TEST_SERVER"
	// urlEnv is the URL that runServerProcess opens and reads.
	urlEnv = "EXTENSION_TEST_URL"
)

// runServerProcess starts a bridge server and prints its port. When an extension is connected, it
// opens url, reads the page, prints "read" and blocks forever.
func runServerProcess(data, url string) error {
	server, err := bridge.New(&bridge.Options{
		DataDir: data, ExtensionID: extfiles.ID(), Port: bridge.AnyPort, Name: "child",
		Policy: func() bridge.Policy { return bridge.Policy{Allow: []string{"127.0.0.1"}, Subresources: "public"} },
	})
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.Start(); err != nil {
		return err
	}
	fmt.Println(server.Port())
	b, err := New(&Options{Server: server, DataDir: data})
	if err != nil {
		return err
	}
	defer b.Close()
	for changed := b.Changed(); !b.Connected(); changed = b.Changed() {
		<-changed
	}
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		return err
	}
	_, tab, err := s.NewPage(context.Background(), &executor.NewPageOptions{URL: url})
	if err != nil {
		return err
	}
	if _, err := pagetest.Of(s, tab.ID).Text(context.Background(), nil); err != nil {
		return err
	}
	fmt.Println("read")
	select {} // until killed
}

// A childServer is a process that runs runServerProcess.
type childServer struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  *bufio.Scanner
	port int
}

func startServerProcess(t testing.TB, data, url string) *childServer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &childServer{t: t, cmd: exec.Command(self)}
	c.cmd.Env = append(os.Environ(), serverEnv+"="+data, urlEnv+"="+url)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	c.out = bufio.NewScanner(out)
	if err := json.Unmarshal([]byte(c.readLine()), &c.port); err != nil {
		t.Fatal(err)
	}
	return c
}

// readLine returns the next line that the server prints.
func (c *childServer) readLine() string {
	c.t.Helper()
	late := time.AfterFunc(2*await.HangLimit, func() { c.cmd.Process.Kill() })
	defer late.Stop()
	if !c.out.Scan() {
		c.t.Fatalf("the server exited: %v", c.out.Err())
	}
	return c.out.Text()
}

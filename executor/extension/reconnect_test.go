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
	carried "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// The times in which what was lost has to be back: an alarm of the extension
// comes after 5 s, that of one that has nothing to lose after 30 s.
const (
	soonBack = 20 * time.Second
	atOnce   = time.Second // what a user ends has to end
)

// A lifeSite has pages that say their own path, and one that comes when it is
// let go.
type lifeSite struct {
	*httptest.Server
	hung  chan struct{} // one token for each request for the page that hangs
	letGo chan struct{}
}

func newLifeSite(t *testing.T) *lifeSite {
	s := &lifeSite{hung: make(chan struct{}, 16), letGo: make(chan struct{}, 16)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			s.hung <- struct{}{}
			select {
			case <-s.letGo:
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

// startLifeServer starts a server of a data folder.
func startLifeServer(t testing.TB, data, name string, log *slog.Logger) *bridge.Server {
	t.Helper()
	server, err := bridge.New(bridge.Options{
		DataDir: data, ExtensionID: carried.ID(), Port: bridge.AnyPort, Name: name, Logger: log,
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

// A life is a server with a client of its own, and a browser.
type life struct {
	t      *testing.T
	server *bridge.Server
	b      *Backend
	s      executor.Executor
	u      *userBrowser
	site   *lifeSite
}

// newLife starts all of it.
func newLife(t *testing.T, log *slog.Logger, opts userBrowserOptions) *life {
	l := &life{t: t, site: newLifeSite(t)}
	data := filepath.Join(t.TempDir(), "data")
	l.server = startLifeServer(t, data, "first", log)
	l.u = newUserBrowser(t, data, opts)
	l.b, l.s = newClient(t, l.server)
	waitConnected(t, l.b)
	return l
}

// newClient returns a backend on server, and a session of it.
func newClient(t *testing.T, server *bridge.Server) (*Backend, executor.Executor) {
	t.Helper()
	b := newBackend(t, server)
	s, err := b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	return b, s
}

// guarded opens a session that the policy guards, for the rest of the test.
func (l *life) guarded(conf policy.Config) executor.Executor {
	l.u.t.Helper()
	p, err := policy.New(conf)
	if err != nil {
		l.u.t.Fatal(err)
	}
	guard := policy.NewGuard(p, nil)
	s, err := l.b.NewSession(executor.SessionOptions{Gate: guard})
	if err != nil {
		l.u.t.Fatal(err)
	}
	l.u.t.Cleanup(func() { s.Close() })
	return guard.Wrap(s)
}

// share opens a page as the user does, and shares it.
func (l *life) share(path string) (tab int, id executor.TabID) {
	l.t.Helper()
	tab = l.u.open(l.site.URL + path)
	l.u.toggle(tab)
	return tab, l.listed(path)
}

// listed waits until a page is listed, and returns the id of its tab.
func (l *life) listed(path string) executor.TabID {
	l.t.Helper()
	limit := time.After(userbrowser.WaitTimeout)
	for {
		changed := l.b.Changed()
		tabs, err := l.s.ListTabs(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		for _, tab := range tabs {
			if tab.URL == l.site.URL+path {
				return tab.ID
			}
		}
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond): // where a tab goes is no change of the list
		case <-limit:
			l.t.Fatalf("%s is not among %+v", path, tabs)
		}
	}
}

// reads reads a tab, and expects the page of a path in it.
func reads(t testing.TB, s executor.Executor, id executor.TabID, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), userbrowser.WaitTimeout)
	defer cancel()
	res, err := s.WaitFor(ctx, id, executor.WaitCondition{Text: "this is " + path})
	if err != nil || !res.Matched {
		t.Fatalf("tab %s does not show %s: %+v, %v", id, path, res, err)
	}
}

// hangs starts a call that does not end by itself.
func (l *life) hangs(id executor.TabID) <-chan error {
	l.t.Helper()
	done := navigate(l.t.Context(), l.s, id, l.site.URL+"/hangs")
	select {
	case <-l.site.hung:
	case err := <-done:
		l.t.Fatalf("the call ended: %v", err)
	case <-time.After(userbrowser.WaitTimeout):
		l.t.Fatal("the page is not asked for")
	}
	return done
}

// anew waits for the connection after an earlier one.
func (l *life) anew(before *bridge.Conn) {
	l.t.Helper()
	within(l.t, soonBack, "coming back", func(ctx context.Context) {
		for {
			changed := l.server.Changed()
			if list := l.server.Instances(); len(list) > 0 && !slices.Contains(list, before) {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				l.t.Fatal("the extension does not come back")
			}
		}
		for !l.b.Connected() {
			<-l.b.Changed()
		}
		waitConnected(l.t, l.b)
	})
}

// TestReconnect ends everything that can end, in one browser, and expects that the
// rest goes on.
func TestReconnect(t *testing.T) {
	l := newLife(t, nil, userBrowserOptions{})
	u := l.u
	root := t
	step := func(name string, work func(t *testing.T)) {
		t.Helper()
		ok := root.Run(name, func(t *testing.T) {
			l.t, u.t = t, t
			work(t)
		})
		l.t, u.t = root, root
		if !ok {
			root.FailNow()
		}
	}

	step("the worker is killed while nothing happens", func(t *testing.T) {
		before := l.server.Instances()[0]
		u.killWorker() // and no tab tells it anything
		l.anew(before)
	})
	tab, id := l.share("/shared")
	step("the worker is killed between calls", func(t *testing.T) {
		reads(t, l.s, id, "/shared")
		before := l.server.Instances()[0]
		u.killWorker()
		l.anew(before)
		reads(t, l.s, id, "/shared") // by the same id
		if l.server.Instances()[0].InstanceID() != before.InstanceID() {
			t.Error("the session of tab ids is another one")
		}
	})
	step("the worker is killed during a call", func(t *testing.T) {
		before := l.server.Instances()[0]
		done := l.hangs(id)
		within(t, 5*time.Second, "the end of the call", func(context.Context) {
			u.killWorker()
			wantCode(t, <-done, executor.ErrExtensionDisconnected)
		})
		l.site.letGo <- struct{}{}                                // while a page is on its way, the browser answers no new debugger
		if _, err := l.s.Text(t.Context(), id, nil); err != nil { // it is away: said at once
			within(t, atOnce, "the next call", func(ctx context.Context) {
				if _, err := l.s.Text(ctx, id, nil); err != nil {
					wantCode(t, err, executor.ErrExtensionDisconnected, "by itself")
				}
			})
		}
		l.anew(before)
		if _, err := l.s.Navigate(t.Context(), id, l.site.URL+"/shared", nil); err != nil {
			t.Fatal(err)
		}
		reads(t, l.s, id, "/shared")
	})
	step("sharing ends in the middle of a call", func(t *testing.T) {
		done := l.hangs(id)
		u.toggle(tab)
		within(t, atOnce, "the end of the call", func(context.Context) {
			wantCode(t, <-done, executor.ErrDetached, "the user stopped sharing")
		})
		l.site.letGo <- struct{}{}
		_, err := l.s.Text(t.Context(), id, nil)
		wantCode(t, err, executor.ErrTabNotFound)
		tab, id = l.share("/again")
		reads(t, l.s, id, "/again")
	})
	step("the handshake file is deleted", func(t *testing.T) {
		before := l.server.Instances()[0]
		done := l.hangs(id)
		within(t, atOnce, "the end of the session", func(context.Context) {
			if n, err := bridge.Stop(u.data); n != 1 || err != nil {
				t.Fatalf("%d servers, %v", n, err)
			}
			err := <-done
			wantCode(t, err, executor.ErrExtensionDisconnected, "chrome-mcp stop", "restarts the program")
			if e, _ := errors.AsType[*executor.Error](err); e.Retryable {
				t.Error("the call that was stopped is to be tried again")
			}
			<-before.Done()
		})
		l.site.letGo <- struct{}{}
		within(t, atOnce, "the next call", func(ctx context.Context) {
			for changed := l.b.Changed(); l.b.Connected(); changed = l.b.Changed() {
				select { // the connection has ended before the backend hears of it
				case <-changed:
				case <-ctx.Done():
					t.Fatal("the backend does not hear of the end")
				}
			}
			_, err := l.s.Text(ctx, id, nil)
			wantCode(t, err, executor.ErrNoBackend, "restarts the program")
		})
		if err := l.server.Rotate(); err != nil { // a hangup: it is wanted again
			t.Fatal(err)
		}
		l.anew(before)
		if _, err := l.s.Navigate(t.Context(), id, l.site.URL+"/again", nil); err != nil {
			t.Fatal(err)
		}
		reads(t, l.s, id, "/again")
	})
	step("the token is changed", func(t *testing.T) {
		before := l.server.Instances()[0]
		if err := l.server.Rotate(); err != nil {
			t.Fatal(err)
		}
		<-before.Done()
		l.anew(before)
		reads(t, l.s, id, "/again")
	})
	step("two servers", func(t *testing.T) {
		one := l.server.Instances()[0]
		second := startLifeServer(t, u.data, "second", nil)
		b, s := newClient(t, second)
		waitConnected(t, b)
		mine := opens(t, l.s, l.site.URL+"/of-first")
		theirs := opens(t, s, l.site.URL+"/of-second")
		reads(t, s, theirs, "/of-second")
		reads(t, l.s, mine, "/of-first")
		reads(t, l.s, id, "/again") // which the first one drives
		third, err := b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := third.Text(t.Context(), "", nil); executor.CodeOf(err) != executor.ErrTabNotFound || !strings.Contains(err.Error(), "another agent drives") {
			t.Errorf("a call for a tab that the first server drives: %v", err)
		}
		third.Close()
		for who, x := range map[string]executor.Executor{"/of-first": s, "/of-second": l.s} {
			tabs, err := x.ListTabs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, tab := range tabs {
				if strings.HasSuffix(tab.URL, who) {
					t.Errorf("a server is told of %s, which is the other's", tab.URL)
				}
			}
		}
		var groups []string
		for deadline := time.Now().Add(userbrowser.WaitTimeout); len(groups) < 3 && time.Now().Before(deadline); {
			u.worker("chrome.tabGroups.query({}).then((all) => all.map((g) => g.title).sort())", &groups)
		}
		if want := []string{"chrome-mcp", "chrome-mcp: first", "chrome-mcp: second"}; !slices.Equal(groups, want) {
			t.Errorf("groups %q, want %q", groups, want)
		}
		if l.server.Displaced() != nil || second.Displaced() != nil || one.Err() != nil {
			t.Error("somebody was kicked")
		}
		s.Close()
		reads(t, l.s, mine, "/of-first")
		if _, err := l.s.CloseTab(t.Context(), mine); err != nil {
			t.Error(err)
		}
	})
	step("a server is killed", func(t *testing.T) {
		first := startServerProcess(t, u.data, l.site.URL+"/child")
		if got := first.line(); got != "read" {
			t.Fatalf("the server said %q", got)
		}
		first.cmd.Process.Kill()
		first.cmd.Wait()
		next := startServerProcess(t, u.data, l.site.URL+"/child")
		within(t, soonBack, "finding the next server", func(context.Context) {
			if got := next.line(); got != "read" {
				t.Fatalf("the next server said %q", got)
			}
		})
		if first.port == next.port {
			t.Errorf("both had port %d", next.port)
		}
		reads(t, l.s, id, "/again") // and ours went on
	})
	step("two browsers", func(t *testing.T) {
		other := newUserBrowser(t, u.data, userBrowserOptions{})
		theirs := other.open(l.site.URL + "/other-browser")
		for deadline := time.Now().Add(userbrowser.WaitTimeout); len(l.server.Instances()) < 2; {
			if time.Now().After(deadline) {
				t.Fatal("the second browser does not connect")
			}
			time.Sleep(10 * time.Millisecond)
		}
		other.toggle(theirs)
		last := l.listed("/other-browser")
		reads(t, l.s, last, "/other-browser")
		reads(t, l.s, id, "/again")
		if browserOf(last) == browserOf(id) {
			t.Errorf("tabs of two browsers are %s and %s", last, id)
		}
		end := l.server.Instances()[1]
		other.Kill()
		<-end.Done()
		_, err := l.s.Text(t.Context(), last, nil)
		if code := executor.CodeOf(err); code != executor.ErrStaleTab && code != executor.ErrTabNotFound && code != executor.ErrExtensionDisconnected {
			t.Errorf("a tab of a browser that ended: %v", err)
		}
		reads(t, l.s, id, "/again")
	})
	step("the browser is killed", func(t *testing.T) {
		if why := u.act("keep", map[string]any{"origin": l.site.URL, "on": true}); why != "" {
			t.Fatal(why)
		}
		before := l.server.Instances()[0]
		awaitHosts(t, 1) // that of the browser before is gone
		done := l.hangs(id)
		within(t, 5*time.Second, "the end of the call", func(context.Context) {
			u.Kill()
			wantCode(t, <-done, executor.ErrExtensionDisconnected)
		})
		within(t, atOnce, "the next call", func(ctx context.Context) {
			_, err := l.s.Text(ctx, id, nil)
			wantCode(t, err, executor.ErrExtensionDisconnected, "open Chrome")
		})
		awaitHosts(t, 0)
		u.start()
		l.anew(before)
		if _, err := l.s.Text(t.Context(), id, nil); !errors.Is(err, executor.ErrTabNotFound) && !errors.Is(err, executor.ErrStaleTab) {
			t.Errorf("a tab of the browser before: %v", err)
		}
		u.open(l.site.URL + "/kept") // and nothing else
		reads(t, l.s, l.listed("/kept"), "/kept")
		if l.server.Instances()[0].InstanceID() == before.InstanceID() {
			t.Error("tab ids of two runs of a browser are the same session")
		}
	})
}

// opens opens a tab of a client's own.
func opens(t *testing.T, s executor.Executor, url string) executor.TabID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), userbrowser.WaitTimeout)
	defer cancel()
	tab, err := s.NewTab(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tab.ID
}

// browserOf returns the part of a tab's id that names its browser.
func browserOf(id executor.TabID) string {
	parts := strings.Split(string(id), ":")
	return strings.Join(parts[:len(parts)-1], ":")
}

// TestReconnectAfterIdle: a browser and a server that had nothing to do for longer than
// a worker may live are there at once.
func TestReconnectAfterIdle(t *testing.T) {
	l := newLife(t, nil, userBrowserOptions{})
	_, id := l.share("/idle")
	reads(t, l.s, id, "/idle")
	before := l.server.Instances()[0]
	time.Sleep(65 * time.Second)
	within(t, 5*time.Second, "a call after a minute", func(ctx context.Context) { reads(t, l.s, id, "/idle") })
	if now := l.server.Instances(); len(now) != 1 || now[0] != before {
		t.Error("the connection did not last")
	}
}

// serverEnv makes the test binary a server of its own: it names the data
// folder, and urlEnv the page that it opens and reads.
const (
	serverEnv = "EXTENSION_TEST_SERVER"
	urlEnv    = "EXTENSION_TEST_URL"
)

// serverProcess is what the test binary does then: it says its port, and
// "read" when it has read the page.
func serverProcess(data, url string) error {
	server, err := bridge.New(bridge.Options{
		DataDir: data, ExtensionID: carried.ID(), Port: bridge.AnyPort, Name: "child",
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
	b := New(Options{Server: server, DataDir: data})
	defer b.Close()
	for !b.Connected() {
		<-b.Changed()
	}
	s, err := b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		return err
	}
	tab, err := s.NewTab(context.Background(), url, nil)
	if err != nil {
		return err
	}
	if _, err := s.Text(context.Background(), tab.ID, nil); err != nil {
		return err
	}
	fmt.Println("read")
	select {} // until it is killed
}

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
	if err := json.Unmarshal([]byte(c.line()), &c.port); err != nil {
		t.Fatal(err)
	}
	return c
}

// line returns the next line that the server says.
func (c *childServer) line() string {
	c.t.Helper()
	late := time.AfterFunc(2*userbrowser.WaitTimeout, func() { c.cmd.Process.Kill() })
	defer late.Stop()
	if !c.out.Scan() {
		c.t.Fatalf("the server is gone: %v", c.out.Err())
	}
	return c.out.Text()
}

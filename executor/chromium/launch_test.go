package chromium

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// testOptions returns options for a headless browser in a data directory of the test.
func testOptions(t *testing.T) Options {
	t.Helper()
	headless := true
	return Options{
		Browser:   os.Getenv("CHROME_MCP_TEST_BROWSER"),
		Headless:  &headless,
		NoSandbox: os.Getuid() == 0,
		DataDir:   t.TempDir(),
		timing:    timing.Current(),
	}
}

// findBrowser returns the path of the browser to test with. Without one it skips the test, except in
// CI.
func findBrowser(t *testing.T) string {
	t.Helper()
	path, err := Find(testOptions(t).Browser)
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// mustLaunch launches a browser that is closed at the end of the test.
func mustLaunch(t *testing.T, o Options) *process {
	t.Helper()
	p, err := launch(t.Context(), o)
	if errors.Is(err, executor.ErrNoBackend) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// lastID is the id of the last command that call has sent. It starts above the id of getVersion.
var lastID int64 = 1000

// call sends one command and decodes its result.
func call(t *testing.T, tr transport, session, method string, params, result any) {
	t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	lastID++
	m := cdproto.Message{ID: lastID, Method: cdproto.MethodType(method), Params: raw}
	if session != "" {
		if err := json.Unmarshal([]byte(`{"sessionId":"`+session+`"}`), &m); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Write(t.Context(), &m); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	for {
		var answer cdproto.Message
		if err := tr.Read(t.Context(), &answer); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if answer.ID != lastID {
			continue
		}
		if answer.Error != nil {
			t.Fatalf("%s: %v", method, answer.Error)
		}
		if result != nil {
			if err := json.Unmarshal(answer.Result, result); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

type obj = map[string]any

// newPage opens url and returns the session attached to it.
func newPage(t *testing.T, tr transport, url string) (session string) {
	t.Helper()
	tier.Browser(t)
	var target struct{ TargetID string }
	call(t, tr, "", "Target.createTarget", obj{"url": url}, &target)
	var attached struct{ SessionID string }
	call(t, tr, "", "Target.attachToTarget", obj{"targetId": target.TargetID, "flatten": true}, &attached)
	return attached.SessionID
}

// evaluate runs an expression, awaiting a promise, and returns its value.
func evaluate(t *testing.T, tr transport, session, expression string) any {
	t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	call(t, tr, session, "Runtime.evaluate", obj{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	return r.Result.Value
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestLaunchAndClose(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	o.Isolated = true
	p := mustLaunch(t, o)
	if !strings.HasPrefix(p.version.Product, "Chrome/") {
		t.Errorf("product %q of the first answer", p.version.Product)
	}
	var v version
	call(t, p.transport, "", "Browser.getVersion", obj{}, &v)
	if v != p.version {
		t.Errorf("the transport answers %+v after the launch, %+v during it", v, p.version)
	}
	s := newPage(t, p.transport, "about:blank")
	size := evaluate(t, p.transport, s, "new Promise(r => requestAnimationFrame(() => r(innerWidth + 'x' + innerHeight)))")
	if size != "1280x720" {
		t.Errorf("viewport is %v, want 1280x720", size)
	}
	if !exists(p.dir) || isClosed(p.exited) {
		t.Fatal("the profile directory is missing, or the browser has exited")
	}
	if filepath.Dir(filepath.Dir(p.dir)) != o.DataDir {
		t.Errorf("temporary profile %s is not in the data directory", p.dir)
	}

	_ = p.pipes.w.Close() // as close does
	await.Receive(t, "the exit of an idle browser whose pipe is closed", p.exited)
	if err := p.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !isClosed(p.exited) {
		t.Error("the browser has not exited")
	}
	if exists(p.dir) {
		t.Error("the temporary profile still exists")
	}
	if left := usersOf(p.dir); len(left) > 0 {
		t.Errorf("helper processes %v are left", left)
	}
	if err := p.close(t.Context()); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestClosingAHungBrowserKillsIt(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	o.Isolated = true
	p := mustLaunch(t, o)
	newPage(t, p.transport, "about:blank")
	if err := stopProcess(p.pid); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // do not wait
	if err := p.close(ctx); err != nil {
		t.Fatal(err)
	}
	if left := usersOf(p.dir); len(left) > 0 || exists(p.dir) {
		t.Errorf("processes left: %v, profile directory exists: %v", left, exists(p.dir))
	}
}

// TestSocketWithoutLink checks the cleanup after a browser that was killed while it exited: it has
// removed the link to its socket, but not the directory of the socket.
func TestSocketWithoutLink(t *testing.T) {
	p, err := newTemporaryProfile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "org.chromium.Chromium.abcdef")
	p.socket = filepath.Join(dir, "SingletonSocket")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SingletonSocket", "SingletonCookie"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.release(t.Context()); err != nil || exists(dir) || exists(p.dir) {
		t.Errorf("release: %v; socket directory exists: %v, profile exists: %v", err, exists(dir), exists(p.dir))
	}
}

func TestKilledBrowserIsNoticed(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	o.Isolated = true
	p := mustLaunch(t, o)
	if err := forceKill(p.pid); err != nil {
		t.Fatal(err)
	}
	var m cdproto.Message
	if err := p.transport.Read(t.Context(), &m); err == nil {
		t.Fatalf("read %+v from a killed browser", m)
	}
	<-p.exited
	err := p.failure()
	if executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("failure is %v", err)
	}
}

func TestNamedProfilePersists(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	o.Profile = "kept"
	// A data: URL has no storage. A cookie proves that Chromium used the profile again.
	p := mustLaunch(t, o)
	call(t, p.transport, "", "Storage.setCookies", obj{"cookies": []obj{{
		"name": "k", "value": "v", "url": "https://kept.test/", "expires": float64(time.Now().AddDate(0, 0, 1).Unix()),
	}}}, nil)
	if err := p.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !exists(p.dir) || p.dir != filepath.Join(o.DataDir, "profiles", "kept") {
		t.Fatalf("profile directory %s: exists %v", p.dir, exists(p.dir))
	}
	info, err := os.Stat(p.dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("profile directory has mode %v, %v", info.Mode(), err)
	}

	p = mustLaunch(t, o)
	var got struct {
		Cookies []struct{ Name, Value string }
	}
	call(t, p.transport, "", "Storage.getCookies", obj{}, &got)
	if len(got.Cookies) != 1 || got.Cookies[0].Value != "v" {
		t.Errorf("cookies after a restart: %+v", got.Cookies)
	}
}

func TestProfileInUse(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	first := mustLaunch(t, o)
	_, err := launch(t.Context(), o)
	if executor.CodeOf(err) != executor.ErrLaunchFailed ||
		!strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Fatalf("second launch on one profile: %v", err)
	}
	var v version
	call(t, first.transport, "", "Browser.getVersion", obj{}, &v)

	o.Profile = "other"
	second := mustLaunch(t, o)
	call(t, second.transport, "", "Browser.getVersion", obj{}, &v)
}

// startForeign starts a browser as a user would, not with launch, on the profile in dir. It returns
// its process id and the address of its debugging port.
func startForeign(t *testing.T, dir string, args ...string) (pid int, address string) {
	t.Helper()
	tier.Browser(t)
	pid, address, _ = runForeign(t, dir, args...)
	return pid, address
}

// runForeign is like startForeign, but also returns end, which closes the browser
// before the end of the test.
func runForeign(t *testing.T, dir string, args ...string) (pid int, address string, end func()) {
	t.Helper()
	path := findBrowser(t)
	args = append([]string{"--headless=new", "--user-data-dir=" + dir, "--remote-debugging-port=0",
		"--no-first-run", "--disable-background-networking", tier.FastWindows, "about:blank"}, args...)
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(path, args...)
	setProcessGroup(cmd)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = terminateProcess(cmd.Process.Pid)
		_ = cmd.Wait()
		killProfileUsers(context.Background(), dir, func(int) bool { return true })
		removeSocket(socketOf(dir))
	})
	t.Cleanup(end)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, ws, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
			return cmd.Process.Pid, ws, end
		}
	}
	t.Fatal("the browser printed no debugging address")
	return 0, "", nil
}

func TestProfileOfForeignBrowser(t *testing.T) {
	o := testOptions(t)
	dir := filepath.Join(o.DataDir, "profiles", "default")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	pid, _ := startForeign(t, dir)
	_, err := launch(t.Context(), o)
	if executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", pid)) {
		t.Fatalf("launch on a profile in use: %v", err)
	}
	if _, err := Sweep(t.Context(), o.DataDir); err != nil {
		t.Error(err)
	}
	if !usesProfile(pid, dir) {
		t.Error("the foreign browser was terminated")
	}
}

func TestArgumentsUnderProxy(t *testing.T) {
	o, err := Options{ProxyServer: "127.0.0.1:3128", DataDir: "/data", ExtraArgs: []string{"--disable-features=Mine,Yours", "--lang=nb", "--blink-settings=imagesEnabled=false"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	args, err := o.arguments("/data/p", true)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(args, "\n") + "\n"
	for _, want := range []string{
		"--proxy-server=http://127.0.0.1:3128\n", "--proxy-bypass-list=<-loopback>\n",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp\n",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1\n", "--disable-quic\n", "--lang=nb\n",
		",Mine,Yours\n", "--blink-settings=imagesEnabled=false,middleClickPasteAllowed=false\n", "--user-data-dir=/data/p\n", "--remote-debugging-pipe\n",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %q", want, args)
		}
	}
	if n := strings.Count(line, "--disable-features="); n != 1 {
		t.Errorf("%d times --disable-features: only the last counts", n)
	}
	for _, rejected := range []string{
		"--proxy-server=http://evil:1", "--host-resolver-rules=MAP * 1.2.3.4", "--no-proxy-server", "--proxy-pac-url=http://x",
		"--winhttp-proxy-resolver", "--disable-site-isolation-trials", "--Disable-Web-Security", "--single-process",
		"--disable-features=IsolateOrigins", "--disable-features=Mine,site-per-process", "--disable-features=Mine, *IsolateOrigins<Trial.Group:a/b",
		"--ignore-certificate-errors", "--load-extension=/x", "--disable-extensions-except=/x", "--renderer-cmd-prefix=/x", "--force-fieldtrials=A/B",
		"--blink-settings=a=b,middleClickPasteAllowed=true", "--blink-settings=MiddleClickPasteAllowed", "--remote-debugging-port=9222", "-user-data-dir=/x", "--User-Data-Dir=/x", "https://example.com/", "--", "-", "",
	} {
		o.ExtraArgs = []string{rejected}
		if _, err := o.arguments("/data/p", true); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("extra argument %q: %v, want BAD_ARGS", rejected, err)
		}
	}
}

// TestColor checks that only a window has a color, in a separate browser, and that invalid colors
// are rejected.
func TestColor(t *testing.T) {
	t.Setenv("DISPLAY", ":0")
	const want = "--install-autogenerated-theme=26,115,232"
	for _, headless := range []bool{true, false} {
		o, err := Options{Color: "#1A73e8", Headless: &headless, DataDir: "/data", Isolated: true, Network: hosts{}, Pool: new(Pool)}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		args, err := o.arguments("/data/p", headless)
		if err != nil || slices.Contains(args, want) == headless || (o.Pool != nil) != headless {
			t.Errorf("headless %t: pool %v, arguments %q, %v", headless, o.Pool, args, err)
		}
	}
	for _, color := range []string{"red", "#12345", "#1234567", "1a73e8"} {
		if _, err := (Options{Color: color}).withDefaults(); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("color %q: %v", color, err)
		}
	}
}

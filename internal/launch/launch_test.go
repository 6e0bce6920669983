package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// testOptions returns options for a headless browser on a temporary profile, in a data directory of the
// test.
func testOptions(t *testing.T) Options {
	t.Helper()
	headless := true
	return Options{
		Browser:   os.Getenv("CHROME_MCP_TEST_BROWSER"),
		Headless:  &headless,
		NoSandbox: os.Getuid() == 0,
		DataDir:   t.TempDir(),
		Width:     1280,
		Height:    720,
		Logger:    slog.New(slog.DiscardHandler),
		Timing:    timing.Current(),
	}
}

// mustLaunch launches a browser that is closed at the end of the test.
func mustLaunch(t *testing.T, o Options) *Process {
	t.Helper()
	p, err := Start(t.Context(), o)
	if errors.Is(err, executor.ErrNoBackend) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// lastID is the id of the last command that call has sent. It starts above the id of cdpconn.GetVersion.
var lastID int64 = 1000

// call sends one command and decodes its result.
func call(t *testing.T, tr chromedp.Transport, session, method string, params, result any) {
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
func newPage(t *testing.T, tr chromedp.Transport, url string) (session string) {
	t.Helper()
	tier.Browser(t)
	var target struct{ TargetID string }
	call(t, tr, "", "Target.createTarget", obj{"url": url}, &target)
	var attached struct{ SessionID string }
	call(t, tr, "", "Target.attachToTarget", obj{"targetId": target.TargetID, "flatten": true}, &attached)
	return attached.SessionID
}

// evaluate runs an expression, awaiting a promise, and returns its value.
func evaluate(t *testing.T, tr chromedp.Transport, session, expression string) any {
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
	p := mustLaunch(t, o)
	if !strings.HasPrefix(p.Version.Product, "Chrome/") {
		t.Errorf("product %q of the first answer", p.Version.Product)
	}
	var v cdpconn.Version
	call(t, p.Transport, "", "Browser.getVersion", obj{}, &v)
	if v != p.Version {
		t.Errorf("the transport answers %+v after the launch, %+v during it", v, p.Version)
	}
	s := newPage(t, p.Transport, "about:blank")
	size := evaluate(t, p.Transport, s, "new Promise(r => requestAnimationFrame(() => r(innerWidth + 'x' + innerHeight)))")
	if size != "1280x720" {
		t.Errorf("viewport is %v, want 1280x720", size)
	}
	if !exists(p.Profile.Dir) || isClosed(p.Exited) {
		t.Fatal("the profile directory is missing, or the browser has exited")
	}
	if filepath.Dir(filepath.Dir(p.Profile.Dir)) != o.DataDir {
		t.Errorf("temporary profile %s is not in the data directory", p.Profile.Dir)
	}

	_ = p.pipes.w.Close() // as close does
	await.Receive(t, "the exit of an idle browser whose pipe is closed", p.Exited)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !isClosed(p.Exited) {
		t.Error("the browser has not exited")
	}
	if exists(p.Profile.Dir) {
		t.Error("the temporary profile still exists")
	}
	if left := profiles.Users(p.Profile.Dir); len(left) > 0 {
		t.Errorf("helper processes %v are left", left)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestKilledBrowserIsNoticed(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	p := mustLaunch(t, o)
	browser, err := os.FindProcess(p.PID)
	if err == nil {
		err = browser.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	var m cdproto.Message
	if err := p.Transport.Read(t.Context(), &m); err == nil {
		t.Fatalf("read %+v from a killed browser", m)
	}
	<-p.Exited
	err = p.Failure()
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
	call(t, p.Transport, "", "Storage.setCookies", obj{"cookies": []obj{{
		"name": "k", "value": "v", "url": "https://kept.test/", "expires": float64(time.Now().AddDate(0, 0, 1).Unix()),
	}}}, nil)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !exists(p.Profile.Dir) || p.Profile.Dir != filepath.Join(o.DataDir, "profiles", "kept") {
		t.Fatalf("profile directory %s: exists %v", p.Profile.Dir, exists(p.Profile.Dir))
	}
	info, err := os.Stat(p.Profile.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("profile directory has mode %v, %v", info.Mode(), err)
	}

	p = mustLaunch(t, o)
	var got struct {
		Cookies []struct{ Name, Value string }
	}
	call(t, p.Transport, "", "Storage.getCookies", obj{}, &got)
	if len(got.Cookies) != 1 || got.Cookies[0].Value != "v" {
		t.Errorf("cookies after a restart: %+v", got.Cookies)
	}
}

func TestProfileInUse(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	o.Profile = "default"
	first := mustLaunch(t, o)
	_, err := Start(t.Context(), o)
	if executor.CodeOf(err) != executor.ErrLaunchFailed ||
		!strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Fatalf("second launch on one profile: %v", err)
	}
	var v cdpconn.Version
	call(t, first.Transport, "", "Browser.getVersion", obj{}, &v)

	o.Profile = "other"
	second := mustLaunch(t, o)
	call(t, second.Transport, "", "Browser.getVersion", obj{}, &v)
}

func TestArgumentsUnderProxy(t *testing.T) {
	o := Options{ProxyServer: "127.0.0.1:3128", ExtraArgs: []string{"--disable-features=Mine,Yours", "--lang=nb", "--blink-settings=imagesEnabled=false"}}
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

// TestColor checks that only a window has a color.
func TestColor(t *testing.T) {
	o := Options{Color: "#1A73e8"}
	for _, headless := range []bool{true, false} {
		args, err := o.arguments("/data/p", headless)
		if err != nil || slices.Contains(args, "--install-autogenerated-theme=26,115,232") == headless {
			t.Errorf("headless %t: arguments %q, %v", headless, args, err)
		}
	}
}

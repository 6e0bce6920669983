package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// anotherServer starts a second server as another MCP host does. The two servers do not affect each
// other.
func (e *endToEnd) anotherServer(t *testing.T) {
	b, s := e.browser, e.server
	other := startMCP(t, "--data", e.data, "--port=0", "--allow-domain", e.site.URL, "--no-cdp-fallback", "--headless")
	other.until(t, "backend: extension", "chrome_status", nil)
	other.call(t, "chrome_status", nil, "no tab shared")
	other.call(t, "navigate", map[string]any{"url": e.site.URL + "/other"}, "other")
	if text := s.call(t, "tabs_list", nil, "/shared"); strings.Contains(text, "/other") {
		t.Errorf("the first server sees %s", text)
	}
	if text := other.call(t, "tabs_list", nil, "/other"); strings.Contains(text, "/shared") {
		t.Errorf("the second server sees %s", text)
	}
	s.call(t, "get_text", nil, "Lamps of walnut")
	other.end(t)
	await.Until(t, "its tab to close", func() bool {
		return !slices.ContainsFunc(b.Targets(t), func(x userbrowser.Target) bool { return strings.HasSuffix(x.URL, "/other") })
	})
	s.call(t, "get_text", nil, "Lamps of walnut")
	if files, _ := filepath.Glob(filepath.Join(e.data, "handshakes", "*")); len(files) != 1 {
		t.Errorf("handshake files %q", files)
	}
}

// closeAndOpen closes the user's Chrome. Calls use the managed browser and report the switch; after
// a restart they use the user's Chrome again.
func (e *endToEnd) closeAndOpen(t *testing.T) {
	b, s := e.browser, e.server
	b.Popup(t, func(session string) {
		b.holds(t, session, "(() => { const k = document.getElementById('keep'); if (!k.checkVisibility()) return false; if (!k.checked) k.click(); return k.checked; })()")
	})
	await.Until(t, "the site to be shared automatically", func() bool {
		var n int
		b.Worker(t, "chrome.storage.local.get('settings').then((g) => g.settings?.keepSites?.length ?? 0)", &n)
		return n == 1
	})
	tab := regexp.MustCompile(`ext:\S+`).FindString(s.call(t, "tabs_list", nil))
	running := make(chan string, 1)
	go func() {
		text, _, err := s.try(t.Context(), "eval", map[string]any{"expression": "fetch('/slow').catch(String).then(() => new Promise(() => {}))"})
		running <- fmt.Sprint(text, err)
	}()
	e.site.reached(t)
	b.CloseGracefully(t)
	if text := await.Receive(t, "the end of the call that ran", running); !strings.HasPrefix(text, "EXTENSION_DISCONNECTED: ") && !strings.HasPrefix(text, "TARGET_GONE: ") {
		t.Errorf("the call that ran answered %s", text)
	}
	s.refused(t, "STALE_TAB", "click", map[string]any{"selector": "#count"}, "the active tab is in the user's own Chrome", "the extension disconnected")
	s.refused(t, "STALE_TAB", "get_text", map[string]any{"tabId": tab}, "the extension disconnected")
	s.call(t, "navigate", map[string]any{"url": e.site.URL + "/without"}, "without", "note: calls now use the managed or attached browser (cdp)", "Ask the user to open Chrome")
	s.call(t, "chrome_status", nil, "backend: cdp", "the extension disconnected", "extension connected: false")
	s.call(t, "click", map[string]any{"selector": "#count"})

	b.open()
	s.until(t, "backend: extension", "chrome_status", nil)
	s.refused(t, "STALE_TAB", "click", map[string]any{"selector": "#count"}, "the active tab is in the managed or attached browser (cdp)")
	s.call(t, "tabs_list", nil, "note: calls now use the user's own Chrome (extension)", "the extension is connected")
	// The site is shared again automatically.
	e.page = b.Find(t, "page", "about:blank").ID
	b.GoTo(t, e.page, e.site.URL+"/kept")
	s.until(t, "/kept", "tabs_list", nil)
	s.refused(t, "TAB_NOT_FOUND", "get_text", nil, "the active tab is gone", "/kept")
	e.selectTab(t, "/kept")
}

// freeze stops the extension. Calls detect that it is connected but does not respond, when hang limits
// have passed: only in the deep tests.
func (e *endToEnd) freeze(t *testing.T) {
	if !tier.DeepEnabled() {
		return
	}
	s := e.server
	all := descendants(t, e.browser.PID())
	for _, p := range all {
		p.Suspend()
	}
	thaw := func() {
		for _, p := range all {
			p.Resume()
		}
	}
	defer thaw()
	await.Until(t, "calls to go elsewhere", func() bool { // after its last response has expired
		text := s.call(t, "tabs_list", nil)
		if !strings.Contains(text, "note: calls now use the managed or attached browser (cdp)") {
			return false
		}
		wants(t, "tabs_list", text, []string{"the extension does not respond"})
		return true
	})
	s.call(t, "chrome_status", nil, "backend: cdp", "the extension does not respond", "extension connected: true")
	thaw()
	s.until(t, "backend: extension", "chrome_status", nil)
	s.call(t, "tabs_list", nil, "note: calls now use the user's own Chrome", "/kept")
	s.call(t, "get_text", nil, "Lamps of walnut")
}

func descendants(t *testing.T, pid int) []*process.Process {
	t.Helper()
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		t.Fatal(err)
	}
	all := []*process.Process{p}
	for i := 0; i < len(all); i++ {
		children, err := all[i].Children()
		if err == nil {
			all = append(all, children...)
		}
	}
	return all
}

// stopAndReconnect runs chrome-mcp stop, which disconnects the server immediately. SIGHUP lets it
// reconnect.
func (e *endToEnd) stopAndReconnect(t *testing.T) {
	s := e.server
	if _, stderr, err := execute(t, e.data, nil, "stop"); err != nil {
		t.Fatal(err, stderr)
	}
	s.until(t, "disconnected by chrome-mcp stop", "chrome_status", nil)
	s.call(t, "tabs_list", nil, "note: calls now use the managed or attached browser", "chrome-mcp stop")
	if runtime.GOOS == "windows" {
		return
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	published(t, e.data)
	fresh := token(t, e.data)
	if slices.Contains(e.secrets, fresh) {
		t.Error("the token is the same")
	}
	e.secrets = append(e.secrets, fresh)
	s.until(t, "backend: extension", "chrome_status", nil)
	s.call(t, "tabs_list", nil, "/kept")
}

// end ends the test, and checks that no process or file of ours remains and that the user's files
// are unchanged.
func (e *endToEnd) end(t *testing.T) {
	b, s := e.browser, e.server
	s.call(t, "get_text", nil, "Lamps of walnut")
	s.call(t, "tab_new", map[string]any{"url": e.site.URL + "/mine"}, "mine")
	s.end(t)
	await.Until(t, "the agent's tab to close", func() bool {
		return !slices.ContainsFunc(b.Targets(t), func(x userbrowser.Target) bool { return strings.HasSuffix(x.URL, "/mine") })
	})
	var attached bool
	await.Until(t, "the debugger to detach", func() bool {
		b.Worker(t, "chrome.debugger.getTargets().then((all) => all.some((t) => t.attached && t.tabId))", &attached)
		return !attached
	})
	b.EvalInTarget(t, e.page, "location.pathname === '/kept'", &attached)
	if !attached {
		t.Error("the user's tab is elsewhere")
	}
	var log string
	b.Worker(t, "chrome.storage.local.get('log').then(JSON.stringify)", &log)
	wantNoSecret(t, "the extension's log", log, e.secrets)
	if !strings.Contains(log, "disconnected") {
		t.Errorf("the extension's log is %s", log)
	}
	waitGone(t, filepath.Join(e.data, "tmp"))
	for line := range strings.Lines(s.out.String()) {
		if _, err := checkRPC(line); err != nil {
			t.Error(err)
		}
	}
	uninstall := exec.Command(binary, "extension", "uninstall", "--data", e.data)
	uninstall.Env = b.environ()
	if out, err := uninstall.CombinedOutput(); err != nil || !strings.Contains(string(out), "Unregistered from Chromium") {
		t.Errorf("extension uninstall: %v %s", err, out)
	}
	filepath.WalkDir(e.data, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(e.data, path)
		if name == "tmp" { // the browser's profile; TestSIGKILLLeavesNoBrowser checks it
			return filepath.SkipDir
		}
		if err != nil || !d.IsDir() && name != "pairings.json" && filepath.Dir(name) != "downloads" {
			t.Errorf("%s is left, %v", name, err)
		}
		return nil
	})
}

// TestPortTaken checks that the program continues if the port is in use, and that calls report it.
func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	data := t.TempDir()
	s := startMCP(t, "--data", data, "--port", port, "--no-cdp-fallback")
	s.until(t, "cannot listen on port "+port, "chrome_status", nil)
	s.refused(t, "NO_BACKEND", "tabs_list", nil, "cannot listen on port "+port, "Omit the port or choose another one.", "removing --no-cdp-fallback")
	s.end(t)
	if files, _ := filepath.Glob(filepath.Join(data, "handshakes", "*")); len(files) != 0 {
		t.Errorf("handshake files %q", files)
	}
}

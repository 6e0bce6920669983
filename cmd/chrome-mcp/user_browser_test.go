package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// A userBrowser is a Chromium with the extension loaded.
type userBrowser struct {
	*userbrowser.Browser // the running browser, after open
	t                    testing.TB
	root                 string // home directory
	display              string // display of its windows; "" for headless
	flags                []string
	others               []string // directories of other extensions
}

// newUserBrowser installs a browser and the extension, without starting them.
func newUserBrowser(t testing.TB) *userBrowser {
	t.Helper()
	userbrowser.Find(t)
	root, err := os.MkdirTemp("", "chrome-mcp-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	userbrowser.WriteExtension(t, filepath.Join(root, "extension"))
	return &userBrowser{t: t, root: root}
}

// shared has the browser of sharedUserBrowser, or nil, and what closes it.
var shared struct {
	browser *userBrowser
	cleanup []func()
	failed  bool // a test that used it
}

// A sharedTB is the first test that uses the shared browser. It ends with the other tests.
type sharedTB struct{ testing.TB }

func (sharedTB) Cleanup(f func()) { shared.cleanup = append(shared.cleanup, f) }
func (sharedTB) Failed() bool     { return shared.failed }

// Logf is called after the test has ended.
func (sharedTB) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// sharedUserBrowser returns a running browser for a test that may share one, and the data directory that
// is registered in it. It has one tab, which is blank and not shared, and no cookies.
func sharedUserBrowser(t *testing.T) (b *userBrowser, data string) {
	t.Helper()
	needChromium(t)
	t.Cleanup(func() {
		if t.Failed() {
			shared.failed = true
			closeSharedUserBrowser()
		}
	})
	if shared.browser == nil {
		b = newUserBrowser(sharedTB{t})
		data = filepath.Join(b.root, "data")
		b.register(t, data)
		b.open()
		shared.browser = b
		return b, data
	}
	b = shared.browser
	b.Call(t, "", "Storage.clearCookies", nil, nil)
	blank := b.NewTab(t, "about:blank")
	await.Until(t, "the other tabs to close", func() bool {
		closed := true
		for _, x := range b.Targets(t) {
			if x.Type == "page" && x.ID != blank {
				closed = false
				<-b.Send("", "Target.closeTarget", map[string]any{"targetId": x.ID})
			}
		}
		return closed
	})
	return b, filepath.Join(b.root, "data")
}

// closeSharedUserBrowser closes the browser of sharedUserBrowser.
func closeSharedUserBrowser() {
	for _, f := range slices.Backward(shared.cleanup) {
		f()
	}
	shared.browser, shared.cleanup, shared.failed = nil, nil, false
}

// environ returns the environment of the user's programs.
func (b *userBrowser) environ() []string {
	return append(tier.FullEnviron(), "HOME="+b.root, "XDG_CONFIG_HOME=")
}

// profile returns the user data directory of Chromium.
func (b *userBrowser) profile() string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(b.root, "Library", "Application Support", "Chromium")
	}
	return filepath.Join(b.root, ".config", "chromium")
}

// register runs `extension install`, which registers the native messaging host.
func (b *userBrowser) register(t *testing.T, data string) {
	t.Helper()
	cmd := exec.Command(binary, "extension", "install", "--browser", "chromium", "--data", data)
	cmd.Env = b.environ()
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), filepath.Join(data, "extension")) {
		t.Fatalf("extension install: %v %s", err, out)
	}
}

// open starts the browser. Later calls use the same profile.
func (b *userBrowser) open() {
	b.t.Helper()
	b.Browser = userbrowser.Start(b.t, userbrowser.Options{
		Profile: b.profile(), Extensions: append([]string{filepath.Join(b.root, "extension")}, b.others...), Env: b.environ(), Display: b.display, Flags: b.flags,
	})
}

// number returns the tab id of the extension API.
func (b *userBrowser) number(t *testing.T, urlPart string) (id int) {
	t.Helper()
	await.Until(t, "the id of a tab at "+urlPart, func() bool {
		b.Worker(t, fmt.Sprintf("chrome.tabs.query({}).then((tabs) => tabs.find((t) => t.url.includes(%q))?.id ?? 0)", urlPart), &id)
		return id != 0
	})
	return id
}

// options opens the options page, calls work and closes the page.
func (b *userBrowser) options(t *testing.T, work func(session string)) {
	t.Helper()
	id := b.NewTab(t, "chrome-extension://"+extension.ID()+"/options.html")
	b.WithSession(t, id, work)
	<-b.Send("", "Target.closeTarget", map[string]any{"targetId": id})
}

// press opens the extension popup and clicks in it.
func (b *userBrowser) press(t *testing.T, selector, text string) {
	t.Helper()
	b.Popup(t, func(session string) { b.Click(t, session, selector, text) })
}

// toggleSharing presses the shortcut that shares the tab in the foreground, or stops sharing it.
func (b *userBrowser) toggleSharing(t *testing.T) {
	t.Helper()
	b.Worker(t, "chrome.commands.onCommand.dispatch('share-tab')", nil)
}

// shows waits until an element shows a text.
func (b *userBrowser) shows(t *testing.T, session, selector, text string) {
	t.Helper()
	got := ""
	defer func() {
		if got != text {
			t.Logf("%s shows %q", selector, got)
		}
	}()
	await.Until(t, fmt.Sprintf("%s to show %q", selector, text), func() bool {
		b.Eval(t, session, fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector), &got)
		return got == text
	})
}

// holds waits until a condition of the page is true.
func (b *userBrowser) holds(t *testing.T, session, condition string) {
	t.Helper()
	await.Until(t, condition, func() bool {
		var ok bool
		b.Eval(t, session, "!!("+condition+")", &ok)
		return ok
	})
}

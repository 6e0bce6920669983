package extension

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v4/process"

	extfiles "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A userBrowser is a Chromium with the extension and a registered native messaging host.
type userBrowser struct {
	*userbrowser.Browser // the current or last process
	t                    testing.TB
	root                 string // profile and extension
	data                 string // data directory of the servers
	opts                 userBrowserOptions
}

type userBrowserOptions struct {
	prepare func(dir string) // changes the extension's files
	more    []string         // directories of other extensions
	flags   []string
}

// newUserBrowser starts a browser for the servers of a data directory.
func newUserBrowser(t testing.TB, data string, opts userBrowserOptions) *userBrowser {
	t.Helper()
	root, err := os.MkdirTemp("", "extension-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	u := &userBrowser{t: t, root: root, data: data, opts: opts}
	dir := filepath.Join(root, "extension")
	userbrowser.WriteExtension(t, dir)
	if opts.prepare != nil {
		opts.prepare(dir)
	}
	hosts := filepath.Join(root, "profile", "NativeMessagingHosts")
	if err := os.MkdirAll(hosts, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	manifest, _ := json.Marshal(map[string]any{
		"name": wire.HostName, "description": "test", "path": self, "type": "stdio",
		"allowed_origins": []string{"chrome-extension://" + extfiles.ID() + "/"},
	})
	if err := os.WriteFile(filepath.Join(hosts, wire.HostName+".json"), manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	u.start()
	return u
}

// start starts the browser, again on the profile of the one before.
func (u *userBrowser) start() {
	u.t.Helper()
	u.Browser = userbrowser.Start(u.t, userbrowser.Options{
		Profile:    filepath.Join(u.root, "profile"),
		Extensions: append([]string{filepath.Join(u.root, "extension")}, u.opts.more...),
		Window:     "1280,807",
		Flags:      append([]string{"--hide-scrollbars", "--silent-debugger-extension-api", "--test-type"}, u.opts.flags...),
		Env:        append(os.Environ(), nativeEnv+"="+u.data, "HOME="+u.root),
	})
}

// awaitHosts waits until n native messaging hosts of this test are running. A host exits with its
// browser, or when it is idle.
func awaitHosts(t testing.TB, n int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, fmt.Sprintf("%d native messaging hosts", n), func() bool {
		all, err := process.Processes()
		if err != nil {
			t.Fatal(err)
		}
		hosts := 0
		for _, p := range all {
			if args, err := p.CmdlineSlice(); err == nil && len(args) > 1 && args[0] == self && strings.HasPrefix(args[1], "chrome-extension://") {
				hosts++
			}
		}
		return hosts == n
	})
}

// call sends a command over the user's CDP connection.
func (u *userBrowser) call(session, method string, params, result any) {
	u.t.Helper()
	u.Call(u.t, session, method, params, result)
}

// target waits for a target and returns its id.
func (u *userBrowser) target(kind, urlPart string) string {
	u.t.Helper()
	return u.Find(u.t, kind, urlPart).ID
}

// eval runs an expression in a target and decodes the value that it resolves to.
func (u *userBrowser) eval(target, expression string, result any) {
	u.t.Helper()
	u.EvalInTarget(u.t, target, expression, result)
}

// worker runs an expression in the extension's worker.
func (u *userBrowser) worker(expression string, result any) {
	u.t.Helper()
	u.Worker(u.t, expression, result)
}

// killWorker closes the extension's service worker.
func (u *userBrowser) killWorker() {
	u.t.Helper()
	u.KillWorker(u.t)
}

// open opens a page in a new foreground tab and returns the tab's id.
func (u *userBrowser) open(url string) int {
	u.t.Helper()
	var made struct {
		ID string `json:"targetId"`
	}
	u.call("", "Target.createTarget", map[string]any{"url": url}, &made)
	var tab int
	u.worker(fmt.Sprintf("chrome.debugger.getTargets().then((all) => all.find((t) => t.id === %q).tabId)", made.ID), &tab)
	u.waitLoaded(tab, url)
	return tab
}

// waitLoaded waits until a tab shows a page.
func (u *userBrowser) waitLoaded(tab int, url string) {
	u.t.Helper()
	await.Until(u.t, fmt.Sprintf("tab %d to show %s", tab, url), func() bool {
		var at string
		u.worker(fmt.Sprintf("chrome.tabs.get(%d).then((t) => t.status === 'complete' ? t.url : '')", tab), &at)
		return at == url
	})
}

// toggle presses the shortcut that shares a tab or stops sharing it.
func (u *userBrowser) toggle(tab int) {
	u.t.Helper()
	u.worker(fmt.Sprintf("chrome.commands.onCommand.dispatch('share-tab', {id: %d})", tab), nil)
}

// act performs the action of a button on the extension's pages. It returns the message that the
// user sees if the action fails.
func (u *userBrowser) act(action string, args map[string]any) (message string) {
	u.t.Helper()
	text, _ := json.Marshal(args)
	u.options(fmt.Sprintf("new PagePort(() => {}).act(%q, %s).then(() => '', (e) => e.message)", action, text), &message)
	return message
}

// answer waits for the prompt for script consent and gives an answer.
func (u *userBrowser) answer(answer string) {
	u.t.Helper()
	u.options(fmt.Sprintf(`new Promise((done) => {
		const port = new PagePort(({ questions: [q] }) => {
			if (q) done(port.act('answer', {question: q.id, answer: %q}).then(() => ''));
		});
	})`, answer), nil)
}

// options runs an expression in the options page, with the PagePort class of the extension's pages.
func (u *userBrowser) options(expression string, result any) {
	u.t.Helper()
	var page struct {
		ID string `json:"targetId"`
	}
	u.call("", "Target.createTarget", map[string]any{"url": "chrome-extension://" + extfiles.ID() + "/options.html", "background": true}, &page)
	await.Until(u.t, "the options page", func() (there bool) {
		u.eval(page.ID, "document.readyState === 'complete' && location.pathname === '/options.html'", &there)
		return there
	})
	u.eval(page.ID, "import('/page_port.js').then(({ PagePort }) => "+expression+")", result)
	u.call("", "Target.closeTarget", map[string]any{"targetId": page.ID}, nil)
}

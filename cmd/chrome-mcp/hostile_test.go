package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// hostileCalls is the number of calls to the real program.
var hostileCalls = flag.Int("hostile-calls", 500, "number of calls that TestLongHostile makes")

const (
	// hostileWorkers is the number of workers that make calls concurrently.
	hostileWorkers = 2

	// hostileMemory is the maximum resident memory of the server at the end, in bytes.
	hostileMemory = 40 << 20

	// hostileSlack is the time by which a call may exceed its timeout, because the machine also
	// runs a browser full of hostile pages.
	hostileSlack = 15 * time.Second
)

// hostileTools return random arguments for a call of each of the 26 tools.
var hostileTools = map[string]func(w *hostileWorker) map[string]any{
	"tabs_list":     func(*hostileWorker) map[string]any { return nil },
	"chrome_status": func(*hostileWorker) map[string]any { return nil },
	"tab_new": func(w *hostileWorker) map[string]any {
		return map[string]any{"url": w.page(), "active": w.IntN(2) == 0}
	},
	"tab_select": func(w *hostileWorker) map[string]any { return w.on(nil) },
	"tab_close":  func(w *hostileWorker) map[string]any { return w.on(nil) },
	"navigate": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"url": w.page(), "timeoutMs": 3000, "waitUntil": w.one("load", "domcontentloaded", "networkidle", "commit")})
	},
	"back":    func(w *hostileWorker) map[string]any { return w.on(nil) },
	"forward": func(w *hostileWorker) map[string]any { return w.on(nil) },
	"reload":  func(w *hostileWorker) map[string]any { return w.on(nil) },
	"click": func(w *hostileWorker) map[string]any {
		return w.on(w.target(map[string]any{"timeoutMs": 1500, "button": w.one("left", "middle", "right"), "clickCount": 1 + w.IntN(3)}))
	},
	"type": func(w *hostileWorker) map[string]any {
		return w.on(w.target(map[string]any{"text": "text", "keyEvents": w.IntN(2) == 0}))
	},
	"press": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"key": w.one("a", "Enter", "F2", "Control+a")})
	},
	"hover":  func(w *hostileWorker) map[string]any { return w.on(w.target(nil)) },
	"scroll": func(w *hostileWorker) map[string]any { return w.on(map[string]any{"deltaY": 1000 * w.IntN(100)}) },
	"select_option": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"selector": "select", "values": []string{"Norway"}})
	},
	"snapshot": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"diff": w.IntN(2) == 0, "interactiveOnly": w.IntN(2) == 0, "find": w.one("", "", "again", "/[0-9]+/")})
	},
	"screenshot": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"fullPage": w.IntN(2) == 0, "labels": w.IntN(2) == 0, "format": w.one("png", "jpeg")})
	},
	"get_text": func(w *hostileWorker) map[string]any { return w.on(nil) },
	"get_html": func(w *hostileWorker) map[string]any { return w.on(nil) },
	"eval": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"expression": w.one(hostileScripts...)})
	},
	"wait_for": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"text": w.one("bottom", "never"), "timeoutMs": 1000})
	},
	"extract_links":    func(w *hostileWorker) map[string]any { return w.on(nil) },
	"read_as_markdown": func(w *hostileWorker) map[string]any { return w.on(map[string]any{"selector": w.one("body", "")}) },
	"fill_form": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"fields": map[string]any{"[name=name]": "Ada", "[name=gift]": true}, "submitSelector": w.one("", "text=Send")})
	},
	"download_file": func(w *hostileWorker) map[string]any {
		if w.IntN(2) == 0 {
			return w.on(map[string]any{"selector": "#save"})
		}
		return w.on(map[string]any{"url": w.site + w.one("/file", "/bytes", "/plain", "/turns"), "suggestedName": w.one("", "../../x", "CON", strings.Repeat("x", 1000))})
	},
	"handle_dialog": func(w *hostileWorker) map[string]any {
		return w.on(map[string]any{"accept": w.IntN(2) == 0, "promptText": w.one("", "text")})
	},
}

var hostileScripts = []string{"1", "'x'.repeat(1e7)", "new Promise(() => {})", "for (;;);", "throw { toString() { for (;;); } }", "document", "window", "[...Array(1e6)]", "alert(1)",
	"new Proxy({}, { get() { throw 1 }, ownKeys() { for (;;); } })", "document.body.remove()", "location.href = '/leaves'", "open('/alerts')", "(function f() { f() })()"}

// hostileLimit returns the time by which a call must have returned.
func hostileLimit(tool string, args map[string]any) time.Duration {
	limit := 15 * time.Second // of one read
	switch tool {
	case "navigate", "click", "wait_for":
		limit = time.Duration(args["timeoutMs"].(int)) * time.Millisecond
	case "tab_new", "back", "forward", "reload", "eval":
		limit = 30 * time.Second
	case "download_file":
		limit = 60 * time.Second
	}
	return limit + hostileSlack
}

// A hostileWorker calls tools on its own tabs, one call at a time.
type hostileWorker struct {
	*rand.Rand
	client *sdk.ClientSession
	site   string
	tab    string // empty before the first tab is opened
	asked  bool   // a dialog was open
	names  []string
	todo   []string // tools that the worker has not called yet
	pages  []string
}

func newHostileWorker(seed uint64, client *sdk.ClientSession, site string, but []string) *hostileWorker {
	pages := append(slices.Sorted(maps.Keys(hostilePages)), "turns", "silent", "stream", "bytes", "bomb", "file")
	pages = slices.DeleteFunc(pages, func(name string) bool { return slices.Contains(but, name) })
	names := slices.Sorted(maps.Keys(hostileTools))
	return &hostileWorker{Rand: rand.New(rand.NewPCG(seed, 0)), client: client, site: site, names: names, todo: names, pages: pages}
}

func (w *hostileWorker) one(list ...string) string { return list[w.IntN(len(list))] }

// page returns the URL of a page. Each page is a separate site: a page that uses all connections to
// its host, or blocks its process, affects only itself.
func (w *hostileWorker) page() string {
	name := w.one(w.pages...)
	return strings.Replace(w.site, "127.0.0.1", name+".localhost", 1) + "/" + name
}

func (w *hostileWorker) on(args map[string]any) map[string]any {
	if args == nil {
		args = map[string]any{}
	}
	for k, v := range args {
		if v == "" {
			delete(args, k) // omitted
		}
	}
	if w.tab != "" {
		args["tabId"] = w.tab
	}
	return args
}

func (w *hostileWorker) target(args map[string]any) map[string]any {
	if args == nil {
		args = map[string]any{}
	}
	if w.IntN(3) == 0 {
		args["ref"] = "e" + strconv.Itoa(1+w.IntN(30))
	} else {
		args["selector"] = w.one("#b", "a", "input", "text=Press", `role=button[name="Send"]`, "dialog", "iframe")
	}
	return args
}

var hostileTab = regexp.MustCompile(`cdp:\w+:\d+`)

// step makes one call. Whatever the page does, the call returns in time, and its result contains no
// page text outside of fences.
func (w *hostileWorker) step(t *testing.T) (tool string, took time.Duration, code string) {
	tool = w.names[w.IntN(len(w.names))]
	switch {
	case w.tab == "":
		tool = "tab_new"
	case w.asked && w.IntN(2) == 0:
		tool = "handle_dialog"
	case w.IntN(4) == 0:
		tool = "navigate"
	case len(w.todo) > 0:
		tool, w.todo = w.todo[0], w.todo[1:]
	}
	args := hostileTools[tool](w)
	if w.tab == "" {
		args = map[string]any{"url": w.page()}
	}
	ctx, cancel := context.WithTimeout(t.Context(), hostileLimit(tool, args))
	defer cancel()
	// Most clients cancel before the server's timeout, some immediately.
	hurried := w.IntN(10) > 0
	if hurried {
		patience := 1500 * time.Millisecond
		if w.IntN(10) == 0 {
			patience = time.Duration(w.IntN(500)) * time.Millisecond
		}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, patience)
		defer stop()
	}
	what := tool + " " + asJSON(args)
	begin := time.Now()
	res, err := w.client.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	took = time.Since(begin)
	switch {
	case err != nil && hurried && ctx.Err() != nil && t.Context().Err() == nil:
		return tool, took, "canceled"
	case err != nil:
		t.Errorf("%s, after %v: %v", what, took, err)
		return tool, took, "error"
	}
	var text strings.Builder
	size := 0
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			text.WriteString(c.Text)
			size += len(c.Text)
		}
	}
	if size > 512<<10 {
		t.Errorf("%s answered %d bytes of text", what, size)
	}
	if strings.ContainsAny(text.String(), "\x1b\u202e\u200b") {
		t.Errorf("the result of %s contains control or invisible characters", what)
	}
	if took > 10*time.Second {
		t.Logf("%s took %v: %.100q", what, took.Round(time.Millisecond), text.String())
	}
	code = "ok"
	w.asked = false
	if res.IsError {
		code, _, _ = strings.Cut(text.String(), ":")
		switch code {
		case "INTERNAL", "UNKNOWN_METHOD", "EXTENSION_DISCONNECTED", "NO_BACKEND", "LAUNCH_FAILED":
			t.Errorf("%s: %s", what, text.String())
		case "TAB_NOT_FOUND", "TARGET_GONE", "STALE_TAB":
			w.close(t, w.tab)
			w.tab = ""
		case "DIALOG_OPEN":
			w.asked = true
			if other := hostileTab.FindString(text.String()); tool != "tab_new" && other != w.tab {
				w.close(t, other) // it blocks this tab
			}
		}
	}
	switch {
	case tool == "tab_close":
		w.tab = ""
	case tool == "tab_new" && (code == "ok" || code == "DIALOG_OPEN") && hostileTab.MatchString(text.String()):
		w.close(t, w.tab)
		w.tab = hostileTab.FindString(text.String())
	}
	return tool, took, code
}

// close closes a tab, so that unused pages do not fill the browser.
func (w *hostileWorker) close(t *testing.T, tab string) {
	if tab == "" {
		return
	}
	if _, err := w.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "tab_close", Arguments: map[string]any{"tabId": tab}}); err != nil {
		t.Errorf("closing %s: %v", tab, err)
	}
}

// A hostileTally counts the results by tool.
type hostileTally struct {
	mu    sync.Mutex
	calls map[string]int
	codes map[string]int
	worst map[string]time.Duration
}

func (h *hostileTally) add(tool, code string, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls == nil {
		h.calls, h.codes, h.worst = map[string]int{}, map[string]int{}, map[string]time.Duration{}
	}
	h.calls[tool]++
	h.codes[code]++
	h.worst[tool] = max(h.worst[tool], took)
}

func (h *hostileTally) report(t *testing.T) {
	var worst []string
	for _, tool := range slices.SortedFunc(maps.Keys(h.worst), func(a, b string) int { return cmp.Compare(h.worst[b], h.worst[a]) }) {
		worst = append(worst, fmt.Sprintf("%s %d× ≤%v", tool, h.calls[tool], h.worst[tool].Round(10*time.Millisecond)))
	}
	t.Logf("results: %v\nlongest calls: %s", h.codes, strings.Join(worst, ", "))
}

// driveHostile has workers make calls in a session, and closes all tabs at the end.
func driveHostile(t *testing.T, client *sdk.ClientSession, site string, seed uint64, workers, calls int, but ...string) *hostileTally {
	t.Helper()
	tally := new(hostileTally)
	var work sync.WaitGroup
	for i := range workers {
		w := newHostileWorker(seed+uint64(i), client, site, but)
		work.Go(func() {
			for n := i; n < calls; n += workers {
				tool, took, code := w.step(t)
				tally.add(tool, code, took)
				if t.Context().Err() != nil {
					return
				}
			}
		})
	}
	work.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tab := ""; ; {
		res, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "tabs_list", Arguments: map[string]any{}})
		if err != nil {
			t.Errorf("listing the tabs at the end: %v", err)
			return tally
		}
		next := hostileTab.FindString(res.Content[0].(*sdk.TextContent).Text)
		if next == "" {
			return tally
		}
		if next == tab {
			t.Logf("%s is still open", tab)
		}
		tab = next
		if _, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "tab_close", Arguments: map[string]any{"tabId": tab}}); err != nil {
			t.Errorf("closing %s at the end: %v", tab, err)
			return tally
		}
	}
}

func hostileSeed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("CHROME_MCP_TEST_SEED"), "1"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d", seed)
	return seed
}

func hostileFlags(data, site string) []string {
	return append(rootNeedsNoSandbox(), "--data", data, "--port=0", "--allow-domain", site, "--allow-domain", "http://*.localhost:*", "--enable-mutations", "--enable-downloads",
		"--unsafe-enable-eval", "--headless", "--isolated")
}

// TestLongHostile makes calls of all kinds on pages that try to hang and flood
// the server. Each call returns in time. Afterwards the server uses little memory
// and leaves no processes or files.
func TestLongHostile(t *testing.T) {
	tier.Deep(t)
	needChromium(t)
	site := newHostileSite(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	data := filepath.Join(t.TempDir(), "data")
	s := startMCP(t, hostileFlags(data, site.URL)...)
	s.call(t, "tab_new", map[string]any{"url": site.URL + "/plain"})
	pid := s.cmd.Process.Pid
	filesBefore := openFiles(t, pid)

	begin := time.Now()
	tally := driveHostile(t, s.client, site.URL, hostileSeed(t), hostileWorkers, *hostileCalls)
	t.Logf("%d calls in %v", *hostileCalls, time.Since(begin).Round(time.Second))
	tally.report(t)
	for tool := range hostileTools {
		if tally.calls[tool] == 0 {
			t.Errorf("%s was not called", tool)
		}
	}
	if tally.codes["ok"] < *hostileCalls/4 {
		t.Error("too few calls succeeded")
	}

	// The server still works normally.
	s.call(t, "tab_new", map[string]any{"url": site.URL + "/plain"})
	s.call(t, "snapshot", nil, `heading "Hostile"`, `button "Press"`)
	smallEnough(t, pid, hostileMemory)
	// The browser and the servers keep connections open for some time, for further requests.
	if n := openFiles(t, pid); n > filesBefore+100 {
		t.Errorf("the server has %d files and sockets open, %d at the start", n, filesBefore)
	}
	s.end(t)
	waitGone(t, data)
	checkNoLeftovers(t, temp, data)
}

// smallEnough waits until the resident memory of a process is below limit. The runtime returns
// garbage to the operating system with a delay.
func smallEnough(t *testing.T, pid int, limit int) {
	t.Helper()
	var rss, peak int
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("memory is measured on Linux only")
		} else if err != nil {
			t.Fatal(err)
		}
		fmt.Sscan(statusLine(status, "VmRSS:"), &rss)
		fmt.Sscan(statusLine(status, "VmHWM:"), &peak)
		if rss <<= 10; rss <= limit {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("the server uses %d MiB, want at most %d", rss>>20, limit>>20)
			break
		}
	}
	t.Logf("the server uses %d MiB, peak %d", rss>>20, peak>>10)
}

func statusLine(status []byte, name string) string {
	_, rest, _ := bytes.Cut(status, []byte(name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strings.TrimSpace(string(line))
}

// openFiles returns the number of files and sockets that a process has open.
func openFiles(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}

// checkNoLeftovers fails the test if a server that exited left temporary files, or anything but finished
// downloads and its directories.
func checkNoLeftovers(t *testing.T, temp, data string) {
	t.Helper()
	for _, root := range []string{temp, data} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && (root == data || path == root) {
				return err
			}
			if name, _ := filepath.Rel(data, path); root == temp || !strings.HasPrefix(name, "downloads"+string(filepath.Separator)) || strings.HasSuffix(path, ".part") {
				t.Errorf("left is %s", path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(data, "tmp", "*")); len(found) > 0 {
		t.Errorf("left are %q", found)
	}
}

// TestLongHostileSessions makes the same calls in this process, with two servers at
// the same time, to detect goroutine leaks and data races.
func TestLongHostileSessions(t *testing.T) {
	tier.Deep(t)
	needChromium(t)
	site := newHostileSite(t)
	seed := hostileSeed(t)
	before := goleak.IgnoreCurrent()
	temp, folder := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	var work sync.WaitGroup
	for i := range 2 {
		data := filepath.Join(folder, strconv.Itoa(i))
		work.Go(func() {
			toServer, stdin := io.Pipe()
			stdout, fromServer := io.Pipe()
			stderr := new(testlog.Buffer)
			code := make(chan int, 1)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				code <- run(ctx, hostileFlags(data, site.URL), toServer, fromServer, stderr)
				fromServer.Close()
			}()
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: stdout, Writer: stdin}, nil)
			if err != nil {
				t.Errorf("connecting: %v\n%s", err, stderr)
				return
			}
			// These two pages log 10 MB per second, which a binary with the race detector cannot
			// read fast enough.
			driveHostile(t, session, site.URL, seed+uint64(100*i), 2, 60, "console", "throws").report(t)
			stdin.Close()
			session.Close()
			if c := <-code; c != cli.ExitOK {
				t.Errorf("exit code %d: %s", c, stderr)
			}
			waitGone(t, data)
		})
	}
	work.Wait()
	for i := range 2 {
		checkNoLeftovers(t, temp, filepath.Join(folder, strconv.Itoa(i)))
	}
	site.CloseClientConnections()
	goleak.VerifyNone(t, before)
}

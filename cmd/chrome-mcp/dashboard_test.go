package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A dashboardLogin is a login at the dashboard of a process.
type dashboardLogin struct {
	base   string
	cookie *http.Cookie
	hidden []string // what only the user may have: the link, the file, the code and the cookie
}

// dashboard runs the command dashboard and logs in with the file that it prints.
func (c *commandLine) dashboard(args ...string) *dashboardLogin {
	c.t.Helper()
	out, err := c.run(append([]string{"dashboard", "--no-open"}, args...)...)
	if err != nil {
		c.t.Fatalf("dashboard: %v\n%s", err, out)
	}
	path := regexp.MustCompile(`file://(\S+)`).FindStringSubmatch(out)
	if path == nil {
		c.t.Fatalf("no file in %s", out)
	}
	page, err := os.ReadFile(path[1])
	if err != nil {
		c.t.Fatal(err)
	}
	m := regexp.MustCompile(`action="([^"]+)">\s*<input type="hidden" name="code" value="([^"]+)"`).FindStringSubmatch(string(page))
	if m == nil || strings.Contains(out, m[2]) || strings.Contains(out, "http://") {
		c.t.Fatalf("the command prints %s", out)
	}
	resp, err := http.PostForm(m[1], url.Values{"code": {m[2]}})
	if err != nil {
		c.t.Fatal(err)
	}
	resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		c.t.Fatalf("login: %s", resp.Status)
	}
	base, cookie := strings.TrimSuffix(m[1], "login"), resp.Cookies()[0]
	u, err := url.Parse(base)
	if err != nil {
		c.t.Fatal(err)
	}
	return &dashboardLogin{base, cookie, []string{u.Host, u.Path, filepath.Base(path[1]), m[2], cookie.Value}}
}

// events reads events until one contains text, which it returns.
func (l *dashboardLogin) events(t *testing.T, text string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.base+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(l.cookie)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	timeout := time.AfterFunc(await.HangLimit, func() { resp.Body.Close() })
	defer timeout.Stop()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return lines.Text()
		}
	}
	t.Fatalf("the events end without %q: %s %v", text, resp.Status, lines.Err())
	return ""
}

// stop stops the session of an event.
func (l *dashboardLogin) stop(t *testing.T, event string) {
	t.Helper()
	id := regexp.MustCompile(`"id":"([a-z0-9]+)"`).FindStringSubmatch(event)
	if id == nil {
		t.Fatalf("no session in %s", event)
	}
	l.post(t, "stop", fmt.Sprintf(`{"session":%q}`, id[1]))
}

// post sends a request of the page.
func (l *dashboardLogin) post(t *testing.T, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(l.base)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(l.cookie)
	req.Header.Set("Origin", "http://"+u.Host)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("%s: %s", path, resp.Status)
	}
}

// TestDashboardCommand opens the dashboards of a server and of a process that an MCP host started,
// and stops their sessions.
func TestDashboardCommand(t *testing.T) {
	c := newCommandLine(t)
	if out, err := c.run("dashboard", "--no-open"); err == nil || !strings.Contains(out, "no chrome-mcp is running") {
		t.Errorf("without a process: %v\n%s", err, out)
	}
	base, _ := c.serveOn("127.0.0.1:0", "--headless", "--prefer", "cdp")
	if out, err := c.run("call", "chrome_status", "--session", "shop"); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	server := c.dashboard()
	event := server.events(t, `"name":"shop"`)
	if !strings.Contains(event, `"tool":"chrome_status"`) || !strings.Contains(event, `"principal":""`) || !strings.Contains(event, `"code":"OK"`) {
		t.Errorf("the session of call: %s", event)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/sessions/docs/tools/chrome_status", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(strings.TrimPrefix(c.header(), "@"))
	if err != nil {
		t.Fatal(err)
	}
	bearer := strings.TrimSpace(strings.TrimPrefix(string(token), "Authorization:"))
	req.Header.Set("Authorization", bearer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if event := server.events(t, `"name":"docs"`); !strings.Contains(event, `"principal":"http"`) {
		t.Errorf("the session of a token: %s", event)
	}

	// The cookie is valid for the dashboard only, and the token only for the server.
	for _, path := range []string{"/v1/sessions", "/v1/server", "/mcp", "/json/version", "/metrics"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(server.cookie)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s with the cookie of the dashboard: %s", path, resp.Status)
		}
	}
	req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, server.base, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", bearer)
	if resp, err = http.DefaultClient.Do(req); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("the dashboard with the token of the server: %s", resp.Status)
	}

	server.stop(t, event)
	await.Until(t, "the end of the session", func() bool {
		out, err := c.run("sessions")
		return err == nil && !strings.Contains(out, "shop")
	})
	if out, err := c.run("call", "chrome_status", "--session", "docs"); err != nil {
		t.Errorf("another session: %v\n%s", err, out)
	}

	// With several processes, the user selects one.
	host := startMCP(t, "--data", c.data, "--prefer", "cdp", "--headless")
	await.Until(t, "the socket of the second process", func() bool { return len(dashboard.Running(t.Context(), c.data)) == 2 })
	out, err := c.run("dashboard", "--no-open")
	if err == nil || !strings.Contains(out, fmt.Sprintf("--process %d: MCP host", host.cmd.Process.Pid)) || !strings.Contains(out, ": server") || strings.Contains(out, "file:") {
		t.Errorf("with two processes: %v\n%s", err, out)
	}
	if out, err := c.run("dashboard", "--no-open", "--process", "1"); err == nil || !strings.Contains(out, "no process 1 is running") {
		t.Errorf("an unknown process: %v\n%s", err, out)
	}
	if out, err := c.run("dashboard", "--no-open", "--process", "one"); err == nil || !strings.Contains(out, `--process: "one" is not a number`) {
		t.Errorf("no process id: %v\n%s", err, out)
	}
	stdio := c.dashboard("--process", fmt.Sprint(host.cmd.Process.Pid))
	host.call(t, "chrome_status", nil)
	event = stdio.events(t, `"tool":"chrome_status"`)
	if !strings.Contains(event, `"clients":["test 1"]`) {
		t.Errorf("the session of the MCP host: %s", event)
	}
	if got := len(dashboard.Ports(c.data)); got != 2 {
		t.Errorf("%d ports are published", got)
	}
	stdio.stop(t, event)
	ended := make(chan error, 1)
	go func() { ended <- host.client.Wait() }()
	await.Receive(t, "the end of the process of the MCP host", ended)
	await.Until(t, "the end of the process", func() bool { return len(dashboard.Ports(c.data)) == 1 })
}

// TestAskUserInDashboard checks that an agent with a headless browser gets the answer that the user
// gives in the dashboard, and that no result, no log and no audit entry opens the dashboard.
func TestAskUserInDashboard(t *testing.T) {
	t.Parallel() // it mainly waits
	needChromium(t)
	c := newCommandLine(t)
	site, record := openShop(t), filepath.Join(t.TempDir(), "audit.jsonl")
	host := startMCP(t, "--data", c.data, "--prefer", "cdp", "--headless", "--isolated", "--allow-domain", site,
		"--tools=core,people", "--audit-log", record, "--log-level=debug")
	host.call(t, "navigate", map[string]any{"url": site})
	question := map[string]any{"message": "Please check the price."}
	host.refused(t, "CONSENT_REQUIRED", "ask_user", question, "the user to run `chrome-mcp dashboard`")
	login := c.dashboard()
	event := login.events(t, "Please check the price.")
	id := regexp.MustCompile(`"id":"([^"]+)"[^}]*"message":"Please check the price\."`).FindStringSubmatch(event)
	if id == nil {
		t.Fatalf("no question in %s", event)
	}
	login.post(t, "answer", fmt.Sprintf(`{"question":%q,"outcome":"done"}`, id[1]))
	host.call(t, "ask_user", question, "done", site)
	host.call(t, "snapshot", nil, "Walnut")
	host.end(t)
	audit, err := os.ReadFile(record)
	if err != nil || !strings.Contains(string(audit), "handover: done") {
		t.Errorf("the audit log: %v\n%s", err, audit)
	}
	for where, text := range map[string]string{"results": host.out.String(), "log": host.er.String(), "audit log": string(audit)} {
		if text == "" {
			t.Errorf("no %s", where)
		}
		for _, hidden := range login.hidden {
			if strings.Contains(text, hidden) {
				t.Errorf("the %s contain %q:\n%s", where, hidden, text)
			}
		}
	}
}

// TestPagesCannotReachDashboard checks that the dashboard shows the tab of call, and that agents cannot open the dashboard of any process of the
// data directory, although their policy allows all ports of loopback.
func TestPagesCannotReachDashboard(t *testing.T) {
	needChromium(t)
	c := newCommandLine(t)
	settings := append(rootNeedsNoSandbox(), "--headless", "--prefer", "cdp", "--allow-domain", "127.0.0.1:*", "--allow-domain", "http://localhost:*")
	site := openShop(t)
	if out, err := c.run(append([]string{"call", "navigate", "url=" + site}, settings...)...); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	login := c.dashboard()
	// The session has a persistent profile, as that of call has.
	login.events(t, `"url":"`+site)
	u, err := url.Parse(login.base)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{login.base, "http://localhost:" + u.Port() + u.Path} {
		for _, where := range [][]string{nil, {"--no-server", "--isolated"}} {
			args := append([]string{"call", "navigate", "url=" + address}, settings...)
			if out, err := c.run(append(args, where...)...); err == nil || !strings.Contains(out, "POLICY_DENIED") {
				t.Errorf("navigate to %s %v: %v, %s", address, where, err, out)
			}
		}
	}
}

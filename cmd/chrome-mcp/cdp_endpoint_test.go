package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A cdpTest is the program with --cdp-listen, as an MCP host starts it.
type cdpTest struct {
	data, audit string
	url         string // as cdp-url prints it
	server      *mcpServer
}

// startCDP starts the program with --cdp-listen.
func startCDP(t *testing.T, args ...string) *cdpTest {
	t.Helper()
	needChromium(t)
	c := &cdpTest{data: filepath.Join(t.TempDir(), "data")}
	c.audit = filepath.Join(filepath.Dir(c.data), "audit.jsonl")
	c.server = startMCP(t, append([]string{"--data", c.data, "--cdp-listen", "127.0.0.1:0", "--unsafe-enable-eval", "--prefer=cdp",
		"--headless", "--isolated", "--log-level=debug", "--audit-log", c.audit}, args...)...)
	c.url = strings.TrimSpace(c.cdpURL(t))
	return c
}

// cdpURL returns the output of cdp-url.
func (c *cdpTest) cdpURL(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := execute(t, c.data, nil, append([]string{"cdp-url"}, args...)...)
	if err != nil || stderr != "" {
		t.Fatalf("cdp-url: %v %s", err, stderr)
	}
	return stdout
}

// get returns the status and the body of a response of the endpoint.
func get(t *testing.T, address string, header map[string]string) (status int, body string) {
	t.Helper()
	return request(t, http.MethodGet, address, header)
}

// request returns the status and the body of a response of the endpoint.
func request(t *testing.T, method, address string, header map[string]string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// A rawCDP is a CDP client that sends commands without a library.
type rawCDP struct {
	*websocket.Conn
	last int
}

// dialCDP connects to a WebSocket, or returns the status of the response.
func dialCDP(t *testing.T, address string, header http.Header) (conn *rawCDP, status int) {
	t.Helper()
	if header == nil {
		header = http.Header{}
	}
	header.Set("User-Agent", "raw/1.0")
	ws, resp, err := websocket.Dial(t.Context(), address, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		if resp == nil {
			t.Fatal(err)
		}
		return nil, resp.StatusCode
	}
	ws.SetReadLimit(64 << 20)
	t.Cleanup(func() { ws.CloseNow() })
	return &rawCDP{Conn: ws}, http.StatusSwitchingProtocols
}

// call sends a command and returns its reply.
func (c *rawCDP) call(t *testing.T, session, method string, params any) (result json.RawMessage, failed string) {
	t.Helper()
	return c.reply(t, c.send(t, session, method, params))
}

// send sends a command and returns its id.
func (c *rawCDP) send(t *testing.T, session, method string, params any) (id int) {
	t.Helper()
	c.last++
	command := map[string]any{"id": c.last, "method": method, "params": params}
	if session != "" {
		command["sessionId"] = session
	}
	if params == nil {
		delete(command, "params")
	}
	if err := wsjson.Write(await.Context(t), c.Conn, command); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return c.last
}

// reply waits for the reply to a command. It drops all other messages.
func (c *rawCDP) reply(t *testing.T, id int) (result json.RawMessage, failed string) {
	t.Helper()
	ctx := await.Context(t)
	for {
		var m struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := wsjson.Read(ctx, c.Conn, &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.ID != id:
		case m.Error != nil:
			return nil, m.Error.Message
		default:
			return m.Result, ""
		}
	}
}

// openAndClose opens a page by /json/new, and closes it by /json/close. It returns the audit entries
// of these requests, with the tab that the tools list.
func (c *cdpTest) openAndClose(t *testing.T, site string) (entries []string) {
	t.Helper()
	base := strings.TrimSpace(c.cdpURL(t))
	status, body := request(t, http.MethodPut, base+"/json/new?"+site+"/by-request", nil)
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusOK {
		t.Fatalf("/json/new: %d %s", status, body)
	}
	line := regexp.MustCompile(`(?m)^.*/by-request.*$`).FindString(c.server.until(t, "/by-request", "tabs_list", nil))
	tab := regexp.MustCompile(`(cdp|ext):[^\s,\]]+`).FindString(line)
	for _, command := range []string{"activate", "close"} {
		if status, body := get(t, base+"/json/"+command+"/"+made.ID, nil); status != http.StatusOK {
			t.Errorf("/json/%s: %d %s", command, status, body)
		}
	}
	for _, tool := range []string{"/json/new", "Target.activateTarget", "Target.closeTarget"} {
		entries = append(entries, `"tool":"cdp `+tool+`","tab":"`+tab+`","origin":"`+site+`","decision":"allowed"`)
	}
	return entries
}

// attach attaches to the only page and returns the session.
func (c *rawCDP) attach(t *testing.T) (session string) {
	t.Helper()
	raw, _ := c.call(t, "", "Target.getTargets", nil)
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	if err := json.Unmarshal(raw, &targets); err != nil {
		t.Fatal(err)
	}
	for _, info := range targets.TargetInfos {
		if info.Type != "page" {
			continue
		}
		raw, failed := c.call(t, "", "Target.attachToTarget", map[string]any{"targetId": info.TargetID, "flatten": true})
		var attached struct{ SessionID string }
		if err := json.Unmarshal(raw, &attached); err != nil {
			t.Fatal(failed, err)
		}
		return attached.SessionID
	}
	t.Fatalf("no page in %s", raw)
	return ""
}

// closed waits until the connection is closed by the other end.
func (c *rawCDP) closed(t *testing.T) {
	t.Helper()
	ctx := await.Context(t)
	for {
		if _, _, err := c.Read(ctx); err != nil {
			if ctx.Err() != nil {
				t.Error("the client is still connected")
			}
			return
		}
	}
}

// TestCDPEndpoint drives one browser by the tools, chromedp and a client without a library, and
// ends the program while clients are connected.
func TestCDPEndpoint(t *testing.T) {
	site := newTestSite(t)
	c := startCDP(t, "--allow-domain", site.URL)
	secret, err := url.Parse(c.url)
	if err != nil || len(secret.Path) != 65 || secret.Hostname() != "127.0.0.1" {
		t.Fatalf("cdp-url prints %s", c.url)
	}
	origin := "http://" + secret.Host
	if all := c.cdpURL(t, "--all"); strings.TrimSpace(all) != c.url {
		t.Errorf("cdp-url --all prints %s", all)
	}
	ws := strings.TrimSpace(c.cdpURL(t, "--ws"))

	// The endpoint exists only below the path.
	for _, tt := range []struct {
		url    string
		header map[string]string
		status int
	}{
		{origin, nil, 404},
		{origin + "/json/version", nil, 404},
		{origin + "/devtools/browser/relay", nil, 404},
		{origin + "/" + strings.Repeat("0", 64) + "/json/version", nil, 404},
		{c.url + "/json/version", map[string]string{"Host": "evil.example"}, 404},
		{c.url + "/json/version", map[string]string{"Origin": "https://evil.example"}, 403},
		{c.url + "/none", nil, 404},
		{c.url + "/json/version", nil, 200},
	} {
		if status, body := get(t, tt.url, tt.header); status != tt.status || status == 200 && !strings.Contains(body, `"webSocketDebuggerUrl": "ws://`+secret.Host+secret.Path) {
			t.Errorf("%s %v: %d %s, want %d", strings.ReplaceAll(tt.url, secret.Path, "/SECRET"), tt.header, status, body, tt.status)
		}
	}
	if _, status := dialCDP(t, "ws://"+secret.Host+"/devtools/browser/relay", nil); status != 404 {
		t.Errorf("a WebSocket without the path: %d", status)
	}

	// The agent's page is one of the client's, and the other way round.
	c.server.call(t, "navigate", map[string]any{"url": site.URL + "/agent"}, "agent")
	tab := regexp.MustCompile(`cdp:\S+`).FindString(c.server.call(t, "tabs_list", nil))
	raw, _ := dialCDP(t, ws, nil)
	session := raw.attach(t)
	if result, failed := raw.call(t, session, "Runtime.evaluate", map[string]any{"expression": "document.title + ' payload'"}); !strings.Contains(string(result), "agent payload") {
		t.Errorf("evaluate: %s %s", result, failed)
	}
	if _, failed := raw.call(t, session, "Page.navigate", map[string]any{"url": site.denied()}); !strings.Contains(failed, "denied") || !strings.Contains(failed, "--allow-domain") {
		t.Errorf("navigation to a denied host: %q", failed)
	}
	if _, failed := raw.call(t, "", "SystemInfo.getInfo", nil); !strings.Contains(failed, "not available through chrome-mcp") {
		t.Errorf("SystemInfo: %q", failed)
	}
	if n := site.asked("localhost "); n != 0 {
		t.Errorf("%d requests to a denied host", n)
	}
	ctx, cancel := remote.NewAllocator(t.Context(), ws)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(site.URL+"/chromedp")); err != nil {
		t.Fatal(err)
	}
	title, err := chromedp.Run(ctx, chromedp.Title())
	if err != nil || !strings.Contains(title, "chromedp") {
		t.Errorf("chromedp: %q, %v", title, err)
	}
	c.server.call(t, "tabs_list", nil, "/agent", "/chromedp")
	c.server.call(t, "chrome_status", nil, `cdp client: "raw/1.0" since 20`)

	requests := c.openAndClose(t, site.URL)

	// SIGTERM ends the program while the clients are connected, also one that reads nothing.
	dialCDP(t, ws, nil)
	if err := c.server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	raw.closed(t)
	if err := c.server.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	waitGone(t, c.data)
	if files, _ := filepath.Glob(filepath.Join(c.data, "cdp", "*")); len(files) > 0 {
		t.Errorf("left are %q", files)
	}
	for where, command := range map[string][]string{"on call": {"call", "chrome_status"}, "on shell": {"shell"}, "with --connect": {"--connect", "none"}} {
		_, stderr, err := execute(t, c.data, nil, append(command, "--cdp-listen", "127.0.0.1:0", "--unsafe-enable-eval")...)
		if err == nil || !strings.Contains(stderr, "--cdp-listen has no effect "+where) {
			t.Errorf("%s: %v %s", command, err, stderr)
		}
		_, stderr, err = execute(t, c.data, nil, append(command, "--egress-address", "127.0.0.1:0")...)
		if err == nil || !strings.Contains(stderr, "--egress-address has no effect "+where) {
			t.Errorf("%s: %v %s", command, err, stderr)
		}
	}
	if _, stderr, err := execute(t, c.data, nil, "cdp-url"); err == nil || !strings.Contains(stderr, "no chrome-mcp with --cdp-listen is running") {
		t.Errorf("cdp-url after the end: %v %s", err, stderr)
	}

	log, err := os.ReadFile(c.audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append(requests,
		`"client":"raw/1.0"`, `"tool":"cdp Runtime.evaluate","tab":"`+tab+`","origin":"`+site.URL+`","decision":"allowed"`,
		`"tool":"cdp Page.navigate"`, `"decision":"denied"`,
	) {
		if !strings.Contains(string(log), want) {
			t.Errorf("no %s in the audit log\n%s", want, log)
		}
	}
	for where, text := range map[string]string{"the audit log": string(log), "the log": c.server.er.String(), "stdout": c.server.out.String()} {
		wantNoSecret(t, where, text, []string{strings.TrimPrefix(secret.Path, "/")})
	}
	if strings.Contains(string(log), "payload") {
		t.Errorf("a script is in the audit log\n%s", log)
	}
}

// TestCDPSingleClient checks that --cdp-clients=single admits one client at a time, which the user can
// disconnect.
func TestCDPSingleClient(t *testing.T) {
	t.Parallel() // it mainly waits
	c := startCDP(t, "--cdp-clients=single", "--allow-domain", "example.com")
	ws := strings.TrimSpace(c.cdpURL(t, "--ws"))
	first, _ := dialCDP(t, ws, nil)
	if _, status := dialCDP(t, ws, nil); status != http.StatusConflict {
		t.Errorf("the second client: %d", status)
	}
	first.Close(websocket.StatusNormalClosure, "")
	var second *rawCDP
	await.Until(t, "the end of the first client", func() bool {
		second, _ = dialCDP(t, ws, nil)
		return second != nil
	})
	list, stderr, err := execute(t, c.data, nil, "cdp-clients")
	id, rest, _ := strings.Cut(list, " ")
	if err != nil || !strings.Contains(rest, "raw/1.0 since 20") || strings.Count(list, "\n") != 1 {
		t.Fatalf("cdp-clients: %v %s%s", err, list, stderr)
	}
	if _, stderr, err := execute(t, c.data, nil, "cdp-clients", "close", "other"); err == nil || !strings.Contains(stderr, `no CDP client "other" is connected`) {
		t.Errorf("close of another client: %v %s", err, stderr)
	}
	if out, stderr, err := execute(t, c.data, nil, "cdp-clients", "close", id); err != nil || out != "disconnected "+id+" raw/1.0\n" {
		t.Errorf("close: %v %s%s", err, out, stderr)
	}
	second.closed(t)
	if out, _, err := execute(t, c.data, nil, "cdp-clients"); err != nil || out != "no CDP clients\n" {
		t.Errorf("after close: %v %s", err, out)
	}
	third, _ := dialCDP(t, ws, nil)
	if third == nil {
		t.Fatal("no client can connect")
	}
	if out, stderr, err := execute(t, c.data, nil, "cdp-clients", "close", "raw/1.0"); err != nil || !strings.HasSuffix(out, " raw/1.0\n") {
		t.Errorf("close by name: %v %s%s", err, out, stderr)
	}
	third.closed(t)
}

// TestCDPOwnChrome connects a client to the program, which drives the user's Chrome through the
// extension: the client opens a page, runs a script in it after the user has allowed it, and reaches
// no denied host.
func TestCDPOwnChrome(t *testing.T) {
	site := newTestSite(t)
	b, data := sharedUserBrowser(t)
	c := &cdpTest{data: data, audit: filepath.Join(t.TempDir(), "audit.jsonl")}
	c.server = startMCP(t, "--data", c.data, "--port=0", "--no-cdp-fallback", "--cdp-listen", "127.0.0.1:0", "--unsafe-enable-eval",
		"--allow-domain", site.URL, "--audit-log", c.audit)
	c.server.until(t, "extension connected: true", "chrome_status", nil)
	base := strings.TrimSpace(c.cdpURL(t))
	client, _ := dialCDP(t, strings.TrimSpace(c.cdpURL(t, "--ws")), nil)
	if _, failed := client.call(t, "", "Target.createTarget", map[string]any{"url": site.URL + "/made"}); failed != "" {
		t.Fatal(failed)
	}
	tab := regexp.MustCompile(`ext:\S+`).FindString(c.server.until(t, "/made", "tabs_list", nil))
	session := client.attach(t)
	evaluate := func(expression string) map[string]any {
		return map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}
	}
	evaluating := client.send(t, session, "Runtime.evaluate", evaluate("location.pathname"))
	b.Popup(t, func(popup string) {
		b.holds(t, popup, fmt.Sprintf(`(() => {
			const { textContent } = document.querySelector('#questions [role=alert]') ?? {};
			return textContent?.startsWith('raw/1.0 (through ') && textContent.endsWith(') wants to run scripts on ' + %q + '.');
		})()`, site.URL))
		b.Click(t, popup, "#questions button", "Allow this session")
	})
	if result, failed := client.reply(t, evaluating); !strings.Contains(string(result), `"/made"`) {
		t.Errorf("evaluate: %s %s", result, failed)
	}

	for _, command := range []struct{ session, method string }{{session, "Page.navigate"}, {"", "Target.createTarget"}} {
		if _, failed := client.call(t, command.session, command.method, map[string]any{"url": site.denied()}); !strings.Contains(failed, "denied") {
			t.Errorf("%s of a denied host: %q", command.method, failed)
		}
	}
	send := fmt.Sprintf("fetch(%q, {mode: 'no-cors'}).then(() => 'sent', () => 'blocked')", site.denied())
	if result, failed := client.call(t, session, "Runtime.evaluate", evaluate(send)); !strings.Contains(string(result), `"blocked"`) {
		t.Errorf("a request of the page to a denied host: %s %s", result, failed)
	}
	if n := site.asked("localhost "); n != 0 {
		t.Errorf("%d requests to a denied host", n)
	}

	// A client of one page sees no other.
	var list []struct{ WebSocketDebuggerURL string }
	if _, body := get(t, base+"/json/list", nil); json.Unmarshal([]byte(body), &list) != nil || len(list) != 1 {
		t.Fatalf("/json/list: %s", body)
	}
	ofPage, _ := dialCDP(t, list[0].WebSocketDebuggerURL, nil)
	if result, failed := ofPage.call(t, "", "Runtime.evaluate", evaluate("location.pathname")); !strings.Contains(string(result), `"/made"`) {
		t.Errorf("a client of the page: %s %s", result, failed)
	}
	if _, failed := ofPage.call(t, "", "Target.getTargets", nil); failed == "" {
		t.Error("a client of the page lists the targets")
	}
	ofPage.Close(websocket.StatusNormalClosure, "")
	requests := c.openAndClose(t, site.URL)

	if out, stderr, err := execute(t, c.data, nil, "cdp-clients", "close", "raw/1.0"); err != nil {
		t.Errorf("cdp-clients close: %v %s%s", err, out, stderr)
	}
	client.closed(t)
	c.server.end(t)
	log, err := os.ReadFile(c.audit)
	for _, want := range append(requests, `"tool":"cdp Runtime.evaluate","tab":"`+tab+`","origin":"`+site.URL+`","decision":"allowed"`) {
		if err != nil || !strings.Contains(string(log), want) {
			t.Errorf("no %s in the audit log: %v\n%s", want, err, log)
		}
	}
}

// TestPagesCannotReachCDPEndpoint checks that pages reach the endpoint by none of the paths, even if
// they know it, in the browser of this process and of another one.
func TestPagesCannotReachCDPEndpoint(t *testing.T) {
	site := newTestSite(t)
	c := startCDP(t, "--allow-domain", "127.0.0.1:*", "--allow-domain", "localhost:*", "--allow-domain", "[::1]:*")
	secret, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	c.server.call(t, "navigate", map[string]any{"url": site.URL + "/page"}, "page")
	const reach = `(async () => {
const reached = [];
for (const host of ['127.0.0.1', 'localhost', '[::1]']) for (const path of ['/', '/json/version', %q + '/json/list', %[1]q + '/devtools/browser/x']) {
  const url = 'http://' + host + ':%s' + path;
  await fetch(url).then(() => reached.push(url), () => {});
  const loaded = (element, name) => new Promise((done) => { element.onload = element.onerror = done; element[name] = url; document.body.append(element); });
  await loaded(new Image(), 'src');
  const frame = document.createElement('iframe');
  await loaded(frame, 'src');
  navigator.sendBeacon(url, 'x');
  await new Promise((done) => { const s = new WebSocket(url.replace('http', 'ws')); s.onopen = () => { reached.push(s.url); done(); }; s.onerror = done; });
}
return 'reached: ' + reached.length;
})()`
	c.server.call(t, "eval", map[string]any{"expression": fmt.Sprintf(reach, secret.Path, secret.Port())}, "reached: 0")
	for _, address := range []string{c.url + "/json/version", "http://localhost:" + secret.Port() + "/"} {
		c.server.refused(t, "POLICY_DENIED", "navigate", map[string]any{"url": address})
	}
	// A request that reached the endpoint would not be denied by the policy.
	log, err := os.ReadFile(c.audit)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), `"event":"denied"`) || !strings.Contains(string(log), ":"+secret.Port()) {
		t.Errorf("the requests are not in the audit log\n%s", log)
	}
	wantNoSecret(t, "the audit log", string(log), []string{strings.TrimPrefix(secret.Path, "/")})

	cli := &commandLine{t, c.data}
	args := append([]string{"call", "navigate", "url=" + c.url + "/json/version", "--no-server", "--headless", "--isolated", "--allow-domain", "127.0.0.1:*"}, rootNeedsNoSandbox()...)
	if out, err := cli.run(args...); err == nil || !strings.Contains(out, "POLICY_DENIED") {
		t.Errorf("another process: %v, %s", err, out)
	}
}

// TestServeCDP connects CDP clients to sessions of a server.
func TestServeCDP(t *testing.T) {
	needChromium(t)
	site := newTestSite(t)
	c := newCommandLine(t)
	base, log := c.serveOn("127.0.0.1:0", append(rootNeedsNoSandbox(), "--headless", "--cdp-clients=multi", "--unsafe-enable-eval", "--allow-domain", site.URL)...)
	token, err := server.ReadToken(server.TokenPath(c.data))
	if err != nil {
		t.Fatal(err)
	}
	header := func(session string) http.Header {
		return http.Header{"Authorization": {"Bearer " + token}, "Chrome-Mcp-Session": {session}}
	}
	ws := strings.Replace(base, "http", "ws", 1) + "/devtools/browser/x"
	if _, status := dialCDP(t, ws, nil); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	if status, body := get(t, base+"/json/version", map[string]string{"Authorization": "Bearer " + token, "Origin": "https://evil.example"}); status != http.StatusForbidden {
		t.Errorf("a page: %d %s", status, body)
	}
	if status, body := get(t, base+"/json/version", map[string]string{"Authorization": "Bearer " + token}); status != 200 || !strings.Contains(body, `"webSocketDebuggerUrl": "`+strings.Replace(base, "http", "ws", 1)+`/devtools/browser/`) {
		t.Errorf("/json/version: %d %s", status, body)
	}

	// Each session has its own browser.
	a, _ := dialCDP(t, ws, header("a"))
	b, _ := dialCDP(t, ws, header("b"))
	if _, failed := a.call(t, "", "Target.createTarget", map[string]any{"url": site.URL + "/of-a"}); failed != "" {
		t.Fatal(failed)
	}
	await.Until(t, "the page in the tools of session a", func() bool {
		status, body := curl(t, "-H", c.header(), "--data", "{}", base+"/v1/sessions/a/tools/tabs_list")
		return status == "200" && strings.Contains(body, site.URL+"/of-a")
	})
	if targets, _ := b.call(t, "", "Target.getTargets", nil); strings.Contains(string(targets), "/of-a") {
		t.Errorf("session b has the page of session a: %s", targets)
	}
	// The user lists and disconnects the clients of all sessions.
	if out, err := c.run("cdp-clients"); err != nil || !strings.Contains(out, ", session a@http\n") || !strings.Contains(out, ", session b@http\n") || strings.Count(out, "\n") != 2 {
		t.Errorf("cdp-clients: %v\n%s", err, out)
	}
	other, _ := dialCDP(t, ws, header("c"))
	list, err := c.run("cdp-clients", "list")
	id := regexp.MustCompile(`(?m)^(\S+) .*, session c@http$`).FindStringSubmatch(list)
	if err != nil || id == nil {
		t.Fatalf("cdp-clients list: %v\n%s", err, list)
	}
	if out, err := c.run("cdp-clients", "close", id[1]); err != nil || out != "disconnected "+id[1]+" raw/1.0\n" {
		t.Errorf("cdp-clients close: %v\n%s", err, out)
	}
	other.closed(t)
	// The end of a session disconnects its clients.
	if status, body := curl(t, "-H", c.header(), "-X", "DELETE", base+"/v1/sessions/a"); status != "204" {
		t.Errorf("close: %s %s", status, body)
	}
	a.closed(t)
	if _, failed := b.call(t, "", "Browser.getVersion", nil); failed != "" {
		t.Errorf("session b: %s", failed)
	}

	// A session without CDP clients has no endpoint.
	if out, err := c.run(append(rootNeedsNoSandbox(), "call", "chrome_status", "--headless", "--isolated", "--allow-domain", site.URL)...); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if status, body := curl(t, "--unix-socket", server.SocketPath(c.data), "http://localhost/json/version"); status != "400" || !strings.Contains(body, "CDP clients are not enabled for the session") {
		t.Errorf("a session without CDP clients: %s %s", status, body)
	}
	if out, err := c.run("serve", "stop"); err != nil {
		t.Errorf("serve stop: %v\n%s", err, out)
	}
	b.closed(t)
	if strings.Contains(log.String(), token) {
		t.Error("the token is in the log")
	}
	if _, err := os.Lstat(filepath.Join(c.data, "cdp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server writes the URL of CDP clients to a file: %v", err)
	}
}

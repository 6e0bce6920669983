package dashboard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A form is what a page that logs in sends.
type form struct{ action, code string }

var formFields = regexp.MustCompile(`action="([^"]+)">\s*<input type="hidden" name="code" value="([^"]+)"`)

func readForm(t *testing.T, path string) form {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the code has mode %v", info.Mode())
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := formFields.FindStringSubmatch(string(page))
	if m == nil {
		t.Fatalf("no form in %s", page)
	}
	return form{m[1], m[2]}
}

// request sends a request and returns the response with its body.
func request(t *testing.T, method, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

var postForm = map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": "null", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}

// with returns a copy of header with another value.
func with(header map[string]string, name, value string) map[string]string {
	all := map[string]string{name: value}
	for k, v := range header {
		if k != name {
			all[k] = v
		}
	}
	return all
}

// login logs in and returns the URL of the dashboard and the cookie.
func (s *Server) testLogin(t *testing.T) (base string, cookie *http.Cookie) {
	t.Helper()
	f := readForm(t, loginFile(t, s))
	resp, _ := request(t, http.MethodPost, f.action, url.Values{"code": {f.code}}.Encode(), postForm)
	cookies := resp.Cookies()
	if resp.StatusCode != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("login: %s, %v", resp.Status, cookies)
	}
	return strings.TrimSuffix(f.action, "login"), cookies[0]
}

// TestLogin exchanges codes: a code works once, from a file that is removed then, and never in a URL.
func TestLogin(t *testing.T) {
	s := newDashboard(t, new(Board), nil)
	if ports := Ports(s.opts.DataDir); len(ports) != 0 {
		t.Errorf("it listens on %v before the first login", ports)
	}
	path := loginFile(t, s)
	f := readForm(t, path)
	body := url.Values{"code": {f.code}}.Encode()
	for name, try := range map[string]func() *http.Response{
		"wrong code":      func() *http.Response { r, _ := request(t, http.MethodPost, f.action, "code=x", postForm); return r },
		"no code":         func() *http.Response { r, _ := request(t, http.MethodPost, f.action, "", postForm); return r },
		"code in the URL": func() *http.Response { r, _ := request(t, http.MethodGet, f.action+"?"+body, "", nil); return r },
		"code in the URL of a POST": func() *http.Response {
			r, _ := request(t, http.MethodPost, f.action+"?"+body, "", postForm)
			return r
		},
		"page of a site": func() *http.Response {
			r, _ := request(t, http.MethodPost, f.action, body, with(postForm, "Origin", "https://example.com"))
			return r
		},
		"frame": func() *http.Response {
			r, _ := request(t, http.MethodPost, f.action, body, with(postForm, "Sec-Fetch-Dest", "iframe"))
			return r
		},
		"script": func() *http.Response {
			r, _ := request(t, http.MethodPost, f.action, body, with(postForm, "Sec-Fetch-Dest", "empty"))
			return r
		},
		"other host": func() *http.Response {
			r, _ := request(t, http.MethodPost, f.action, body, with(postForm, "Host", "localhost"))
			return r
		},
		"below another path": func() *http.Response {
			u, _ := url.Parse(f.action)
			r, _ := request(t, http.MethodPost, "http://"+u.Host+"/login", body, postForm)
			return r
		},
	} {
		if resp := try(); resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusNotFound || len(resp.Cookies()) > 0 {
			t.Errorf("%s: %s, cookies %v", name, resp.Status, resp.Cookies())
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("a rejected request used the code up: %v", err)
	}
	resp, text := request(t, http.MethodPost, f.action, body, postForm)
	cookies := resp.Cookies()
	if resp.StatusCode != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("login: %s %s", resp.Status, text)
	}
	c := cookies[0]
	u, err := url.Parse(f.action)
	if err != nil {
		t.Fatal(err)
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != strings.TrimSuffix(u.Path, "login") || c.Domain != "" || len(c.Value) < 43 || len(c.Path) < 20 || c.MaxAge > int(loginTTL.Seconds()) {
		t.Errorf("cookie %+v", c)
	}
	if strings.Contains(text, c.Value) || strings.Contains(text, f.code) {
		t.Error("the page contains a secret")
	}
	if resp, _ := request(t, http.MethodPost, f.action, body, postForm); resp.StatusCode != http.StatusForbidden {
		t.Errorf("the code works twice: %s", resp.Status)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file with the code is still there: %v", err)
	}
	if ports := Ports(s.opts.DataDir); len(ports) != 1 || !strings.HasSuffix(u.Host, ":"+itoa(ports[0])) {
		t.Errorf("published ports %v, want that of %s", ports, u.Host)
	}
	s.Close()
	if files, err := os.ReadDir(dir(s.opts.DataDir)); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// TestCodesAndLoginsEnd checks that a code is valid for 30 s and a login for 12 h.
func TestCodesAndLoginsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l logins
		defer l.close()
		dir := t.TempDir()
		newForm := func() (form, string) {
			path, err := l.newCode(dir, "http://127.0.0.1/login")
			if err != nil {
				t.Fatal(err)
			}
			return readForm(t, path), path
		}
		late, path := newForm()
		time.Sleep(codeTTL)
		synctest.Wait()
		if _, ok := l.exchange(late.code); ok {
			t.Error("a code is valid after 30 s")
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Error("the file of an expired code is still there")
		}
		f, _ := newForm()
		cookie, ok := l.exchange(f.code)
		if !ok {
			t.Fatal("a code is not valid")
		}
		r := &http.Request{Header: http.Header{}}
		r.AddCookie(&http.Cookie{Name: cookieName, Value: "set-by-another-server"})
		if l.of(r) != nil {
			t.Error("any cookie is a login")
		}
		r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
		one := l.of(r)
		if one == nil {
			t.Fatal("no login")
		}
		ctx, cancel := one.context(t.Context())
		defer cancel()
		time.Sleep(loginTTL)
		synctest.Wait()
		if l.of(r) != nil || ctx.Err() == nil || l.inUse() {
			t.Error("a login is valid after 12 h")
		}
		for range maxCodes {
			newForm()
		}
		if _, err := l.newCode(dir, ""); err == nil {
			t.Error("the codes are not limited")
		}
	})
}

// TestPortIsClosed checks that the listener for browsers is closed when the last login has ended.
func TestPortIsClosed(t *testing.T) {
	s := newDashboard(t, new(Board), nil)
	for range 2 {
		base, cookie := s.testLogin(t)
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		script := map[string]string{"Cookie": cookie.Name + "=" + cookie.Value, "Origin": "http://" + u.Host}
		resp, _ := request(t, http.MethodPost, base+"logout", "", script)
		if resp.StatusCode != http.StatusNoContent {
			t.Fatalf("logout: %s", resp.Status)
		}
		if got := resp.Cookies(); len(got) != 1 || got[0].Name != cookie.Name || got[0].Path != cookie.Path || got[0].MaxAge >= 0 {
			t.Errorf("the logout sets %v, which does not delete %v", got, cookie)
		}
		await.Until(t, "the port to be closed", func() bool {
			_, err := os.Stat(s.path + portSuffix)
			return os.IsNotExist(err)
		})
		if conn, err := net.Dial("tcp", u.Host); err == nil {
			conn.Close()
			t.Error("the port is open after the logout")
		}
	}
}

// TestLoginFails checks that the command line gets the reason why a process has no login.
func TestLoginFails(t *testing.T) {
	s := newDashboard(t, new(Board), nil)
	p := Running(t.Context(), s.opts.DataDir)[0]
	for range maxCodes {
		if _, err := p.Login(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := p.Login(t.Context())
	if e, ok := errors.AsType[*executor.Error](err); !ok || e.Code != executor.ErrBackpressure || e.Hint != errTooManyCodes.Hint || !strings.HasSuffix(e.Message(), errTooManyCodes.Message()) {
		t.Errorf("login: %#v", err)
	}
}

func itoa(n int) string { return strings.TrimPrefix((&net.TCPAddr{Port: n}).String(), ":") }

// TestRequests checks who gets what: nothing without the cookie, nothing for pages of other
// origins, and nothing outside of the dashboard.
func TestRequests(t *testing.T) {
	board := new(Board)
	stopped := make(chan struct{})
	workspace := board.Open(WorkspaceOptions{Name: "shop", Stop: func() { close(stopped) }})
	desk := new(handover.Desk)
	s := newDashboard(t, board, desk)
	base, cookie := s.testLogin(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://" + u.Host
	header := map[string]string{"Cookie": cookie.Name + "=" + cookie.Value}
	script := map[string]string{"Cookie": header["Cookie"], "Origin": origin, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}

	for _, name := range append(staticFiles(), "") {
		resp, body := request(t, http.MethodGet, base+name, "", header)
		if name == "index.html" {
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", name, resp.Status)
			}
			continue
		}
		h := resp.Header
		if resp.StatusCode != http.StatusOK || body == "" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%q: %s %v", name, resp.Status, h)
		}
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%q: the policy %q lacks %s", name, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "https:") || strings.Contains(csp, "*") {
			t.Errorf("%q: the policy is %q", name, csp)
		}
	}
	routes := []string{"", "events", "live?session=" + workspace.id + "&tab=cdp:x:1", "dashboard.js", "stop", "answer", "logout"}
	for name, h := range map[string]map[string]string{
		"no cookie":        {},
		"other cookie":     {"Cookie": cookie.Name + "=" + strings.Repeat("A", 43)},
		"a bearer token":   {"Authorization": "Bearer " + cookie.Value},
		"other host":       with(header, "Host", "localhost:"+u.Port()),
		"name of a site":   with(header, "Host", "rebound.example"),
		"page of a site":   with(header, "Origin", "https://example.com"),
		"opaque origin":    with(header, "Origin", "null"),
		"other local port": with(header, "Origin", "http://127.0.0.1:1"),
		"same site":        with(header, "Sec-Fetch-Site", "same-site"),
		"cross site":       with(header, "Sec-Fetch-Site", "cross-site"),
	} {
		for _, route := range routes {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if resp, body := request(t, method, base+route, `{"session":"`+workspace.id+`"}`, with(h, "Content-Type", "application/json")); resp.StatusCode != http.StatusForbidden || strings.Contains(body, "shop") {
					t.Errorf("%s: %s /%s: %s %s", name, method, route, resp.Status, body)
				}
			}
		}
	}
	for _, path := range []string{"/", "/login", "/events", "/mcp", "/v1/sessions", "/v1/server/stop", "/json/version", "/devtools/browser/x", "/metrics"} {
		if resp, _ := request(t, http.MethodGet, origin+path, "", header); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	for _, path := range []string{"mcp", "v1/sessions", "%2e%2e/mcp", "static/index.html"} {
		if resp, _ := request(t, http.MethodGet, base+path, "", header); resp.StatusCode == http.StatusOK {
			t.Errorf("/%s: %s", path, resp.Status)
		}
	}
	// A request that changes something needs the Origin of the dashboard, as does a WebSocket.
	for _, route := range []string{"stop", "answer", "logout"} {
		if resp, _ := request(t, http.MethodPost, base+route, "{}", with(header, "Content-Type", "application/json")); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s without an Origin: %s", route, resp.Status)
		}
		if resp, _ := request(t, http.MethodPost, base+route, "{}", with(script, "Content-Type", "text/plain")); route != "logout" && resp.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("%s of a form: %s", route, resp.Status)
		}
		if route == "logout" {
			base, cookie = s.testLogin(t)
			script["Cookie"] = cookie.Name + "=" + cookie.Value
		}
	}
	for _, h := range []http.Header{{}, {"Origin": {"https://example.com"}}, {"Origin": {origin}, "Cookie": {"x=y"}}} {
		h.Add("Cookie", script["Cookie"])
		if len(h["Cookie"]) > 1 {
			h["Cookie"] = h["Cookie"][:1]
		}
		if ws, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(base, "http")+routes[2], &websocket.DialOptions{HTTPHeader: h}); err == nil {
			ws.CloseNow()
			t.Errorf("a WebSocket with %v was accepted", h)
		}
	}
	if resp, body := request(t, http.MethodPost, base+"stop", `{"session":"x"}`, script); resp.StatusCode != http.StatusNotFound {
		t.Errorf("stop of an unknown session: %s %s", resp.Status, body)
	}
	q, _, err := desk.Post(executor.HandoverQuestion{HandoverAsker: executor.HandoverAsker{Session: "s"}, Message: "Sign in.", Tab: "cdp:x:1"})
	if err != nil {
		t.Fatal(err)
	}
	for body, status := range map[string]int{
		`{"question":"x","outcome":"done"}`:              http.StatusNotFound,
		`{"question":"` + q.ID + `","outcome":"closed"}`: http.StatusBadRequest,
		`{`: http.StatusBadRequest,
	} {
		if resp, _ := request(t, http.MethodPost, base+"answer", body, script); resp.StatusCode != status {
			t.Errorf("answer %s: %s", body, resp.Status)
		}
	}
	if resp, _ := request(t, http.MethodPost, base+"answer", `{"question":"`+q.ID+`","outcome":"cannot"}`, script); resp.StatusCode != http.StatusNoContent {
		t.Errorf("answer: %s", resp.Status)
	}
	if o, err := desk.Wait(t.Context(), q.ID); o != executor.OutcomeCannot || err != nil {
		t.Errorf("the answer is %q, %v", o, err)
	}
	for range 2 { // the second one has no effect
		if resp, _ := request(t, http.MethodPost, base+"stop", `{"session":"`+workspace.id+`"}`, script); resp.StatusCode != http.StatusNoContent {
			t.Errorf("stop: %s", resp.Status)
		}
	}
	<-stopped
}

// A flushRecorder records whether a session was being stopped when the reply was sent.
type flushRecorder struct {
	*httptest.ResponseRecorder
	workspace      *Workspace
	sent, stopping bool
}

func (r *flushRecorder) Flush() {
	r.workspace.mu.Lock()
	defer r.workspace.mu.Unlock()
	r.sent, r.stopping = true, r.workspace.stopping
}

// TestStopRepliesFirst checks that the reply to stop is sent before the session is stopped, with which
// the process may exit.
func TestStopRepliesFirst(t *testing.T) {
	board, stopped := new(Board), make(chan struct{})
	workspace := board.Open(WorkspaceOptions{Name: "shop", Stop: func() { close(stopped) }})
	s := newDashboard(t, board, new(handover.Desk))
	w := &flushRecorder{ResponseRecorder: httptest.NewRecorder(), workspace: workspace}
	r := httptest.NewRequest(http.MethodPost, "/stop", strings.NewReader(`{"session":"`+workspace.id+`"}`))
	r.Header.Set("Content-Type", "application/json")
	s.stopWorkspace(w, r)
	if w.Code != http.StatusNoContent {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	<-stopped
	if !w.sent || w.stopping {
		t.Errorf("the reply was sent: %v, after stop: %v", w.sent, w.stopping)
	}
}

// TestEvents reads the events of a session: a call while it runs and after, and the end of the login.
func TestEvents(t *testing.T) {
	board := new(Board)
	s := newDashboard(t, board, nil)
	base, cookie := s.testLogin(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(cookie)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	until := func(text string) string {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return lines.Text()
			}
		}
		t.Fatalf("the events end without %q: %v", text, lines.Err())
		return ""
	}
	until("event: ready")
	workspace := board.Open(WorkspaceOptions{Principal: "ci", Name: "shop"})
	until(`"principal":"ci","name":"shop"`)
	var cdp atomic.Pointer[executor.CDPClient]
	workspace.SetCDPClients(func() []executor.CDPClient {
		if c := cdp.Load(); c != nil {
			return []executor.CDPClient{*c}
		}
		return nil
	})
	cdp.Store(&executor.CDPClient{Name: "Playwright/1.65.1"})
	workspace.ClientsChanged()
	until(`"cdpClients":["Playwright/1.65.1"]`)
	cdp.Store(nil)
	workspace.ClientsChanged()
	until(`"cdpClients":null`)
	ended := workspace.CallStarted(Call{Client: "agent 1", Tool: "navigate", Target: "https://example.com/"})
	if line := until(`"tool":"navigate"`); strings.Contains(line, `"code"`) {
		t.Errorf("a call that runs has a code: %s", line)
	}
	ended("POLICY_DENIED", "no <script>")
	until(`"code":"POLICY_DENIED","line":"no \u003cscript\u003e"`)
	for range 3 * maxCalls {
		workspace.CallStarted(Call{Tool: "snapshot"})("OK", "")
	}
	if st, _ := workspace.state(); len(st.Calls) != maxCalls || st.Calls[maxCalls-1].ID != 3*maxCalls+1 {
		t.Errorf("%d calls are kept, the last is %+v", len(st.Calls), st.Calls[len(st.Calls)-1])
	}
	workspace.Close()
	until("data: []")
	script := map[string]string{"Cookie": cookie.Name + "=" + cookie.Value, "Origin": strings.TrimSuffix(base[:strings.LastIndex(strings.TrimSuffix(base, "/"), "/")], "/")}
	if resp, _ := request(t, http.MethodPost, base+"logout", "", script); resp.StatusCode != http.StatusNoContent {
		t.Errorf("logout: %s", resp.Status)
	}
	for lines.Scan() { // the stream ends
	}
	if resp, _ := request(t, http.MethodGet, base, "", map[string]string{"Cookie": script["Cookie"]}); resp.StatusCode != http.StatusForbidden {
		t.Errorf("after the logout: %s", resp.Status)
	}
}

// TestConnectionsWithoutLogin checks that connections without a login neither close the user's
// connections nor prevent new ones.
func TestConnectionsWithoutLogin(t *testing.T) {
	board := new(Board)
	s := newDashboard(t, board, nil)
	base, cookie := s.testLogin(t)
	header := map[string]string{"Cookie": cookie.Name + "=" + cookie.Value}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(cookie)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range 12 * maxConnections {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if resp, _ := request(t, http.MethodGet, base, "", header); resp.StatusCode != http.StatusOK {
		t.Errorf("new connection of the user: %s", resp.Status)
	}
	board.Open(WorkspaceOptions{Principal: "ci", Name: "shop"})
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"name":"shop"`) {
			return
		}
	}
	t.Errorf("the events end before the session opens: %v", lines.Err())
}

// TestLiveViewEnds checks that the page gets a sentence when there is no live view, and the end of
// the WebSocket.
func TestLiveViewEnds(t *testing.T) {
	board := new(Board)
	s := newDashboard(t, board, nil)
	workspace := board.Open(WorkspaceOptions{})
	base, cookie := s.testLogin(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Origin": {"http://" + u.Host}, "Cookie": {cookie.Name + "=" + cookie.Value}}
	for _, tt := range []struct {
		ex   executor.Executor
		want string
	}{
		{nil, `{"ended":"The session has ended."}`},
		{struct{ executor.Executor }{}, `{"ended":"The backend has no live view."}`},
	} {
		workspace.SetExecutor(tt.ex)
		ws, _, err := websocket.Dial(t.Context(), "ws://"+u.Host+u.Path+"live?tab=cdp:x:1&session="+workspace.id, &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			t.Fatal(err)
		}
		if _, data, err := ws.Read(t.Context()); err != nil || string(data) != tt.want {
			t.Errorf("the page receives %s, %v, want %s", data, err, tt.want)
		}
		if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("the WebSocket ends with %v", err)
		}
	}
}

// A watched is an executor whose tabs have a live view without an image.
type watched struct{ executor.Executor }

func (watched) WatchTabs(context.Context) []executor.Tab { return nil }

func (watched) Watch(context.Context, executor.TabID) (executor.LiveView, error) {
	return noImage{}, nil
}

type noImage struct{ executor.LiveView }

func (noImage) Next(ctx context.Context) (*executor.LiveImage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (noImage) HandedOver() (bool, <-chan struct{}) { return false, nil }
func (noImage) Close()                              {}

// A twoBrowsers is an executor with a tab in its default browser and one in a named browser.
type twoBrowsers struct{ watched }

func (twoBrowsers) WatchTabs(context.Context) []executor.Tab {
	return []executor.Tab{{ID: "cdp:x:1"}, {ID: "work:cdp:x:1", Browser: "work"}}
}

func (twoBrowsers) Status(context.Context) executor.Status {
	return executor.Status{Browsers: []executor.Browser{{Name: "work", Color: "#1a73e8"}}}
}

// TestNamedBrowsers checks the name and the color of the browser of each tab.
func TestNamedBrowsers(t *testing.T) {
	board := new(Board)
	workspace := board.Open(WorkspaceOptions{})
	defer workspace.Close()
	defer board.addViewer()()
	workspace.SetExecutor(twoBrowsers{})
	for {
		changed := board.changed.Changed()
		state, _ := workspace.state()
		if len(state.Tabs) == 0 {
			<-changed
			continue
		}
		want := []tabState{{ID: "cdp:x:1", Live: true}, {ID: "work:cdp:x:1", Live: true, Browser: "work", Color: "#1a73e8"}}
		if !slices.Equal(state.Tabs, want) {
			t.Errorf("tabs %+v, want %+v", state.Tabs, want)
		}
		return
	}
}

// TestLiveViewOfClosedSession checks that a live view ends with its session.
func TestLiveViewOfClosedSession(t *testing.T) {
	board := new(Board)
	s := newDashboard(t, board, nil)
	workspace := board.Open(WorkspaceOptions{})
	workspace.SetExecutor(watched{})
	base, cookie := s.testLogin(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Origin": {"http://" + u.Host}, "Cookie": {cookie.Name + "=" + cookie.Value}}
	ws, _, err := websocket.Dial(t.Context(), "ws://"+u.Host+u.Path+"live?tab=cdp:x:1&session="+workspace.id, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	if _, data, err := ws.Read(t.Context()); err != nil || string(data) != `{"input":false}` {
		t.Errorf("the page receives %s, %v", data, err)
	}
	workspace.Close()
	if _, data, err := ws.Read(t.Context()); err != nil || string(data) != `{"ended":"The session has ended."}` {
		t.Errorf("the page receives %s, %v", data, err)
	}
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the WebSocket ends with %v", err)
	}
}

// TestRemoveStaleKeepsOthers checks that the files of another process that runs are not removed: the
// policies of sessions deny the port of its dashboard only as long as the file with it exists.
func TestRemoveStaleKeepsOthers(t *testing.T) {
	data := t.TempDir()
	if err := os.Mkdir(dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir(data), "1")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	files := []string{socket, socket + portSuffix, filepath.Join(dir(data), loginPrefix+"x.html")}
	for _, path := range files[1:] {
		if err := os.WriteFile(path, []byte("4711\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := RemoveStale(data); n != 0 {
		t.Errorf("%d sockets were removed", n)
	}
	for _, path := range files {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s was removed: %v", path, err)
		}
	}
}

// TestStaleSockets checks that the files of a process that was killed are ignored and removed.
func TestStaleSockets(t *testing.T) {
	s := newDashboard(t, new(Board), nil)
	s.testLogin(t)
	socket := filepath.Join(dir(s.opts.DataDir), "1")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.WriteFile(socket+portSuffix, []byte("4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ports := Ports(s.opts.DataDir); !slices.Contains(ports, 4711) {
		t.Errorf("ports %v while the process runs", ports)
	}
	l.Close()
	if ports := Ports(s.opts.DataDir); slices.Contains(ports, 4711) || len(ports) != 1 {
		t.Errorf("ports %v after the process was killed", ports)
	}
	if all := Running(t.Context(), s.opts.DataDir); len(all) != 1 || all[0].PID != os.Getpid() {
		t.Errorf("running: %+v", all)
	}
	RemoveStale(s.opts.DataDir)
	for _, path := range []string{socket, socket + portSuffix} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}

package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// newBackend returns a headless browser, which starts when it is first used.
func newBackend(t *testing.T, network chromium.NetworkPolicy) *chromium.Backend {
	t.Helper()
	headless := true
	b, err := chromium.New(&chromium.Options{
		Browser: userbrowser.Find(t), Headless: &headless, Isolated: true, NoSandbox: os.Getuid() == 0, DataDir: t.TempDir(),
		Width: 1200, Height: 860, Network: network,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// An agent is an MCP client with its own browser, whose session is on a board.
type agent struct {
	t       *testing.T
	client  *sdk.ClientSession
	session *Workspace
	ex      executor.Executor
	stopped chan struct{} // closed when the user stops the session
}

// An observer passes calls on to a session, as the program does.
type observer struct{ session *Workspace }

func (o observer) CallStarted(c mcp.Call) (ended func(mcp.CallOutcome)) {
	end := o.session.CallStarted(Call(c))
	return func(out mcp.CallOutcome) { end(out.Code, out.Line) }
}

// newAgent opens a session for an agent that may act on site.
func newAgent(t *testing.T, board *Board, desk *handover.Desk, opts WorkspaceOptions, site string) *agent {
	t.Helper()
	rules, err := policy.New(policy.Config{AllowDomains: []string{site}, Mutations: true})
	if err != nil {
		t.Fatal(err)
	}
	rules.AddOwnPorts(func() []int { return nil })
	guard := policy.NewGuard(rules, nil)
	a := &agent{t: t, stopped: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	opts.Stop = func() { close(a.stopped); cancel() }
	a.session = board.Open(opts)
	manager := executor.NewManager(&executor.ManagerOptions{
		CDP:     newBackend(t, guard.Network()),
		Session: executor.SessionOptions{Gate: guard, OnEvent: func(executor.Event) { a.session.TabsChanged() }},
	})
	a.ex = guard.Wrap(manager)
	a.session.SetExecutor(a.ex)
	server := mcp.NewServer(a.ex, &mcp.Options{
		Observer: observer{a.session}, Tools: []mcp.Toolset{mcp.ToolsCore, mcp.ToolsPeople},
		Handover: &mcp.HandoverOptions{Questions: desk, Session: opts.Name, Principal: opts.Principal, Dashboard: func() bool { return true }},
	})
	ours, theirs := sdk.NewInMemoryTransports()
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		server.Run(ctx, ours)
		a.session.Close()
	}()
	t.Cleanup(func() { cancel(); <-ran; a.ex.Close() })
	a.client, err = sdk.NewClient(&sdk.Implementation{Name: "Shopping agent", Version: "2.1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// call calls a tool and returns the text of the result.
func (a *agent) call(tool string, args map[string]any) string {
	a.t.Helper()
	text, err := a.tryCall(tool, args)
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

// tryCall is like call, but returns the error of the connection. It may be called in any goroutine.
func (a *agent) tryCall(tool string, args map[string]any) (string, error) {
	res, err := a.client.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*sdk.TextContent).Text, nil
}

// asks calls ask_user until there is an answer. The channel receives the result.
func (a *agent) asks(message string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		for { // without an answer, a call returns after seconds; the question stays open
			text, err := a.tryCall("ask_user", map[string]any{"message": message})
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, "the page is still handed over") {
				answer <- text
				return
			}
		}
	}()
	return answer
}

// A user uses the dashboard in a browser.
type user struct {
	t  *testing.T
	ex executor.Executor
}

func newUser(t *testing.T) *user {
	t.Helper()
	ex, err := newBackend(t, nil).NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ex.Close() })
	return &user{t, ex}
}

func (u *user) page() executor.Page { return pagetest.Of(u.ex, "") }

// open opens a URL.
func (u *user) open(url string) {
	u.t.Helper()
	if _, err := u.ex.Navigate(u.t.Context(), url, nil); err != nil {
		u.t.Fatal(err)
	}
}

// waits waits until a condition holds in the page.
func (u *user) waits(cond executor.WaitCondition) {
	u.t.Helper()
	res, err := u.page().WaitFor(u.t.Context(), &cond)
	if err != nil || !res.Matched {
		text, _ := u.page().Text(context.Background(), nil)
		u.t.Fatalf("waiting for %+v: %+v, %v\n%s", cond, res, err, text.Content)
	}
}

func (u *user) sees(text string) { u.t.Helper(); u.waits(executor.WaitCondition{Text: text}) }

// holds waits until an expression is true.
func (u *user) holds(expression string) {
	u.t.Helper()
	u.waits(executor.WaitCondition{Expression: expression})
}

func (u *user) clicks(selector string) {
	u.t.Helper()
	if _, err := u.page().Click(u.t.Context(), executor.Selector(selector), nil); err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) presses(keys ...string) {
	u.t.Helper()
	for _, key := range keys {
		if _, err := u.page().Press(u.t.Context(), key, nil); err != nil {
			u.t.Fatal(err)
		}
	}
}

// eval decodes the value of an expression.
func (u *user) eval(expression string, result any) {
	u.t.Helper()
	v, err := u.page().Eval(u.t.Context(), expression, nil)
	if err == nil {
		err = json.Unmarshal(v.Value, result)
	}
	if err != nil {
		u.t.Fatalf("%s: %v", expression, err)
	}
}

// newDashboard serves the dashboard of a board.
func newDashboard(t *testing.T, board *Board, desk *handover.Desk) *Server {
	t.Helper()
	data, err := os.MkdirTemp("", "dash") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	s, err := Listen(Options{DataDir: data, Kind: "server", Version: "1.0.0", Board: board, Desk: desk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// loginFile returns the path of a file that logs in, as the command line gets it.
func loginFile(t *testing.T, s *Server) string {
	t.Helper()
	all := Running(t.Context(), s.opts.DataDir)
	if len(all) != 1 {
		t.Fatalf("running: %+v", all)
	}
	l, err := all[0].Login(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l.File
}

// shop is a page with an order form. Its box has the color of the last click, its title the last
// text that was typed.
const shop = `<!doctype html><title>Order 1042 — Shop</title><link rel=icon href=data:,>
<style>body { margin: 0; font: 16px system-ui; } #box { width: 200px; height: 100px; background: rgb(200, 0, 0); }
#box.clicked { background: rgb(0, 160, 0); } main { padding: 24px; }</style>
<div id=box onclick="this.className = event.isTrusted ? 'clicked' : ''; fetch('/clicked', {method: 'POST'})"></div>
<main><h1>Order 1042</h1><p>Two tickets for Tuesday, 18:30.</p>
<input id=name placeholder="Name on the card" oninput="fetch('/typed?' + encodeURIComponent(this.value), {method: 'POST'})">
<button onclick="document.getElementById('box').className = ''">Pay</button></main>
<script>onkeydown = (e) => { if (e.key === 'F2') document.querySelector('h1').textContent = prompt('Your code?') }</script>`

// TestDashboard uses the dashboard in a browser, as the user does.
func TestDashboard(t *testing.T) {
	var clicked atomic.Int32
	typed := make(chan string, 64)
	release := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/clicked":
			clicked.Add(1)
		case "/typed":
			typed <- r.URL.RawQuery
		case "/slow":
			select {
			case <-release:
			case <-r.Context().Done():
			}
			fmt.Fprint(w, "<title>slow</title><link rel=icon href=data:,>done")
		default:
			fmt.Fprint(w, shop)
		}
	}))
	t.Cleanup(site.Close) // after the browsers are closed, which may wait for it
	board, desk := new(Board), new(handover.Desk)
	s := newDashboard(t, board, desk)
	a := newAgent(t, board, desk, WorkspaceOptions{Principal: "ci", Name: "shop"}, site.URL)
	p := newUser(t)
	p.open("file://" + filepath.ToSlash(loginFile(t, s)))
	p.sees("Connected")
	p.sees("Token ci")
	p.sees("Waiting for the agent")

	a.call("navigate", map[string]any{"url": site.URL + "/?secret=query"})
	p.sees("Order 1042 — Shop")
	var text string
	p.eval("document.body.innerText", &text)
	if strings.Contains(text, "secret=query") != true { // in the URL of the tab, as the browser shows it
		t.Errorf("the page shows no URL of the tab: %s", text)
	}
	p.sees("Shopping agent 2.1")
	for _, workspace := range board.all() {
		workspace.SetCDPClients(func() []executor.CDPClient { return []executor.CDPClient{{Name: "Playwright/1.65.1"}} })
		workspace.ClientsChanged()
	}
	p.sees("Shopping agent 2.1, Playwright/1.65.1 (CDP)")

	testShowsCalls(t, a, p, site.URL, release)
	testIgnoresInput(t, s, a)
	testLiveView(t, a, p, site.URL, &clicked, typed)
	testStops(t, a, p)
	testLogout(t, p)
}

// testShowsCalls checks that the dashboard shows the running and the last calls of an agent.
func testShowsCalls(t *testing.T, a *agent, p *user, site string, release chan<- struct{}) {
	done := make(chan error, 1)
	go func() {
		_, err := a.tryCall("navigate", map[string]any{"url": site + "/slow"})
		done <- err
	}()
	p.sees("Now: navigate " + site + "/slow")
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	p.waits(executor.WaitCondition{TextGone: "Now: navigate"})
	a.call("click", map[string]any{"selector": "#missing"})
	p.sees("SELECTOR_NOT_FOUND")
	a.call("back", nil)
}

// A writerFunc is an io.Writer that passes on what is written.
type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// testIgnoresInput checks that the input of a live view does not reach a page that is not handed
// over.
func testIgnoresInput(t *testing.T, s *Server, a *agent) {
	rejected := make(chan struct{}, 2)
	s.log = slog.New(slog.NewTextHandler(writerFunc(func(line []byte) {
		if bytes.Contains(line, []byte("input of the dashboard failed")) {
			rejected <- struct{}{}
		}
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	tab := a.ex.(executor.Watcher).WatchTabs(t.Context())[0].ID
	base, cookie := s.testLogin(t)
	u := "ws" + strings.TrimPrefix(base, "http") + "live?" + url.Values{"session": {a.session.id}, "tab": {string(tab)}}.Encode()
	origin := "http" + strings.TrimPrefix(u[:strings.Index(u[len("ws://"):], "/")+len("ws://")], "ws")
	ws, _, err := websocket.Dial(t.Context(), u, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}, "Cookie": {cookie.Name + "=" + cookie.Value}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(-1)
	for seen := false; !seen; { // until the view shows the tab
		kind, _, err := ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen = kind == websocket.MessageBinary
	}
	for _, kind := range []string{"down", "up"} {
		if err := ws.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"input": {"type": %q, "x": 20, "y": 20, "button": "left", "buttons": 1, "clicks": 1}}`, kind)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		await.Receive(t, "the input to be rejected", rejected)
	}
	if html := a.call("get_html", map[string]any{"selector": "#box"}); !strings.Contains(html, "id=\"box\"") || strings.Contains(html, `class="clicked"`) {
		t.Errorf("input reached a page that is not handed over: %s", html)
	}
}

// testLiveView watches a page, and acts in it while it is handed over.
func testLiveView(t *testing.T, a *agent, p *user, site string, clicked *atomic.Int32, typed <-chan string) {
	p.clicks(`role=button[name="Watch Order 1042 — Shop"]`)
	pixel := func(r, g int) string {
		return fmt.Sprintf(`(() => { const c = document.getElementById('screen'); if (c.hidden) return false;
			const [r, g] = c.getContext('2d').getImageData(20, 20, 1, 1).data; return Math.abs(r - %d) < 40 && Math.abs(g - %d) < 40; })()`, r, g)
	}
	p.holds(pixel(200, 0))
	const shown = "document.getElementById('live-tab').textContent"
	a.call("navigate", map[string]any{"url": site + "/slow"})
	p.holds(shown + " === 'slow'")
	a.call("back", nil)
	p.holds(shown + ".startsWith('Order 1042')")
	p.holds(pixel(200, 0))
	a.call("click", map[string]any{"selector": "#box"})
	p.holds(pixel(0, 160))

	// Without a question, the mouse of the user does nothing.
	before := clicked.Load()
	p.clicks("#screen")
	if clicked.Load() != before {
		t.Error("a click of the user reached a page that is not handed over")
	}
	a.call("click", map[string]any{"selector": "button"})
	p.holds(pixel(200, 0))
	answer := a.asks("Please pay the order.")
	p.sees("Please pay the order.")
	p.sees("The page is handed over to you")
	var at struct{ X, Y float64 }
	p.eval("(() => { const b = document.getElementById('screen').getBoundingClientRect(); return {X: b.x + 20, Y: b.y + 20} })()", &at)
	if _, err := p.page().Mouse(t.Context(), &executor.MouseOptions{Action: executor.MouseClick, X: at.X, Y: at.Y}); err != nil {
		t.Fatal(err)
	}
	p.holds(pixel(0, 160))

	// The keyboard: Tab goes to the field of the page, and F6 leaves the image.
	p.presses("Tab", "A", "d", "a")
	for want := ""; want != "Ada"; {
		want = <-typed
	}
	p.presses("F2")
	p.sees("Your code?")
	p.holds("document.activeElement.id === 'dialog-text'")
	p.presses("4", "2", "Enter")
	p.holds("document.activeElement.id === 'screen'")
	p.presses("F6")
	p.holds("document.activeElement.id === 'live-close'")
	p.clicks(`role=button[name="Done"]`)
	text := <-answer
	for _, want := range []string{"done", site, "Order 1042 — Shop"} {
		if !strings.Contains(text, want) {
			t.Errorf("the result of ask_user does not contain %q: %s", want, text)
		}
	}
	if text := a.call("get_text", map[string]any{"selector": "h1"}); !strings.Contains(text, "42") {
		t.Errorf("the answer to the dialog did not reach the page: %s", text)
	}
	if text := a.call("get_html", map[string]any{"selector": "#name"}); strings.Contains(text, "Ada") {
		t.Errorf("the agent reads what the user typed: %s", text)
	}
	p.waits(executor.WaitCondition{TextGone: "Please pay the order."})
	p.sees("View only.")
}

// testStops stops the session with the keyboard.
func testStops(t *testing.T, a *agent, p *user) {
	p.eval("(document.activeElement.blur(), true)", new(bool))
	p.clicks("h1") // the focus starts at the beginning of the page
	for range 20 {
		p.presses("Tab")
		var label string
		p.eval("document.activeElement.getAttribute('aria-label') ?? ''", &label)
		if label == "Stop shop" {
			break
		}
	}
	p.presses("Enter")
	p.sees("Stop the session?")
	// The close event of the dialog follows when it is open again.
	p.eval("(document.getElementById('confirm').close(), document.querySelector('[aria-label=\"Stop shop\"]').click(), true)", new(bool))
	p.presses("Tab", "Enter")
	await.Receive(t, "the session to be stopped", a.stopped)
	p.sees("No session is open.")
}

// testLogout checks that the page shows nothing after the logout.
func testLogout(t *testing.T, p *user) {
	var text string
	p.clicks("#logout")
	p.sees("Logged out.")
	p.eval("document.body.innerText", &text)
	if strings.Contains(text, "Sessions") || strings.Contains(text, "Log out") {
		t.Errorf("after the logout: %s", text)
	}
	p.open("about:blank")
	if _, err := p.page().Back(t.Context(), nil); err != nil {
		t.Log(err)
	}
	p.sees("Run chrome-mcp dashboard to open this page.")
}

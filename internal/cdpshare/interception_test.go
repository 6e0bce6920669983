package cdpshare

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// describe returns what steps do, in short.
func describe(steps []Step[string]) (texts []string) {
	for _, s := range steps {
		if s.Event != nil {
			texts = append(texts, fmt.Sprintf("%s gets %s %s", s.Session, s.Event.Method, s.Event.Params))
		} else {
			texts = append(texts, fmt.Sprintf("%s sends %s %s", s.Session, s.Command.Method, s.Command.Params))
		}
	}
	return texts
}

// A peer tests an Interception.
type peer struct {
	t *testing.T
	i Interception[string]
}

// enable enables Fetch for a client, and checks the parameters for the browser.
func (p *peer) enable(client, params, want string) {
	p.t.Helper()
	if c, _, err := p.i.Enable(client, json.RawMessage(params)); err != nil || c.Method != "Fetch.enable" || string(c.Params) != want {
		p.t.Errorf("enable for %s: %s %s, %v, want %s", client, c.Method, c.Params, err, want)
	}
}

// event checks what an event causes.
func (p *peer) event(method, params string, denied bool, want ...string) {
	p.t.Helper()
	p.check(method, p.i.Event(&wire.CDPEvent{Method: method, Params: json.RawMessage(params), Denied: denied}), want)
}

func (p *peer) check(what string, steps []Step[string], want []string) {
	p.t.Helper()
	if got := describe(steps); fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("%s:\n%q, want\n%q", what, got, want)
	}
}

// answer checks what a command of a client causes: the command for the browser, if it is not empty, and
// steps.
func (p *peer) answer(client, method, params, command string, want ...string) (undo func()) {
	p.t.Helper()
	a, err := p.i.Answer(client, Command{method, json.RawMessage(params)})
	if err != nil {
		p.t.Fatal(err)
	}
	got := ""
	if a.Command != nil {
		got = a.Command.Method + " " + string(a.Command.Params)
	}
	if got != command {
		p.t.Errorf("%s %s of %s sends\n%s, want\n%s", method, params, client, got, command)
	}
	p.check(method, a.Steps, want)
	return a.Undo
}

// TestInterception lets requests wait for two clients, one after another.
func TestInterception(t *testing.T) {
	p := &peer{t: t}
	request := func(path string) string {
		return `{"request":{"url":"http://a.test` + path + `"},"requestId":"` + path + `"}`
	}
	p.enable("a", `{"patterns":[{"urlPattern":"*/both*"}],"x":1}`, `{"patterns":[{"urlPattern":"*/both*"}],"x":1}`)
	p.event("Fetch.requestPaused", request("/alone"), false, "a gets Fetch.requestPaused "+request("/alone"))
	p.answer("a", "Fetch.continueRequest", `{"requestId":"/alone","url":"x"}`, `Fetch.continueRequest {"requestId":"/alone","url":"x"}`)
	p.enable("b", ``, `{"patterns":[{"urlPattern":"*/both*"},{"urlPattern":"*"}],"handleAuthRequests":false}`)

	// b gets what a has changed, and the browser gets it too.
	p.event("Fetch.requestPaused", request("/both"), false, "a gets Fetch.requestPaused "+request("/both"))
	if _, err := p.i.Answer("b", Command{"Fetch.failRequest", json.RawMessage(`{"requestId":"/both"}`)}); !errors.Is(err, ErrNotPaused) {
		t.Errorf("the answer of b: %v", err)
	}
	p.answer("a", "Fetch.continueRequest", `{"requestId":"/both","headers":[{"name":"h","value":"1"}],"postData":"YQ==","method":"POST"}`, "",
		`b gets Fetch.requestPaused {"request":{"hasPostData":true,"headers":{"h":"1"},"method":"POST","postData":"a","postDataEntries":[{"bytes":"YQ=="}],"url":"http://a.test/both"},"requestId":"/both"}`)
	undo := p.answer("b", "Fetch.continueRequest", `{"requestId":"/both","method":"PUT"}`,
		`Fetch.continueRequest {"headers":[{"name":"h","value":"1"}],"method":"PUT","postData":"YQ==","requestId":"/both"}`)
	undo() // b can answer it again
	p.answer("b", "Fetch.failRequest", `{"requestId":"/both"}`, `Fetch.failRequest {"requestId":"/both"}`)

	// Requests that only b wants, that the network rules decide on, and that a answers.
	p.event("Fetch.requestPaused", request("/one"), false, "b gets Fetch.requestPaused "+request("/one"))
	p.event("Fetch.requestPaused", request("/both"), true, `a sends Fetch.continueRequest {"requestId":"/both"}`)
	p.event("Fetch.requestPaused", request("/both"), false, "a gets Fetch.requestPaused "+request("/both"))
	p.answer("a", "Fetch.fulfillRequest", `{"requestId":"/both"}`, `Fetch.fulfillRequest {"requestId":"/both"}`)

	// The response waits for the client that requested it.
	p.event("Fetch.requestPaused", request("/both"), false, "a gets Fetch.requestPaused "+request("/both"))
	p.answer("a", "Fetch.continueRequest", `{"requestId":"/both","interceptResponse":true}`, "", "b gets Fetch.requestPaused "+request("/both"))
	p.answer("b", "Fetch.continueRequest", `{"requestId":"/both","interceptResponse":false}`, `Fetch.continueRequest {"interceptResponse":true,"requestId":"/both"}`)
	const response = `{"request":{"url":"http://a.test/both"},"requestId":"/both","responseStatusCode":200}`
	p.event("Fetch.requestPaused", response, false, "a gets Fetch.requestPaused "+response)
	p.answer("a", "Fetch.getResponseBody", `{"requestId":"/both"}`, `Fetch.getResponseBody {"requestId":"/both"}`)
	p.answer("a", "Fetch.continueResponse", `{"requestId":"/both","responseCode":201}`, `Fetch.continueResponse {"requestId":"/both","responseCode":201}`)

	// A client that leaves passes its requests on.
	p.event("Fetch.requestPaused", request("/both"), false, "a gets Fetch.requestPaused "+request("/both"))
	c, steps := p.i.Disable("a")
	if c.Method != "Fetch.enable" || string(c.Params) != `{"patterns":[{"urlPattern":"*"}],"handleAuthRequests":false}` {
		t.Errorf("after a: %s %s", c.Method, c.Params)
	}
	p.check("the end of a", steps, []string{"b gets Fetch.requestPaused " + request("/both")})
	p.answer("b", "Fetch.continueRequest", `{"requestId":"/both"}`, `Fetch.continueRequest {"requestId":"/both"}`)
	if c, steps := p.i.Disable("b"); c.Method != "Fetch.disable" || len(steps) > 0 || p.i.Has("b") {
		t.Errorf("after b: %s, %q", c.Method, describe(steps))
	}
	p.event("Fetch.requestPaused", request("/tools"), false)
}

// TestFailedChanges checks that a request which the browser does not continue with the changes of an
// earlier client continues without them when the last client tries again.
func TestFailedChanges(t *testing.T) {
	p := &peer{t: t}
	const request = `{"request":{"url":"http://a.test/"},"requestId":"1"}`
	p.enable("a", ``, ``)
	p.enable("b", ``, `{"patterns":[{"urlPattern":"*"},{"urlPattern":"*"}],"handleAuthRequests":false}`)
	p.event("Fetch.requestPaused", request, false, "a gets Fetch.requestPaused "+request)
	p.answer("a", "Fetch.continueRequest", `{"requestId":"1","method":"PUT"}`, "", `b gets Fetch.requestPaused {"request":{"method":"PUT","url":"http://a.test/"},"requestId":"1"}`)
	undo := p.answer("b", "Fetch.continueRequest", `{"requestId":"1"}`, `Fetch.continueRequest {"method":"PUT","requestId":"1"}`)
	undo()
	p.answer("b", "Fetch.continueRequest", `{"requestId":"1"}`, `Fetch.continueRequest {"requestId":"1"}`)
}

// TestInterceptionUndo checks that a Fetch.enable that the browser rejects leaves the state before.
func TestInterceptionUndo(t *testing.T) {
	p := &peer{t: t}
	_, undo, err := p.i.Enable("a", nil)
	if undo(); err != nil || p.i.Has("a") {
		t.Errorf("%v; a intercepts", err)
	}
	p.enable("a", `{"patterns":[{"urlPattern":"1"}]}`, `{"patterns":[{"urlPattern":"1"}]}`)
	_, undo, _ = p.i.Enable("a", json.RawMessage(`{"patterns":[{"urlPattern":"2"}]}`))
	undo()
	p.enable("b", `{"patterns":[]}`, `{"patterns":[{"urlPattern":"1"}],"handleAuthRequests":false}`)
	if _, _, err := p.i.Enable("c", json.RawMessage(`{"patterns":1}`)); err == nil || p.i.Has("c") {
		t.Error("invalid parameters were accepted")
	}
}

// TestInterceptionAuth checks which client authenticates.
func TestInterceptionAuth(t *testing.T) {
	p := &peer{t: t}
	p.enable("a", `{"handleAuthRequests":true}`, `{"handleAuthRequests":true}`)
	p.enable("b", ``, `{"patterns":[{"urlPattern":"*"},{"urlPattern":"*"}],"handleAuthRequests":true}`)
	p.enable("c", `{"patterns":[],"handleAuthRequests":true}`, `{"patterns":[{"urlPattern":"*"},{"urlPattern":"*"}],"handleAuthRequests":true}`)
	const event = `{"request":{"url":"http://a.test/"},"requestId":"1"}`
	const own, standard = `{"authChallengeResponse":{"response":"CancelAuth"},"requestId":"1"}`, `{"authChallengeResponse":{"response":"Default"},"requestId":"1"}`
	p.event("Fetch.authRequired", event, false, "a gets Fetch.authRequired "+event)
	p.answer("a", "Fetch.continueWithAuth", standard, "", `c gets Fetch.authRequired {"request":{"url":"http://a.test/"},"requestId":"1"}`)
	p.answer("c", "Fetch.continueWithAuth", standard, "Fetch.continueWithAuth "+standard)
	p.event("Fetch.authRequired", event, false, "a gets Fetch.authRequired "+event)
	p.answer("a", "Fetch.continueWithAuth", own, "Fetch.continueWithAuth "+own)
}

func TestMatchesURL(t *testing.T) {
	for _, test := range []struct {
		pattern, url string
		want         bool
	}{
		{"*", "https://a.test/", true},
		{"*", "", true},
		{"https://a.test/", "https://a.test/", true},
		{"https://a.test/", "https://a.test/x", false},
		{"https://a.test/x", "https://a.test/", false},
		{"https://a.test/*", "https://a.test/", true},
		{"*/done", "https://a.test/done/done", true},
		{"*/done", "https://a.test/done/", false},
		{"*a**b*", "xaxxbx", true},
		{"*a*b", "xbxa", false},
		{"*/?.png", "https://a.test/1.png", true},
		{"*/?.png", "https://a.test/.png", false},
		{`*/x\?y=*`, "https://a.test/x?y=1", true},
		{`*/x\?y=*`, "https://a.test/xay=1", false},
		{`*\*`, "https://a.test/*", true},
		{`*\*`, "https://a.test/x", false},
		{`x\`, "x", false},
	} {
		if got := matchesURL(test.pattern, test.url); got != test.want {
			t.Errorf("%s matches %s: %t", test.pattern, test.url, got)
		}
	}
}

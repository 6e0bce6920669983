package executortest

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// handover tests handing a tab over to the user. In its page, a script enters what the user would.
func (s *suite) handover(t *testing.T) {
	s.recorded(t, "clients are blocked and what is entered is masked", "handover.html", func(c *testCase, _ *keeper) {
		c.console("before the handover")
		h := c.handOver(c.page())
		defer h.End()
		if h.Tab != c.tab || h.URL != c.url("handover.html") || h.Title != "Handover" || h.Origin != c.origin() {
			c.Errorf("handed over: %+v", h)
		}
		other := c.session(executor.SessionOptions{Gate: executor.AllowAll})
		for name, call := range map[string]func(ctx context.Context) error{
			"text":              func(ctx context.Context) error { return errOf(c.page().Text(ctx, nil)) },
			"click":             func(ctx context.Context) error { return errOf(c.page().Click(ctx, css("#code"), nil)) },
			"close":             func(ctx context.Context) error { return errOf(c.page().Close(ctx)) },
			"dialog":            func(ctx context.Context) error { return errOf(c.page().HandleDialog(ctx, executor.DialogAnswer{})) },
			"CDP":               func(ctx context.Context) error { return errOf(c.page().CDP(ctx, "DOM.getDocument", nil)) },
			"a second handover": func(ctx context.Context) error { return errOf(c.page().HandOver(ctx)) },
			"another session":   func(ctx context.Context) error { return errOf(pagetest.Of(other, c.tab).HTML(ctx, nil)) },
		} {
			c.Log(name)
			c.pastDeadline("the page is handed over to the user", call)
		}
		waiting := make(chan string, 1)
		go func() {
			text, err := c.page().Text(c.ctx, nil)
			if err != nil {
				c.Error(err)
				waiting <- ""
				return
			}
			waiting <- text.Content
		}()
		c.release("enter")
		c.await("entered", "code")
		select {
		case text := <-waiting:
			c.Errorf("the page was read during the handover: %s", text)
		default:
		}
		tabs, err := c.exec.Tabs(c.ctx)
		if err != nil || !strings.Contains(asJSON(c, tabs), `"Handover"`) {
			c.Errorf("the tabs during the handover: %v %s", err, asJSON(c, tabs))
		}
		h.End()
		h.End()
		if text := <-waiting; !strings.Contains(text, "you entered ••••") {
			c.Errorf("the call that waited read %s", text)
		}
		for name, read := range map[string]func() (any, error){
			"snapshot": func() (any, error) { return c.page().Snapshot(c.ctx, nil) },
			"html":     func() (any, error) { return c.page().HTML(c.ctx, nil) },
			"markdown": func() (any, error) { return c.page().Markdown(c.ctx, nil) },
			"eval":     func() (any, error) { return c.page().Eval(c.ctx, "window.copy", nil) },
			"number":   func() (any, error) { return c.page().Eval(c.ctx, "({n: Number(window.copy.code)})", nil) },
			"tabs": func() (any, error) {
				c.eval("document.title = window.copy.code; 0", nil)
				return c.exec.Tabs(c.ctx)
			},
			"console":  func() (any, error) { return c.page().Console(c.ctx, nil) },
			"requests": func() (any, error) { return c.page().Requests(c.ctx, nil) },
			"click":    func() (any, error) { return c.page().Click(c.ctx, css("h1"), nil) },
		} {
			result, err := read()
			if err != nil {
				c.Errorf("%s: %v", name, err)
				continue
			}
			for _, secret := range []string{"831942", "private", "edited secret", "during-handover"} {
				if text := asJSON(c, result); strings.Contains(text, secret) {
					c.Errorf("%s contains %q: %s", name, secret, text)
				}
			}
		}
		if requests, err := c.page().Requests(c.ctx, nil); err != nil || !strings.Contains(asJSON(c, requests), "report.js") {
			c.Errorf("the requests from before the handover: %v %s", err, asJSON(c, requests))
		}
		snap, err := c.page().Snapshot(c.ctx, nil)
		if text := asJSON(c, snap); err != nil || !strings.Contains(text, "given name") || !strings.Contains(text, "••••") {
			c.Errorf("snapshot: %v %s", err, text)
		}
		c.eval("fetch('/held/"+c.id+"/alert').then(() => alert('it is ' + window.copy.code)); 0", nil)
		c.release("alert")
		c.awaitDialog(c.tab, "it is ••••")
		answered, err := c.page().HandleDialog(c.ctx, executor.DialogAnswer{Accept: true})
		if err != nil || answered.Message != "it is ••••" {
			c.Errorf("the dialog: %v %s", err, asJSON(c, answered))
		}
		// In the next document, nothing was entered.
		c.eval("location.search = '?again'; 0", nil)
		c.textWith("nothing yet")
	})
	s.page(t, "end of the session ends its handover", "handover.html", func(c *testCase) {
		other := c.session(executor.SessionOptions{Gate: executor.AllowAll})
		c.must(pagetest.Of(other, c.tab).HandOver(c.ctx))
		if err := other.Close(); err != nil {
			c.Fatal(err)
		}
		if _, err := c.page().Text(c.ctx, nil); err != nil {
			c.Errorf("the page after the session that handed it over: %v", err)
		}
	})
	s.page(t, "what is entered in a frame that does not respond at the beginning is masked", "handover.html", func(c *testCase) {
		c.eval(`document.body.append(Object.assign(document.createElement("iframe"), {src: `+quote(c.otherURL("handover-hang.html"))+`})); 0`, nil)
		c.awaitRequest("hang")
		c.release("hang")
		c.await("hanging", "frame")
		c.duringHandover("continue", "typed", "code")
		c.wantMasked("831942")
	})
	s.long().page(t, "a page that does not respond at the end cannot be read before it is masked", "handover.html", func(c *testCase) {
		c.eval(`fetch("/held/`+c.id+`/hang").then(() => {
			document.getElementById("code").value = "831942";
			report("typed", "code");
			const r = new XMLHttpRequest();
			r.open("GET", "/held/`+c.id+`/continue", false);
			r.send();
		}); 0`, nil)
		c.duringHandover("hang", "typed", "code")
		c.pastDeadline("not masked yet", func(ctx context.Context) error { return errOf(c.page().Text(ctx, nil)) })
		c.release("continue")
		c.wantMasked("831942")
	})
	s.long().page(t, "a dialog at the end does not prevent masking", "handover.html", func(c *testCase) {
		c.eval(`fetch("/held/`+c.id+`/ask").then(() => {
			document.getElementById("code").value = "831942";
			history.pushState(0, "", "?code=private");
			alert("continue");
		}); 0`, nil)
		h := c.handOver(c.page())
		defer h.End()
		c.release("ask")
		for c.ctx.Err() == nil {
			tabs := c.tabs()
			if strings.Contains(asJSON(c, tabs), "code=private") {
				c.Fatalf("the tabs contain the URL of a page that the user opened: %s", asJSON(c, tabs))
			}
			if strings.Contains(asJSON(c, tabs), "alert dialog is open") {
				break
			}
		}
		h.End()
		_, err := c.page().Text(c.ctx, nil)
		c.wantCode(err, executor.ErrDialogOpen)
		c.must(c.page().HandleDialog(c.ctx, executor.DialogAnswer{Accept: true}))
		c.wantMasked("831942")
	})
	s.page(t, "what is entered in a field that the page removes is masked", "handover.html", func(c *testCase) {
		c.eval(`fetch("/held/`+c.id+`/enter").then(() => {
			const code = document.getElementById("code");
			const type = (text) => { code.focus(); document.execCommand("insertText", false, text); };
			type("8319");
			type("42");
			const copy = code.value;
			code.value = ""; // as after a wrong code
			type("8");
			type("31943");
			document.getElementById("copy").textContent = "you entered " + copy + " and " + code.value;
			code.parentElement.remove();
			report("typed", "code");
		}); 0`, nil)
		c.duringHandover("enter", "typed", "code")
		c.wantMasked("831942", "831943")
	})
	s.page(t, "what is entered is masked in parts of a text, and as pages encode it", "handover.html", func(c *testCase) {
		const value = `p@ss_<wörd>*1! ` // with the space of a phone's keyboard
		c.eval(`fetch("/held/`+c.id+`/enter").then(() => {
			const code = document.getElementById("code");
			code.focus();
			document.execCommand("insertText", false, `+asJSON(c, value)+`);
			document.body.insertAdjacentHTML("afterbegin", "<main><p id=shown></p><p><a>Link</a></p></main>");
			document.getElementById("shown").textContent = "you entered " + code.value + " there";
			document.querySelector("a").href = "/?" + new URLSearchParams({code: code.value}) + "#" + encodeURIComponent(code.value);
			localStorage.setItem("entered", code.value);
			report("typed", "code");
		}); 0`, nil)
		c.duringHandover("enter", "typed", "code")
		for name, read := range map[string]func() (any, error){
			"snapshot": func() (any, error) { return c.page().Snapshot(c.ctx, nil) },
			"text":     func() (any, error) { return c.page().Text(c.ctx, nil) },
			"html":     func() (any, error) { return c.page().HTML(c.ctx, nil) },
			"markdown": func() (any, error) { return c.page().Markdown(c.ctx, nil) },
			"links":    func() (any, error) { return c.page().Links(c.ctx, nil) },
			"parts": func() (any, error) {
				var all []any
				for i := 0; i < 40; i += 3 {
					m, err := c.page().Markdown(c.ctx, &executor.MarkdownOptions{Offset: i, MaxChars: 3})
					if err != nil {
						return nil, err
					}
					text, err := c.page().Text(c.ctx, &executor.TextOptions{MaxChars: i + 1})
					if err != nil {
						return nil, err
					}
					snap, err := c.page().Snapshot(c.ctx, &executor.SnapshotOptions{MaxChars: 10 * (i + 1)})
					if err != nil {
						return nil, err
					}
					items, err := c.page().Items(c.ctx, executor.StorageLocal, &executor.ItemsOptions{Values: true, MaxChars: i + 1})
					if err != nil {
						return nil, err
					}
					all = append(all, m, text, snap, items)
				}
				return all, nil
			},
		} {
			result, err := read()
			if err != nil {
				c.Errorf("%s: %v", name, err)
				continue
			}
			text := asJSON(c, result)
			for _, part := range []string{"p@s", "p%40s", "wör", "w%C3", "rd&gt;", "*1", "%2A1"} {
				if strings.Contains(text, part) {
					c.Errorf("%s contains %q: %s", name, part, text)
				}
			}
			if !strings.Contains(text, "••••") {
				c.Errorf("%s has nothing masked: %s", name, text)
			}
		}
	})
	s.page(t, "what is entered in closed shadow roots is masked", "handover.html", func(c *testCase) {
		c.eval(`{
			const fields = [];
			for (const name of ["Kept", "Removed"]) {
				const host = document.body.appendChild(document.createElement("div"));
				const root = host.attachShadow({mode: "closed"});
				root.innerHTML = "<input aria-label=" + name + ">";
				fields.push(root.firstChild);
			}
			fetch("/held/`+c.id+`/enter").then(() => {
				for (const [i, value] of ["831942", "831943"].entries()) {
					fields[i].focus();
					document.execCommand("insertText", false, value);
				}
				document.getElementById("copy").textContent = "you entered " + fields[0].value + " and " + fields[1].value;
				fields[1].getRootNode().host.remove();
				report("typed", "fields");
			});
		} 0`, nil)
		c.duringHandover("enter", "typed", "fields")
		c.wantMasked("831942", "831943")
	})
	s.page(t, "fields with what is entered are hidden, and it cannot be moved to others", "handover.html", func(c *testCase) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", "<p><input id=other oninput='report(\"pasted\", /8319/.test(this.value) ? \"entered\" : \"else\")'></p>"); 0`, nil)
		c.duringHandover("enter", "entered", "code")
		c.wantHidden("#code")
		press := func(id string, keys ...string) {
			c.Helper()
			for _, key := range keys {
				c.must(c.page().Press(c.ctx, key, &executor.PressOptions{Target: css(id)}))
			}
		}
		if !c.h.SharedClipboard {
			press("#code", "Control+a", "Control+c")
			press("#other", "Control+v")
			press("#code", "Control+a", "Control+x")
			press("#other", "Control+v")
		}
		press("#code", "End", "Shift+Home") // on Linux, the middle button pastes what is selected
		c.must(c.page().Click(c.ctx, css("#other"), &executor.ClickOptions{Button: executor.ButtonMiddle}))
		press("#other", "x")
		c.await("pasted", "else")
		c.wantValue(`log.filter((r) => r.kind === "pasted" && r.id === "entered").length`, "0")
		// The client can still replace it.
		c.must(c.page().Type(c.ctx, css("#code"), "new", &executor.TypeOptions{Clear: true}))
	})
	s.page(t, "what is entered in a page that the user leaves is masked when the page is restored", "click.html", func(c *testCase) {
		// Chrome may evict any page from the bfcache. It then loads the page again, and fills in its
		// fields only if it had already stored them.
		var city string
		for round := 1; ; round++ {
			c.must(c.page().Navigate(c.ctx, c.url("handover-back.html?"+strconv.Itoa(round)), nil))
			// Another one in each round: what the browser fills in again is masked in all documents.
			city = strings.Repeat(string(rune('A'+round)), 5)
			c.typeInto("#city", city, nil)
			c.await("pageshow", "first")
			c.duringHandover("enter"+strconv.Itoa(round), "pageshow", "next")
			c.textWith("nothing yet")
			c.back()
			if shown := c.await("pageshow", "first"); shown.Value == "cached" {
				break
			}
		}
		if text := c.text(nil); !strings.Contains(text, "you entered •••• and ••••") {
			c.Errorf("the restored page: %s", text)
		}
		c.wantMasked("831942", "filled in")
		if text := c.snap(nil); !strings.Contains(text, city) {
			c.Errorf("what the client entered is masked: %s", text)
		}
	})
	s.page(t, "what the browser fills in again after Back is masked", "handover-back.html", func(c *testCase) {
		c.await("pageshow", "first")
		// A page with another tab in its opener group is not restored from the back/forward cache.
		c.eval(`document.body.insertAdjacentHTML("beforeend", "<a id=open target=_blank rel=opener href='second.html'>Open</a>"); 0`, nil)
		c.opened("#open", nil)
		c.duringHandover("enter", "pageshow", "next")
		c.textWith("nothing yet")
		c.back()
		if shown := c.await("pageshow", "first"); shown.Value != "loaded" {
			c.Fatal("the browser did not load the page again")
		}
		c.wantMasked("831942", "filled in")
		if values := c.evalString(`code.value + " and " + account.value`); values != "•••• and ••••" {
			c.Errorf("the values of the fields: %s", values)
		}
	})
	s.long().page(t, "a page is not handed over during a call on one that opened it", "handover.html", func(c *testCase) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", "<a id=open target=_blank rel=opener href='second.html'>Open</a>"); 0`, nil)
		child := c.opened("#open", nil)
		running, stop := context.WithCancel(c.ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = c.page().Eval(running, `report("running", "eval"), new Promise(() => {})`, nil)
		}()
		c.await("running", "eval")
		_, err := pagetest.Of(c.exec, child.ID).HandOver(c.ctx)
		c.wantCode(err, executor.ErrBackpressure, "is running")
		stop()
		<-ended
	})
	s.page(t, "pages that opened each other are handed over together", "handover.html", func(c *testCase) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", "<a id=open target=_blank rel=opener href='second.html'>Open</a>"); 0`, nil)
		child := c.opened("#open", nil)
		page := pagetest.Of(c.exec, child.ID)
		if _, err := page.Eval(c.ctx, `fetch("/held/`+c.id+`/close").then(() => {
			opener.document.getElementById("code").focus();
			opener.document.execCommand("insertText", false, "831942");
			close();
		}); 0`, nil); err != nil {
			c.Fatal(err)
		}
		h := c.handOver(page)
		defer h.End()
		c.release("close")
		select {
		case <-h.Gone:
		case <-c.ctx.Done():
			c.Fatal("the tab did not close")
		}
		c.pastDeadline("the page is handed over to the user", func(ctx context.Context) error { return errOf(c.page().Text(ctx, nil)) })
		h.End()
		c.wantMasked("831942")
	})
	s.page(t, "what is entered is masked in pages that opened each other", "handover.html", func(c *testCase) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", "<a id=open target=_blank rel=opener href='second.html'>Open</a>");
			fetch("/held/`+c.id+`/enter").then(() => {
				document.getElementById("code").value = "831942";
				report("typed", "code");
			}); 0`, nil)
		child := c.opened("#open", nil)
		c.duringHandover("enter", "typed", "code")
		res, err := pagetest.Of(c.exec, child.ID).Eval(c.ctx, `"it is " + opener.document.getElementById("code").value`, nil)
		if text := asJSON(c, res); err != nil || !strings.Contains(text, "it is ••••") {
			c.Errorf("eval in the other tab: %v %s", err, text)
		}
	})
}

// wantMasked checks that a snapshot has masked values, and none of secrets.
func (c *testCase) wantMasked(secrets ...string) {
	c.Helper()
	snap := c.snapshot(nil)
	text := asJSON(c, snap)
	if !strings.Contains(text, "••••") {
		c.Errorf("nothing is masked: %s", text)
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			c.Errorf("the snapshot contains %q: %s", secret, text)
		}
	}
}

// handOver hands a page over to the user. The caller must end that.
func (c *testCase) handOver(p executor.Page) *executor.HandedOver {
	c.Helper()
	h, err := p.HandOver(c.ctx)
	if err != nil {
		c.Fatal(err)
	}
	return h
}

// duringHandover hands the page over until it has reported what the user does there: the page waits
// for the request held.
func (c *testCase) duringHandover(held, kind, id string) {
	c.Helper()
	h := c.handOver(c.page())
	defer h.End()
	c.release(held)
	c.await(kind, id)
}

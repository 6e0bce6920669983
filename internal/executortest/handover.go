package executortest

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// handover tests handing a tab over to the user. In its page, a script enters what the user would.
func handover(s *suite.Runner, t *testing.T) {
	recorded(s, t, "clients are blocked and what is entered is masked", "handover.html", func(c *suite.Case, _ *suite.Keeper) {
		console(c, "before the handover")
		h := handOver(c, c.Page())
		defer h.End()
		if h.Tab != c.Tab || h.URL != c.URL("handover.html") || h.Title != "Handover" || h.Origin != c.Origin() {
			c.Errorf("handed over: %+v", h)
		}
		other := c.Session(executor.SessionOptions{Gate: executor.AllowAll})
		for name, call := range map[string]func(ctx context.Context) error{
			"text":  func(ctx context.Context) error { return suite.ErrOf(c.Page().Text(ctx, nil)) },
			"click": func(ctx context.Context) error { return suite.ErrOf(c.Page().Click(ctx, suite.Selector("#code"), nil)) },
			"close": func(ctx context.Context) error { return suite.ErrOf(c.Page().Close(ctx)) },
			"dialog": func(ctx context.Context) error {
				return suite.ErrOf(c.Page().HandleDialog(ctx, &executor.DialogAnswer{}))
			},
			"CDP":               func(ctx context.Context) error { return suite.ErrOf(c.Page().CDP(ctx, "DOM.getDocument", nil)) },
			"a second handover": func(ctx context.Context) error { return suite.ErrOf(c.Page().HandOver(ctx)) },
			"another session":   func(ctx context.Context) error { return suite.ErrOf(pagetest.Of(other, c.Tab).HTML(ctx, nil)) },
		} {
			c.Log(name)
			c.PastDeadline("the page is handed over to the user", call)
		}
		waiting := make(chan string, 1)
		go func() {
			text, err := c.Page().Text(c.Ctx, nil)
			if err != nil {
				c.Error(err)
				waiting <- ""
				return
			}
			waiting <- text.Content
		}()
		c.Release("enter")
		c.Await("entered", "code")
		select {
		case text := <-waiting:
			c.Errorf("the page was read during the handover: %s", text)
		default:
		}
		tabs, err := c.Exec.Tabs(c.Ctx)
		if err != nil || !strings.Contains(asJSON(c, tabs), `"Handover"`) {
			c.Errorf("the tabs during the handover: %v %s", err, asJSON(c, tabs))
		}
		h.End()
		h.End()
		if text := <-waiting; !strings.Contains(text, "you entered ••••") {
			c.Errorf("the call that waited read %s", text)
		}
		for name, read := range map[string]func() (any, error){
			"snapshot": func() (any, error) { return c.Page().Snapshot(c.Ctx, nil) },
			"html":     func() (any, error) { return c.Page().HTML(c.Ctx, nil) },
			"markdown": func() (any, error) { return c.Page().Markdown(c.Ctx, nil) },
			"eval":     func() (any, error) { return c.Page().Eval(c.Ctx, "window.copy", nil) },
			"number":   func() (any, error) { return c.Page().Eval(c.Ctx, "({n: Number(window.copy.code)})", nil) },
			"tabs": func() (any, error) {
				c.Eval("document.title = window.copy.code; 0", nil)
				return c.Exec.Tabs(c.Ctx)
			},
			"console":  func() (any, error) { return c.Page().Console(c.Ctx, nil) },
			"requests": func() (any, error) { return c.Page().Requests(c.Ctx, nil) },
			"click":    func() (any, error) { return c.Page().Click(c.Ctx, suite.Selector("h1"), nil) },
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
		if requests, err := c.Page().Requests(c.Ctx, nil); err != nil || !strings.Contains(asJSON(c, requests), "report.js") {
			c.Errorf("the requests from before the handover: %v %s", err, asJSON(c, requests))
		}
		snap, err := c.Page().Snapshot(c.Ctx, nil)
		if text := asJSON(c, snap); err != nil || !strings.Contains(text, "given name") || !strings.Contains(text, "••••") {
			c.Errorf("snapshot: %v %s", err, text)
		}
		c.Eval("fetch('/held/"+c.ID+"/alert').then(() => alert('it is ' + window.copy.code)); 0", nil)
		c.Release("alert")
		c.AwaitDialog(c.Tab, "it is ••••")
		answered, err := c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{Accept: true})
		if err != nil || answered.Message != "it is ••••" {
			c.Errorf("the dialog: %v %s", err, asJSON(c, answered))
		}
		// In the next document, nothing was entered.
		c.Eval("location.search = '?again'; 0", nil)
		c.TextWith("nothing yet")
	})
	s.Page(t, "end of the session ends its handover", "handover.html", func(c *suite.Case) {
		other := c.Session(executor.SessionOptions{Gate: executor.AllowAll})
		c.Must(pagetest.Of(other, c.Tab).HandOver(c.Ctx))
		if err := other.Close(); err != nil {
			c.Fatal(err)
		}
		if _, err := c.Page().Text(c.Ctx, nil); err != nil {
			c.Errorf("the page after the session that handed it over: %v", err)
		}
	})
	s.Shared().Page(t, "what is entered in a frame that does not respond at the beginning is masked", "handover.html", func(c *suite.Case) {
		c.Eval(`document.body.append(Object.assign(document.createElement("iframe"), {src: `+suite.Quote(c.OtherURL("handover-hang.html"))+`})); 0`, nil)
		c.AwaitRequest("hang")
		c.Release("hang")
		c.Await("hanging", "frame")
		duringHandover(c, "continue", "typed", "code")
		wantMasked(c, "831942")
	})
	s.Deep().Page(t, "a page that does not respond at the end cannot be read before it is masked", "handover.html", func(c *suite.Case) {
		c.Eval(`fetch("/held/`+c.ID+`/hang").then(() => {
			document.getElementById("code").value = "831942";
			report("typed", "code");
			const r = new XMLHttpRequest();
			r.open("GET", "/held/`+c.ID+`/continue", false);
			r.send();
		}); 0`, nil)
		duringHandover(c, "hang", "typed", "code")
		c.PastDeadline("not masked yet", func(ctx context.Context) error { return suite.ErrOf(c.Page().Text(ctx, nil)) })
		c.Release("continue")
		wantMasked(c, "831942")
	})
	s.Deep().Page(t, "a dialog at the end does not prevent masking", "handover.html", func(c *suite.Case) {
		c.Eval(`fetch("/held/`+c.ID+`/ask").then(() => {
			document.getElementById("code").value = "831942";
			history.pushState(0, "", "?code=private");
			alert("continue");
		}); 0`, nil)
		h := handOver(c, c.Page())
		defer h.End()
		c.Release("ask")
		for c.Ctx.Err() == nil {
			tabs := c.Tabs()
			if strings.Contains(asJSON(c, tabs), "code=private") {
				c.Fatalf("the tabs contain the URL of a page that the user opened: %s", asJSON(c, tabs))
			}
			if strings.Contains(asJSON(c, tabs), "alert dialog is open") {
				break
			}
		}
		h.End()
		_, err := c.Page().Text(c.Ctx, nil)
		c.WantCode(err, executor.ErrDialogOpen)
		c.Must(c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{Accept: true}))
		wantMasked(c, "831942")
	})
	s.Shared().Page(t, "what is entered in a field that the page removes is masked", "handover.html", func(c *suite.Case) {
		c.Eval(`fetch("/held/`+c.ID+`/enter").then(() => {
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
		duringHandover(c, "enter", "typed", "code")
		wantMasked(c, "831942", "831943")
	})
	s.Shared().Page(t, "what is entered is masked in parts of a text, and as pages encode it", "handover.html", func(c *suite.Case) {
		const value = `p@ss_<wörd>*1! ` // with the space of a phone's keyboard
		c.Eval(`fetch("/held/`+c.ID+`/enter").then(() => {
			const code = document.getElementById("code");
			code.focus();
			document.execCommand("insertText", false, `+asJSON(c, value)+`);
			document.body.insertAdjacentHTML("afterbegin", "<main><p id=shown></p><p><a>Link</a></p></main>");
			document.getElementById("shown").textContent = "you entered " + code.value + " there";
			document.querySelector("a").href = "/?" + new URLSearchParams({code: code.value}) + "#" + encodeURIComponent(code.value);
			localStorage.setItem("entered", code.value);
			report("typed", "code");
		}); 0`, nil)
		duringHandover(c, "enter", "typed", "code")
		for name, read := range map[string]func() (any, error){
			"snapshot": func() (any, error) { return c.Page().Snapshot(c.Ctx, nil) },
			"text":     func() (any, error) { return c.Page().Text(c.Ctx, nil) },
			"html":     func() (any, error) { return c.Page().HTML(c.Ctx, nil) },
			"markdown": func() (any, error) { return c.Page().Markdown(c.Ctx, nil) },
			"links":    func() (any, error) { return c.Page().Links(c.Ctx, nil) },
			"parts": func() (any, error) {
				var all []any
				for i := 0; i < 40; i += 3 {
					m, err := c.Page().Markdown(c.Ctx, &executor.MarkdownOptions{Offset: i, MaxChars: 3})
					if err != nil {
						return nil, err
					}
					text, err := c.Page().Text(c.Ctx, &executor.TextOptions{MaxChars: i + 1})
					if err != nil {
						return nil, err
					}
					snap, err := c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{MaxChars: 10 * (i + 1)})
					if err != nil {
						return nil, err
					}
					items, err := c.Page().Items(c.Ctx, executor.StorageLocal, &executor.ItemsOptions{Values: true, MaxChars: i + 1})
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
	s.Shared().Page(t, "what is entered in closed shadow roots is masked", "handover.html", func(c *suite.Case) {
		c.Eval(`{
			const fields = [];
			for (const name of ["Kept", "Removed"]) {
				const host = document.body.appendChild(document.createElement("div"));
				const root = host.attachShadow({mode: "closed"});
				root.innerHTML = "<input aria-label=" + name + ">";
				fields.push(root.firstChild);
			}
			fetch("/held/`+c.ID+`/enter").then(() => {
				for (const [i, value] of ["831942", "831943"].entries()) {
					fields[i].focus();
					document.execCommand("insertText", false, value);
				}
				document.getElementById("copy").textContent = "you entered " + fields[0].value + " and " + fields[1].value;
				fields[1].getRootNode().host.remove();
				report("typed", "fields");
			});
		} 0`, nil)
		duringHandover(c, "enter", "typed", "fields")
		wantMasked(c, "831942", "831943")
	})
	s.Shared().Page(t, "fields with what is entered are hidden, and it cannot be moved to others", "handover.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", "<p><input id=other oninput='report(\"pasted\", /8319/.test(this.value) ? \"entered\" : \"else\")'></p>"); 0`, nil)
		duringHandover(c, "enter", "entered", "code")
		wantHidden(c, "#code")
		press := func(id string, keys ...string) {
			c.Helper()
			for _, key := range keys {
				c.Must(c.Page().Press(c.Ctx, key, &executor.PressOptions{Target: suite.Selector(id)}))
			}
		}
		if !c.H.SharedClipboard {
			press("#code", "Control+a", "Control+c")
			press("#other", "Control+v")
			press("#code", "Control+a", "Control+x")
			press("#other", "Control+v")
		}
		press("#code", "End", "Shift+Home") // on Linux, the middle button pastes what is selected
		c.Must(c.Page().Click(c.Ctx, suite.Selector("#other"), &executor.ClickOptions{Button: executor.ButtonMiddle}))
		press("#other", "x")
		c.Await("pasted", "else")
		c.WantValue(`log.filter((r) => r.kind === "pasted" && r.id === "entered").length`, "0")
		// The client can still replace it.
		c.Must(c.Page().Type(c.Ctx, suite.Selector("#code"), "new", &executor.TypeOptions{Clear: true}))
	})
	s.Shared().Page(t, "PDFs are denied, and a field to which the page copies what is entered is hidden", "handover.html", func(c *suite.Case) {
		c.Must(c.Page().SavePDF(c.Ctx, nil))
		duringHandover(c, "enter", "entered", "code")
		c.Eval(`{
			const code = document.getElementById("code");
			code.replaceWith(Object.assign(document.createElement("input"), {id: "shown", value: code.value}));
		} 0`, nil)
		wantHidden(c, "#shown")
		denied := func() {
			c.Helper()
			_, err := c.Page().SavePDF(c.Ctx, nil)
			c.WantCode(err, executor.ErrPolicyDenied, "the user entered something")
		}
		denied()
		c.Eval(`document.querySelectorAll("input, textarea").forEach((field) => field.remove()); 0`, nil)
		denied() // the page shows it outside of the fields
		c.Must(c.Page().Navigate(c.Ctx, c.URL("read.html"), nil))
		c.Must(c.Page().SavePDF(c.Ctx, nil))
	})
	s.Watched(t, "downloads of the user are saved and not reported", "download.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
		dir := filepath.Dir(c.Fetch(executor.DownloadOptions{Target: suite.Selector("#report")}).Path)
		for next(executor.EventDownload).Download.State != "completed" {
		}
		c.Eval(fmt.Sprintf(`fetch("/held/%s/save").then(() => {
			const link = document.getElementById("first");
			link.href = %q;
			link.click();
		}); 0`, c.ID, c.NavigationURL("attachment/mine"+c.ID+".csv")), nil)
		h := handOver(c, c.Page())
		defer h.End()
		c.Release("save")
		await.Until(c, "the file of the user", func() bool {
			files, err := filepath.Glob(filepath.Join(dir, "mine"+c.ID+"*.csv"))
			return err == nil && len(files) == 1
		})
		if err := c.Exec.Ping(c.Ctx); err != nil { // the report of the browser has arrived before
			c.Fatal(err)
		}
		h.End()
		a := c.Click(suite.Selector("#nothing"), nil)
		d := c.Fetch(executor.DownloadOptions{Target: suite.Selector("#report")})
		e := next(executor.EventDownload)
		if text := asJSON(c, a) + asJSON(c, d) + asJSON(c, e); strings.Contains(text, "mine") {
			c.Errorf("the download of the user is reported: %s", text)
		}
	})
	s.Shared().Page(t, "what is entered in a page that the user leaves is masked when the page is restored", "click.html", func(c *suite.Case) {
		// Chrome may evict any page from the bfcache. It then loads the page again, and fills in its
		// fields only if it had already stored them.
		var city string
		for round := 1; ; round++ {
			c.Must(c.Page().Navigate(c.Ctx, c.URL("handover-back.html?"+strconv.Itoa(round)), nil))
			// Another one in each round: what the browser fills in again is masked in all documents.
			city = strings.Repeat(string(rune('A'+round)), 5)
			c.TypeInto("#city", city, nil)
			c.Await("pageshow", "first")
			duringHandover(c, "enter"+strconv.Itoa(round), "pageshow", "next")
			c.TextWith("nothing yet")
			c.Back()
			if shown := c.Await("pageshow", "first"); shown.Value == "cached" {
				break
			}
		}
		if text := c.Text(nil); !strings.Contains(text, "you entered •••• and ••••") {
			c.Errorf("the restored page: %s", text)
		}
		wantMasked(c, "831942", "filled in")
		if text := c.Snap(nil); !strings.Contains(text, city) {
			c.Errorf("what the client entered is masked: %s", text)
		}
	})
	s.Shared().Page(t, "what the browser fills in again after Back is masked", "handover-back.html", func(c *suite.Case) {
		c.Await("pageshow", "first")
		// A page with another tab in its opener group is not restored from the back/forward cache.
		c.Eval(`document.body.insertAdjacentHTML("beforeend", "<a id=open target=_blank rel=opener href='second.html'>Open</a>"); 0`, nil)
		c.Opened("#open", nil)
		duringHandover(c, "enter", "pageshow", "next")
		c.TextWith("nothing yet")
		c.Back()
		if shown := c.Await("pageshow", "first"); shown.Value != "loaded" {
			c.Fatal("the browser did not load the page again")
		}
		wantMasked(c, "831942", "filled in")
		if values := c.EvalString(`code.value + " and " + account.value`); values != "•••• and ••••" {
			c.Errorf("the values of the fields: %s", values)
		}
	})
	s.Deep().Page(t, "a page is not handed over during a call on one that opened it", "handover.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", "<a id=open target=_blank rel=opener href='second.html'>Open</a>"); 0`, nil)
		child := c.Opened("#open", nil)
		running, stop := context.WithCancel(c.Ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = c.Page().Eval(running, `report("running", "eval"), new Promise(() => {})`, nil)
		}()
		c.Await("running", "eval")
		_, err := pagetest.Of(c.Exec, child.ID).HandOver(c.Ctx)
		c.WantCode(err, executor.ErrBackpressure, "is running")
		stop()
		<-ended
	})
	s.Shared().Page(t, "pages that opened each other are handed over together", "handover.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", "<a id=open target=_blank rel=opener href='second.html'>Open</a>"); 0`, nil)
		child := c.Opened("#open", nil)
		page := pagetest.Of(c.Exec, child.ID)
		if _, err := page.Eval(c.Ctx, `fetch("/held/`+c.ID+`/close").then(() => {
			opener.document.getElementById("code").focus();
			opener.document.execCommand("insertText", false, "831942");
			close();
		}); 0`, nil); err != nil {
			c.Fatal(err)
		}
		h := handOver(c, page)
		defer h.End()
		c.Release("close")
		select {
		case <-h.Gone:
		case <-c.Ctx.Done():
			c.Fatal("the tab did not close")
		}
		c.PastDeadline("the page is handed over to the user", func(ctx context.Context) error { return suite.ErrOf(c.Page().Text(ctx, nil)) })
		h.End()
		wantMasked(c, "831942")
	})
	s.Shared().Page(t, "what is entered is masked in pages that opened each other", "handover.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", "<a id=open target=_blank rel=opener href='second.html'>Open</a>");
			fetch("/held/`+c.ID+`/enter").then(() => {
				document.getElementById("code").value = "831942";
				report("typed", "code");
			}); 0`, nil)
		child := c.Opened("#open", nil)
		duringHandover(c, "enter", "typed", "code")
		res, err := pagetest.Of(c.Exec, child.ID).Eval(c.Ctx, `"it is " + opener.document.getElementById("code").value`, nil)
		if text := asJSON(c, res); err != nil || !strings.Contains(text, "it is ••••") {
			c.Errorf("eval in the other tab: %v %s", err, text)
		}
	})
}

// wantMasked checks that a snapshot has masked values, and none of secrets.
func wantMasked(c *suite.Case, secrets ...string) {
	c.Helper()
	snap := c.Snapshot(nil)
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
func handOver(c *suite.Case, p executor.Page) *executor.HandedOver {
	c.Helper()
	h, err := p.HandOver(c.Ctx)
	if err != nil {
		c.Fatal(err)
	}
	return h
}

// duringHandover hands the page over until it has reported what the user does there: the page waits
// for the request held.
func duringHandover(c *suite.Case, held, kind, id string) {
	c.Helper()
	h := handOver(c, c.Page())
	defer h.End()
	c.Release(held)
	c.Await(kind, id)
}

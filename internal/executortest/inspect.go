package executortest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// recorded runs a case in a session that records activity.
func (s *suite) recorded(t *testing.T, name, file string, f func(c *testCase, k *keeper)) {
	k := &keeper{}
	s.pageWith(t, name, file, executor.SessionOptions{Gate: k, Record: true}, func(c *testCase) { f(c, k) })
}

// console reads the console until it contains a message with each of texts.
func (c *testCase) console(texts ...string) *executor.Console {
	c.Helper()
	return until(c, func() (*executor.Console, error) { return c.page().Console(c.ctx, nil) }, texts...)
}

// pageErrors is console for uncaught errors.
func (c *testCase) pageErrors(texts ...string) *executor.PageErrors {
	c.Helper()
	return until(c, func() (*executor.PageErrors, error) { return c.page().PageErrors(c.ctx, nil) }, texts...)
}

// until calls read until its result contains each of texts.
func until[R any](c *testCase, read func() (*R, error), texts ...string) *R {
	c.Helper()
	var r *R
	c.poll(fmt.Sprintf("a result with each of %q", texts), func() (ok bool, _ any, err error) {
		if r, err = read(); err != nil {
			return false, nil, err
		}
		reported := asJSON(c, r)
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(reported, text) }), r, nil
	})
	return r
}

// poll calls look, once per animation frame, until it returns true. It fails the case with the last
// observation after await.HangLimit.
func (c *testCase) poll(what string, look func() (ok bool, seen any, err error)) {
	c.Helper()
	end := time.Now().Add(await.HangLimit)
	for {
		ok, seen, err := look()
		switch {
		case err != nil:
			c.Fatalf("waiting for %s: %v", what, err)
		case ok:
			return
		case time.Now().After(end):
			c.Fatalf("not reported: %s, but\n%s", what, asJSON(c, seen))
		}
		c.eval("new Promise((done) => requestAnimationFrame(() => done(1)))", nil)
	}
}

// asJSON returns a result as JSON.
func asJSON(c *testCase, result any) string {
	raw, err := json.Marshal(result)
	if err != nil {
		c.Fatal(err)
	}
	return string(raw)
}

// request returns the newest request whose URL contains part, when it has completed.
func (c *testCase) request(part string) executor.Request {
	c.Helper()
	var q executor.Request
	c.poll("a request for "+part+" that has completed", func() (bool, any, error) {
		r, err := c.page().Requests(c.ctx, nil)
		if err != nil {
			return false, nil, err
		}
		for _, q = range slices.Backward(r.Requests) {
			if strings.Contains(q.URL, part) {
				return !q.Running, r, nil
			}
		}
		return false, r, nil
	})
	return q
}

// frameLoads starts a load in the cross-site frame until one is reported: requests immediately
// after attaching may be missed.
func (c *testCase) frameLoads() {
	c.Helper()
	c.poll("a request of the frame", func() (bool, any, error) {
		c.eval(`frames[0].postMessage("load", "*")`, nil)
		r, err := c.page().Requests(c.ctx, nil)
		return err == nil && strings.Contains(asJSON(c, r), "SECRET-of-the-frame"), r, err
	})
}

// inFull returns all details of a request.
func (c *testCase) inFull(id string, body bool) executor.Request {
	c.Helper()
	return c.requests(&executor.RequestsOptions{ID: id, Body: body}).Requests[0]
}

func (s *suite) inspectConsole(t *testing.T) {
	s.recorded(t, "from the first document", "inspect.html", func(c *testCase, _ *keeper) {
		res := c.console("an error", "SECRET of the frame")
		first := res.Messages[0]
		if first.Level != executor.ConsoleInfo || first.Text != `loading now {items: 3, name: "cart"} [1, "two"]` || first.At != c.url("inspect.html")+":10" || first.Time.IsZero() {
			c.Errorf("the first message is %+v", first)
		}
		worse, err := c.page().Console(c.ctx, &executor.ConsoleOptions{Level: executor.ConsoleWarning, Limit: 1})
		if err != nil || worse.Matched != 2 || len(worse.Messages) != 1 || worse.Messages[0].Text != "an error\nof two lines" {
			c.Errorf("warnings and worse: %+v, %v", worse, err)
		}
	})
	s.recorded(t, "objects in messages", "second.html", func(c *testCase, _ *keeper) {
		c.eval(`window.got = 0;
			console.log("config %o of", { api: { retries: [1, 2, { mode: { deep: 1 } }] } }, "three");
			console.log(new Map([["region", { a: "map-value" }]]), new Set(["set-value"]));
			console.table([{ col: "cell-value" }]);
			console.log({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, get boom() { got++; throw 2 } });
			console.log({ p: new Proxy({}, { ownKeys() { got++; return [] }, get() { got++ }, getOwnPropertyDescriptor() { got++ } }), o: {} });
			console.log({ big: Object.fromEntries(Array.from({ length: 2000 }, (_, i) => ["key" + i, i])) }); 0`, nil)
		res := c.console("key1", "mode")
		var all strings.Builder
		for _, m := range res.Messages {
			all.WriteString(m.Text + "\n")
		}
		c.wantIn(all.String(), `config {api: {retries: [1, 2, {mode: Object}]}} of three`, `Map(1) {"region" => {a: "map-value"}} Set(1) {"set-value"}`,
			`[{col: "cell-value"}]`, `{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, boom: (...)}`, "key49: 49, …")
		c.wantNotIn(all.String(), "key50")
		c.wantValue("got", "0")
	})
	s.recorded(t, "uncaught errors", "inspect.html", func(c *testCase, _ *keeper) {
		res := c.pageErrors("nobody caught this", "nobody handled this", "SECRET error of the frame")
		for _, e := range res.Errors {
			if e.Rejection != strings.Contains(e.Text, "nobody handled") || !strings.Contains(e.At, "/inspect") {
				c.Errorf("error %+v", e)
			}
		}
	})
	s.recorded(t, "console messages cleared", "second.html", func(c *testCase, _ *keeper) {
		c.eval(`console.log("one")`, nil)
		c.must(c.page().Console(c.ctx, &executor.ConsoleOptions{Clear: true}))
		c.eval(`console.log("two")`, nil)
		if res := c.console("two"); res.Matched != 1 {
			c.Errorf("after clear: %+v", res)
		}
	})
	s.recorded(t, "bounded", "second.html", func(c *testCase, _ *keeper) {
		lines := 2 * executor.MaxRecords
		if tier.LongEnabled() {
			lines = 10 * executor.MaxRecords
		}
		c.eval(fmt.Sprintf(`for (let i = 0; i < %d; i++) console.log("line " + i); console.log("x".repeat(1e6)); console.log("last")`, lines), nil)
		res := c.console("last")
		if res.Dropped == 0 || res.Dropped+res.Matched < lines+2 || res.Matched > executor.MaxRecords {
			c.Errorf("%d kept, %d dropped of %d", res.Matched, res.Dropped, lines+2)
		}
		if long := res.Messages[len(res.Messages)-2]; len(long.Text) > 2010 {
			c.Errorf("a message has %d bytes", len(long.Text))
		}
	})
	// It takes the browser most of a minute on a busy machine.
	s.long().recorded(t, "flood", "second.html", func(c *testCase, _ *keeper) {
		lines := 50
		if testlog.RaceEnabled { // which makes reading slow
			lines = 5
		}
		const limit = 5 * time.Second // the tests of another package may run at the same time
		c.eval(fmt.Sprintf(`
			const line = "x".repeat(1e5), atOnce = %d;
			let lines = 0;
			window.flooded = new Promise((done) => setInterval(() => {
				for (let i = 0; i < atOnce; i++) console.log(line);
				if ((lines += atOnce) === 2000) done(1);
			}, 10));
			0`, lines), nil)
		c.eval("flooded", nil)
		var took []time.Duration
		for range 7 {
			start := time.Now()
			c.snap(nil)
			c.eval("1", nil)
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		// The median, because a small machine is sometimes busy.
		if took[len(took)/2] > limit {
			c.Errorf("two calls take %v", took)
		}
		if res := c.console("xxx"); res.Dropped < 1000 {
			c.Errorf("%d messages kept, %d dropped", res.Matched, res.Dropped)
		}
		c.wantAt(c.goTo(c.url("popup.html"), nil), c.url("popup.html"), "Popup", 200)
		c.eval(`setTimeout(() => console.log("after the flood"), 1000)`, nil)
		c.console("after the flood")
	})
	s.recorded(t, "denied frame", "inspect.html", func(c *testCase, k *keeper) {
		c.console("SECRET of the frame")
		c.pageErrors("SECRET error of the frame")
		k.denyOrigin(c.otherOrigin())
		c.wantNotIn(asJSON(c, c.console("an error")), "SECRET")
		errs, err := c.page().PageErrors(c.ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.wantNotIn(asJSON(c, errs), "SECRET")
	})
	s.recorded(t, "scripts of a denied site by origin", "second.html", func(c *testCase, k *keeper) {
		at := c.otherURL("inspectscript.js?SECRET")
		c.eval(`document.head.append(Object.assign(document.createElement("script"), {src: `+strconv.Quote(at)+`}))`, nil)
		if m := c.console("from elsewhere").Messages[0]; m.At != at+":2" {
			c.Errorf("the message is at %q", m.At)
		}
		if e := c.pageErrors("broken elsewhere").Errors[0]; e.At != at+":4" {
			c.Errorf("the error is %+v", e)
		}
		k.denyOrigin(c.otherOrigin())
		if m := c.console("from elsewhere").Messages[0]; m.At != c.otherOrigin() {
			c.Errorf("the message is at %q, want only the denied origin", m.At)
		}
		if e := c.pageErrors("broken elsewhere").Errors[0]; e.At != c.otherOrigin() || strings.Contains(e.Text, "SECRET") {
			c.Errorf("the error is %+v, want only the origin of the denied site", e)
		}
	})
	s.recorded(t, "recorded, then denied", "second.html", func(c *testCase, k *keeper) {
		c.eval(`console.log("SECRET words"); setTimeout(() => { throw new Error("SECRET words") })`, nil)
		c.console("SECRET words")
		c.pageErrors("SECRET words")
		c.goTo(c.otherURL("second.html?SECRET"), nil)
		c.eval(`console.log("later")`, nil)
		k.denyOrigin(c.origin())
		c.wantNotIn(asJSON(c, c.console("later")), "SECRET words")
		errs, err := c.page().PageErrors(c.ctx, nil)
		if err != nil || errs.Matched != 0 {
			c.Errorf("errors %+v, %v", errs, err)
		}
		if n := c.console("later").Matched; n != 1 {
			c.Errorf("%d messages", n)
		}
		k.denyOrigin(c.otherOrigin())
		_, err = c.page().Console(c.ctx, nil)
		c.wantCode(err, executor.ErrPolicyDenied)
	})
	s.page(t, "not recorded", "second.html", func(c *testCase) {
		_, err := c.page().Console(c.ctx, nil)
		c.wantCode(err, executor.ErrBadArgs, "Record")
	})
	s.recorded(t, "popup window", "tabs.html", func(c *testCase, _ *keeper) {
		a := c.click(css("#window"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("new tabs: %+v", a.NewTabs)
		}
		c.tab = a.NewTabs[0].ID
		c.eval(`console.log("from the popup")`, nil)
		c.console("from the popup")
	})
}

func (s *suite) inspectRequests(t *testing.T) {
	s.recorded(t, "requests during load", "inspect.html", func(c *testCase, _ *keeper) {
		c.eval("fetched", nil)
		page := c.request("/inspect.html")
		if page.Method != "GET" || page.URL != c.url("inspect.html") || page.Type != "document" || page.Status != 200 || page.MIMEType != "text/html" || page.Bytes == 0 {
			c.Errorf("the page: %+v", page)
		}
		q := c.request("reading-data.json?v=1")
		if q.Type != "fetch" || q.Status != 200 || q.RequestHeaders != nil {
			c.Errorf("the fetch: %+v", q)
		}
		full := c.inFull(q.ID, false)
		if full.RequestHeaders["x-plain"] != "plain" || full.RequestHeaders["authorization"] != "(20 characters)" || full.Body != "" || full.ResponseHeaders["content-type"] == "" {
			c.Errorf("in full: %+v", full)
		}
		if frame := c.request("inspectframe.html"); frame.Type != "document" || frame.Status != 200 {
			c.Errorf("the frame: %+v", frame)
		}
		c.frameLoads()
	})
	s.recorded(t, "bodies", "inspect.html", func(c *testCase, _ *keeper) {
		c.eval("fetched", nil)
		q := c.inFull(c.request("reading-data.json?v=1").ID, true)
		if q.Body == "" || q.BodyBytes != len(q.Body) || q.Binary {
			c.Errorf("the text: %+v", q)
		}
		if q = c.inFull(c.request("/inspect.html").ID, true); !strings.Contains(q.Body, "<title>Inspect</title>") {
			c.Errorf("the page: %+v", q)
		}
		if q = c.inFull(c.request("reading-picture.gif").ID, true); q.Body != "" || !q.Binary || q.BodyBytes == 0 {
			c.Errorf("image: %+v", q)
		}
		c.eval("fetch('typing-vue.js').then((r) => r.text()).then(() => 0)", nil)
		id := c.request("/typing-vue.js").ID
		for _, size := range []int{0, 1000, 64 << 20} { // 0 means MaxBody
			r := c.requests(&executor.RequestsOptions{ID: id, Body: true, BodyChars: size})
			q := r.Requests[0]
			if n, want := utf8.RuneCountInString(q.Body), min(cmp.Or(size, executor.MaxBody), q.BodyBytes); n < want || n > want+1 || q.BodyBytes <= executor.MaxBody {
				c.Errorf("body of %d characters: %d of %d bytes", size, n, q.BodyBytes)
			}
		}
		c.tab = c.open("inspectsecrets.html")
		body := c.inFull(c.request("/inspectsecrets.html").ID, true).Body
		c.wantIn(body, "<title>Secrets</title>", `<input type="password"`, "In plain sight")
		c.wantNotIn(body, "SECRET-", "4111111111111111")
	})
	s.recorded(t, "without secrets", "inspectsecrets.html", func(c *testCase, _ *keeper) {
		c.eval("fetched", nil)
		all := asJSON(c, func() *executor.Requests {
			r := c.requests(nil)
			return r
		}())
		c.wantIn(all, "access_token=(hidden)")
		c.wantNotIn(all, "SECRET-")
		for _, filter := range []string{"/inspectsecrets.html", "reading-data.json"} {
			c.wantNotIn(asJSON(c, c.inFull(c.request(filter).ID, false)), "SECRET")
		}
		console, err := c.page().Console(c.ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.wantIn(asJSON(c, console), "Bearer (hidden)")
		c.wantNotIn(asJSON(c, console), "SECRET-")
	})
	s.recorded(t, "denied sites by origin", "inspect.html", func(c *testCase, k *keeper) {
		c.frameLoads()
		c.eval("fetched", nil)
		k.denyOrigin(c.otherOrigin())
		all := c.requests(nil)
		c.wantNotIn(asJSON(c, all), "SECRET", "inspectframe")
		id := ""
		for _, q := range all.Requests {
			if q.URL == c.otherOrigin() && q.Type == "fetch" {
				id = q.ID
			}
		}
		if id == "" {
			c.Fatalf("the request to the other site is not reported: %s", asJSON(c, all))
		}
		_, err := c.page().Requests(c.ctx, &executor.RequestsOptions{ID: id, Body: true})
		c.wantCode(err, executor.ErrPolicyDenied)
		c.wantNotIn(asJSON(c, c.inFull(id, false)), "SECRET")
	})
	s.recorded(t, "bad arguments", "second.html", func(c *testCase, _ *keeper) {
		for _, o := range []executor.RequestsOptions{{ID: "r99999"}, {Body: true}, {ID: "r1", Filter: "a"}} {
			_, err := c.page().Requests(c.ctx, &o)
			c.wantCode(err, executor.ErrBadArgs)
		}
		_, err := c.page().Console(c.ctx, &executor.ConsoleOptions{Level: "loud"})
		c.wantCode(err, executor.ErrBadArgs)
	})
	s.recorded(t, "bounded", "second.html", func(c *testCase, _ *keeper) {
		c.eval(`(async () => { for (let i = 0; i < 60; i++) await Promise.all(Array.from({length: 10}, (_, j) => fetch("/nothing?" + i + "-" + j))) })()`, nil)
		c.request("/nothing?59-9")
		res, err := c.page().Requests(c.ctx, &executor.RequestsOptions{Limit: executor.MaxRecords})
		if err != nil || res.Matched > executor.MaxRecords || res.Dropped == 0 || res.Matched+res.Dropped < 600 {
			c.Errorf("%d kept, %d dropped, %v", res.Matched, res.Dropped, err)
		}
	})
}

// requests returns the requests of pages.
func (c *testCase) requests(opts *executor.RequestsOptions) *executor.Requests {
	c.Helper()
	r, err := c.page().Requests(c.ctx, opts)
	if err != nil {
		c.Fatalf("requests: %v", err)
	}
	return r
}

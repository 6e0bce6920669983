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
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// recorded runs a case in a session that records activity.
func recorded(s *suite.Runner, t *testing.T, name, file string, f func(c *suite.Case, k *suite.Keeper)) {
	k := &suite.Keeper{}
	s.PageWith(t, name, file, executor.SessionOptions{Gate: k, Record: true}, func(c *suite.Case) { f(c, k) })
}

// console reads the console until it contains a message with each of texts.
func console(c *suite.Case, texts ...string) *executor.Console {
	c.Helper()
	return until(c, func() (*executor.Console, error) { return c.Page().Console(c.Ctx, nil) }, texts...)
}

// pageErrors is console for uncaught errors.
func pageErrors(c *suite.Case, texts ...string) *executor.PageErrors {
	c.Helper()
	return until(c, func() (*executor.PageErrors, error) { return c.Page().PageErrors(c.Ctx, nil) }, texts...)
}

// until calls read until its result contains each of texts.
func until[R any](c *suite.Case, read func() (*R, error), texts ...string) *R {
	c.Helper()
	var r *R
	poll(c, fmt.Sprintf("a result with each of %q", texts), func() (ok bool, _ any, err error) {
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
func poll(c *suite.Case, what string, look func() (ok bool, seen any, err error)) {
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
		c.Eval("new Promise((done) => requestAnimationFrame(() => done(1)))", nil)
	}
}

// asJSON returns a result as JSON.
func asJSON(c *suite.Case, result any) string {
	raw, err := json.Marshal(result)
	if err != nil {
		c.Fatal(err)
	}
	return string(raw)
}

// request returns the newest request whose URL contains part, when it has completed.
func request(c *suite.Case, part string) executor.Request {
	c.Helper()
	var q executor.Request
	poll(c, "a request for "+part+" that has completed", func() (bool, any, error) {
		r, err := c.Page().Requests(c.Ctx, nil)
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
func frameLoads(c *suite.Case) {
	c.Helper()
	poll(c, "a request of the frame", func() (bool, any, error) {
		c.Eval(`frames[0].postMessage("load", "*")`, nil)
		r, err := c.Page().Requests(c.Ctx, nil)
		return err == nil && strings.Contains(asJSON(c, r), "SECRET-of-the-frame"), r, err
	})
}

// inFull returns all details of a request.
func inFull(c *suite.Case, id string, body bool) executor.Request {
	c.Helper()
	return requests(c, &executor.RequestsOptions{ID: id, Body: body}).Requests[0]
}

func inspectConsole(s *suite.Runner, t *testing.T) {
	recorded(s, t, "from the first document", "inspect.html", func(c *suite.Case, _ *suite.Keeper) {
		res := console(c, "an error", "SECRET of the frame")
		// Messages of documents in different processes arrive in any order.
		own := slices.DeleteFunc(res.Messages, func(m executor.ConsoleMessage) bool { return !strings.HasPrefix(m.At, c.URL("inspect.html")) })
		if len(own) == 0 || own[0].Level != executor.ConsoleInfo || own[0].Text != `loading now {items: 3, name: "cart"} [1, "two"]` || own[0].At != c.URL("inspect.html")+":10" || own[0].Time.IsZero() {
			c.Errorf("the messages of the page are %+v", own)
		}
		worse, err := c.Page().Console(c.Ctx, &executor.ConsoleOptions{Level: executor.ConsoleWarning, Limit: 1})
		if err != nil || worse.Matched != 2 || len(worse.Messages) != 1 || worse.Messages[0].Text != "an error\nof two lines" {
			c.Errorf("warnings and worse: %+v, %v", worse, err)
		}
	})
	recorded(s.Shared(), t, "objects in messages", "second.html", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval(`window.got = 0;
			console.log("config %o of", { api: { retries: [1, 2, { mode: { deep: 1 } }] } }, "three");
			console.log(new Map([["region", { a: "map-value" }]]), new Set(["set-value"]));
			console.table([{ col: "cell-value" }]);
			console.log({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, get boom() { got++; throw 2 } });
			console.log({ p: new Proxy({}, { ownKeys() { got++; return [] }, get() { got++ }, getOwnPropertyDescriptor() { got++ } }), o: {} });
			console.log({ big: Object.fromEntries(Array.from({ length: 2000 }, (_, i) => ["key" + i, i])) }); 0`, nil)
		res := console(c, "key1", "mode")
		var all strings.Builder
		for _, m := range res.Messages {
			all.WriteString(m.Text + "\n")
		}
		c.WantIn(all.String(), `config {api: {retries: [1, 2, {mode: Object}]}} of three`, `Map(1) {"region" => {a: "map-value"}} Set(1) {"set-value"}`,
			`[{col: "cell-value"}]`, `{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, boom: (...)}`, "key49: 49, …")
		c.WantNotIn(all.String(), "key50")
		c.WantValue("got", "0")
	})
	recorded(s.Shared(), t, "uncaught errors", "inspect.html", func(c *suite.Case, _ *suite.Keeper) {
		res := pageErrors(c, "nobody caught this", "nobody handled this", "SECRET error of the frame")
		for _, e := range res.Errors {
			if e.Rejection != strings.Contains(e.Text, "nobody handled") || !strings.Contains(e.At, "/inspect") {
				c.Errorf("error %+v", e)
			}
		}
	})
	recorded(s.Shared(), t, "console messages cleared", "second.html", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval(`console.log("one")`, nil)
		c.Must(c.Page().Console(c.Ctx, &executor.ConsoleOptions{Clear: true}))
		c.Eval(`console.log("two")`, nil)
		if res := console(c, "two"); res.Matched != 1 {
			c.Errorf("after clear: %+v", res)
		}
	})
	recorded(s.Shared(), t, "bounded", "second.html", func(c *suite.Case, _ *suite.Keeper) {
		lines := 2 * executor.MaxRecords
		if tier.DeepEnabled() {
			lines = 10 * executor.MaxRecords
		}
		c.Eval(fmt.Sprintf(`for (let i = 0; i < %d; i++) console.log("line " + i); console.log("x".repeat(1e6)); console.log("last")`, lines), nil)
		res := console(c, "last")
		if res.Dropped == 0 || res.Dropped+res.Matched < lines+2 || res.Matched > executor.MaxRecords {
			c.Errorf("%d kept, %d dropped of %d", res.Matched, res.Dropped, lines+2)
		}
		if long := res.Messages[len(res.Messages)-2]; len(long.Text) > 2010 {
			c.Errorf("a message has %d bytes", len(long.Text))
		}
	})
	// It takes the browser most of a minute on a busy machine.
	recorded(s.Deep(), t, "flood", "second.html", func(c *suite.Case, _ *suite.Keeper) {
		lines := 50
		if testlog.RaceEnabled { // which makes reading slow
			lines = 5
		}
		const limit = 5 * time.Second // the tests of another package may run at the same time
		c.Eval(fmt.Sprintf(`
			const line = "x".repeat(1e5), atOnce = %d;
			let lines = 0;
			window.flooded = new Promise((done) => setInterval(() => {
				for (let i = 0; i < atOnce; i++) console.log(line);
				if ((lines += atOnce) === 2000) done(1);
			}, 10));
			0`, lines), nil)
		c.Eval("flooded", nil)
		var took []time.Duration
		for range 7 {
			start := time.Now()
			c.Snap(nil)
			c.Eval("1", nil)
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		// The median, because a small machine is sometimes busy.
		if took[len(took)/2] > limit {
			c.Errorf("two calls take %v", took)
		}
		if res := console(c, "xxx"); res.Dropped < 1000 {
			c.Errorf("%d messages kept, %d dropped", res.Matched, res.Dropped)
		}
		c.WantAt(c.GoTo(c.URL("popup.html"), nil), c.URL("popup.html"), "Popup", 200)
		c.Eval(`setTimeout(() => console.log("after the flood"), 1000)`, nil)
		console(c, "after the flood")
	})
	recorded(s.Shared(), t, "denied frame", "inspect.html", func(c *suite.Case, k *suite.Keeper) {
		console(c, "SECRET of the frame")
		pageErrors(c, "SECRET error of the frame")
		k.DenyOrigin(c.OtherOrigin())
		c.WantNotIn(asJSON(c, console(c, "an error")), "SECRET")
		errs, err := c.Page().PageErrors(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.WantNotIn(asJSON(c, errs), "SECRET")
	})
	recorded(s.Shared(), t, "scripts of a denied site by origin", "second.html", func(c *suite.Case, k *suite.Keeper) {
		at := c.OtherURL("inspectscript.js?SECRET")
		c.Eval(`document.head.append(Object.assign(document.createElement("script"), {src: `+strconv.Quote(at)+`}))`, nil)
		if m := console(c, "from elsewhere").Messages[0]; m.At != at+":2" {
			c.Errorf("the message is at %q", m.At)
		}
		if e := pageErrors(c, "broken elsewhere").Errors[0]; e.At != at+":4" {
			c.Errorf("the error is %+v", e)
		}
		k.DenyOrigin(c.OtherOrigin())
		if m := console(c, "from elsewhere").Messages[0]; m.At != c.OtherOrigin() {
			c.Errorf("the message is at %q, want only the denied origin", m.At)
		}
		if e := pageErrors(c, "broken elsewhere").Errors[0]; e.At != c.OtherOrigin() || strings.Contains(e.Text, "SECRET") {
			c.Errorf("the error is %+v, want only the origin of the denied site", e)
		}
	})
	recorded(s.Shared(), t, "recorded, then denied", "second.html", func(c *suite.Case, k *suite.Keeper) {
		c.Eval(`console.log("SECRET words"); setTimeout(() => { throw new Error("SECRET words") })`, nil)
		console(c, "SECRET words")
		pageErrors(c, "SECRET words")
		c.GoTo(c.OtherURL("second.html?SECRET"), nil)
		c.Eval(`console.log("later")`, nil)
		k.DenyOrigin(c.Origin())
		c.WantNotIn(asJSON(c, console(c, "later")), "SECRET words")
		errs, err := c.Page().PageErrors(c.Ctx, nil)
		if err != nil || errs.Matched != 0 {
			c.Errorf("errors %+v, %v", errs, err)
		}
		if n := console(c, "later").Matched; n != 1 {
			c.Errorf("%d messages", n)
		}
		k.DenyOrigin(c.OtherOrigin())
		_, err = c.Page().Console(c.Ctx, nil)
		c.WantCode(err, executor.ErrPolicyDenied)
	})
	s.Shared().Page(t, "not recorded", "second.html", func(c *suite.Case) {
		_, err := c.Page().Console(c.Ctx, nil)
		c.WantCode(err, executor.ErrBadArgs, "Record")
	})
	recorded(s.Shared(), t, "popup window", "tabs.html", func(c *suite.Case, _ *suite.Keeper) {
		a := c.Click(suite.Selector("#window"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("new tabs: %+v", a.NewTabs)
		}
		c.Tab = a.NewTabs[0].ID
		c.Eval(`console.log("from the popup")`, nil)
		console(c, "from the popup")
	})
}

func inspectRequests(s *suite.Runner, t *testing.T) {
	recorded(s, t, "requests during load", "inspect.html", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval("fetched", nil)
		page := request(c, "/inspect.html")
		if page.Method != "GET" || page.URL != c.URL("inspect.html") || page.Type != "document" || page.Status != 200 || page.MIMEType != "text/html" || page.Bytes == 0 {
			c.Errorf("the page: %+v", page)
		}
		q := request(c, "reading-data.json?v=1")
		if q.Type != "fetch" || q.Status != 200 || q.RequestHeaders != nil {
			c.Errorf("the fetch: %+v", q)
		}
		full := inFull(c, q.ID, false)
		if full.RequestHeaders["x-plain"] != "plain" || full.RequestHeaders["authorization"] != "(20 characters)" || full.Body != "" || full.ResponseHeaders["content-type"] == "" {
			c.Errorf("in full: %+v", full)
		}
		if frame := request(c, "inspectframe.html"); frame.Type != "document" || frame.Status != 200 {
			c.Errorf("the frame: %+v", frame)
		}
		frameLoads(c)
	})
	recorded(s, t, "bodies", "inspect.html", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval("fetched", nil)
		q := inFull(c, request(c, "reading-data.json?v=1").ID, true)
		if q.Body == "" || q.BodyBytes != len(q.Body) || q.Binary {
			c.Errorf("the text: %+v", q)
		}
		if q = inFull(c, request(c, "/inspect.html").ID, true); !strings.Contains(q.Body, "<title>Inspect</title>") {
			c.Errorf("the page: %+v", q)
		}
		if q = inFull(c, request(c, "reading-picture.gif").ID, true); q.Body != "" || !q.Binary || q.BodyBytes == 0 {
			c.Errorf("image: %+v", q)
		}
		c.Eval("fetch('typing-vue.js').then((r) => r.text()).then(() => 0)", nil)
		id := request(c, "/typing-vue.js").ID
		for _, size := range []int{0, 1000, 64 << 20} { // 0 means MaxBody
			r := requests(c, &executor.RequestsOptions{ID: id, Body: true, BodyChars: size})
			q := r.Requests[0]
			if n, want := utf8.RuneCountInString(q.Body), min(cmp.Or(size, executor.MaxBody), q.BodyBytes); n < want || n > want+1 || q.BodyBytes <= executor.MaxBody || q.BodyTruncated != (n < q.BodyBytes) {
				c.Errorf("body of %d characters: %d of %d bytes", size, n, q.BodyBytes)
			}
		}
		c.Tab = c.Open("inspectsecrets.html")
		body := inFull(c, request(c, "/inspectsecrets.html").ID, true).Body
		c.WantIn(body, "<title>Secrets</title>", `<input type="password"`, "In plain sight")
		c.WantNotIn(body, "SECRET-", "4111111111111111")
	})
	recorded(s.Shared(), t, "without secrets", "inspectsecrets.html", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval("fetched", nil)
		all := asJSON(c, func() *executor.Requests {
			r := requests(c, nil)
			return r
		}())
		c.WantIn(all, "access_token=(hidden)")
		c.WantNotIn(all, "SECRET-")
		for _, filter := range []string{"/inspectsecrets.html", "reading-data.json"} {
			c.WantNotIn(asJSON(c, inFull(c, request(c, filter).ID, false)), "SECRET")
		}
		console, err := c.Page().Console(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.WantIn(asJSON(c, console), "Bearer (hidden)")
		c.WantNotIn(asJSON(c, console), "SECRET-")
	})
	recorded(s.Shared(), t, "denied sites by origin", "inspect.html", func(c *suite.Case, k *suite.Keeper) {
		frameLoads(c)
		c.Eval("fetched", nil)
		k.DenyOrigin(c.OtherOrigin())
		all := requests(c, nil)
		c.WantNotIn(asJSON(c, all), "SECRET", "inspectframe")
		id := ""
		for _, q := range all.Requests {
			if q.URL == c.OtherOrigin() && q.Type == "fetch" {
				id = q.ID
			}
		}
		if id == "" {
			c.Fatalf("the request to the other site is not reported: %s", asJSON(c, all))
		}
		_, err := c.Page().Requests(c.Ctx, &executor.RequestsOptions{ID: id, Body: true})
		c.WantCode(err, executor.ErrPolicyDenied)
		c.WantNotIn(asJSON(c, inFull(c, id, false)), "SECRET")
	})
	recorded(s.Shared(), t, "bad arguments", "second.html", func(c *suite.Case, _ *suite.Keeper) {
		for _, o := range []executor.RequestsOptions{{ID: "r99999"}, {Body: true}, {ID: "r1", Filter: "a"}} {
			_, err := c.Page().Requests(c.Ctx, &o)
			c.WantCode(err, executor.ErrBadArgs)
		}
		_, err := c.Page().Console(c.Ctx, &executor.ConsoleOptions{Level: "loud"})
		c.WantCode(err, executor.ErrBadArgs)
	})
	recorded(s.Shared(), t, "bounded", "second.html", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval(`(async () => { for (let i = 0; i < 60; i++) await Promise.all(Array.from({length: 10}, (_, j) => fetch("/nothing?" + i + "-" + j))) })()`, nil)
		request(c, "/nothing?59-9")
		res, err := c.Page().Requests(c.Ctx, &executor.RequestsOptions{Limit: executor.MaxRecords})
		if err != nil || res.Matched > executor.MaxRecords || res.Dropped == 0 || res.Matched+res.Dropped < 600 {
			c.Errorf("%d kept, %d dropped, %v", res.Matched, res.Dropped, err)
		}
	})
}

// requests returns the requests of pages.
func requests(c *suite.Case, opts *executor.RequestsOptions) *executor.Requests {
	c.Helper()
	r, err := c.Page().Requests(c.Ctx, opts)
	if err != nil {
		c.Fatalf("requests: %v", err)
	}
	return r
}

package readingsuite

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func eval(s *suite.Runner, t *testing.T) {
	s.Page(t, "values", "second.html", func(c *suite.Case) {
		for _, tc := range []struct{ expression, value, kind string }{
			{"1+1", "2", "number"},
			{"'a' + 'b'", `"ab"`, "string"},
			{"true", "true", "boolean"},
			{"null", "null", "null"},
			{"[1, 'x', null]", `[1,"x",null]`, "array"},
			{"({a: {b: [1]}})", `{"a":{"b":[1]}}`, "object"},
			{"{a: 1}", "", ""}, // a block or an object: both are acceptable, an error is not
			{"undefined", "", "undefined"},
			{"Promise.resolve(7)", "7", "number"},
			{"(async () => { await null; return [8] })()", "[8]", "array"},
			{"const x = 1; x + 1", "2", "number"},
			{"document.title", `"Second"`, "string"},
			{"'\\u{1F469} \\ud800'", "", "string"},
		} {
			res, err := c.Page().Eval(c.Ctx, tc.expression, nil)
			if err != nil {
				c.Errorf("%s: %v", tc.expression, err)
				continue
			}
			if !res.OK || res.Error != "" {
				c.Errorf("%s: OK = %v, Error = %q", tc.expression, res.OK, res.Error)
			}
			if len(res.Value) > 0 && !json.Valid(res.Value) {
				c.Errorf("%s: value %s is not JSON", tc.expression, res.Value)
			}
			if tc.value != "" && string(res.Value) != tc.value {
				c.Errorf("%s = %s, want %s", tc.expression, res.Value, tc.value)
			}
			if tc.kind != "" && res.Type != tc.kind {
				c.Errorf("typeof %s = %q, want %q", tc.expression, res.Type, tc.kind)
			}
		}
	})
	evalValues(s, t)
	s.Page(t, "script that did not finish may have had effects", "second.html", func(c *suite.Case) {
		run := func(ctx context.Context, end func()) {
			done := make(chan error, 1)
			go func() {
				done <- suite.ErrOf(c.Page().Eval(ctx, `report("running", "eval"), new Promise(() => {})`, nil))
			}()
			c.Await("running", "eval")
			end()
			c.WantUncertain(<-done, executor.ErrTimeout)
		}
		run(await.Deadline(c.Ctx))
		run(context.WithCancel(c.Ctx))
	})
	s.Page(t, "page overrides JSON and String methods", "second.html", func(c *suite.Case) {
		c.Eval("String.prototype.slice = () => 'lie'; JSON.stringify = () => '\"lie\"'; 0", nil)
		for _, tc := range [][2]string{
			{"({a: {b: [1, 'x']}})", `{"a":{"b":[1,"x"]}}`}, {"[1, 2]", "[1,2]"}, {"(() => { const a = {}; a.a = a; return a })()", ""},
			{"JSON.stringify = new Proxy(JSON.stringify, {}), [3]", "[3]"}, {"delete JSON.stringify, [4]", "[4]"},
		} {
			expression, want := tc[0], tc[1]
			res, err := c.Page().Eval(c.Ctx, expression, nil)
			if err != nil {
				c.Errorf("%s: %v", expression, err)
				continue
			}
			if !res.OK || want != "" && string(res.Value) != want || strings.Contains(string(res.Value), "lie") {
				c.Errorf("%s = %s, want %s", expression, res.Value, want)
			}
		}
	})
	s.Page(t, "throws", "second.html", func(c *suite.Case) {
		for expression, want := range map[string]string{
			"throw new Error('no lamps')": "no lamps", "nosuch.thing": "nosuch", "Promise.reject(new Error('later'))": "later", "throw 'a string'": "a string",
		} {
			res, err := c.Page().Eval(c.Ctx, expression, nil)
			if err != nil {
				c.Errorf("%s: %v", expression, err)
				continue
			}
			if res.OK || !strings.Contains(res.Error, want) {
				c.Errorf("%s: OK = %v, Error = %q", expression, res.OK, res.Error)
			}
		}
	})
	s.Page(t, "syntax error", "second.html", func(c *suite.Case) {
		for _, expression := range []string{"1 +", "let let = 1", "}"} {
			_, err := c.Page().Eval(c.Ctx, expression, nil)
			c.WantCode(err, executor.ErrEvalFailed, "SyntaxError")
		}
		_, err := c.Page().Eval(c.Ctx, "", nil)
		c.WantCode(err, executor.ErrBadArgs)
	})
	s.Page(t, "function of an element", "typing-focus.html", func(c *suite.Case) {
		c.Eval("window.world = 'main'; document.querySelector('#other').mark = 'seen'; 0", nil)
		other, across := c.Ref("textbox", "Other"), c.Ref("textbox", "Across")
		for _, tc := range []struct {
			target             executor.Target
			expression, result string
			origin             string
		}{
			{suite.Selector("#other"), "(element) => [element.id, element.mark, window.world]", `["other","seen","main"]`, c.Origin()},
			{suite.ByRef(other), "function (element) { return element.id }", `"other"`, c.Origin()},
			{suite.ByRef(other), "async (element) => { await null; return element.mark }", `"seen"`, c.Origin()},
			{suite.ByRef(across), "(element) => [element.id, location.origin, element.ownerDocument === document]", `["across",` + suite.Quote(c.OtherOrigin()) + `,true]`, c.OtherOrigin()},
		} {
			res, err := c.Page().Eval(c.Ctx, tc.expression, &executor.EvalOptions{Target: tc.target})
			if err != nil {
				c.Errorf("%s: %v", tc.expression, err)
				continue
			}
			if !res.OK || string(res.Value) != tc.result || res.Origin != tc.origin {
				c.Errorf("%s = %+v with value %s, want %s from %s", tc.expression, res, res.Value, tc.result, tc.origin)
			}
		}
		on := func(target executor.Target) *executor.EvalOptions { return &executor.EvalOptions{Target: target} }
		res, err := c.Page().Eval(c.Ctx, "(element) => { throw new Error('no lamps') }", on(suite.Selector("#other")))
		if err != nil || res.OK || !strings.Contains(res.Error, "no lamps") {
			c.Errorf("%+v, %v", res, err)
		}
		_, err = c.Page().Eval(c.Ctx, "(element) => {", on(suite.Selector("#other")))
		c.WantCode(err, executor.ErrEvalFailed, "SyntaxError")
		_, err = c.Page().Eval(c.Ctx, "1 + 1", on(suite.Selector("#other")))
		c.WantCode(err, executor.ErrBadArgs, "function")
		_, err = c.Page().Eval(c.Ctx, "() => 1", on(suite.Selector("#nothing")))
		c.WantCode(err, executor.ErrSelectorNotFound)
		_, err = c.Page().Eval(c.Ctx, "() => 1", on(executor.Target{Selector: "#other", Ref: other}))
		c.WantCode(err, executor.ErrBadArgs)
		c.Eval("document.querySelector('#other').remove(); 0", nil)
		_, err = c.Page().Eval(c.Ctx, "() => 1", on(suite.ByRef(other)))
		c.WantCode(err, executor.ErrRefExpired)
	})
	s.Page(t, "promise with await: false", "second.html", func(c *suite.Case) {
		res, err := c.Page().Eval(c.Ctx, "new Promise(() => {})", &executor.EvalOptions{NoAwait: true})
		if err != nil {
			c.Fatal(err)
		}
		if !res.OK || res.Type != "promise" {
			c.Errorf("result %+v", res)
		}
	})
	s.Page(t, "big value", "second.html", func(c *suite.Case) {
		res, err := c.Page().Eval(c.Ctx, "'x'.repeat(300 * 1024)", nil)
		if err != nil {
			c.Fatal(err)
		}
		var text string
		if err := json.Unmarshal(res.Value, &text); err != nil {
			c.Fatalf("the value is not a JSON string: %v", err)
		}
		if !res.OK || !res.Truncated || len(res.Value) > executor.MaxEvalBytes+2 || !strings.Contains(text[:min(len(text), 10)], "xxx") {
			c.Errorf("OK = %v, Truncated = %v, %d bytes", res.OK, res.Truncated, len(res.Value))
		}
	})
	s.Page(t, "huge values", "second.html", func(c *suite.Case) {
		expressions := map[string]bool{
			"'x'.repeat(1e8)": false, "Promise.resolve('x'.repeat(2e7))": false, "throw new Error('x'.repeat(2e7))": true,
		}
		if tier.DeepEnabled() {
			maps.Copy(expressions, map[string]bool{
				"Promise.resolve('x'.repeat(1e8))": false, "({a: 'x'.repeat(1e8)})": false, "throw 'x'.repeat(2e7)": true,
			})
		}
		for expression, throws := range expressions {
			res, err := c.Page().Eval(c.Ctx, expression, nil)
			if err != nil {
				c.Errorf("%s: %v", expression, err)
				continue
			}
			text := string(res.Value)
			if throws {
				text = res.Error
			}
			if res.OK == throws || !throws && !res.Truncated || len(text) > executor.MaxEvalBytes || !strings.Contains(text, "xxxxx") {
				c.Errorf("%s: OK = %v, Truncated = %v, %d bytes: %.80s", expression, res.OK, res.Truncated, len(text), text)
			}
		}
	})
	s.Page(t, "endless loop", "second.html", func(c *suite.Case) {
		suite.LoopsForever(c)
		if _, err := c.Page().Close(c.Ctx); err != nil {
			c.Errorf("closing the tab: %v", err)
		}
	})
	s.Page(t, "navigates", "nav.html", func(c *suite.Case) {
		// The result may be lost with the page, but the call must return.
		if _, err := c.Page().Eval(c.Ctx, "location.assign('second.html'); new Promise(() => {})", nil); err == nil {
			c.Error("a promise of an unloaded page was fulfilled")
		}
		c.Met(executor.WaitCondition{Text: "the second page"})
	})
}

func read(s *suite.Runner, t *testing.T) {
	s.Page(t, "text", "read.html", func(c *suite.Case) {
		text, err := c.Page().Text(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.WantIn(text.Content, "The lighthouse", "Navigation link", "Ships passed in the dark")
		c.WantNotIn(text.Content, "secret words", "report(", "<p>")
		if text.Truncated || text.Origin != c.Origin() || text.Chars != utf8.RuneCountInString(text.Content) {
			c.Errorf("Truncated = %v, Origin = %q, Chars = %d", text.Truncated, text.Origin, text.Chars)
		}
		if text, err = c.Page().Text(c.Ctx, &executor.TextOptions{Target: suite.Selector("h2")}); err != nil || text.Content != "By night" {
			c.Errorf("text of h2: %+v, %v", text, err)
		}
		if text, err = c.Page().Text(c.Ctx, &executor.TextOptions{MaxChars: 50}); err != nil {
			c.Error(err)
		} else if n := utf8.RuneCountInString(text.Content); !text.Truncated || n > 50 || text.Chars <= 50 {
			c.Errorf("%d characters of %d, Truncated = %v", n, text.Chars, text.Truncated)
		}
		_, err = c.Page().Text(c.Ctx, &executor.TextOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound, "#nosuch")
	})
	s.Page(t, "html", "read.html", func(c *suite.Case) {
		markup := readHTML(c, nil)
		c.WantIn(markup.Content, "<html", "<h2>By night</h2>")
		if markup.Origin != c.Origin() || markup.Chars != utf8.RuneCountInString(markup.Content) {
			c.Errorf("Origin = %q, Chars = %d", markup.Origin, markup.Chars)
		}
		if markup = readHTML(c, &executor.HTMLOptions{Target: suite.Selector("h2")}); markup.Content != "<h2>By night</h2>" {
			c.Errorf("outer: %+v", markup)
		}
		if markup = readHTML(c, &executor.HTMLOptions{Target: suite.Selector("h2"), Inner: true}); markup.Content != "By night" {
			c.Errorf("inner: %+v", markup)
		}
		if markup = readHTML(c, &executor.HTMLOptions{MaxChars: 50}); !markup.Truncated || utf8.RuneCountInString(markup.Content) > 50 {
			c.Errorf("cut: %+v", markup)
		}
		_, err := c.Page().HTML(c.Ctx, &executor.HTMLOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound)
	})
	s.Page(t, "html in parts", "read.html", func(c *suite.Case) {
		complete, parts := readHTML(c, &executor.HTMLOptions{MaxChars: 1 << 20}), ""
		if complete.Truncated || complete.Offset != 0 {
			c.Errorf("complete: Truncated = %v, Offset = %d", complete.Truncated, complete.Offset)
		}
		size := complete.Chars/3 + 1
		for offset, more := 0, true; more; {
			part := readHTML(c, &executor.HTMLOptions{MaxChars: size, Offset: offset})
			parts, offset, more = parts+part.Content, part.Offset, part.Truncated
			if part.Chars != complete.Chars || more != (offset > 0) {
				c.Fatalf("Chars = %d of %d, Truncated = %v, Offset = %d", part.Chars, complete.Chars, more, offset)
			}
		}
		if parts != complete.Content {
			c.Errorf("the parts are\n%s\nwant\n%s", parts, complete.Content)
		}
		if past := readHTML(c, &executor.HTMLOptions{Offset: complete.Chars}); past.Content != "" || past.Truncated {
			c.Errorf("past the end: %+v", past)
		}
	})
	s.Page(t, "html without data", "read.html", func(c *suite.Case) {
		c.Eval(`{
			const data = "QUJD".repeat(13000), text = encodeURIComponent("<svg>").repeat(20);
			document.body.innerHTML = "<img alt=Chart><a download=r.csv>Save</a><p>After</p><svg><path></path><polygon points='0,0 1,1'></polygon></svg><div></div><style></style>" +
				"<template><img></template><p title='data:text/plain,short'></p>";
			const [img] = document.images;
			img.src = "data:image/png;base64," + data;
			img.srcset = "data:image/png;base64," + data + " 1x, /second.png 2x";
			img.dataset.json = JSON.stringify({ a: "data:image/gif;base64," + data, b: 2 });
			document.querySelector("a").href = "data:text/csv;charset=utf-8," + "a,b c\n".repeat(100);
			document.querySelector("path").setAttribute("d", "M0 0" + " l1 1".repeat(40000));
			document.querySelector("div").style.background = "red url(\"data:image/png;base64," + data + "\") no-repeat";
			document.querySelector("style").textContent = "p { background: url(data:image/png;base64," + data + ") } a { background: url('data:image/svg+xml;utf8,<svg a=\"b c\">" + text + "') }";
			document.querySelector("template").content.firstChild.src = "data:;base64," + data;
		}; 0`, nil)
		whole := readHTML(c, &executor.HTMLOptions{MaxChars: 1 << 20})
		if whole.Chars < 500_000 || whole.Shortened != 0 {
			c.Errorf("complete: %d characters, Shortened = %d", whole.Chars, whole.Shortened)
		}
		got := readHTML(c, &executor.HTMLOptions{Target: suite.Selector("body"), ShortenData: true})
		c.WantIn(got.Content, `src="data:image/png… (52 kB)"`, `srcset="data:image/png… (52 kB) 1x, /second.png 2x"`,
			`{&quot;a&quot;:&quot;data:image/gif… (52 kB)&quot;,&quot;b&quot;:2}`, `href="data:text/csv… (`, `<p>After</p>`,
			`d="M0 0 l1 1 l1 1 l1 1 … (200 kB)"`, `points="0,0 1,1"`, `url(&quot;data:image/png… (52 kB)&quot;)`,
			`url(data:image/png… (52 kB))`, `url('data:image/svg+xml… (`, `<template><img src="data:… (52 kB)"></template>`, `title="data:text/plain,short"`)
		if got.Truncated || got.Chars > 2000 || got.Shortened != 9 {
			c.Errorf("%d characters, Truncated = %v, Shortened = %d, want 9", got.Chars, got.Truncated, got.Shortened)
		}
		c.WantValue("document.images[0].src.length", "52022")
	})
	s.Page(t, "markdown", "read.html", func(c *suite.Case) {
		md := markdown(c, nil)
		c.WantIn(md.Content, "## By night", "[map of the coast]("+c.URL("second.html")+")", "| Year | Ships |", "```go\nfunc main() {}\n```", "A link to code")
		c.WantNotIn(md.Content, "Navigation link", "Imprint", "secret words", "javascript:")
		if md.WholePage || md.Truncated || md.Title != "The lighthouse" || md.Origin != c.Origin() {
			c.Errorf("WholePage = %v, Truncated = %v, Title = %q, Origin = %q", md.WholePage, md.Truncated, md.Title, md.Origin)
		}
		md = markdown(c, &executor.MarkdownOptions{Target: suite.Selector("body")})
		c.WantIn(md.Content, "Navigation link", "Imprint")
		if !md.WholePage {
			c.Error("WholePage = false for the body")
		}
		md = markdown(c, &executor.MarkdownOptions{Target: suite.Selector("table")})
		c.WantIn(md.Content, "1900")
		c.WantNotIn(md.Content, "By night")
		_, err := c.Page().Markdown(c.Ctx, &executor.MarkdownOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound)
	})
	s.Page(t, "markdown with refs", "read-refs.html", func(c *suite.Case) {
		body := &executor.MarkdownOptions{Target: suite.Selector("body"), Refs: true}
		md, err := c.Page().Markdown(c.Ctx, body)
		if err != nil {
			c.Fatal(err)
		}
		snapshot := c.Snap(nil)
		ref := func(role, name string) string { return " [ref=" + string(c.RefIn(snapshot, role, name)) + "]" }
		control := func(role, name string) string { return role + ` "` + name + `"` + ref(role, name) }
		c.WantIn(md.Content,
			"# [Linked heading]("+c.URL("second.html")+")"+ref("link", "Linked heading")+"\n",
			"The [second page]("+c.URL("second.html")+")"+ref("link", "second page")+` and a text \[ref=e1] of the page.`, `code:\[ref=e2] of the page`,
			control("link", "A link to code"), "[Settings]("+c.URL("third.html")+")"+ref("link", "Settings"),
			`button "Buy \| lamp"`+ref("button", "Buy | lamp"), control("button", "A bold button"),
			control("textbox", "Email"), control("textbox", "Password"), control("combobox", "Country"), control("textbox", "Note"),
			control("checkbox", "Gift wrap"), control("textbox", "Editor"), "Edited [text]("+c.URL("fourth.html")+") [ref=e",
			control("button", "Framed button"))
		c.WantNotIn(md.Content, "Invisible", "Absent", "typed@example.com", "hunter2", "written note", "hidden value", "javascript:", "mark")
		c.Click(suite.ByRef(markdownRef(c, md.Content, `button "Buy \| lamp"`)), nil)
		c.Await("click", "buy")
		c.Click(suite.ByRef(markdownRef(c, md.Content, "[second page]("+c.URL("second.html")+")")), nil)
		c.Await("click", "second")
		if _, err := c.Page().Type(c.Ctx, suite.ByRef(markdownRef(c, md.Content, `textbox "Email"`)), "new", &executor.TypeOptions{Clear: true}); err != nil {
			c.Error(err)
		}
		c.WantValue("email.value", "new")

		// No part ends within a ref.
		for size := 60; size < 80; size++ {
			part, err := c.Page().Markdown(c.Ctx, &executor.MarkdownOptions{Target: suite.Selector("body"), Refs: true, MaxChars: size})
			if err != nil {
				c.Fatal(err)
			}
			if at := strings.LastIndex(part.Content, " [re"); at >= 0 && !strings.Contains(part.Content[at:], "]") {
				c.Errorf("%d characters end with %q", size, part.Content[at:])
			}
		}
		if md, err = c.Page().Markdown(c.Ctx, &executor.MarkdownOptions{Target: suite.Selector("body")}); err != nil {
			c.Fatal(err)
		}
		c.WantNotIn(md.Content, " [ref=", `button "`)
	})
	s.Page(t, "markdown pagination", "read.html", func(c *suite.Case) {
		whole := markdown(c, nil)
		var b strings.Builder
		for offset := 0; ; {
			part := markdown(c, &executor.MarkdownOptions{MaxChars: 200, Offset: offset})
			b.WriteString(part.Content)
			if part.Offset == 0 {
				break
			}
			if !part.Truncated || part.Offset <= offset {
				c.Fatalf("offset %d is followed by %d, Truncated = %v", offset, part.Offset, part.Truncated)
			}
			offset = part.Offset
		}
		if b.String() != whole.Content {
			c.Errorf("the parts are\n%s\nthe complete text is\n%s", b.String(), whole.Content)
		}
	})
	s.Page(t, "links", "read.html", func(c *suite.Case) {
		links := func(opts *executor.LinksOptions) []string {
			c.Helper()
			res, err := c.Page().Links(c.Ctx, opts)
			if err != nil {
				c.Fatalf("links %+v: %v", opts, err)
			}
			var hrefs []string
			for _, l := range res.Items {
				hrefs = append(hrefs, l.Href)
			}
			return hrefs
		}
		second, elsewhere, nav := c.URL("second.html"), "https://example.com/elsewhere", c.URL("nav.html")
		for name, tc := range map[string]struct {
			opts *executor.LinksOptions
			want []string
		}{
			"all":         {nil, []string{nav, second, elsewhere}},
			"duplicates":  {&executor.LinksOptions{KeepDuplicates: true}, []string{nav, second, elsewhere, second}},
			"inside":      {&executor.LinksOptions{Target: suite.Selector("nav")}, []string{nav}},
			"same origin": {&executor.LinksOptions{SameOriginOnly: true}, []string{nav, second}},
			"include":     {&executor.LinksOptions{Include: []string{"*second*"}}, []string{second}},
			"exclude":     {&executor.LinksOptions{Exclude: []string{"*/p/*"}}, []string{elsewhere}},
			"limit":       {&executor.LinksOptions{Limit: 1}, []string{nav}},
		} {
			var got []string
			for _, href := range links(tc.opts) {
				if !strings.HasPrefix(href, "javascript:") { // may be listed or omitted
					got = append(got, href)
				}
			}
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				c.Errorf("%s: %q, want %q", name, got, tc.want)
			}
		}
		res, err := c.Page().Links(c.Ctx, &executor.LinksOptions{Include: []string{"*second*"}})
		if err != nil || len(res.Items) != 1 {
			c.Fatalf("%+v, %v", res, err)
		}
		if res.Items[0].Text != "map of the coast" {
			c.Errorf("text = %q", res.Items[0].Text)
		}
		c.Click(suite.ByRef(res.Items[0].Ref), nil)
		c.WantValue("document.title", "Second")
		_, err = c.Page().Links(c.Ctx, &executor.LinksOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound)
	})
}

// markdownRef returns the ref after a text in markdown.
func markdownRef(c *suite.Case, markdown, text string) executor.Ref {
	c.Helper()
	_, after, found := strings.Cut(markdown, text+" [ref=")
	ref, _, ended := strings.Cut(after, "]")
	if !found || !ended {
		c.Fatalf("no ref after %q in\n%s", text, markdown)
	}
	return executor.Ref(ref)
}

package readable

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// sentence, repeated, is enough prose to be identified as main content.
const sentence = "The old lighthouse stood on the cliff, and every evening its keeper climbed the stairs to light the lamp. "

func article(inner string) string {
	return "<html><head><title>The lighthouse - Coast News</title></head><body>" +
		"<nav><a href='/'>Home</a> <a href='/news'>News</a></nav>" +
		"<div class='cookie-banner'><p>We use cookies, and so do our 812 partners. <button>Accept</button></p></div>" +
		"<main><article><h1>The lighthouse</h1><p>" + strings.Repeat(sentence, 4) + "</p>" + inner +
		"<p>" + strings.Repeat(sentence, 4) + "</p></article></main>" +
		"<div class='ad-slot'>Buy cheap lamps now</div>" +
		"<footer>Imprint and privacy</footer></body></html>"
}

func convert(t *testing.T, markup string, opts Options) Result {
	t.Helper()
	res, err := Convert(markup, "https://coast.example/news/1?x=1", opts)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestElements(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"heading", "<h2>By night</h2>", "\n## By night\n"},
		{"emphasis", "<p>a <b>bold</b> and <em>slanted</em> and <del>wrong</del> word</p>", "a **bold** and *slanted* and ~~wrong~~ word"},
		{"relative link", "<p>see <a href='../map?a=1&amp;b=2'>the map</a></p>", "[the map](https://coast.example/map?a=1&b=2)"},
		{"fragment link", "<p>see <a href='#top'>above</a></p>", "[above](https://coast.example/news/1?x=1#top)"},
		{"image", "<p><img src='/lamp.jpg' alt='The lamp' width=600 height=400></p>", "![The lamp](https://coast.example/lamp.jpg)"},
		{"lazy image", "<p><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' data-src='/lamp.jpg' alt='Lamp' width=600 height=400></p>", "![Lamp](https://coast.example/lamp.jpg)"},
		{"table", "<table><thead><tr><th>Year<th>Ships</tr></thead><tbody><tr><td>1900<td>12<tr><td>1910<td>7 | 8</tbody></table>",
			"| Year | Ships |\n|---|---|\n| 1900 | 12 |\n| 1910 | 7 \\| 8 |"},
		{"nested list", "<ol><li>first<ul><li>inner <b>one</b></li><li>inner two</li></ul></li><li>second</li></ol>",
			"1. first\n\n   - inner **one**\n   - inner two\n2. second"},
		{"code", "<pre><code class='hljs language-go'>func main() {\n\tgo f()\n\n\n}</code></pre>", "```go\nfunc main() {\n\tgo f()\n\n\n}\n```"},
		{"code of GitHub", "<div class='highlight highlight-source-js'><pre>let a = <span class=k>1</span></pre></div>", "```js\nlet a = 1\n```"},
		{"code of Sphinx", "<div class='highlight-python notranslate'><div class=highlight><pre>x = 1</pre></div></div>", "```python\nx = 1\n```"},
		{"inline code", "<p>call <code>a&lt;b</code> now</p>", "call `a<b` now"},
		{"quote", "<blockquote><p>Keep the light burning</p></blockquote>", "> Keep the light burning"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := convert(t, article(tc.in), Options{})
			if !strings.Contains(res.Markdown, tc.want) {
				t.Errorf("markdown lacks %q:\n%s", tc.want, res.Markdown)
			}
			if res.WholePage {
				t.Error("WholePage = true for an article")
			}
		})
	}
}

func TestMainContentOnly(t *testing.T) {
	res := convert(t, article(""), Options{})
	for _, clutter := range []string{"Home", "cookies", "Accept", "cheap lamps", "Imprint"} {
		if strings.Contains(res.Markdown, clutter) {
			t.Errorf("markdown contains %q:\n%s", clutter, res.Markdown)
		}
	}
	if !strings.HasPrefix(res.Markdown, "# The lighthouse\n\nThe old lighthouse stood") {
		t.Errorf("markdown begins %.60q", res.Markdown)
	}
	if strings.Count(res.Markdown, "# The lighthouse") != 1 {
		t.Error("the heading is there more than once")
	}
	if !strings.HasPrefix(res.Title, "The lighthouse") {
		t.Errorf("Title = %q", res.Title)
	}
}

// TestClutter checks banners and advertisements within the text, and on pages without an article,
// where Readability does not help.
func TestClutter(t *testing.T) {
	prose := strings.Repeat("We and our partners store cookies, and we do so to show you what you like. ", 2)
	for _, tag := range []string{
		`<div id="onetrust-banner-sdk">`, `<div class="CookieBar">`, `<section class="gdpr_notice">`, `<div role=dialog aria-label="Cookie settings">`,
		`<div class="ad-container">`, `<div class="banner-ad">`, `<aside aria-label="Advertisement">`, `<div id="div-gpt-ad-123">`,
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(tag, "<"), " ")
		clutter := tag + "<p>" + prose + "</p></" + name + ">"
		for page, in := range map[string]string{
			"article": article(clutter),
			"list":    clutter + strings.Repeat("<li><a href='/x'>A chair</a> of wood</li>", 40),
		} {
			if md := convert(t, in, Options{}).Markdown; strings.Contains(md, "partners") {
				t.Errorf("%s with %s: markdown contains it:\n%s", page, tag, md)
			}
		}
	}
	for _, tag := range []string{`<div class="cookie-recipes">`, `<div class="has-ads">`, `<div class="add-to-list">`, `<p class="message">`} {
		name, _, _ := strings.Cut(strings.TrimPrefix(tag, "<"), " ")
		if md := convert(t, article(tag+"Bake at two hundred degrees, for ten minutes.</"+name+">"), Options{}).Markdown; !strings.Contains(md, "Bake") {
			t.Errorf("%s was removed:\n%s", tag, md)
		}
	}
	// A page about cookies is not a banner.
	if md := convert(t, `<div class="cookie-notice"><h1>Cookies</h1><p>`+strings.Repeat(prose, 5)+"</p></div>", Options{}).Markdown; !strings.Contains(md, "partners") {
		t.Errorf("the page was removed: %q", md)
	}
}

func TestWholePageOption(t *testing.T) {
	res := convert(t, article(""), Options{WholePage: true})
	for _, part := range []string{"[Home](https://coast.example/)", "# The lighthouse", "Imprint", "We use cookies"} {
		if !strings.Contains(res.Markdown, part) {
			t.Errorf("markdown lacks %q:\n%s", part, res.Markdown)
		}
	}
	if !res.WholePage || res.Title != "The lighthouse - Coast News" {
		t.Errorf("WholePage = %v, Title = %q", res.WholePage, res.Title)
	}
}

func TestElementAsMarkup(t *testing.T) {
	res := convert(t, `<table id=t><tr><td>Anna</td><td><a href="/a">more</a></td></tr></table>`, Options{WholePage: true})
	if want := "[more](https://coast.example/a)"; !strings.Contains(res.Markdown, want) || !strings.Contains(res.Markdown, "| Anna |") {
		t.Errorf("markdown = %q", res.Markdown)
	}
}

// TestFallbackToCompletePage checks pages without identifiable main content.
func TestFallbackToCompletePage(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i+1)))
		}
		return b.String()
	}
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"shop", "<h1>Chairs</h1><ul class=products>" + repeat(24, `<li><a href="/p#"><img src="/p#.jpg" alt="Chair #"><h2>Chair number #</h2></a><span class=price>$#9.00</span></li>`) + "</ul>",
			[]string{"# Chairs", "Chair number 1", "Chair number 24", "$249.00"}},
		{"forum", repeat(20, `<div class="thread"><a href="/t#">Thread title number #</a> <span>by user#</span></div>`) +
			`<div class=announcement><p>` + strings.Repeat("Please read the rules, and be kind to one another. ", 11) + "</p></div>",
			[]string{"[Thread title number 1](https://coast.example/t1)", "Thread title number 20", "read the rules"}},
		{"dashboard", "<h1>Orders</h1><table><tr><th>Id<th>Customer</tr>" + repeat(60, "<tr><td>#<td>Customer number #</tr>") + "</table><p>Totals are calculated nightly.</p>",
			[]string{"| 60 | Customer number 60 |", "calculated nightly"}},
		{"sign in", `<h1>Sign in</h1><form><label>Email address <input></label><button>Go</button></form><p><a href="/forgot">Forgot your password?</a></p>`,
			[]string{"Sign in", "Email address", "Forgot your password?"}},
		{"a few words", "hello there", []string{"hello there"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := convert(t, "<title>t</title><nav><a href=/about>About us</a></nav>"+tc.in, Options{})
			for _, want := range tc.want {
				if !strings.Contains(res.Markdown, want) {
					t.Errorf("markdown lacks %q:\n%s", want, res.Markdown)
				}
			}
		})
	}
}

func TestNeverShown(t *testing.T) {
	hidden := `<script>secret1()</script><style>.secret2{}</style><template><p>secret3</p></template>
		<p hidden>secret4</p><p style="color:red; display : none !important">secret5</p><p style="visibility:hidden">secret6</p>
		<noscript>secret7</noscript><dialog><p>secret8</p></dialog><textarea>secret9</textarea><!-- secretA -->
		<svg><title>secretB</title></svg><select><option>secretC</select><script type="application/ld+json">{"a":"secretD"}</script>
		<span aria-hidden=true>secretE</span><iframe srcdoc="secretF">secretG</iframe>`
	for _, whole := range []bool{false, true} {
		res := convert(t, article(hidden), Options{WholePage: whole})
		if i := strings.Index(res.Markdown, "secret"); i >= 0 {
			t.Errorf("WholePage=%v: markdown contains %.7s", whole, res.Markdown[i:])
		}
		if !strings.Contains(res.Markdown, "The old lighthouse") {
			t.Errorf("WholePage=%v: visible text not found in the markdown", whole)
		}
	}
}

func TestPageBehindModal(t *testing.T) {
	res := convert(t, "<div aria-hidden=true>"+article("")+"</div><div role=dialog><p>Subscribe to our letter</p></div>", Options{})
	if !strings.Contains(res.Markdown, "The old lighthouse") {
		t.Errorf("the page behind a modal dialog is missing:\n%s", res.Markdown)
	}
}

func TestLinksToCodeBecomeText(t *testing.T) {
	in := `<p>press <a href="javascript:alert(1)">here</a>, <a href=" java
script:alert(2)">there</a>, <a href="JAVASCRIPT:alert(3)">yonder</a>, <a href="data:text/html,alert(4)">or this</a>,
		<a href="vbscript:alert(5)">old</a>, <a href="javascript:alert(%zz)">broken</a>, <img src="data:image/png;base64,alert6" alt="a lamp">,
		<a href="mailto:a@b.example">mail</a></p>`
	for _, whole := range []bool{false, true} {
		md := convert(t, article(in), Options{WholePage: whole}).Markdown
		for _, bad := range []string{"script:", "data:", "alert"} {
			if strings.Contains(strings.ToLower(md), bad) {
				t.Errorf("WholePage=%v: markdown holds %q:\n%s", whole, bad, md)
			}
		}
		for _, word := range []string{"here", "there", "yonder", "or this", "old", "broken", "a lamp", "[mail](mailto:a@b.example)"} {
			if !strings.Contains(md, word) {
				t.Errorf("WholePage=%v: markdown lacks %q:\n%s", whole, word, md)
			}
		}
	}
}

func TestBaseHref(t *testing.T) {
	for base, want := range map[string]string{
		"https://cdn.example/docs/": "https://cdn.example/docs/x",
		"/v2/":                      "https://coast.example/v2/x",
		"javascript:alert(1)/":      "https://coast.example/news/x",
	} {
		for _, whole := range []bool{false, true} {
			in := "<base href='" + base + "'><base href='https://late.example/'>" + article("<p><a href='x'>it</a></p>")
			if md := convert(t, in, Options{WholePage: whole}).Markdown; !strings.Contains(md, "[it]("+want+")") {
				t.Errorf("base %q, WholePage=%v: markdown lacks %q:\n%s", base, whole, want, md)
			}
		}
	}
}

func TestInvisibleCharacters(t *testing.T) {
	md := convert(t, "<p>a\u200bb\u202ec\x1b[31md\u00ade \U0001F469\u200d\U0001F4BB\U000E0041</p>", Options{}).Markdown
	if want := "abcde \U0001F469\u200d\U0001F4BB"; md != want {
		t.Errorf("markdown = %q, want %q", md, want)
	}
}

func TestTerminalSequences(t *testing.T) {
	md := convert(t, "<p>a \x1b[1;31mred\x1b[0m <b>b\x1b[K</b> \x1b]0;title\x07c \x1b]8;;http://x\x1b\\d \u009b32mgreen [31m] [x</p><pre>\x1b[32mok\x1b[0m</pre>", Options{}).Markdown
	want := "a red **b** c d green [31m] [x\n\n```\nok\n```"
	if got := strings.ReplaceAll(md, `\[`, "["); strings.ReplaceAll(got, `\]`, "]") != want {
		t.Errorf("markdown = %q, want %q", md, want)
	}
}

func TestImageWithoutSource(t *testing.T) {
	md := convert(t, `<p>a <img> <img src=""> <img src=" " alt="Chart"> <img src="x.png" alt="X"></p>`, Options{}).Markdown
	if strings.Contains(md, "![]") || strings.Count(md, "](") != 1 || !strings.Contains(md, "Chart") || !strings.Contains(md, "![X](") {
		t.Errorf("markdown = %q", md)
	}
}

func TestTidy(t *testing.T) {
	if got, want := tidy("\n\n a  \nb \t\n  \nc\n\n"), "a  \nb\n\nc"; got != want {
		t.Errorf("tidy = %q, want %q", got, want)
	}
}

func TestStable(t *testing.T) {
	in := article("<ul><li>a<li>b</ul><table><tr><td>1<td>2</table><pre class='lang-c'>x</pre>")
	first := convert(t, in, Options{}).Markdown
	for range 20 {
		if again := convert(t, in, Options{}).Markdown; again != first {
			t.Fatalf("converted to\n%s\nand then to\n%s", first, again)
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, in := range []string{"", "<", "<p", "<p>a<b>b<p>c</b></i></table>", "\x00\xff\xfe<p>\xf0\x28a", "<table><p>x<tr><a href=%zz>y", "<a href='http://[::1'>z</a>", "<!doctype", "<plaintext>x"} {
		for _, whole := range []bool{false, true} {
			if md := convert(t, in, Options{WholePage: whole}).Markdown; !utf8.ValidString(md) {
				t.Errorf("%q: markdown %q is not UTF-8", in, md)
			}
		}
	}
	if _, err := Convert("<p><a href='/x'>y</a></p>", "::not a url", Options{}); err != nil {
		t.Errorf("malformed page URL: %v", err)
	}
}

// TestTooDeep checks that trees that are too deep for the parser are returned as text.
func TestTooDeep(t *testing.T) {
	in := "<script>no()</script>" + strings.Repeat("<div>", 5000) + "deep &amp; <b>bold</b>" + strings.Repeat("</div>", 5000) + "<p>after</p>"
	res := convert(t, in, Options{})
	if want := "deep & bold\n\nafter"; res.Markdown != want || !res.WholePage {
		t.Errorf("markdown = %q, WholePage = %v, want %q, true", res.Markdown, res.WholePage, want)
	}
}

// TestHuge detects quadratic time: four times the input must not take sixteen times as long. Both
// sizes are measured one after another, so that a slow or busy machine affects both. A burst of
// other work can affect one pair of measurements, but not three.
func TestHuge(t *testing.T) {
	tier.Deep(t)
	for name, input := range map[string]func(n int) string{
		"rows": func(n int) string {
			return "<table>" + strings.Repeat("<tr><td><a href='/r'>row</a></td><td>some text, and more of it</td></tr>\n", n*2_500) + "</table>"
		},
		"prose":    func(n int) string { return article(strings.Repeat("<p>"+sentence+"</p>", n*2_500)) },
		"one text": func(n int) string { return "<p>" + strings.Repeat(sentence, n*MaxBytes/len(sentence)/16) },
	} {
		t.Run(name, func(t *testing.T) {
			timed := func(in string) time.Duration {
				start := time.Now()
				res := convert(t, in, Options{})
				took := time.Since(start)
				if res.Truncated || len(res.Markdown) < len(in)/3 {
					t.Fatalf("%d bytes of markdown from %d of markup, Cut = %v", len(res.Markdown), len(in), res.Truncated)
				}
				return took
			}
			ratio := math.Inf(1)
			for range 3 {
				one, four := timed(input(1)), timed(input(4))
				if ratio = min(ratio, float64(four)/float64(one)); ratio < 8 {
					return
				}
			}
			t.Errorf("four times the input took %.1f times as long", ratio)
		})
	}
}

func TestCut(t *testing.T) {
	tier.Slow(t)
	in := "<p>" + strings.Repeat(sentence, MaxBytes/len(sentence)+1)
	if res := convert(t, in, Options{}); !res.Truncated || len(res.Markdown) < MaxBytes/3 {
		t.Errorf("%d bytes of markdown from %d of markup, Cut = %v", len(res.Markdown), len(in), res.Truncated)
	}
}

func FuzzConvert(f *testing.F) {
	f.Add(article("<table><tr><td>x</table><pre class=language-go>y</pre>"), "https://a.example/b", false)
	f.Add("<a href=javascript:x>y</a><base href=//z><img src=data:,>", "", true)
	f.Add("<div aria-hidden=true><div hidden><template><p>a", "x:y", false)
	f.Fuzz(func(t *testing.T, markup, pageURL string, whole bool) {
		if len(markup) > 1<<16 {
			return
		}
		// A conversion that does not end would otherwise look like a slow fuzzer.
		watchdog := time.AfterFunc(await.HangLimit, func() { panic(fmt.Sprintf("still converting %q %q %v", markup, pageURL, whole)) })
		res, err := Convert(markup, pageURL, Options{WholePage: whole})
		watchdog.Stop()
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(res.Markdown) {
			t.Errorf("markdown %q is not UTF-8", res.Markdown)
		}
		if strings.TrimSpace(res.Markdown) != res.Markdown {
			t.Errorf("markdown %q has surrounding white space", res.Markdown)
		}
	})
}

func BenchmarkArticle(b *testing.B) {
	in := article(strings.Repeat("<p>"+sentence+"<a href='/x'>x</a></p>", 500))
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := Convert(in, "https://coast.example/", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestMarks(t *testing.T) {
	const markup = `<h2><a href="/a" data-element-mark="0">A *link*</a></h2>
<p>Text <a href="/b" data-element-mark="1"><b>bold</b></a>, and <span data-element-mark="2">button "Go | on"</span> <a href="javascript:x" data-element-mark="3">code</a>.</p>
<table><tr><th>Name<th>Action</tr><tr><td>Lamp<td><span data-element-mark="4">checkbox "Buy"</span></tr></table>`
	res, err := Convert(markup, "https://example.com/", Options{WholePage: true, Mark: "mark7n"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "## [A \\*link\\*](https://example.com/a) mark7n0;\n\n" +
		"Text [**bold**](https://example.com/b) mark7n1;, and button \"Go | on\" mark7n2; code.\n\n" +
		"| Name | Action |\n|---|---|\n| Lamp | checkbox \"Buy\" mark7n4; |"
	if res.Markdown != want {
		t.Errorf("got\n%s\nwant\n%s", res.Markdown, want)
	}
	if res, err := Convert(markup, "https://example.com/", Options{WholePage: true}); err != nil || strings.Contains(res.Markdown, "mark7n") {
		t.Errorf("without marks: %q %v", res.Markdown, err)
	}
}

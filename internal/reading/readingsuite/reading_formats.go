package readingsuite

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func readingText(s *suite.Runner, t *testing.T) {
	s.Page(t, "text contains only visible text", "reading-seen.html", func(c *suite.Case) {
		text := c.Text(nil)
		c.WantIn(text, "Seen first", "but this is", "with a size", "Seen but not told", "SHOUTED", "Closed", "Open", "In the open one", "Pear", "Far below", "Far right")
		c.WantNotIn(text, "Hidden", "Not visible", "Left of", "Above the", "screen readers", "Without a", "Replaced", "In the closed", "template", "Without scripts",
			"Apple", "typed in", "hunter2", "written in")
	})
	s.Page(t, "text retains lines, columns and preformatted text", "reading-lines.html", func(c *suite.Case) {
		const want = "Title\n\nOne two three\nfour\n\nfive six\na\n  b\tc\nYear\tShips\tNote\n\t12\t\n1901\t13\tfog\nred\ngreen apple\nleft\nright"
		if got := c.Text(nil); got != want {
			c.Errorf("got:\n%q\nwant:\n%q", got, want)
		}
		if got, want := c.Text(&executor.TextOptions{Target: suite.Selector("table")}), "Year\tShips\tNote\n\t12\t\n1901\t13\tfog"; got != want {
			c.Errorf("the table: %q, want %q", got, want)
		}
	})
	s.Page(t, "text of frames is at the position of the frames", "reading-frames.html", func(c *suite.Case) {
		text := c.TextWith("Frame cross")
		wantOrder(c, text, "Above the frames", "Frame same", "Link of same", "Between the frames", "Frame cross", "Below the frames")
		c.WantNotIn(text, "Frame hidden")
		c.WantIn(c.Text(&executor.TextOptions{Target: suite.Selector("#same")}), "Frame same")
	})
	s.Page(t, "text in open and closed shadow roots", "reading-shadow.html", func(c *suite.Case) {
		text := c.Text(nil)
		wantOrder(c, text, "Heading from outside", "Words of the open root", "climbed the stairs", "In the open root", "Words of the closed root", "In the closed root")
		c.WantNotIn(text, "Never shown", "No heading", "hunter2", "color: navy")
	})
	s.Page(t, "long text is truncated at 20,000 characters", "reading-seen.html", func(c *suite.Case) {
		c.Eval(`document.body.innerHTML = "<p>" + "\u{1F4A1} lamp ".repeat(5000)`, nil)
		text, err := c.Page().Text(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		if n := utf8.RuneCountInString(text.Content); !text.Truncated || n != executor.DefaultMaxChars || text.Chars != 5000*7-1 || !utf8.ValidString(text.Content) {
			c.Errorf("%d characters of %d, Truncated = %v", n, text.Chars, text.Truncated)
		}
	})
	s.Page(t, "text reports the frames that it omits for length", "reading-seen.html", func(c *suite.Case) {
		c.Eval(`document.body.innerHTML = "<p>Top</p>"; for (let i = 0; i < 3; i++) {
			const frame = document.body.appendChild(document.createElement("iframe"));
			frame.contentDocument.body.textContent = "\u2603".repeat(1500000); // of 3 bytes
		}`, nil)
		text, err := c.Page().Text(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		if text.MissingFrames != 1 || text.Chars < 3_000_000 || !strings.HasPrefix(text.Content, "Top") {
			c.Errorf("%d frames are missing in %d characters, want 1 in 3 million", text.MissingFrames, text.Chars)
		}
	})
	s.Page(t, "HTML contains shadow roots as templates", "reading-shadow.html", func(c *suite.Case) {
		for selector, parts := range map[string][]string{
			"x-open": {`<x-open><template shadowrootmode="open"><style>`, "Words of the open root", `<h2 slot="head">Heading from outside</h2>`},
			"#host":  {`<div id="host" style="min-height: 10px"><template shadowrootmode="closed"><p>Words of the closed root`, `id="closed"`},
			"body":   {"<body>", "Words of the open root", "Words of the closed root"},
		} {
			markup := readHTML(c, &executor.HTMLOptions{Target: suite.Selector(selector)})
			c.WantIn(markup.Content, parts...)
			c.WantNotIn(markup.Content, "hunter2")
		}
		inner, err := c.Page().HTML(c.Ctx, &executor.HTMLOptions{Target: suite.Selector("#host"), Inner: true})
		if err != nil || !strings.HasPrefix(inner.Content, `<template shadowrootmode="closed">`) {
			c.Errorf("inner: %+v, %v", inner, err)
		}
		c.WantValue(`document.querySelector("x-open").shadowRoot.querySelector("input").value`, "hunter2")
	})
}

func readingMarkdown(s *suite.Runner, t *testing.T) {
	s.Page(t, "markdown reports that the end of a long page is missing", "reading-seen.html", func(c *suite.Case) {
		for _, tt := range []struct {
			words      int
			incomplete bool
		}{{500, false}, {1_000_000, true}} {
			c.Eval(fmt.Sprintf(`document.body.innerHTML = "<p>" + "lamp ".repeat(%d); 1`, tt.words), nil)
			for _, maxChars := range []int{100, 10_000_000} {
				md := markdown(c, &executor.MarkdownOptions{MaxChars: maxChars})
				if md.Incomplete != tt.incomplete || md.Truncated != (tt.incomplete || maxChars == 100) || (md.Offset > 0) != (maxChars == 100) {
					c.Errorf("%d words, at most %d characters: Incomplete = %t, Truncated = %t, Offset = %d of %d", tt.words, maxChars, md.Incomplete, md.Truncated, md.Offset, md.Chars)
				}
			}
		}
	})
	s.Page(t, "markdown contains the main content", "reading-article.html", func(c *suite.Case) {
		c.Met(executor.WaitCondition{Text: "Rendered late"})
		md := markdown(c, nil)
		c.WantIn(md.Content, "# Lamps, and how to keep them", "## What it takes", "*keeper*", "**stairs**",
			"[the map]("+c.Path("/docs/map.html#coast")+")", "[elsewhere](http://example.com/x)", "the code",
			"- oil", "  - whale", "- wick", "3. light it\n4. trim it", "> A lamp is a promise.",
			"| Year | Lamps |", `| 1900 | 12 \| 13 |`, "```python\ndef light():\n    return \"on\" # ``` no fence\n", "`vinegar`",
			"![The lamp]("+c.Path("/docs/guide/lamp.png")+")", "The lamp by night", "## Rendered late", "The last ship passed")
		c.WantNotIn(md.Content, "Home page", "cookies", "Hidden by a style sheet", "Buy a lamp", "Related", "Imprint", "javascript:")
		if md.WholePage || md.Obstacle != nil || !strings.HasPrefix(md.Title, "Lamps, and how to keep them") {
			c.Errorf("WholePage = %v, Obstacle = %+v, Title = %q", md.WholePage, md.Obstacle, md.Title)
		}
	})
	s.Page(t, "markdown of the body contains all visible content", "reading-article.html", func(c *suite.Case) {
		md := markdown(c, &executor.MarkdownOptions{Target: suite.Selector("body")})
		c.WantIn(md.Content, "[Home page]("+c.Path("/docs/guide/home.html")+")", "We use cookies", "Buy a lamp", "Related", "Imprint", "A lamp is a promise")
		c.WantNotIn(md.Content, "Hidden by a style sheet", "setTimeout")
	})
	s.Page(t, "visually separate words are separate in markdown", "reading-lines.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", "<nav style='display: flex'><a href=one.html>One</a><a href=two.html>Two</a></nav><p>in<b>side</b> <span style='display: block'>first line</span><span style='display: block'>second line</span></p><pre><code><span>a</span><span style='display: block'>b</span></code></pre>")`, nil)
		md := markdown(c, &executor.MarkdownOptions{Target: suite.Selector("body")})
		c.WantIn(md.Content, "left right", "[One]("+c.URL("one.html")+") [Two]("+c.URL("two.html")+")", "in**side** first line second line", "| Year | Ships | Note |", "|  | 12 |  |", "| 1901 | 13 | fog |",
			"a\n  b\tc", "five six", "- green **apple**")
	})
	s.Page(t, "markdown is paginated by offset", "reading-article.html", func(c *suite.Case) {
		c.Met(executor.WaitCondition{Text: "Rendered late"})
		c.Eval(`document.querySelector("#later").insertAdjacentHTML("beforeend", "<p>" + "\u{1F4A1}\u{1F469}\u200d\u{1F680} lamps, and ships.  ".repeat(300))`, nil)
		whole := markdown(c, &executor.MarkdownOptions{MaxChars: 1 << 20})
		var b strings.Builder
		for offset, parts := 0, 0; ; parts++ {
			part, err := c.Page().Markdown(c.Ctx, &executor.MarkdownOptions{MaxChars: 1001, Offset: offset})
			if err != nil || parts > 50 {
				c.Fatalf("part %d at %d: %v", parts, offset, err)
			}
			if n := utf8.RuneCountInString(part.Content); n > 1001 || part.Chars != whole.Chars {
				c.Errorf("part at %d has %d characters; %d in all, want %d", offset, n, part.Chars, whole.Chars)
			}
			b.WriteString(part.Content)
			if offset = part.Offset; offset == 0 {
				break
			}
		}
		if b.String() != whole.Content {
			c.Error("the parts do not add up to the complete text")
		}
	})
	s.Page(t, "markdown of an article in shadow roots", "reading-shadow.html", func(c *suite.Case) {
		md := markdown(c, nil)
		wantOrder(c, md.Content, "Heading from outside", "Words of the open root", "climbed the stairs", "[In the open root]("+c.URL("second.html?open")+")", "Words of the closed root")
		c.WantNotIn(md.Content, "Never shown", "No heading", "navy", "hunter2")
	})
	s.Page(t, "markdown of articles in frames", "reading-frames.html", func(c *suite.Case) {
		c.TextWith("Frame cross")
		md := markdown(c, nil)
		wantOrder(c, md.Content, "## Frame same", "climbed the stairs", "## Frame cross", "climbed the stairs")
		md = markdown(c, &executor.MarkdownOptions{Target: suite.Selector("body")})
		wantOrder(c, md.Content, "Above the frames", "## Frame same", "climbed the stairs", "[Link of same]("+c.URL("deeper.html?same")+")",
			"Between the frames", "## Frame cross", "[Link of cross]("+c.OtherURL("deeper.html?cross")+")", "Below the frames")
		c.WantNotIn(md.Content, "Frame hidden")
	})
	s.Gated(t, "denied frames are omitted", "reading-frames.html", func(c *suite.Case, k *suite.Keeper) {
		c.TextWith("Frame cross")
		k.DenyOrigin(c.OtherOrigin())
		md := markdown(c, &executor.MarkdownOptions{Target: suite.Selector("body")})
		links, err := c.Page().Links(c.Ctx, nil)
		if err != nil || len(links.Items) != 1 {
			c.Errorf("links: %+v, %v", links, err)
		}
		for _, text := range []string{md.Content, c.Text(nil)} {
			c.WantIn(text, "Frame same", "Below the frames")
			c.WantNotIn(text, "Frame cross", "Link of cross")
		}
		c.Text(&executor.TextOptions{Target: suite.Selector("#cross")})
	})
	s.Page(t, "navigation to a PDF: reported", "second.html", func(c *suite.Case) {
		nav := c.GoTo(c.URL("reading-paper.pdf"), nil)
		if nav.HTTPStatus != 200 || nav.URL != c.URL("reading-paper.pdf") || !strings.Contains(nav.Note, "PDF") {
			c.Fatalf("%+v", nav)
		}
		c.Must(c.Page().Navigate(c.Ctx, c.URL("second.html"), nil))
		c.WantIn(c.Text(nil), "the second page")
	})
	for _, with := range []string{"iframe", "embed"} {
		s.Page(t, "page with an embedded PDF is readable: "+with, "second.html", func(c *suite.Case) {
			nav := c.GoTo(c.URL("reading-pdf.html?with="+with), nil)
			if nav.HTTPStatus != 200 || nav.Title != "Around a PDF" {
				c.Fatalf("%+v", nav)
			}
			c.WantIn(c.Text(nil), "Above the paper", "Below the paper")
			c.Click(suite.Selector("#count"), nil)
			c.Await("click", "count")
		})
	}
	s.Page(t, "page without main content is read completely", "snapshot.html", func(c *suite.Case) {
		md := markdown(c, nil)
		if !md.WholePage {
			c.Fatalf("%+v", md)
		}
		c.WantIn(md.Content, "# Checkout", "Please check your order.", "[One](")
		c.WantNotIn(md.Content, "Invisible")
	})
	for _, tc := range []struct{ name, file, markdown, text string }{
		{"plain text is not changed", "reading-plain.txt", "A lamp & a <lamp>.\n\n* one\n* two", "A lamp & a <lamp>."},
		{"JSON is read as a code block", "reading-data.json", "````json\n{\"lamps\": [1, 2], \"note\": \"a ``` fence\"}\n````", `"lamps": [1, 2]`},
		{"XML is read as a code block", "reading-data.xml", "<lamp year=\"1900\">Big &amp; bright</lamp>", "Big & bright"},
		{"image document is read as an image", "reading-picture.gif", "reading-picture.gif)", ""},
		{"PDF document is reported as a link", "reading-paper.pdf", "[PDF document](http://", ""},
	} {
		s.Page(t, tc.name, tc.file, func(c *suite.Case) {
			md := markdown(c, nil)
			if !md.WholePage {
				c.Fatalf("%+v", md)
			}
			c.WantIn(md.Content, tc.markdown)
			c.WantIn(c.Text(nil), tc.text)
		})
	}
}

func readingLinks(s *suite.Runner, t *testing.T) {
	s.Page(t, "links have the URLs that a click navigates to", "reading-links.html", func(c *suite.Case) {
		res, err := c.Page().Links(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		var got []string
		for _, l := range res.Items {
			got = append(got, l.Text+" "+strings.TrimPrefix(l.Href, c.Origin()))
		}
		want := []string{
			"Relative /docs/guide/a.html", "Fragment /docs/guide/#part", "Mail mailto:ann@example.com", "Bad https://[bad", "A picture /docs/guide/picture.html",
			"Drawn /docs/guide/drawn.html", "Old /docs/guide/old.html", "Area /docs/guide/area.html",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			c.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if res.Truncated || res.Total != len(want) {
			c.Errorf("Total = %d, Truncated = %v", res.Total, res.Truncated)
		}
		if res, err = c.Page().Links(c.Ctx, &executor.LinksOptions{Limit: 2, Exclude: []string{"mailto:*"}}); err != nil || len(res.Items) != 2 || res.Total != len(want)-1 || !res.Truncated {
			c.Errorf("with a limit: %+v, %v", res, err)
		}
		if res, err = c.Page().Links(c.Ctx, &executor.LinksOptions{Target: suite.Selector("svg a[href]")}); err != nil || len(res.Items) != 1 || res.Items[0].Text != "Drawn" {
			c.Errorf("a link itself: %+v, %v", res, err)
		}
	})
	s.Page(t, "links in frames, with refs to click", "reading-frames.html", func(c *suite.Case) {
		c.TextWith("Frame cross")
		for _, which := range []string{"same", "cross"} {
			res, err := c.Page().Links(c.Ctx, &executor.LinksOptions{Include: []string{"*deeper.html?" + which}})
			if err != nil || len(res.Items) != 1 {
				c.Fatalf("%s: %+v, %v", which, res, err)
			}
			c.Click(suite.ByRef(res.Items[0].Ref), nil)
			if r := c.Await("click", "deeper"); r.Value != which {
				c.Errorf("the click went to %q, want %q", r.Value, which)
			}
		}
		res, err := c.Page().Links(c.Ctx, &executor.LinksOptions{SameOriginOnly: true})
		if err != nil || len(res.Items) != 1 || !strings.HasSuffix(res.Items[0].Href, "?same") {
			c.Errorf("of the same origin: %+v, %v", res, err)
		}
	})
	s.Page(t, "links in shadow roots, with refs to click", "reading-shadow.html", func(c *suite.Case) {
		res, err := c.Page().Links(c.Ctx, nil)
		if err != nil || len(res.Items) != 2 {
			c.Fatalf("%+v, %v", res, err)
		}
		c.Click(suite.ByRef(res.Items[1].Ref), nil)
		c.Await("click", "closed")
		if res, err = c.Page().Links(c.Ctx, &executor.LinksOptions{Target: suite.Selector("x-open")}); err != nil || len(res.Items) != 1 || res.Items[0].Text != "In the open root" {
			c.Errorf("inside a host: %+v, %v", res, err)
		}
	})
}

// markdown and markup read the page as Markdown and as HTML.
func markdown(c *suite.Case, opts *executor.MarkdownOptions) *executor.Markdown {
	c.Helper()
	md, err := c.Page().Markdown(c.Ctx, opts)
	if err != nil {
		c.Fatalf("markdown: %v", err)
	}
	return md
}

func readHTML(c *suite.Case, opts *executor.HTMLOptions) *executor.HTML {
	c.Helper()
	markup, err := c.Page().HTML(c.Ctx, opts)
	if err != nil {
		c.Fatalf("html: %v", err)
	}
	return markup
}

// wantOrder checks that text contains the parts in this order.
func wantOrder(c *suite.Case, text string, parts ...string) {
	c.Helper()
	rest := text
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			c.Errorf("%q is missing or out of order in:\n%.3000s", part, text)
			return
		}
		rest = after
	}
}

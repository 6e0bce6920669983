package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestSnapshotReportsOmissions(t *testing.T) {
	const page = "- page \"Shop\"\n"
	const fenced = "<page k7f3q2 https://shop.example>\n- page \"Shop\"\n</page k7f3q2>"
	for _, c := range []struct {
		name, args string
		snap       executor.Snapshot
		want       string
	}{
		{"complete", `{}`, executor.Snapshot{Text: page, Elements: 1}, fenced},
		{"truncated", `{}`, executor.Snapshot{Text: page, Elements: 90, Omitted: 88, Offset: 2},
			fenced + "\ntruncated: 88 of 90 lines omitted; continue with offset 2, or narrow it with ref, selector or find"},
		{"continued", `{"offset":40}`, executor.Snapshot{Text: page, Elements: 90, Omitted: 70, Offset: 60},
			fenced + "\ntruncated: 30 of 90 lines omitted; continue with offset 60, or narrow it with ref, selector or find"},
		{"last part", `{"offset":60}`, executor.Snapshot{Text: page, Elements: 90, Omitted: 59}, fenced},
		{"past the end", `{"offset":90}`, executor.Snapshot{Text: page, Elements: 90, Omitted: 89}, "offset 90 is past the end (90 lines in total)"},
		{"maxChars too small", `{"maxChars":1}`, executor.Snapshot{Elements: 90, Omitted: 90, Truncated: true},
			"maxChars is too small for one line\ntruncated: 90 of 90 lines omitted; narrow it with ref, selector or find"},
		{"empty page", `{}`, executor.Snapshot{}, "nothing to show"},
		{"no match", `{"find":"x"}`, executor.Snapshot{Text: page}, "no line matches find"},
		{"diff", `{"diff":true}`, executor.Snapshot{Text: "[+] x", Elements: 1}, "<page k7f3q2 https://shop.example>\n[+] x\n</page k7f3q2>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{snapshot: func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error) {
				c.snap.Origin = "https://shop.example"
				return &c.snap, nil
			}}
			cs := connect(t, NewServer(f, &Options{Nonce: "k7f3q2"}), nil)
			if got := textOf(callTool(t, cs, "snapshot", c.args)); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestLinksTruncateDataURLs(t *testing.T) {
	data, long := "DATA:text/plain,"+strings.Repeat("x", 3000), "https://shop.example/"+strings.Repeat("p", 300)
	f := &fake{links: func(context.Context, executor.TabID, *executor.LinksOptions) (*executor.Links, error) {
		links := []executor.Link{{Href: data, Text: "Data", Ref: "e1"}, {Href: long, Text: "Long", Ref: "e2"}, {Href: "x:", Ref: "e3"}}
		return &executor.Links{Items: links, Origin: "https://shop.example", Total: 3}, nil
	}}
	cs := connect(t, NewServer(f, &Options{Nonce: "k7f3q2"}), nil)
	want := "<page k7f3q2 https://shop.example>\ne1 \"Data\" " + data[:100] + "…\ne2 \"Long\" " + long + "\ne3 \"\" x:\n</page k7f3q2>"
	if got := textOf(callTool(t, cs, "extract_links", `{}`)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestMarkdownNotes(t *testing.T) {
	const fenced = "<page k7f3q2 https://shop.example>\nHi\n</page k7f3q2>"
	for _, c := range []struct{ name, args, want string }{
		{"main content not found", `{}`, fenced + "\nno main content found: this is the whole page"},
		{"selector", `{"selector":"#a"}`, fenced},
		{"past the end", `{"offset":500}`, "offset 500 is past the end (90 characters in total)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{markdown: func(_ context.Context, _ executor.TabID, o *executor.MarkdownOptions) (*executor.Markdown, error) {
				m := &executor.Markdown{Content: "Hi", Origin: "https://shop.example", Chars: 90, WholePage: true}
				if o.Offset > 0 {
					m.Content = ""
				}
				return m, nil
			}}
			cs := connect(t, NewServer(f, &Options{Nonce: "k7f3q2"}), nil)
			if got := textOf(callTool(t, cs, "read_as_markdown", c.args)); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// evalText returns the text and the structured content of eval for an expression with the result
// res.
func evalText(t *testing.T, res executor.EvalResult) (text string, structured any) {
	t.Helper()
	f := &fake{eval: func(context.Context, executor.TabID, string, *executor.EvalOptions) (*executor.EvalResult, error) {
		res.OK, res.Origin = true, "https://shop.example"
		return &res, nil
	}}
	cs := connect(t, NewServer(f, &Options{Nonce: "k7f3q2", Structured: true}), nil)
	got := callTool(t, cs, "eval", `{"expression":"x"}`)
	return textOf(got), got.StructuredContent
}

func TestEvalShowsValuesAsTheyAre(t *testing.T) {
	fenced := func(typ, s string) string {
		return typ + "\n<page k7f3q2 https://shop.example>\n" + s + "\n</page k7f3q2>"
	}
	for _, c := range []struct{ name, typ, value, want string }{
		{"short", "string", `"Gr\u00fc\u00dfe, \u4e16"`, `"Grüße, 世"`},
		{"empty", "string", `""`, `""`},
		{"lines", "string", `"a \"b\"\n\u00fc <p>"`, fenced("string", "a \"b\"\nü <p>")},
		{"long", "string", `"` + strings.Repeat(`\u00fc`, 150) + `"`, fenced("string", strings.Repeat("ü", 150))},
		{"object", "object", `{"a":"\u00fc <p>"}`, fenced("object", `{"a":"ü <p>"}`)},
		{"number", "number", `2`, `2`},
		{"not a number", "number", `"NaN"`, `NaN`},
		{"bigint", "bigint", `"12n"`, `bigint "12n"`},
		{"date", "date", `"1970-01-01T00:00:00.000Z"`, `date "1970-01-01T00:00:00.000Z"`},
		{"map", "map", `"Map(1) {\"price\" =\u003e 12}"`, fenced("map", `Map(1) {"price" => 12}`)},
		{"object with a map", "object", `"{\"m\":Map(0) {}}"`, fenced("object", `{"m":Map(0) {}}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := evalText(t, executor.EvalResult{Type: c.typ, Value: executor.RawJSON(c.value)}); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestEvalTextIsBounded(t *testing.T) {
	raw, err := json.Marshal(strings.Repeat("ü", 50_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []string{"string", "object"} {
		value := executor.RawJSON(raw)
		want := "truncated: 50000 characters in total; return a part of it, such as a slice"
		if typ == "object" {
			value = executor.RawJSON(`{"a":` + string(raw) + `}`)
			want = "truncated: 50008 characters in total; return a part of it, such as a slice"
		}
		text, structured := evalText(t, executor.EvalResult{Type: typ, Value: value})
		if n := utf8.RuneCountInString(text); n < 20_000 || n > 20_200 {
			t.Errorf("%s: %d characters, want 20,000 to 20,200", typ, n)
		}
		if !strings.HasSuffix(text, "\n"+want) {
			t.Errorf("%s: ends with %q, want %q", typ, text[len(text)-120:], want)
		}
		if raw, _ := json.Marshal(structured); len(raw) < 100_000 {
			t.Errorf("%s: the structured value is truncated to %d bytes", typ, len(raw))
		}
	}
	// The executor returns a truncated value as a string with the start of its JSON.
	text, _ := evalText(t, executor.EvalResult{Type: "object", Value: executor.RawJSON(`"{\"a\":1"`), Truncated: true})
	if want := "object\n<page k7f3q2 https://shop.example>\n{\"a\":1\n</page k7f3q2>\ntruncated: the value exceeds 262144 bytes; return a part of it, such as a slice"; text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
}

// TestObstacleIsOneLine checks that an obstacle is reported in one line outside of the fence.
func TestObstacleIsOneLine(t *testing.T) {
	o := &executor.Obstacle{Kind: executor.ObstacleCaptcha, Confidence: executor.ConfidenceHigh, Advice: "Ask the user\nto solve it."}
	const line = "obstacle: captcha, high confidence. Ask the user to solve it."
	const fenced = "<page k7f3q2 https://shop.example>\nHi\n</page k7f3q2>"
	f := &fake{
		snapshot: func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error) {
			return &executor.Snapshot{Text: "Hi", Elements: 1, Origin: "https://shop.example", Obstacle: o}, nil
		},
		markdown: func(context.Context, executor.TabID, *executor.MarkdownOptions) (*executor.Markdown, error) {
			return &executor.Markdown{Content: "Hi", Title: "Shop", Chars: 2, Origin: "https://shop.example", Obstacle: o}, nil
		},
		navigate: func(context.Context, executor.TabID, string, *executor.NavigateOptions) (*executor.Navigation, error) {
			return &executor.Navigation{TabID: "cdp:b:1", URL: "https://shop.example/", HTTPStatus: 403, Obstacle: o}, nil
		},
		click: func(context.Context, executor.TabID, executor.Target, *executor.ClickOptions) (*executor.Action, error) {
			return &executor.Action{OK: true, Changes: executor.Changes{Diff: "Hi", Origin: "https://shop.example", Obstacle: o}}, nil
		},
	}
	cs := connect(t, NewServer(f, &Options{Nonce: "k7f3q2", Structured: true}), nil)
	for _, c := range []struct{ tool, args, want string }{
		{"snapshot", `{}`, line + "\n" + fenced},
		{"read_as_markdown", `{}`, line + "\ntitle \"Shop\"\n" + fenced},
		{"navigate", `{"url":"https://shop.example/","tabId":"cdp:b:1"}`, "\"https://shop.example/\"\nHTTP 403\n" + line},
		{"click", `{"ref":"e1"}`, line + "\n" + fenced},
	} {
		res := callTool(t, cs, c.tool, c.args)
		if got := textOf(res); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: got\n%s\nwant at the end\n%s", c.tool, got, c.want)
		}
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil || !strings.Contains(string(raw), `"obstacle":{"advice":`) {
			t.Errorf("%s: structured %s, %v", c.tool, raw, err)
		}
	}
}

// TestHTMLData checks that get_html shortens data, and that a file has it complete.
func TestHTMLData(t *testing.T) {
	var opts executor.HTMLOptions
	ex := &fake{html: func(_ context.Context, _ executor.TabID, o *executor.HTMLOptions) (*executor.HTML, error) {
		opts = *o
		h := &executor.HTML{Content: "<p>", Origin: "https://a.test", Chars: 90}
		if o.ShortenData {
			h.Shortened = 1
		}
		return h, nil
	}}
	cs, _ := connectWithOutput(t, ex, Options{})
	got := textOf(callTool(t, cs, "get_html", `{}`))
	if !opts.ShortenData || !strings.Contains(got, "shortened: 1 value (data: URLs, coordinates of drawings); file saves everything") {
		t.Errorf("%+v: %s", opts, got)
	}
	if got := textOf(callTool(t, cs, "get_html", `{"file":"a"}`)); opts.ShortenData || strings.Contains(got, "shortened") {
		t.Errorf("file: %+v: %s", opts, got)
	}
	if got, want := textOf(callTool(t, cs, "get_html", `{"offset":90}`)), "offset 90 is past the end (90 characters in total)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	cs = connect(t, NewServer(ex, &Options{}), nil)
	if got := textOf(callTool(t, cs, "get_html", `{}`)); !strings.HasSuffix(got, "shortened: 1 value (data: URLs, coordinates of drawings)") {
		t.Errorf("without a directory: %s", got)
	}
}

// TestTruncatedBody checks that a response body that is shorter because of its redaction is not reported
// as truncated.
func TestTruncatedBody(t *testing.T) {
	one := executor.Request{ID: "r1", Method: "GET", URL: shop, Body: `{"token":"(20 characters)"}`, BodyBytes: 500}
	cs := connect(t, NewServer(&fake{requests: func(context.Context, executor.TabID, *executor.RequestsOptions) (*executor.Requests, error) {
		return &executor.Requests{Origin: shopOrigin, Matched: 1, Requests: []executor.Request{one}}, nil
	}}, &Options{Tools: Toolsets()}), nil)
	for _, truncated := range []bool{false, true} {
		one.BodyTruncated = truncated
		text := textOf(callTool(t, cs, "network_requests", `{"id":"r1","body":true}`))
		if !strings.Contains(text, "body of 500 bytes") || strings.Contains(text, "truncated after 20000 characters") != truncated {
			t.Errorf("truncated = %t: %s", truncated, text)
		}
	}
}

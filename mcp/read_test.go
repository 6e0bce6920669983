package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestSnapshotTellsWhatIsLeftOut(t *testing.T) {
	const page = "- page \"Shop\"\n"
	const fenced = "<page k7f3q2 https://shop.example>\n- page \"Shop\"\n</page k7f3q2>"
	for _, c := range []struct {
		name, args string
		snap       executor.Snapshot
		want       string
	}{
		{"whole", `{}`, executor.Snapshot{Text: page, Elements: 1}, fenced},
		{"cut", `{}`, executor.Snapshot{Text: page, Elements: 90, Omitted: 88, Offset: 2},
			fenced + "\ncut: 88 of 90 lines left out; read on with offset 2, or narrow it with ref, selector or find"},
		{"read on", `{"offset":40}`, executor.Snapshot{Text: page, Elements: 90, Omitted: 70, Offset: 60},
			fenced + "\ncut: 30 of 90 lines left out; read on with offset 60, or narrow it with ref, selector or find"},
		{"read to the end", `{"offset":60}`, executor.Snapshot{Text: page, Elements: 90, Omitted: 59}, fenced},
		{"past the end", `{"offset":90}`, executor.Snapshot{Text: page, Elements: 90, Omitted: 89}, "offset 90 is past the end: 90 lines in all"},
		{"no room", `{"maxChars":1}`, executor.Snapshot{Elements: 90, Omitted: 90, Truncated: true},
			"no line fits into maxChars\ncut: 90 of 90 lines left out; narrow it with ref, selector or find"},
		{"nothing there", `{}`, executor.Snapshot{}, "nothing to show"},
		{"nothing found", `{"find":"x"}`, executor.Snapshot{Text: page}, "no line matches find"},
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

func TestLinksShowLittleOfDataURLs(t *testing.T) {
	data, place := "DATA:text/plain,"+strings.Repeat("x", 3000), "https://shop.example/"+strings.Repeat("p", 300)
	f := &fake{links: func(context.Context, executor.TabID, *executor.LinksOptions) (*executor.Links, error) {
		links := []executor.Link{{Href: data, Text: "Data", Ref: "e1"}, {Href: place, Text: "Place", Ref: "e2"}, {Href: "x:", Ref: "e3"}}
		return &executor.Links{Links: links, Origin: "https://shop.example", Total: 3}, nil
	}}
	cs := connect(t, NewServer(f, &Options{Nonce: "k7f3q2"}), nil)
	want := "<page k7f3q2 https://shop.example>\ne1 \"Data\" " + data[:100] + "…\ne2 \"Place\" " + place + "\ne3 \"\" x:\n</page k7f3q2>"
	if got := textOf(callTool(t, cs, "extract_links", `{}`)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestMarkdownTellsWhatItIs(t *testing.T) {
	const fenced = "<page k7f3q2 https://shop.example>\nHi\n</page k7f3q2>"
	for _, c := range []struct{ name, args, want string }{
		{"main content not found", `{}`, fenced + "\nno main content found: this is the whole page"},
		{"an element", `{"selector":"#a"}`, fenced},
		{"past the end", `{"offset":500}`, "offset 500 is past the end: 90 characters in all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{markdown: func(_ context.Context, _ executor.TabID, o *executor.MarkdownOptions) (*executor.Markdown, error) {
				m := &executor.Markdown{Markdown: "Hi", Origin: "https://shop.example", Chars: 90, WholePage: true}
				if o.Offset > 0 {
					m.Markdown = ""
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

// evaluating returns a client of a server whose expressions have the value res.
func evaluating(t *testing.T, res executor.EvalResult) (text string, structured any) {
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
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := evaluating(t, executor.EvalResult{Type: c.typ, Value: executor.RawJSON(c.value)}); got != c.want {
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
		want := "cut: 50000 characters in all; return less of it, such as a slice"
		if typ == "object" {
			value = executor.RawJSON(`{"a":` + string(raw) + `}`)
			want = "cut: 50008 characters in all; return less of it, such as a slice"
		}
		text, structured := evaluating(t, executor.EvalResult{Type: typ, Value: value})
		if n := utf8.RuneCountInString(text); n < 20_000 || n > 20_200 {
			t.Errorf("%s: %d characters, want little more than 20,000", typ, n)
		}
		if !strings.HasSuffix(text, "\n"+want) {
			t.Errorf("%s: ends in %q, want %q", typ, text[len(text)-120:], want)
		}
		if whole, _ := json.Marshal(structured); len(whole) < 100_000 {
			t.Errorf("%s: the structured value is cut too, to %d bytes", typ, len(whole))
		}
	}
	// What the executor cut is the start of the value's JSON, as a string.
	text, _ := evaluating(t, executor.EvalResult{Type: "object", Value: executor.RawJSON(`"{\"a\":1"`), Truncated: true})
	if want := "object\n<page k7f3q2 https://shop.example>\n{\"a\":1\n</page k7f3q2>\ncut: the value is over 262144 bytes; return less of it, such as a slice"; text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
}

// What stands in the way is said in one line of ours, outside of the fence.
func TestObstacleIsOneLineOfOurs(t *testing.T) {
	o := &executor.Obstacle{Kind: executor.ObstacleCaptcha, Confidence: executor.ConfidenceHigh, Advice: "Ask the user\nto solve it."}
	const line = "obstacle: captcha, high confidence. Ask the user to solve it."
	const fenced = "<page k7f3q2 https://shop.example>\nHi\n</page k7f3q2>"
	f := &fake{
		snapshot: func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error) {
			return &executor.Snapshot{Text: "Hi", Elements: 1, Origin: "https://shop.example", Obstacle: o}, nil
		},
		markdown: func(context.Context, executor.TabID, *executor.MarkdownOptions) (*executor.Markdown, error) {
			return &executor.Markdown{Markdown: "Hi", Title: "Shop", Chars: 2, Origin: "https://shop.example", Obstacle: o}, nil
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
			t.Errorf("%s says:\n%s\nwant at the end:\n%s", c.tool, got, c.want)
		}
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil || !strings.Contains(string(raw), `"obstacle":{"advice":`) {
			t.Errorf("%s: structured %s, %v", c.tool, raw, err)
		}
	}
}

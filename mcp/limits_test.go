package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestCallsPerMinute checks that the rate limit applies to each session separately, exempts
// chrome_status, and allows one call again after its share of the minute.
func TestCallsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did recorder
		server := NewServer(canned(&did), &Options{CallsPerMinute: 6})
		cs := connect(t, server, nil)
		for range 6 {
			if res := callTool(t, cs, "get_text", `{}`); res.IsError {
				t.Fatal(textOf(res))
			}
		}
		did.take()
		res := callTool(t, cs, "click", `{"ref":"e6"}`)
		if want := "BACKPRESSURE: Rate limit of 6 calls per minute reached. Try again in 10s, "; !res.IsError || !strings.HasPrefix(textOf(res), want) {
			t.Errorf("seventh call: %s", textOf(res))
		}
		if done := did.take(); done != "" {
			t.Errorf("called %s", done)
		}
		if res := callTool(t, cs, "chrome_status", `{}`); res.IsError {
			t.Error(textOf(res))
		}
		if res := callTool(t, connect(t, server, nil), "get_text", `{}`); res.IsError {
			t.Errorf("another session: %s", textOf(res))
		}
		time.Sleep(10 * time.Second)
		if res := callTool(t, cs, "get_text", `{}`); res.IsError {
			t.Errorf("after 10 s: %s", textOf(res))
		}
		if res := callTool(t, cs, "get_text", `{}`); !res.IsError {
			t.Error("two calls after 10 s succeeded")
		}
	})
}

// TestCallsPerMinuteBadArgs checks that calls with bad arguments count, and that the arguments of a call
// above the limit are not decoded.
func TestCallsPerMinuteBadArgs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cs := connect(t, NewServer(&fake{}, &Options{CallsPerMinute: 6}), nil)
		for i := range 8 {
			want := "BAD_ARGS: "
			if i >= 6 {
				want = "BACKPRESSURE: Rate limit of 6 calls per minute reached."
			}
			if got := textOf(callTool(t, cs, "get_text", `{"bogus":1}`)); !strings.HasPrefix(got, want) {
				t.Errorf("call %d: %s", i+1, got)
			}
		}
	})
}

func TestMaxResult(t *testing.T) {
	text, image := "", []byte(nil)
	ex := &fake{
		text: func(context.Context, executor.TabID, *executor.TextOptions) (*executor.Text, error) {
			return &executor.Text{Content: text, Origin: "https://a.test"}, nil
		},
		screenshot: func(context.Context, executor.TabID, *executor.ScreenshotOptions) (*executor.Screenshot, error) {
			return &executor.Screenshot{Data: image, MIMEType: "image/png"}, nil
		},
	}
	for _, structured := range []bool{false, true} {
		cs := connect(t, NewServer(ex, &Options{MaxResultBytes: 10_000, Structured: structured}), nil)
		for n, fails := range map[int]bool{3000: false, 7000: structured, 11_000: true} {
			text, image = strings.Repeat("x", n), make([]byte, n*3/4)
			res := callTool(t, cs, "get_text", `{"maxChars":1000000}`)
			if res.IsError != fails || fails && !strings.Contains(textOf(res), "BAD_ARGS: Result of ") {
				t.Errorf("%d characters, structured %t: %.200s", n, structured, textOf(res))
			}
			if res := callTool(t, cs, "screenshot", `{}`); res.IsError != (n > 10_000) {
				t.Errorf("image of %d bytes: %.200s", n, textOf(res))
			}
		}
	}
}

// TestOversizedActionResult checks that a completed action is not an error if its result
// is too large.
func TestOversizedActionResult(t *testing.T) {
	var many []executor.Download
	for range 1000 {
		many = append(many, executor.Download{SuggestedName: strings.Repeat("n", 500), State: "canceled", Reason: "refused"})
	}
	ex := &fake{click: func(context.Context, executor.TabID, executor.Target, *executor.ClickOptions) (*executor.Action, error) {
		return &executor.Action{OK: true, Changes: executor.Changes{URL: shop, Downloads: many, Diff: strings.Repeat("x", 20_000)}}, nil
	}}
	for _, structured := range []bool{false, true} {
		cs := connect(t, NewServer(ex, &Options{MaxResultBytes: 10_000, Structured: structured}), nil)
		res := callTool(t, cs, "click", `{"ref":"e1"}`)
		if res.IsError || !strings.HasPrefix(textOf(res), "done; the result is omitted") {
			t.Errorf("structured %t: %.200s", structured, textOf(res))
		}
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil || len(raw) > 10_000 || structured && !strings.Contains(string(raw), `"ok":true`) {
			t.Errorf("%d bytes structured, %v: %.200s", len(raw), err, raw)
		}
	}
}

// TestLinksBounded checks that the list of links has a limited size unless the call has a limit.
func TestLinksBounded(t *testing.T) {
	list := make([]executor.Link, 150)
	for i := range list {
		list[i] = executor.Link{Href: "https://a.test/" + strings.Repeat("x", 50_000), Text: "link", Ref: "e1"}
	}
	ex := &fake{links: func(context.Context, executor.TabID, *executor.LinksOptions) (*executor.Links, error) {
		return &executor.Links{Items: list, Origin: "https://a.test", Total: 150}, nil
	}}
	cs := connect(t, NewServer(ex, nil), nil)
	got := textOf(callTool(t, cs, "extract_links", `{}`))
	if len(got) > 21_000 || !strings.Contains(got, "9 of 150 links, the rest is omitted for length: narrow with selector or include, or pass a limit") {
		t.Errorf("%d bytes, ending in %s", len(got), got[len(got)-200:])
	}
	if got := textOf(callTool(t, cs, "extract_links", `{"limit":150}`)); strings.Count(got, "\n") < 150 || len(got) > 150*2200 {
		t.Errorf("%d bytes of %d lines", len(got), strings.Count(got, "\n"))
	}
}

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

// TestCallsPerMinute: a session's calls come to an end, other sessions' do not,
// and the next minute has as many again.
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
		if want := "BACKPRESSURE: This session has made its 6 calls of a minute. Try again in 10s, "; !res.IsError || !strings.HasPrefix(textOf(res), want) {
			t.Errorf("the seventh: %s", textOf(res))
		}
		if done := did.take(); done != "" {
			t.Errorf("it did %s", done)
		}
		if res := callTool(t, cs, "chrome_status", `{}`); res.IsError {
			t.Error(textOf(res))
		}
		if res := callTool(t, connect(t, server, nil), "get_text", `{}`); res.IsError {
			t.Errorf("another session: %s", textOf(res))
		}
		time.Sleep(10 * time.Second)
		if res := callTool(t, cs, "get_text", `{}`); res.IsError {
			t.Errorf("later: %s", textOf(res))
		}
		if res := callTool(t, cs, "get_text", `{}`); !res.IsError {
			t.Error("two at once after a pause for one")
		}
	})
}

func TestMaxResult(t *testing.T) {
	text, picture := "", []byte(nil)
	ex := &fake{
		text: func(context.Context, executor.TabID, *executor.TextOptions) (*executor.Text, error) {
			return &executor.Text{Text: text, Origin: "https://a.test"}, nil
		},
		screenshot: func(context.Context, executor.TabID, *executor.ScreenshotOptions) (*executor.Screenshot, error) {
			return &executor.Screenshot{Data: picture, MIMEType: "image/png"}, nil
		},
	}
	for _, structured := range []bool{false, true} {
		cs := connect(t, NewServer(ex, &Options{MaxResultBytes: 10_000, Structured: structured}), nil)
		for n, fails := range map[int]bool{3000: false, 7000: structured, 11_000: true} {
			text, picture = strings.Repeat("x", n), make([]byte, n*3/4)
			res := callTool(t, cs, "get_text", `{"maxChars":1000000}`)
			if res.IsError != fails || fails && !strings.Contains(textOf(res), "BAD_ARGS: The answer would have ") {
				t.Errorf("%d characters, structured %t: %.200s", n, structured, textOf(res))
			}
			if res := callTool(t, cs, "screenshot", `{}`); res.IsError != (n > 10_000) {
				t.Errorf("a picture of %d bytes: %.200s", n, textOf(res))
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

// TestLinksTakeLittleRoom: unless more were asked for.
func TestLinksTakeLittleRoom(t *testing.T) {
	list := make([]executor.Link, 150)
	for i := range list {
		list[i] = executor.Link{Href: "https://a.test/" + strings.Repeat("x", 50_000), Text: "link", Ref: "e1"}
	}
	ex := &fake{links: func(context.Context, executor.TabID, *executor.LinksOptions) (*executor.Links, error) {
		return &executor.Links{Links: list, Origin: "https://a.test", Total: 150}, nil
	}}
	cs := connect(t, NewServer(ex, nil), nil)
	got := textOf(callTool(t, cs, "extract_links", `{}`))
	if len(got) > 21_000 || !strings.Contains(got, "9 of 150 links, since the others would take too much room: narrow with selector or include, or give a limit") {
		t.Errorf("%d bytes, ending in %s", len(got), got[len(got)-200:])
	}
	if got := textOf(callTool(t, cs, "extract_links", `{"limit":150}`)); strings.Count(got, "\n") < 150 || len(got) > 150*2200 {
		t.Errorf("%d bytes of %d lines", len(got), strings.Count(got, "\n"))
	}
}

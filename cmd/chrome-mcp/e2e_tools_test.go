package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// everyTool calls each of the 26 tools in the user's browser and checks the effect from the user's
// side.
func (e *endToEnd) everyTool(t *testing.T) {
	b, s, site := e.browser, e.server, e.site.URL
	called := map[string]bool{}
	call := func(tool string, args map[string]any, want ...string) string {
		t.Helper()
		called[tool] = true
		return s.call(t, tool, args, want...)
	}
	sees := func(expression, want string) {
		t.Helper()
		var got any
		b.EvalInTarget(t, e.page, expression, &got)
		if fmt.Sprint(got) != want {
			t.Errorf("the user sees %s = %v, want %s", expression, got, want)
		}
	}
	b.Call(t, "", "Target.activateTarget", map[string]any{"targetId": e.page}, nil)

	call("chrome_status", nil, "backend: extension", "1 tab shared", "cdp attached: true", "allowed domains: "+site)
	tab := regexp.MustCompile(`ext:\S+`).FindString(call("tabs_list", nil, "ext:", site+"/first"))
	call("tab_select", map[string]any{"tabId": tab}, tab)
	call("tab_select", map[string]any{"url": "*/first"}, tab)

	call("navigate", map[string]any{"url": site + "/second"}, "second")
	sees("location.pathname", "/second")
	call("back", nil, "first")
	sees("location.pathname", "/first")
	call("forward", nil, "second")
	sees("location.pathname", "/second")
	before := e.site.asked("127.0.0.1 /second")
	call("reload", nil, "second")
	if n := e.site.asked("127.0.0.1 /second"); n != before+1 {
		t.Errorf("reload sent %d requests", n-before)
	}

	ref := regexp.MustCompile(`button "Click me" \[ref=(e\d+)\]`).FindStringSubmatch(call("snapshot", nil, `heading "second"`, `textbox "Name"`))
	if ref == nil {
		t.Fatal("ref of the button not found")
	}
	call("click", map[string]any{"ref": ref[1]}, "Clicked 1 for real")
	sees("document.getElementById('count').textContent", "Clicked 1 for real")
	call("type", map[string]any{"selector": "[name=name]", "text": "Ada"})
	sees("document.forms[0].name.value", "Ada")
	call("press", map[string]any{"key": "F2"})
	sees("window.key", "F2")
	call("hover", map[string]any{"selector": "#over"}, "hovered")
	sees("document.getElementById('over').textContent", "hovered")
	call("select_option", map[string]any{"selector": "[name=country]", "values": []string{"Norway"}}, "Norway")
	sees("document.forms[0].country.value", "Norway")
	call("scroll", map[string]any{"selector": "#bottom"})
	sees("scrollY > 500", "true")
	call("wait_for", map[string]any{"text": "The end", "timeoutMs": await.HangLimit.Milliseconds()}, "matched: true")
	call("get_text", map[string]any{"selector": "article"}, "Lamps of walnut")
	call("get_html", map[string]any{"selector": "article"}, `<a href="/second">`)
	call("extract_links", nil, site+"/second", "second page")
	call("read_as_markdown", map[string]any{"selector": "body"}, "# second", "(http")
	call("screenshot", nil, "image/png")

	// Scripts of the agent wait for the user's consent.
	evaluated := make(chan string, 1)
	go func() {
		text, _, err := s.try(t.Context(), "eval", map[string]any{"expression": "document.title = 'evaluated', 6 * 7"})
		evaluated <- fmt.Sprint(text, err)
	}()
	b.press(t, "#questions button", "Allow this session")
	if text := <-evaluated; !strings.Contains(text, "42") {
		t.Errorf("eval answered %s", text)
	}
	called["eval"] = true
	sees("document.title", "evaluated")

	call("click", map[string]any{"selector": "#ask"}, "Really?", "handle_dialog")
	call("handle_dialog", map[string]any{"accept": true}, "Really?")
	await.Until(t, "the answer", func() bool {
		var title string
		b.EvalInTarget(t, e.page, "document.title", &title)
		return title == "yes"
	})

	for _, args := range []map[string]any{{"url": site + "/files/report.csv"}, {"selector": "#save"}} {
		text := call("download_file", args, `saved "`, "report.csv")
		path := regexp.MustCompile(`/\S+report[^"\s]*\.csv`).FindString(text)
		if data, err := os.ReadFile(path); err != nil || string(data) != "lamp,2\n" {
			t.Errorf("%v: %q, %v; tool result %s", args, data, err, text)
		}
	}

	call("fill_form", map[string]any{
		"fields":         map[string]any{"[name=name]": "Ada Lovelace", "[name=note]": "By the door", "[name=country]": "Sweden", "[name=gift]": true},
		"submitSelector": "text=Order",
	})
	if n := e.site.asked("127.0.0.1 /order name=Ada+Lovelace&note=By+the+door&country=Sweden&gift=on"); n != 1 {
		t.Errorf("the form was submitted %d times", n)
	}

	// A tab that the agent opened is in the background; closing the user's tab detaches from it.
	own := regexp.MustCompile(`ext:\S+`).FindString(call("tab_new", map[string]any{"url": site + "/own"}, "ext:", "own"))
	var front string
	b.Worker(t, "chrome.tabs.query({active: true}).then((tabs) => tabs.map((t) => t.url).join())", &front)
	if !strings.Contains(front, "/order") {
		t.Errorf("in front is %s", front)
	}
	call("tab_close", map[string]any{"tabId": own}, "closed")
	await.Until(t, "the tab to close", func() bool {
		return !slices.ContainsFunc(b.Targets(t), func(x userbrowser.Target) bool { return strings.HasSuffix(x.URL, "/own") })
	})
	call("tab_close", map[string]any{"tabId": tab}, "detached")
	sees("location.pathname", "/order")
	e.share(t)

	list, err := s.client.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 26 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		if !called[tool.Name] {
			t.Errorf("%s was not called", tool.Name)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A pageTextCall is one call of TestPageText.
type pageTextCall struct {
	tool string
	args map[string]any
	code string // that it fails with; empty for success, "?" for either
}

// pageTextRound is a list of calls that starts on a newly loaded page.
type pageTextRound []pageTextCall

// pageTextRounds returns the calls. Each tool succeeds, and fails in ways that may
// repeat page text.
func pageTextRounds(site string) []pageTextRound {
	type args = map[string]any
	sel := func(s string) args { return args{"selector": s} }
	soon := func(s string) args { return args{"selector": s, "timeoutMs": 300} } // for an element that is never actionable
	const missing = "#no-such button link plain heading"
	rounds := []pageTextRound{
		{ // reading
			{"tabs_list", nil, ""}, {"chrome_status", nil, ""}, {"snapshot", nil, ""}, {"snapshot", args{"diff": true}, ""}, {"snapshot", args{"find": sentinel}, ""},
			{"snapshot", sel(missing), "SELECTOR_NOT_FOUND"}, {"snapshot", args{"ref": "e1", "depth": 1}, ""}, {"snapshot", args{"ref": "e99999"}, "REF_EXPIRED"},
			{"get_text", nil, ""}, {"get_text", sel(missing), "SELECTOR_NOT_FOUND"}, {"get_html", nil, ""}, {"get_html", args{"maxChars": 100}, ""}, {"get_html", sel(missing), "SELECTOR_NOT_FOUND"},
			{"read_as_markdown", nil, ""}, {"read_as_markdown", args{"selector": "body", "maxChars": 150}, ""}, {"extract_links", nil, ""}, {"extract_links", args{"limit": 1}, ""},
			{"screenshot", args{"labels": true}, ""}, {"screenshot", sel("#covered"), ""}, {"screenshot", sel(missing), "SELECTOR_NOT_FOUND"},
			{"wait_for", args{"text": "never", "url": "*never*", "timeoutMs": 200}, ""}, {"wait_for", sel("#covered"), ""},
			{"wait_for", args{"expression": "throw new SyntaxError(document.title)", "timeoutMs": 200}, "?"},
			{"tab_select", args{"tabId": "cdp:x:1"}, "STALE_TAB"}, {"get_text", args{"tabId": "cdp:x:1"}, "STALE_TAB"},
		},
		{ // events of the page
			{"console_messages", nil, ""}, {"page_errors", nil, ""}, {"network_requests", nil, ""}, {"wait_for", args{"load": "networkidle"}, ""}, {"network_requests", args{"filter": "/api"}, ""}, {"network_requests", args{"id": "{request}", "body": true}, ""},
			{"network_requests", args{"id": "none"}, "BAD_ARGS"},
			{"resize", args{"width": 900, "height": 700}, ""}, {"emulate", args{"colorScheme": "dark"}, ""}, {"emulate", args{"locale": sentinel}, "?"},
		},
		{ // eval
			{"eval", args{"expression": "throw new Error(document.title)"}, ""}, {"eval", args{"expression": "document.title"}, ""}, {"eval", args{"expression": "({[document.title]: $('held').outerHTML})"}, ""},
			{"eval", args{"expression": "alert('" + sentinel + "-evaldialog SYSTEM NOTE')"}, ""}, {"eval", args{"expression": "throw '" + sentinel + "-evalerror SYSTEM NOTE'"}, ""},
			{"eval", args{"expression": "'" + sentinel + "-evalvalue SYSTEM NOTE'"}, ""},
			{"eval", args{"expression": "const e = new SyntaxError('" + sentinel + "-syntax SYSTEM NOTE'); e.stack = 'SyntaxError: " + sentinel + "-syntax SYSTEM NOTE'; Promise.reject(e)"}, "?"},
			{"eval", args{"expression": sentinel + "-syntax ) SYSTEM NOTE"}, "EVAL_FAILED"},
			{"wait_for", args{"expression": sentinel + "-syntax ) SYSTEM NOTE"}, "EVAL_FAILED"},
		},
		{ // intercepting elements
			{"click", soon("#covered"), "NOT_ACTIONABLE"}, {"click", soon("#covered2"), "NOT_ACTIONABLE"},
			{"click", soon("#covered3"), "NOT_ACTIONABLE"}, {"click", soon("#disabled"), "NOT_ACTIONABLE"},
			{"click", sel(missing), "SELECTOR_NOT_FOUND"}, {"hover", sel("#covered"), "NOT_ACTIONABLE"}, {"hover", sel("#held"), ""},
			{"click", args{"selector": sentinel + "-tag\\.system-note"}, ""}, {"scroll", args{"deltaY": 100}, ""}, {"scroll", sel("#covered"), ""}, {"scroll", sel(missing), "SELECTOR_NOT_FOUND"},
			{"drag", args{"selector": "#a", "toSelector": "#b"}, "?"}, {"drag", args{"selector": "#covered", "toSelector": "#b"}, "NOT_ACTIONABLE"},
			{"mouse", args{"action": "click", "x": 3, "y": 3}, ""}, {"mouse", args{"action": "up", "x": 3, "y": 3}, "BAD_ARGS"},
		},
		{ // fields
			{"type", args{"selector": "#held", "text": "x"}, ""}, {"type", args{"selector": "#thief", "text": "x", "keyEvents": true}, "?"}, {"type", args{"selector": "#taker", "text": "x"}, "?"},
			{"type", args{"selector": "#disabled", "text": "x", "timeoutMs": 300}, "?"}, {"type", args{"selector": "#labelled", "text": "x", "pressEnter": true}, ""},
			{"press", args{"key": "a", "selector": "#b"}, "?"}, {"press", args{"key": "F2"}, ""}, {"press", args{"key": sentinel + "key"}, "BAD_ARGS"},
			{"select_option", args{"selector": "#select", "values": []string{"plain"}}, ""}, {"select_option", args{"selector": "#select", "values": []string{"none"}}, "BAD_ARGS"},
			{"select_option", args{"selector": "#select", "values": []string{"off"}}, "NOT_ACTIONABLE"}, {"select_option", args{"selector": "#select", "values": []string{"a", "b"}}, "BAD_ARGS"},
			{"select_option", args{"selector": "#list", "values": []string{"plain"}}, "BAD_ARGS"}, {"select_option", args{"selector": "#b", "values": []string{"plain"}}, "BAD_ARGS"},
		},
		{ // forms
			{"fill_form", args{"fields": args{"#email": "x"}, "submitSelector": "#send"}, ""}, {"fill_form", args{"fields": args{"#held": "x"}}, "NOT_ACTIONABLE"},
			{"fill_form", args{"fields": args{"#stubborn": true}}, "NOT_ACTIONABLE"}, {"fill_form", args{"fields": args{"#radio": "none"}}, "BAD_ARGS"},
			{"fill_form", args{"fields": args{"#select": "none"}}, "BAD_ARGS"}, {"fill_form", args{"fields": args{"#b": "x"}}, "BAD_ARGS"}, {"fill_form", args{"fields": args{"#thief": "x"}}, "?"},
		},
		{ // dialogs
			{"click", sel("#alert"), ""}, {"get_text", nil, "DIALOG_OPEN"}, {"click", sel("#b"), "DIALOG_OPEN"}, {"handle_dialog", args{"accept": true}, ""}, {"handle_dialog", args{"accept": true}, "BAD_ARGS"},
			{"click", sel("#confirm"), ""}, {"handle_dialog", args{"accept": false}, ""}, {"click", sel("#prompt"), ""}, {"tabs_list", nil, ""}, {"screenshot", nil, "?"}, {"handle_dialog", args{"accept": true, "promptText": "x"}, ""},
		},
		{ // navigation
			{"click", sel("#move"), ""}, {"click", sel("#fails"), ""}, {"back", nil, ""}, {"forward", nil, ""}, {"reload", nil, ""}, {"click", sel("#link"), ""},
			{"navigate", args{"url": site + "/redirect"}, ""}, {"navigate", args{"url": site + "/status"}, "?"}, {"navigate", args{"url": site + "/denied"}, "?"},
			{"navigate", args{"url": site + "/file"}, "?"}, {"navigate", args{"url": "http://127.0.0.1:1/" + word("dead")}, "?"}, {"forward", nil, "?"},
			{"navigate", args{"url": pageTextURL(site)}, ""}, {"tab_new", args{"url": site + "/denied", "active": false}, "?"},
		},
		{ // files
			{"download_file", args{"url": site + "/file"}, ""}, {"download_file", sel("#save"), ""}, {"download_file", sel("#covered"), "NOT_ACTIONABLE"}, {"download_file", args{"url": site + "/status"}, "DOWNLOAD_FAILED"},
			{"download_file", args{"url": site + "/forbidden"}, "?"}, {"download_file", args{"url": site + "/denied"}, "?"}, {"click", sel("#many"), ""}, {"click", sel("#b"), ""},
			{"upload_file", args{"selector": "#file", "paths": []string{"up.txt"}}, ""}, {"upload_file", args{"selector": "#b", "paths": []string{"up.txt"}}, "?"}, {"upload_file", args{"selector": "#file", "paths": []string{"none"}}, "?"},
			{"save_pdf", nil, ""},
		},
		{ // cookies and storage
			{"cookies", args{"action": "get", "values": true}, ""}, {"cookies", args{"action": "get", "maxChars": 20}, "?"}, {"storage", args{"action": "get", "area": "local", "values": true}, ""},
			{"storage", args{"action": "get", "area": "session"}, ""}, {"storage", args{"action": "remove", "area": "session", "key": "x"}, ""}, {"session_state", args{"action": "save", "name": "one"}, ""},
			{"session_state", args{"action": "load", "name": "one"}, "?"}, {"session_state", args{"action": "load", "name": "none"}, "?"},
		},
		{ // batches and scripts
			{"batch", args{"calls": []args{{"tool": "snapshot"}, {"tool": "click", "args": args{"selector": "#covered", "timeoutMs": 300}}, {"tool": "tabs_list"}}, "continueOnError": true}, ""},
			{"batch", args{"calls": []args{{"tool": "fill_form", "args": args{"fields": args{"#date": "nothing"}}}}}, "?"},
			{"run_script", args{"script": "print(tabs_list().tabs[0].title); return snapshot().text"}, ""}, {"run_script", args{"script": "click({selector: '#covered', timeoutMs: 300})"}, ""},
			{"run_script", args{"script": "throw new Error(tabs_list().tabs[0].title)"}, ""},
		},
		{ // popup windows; last, because more tabs are open afterwards
			{"click", sel("#open"), ""}, {"tabs_list", nil, ""}, {"tab_select", args{"tabId": "{tab}"}, ""}, {"get_text", args{"tabId": "{gone}"}, "TAB_NOT_FOUND"},
			{"ask_user", args{"message": "Please pay.", "tabId": "{gone}"}, "TAB_NOT_FOUND"}, {"secrets_list", nil, ""},
			{"tab_close", args{"tabId": "{tab}"}, ""}, {"tab_close", args{"tabId": "{tab}"}, "?"}, {"get_text", nil, "?"},
		},
	}
	var limits pageTextRound
	for _, id := range []string{"date", "time", "range", "month", "week", "datetime-local", "number"} {
		limits = append(limits, pageTextCall{"type", args{"selector": "#" + id, "text": "nothing"}, "?"}, pageTextCall{"fill_form", args{"fields": args{"#" + id: "nothing"}}, "?"})
	}
	return append(rounds[:len(rounds)-1], limits, rounds[len(rounds)-1])
}

// TestPageText calls every tool of every toolset on a page that puts a mark into
// every string it controls. Marks may occur in results only inside a fence or
// double quotes: in text, in sentences of structured results, in errors, hints,
// candidates and notes.
func TestPageText(t *testing.T) {
	t.Parallel() // it mainly waits
	needChromium(t)
	site := newPageTextSite(t)
	uploads := t.TempDir()
	if err := os.WriteFile(filepath.Join(uploads, "up.txt"), []byte("up"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startMCP(t, "--data", filepath.Join(t.TempDir(), "data"), "--port=0", "--allow-domain", site.URL, "--allow-domain", "http://127.0.0.1:1", "--tools=all", "--structured",
		"--enable-mutations", "--enable-downloads", "--enable-storage", "--unsafe-enable-eval", "--uploads-dir", uploads, "--state-dir", t.TempDir(), "--headless", "--isolated", "--max-calls=100000")
	seen := newPageTextAnswers(t)
	for i, round := range pageTextRounds(site.URL) {
		load := pageTextCall{"navigate", map[string]any{"url": pageTextURL(site.URL)}, ""}
		if i == 0 {
			load.tool = "tab_new"
		}
		for _, c := range append(pageTextRound{load}, round...) {
			text := seen.call(s, c)
			if tabs := regexp.MustCompile(`(?:cdp|ext):\w+:\d+`).FindAllString(text, -1); len(tabs) > 0 && (c.tool == "tab_new" || c.tool == "tabs_list") {
				seen.tab = tabs[len(tabs)-1]
			}
			if id := regexp.MustCompile(`(?m)^r\d+`).FindString(text); id != "" && c.tool == "network_requests" {
				seen.request = id
			}
		}
	}
	list, err := s.client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if !seen.tools[tool.Name] {
			t.Errorf("%s is not called by this test", tool.Name)
		}
	}
	for _, route := range pageTextRoutes {
		if !strings.Contains(seen.all.String(), sentinel+"-"+route) {
			t.Errorf("no result contains the mark of %s, so it was not tested", route)
		}
	}
}

// pageTextAnswers checks results and records what they contained.
type pageTextAnswers struct {
	t     *testing.T
	tools map[string]bool // tools that were called
	all   strings.Builder

	tab, request string // last listed ids
}

func newPageTextAnswers(t *testing.T) *pageTextAnswers {
	return &pageTextAnswers{t: t, tools: map[string]bool{}}
}

// call makes a call, checks its result and returns its text.
func (a *pageTextAnswers) call(s *mcpServer, c pageTextCall) string {
	a.t.Helper()
	a.tools[c.tool] = true
	args := map[string]any{}
	for k, v := range c.args {
		switch v {
		case "{tab}":
			v = a.tab
		case "{gone}":
			v = regexp.MustCompile(`\d+$`).ReplaceAllString(a.tab, "99999")
		case "{request}":
			v = a.request
		}
		args[k] = v
	}
	what := c.tool + " " + asJSON(args)
	res, err := s.client.CallTool(a.t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", what, err)
	}
	text := ""
	for _, block := range res.Content {
		if b, ok := block.(*sdk.TextContent); ok {
			text += b.Text
		}
	}
	code := ""
	if res.IsError {
		code, _, _ = strings.Cut(text, ":")
	}
	if code != c.code && c.code != "?" {
		a.t.Errorf("%s answers %q:\n%.500s", what, code, text)
	}
	a.all.WriteString(strings.ToLower(text) + strings.ToLower(asJSON(res.StructuredContent)))
	a.look(what, "text", text, args)
	a.sentences(what, "", res.StructuredContent, args)
	if e, ok := res.Meta["chrome-mcp/error"].(map[string]any); ok {
		a.sentences(what, "", e, args)
		a.look(what, "message", fmt.Sprint(e["message"]), args)
	}
	return text
}

// sentences checks the members of a JSON value that contain our sentences.
func (a *pageTextAnswers) sentences(what, name string, v any, args map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			a.sentences(what, k, e, args)
		}
	case []any:
		for _, e := range v {
			a.sentences(what, name, e, args)
		}
	case string:
		switch name {
		case "note", "notes", "reason", "advice", "detail", "unmet", "hint", "role": // a message may be a dialog's
			a.look(what, name, v, args)
		}
	}
}

// look fails the test if text has a mark outside of fences and quotes. Marks in the
// arguments of the call are allowed.
func (a *pageTextAnswers) look(what, where, text string, args map[string]any) {
	a.t.Helper()
	for _, line := range outsideOfFences(text) {
		rest := strings.ToLower(quotedText.ReplaceAllString(line, `""`))
		for _, m := range regexp.MustCompile(sentinel+`[\w-]*`).FindAllString(rest, -1) {
			if !strings.Contains(strings.ToLower(asJSON(args)), m) {
				a.t.Errorf("%s: the %s has page text outside of quotes and fences: %s\n%s", what, where, m, line)
				break
			}
		}
	}
}

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	fenceBegin = regexp.MustCompile(`<page ([a-z2-7]{6}) (\S+)>$`)
)

// outsideOfFences returns our lines of a text, including those that start a
// fence.
func outsideOfFences(text string) []string {
	var lines []string
	end := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch m := fenceBegin.FindStringSubmatch(line); {
		case end != "":
			if line == end {
				end = ""
			}
		case m != nil && !strings.Contains(line, `"`):
			end = "</page " + m[1] + ">"
			fallthrough
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

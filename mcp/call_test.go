package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

func rawArgs(args string) any {
	if args == "" {
		return nil
	}
	return json.RawMessage(args)
}

// goldenCalls are the calls whose results are in testdata/calls.golden. Each tool has at least one.
var goldenCalls = []struct{ tool, args string }{
	{"tabs_list", ``},
	{"tab_select", `{"tabId":"cdp:b7:1"}`},
	{"tab_select", `{"url":"*.example/"}`},
	{"tab_new", `{}`},
	{"tab_new", `{"url":"https://shop.example/","active":false}`},
	{"tab_close", `{"tabId":"cdp:b7:2"}`},
	{"tab_close", `{"tabId":"cdp:b7:1"}`},
	{"navigate", `{"url":"https://shop.example/","waitUntil":"commit","timeoutMs":1500}`},
	{"navigate", `{"url":"https://shop.example/","tabId":"cdp:b7:1"}`},
	{"back", `{"tabId":"cdp:b7:1"}`},
	{"back", `{"waitUntil":"commit"}`},
	{"forward", `{}`},
	{"forward", `{"waitUntil":"networkidle"}`},
	{"reload", `{"waitUntil":"networkidle"}`},
	{"reload", `{"resubmit":true}`},
	{"click", `{"ref":"e6"}`},
	{"click", `{"selector":"role=button[name=\"Pay\"]","tabId":"cdp:b7:1","button":"right","clickCount":2,"modifiers":["Control","Shift"],"timeoutMs":2000.0}`},
	{"type", `{"ref":"@e3","text":"ann@example.com","clear":true,"pressEnter":true,"keyEvents":true}`},
	{"type", `{"ref":"ref=e3","text":"","clear":null}`},
	{"type", `{"ref":"e3","text":"ann","delayMs":50}`},
	{"press", `{"key":"Enter","modifiers":["Alt"],"ref":"e3"}`},
	{"hover", `{"selector":"#menu"}`},
	{"scroll", `{"y":1200}`},
	{"scroll", `{"selector":"#list","deltaX":0.5,"deltaY":-100}`},
	{"select_option", `{"ref":"e4","values":["no","Sweden"]}`},
	{"snapshot", `{}`},
	{"snapshot", `{"ref":"e1","interactiveOnly":true,"depth":3,"find":"/pay/i","maxChars":100,"offset":0}`},
	{"snapshot", `{"diff":true}`},
	{"screenshot", `{"fullPage":true,"format":"jpeg","quality":60,"labels":true}`},
	{"get_text", `{"selector":"main","maxChars":10}`},
	{"get_html", `{"outer":false}`},
	{"get_html", `{"maxChars":10,"offset":20}`},
	{"eval", `{"expression":"1+1","awaitPromise":false}`},
	{"eval", `{"expression":"(e) => e.value","ref":"e3"}`},
	{"eval", `{"expression":"throw"}`},
	{"eval", `{"expression":"undefined"}`},
	{"eval", `{"expression":"object"}`},
	{"wait_for", `{"textContains":"Done","timeoutMs":2000}`},
	{"wait_for", `{"selector":"#never","textGone":"Loading","url":"*/done","expression":"window.ready"}`},
	{"wait_for", `{"selector":".spinner","gone":true}`},
	{"wait_for", `{"text":"Loading","gone":true}`},
	{"wait_for", `{"gone":"@e5","timeMs":500}`},
	{"extract_links", `{"selector":"nav","sameOriginOnly":true,"include":["*a*"],"exclude":["*z*"],"dedupe":false,"limit":2}`},
	{"read_as_markdown", `{"selector":"body","maxChars":14,"offset":0}`},
	{"read_as_markdown", `{"refs":true}`},
	{"fill_form", `{"fields":{"#z":"text","e4":["no"],"#a":true},"submitRef":"e6"}`},
	{"download_file", `{"url":"https://shop.example/report.csv","suggestedName":"report.csv"}`},
	{"download_file", `{"ref":"e8"}`},
	{"handle_dialog", `{"accept":true,"promptText":"Ann"}`},
	{"handle_dialog", `{"accept":false}`},
	{"chrome_status", `{}`},
	{"batch", `{"calls":[{"tool":"type","args":{"ref":"e3","text":"Ann"}},{"tool":"screenshot"},{"tool":"wait_for","args":{"selector":"#never"}}]}`},
	{"ask_user", `{"message":"Enter the code","tabId":"cdp:b7:1"}`},
	{"upload_file", `{"ref":"e8","paths":["report.csv"]}`},
	{"save_pdf", `{"landscape":true,"background":true,"name":"bill"}`},
	{"drag", `{"ref":"e8","toSelector":"#bin"}`},
	{"mouse", `{"action":"wheel","x":10,"y":20.5,"deltaY":-100}`},
	{"cookies", `{"action":"get","values":true,"maxChars":100}`},
	{"cookies", `{"action":"get","name":"sid"}`},
	{"cookies", `{"action":"set","name":"sid","value":"","domain":"shop.example","path":"/x","expires":1900000000,"httpOnly":true,"secure":true,"sameSite":"Lax"}`},
	{"cookies", `{"action":"clear"}`},
	{"storage", `{"action":"get","area":"local","values":true}`},
	{"storage", `{"action":"get","area":"session","key":"","after":"a"}`},
	{"storage", `{"action":"set","area":"local","key":"theme","value":"dark"}`},
	{"storage", `{"action":"remove","area":"local","key":"theme"}`},
	{"session_state", `{"action":"save","name":"ann"}`},
	{"secrets_list", `{}`},
	{"session_state", `{"action":"load","name":"ann.json"}`},
	{"run_script", `{"script":"click({ref: 'e6'}); print(tabs_list().tabs.length); return get_text()"}`},
	{"console_messages", `{"level":"info","limit":2,"clear":true}`},
	{"page_errors", `{}`},
	{"network_requests", `{"filter":"api"}`},
	{"network_requests", `{"id":"r1","body":true}`},
	{"resize", `{"width":800,"height":600}`},
	{"resize", `{"reset":true}`},
	{"emulate", `{"device":"phone","colorScheme":"dark","reducedMotion":true,"media":"print","locale":"nb-NO","timezone":"Asia/Tokyo","network":"offline","cpu":4}`},
	{"emulate", `{"userAgent":"Lamp/1.0","geolocation":"59.91, 10.75","permissions":["geolocation"]}`},
	{"emulate", `{"headers":{"https://shop.example":{"X-Lamp":"on"}}}`},
	{"emulate", `{"reset":true}`},
}

// TestCalls calls every tool as a client does. It compares the calls of the executor, the text and
// the structured result with the golden file.
func TestCalls(t *testing.T) {
	var rec recorder
	opts := &Options{Version: "1.2.3", Nonce: "k7f3q2", Tools: Toolsets(), Handover: &HandoverOptions{Prompter: popupAnswer("done")}}
	plain := connect(t, NewServer(canned(&rec), opts), nil)
	withStructure := *opts
	withStructure.Structured = true
	structured := connect(t, NewServer(canned(&rec), &withStructure), nil)

	var b strings.Builder
	called := map[string]bool{}
	for _, c := range goldenCalls {
		called[c.tool] = true
		res := callTool(t, plain, c.tool, c.args)
		fmt.Fprintf(&b, "== %s %s\n%s\n-- text\n%s\n", c.tool, c.args, rec.take(), textOf(res))
		if res.IsError || res.StructuredContent != nil {
			t.Errorf("%s %s: error %t, structured content %v", c.tool, c.args, res.IsError, res.StructuredContent)
		}
		for _, block := range res.Content {
			if img, ok := block.(*sdk.ImageContent); ok {
				fmt.Fprintf(&b, "-- image %s\n%s\n", img.MIMEType, img.Data)
			}
		}
		res = callTool(t, structured, c.tool, c.args)
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "-- structured\n%s\n\n", raw)
		checkStructured(t, c.tool, res.StructuredContent)
		rec.take()
	}
	for _, tool := range allTools() {
		if !called[tool.name] {
			t.Errorf("%s is not called", tool.name)
		}
	}
	checkGolden(t, "testdata/calls.golden", b.String())
}

// changeFields are the fields of page changes, which output schemas omit.
var changeFields = []string{
	"url", "title", "origin", "dialog", "newTabs", "downloads", "pageErrors",
	"pending", "diff", "snapshot", "unchanged", "note",
}

// checkStructured checks a structured result against the published schema.
func checkStructured(t *testing.T, name string, content any) {
	t.Helper()
	var schema struct {
		Properties map[string]struct{ Type string }
	}
	i := slices.IndexFunc(allTools(), func(t *tool) bool { return t.name == name })
	if err := json.Unmarshal([]byte(toolschema.Output(allTools()[i].result)), &schema); err != nil {
		t.Fatal(err)
	}
	members, ok := content.(map[string]any)
	if !ok {
		t.Fatalf("%s: structured content is %T", name, content)
	}
	for key, value := range members {
		p, ok := schema.Properties[key]
		if !ok {
			if !slices.Contains(changeFields, key) && !slices.Contains(toolschema.OmittedFields, key) {
				t.Errorf("%s: %s is not in the output schema", name, key)
			}
			continue
		}
		types := map[string]func(any) bool{
			"":        func(any) bool { return true },
			"string":  func(v any) bool { _, ok := v.(string); return ok },
			"boolean": func(v any) bool { _, ok := v.(bool); return ok },
			"integer": func(v any) bool { f, ok := v.(float64); return ok && f == float64(int64(f)) },
			"number":  func(v any) bool { _, ok := v.(float64); return ok },
			"array":   func(v any) bool { _, ok := v.([]any); return ok },
			"object":  func(v any) bool { _, ok := v.(map[string]any); return ok },
		}
		if !types[p.Type](value) {
			t.Errorf("%s: %s is %v, want %s", name, key, value, p.Type)
		}
	}
}

// TestEpisodeIsShort checks the prompt size of an episode of 20 calls without snapshots.
func TestEpisodeIsShort(t *testing.T) {
	var rec recorder
	cs := connect(t, NewServer(canned(&rec), nil), nil)
	total := 0
	for _, c := range []struct {
		tool, args string
		times      int
	}{
		{"navigate", `{"url":"https://shop.example/"}`, 2},
		{"type", `{"ref":"e3","text":"ann","clear":true}`, 5},
		{"select_option", `{"ref":"e4","values":["no"]}`, 2},
		{"click", `{"ref":"e6"}`, 6},
		{"wait_for", `{"text":"Done"}`, 3},
		{"tab_close", `{"tabId":"cdp:b7:2"}`, 2},
	} {
		for range c.times {
			total += len(textOf(callTool(t, cs, c.tool, c.args)))
		}
	}
	t.Logf("20 calls return %d bytes", total)
	if total > 1000 { // the budget is 2,200 bytes; the diffs of a real page need the rest
		t.Errorf("20 calls return %d bytes, want at most 1000", total)
	}
}

func TestUnknownToolIsProtocolError(t *testing.T) {
	cs := connect(t, NewServer(&fake{}, nil), nil)
	_, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "fly"})
	if err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("calling an unknown tool: %v", err)
	}
	for name, want := range map[string]string{"clik": "did you mean click?", "getText": "did you mean get_text?", "tab_list": "did you mean tabs_list?", "fly": `unknown tool "fly"`} {
		_, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
		if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeInvalidParams || !strings.HasSuffix(e.Message, want) {
			t.Errorf("calling %s: %v, want %s", name, err, want)
		}
	}
}

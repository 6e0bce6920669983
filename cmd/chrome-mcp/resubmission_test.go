package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestResubmission calls tools that load a page again on the result of a form, alone, in a batch and
// in a script. Only resubmit sends the form again.
func TestResubmission(t *testing.T) {
	site := newTestSite(t)
	s := startMCP(t, "--data", filepath.Join(t.TempDir(), "data"), "--port=0", "--headless", "--isolated", "--prefer=cdp",
		"--allow-domain", site.URL, "--tools=core,batch", "--enable-mutations", "--unsafe-enable-eval")
	s.call(t, "navigate", map[string]any{"url": site.URL + "/shop"})
	s.call(t, "click", map[string]any{"selector": "text=Order"}, "order")
	batch := func(tool string, args map[string]any) map[string]any {
		return map[string]any{"calls": []any{map[string]any{"tool": "get_text"}, map[string]any{"tool": tool, "args": args}}}
	}
	script := func(text string) map[string]any { return map[string]any{"script": text} }
	const reload = "location.reload()"
	for _, tt := range []struct {
		name, tool string
		args       map[string]any
	}{
		{"reload", "reload", nil},
		{"eval", "eval", map[string]any{"expression": reload}},
		{"reload in a batch", "batch", batch("reload", nil)},
		{"eval in a batch", "batch", batch("eval", map[string]any{"expression": reload})},
		{"wait_for in a batch", "batch", batch("wait_for", map[string]any{"expression": "(" + reload + ", true)"})},
		{"reload in a script", "run_script", script("get_text(); reload()")},
		{"reload in a script that continues", "run_script", script("try { reload() } catch (e) { return e.message }")},
		{"eval in a script", "run_script", script("eval({expression: '" + reload + "'})")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, _, err := s.try(t.Context(), tt.tool, tt.args)
			if err != nil || !strings.Contains(text, "loading it again sends it again") {
				t.Errorf("%s %s: %v %s", tt.tool, asJSON(tt.args), err, text)
			}
			if n := site.asked("127.0.0.1 /order"); n != 1 {
				t.Errorf("the form was sent %d times", n)
			}
		})
	}
	s.call(t, "batch", batch("reload", map[string]any{"resubmit": true}), "2 of 2 calls")
	s.call(t, "run_script", script("return reload({resubmit: true}).title"), "order")
	if n := site.asked("127.0.0.1 /order"); n != 3 {
		t.Errorf("with resubmit, the form was sent %d times, want 3", n)
	}
}

package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// validArgs are minimal valid arguments of the tools that do not accept {}.
var validArgs = map[string]string{
	"tab_select":    `{"tabId":"cdp:b7:1"}`,
	"tab_close":     `{"tabId":"cdp:b7:1"}`,
	"ask_user":      `{"message":"a"}`,
	"navigate":      `{"url":"https://shop.example/"}`,
	"click":         `{"ref":"e1"}`,
	"type":          `{"ref":"e1","text":"a"}`,
	"press":         `{"key":"a"}`,
	"hover":         `{"ref":"e1"}`,
	"scroll":        `{"y":1}`,
	"select_option": `{"ref":"e1","values":["a"]}`,
	"eval":          `{"expression":"1"}`,
	"wait_for":      `{"text":"a"}`,
	"fill_form":     `{"fields":{"e1":"a"}}`,
	"download_file": `{"ref":"e1"}`,
	"handle_dialog": `{"accept":false}`,
	"batch":         `{"calls":[{"tool":"tabs_list"}]}`,
	"upload_file":   `{"ref":"e1","paths":["a.txt"]}`,
	"save_pdf":      `{}`,
	"drag":          `{"ref":"e1","toRef":"e2"}`,
	"mouse":         `{"action":"move","x":1,"y":2}`,
	"cookies":       `{"action":"get"}`,
	"session_state": `{"action":"load","name":"a"}`,
	"storage":       `{"action":"get","area":"local"}`,
	"resize":        `{"width":800,"height":600}`,
	"emulate":       `{"reset":true}`,
	"run_script":    `{"script":"return 1"}`,
}

// withArg returns the valid arguments of a tool with one of them replaced, or removed if value is
// "".
func withArg(t *testing.T, tool, name, value string) string {
	t.Helper()
	args := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(cmp.Or(validArgs[tool], "{}")), &args); err != nil {
		t.Fatal(err)
	}
	if value == "" {
		delete(args, name)
	} else {
		args[name] = json.RawMessage(value)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// property is the published schema of one argument.
type property struct {
	Type             string
	Enum             []string
	Minimum, Maximum *float64
	Items            *property
}

// TestBadArguments tests every argument in the published schemas. If the argument is missing, of a
// wrong type, out of range or misspelled, the call fails with a BAD_ARGS error that names it, and
// the executor is not called.
func TestBadArguments(t *testing.T) {
	wrong := map[string]string{"string": `"x"`, "boolean": `true`, "number": `1.5`, "array": `["x"]`, "object": `{"x":"y"}`}
	var rec recorder
	cs := connect(t, NewServer(canned(&rec), &Options{
		Tools: Toolsets(), Handover: &HandoverOptions{Prompter: popupAnswer("done")}, OutputDir: filepath.Join(t.TempDir(), "out"), CallsPerMinute: -1,
	}), nil)
	cases := 0
	rejected := func(tool, name, args string) {
		t.Helper()
		cases++
		res := callTool(t, cs, tool, args)
		text := textOf(res)
		if !res.IsError || !strings.HasPrefix(text, "BAD_ARGS: ") || !strings.Contains(text, name) {
			t.Errorf("%s %s: %s, want BAD_ARGS that names %s", tool, args, text, name)
		}
		if called := rec.take(); called != "" {
			t.Errorf("%s %s: called executor: %s", tool, args, called)
		}
	}
	for _, tool := range allTools() {
		var schema struct {
			Properties map[string]property
			Required   []string
		}
		if err := json.Unmarshal([]byte(toolschema.Input(tool.args)), &schema); err != nil {
			t.Fatal(err)
		}
		if res := callTool(t, cs, tool.name, validArgs[tool.name]); res.IsError {
			t.Errorf("%s %s: %s", tool.name, validArgs[tool.name], textOf(res))
		}
		rec.take()
		for _, name := range schema.Required {
			rejected(tool.name, name, withArg(t, tool.name, name, ""))
			rejected(tool.name, name, withArg(t, tool.name, name, "null"))
		}
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			p := schema.Properties[name]
			for typ, value := range wrong {
				if typ == p.Type || (name == "gone" && typ == "boolean") {
					continue
				}
				rejected(tool.name, name, withArg(t, tool.name, name, value))
			}
			if p.Type == "integer" {
				rejected(tool.name, name, withArg(t, tool.name, name, "1e300"))
			}
			if p.Minimum != nil {
				rejected(tool.name, name, withArg(t, tool.name, name, fmt.Sprint(int(*p.Minimum)-1)))
			}
			if p.Maximum != nil {
				rejected(tool.name, name, withArg(t, tool.name, name, fmt.Sprint(int(*p.Maximum)+1)))
			}
			if p.Enum != nil {
				rejected(tool.name, name, withArg(t, tool.name, name, `"no such"`))
			}
			if p.Items != nil {
				rejected(tool.name, name, withArg(t, tool.name, name, `["a",1]`))
				if p.Items.Enum != nil {
					rejected(tool.name, name, withArg(t, tool.name, name, `["no such"]`))
				}
			}
			twice := fmt.Sprintf(`{%q:%s,%q:%s}`, name, wrong[p.Type], name, wrong[p.Type])
			if wrong[p.Type] != "" && p.Enum == nil && (p.Items == nil || p.Items.Type == "string" && p.Items.Enum == nil) && name != "tabId" && !strings.HasSuffix(strings.ToLower(name), "ref") {
				rejected(tool.name, name+" is given twice", twice)
			}
			// The error for a misspelled name suggests the correct one.
			if _, taken := schema.Properties[name+"s"]; !taken {
				rejected(tool.name, name, withArg(t, tool.name, name+"s", "1"))
			}
		}
		rejected(tool.name, "noSuchArgument", withArg(t, tool.name, "noSuchArgument", "1"))
		rejected(tool.name, "must be an object, got an array", `[]`)
	}
	t.Logf("%d cases", cases)
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"click", `{}`, "neither selector nor ref given"},
		{"click", `{"ref":"e1","selector":"#a"}`, "both selector and ref given"},
		{"click", `{"selector":"` + strings.Repeat("a", 65_537) + `"}`, "the selector has 65537 bytes; at most 65536 are allowed"},
		{"click", `{"ref":"button"}`, `ref "button" is not a ref`},
		{"click", `{"ref":"e1","tabId":"7"}`, `tabId "7" is not a tab id`},
		{"click", `{"ref":"e1","timeoutMs":"5"}`, "timeoutMs must be an integer number of milliseconds from 1 to 600000, got a string"},
		{"click", `{"ref":"e1","timeoutMs":1.5}`, `timeoutMs must be an integer number of milliseconds from 1 to 600000, got "1.5"`},
		{"click", `{"ref":"e1","clickCount":4}`, "clickCount must be an integer from 1 to 3, got 4"},
		{"click", `{"ref":"e1","button":"top"}`, `button must be left, right or middle, got "top"`},
		{"click", `{"ref":"e1","modifiers":["Ctrl"]}`, `modifiers must be an array of Alt, Control, Meta or Shift, got "Ctrl"`},
		{"click", `{"ref":"e1","ref":"e2"}`, "ref is given twice"},
		{"click", `{"selector":""}`, "selector must not be empty"},
		{"navigate", `{}`, "url is missing: it must be a string"},
		{"screenshot", `{"ref":"e1","fullPage":true}`, "fullPage and a selector or ref contradict each other"},
		{"screenshot", `{"quality":50}`, "quality needs format to be jpeg or webp"},
		{"screenshot", `{"ref":"e1","selector":"#a"}`, "both selector and ref given"},
		{"download_file", `{}`, "exactly one of url and an element is needed"},
		{"download_file", `{"url":"https://a/","ref":"e1"}`, "exactly one of url and an element is needed"},
		{"scroll", `{}`, "no scroll target"},
		{"scroll", `{"x":1,"deltaX":1}`, "x and deltaX contradict each other"},
		{"scroll", `{"y":1,"deltaY":1}`, "y and deltaY contradict each other"},
		{"handle_dialog", `{"accept":false,"promptText":"x"}`, "promptText needs accept to be true"},
		{"wait_for", `{}`, "nothing to wait for"},
		{"wait_for", `{"gone":true}`, "gone must be a selector or ref, got true"},
		{"wait_for", `{"gone":true,"selector":"#a","text":"b"}`, "gone must be a selector or ref, got true"},
		{"wait_for", `{"gone":false}`, "nothing to wait for"},
		{"wait_for", `{"text":"a","textContains":"b"}`, "text and textContains are the same argument and both are given"},
		{"wait_for", `{"timeMs":500,"timeoutMs":500}`, "timeMs must be less than timeoutMs, got 500 and 500"},
		{"snapshot", `{"maxChars":1000001}`, "maxChars must be an integer number of characters from 1 to 1000000, got 1000001"},
		{"snapshot", `{"diff":true,"offset":5}`, "diff and offset contradict each other"},
		{"snapshot", `{"diff":true,"find":"x"}`, "diff and find contradict each other"},
		{"snapshot", `{"diff":true,"depth":2}`, "diff and depth contradict each other"},
		{"snapshot", `{"diff":true,"interactiveOnly":true}`, "diff and interactiveOnly contradict each other"},
		{"fill_form", `{"fields":{}}`, "fields must have at least one field"},
		{"fill_form", `{"fields":{"#a":1}}`, `fields must have a string, a boolean or an array of strings for "#a", got a number`},
		{"fill_form", `{"fields":{"#a":["x",1]}}`, `fields must have a string, a boolean or an array of strings for "#a", got an array with a number in it`},
		{"fill_form", `{"fields":{"e1":"a","@e1":"b"}}`, `fields must name each field once, got "@e1" twice`},
		{"fill_form", `{"fields":{"#a":"x"},"submitRef":"e1","submitSelector":"#b"}`, "both submitSelector and submitRef given"},
		{"emulate", `{"geolocation":"Oslo"}`, `geolocation must be a latitude and a longitude, got "Oslo"`},
		{"emulate", `{"headers":{"https://a":"x"}}`, `headers must have an object for "https://a", got a string`},
		{"emulate", `{"headers":{"https://a":{"X-Lamp":1}}}`, `headers must have a string for "X-Lamp", got a number`},
		{"emulate", `{"headers":{"https://a":{},"https://a":{}}}`, `headers must have "https://a" only once`},
		{"tab_select", `{}`, "exactly one of tabId and url is needed"},
		{"type", `{"ref":"e1","text":"a","delayMs":0}`, "delayMs must be an integer number of milliseconds from 1 to 30000, got 0"},
		{"tabs_list", `7`, "arguments must be an object, got a number"},
		{"tabs_list", `{`, "arguments must be a JSON object"},
		{"tabs_list", `{} {}`, "arguments must be one JSON object"},
	} {
		_, err := toolNamed(t, c.tool).decode(json.RawMessage(c.args))
		var e *executor.Error
		if !errors.As(err, &e) || e.Code != executor.ErrBadArgs || e.Message() != c.want {
			t.Errorf("%s %s: %v, want %s", c.tool, c.args, err, c.want)
		}
	}
}

func TestUnknownArgumentSuggestsNearest(t *testing.T) {
	for _, c := range []struct{ tool, key, want string }{
		{"click", "tab_id", "tabId"},
		{"click", "timeout", "timeoutMs"},
		{"click", "selecter", "selector"},
		{"click", "element", ""},
		{"click", strings.Repeat("selector", 10000), "selector"},
		{"tabs_list", "tabId", ""},
	} {
		_, err := toolNamed(t, c.tool).decode(json.RawMessage(fmt.Sprintf(`{%q:1}`, c.key)))
		var e *executor.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s %s: %v", c.tool, c.key, err)
		}
		if got := strings.HasPrefix(e.Hint, "Did you mean "+c.want+"?"); got != (c.want != "") {
			t.Errorf("%s %.20s: hint %q, want %q", c.tool, c.key, e.Hint, c.want)
		}
		if len(e.Error()) > 200 {
			t.Errorf("%s %.20s: the error is %d bytes long", c.tool, c.key, len(e.Error()))
		}
	}
}

func toolNamed(t testing.TB, name string) *tool {
	t.Helper()
	for _, tool := range allTools() {
		if tool.name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func FuzzDecode(f *testing.F) {
	for _, c := range goldenCalls {
		f.Add(c.args)
	}
	f.Add(`{"ref":"e1","ref":"e1"}`)
	f.Add(`{"timeoutMs":1e309,"x":-0.0,"modifiers":[null]}`)
	f.Add(`{"fields":{"e1":{"a":1}},"gone":true}`)
	f.Add("{\"\xff\":1}")
	tools := allTools()
	known := make([]map[string]bool, len(tools))
	for i := range tools {
		known[i] = map[string]bool{}
		for _, p := range toolschema.Params(tools[i].args) {
			known[i][p.Name], known[i][cmp.Or(p.Alias, p.Name)] = true, true
		}
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for i := range tools {
			args, err := tools[i].decode(json.RawMessage(raw))
			if err != nil {
				var e *executor.Error
				if !errors.As(err, &e) || e.Code != executor.ErrBadArgs || e.Message() == "" {
					t.Errorf("%s %q: %v, want BAD_ARGS", tools[i].name, raw, err)
				}
				continue
			}
			if strings.TrimSpace(raw) == "" || strings.TrimSpace(raw) == "null" {
				continue
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(raw), &members); err != nil {
				t.Fatalf("%s accepted %q, which is not an object: %v", tools[i].name, raw, err)
			}
			for key := range members {
				if !known[i][key] {
					t.Errorf("%s accepted %q with the unknown %q", tools[i].name, raw, key)
				}
			}
			for _, p := range toolschema.Params(tools[i].args) {
				v := reflect.ValueOf(args).FieldByIndex(p.Index)
				if p.Required && v.IsZero() && len(members) == 0 {
					t.Errorf("%s accepted %q without %s", tools[i].name, raw, p.Name)
				}
			}
		}
	})
}

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// maskShop masks a word that is in nearly all results of the tests.
func maskShop(text string) string {
	return strings.NewReplacer("shop", "••••", "Shop", "••••", "1234567", "••••").Replace(text)
}

// TestResultsAreMasked checks that no result of a tool has what is masked: not in its text, its
// structured content, its error and its metadata.
func TestResultsAreMasked(t *testing.T) {
	contained := 0
	for _, masked := range []bool{false, true} {
		for _, structured := range []bool{false, true} {
			opts := Options{Structured: structured}
			if masked {
				opts.Mask = maskShop
			}
			var rec recorder
			cs, _ := connectWithOutput(t, canned(&rec), opts)
			for _, c := range goldenCalls {
				res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: rawArgs(c.args)})
				if err != nil {
					continue
				}
				var raw bytes.Buffer
				if err := json.NewEncoder(&raw).Encode(res); err != nil {
					t.Fatal(err)
				}
				switch has := strings.Contains(strings.ToLower(raw.String()), "shop"); {
				case has && masked:
					t.Errorf("%s %s: %s", c.tool, c.args, raw.String())
				case has:
					contained++
				}
				if text := textOf(res); masked && strings.Count(text, "<page k7f3q2 ") != strings.Count(text, "</page k7f3q2>") {
					t.Errorf("%s: the fence is damaged: %s", c.tool, text)
				}
			}
		}
	}
	if contained < 50 {
		t.Errorf("only %d results have the text that is masked", contained)
	}
}

// TestMaskedValues checks what is masked in the value of a script: also names and numbers. Our own
// members and numbers stay.
func TestMaskedValues(t *testing.T) {
	ex := &fake{
		eval: func(context.Context, executor.TabID, string, *executor.EvalOptions) (*executor.EvalResult, error) {
			return &executor.EvalResult{OK: true, Type: "object", Origin: "https://a.example", Value: executor.RawJSON(`{"Shop1":[1234567,12.5,"x shop y",{"a":null}]}`)}, nil
		},
		snapshot: func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error) {
			return nil, &executor.Error{Code: executor.ErrRefExpired, Err: executor.Errorf(executor.ErrRefExpired, "", "no shop"), Hint: "Shop again.",
				Candidates: []executor.Candidate{{Role: "button", Name: "to the shop", Ref: "e1"}}}
		},
		html: func(context.Context, executor.TabID, *executor.HTMLOptions) (*executor.HTML, error) {
			return &executor.HTML{Content: "</page k7f3q2>\n<page k7f3q2 shop>\n<b>shop</b>", Origin: "https://shop.example"}, nil
		},
	}
	cs, dir := connectWithOutput(t, ex, Options{Structured: true, Mask: maskShop})
	res := callTool(t, cs, "eval", `{"expression":"x"}`)
	value, err := json.Marshal(structuredOf(t, res)["value"])
	if want := `{"••••1":["••••",12.5,"x •••• y",{"a":null}]}`; err != nil || string(value) != want {
		t.Errorf("value %s, want %s", value, want)
	}
	callTool(t, cs, "eval", `{"expression":"x","file":"value"}`)
	callTool(t, cs, "get_html", `{"file":"page"}`)
	for name, want := range map[string]string{"value.json": `{"••••1":["••••",12.5,"x •••• y",{"a":null}]}`, "page.html": "</page k7f3q2>\n<page k7f3q2 ••••>\n<b>••••</b>"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	if res := callTool(t, cs, "snapshot", `{}`); strings.Contains(strings.ToLower(asText(res)), "shop") {
		t.Errorf("error: %s", asText(res))
	}
	if text := textOf(callTool(t, cs, "get_html", `{}`)); strings.Contains(text, "shop") || strings.HasPrefix(text, "<page k7f3q2 ") {
		t.Errorf("fence with a text that has its nonce: %s", text)
	}
}

// TestErrorsAreMasked checks each text of an error.
func TestErrorsAreMasked(t *testing.T) {
	notPageText := map[string]bool{"Code": true, "ID": true, "Ref": true, "Browser": true}
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && !notPageText[f.Name] {
					fill(v.Field(i))
				}
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case reflect.String:
			v.SetString("the shop")
		}
	}
	var m ErrorInfo
	fill(reflect.ValueOf(&m).Elem())
	if strings.Count(asText(m), "shop") < 12 {
		t.Fatalf("texts are missing: %s", asText(m))
	}
	before := asText(m)
	res := &sdk.CallToolResult{Meta: sdk.Meta{ErrorKey: m}}
	s := &toolRunner{opts: &Options{Mask: maskShop}}
	s.maskResult(res)
	if got := asText(res.Meta); strings.Contains(got, "shop") {
		t.Error(got)
	}
	if asText(m) != before {
		t.Error("the lists of the executor were changed")
	}
}

// TestWithheldResults checks that of a result that is withheld no text remains, and no text of a
// file, and that others stay.
func TestWithheldResults(t *testing.T) {
	ex := &fake{
		eval: func(context.Context, executor.TabID, string, *executor.EvalOptions) (*executor.EvalResult, error) {
			return &executor.EvalResult{OK: true, Type: "object", Origin: "https://a.example", Value: executor.RawJSON(`["page text","shop"]`)}, nil
		},
		snapshot: func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error) {
			return nil, &executor.Error{Code: executor.ErrRefExpired, Err: errors.New("page text of the shop"),
				Candidates: []executor.Candidate{{Role: "button", Name: "page text", Ref: "e1"}}}
		},
		html: func(context.Context, executor.TabID, *executor.HTMLOptions) (*executor.HTML, error) {
			return &executor.HTML{Content: "<b>no secret</b>", Origin: "https://a.example"}, nil
		},
	}
	asked := 0
	cs, dir := connectWithOutput(t, ex, Options{Structured: true, Mask: maskShop, Withhold: func(string) bool { asked++; return true }})
	for _, call := range [][2]string{{"eval", `{"expression":"x"}`}, {"snapshot", `{}`}} {
		res := callTool(t, cs, call[0], call[1])
		if text := asText(res); strings.Contains(text, "page text") || !strings.Contains(text, "withheld") {
			t.Errorf("%s: %s", call[0], text)
		}
		if code, _ := ErrorCode(res); res.IsError != (code == executor.ErrRefExpired) {
			t.Errorf("%s: isError %v, code %s", call[0], res.IsError, code)
		}
	}
	callTool(t, cs, "eval", `{"expression":"x","file":"value"}`)
	if got, err := os.ReadFile(filepath.Join(dir, "value.json")); err != nil || !json.Valid(got) || !strings.Contains(string(got), "withheld") {
		t.Errorf("file: %q %v", got, err)
	}
	if text := textOf(callTool(t, cs, "get_html", `{}`)); !strings.Contains(text, "no secret") {
		t.Errorf("a text without a secret: %s", text)
	}
	if asked != 3 {
		t.Errorf("asked for %d texts, want 3", asked)
	}
}

func asText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// TestSecretsList checks that only names, fields and origins are listed.
func TestSecretsList(t *testing.T) {
	var rec recorder
	cs := connect(t, NewServer(canned(&rec), &Options{Tools: Toolsets(), Structured: true, Secrets: listedSecrets{}}), nil)
	res := callTool(t, cs, "secrets_list", `{}`)
	if want := "{{bank.pin}}, {{bank.totp}} for https://bank.example, https://bank.example:8443"; textOf(res) != want {
		t.Errorf("%s, want %s", textOf(res), want)
	}
	if raw := asText(res.StructuredContent); raw != `{"secrets":[{"fields":["pin","totp"],"name":"bank","origins":["https://bank.example","https://bank.example:8443"]}]}` {
		t.Errorf("structured: %s", raw)
	}
}

type listedSecrets struct{}

func (listedSecrets) List(context.Context) ([]executor.SecretInfo, error) {
	return []executor.SecretInfo{{Name: "bank", Fields: []string{"pin", "totp"}, Origins: []string{"https://bank.example", "https://bank.example:8443"}}}, nil
}

func (listedSecrets) Find(context.Context, string, string) (*executor.SecretField, bool, error) {
	return nil, false, nil
}

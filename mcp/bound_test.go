package mcp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestEveryResultIsBounded fills each string of each tool's result with long page text and checks
// the size of the result that a client receives.
func TestEveryResultIsBounded(t *testing.T) {
	tier.Slow(t)
	const long = mcptext.MaxField + mcptext.MaxField/2
	page := strings.Repeat("é", long)
	s := newServer(nil, false, &Options{Tools: Toolsets(), Nonce: "k7f3q2"}).newRunner(nil)
	for _, tool := range s.tools {
		if tool.name == "chrome_status" || tool.name == "emulate" {
			continue // their results have no page text
		}
		t.Run(tool.name, func(t *testing.T) {
			v := reflect.New(tool.result).Elem()
			fillStrings(v, page, "")
			res, err := s.renderResult(v.Interface().(mcptext.Result), true)
			if err != nil {
				t.Fatal(err)
			}
			var content any
			if err := json.Unmarshal(res.StructuredContent.(json.RawMessage), &content); err != nil {
				t.Fatal(err)
			}
			wantBounded(t, content, "")
			if n := utf8.RuneCountInString(textOf(res)); n > 20*mcptext.MaxField {
				t.Errorf("the text has %d characters", n)
			}
		})
	}
}

// wantBounded checks the length of the strings in v, the value at a path of a result.
func wantBounded(t *testing.T, v any, path string) {
	t.Helper()
	if slices.Contains(mcptext.LongFields, path) {
		return
	}
	switch v := v.(type) {
	case string:
		if n := utf8.RuneCountInString(v); n > mcptext.MaxField+1 {
			t.Errorf("%s has %d characters", path, n)
		}
	case []any:
		for _, e := range v {
			wantBounded(t, e, path+"[]")
		}
	case map[string]any:
		for k, e := range v {
			wantBounded(t, k, path)
			wantBounded(t, e, strings.TrimPrefix(path+"."+k, "."))
		}
	}
}

// trustedFields are fields that pages do not control.
var trustedFields = []string{"requests[].id", "requests[].type", "downloads[].state", "type", "links[].ref"}

// fillStrings sets v, the value at a path of a result, and all strings inside it to s. Fields in
// mcptext.LongFields and trustedFields stay empty.
func fillStrings(v reflect.Value, s, path string) {
	if slices.Contains(mcptext.LongFields, path) || slices.Contains(trustedFields, path) || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillStrings(v.Elem(), s, path)
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind != reflect.Interface && kind != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillStrings(v.Index(0), s, path+"[]")
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillStrings(key, s, path)
		fillStrings(value, s, path)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			at := strings.TrimPrefix(path+"."+name, ".")
			if field.Anonymous {
				at = path
			}
			fillStrings(v.Field(i), s, at)
		}
	}
}

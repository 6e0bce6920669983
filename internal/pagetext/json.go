package pagetext

import (
	"bytes"
	"encoding/json"
)

// RewriteJSON returns raw with its value replaced by what f returns for it. Numbers keep their digits.
// If raw is not JSON, RewriteJSON returns it unchanged.
func RewriteJSON(raw []byte, f func(any) any) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(f(v)) != nil {
		return raw
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// MapTexts applies f to all texts of a value that [RewriteJSON] passes: strings, names of members, and
// numbers, which become strings if f changes them.
func MapTexts(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case json.Number:
		if text := f(v.String()); text != v.String() {
			return text
		}
	case []any:
		for i := range v {
			v[i] = MapTexts(v[i], f)
		}
	case map[string]any:
		mapped := make(map[string]any, len(v))
		for name, e := range v {
			mapped[f(name)] = MapTexts(e, f)
		}
		return mapped
	}
	return v
}

package entered

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/redact"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

// A Masker masks the values that the user entered.
type Masker struct {
	*secrets.Masker
	starts map[string][]string // the values, as [secrets.Fold] returns them, by their first bytes
	most   int                 // bytes of a value
}

// minCut is the minimum length of the start of a value that is masked where a text is truncated, in
// bytes.
const minCut = 2

// NewMasker returns a Masker of values.
func NewMasker(values []string) *Masker {
	all := slices.Clone(values)
	for _, s := range values {
		// As the outline of a page shows it.
		if shown := pagetext.Clean(s); shown != s && !isTooShort(shown) {
			all = append(all, shown)
		}
	}
	m := &Masker{Masker: secrets.NewMasker(all), starts: make(map[string][]string)}
	for _, s := range all {
		s = secrets.Fold(s)
		m.starts[s[:minCut]] = append(m.starts[s[:minCut]], s)
		m.most = max(m.most, len(s))
	}
	return m
}

// Replace masks the values in s, and the start of one where s is truncated.
func (m *Masker) Replace(s string) string {
	s = m.Mask(s)
	for end := strings.LastIndex(s, "…"); end > 0; end = strings.LastIndex(s[:end], "…") {
		if start := m.startOf(s[:end]); start < end {
			s = s[:start] + redact.FieldMask + s[end:]
			end = start
		}
	}
	return s
}

// startOf returns where the start of a value begins with which s ends; len(s) if there is none.
func (m *Masker) startOf(s string) int {
	from := max(0, len(s)-m.most)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	tail := secrets.Fold(s[from:])
	if len(tail) != len(s)-from {
		tail = s[from:]
	}
	for i := 0; i+minCut <= len(tail); i++ {
		for _, v := range m.starts[tail[i:i+minCut]] {
			if strings.HasPrefix(v, tail[i:]) {
				return from + i
			}
		}
	}
	return len(s)
}

// Spans find the parts of a text that are masked, as [secrets.Masker.Spans] does.
type Spans interface {
	Spans(text string) [][2]int
}

// spanWindow is how far from the ends of a part of a text WholeSpans searches, in bytes.
const spanWindow = 64 << 10

// maskJSON masks the strings in raw, the names of members, and numbers, which become strings.
func maskJSON(raw executor.RawJSON, r *Masker) executor.RawJSON {
	if r.Replace(string(raw)) == string(raw) {
		return raw
	}
	masked := pagetext.RewriteJSON(raw, func(v any) any { return pagetext.MapTexts(v, r.Replace) })
	if bytes.Equal(masked, raw) { // it is not JSON
		return executor.RawJSON(`"` + redact.FieldMask + `"`)
	}
	return masked
}

// notText has the names of the fields of results that contain no text of a page.
var notText = map[string]bool{"Origin": true, "Tab": true, "TabID": true, "Ref": true}

// maskStrings applies r to all texts that v contains. Texts of other types than string, such as
// refs, are not from a page.
func maskStrings(v reflect.Value, r *Masker) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			maskStrings(v.Elem(), r)
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		c := reflect.New(v.Elem().Type()).Elem()
		c.Set(v.Elem())
		maskStrings(c, r)
		if v.CanSet() {
			v.Set(c)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !notText[f.Name] {
				maskStrings(v.Field(i), r)
			}
		}
	case reflect.Slice:
		if raw, ok := v.Interface().(executor.RawJSON); ok {
			if v.CanSet() {
				v.SetBytes(maskJSON(raw, r))
			}
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // an image
		}
		for i := range v.Len() {
			maskStrings(v.Index(i), r)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			c := reflect.New(v.Type().Elem()).Elem()
			c.Set(v.MapIndex(k))
			maskStrings(c, r)
			v.SetMapIndex(k, c)
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(r.Replace(v.String()))
		}
	}
}

// MaskValue masks the values in what a client receives, which it changes.
func (m *Masker) MaskValue(value any) { maskStrings(reflect.ValueOf(value), m) }

// MaskTruncated masks the start of a value at the ends of truncated items.
func (m *Masker) MaskTruncated(items []executor.Item) {
	for i := range items {
		if item := &items[i]; item.Truncated {
			if start := m.startOf(item.Value); start < len(item.Value) {
				item.Value = item.Value[:start] + redact.FieldMask
			}
		}
	}
}

// MaskError masks the values in an error.
func (m *Masker) MaskError(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok {
		return err
	}
	masked := *e
	masked.Candidates = slices.Clone(e.Candidates)
	for i := range masked.Candidates {
		m.MaskValue(&masked.Candidates[i])
	}
	masked.Hint = m.Replace(e.Hint)
	if text := m.Replace(e.Message()); text != e.Message() {
		masked.Err = errors.New(text)
	}
	return &masked
}

// WholeSpans returns the part s[start:end], extended by the rest of what is masked at its ends.
func WholeSpans(s string, start, end int, maskers ...Spans) (int, int) {
	for _, m := range maskers {
		for _, at := range []int{start, end} {
			from := max(0, at-spanWindow)
			for _, span := range m.Spans(s[from:min(len(s), at+spanWindow)]) {
				if a, b := from+span[0], from+span[1]; a < at && at < b {
					start, end = min(start, a), max(end, b)
				}
			}
		}
	}
	return start, end
}

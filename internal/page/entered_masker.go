package page

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/redact"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

// maskTruncated masks the start of what the user entered at the ends of truncated values.
func (v *View) maskTruncated(items []executor.Item) {
	values := v.tab.openerGroup.entered()
	if len(values) == 0 {
		return
	}
	m := newEnteredMasker(values)
	for i := range items {
		if item := &items[i]; item.Truncated {
			if start := m.startOf(item.Value); start < len(item.Value) {
				item.Value = item.Value[:start] + redact.FieldMask
			}
		}
	}
}

// MaskEntered masks the values that the user entered in the documents of the opener group of the tab
// in what a client receives, which it changes.
func (v *View) MaskEntered(value any) {
	if values := v.tab.openerGroup.entered(); len(values) > 0 {
		maskStrings(reflect.ValueOf(value), newEnteredMasker(values))
	}
}

// enteredTextFields returns the text fields of the tab in which the user entered something.
func (v *View) enteredTextFields(ctx context.Context) ([]*elements.Element, error) {
	if !v.tab.openerGroup.wasHandedOver() {
		return nil, nil
	}
	return v.fieldsOf(ctx, "enteredTextFields")
}

// HasEntered reports whether MaskEntered masks anything.
func (v *View) HasEntered() bool { return len(v.tab.openerGroup.entered()) > 0 }

// MaskEnteredError masks the values that the user entered in an error.
func (v *View) MaskEnteredError(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	values := v.tab.openerGroup.entered()
	if !ok || len(values) == 0 {
		return err
	}
	masked := *e
	masked.Candidates = slices.Clone(e.Candidates)
	r := newEnteredMasker(values)
	for i := range masked.Candidates {
		maskStrings(reflect.ValueOf(&masked.Candidates[i]), r)
	}
	masked.Hint = r.Replace(e.Hint)
	if text := r.Replace(e.Message()); text != e.Message() {
		masked.Err = errors.New(text)
	}
	return &masked
}

// An enteredMasker masks the values that the user entered.
type enteredMasker struct {
	*secrets.Masker
	starts map[string][]string // the values, as [secrets.Fold] returns them, by their first bytes
	most   int                 // bytes of a value
}

// minCut is the minimum length of the start of a value that is masked where a text is truncated, in
// bytes.
const minCut = 2

func newEnteredMasker(values []string) *enteredMasker {
	all := slices.Clone(values)
	for _, s := range values {
		// As the outline of a page shows it.
		if shown := pagetext.Clean(s); shown != s && !isTooShort(shown) {
			all = append(all, shown)
		}
	}
	m := &enteredMasker{Masker: secrets.NewMasker(all), starts: make(map[string][]string)}
	for _, s := range all {
		s = secrets.Fold(s)
		m.starts[s[:minCut]] = append(m.starts[s[:minCut]], s)
		m.most = max(m.most, len(s))
	}
	return m
}

// Replace masks the values in s, and the start of one where s is truncated.
func (m *enteredMasker) Replace(s string) string {
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
func (m *enteredMasker) startOf(s string) int {
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

// textSpans are [secrets.Masker.Spans].
type textSpans interface {
	Spans(text string) [][2]int
}

// spanWindow is how far from the ends of a part of a text wholeSpans searches, in bytes.
const spanWindow = 64 << 10

// wholeSpans returns the part s[start:end], extended by the rest of what is masked at its ends: values
// of secrets, and what the user entered.
func (v *View) wholeSpans(s string, start, end int) (int, int) {
	var maskers []textSpans
	if m, ok := v.opts.Secrets.(textSpans); ok {
		maskers = append(maskers, m)
	}
	if values := v.tab.openerGroup.entered(); len(values) > 0 {
		maskers = append(maskers, newEnteredMasker(values))
	}
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

// maskJSON masks the strings in raw, the names of members, and numbers, which become strings.
func maskJSON(raw executor.RawJSON, r *enteredMasker) executor.RawJSON {
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
func maskStrings(v reflect.Value, r *enteredMasker) {
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

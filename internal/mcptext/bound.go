package mcptext

import (
	"bytes"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// MaxField is the maximum number of characters of a string in a structured result, unless its field
// is in LongFields. Most strings in results are page text, such as titles, and pages can make them
// arbitrarily long.
const MaxField = 4000

// LongFields are the result fields whose length the caller requested, and those that must be
// complete because a later call uses their value. Values inside them are not bounded either.
var LongFields = []string{
	"text", "html", "markdown", "diff", "snapshot", // outlines and text of pages, bounded by maxChars
	"value", "output", // of eval and run_script
	"requests[].body",
	"cookies[].name", "cookies[].value", "items[].key", "items[].value", "after", // maxChars limits their total length
	"results[].result", // of batch; each result is bounded separately
}

// BoundJSON returns the structured result raw with long strings truncated, except in LongFields.
func BoundJSON(raw []byte) []byte {
	if !hasLongString(raw) {
		return raw
	}
	return pagetext.RewriteJSON(raw, func(v any) any { return boundValue(v, "") })
}

// hasLongString reports whether a string in raw may have more than MaxField
// characters.
func hasLongString(raw []byte) bool {
	for len(raw) > MaxField {
		end := bytes.IndexByte(raw, '"')
		if end < 0 || end > MaxField {
			return end > MaxField
		}
		raw = raw[end+1:]
	}
	return false
}

// boundValue bounds the value at a path such as tabs[].title.
func boundValue(v any, path string) any {
	if slices.Contains(LongFields, path) {
		return v
	}
	switch v := v.(type) {
	case string:
		return pagetext.Truncate(v, MaxField)
	case []any:
		for i := range v {
			v[i] = boundValue(v[i], path+"[]")
		}
	case map[string]any:
		bounded := make(map[string]any, len(v))
		for k, e := range v {
			bounded[pagetext.Truncate(k, MaxField)] = boundValue(e, strings.TrimPrefix(path+"."+k, "."))
		}
		return bounded
	}
	return v
}

package mcp

import (
	"bytes"
	"slices"
	"strings"
)

// maxField is the maximum number of characters of a string in a structured
// result, unless its field is one of longFields. Most strings in results are
// page text, such as titles, which pages can make as long as they like.
const maxField = 4000

// longFields are the fields of results that are as long as the caller asked for,
// and those that a call must be able to give back whole. What is in them is not
// bounded either.
var longFields = []string{
	"text", "html", "markdown", "diff", "snapshot", // outlines and text of pages, bounded by maxChars
	"value", "output", // of eval and run_script
	"requests[].body",
	"cookies[].name", "cookies[].value", "items[].key", "items[].value", "after", // bounded by maxChars together
	"results[].result", // of batch: each is bounded by itself
}

// boundJSON returns the structured result raw with the strings in other fields
// than longFields cut.
func boundJSON(raw []byte) []byte {
	if !hasLongString(raw) {
		return raw
	}
	return rewriteJSON(raw, func(v any) any { return boundValue(v, "") })
}

// hasLongString reports whether a string in raw may have more than maxField
// characters.
func hasLongString(raw []byte) bool {
	for len(raw) > maxField {
		end := bytes.IndexByte(raw, '"')
		if end < 0 || end > maxField {
			return end > maxField
		}
		raw = raw[end+1:]
	}
	return false
}

// boundValue bounds the value at a path such as tabs[].title.
func boundValue(v any, path string) any {
	if slices.Contains(longFields, path) {
		return v
	}
	switch v := v.(type) {
	case string:
		return ended(v, maxField)
	case []any:
		for i := range v {
			v[i] = boundValue(v[i], path+"[]")
		}
	case map[string]any:
		bounded := make(map[string]any, len(v))
		for k, e := range v {
			bounded[ended(k, maxField)] = boundValue(e, strings.TrimPrefix(path+"."+k, "."))
		}
		return bounded
	}
	return v
}

// ended returns s, or its first n characters and a mark.
func ended(s string, n int) string {
	if start := firstChars(s, n); len(start) < len(s) {
		return start + "…"
	}
	return s
}

package mcp

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// hint returns an executor's hint, with tools and flags instead of Go names, adapted to the
// arguments of t. It removes sentences that name an argument that t does not have.
func (t *tool) hint(text string, retryable bool) string {
	moreTime := "Try again."
	if t.hasParam("timeoutMs") {
		moreTime = "Try again with a longer timeoutMs."
	}
	readLess := "The page is large."
	var by []string
	for _, name := range []string{"selector", "ref", "find"} {
		if t.hasParam(name) {
			by = append(by, name)
		}
	}
	if len(by) > 0 {
		readLess = "The page is large: read a part of it, by " + strings.Join(by, " or ") + "."
	}
	text = strings.NewReplacer(
		executor.HintMoreTime, moreTime,
		executor.HintReadLess, readLess,
	).Replace(hint.Translate(text))
	sentences := strings.SplitAfter(text, ". ")
	kept := slices.DeleteFunc(slices.Clone(sentences), t.lacksArgument)
	switch {
	case len(kept) == len(sentences):
		return text
	case len(kept) == 0 && retryable:
		return "Try again."
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// translateTexts replaces the Go names in the notes and reasons of a result, which contain hints, by
// tools and flags.
func translateTexts(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			translateTexts(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // the bytes of a file, of which there can be millions
		}
		for i := range v.Len() {
			translateTexts(v.Index(i))
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			switch {
			case !field.IsExported():
			case value.Kind() != reflect.String:
				translateTexts(value)
			case value.CanSet() && (field.Name == "Note" || field.Name == "Reason"):
				value.SetString(hint.Translate(value.String()))
			}
		}
	}
}

// lacksArgument reports whether a sentence names an argument of a tool, but neither t nor a tool
// that the sentence names has this argument. It does not recognize arguments whose name is an
// English word.
func (t *tool) lacksArgument(sentence string) bool {
	words := strings.FieldsFunc(sentence, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(words, func(word string) bool {
		owners := argumentOwners()[word]
		return len(owners) > 0 && !t.hasParam(word) &&
			!slices.ContainsFunc(words, func(name string) bool { return slices.Contains(owners, name) })
	})
}

// argumentOwners returns, for each argument whose name is not an English word, the tools that have
// it.
var argumentOwners = sync.OnceValue(func() map[string][]string {
	owners := make(map[string][]string)
	for _, t := range allTools() {
		for _, p := range toolschema.Params(t.args) {
			if strings.ContainsFunc(p.Name, unicode.IsUpper) {
				owners[p.Name] = append(owners[p.Name], t.name)
			}
		}
	}
	return owners
})

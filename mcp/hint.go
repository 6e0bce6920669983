package mcp

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// hint returns an executor's hint about a call of t for the client of ctx, with tools and flags
// instead of Go names, adapted to the arguments of t. It removes sentences that the client cannot
// follow: those that name an argument that t does not have, a tool that the session does not offer,
// or one that the policy denies. If no sentence is left, the hint says how the user can allow it.
func (r *toolRunner) hint(ctx context.Context, t *tool, text string, retryable bool) string {
	var kept []string
	allow, all := "", sentences(text)
	for _, sentence := range all {
		if o := r.whyUnusable(ctx, sentence); o != nil {
			allow = cmp.Or(allow, o.allow)
		} else if sentence = t.adapt(hint.Translate(sentence)); !t.lacksArgument(sentence) {
			kept = append(kept, sentence)
		}
	}
	if len(kept) == 0 && len(all) > 0 {
		if allow == "" && retryable {
			allow = "Try again."
		}
		return allow
	}
	return strings.Join(kept, " ")
}

// adapt returns a sentence of a hint adapted to the arguments of t.
func (t *tool) adapt(sentence string) string {
	moreTime := "Try again."
	if t.hasParam("timeoutMs") {
		moreTime = "Try again with a longer timeoutMs."
	}
	readLess := "The page may be large."
	var by []string
	for _, name := range []string{"selector", "ref", "find"} {
		if t.hasParam(name) {
			by = append(by, name)
		}
	}
	if len(by) > 0 {
		readLess = "The page may be large: read a part of it, by " + strings.Join(by, " or ") + "."
	}
	return strings.NewReplacer(
		executor.HintMoreTime, moreTime,
		executor.HintReadLess, readLess,
	).Replace(sentence)
}

// translateTexts replaces the Go names in the notes and reasons of a result, which contain hints, by
// tools and flags, and removes the sentences that the client of ctx cannot follow.
func (r *toolRunner) translateTexts(ctx context.Context, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			r.translateTexts(ctx, v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // the bytes of a file, of which there can be millions
		}
		for i := range v.Len() {
			r.translateTexts(ctx, v.Index(i))
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			switch {
			case !field.IsExported():
			case value.Kind() != reflect.String:
				r.translateTexts(ctx, value)
			case value.CanSet() && (field.Name == "Note" || field.Name == "Reason"):
				value.SetString(r.translateNote(ctx, value.String()))
			}
		}
	}
}

// translateNote returns a note or reason of the executor with tools and flags instead of Go names,
// without the sentences that the client of ctx cannot follow.
func (r *toolRunner) translateNote(ctx context.Context, text string) string {
	all := sentences(text)
	kept := slices.DeleteFunc(slices.Clone(all), func(sentence string) bool { return r.whyUnusable(ctx, sentence) != nil })
	if len(kept) < len(all) {
		text = strings.Join(kept, " ")
	}
	return hint.Translate(text)
}

// sentences returns the sentences of a text without the space between them. A quoted text does not
// end a sentence.
func sentences(text string) (list []string) {
	start, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ' ' && !quoted && i > 0 && (text[i-1] == '.' || text[i-1] == '?'):
			list = append(list, strings.TrimSpace(text[start:i]))
			start = i
		}
	}
	if last := strings.TrimSpace(text[start:]); last != "" {
		list = append(list, last)
	}
	return list
}

// wordsOf returns the words of a sentence. A tool name is one word.
func wordsOf(sentence string) []string {
	return strings.FieldsFunc(sentence, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// lacksArgument reports whether a sentence names an argument of a tool, but neither t nor a tool
// that the sentence names has this argument. It does not recognize arguments whose name is an
// English word.
func (t *tool) lacksArgument(sentence string) bool {
	words := wordsOf(sentence)
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

// An obstacle is a reason why a client cannot follow a sentence.
type obstacle struct {
	allow string // what the user can do about it; may be empty
}

// quotedText matches a quoted text, which may come from a page.
var quotedText = lazyregexp.New(`"(?:[^"\\]|\\.)*"`)

// whyUnusable returns the reason why the client of ctx cannot follow a sentence of the executor, or nil: it
// names a tool that the session does not offer, or a tool or an argument that needs a grant which the
// client does not have and for which the user cannot be prompted. Tools that are named by an English
// word, other than snapshot and screenshot, are recognized by their Go names only.
func (r *toolRunner) whyUnusable(ctx context.Context, sentence string) *obstacle {
	sentence = quotedText().ReplaceAllString(sentence, "")
	var tools []string
	var needs []*grant
	for name, text := range hint.Names {
		if strings.Contains(sentence, name) {
			tools = append(tools, text)
			needs = append(needs, grantsOfArguments[name]...)
		}
	}
	for _, word := range wordsOf(sentence) {
		if strings.Contains(word, "_") || word == "snapshot" || word == "screenshot" {
			tools = append(tools, word)
		}
	}
	slices.Sort(tools) // the order of a map is random
	for _, name := range tools {
		t := r.tool(name)
		if t == nil && toolsetOf(name) != "" {
			return &obstacle{"The user can enable " + name + " with --tools."}
		}
		if t != nil {
			needs = append(needs, grantsOfKinds[t.kind.letter]...)
		}
	}
	if len(needs) == 0 {
		return nil
	}
	reporter, ok := r.ex.(executor.PolicyReporter)
	if !ok {
		return nil // no policy
	}
	ch := prompting.ChannelOf(ctx)
	if ch != nil {
		ctx = r.prompter.Granter.WithCall(ctx, ch.Client)
	}
	p := reporter.PolicyStatus(ctx)
	for _, g := range needs {
		if !g.given(p) && (ch == nil || g.prompt == "") {
			return &obstacle{g.allow}
		}
	}
	return nil
}

// A grant is a grant of the policy that a tool or an argument needs.
type grant struct {
	given  func(*executor.PolicyStatus) bool
	prompt executor.PermissionKind // for which the user can be prompted; empty means none
	allow  string                  // what the user can do to give it; empty means that a hint must not say it
}

var (
	grantMutations = &grant{func(p *executor.PolicyStatus) bool { return p.Mutations }, executor.PermitMutations,
		"The user can allow changing pages with --enable-mutations."}
	grantDownloads = &grant{func(p *executor.PolicyStatus) bool { return p.Downloads }, executor.PermitDownloads,
		"The user can allow downloads with --enable-downloads."}
	grantUploads = &grant{func(p *executor.PolicyStatus) bool { return p.Uploads }, "",
		"The user can allow uploads from one directory with --uploads-dir."}
	grantState = &grant{func(p *executor.PolicyStatus) bool { return p.State }, "",
		"The user can allow saving and loading logins with --state-dir."}
	grantEval = &grant{func(p *executor.PolicyStatus) bool { return p.Eval }, "", ""}
)

// grantsOfKinds are the grants without which a tool cannot be used at all, by the letter of its kind.
var grantsOfKinds = map[string][]*grant{
	mutates.letter:   {grantMutations},
	evaluates.letter: {grantEval},
	downloads.letter: {grantDownloads},
	states.letter:    {grantState},
	uploads.letter:   {grantUploads, grantMutations},
}

// grantsOfArguments are the grants that arguments need, by the names of internal/hint.
var grantsOfArguments = map[string][]*grant{
	"DialogAnswer.Accept":      {grantMutations},
	"NavigateOptions.Resubmit": {grantMutations},
}

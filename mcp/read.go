package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

type snapshotArgs struct {
	tabArg
	optionalTarget
	InteractiveOnly bool   `json:"interactiveOnly,omitempty"`
	Depth           int    `json:"depth,omitempty" min:"1" max:"1000"`
	Find            string `json:"find,omitempty" jsonschema:"only lines with this text or /regex/"`
	Diff            bool   `json:"diff,omitempty" jsonschema:"only what changed since the last one"`
	maxCharsArg
	Offset int `json:"offset,omitempty" min:"0" jsonschema:"lines to skip"`
}

func (a snapshotArgs) check() error {
	for _, o := range []struct {
		name  string
		given bool
	}{{"find", a.Find != ""}, {"depth", a.Depth > 0}, {"interactiveOnly", a.InteractiveOnly}, {"offset", a.Offset > 0}} {
		if a.Diff && o.given {
			return badArgs("Leave one of them out.", "diff and %s contradict each other", o.name)
		}
	}
	return a.optionalTarget.check()
}

func (s *session) snapshot(ctx context.Context, a snapshotArgs) (snapshotted, error) {
	snap, err := s.ex.Snapshot(ctx, a.Tab, &executor.SnapshotOptions{
		Target: a.target(), InteractiveOnly: a.InteractiveOnly, Depth: a.Depth, Find: a.Find,
		Diff: a.Diff, MaxChars: a.MaxChars, Offset: a.Offset,
	})
	return snapshotted{snap, a}, err
}

// snapshotted is a snapshot and what was asked for.
type snapshotted struct {
	*executor.Snapshot
	asked snapshotArgs
}

func (r snapshotted) render(t *text) {
	t.obstacle(r.Obstacle)
	if r.MissingFrames > 0 {
		t.line("missing: %s that could not be read in time; read a part of the page with ref or selector", plural(r.MissingFrames, "frame"))
	}
	switch {
	case r.asked.Diff:
		t.content(r.Origin, r.Text, "no visible change")
		return
	case r.asked.Find != "" && r.Elements == 0:
		t.line("no line matches find")
		r.unsearched(t)
		return
	case r.asked.Offset > 0 && r.asked.Offset >= r.Elements:
		t.line("offset %d is past the end: %s in all", r.asked.Offset, plural(r.Elements, "line"))
		return
	}
	otherwise := own("nothing to show")
	if r.Omitted > 0 {
		otherwise = "no line fits into maxChars"
	}
	t.content(r.Origin, r.Text, otherwise)
	left := r.Omitted
	if r.asked.Offset > 0 { // what came before it has been read
		left = 0
		if r.Offset > 0 {
			left = r.Elements - r.Offset
		}
	}
	if left > 0 {
		more := own("narrow it with ref, selector or find")
		if r.Offset > 0 {
			more = ownf("read on with offset %d, or %s", r.Offset, more)
		}
		t.line("cut: %d of %s left out; %s", left, plural(r.Elements, "line"), more)
	}
	if r.Cut > 0 {
		t.line("cut: %s with a part of a long text; to read all of it, give its ref or a selector and a larger maxChars", plural(r.Cut, "line"))
	}
	r.unsearched(t)
}

func (r snapshotted) unsearched(t *text) {
	if r.Unsearched > 0 {
		t.line("not searched in full: %s with more text than find reads; give a selector or ref to get_text", plural(r.Unsearched, "line"))
	}
}

type getTextArgs struct {
	optionalTarget
	tabArg
	maxCharsArg
}

func (s *session) getText(ctx context.Context, a getTextArgs) (gotText, error) {
	res, err := s.ex.Text(ctx, a.Tab, &executor.TextOptions{Target: a.target(), MaxChars: a.MaxChars})
	return gotText{res}, err
}

type gotText struct{ *executor.Text }

func (r gotText) render(t *text) {
	t.content(r.Origin, r.Text.Text, "no text")
	if r.Truncated {
		t.line("cut: %d characters in all; raise maxChars or give a selector or ref", r.Chars)
	}
}

// content adds page text, or a word when there is none.
func (t *text) content(origin, content string, otherwise own) {
	if strings.TrimSpace(content) == "" {
		t.line("%s", otherwise)
		return
	}
	t.page(origin, content)
}

type getHTMLArgs struct {
	optionalTarget
	Outer *bool `json:"outer,omitempty" jsonschema:"default true"`
	tabArg
	maxCharsArg
}

func (s *session) getHTML(ctx context.Context, a getHTMLArgs) (gotHTML, error) {
	opts := &executor.HTMLOptions{Target: a.target(), Inner: a.Outer != nil && !*a.Outer, MaxChars: a.MaxChars}
	res, err := s.ex.HTML(ctx, a.Tab, opts)
	return gotHTML{res}, err
}

type gotHTML struct{ *executor.HTML }

func (r gotHTML) render(t *text) {
	t.content(r.Origin, r.HTML.HTML, "no HTML")
	if r.Truncated {
		t.line("cut: %d characters in all; raise maxChars or give a selector or ref", r.Chars)
	}
}

type markdownArgs struct {
	Selector string `json:"selector,omitempty" jsonschema:"body for the whole page"`
	tabArg
	maxCharsArg
	Offset int `json:"offset,omitempty" min:"0" unit:"characters" jsonschema:"characters to skip"`
}

func (s *session) readAsMarkdown(ctx context.Context, a markdownArgs) (gotMarkdown, error) {
	opts := &executor.MarkdownOptions{Selector: a.Selector, MaxChars: a.MaxChars, Offset: a.Offset}
	res, err := s.ex.Markdown(ctx, a.Tab, opts)
	return gotMarkdown{res, a}, err
}

// gotMarkdown is a page's text and what was asked for.
type gotMarkdown struct {
	*executor.Markdown
	asked markdownArgs
}

func (r gotMarkdown) render(t *text) {
	t.obstacle(r.Obstacle)
	if r.Title != "" {
		t.line("title %s", quote(r.Title, maxTitle))
	}
	if r.asked.Offset > 0 && r.asked.Offset >= r.Chars {
		t.line("offset %d is past the end: %s in all", r.asked.Offset, plural(r.Chars, "character"))
		return
	}
	t.content(r.Origin, r.Markdown.Markdown, "no text")
	if r.WholePage && r.asked.Selector == "" {
		t.line("no main content found: this is the whole page")
	}
	if r.Offset > 0 {
		t.line("cut: %d characters in all; read on with offset %d", r.Chars, r.Offset)
	} else if r.Truncated {
		t.line("cut: %d characters in all", r.Chars)
	}
}

type linksArgs struct {
	Selector       string   `json:"selector,omitempty" jsonschema:"only inside it"`
	SameOriginOnly bool     `json:"sameOriginOnly,omitempty"`
	Include        []string `json:"include,omitempty" jsonschema:"URL globs"`
	Exclude        []string `json:"exclude,omitempty"`
	Dedupe         *bool    `json:"dedupe,omitempty" jsonschema:"default true"`
	Limit          int      `json:"limit,omitempty" min:"1" max:"10000" jsonschema:"default 200"`
	tabArg
}

func (s *session) extractLinks(ctx context.Context, a linksArgs) (gotLinks, error) {
	res, err := s.ex.Links(ctx, a.Tab, &executor.LinksOptions{
		Selector: a.Selector, SameOriginOnly: a.SameOriginOnly, Include: a.Include, Exclude: a.Exclude,
		KeepDuplicates: a.Dedupe != nil && !*a.Dedupe, Limit: a.Limit,
	})
	if err == nil {
		res.Links = some(res.Links)
	}
	return gotLinks{res, a.Limit}, err
}

// gotLinks is a page's links, and how many were asked for, 0 for as many as it
// takes to see what is there.
type gotLinks struct {
	*executor.Links
	limit int
}

func (r gotLinks) render(t *text) {
	if len(r.Links.Links) == 0 {
		t.line("no links")
		return
	}
	var b strings.Builder
	told := 0
	for _, l := range r.Links.Links {
		line := string(l.Ref) + " " + string(quote(l.Text, maxTitle)) + " " + escapeURL(linkURL(l.Href)) + "\n"
		if told > 0 && r.limit <= 0 && b.Len()+len(line) > executor.DefaultMaxChars {
			break
		}
		b.WriteString(line)
		told++
	}
	t.page(r.Origin, b.String())
	switch {
	case told < len(r.Links.Links):
		t.line("%d of %s, since the others would take too much room: narrow with selector or include, or give a limit", told, plural(r.Total, "link"))
	case r.Truncated:
		t.line("%d of %s: narrow with include or raise limit", told, plural(r.Total, "link"))
	}
}

const (
	// maxDataURL is how many characters of a data: URL are shown: it is no
	// place to go to, and its start tells what it is.
	maxDataURL = 100
	// maxLinkURL is how many are shown of others. Longer ones are rarely meant
	// to be read; the ref leads there all the same.
	maxLinkURL = 2000
)

// linkURL returns the URL of a link as it is listed.
func linkURL(u string) string {
	if len(u) > maxLinkURL && !strings.EqualFold(u[:5], "data:") {
		return ended(u, maxLinkURL)
	}
	if len(u) > maxDataURL && strings.EqualFold(u[:5], "data:") {
		return ended(u, maxDataURL)
	}
	return u
}

type evalArgs struct {
	Expression   string `json:"expression"`
	AwaitPromise *bool  `json:"awaitPromise,omitempty" jsonschema:"default true"`
	tabArg
}

func (s *session) eval(ctx context.Context, a evalArgs) (evaluated, error) {
	opts := &executor.EvalOptions{NoAwait: a.AwaitPromise != nil && !*a.AwaitPromise}
	res, err := s.ex.Eval(ctx, a.Tab, a.Expression, opts)
	return evaluated{res}, err
}

type evaluated struct{ *executor.EvalResult }

const (
	// maxInlineValue is the size, in bytes, up to which a string is quoted on a
	// line instead of fenced.
	maxInlineValue = 200
	// maxEvalText is how many characters of a value a model reads, as of all
	// that comes from a page. The structured result has the value whole.
	maxEvalText = executor.DefaultMaxChars
)

func (r evaluated) render(t *text) {
	value, isString := valueText(r.Value)
	size := utf8.RuneCountInString(value)
	switch {
	case !r.OK:
		// The first line is the error, the others are its stack.
		what, _, _ := strings.Cut(r.Error, "\n")
		t.line("the page threw %s", quote(what, maxMessage))
	case value == "" && !isString:
		t.line("%s", own(or(r.Type, "undefined")))
	case r.Type == "number" || r.Type == "boolean" || r.Type == "null":
		t.line("%s", own(value))
	case isString && !r.Truncated && len(value) <= maxInlineValue && !strings.ContainsAny(value, "\"\\\n\t"):
		t.line("%s", quote(value, maxInlineValue))
	default:
		t.line("%s", own(or(r.Type, "value")))
		t.page(r.Origin, firstChars(value, maxEvalText))
	}
	switch {
	case r.Truncated:
		t.line("cut: the value is over %d bytes; return less of it, such as a slice", executor.MaxEvalBytes)
	case size > maxEvalText:
		t.line("cut: %d characters in all; return less of it, such as a slice", size)
	}
	for _, d := range r.Dialogs {
		t.line("dialog meanwhile: %s", quote(d, maxMessage))
	}
}

// valueText returns the JSON of a value as a person writes it: a string as
// its own text, anything else with no more escapes than JSON needs.
func valueText(value executor.RawJSON) (text string, isString bool) {
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return clean(text), true
	}
	return string(cleanJSON(value)), false
}

// firstChars returns the first n characters of s.
func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

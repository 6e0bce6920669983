package browsertools

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type SnapshotArgs struct {
	TabArg
	optionalTarget
	InteractiveOnly bool   `json:"interactiveOnly,omitempty"`
	Depth           int    `json:"depth,omitempty" min:"1" max:"1000"`
	Find            string `json:"find,omitempty" jsonschema:"only lines with this text or /regex/"`
	Diff            bool   `json:"diff,omitempty" jsonschema:"only what changed since the last one"`
	maxCharsArg
	Offset int `json:"offset,omitempty" min:"0" jsonschema:"lines to skip"`
	fileArg
}

func (a SnapshotArgs) Check() error {
	for _, o := range []struct {
		name  string
		given bool
	}{{"find", a.Find != ""}, {"depth", a.Depth > 0}, {"interactiveOnly", a.InteractiveOnly}, {"offset", a.Offset > 0}} {
		if a.Diff && o.given {
			return toolschema.BadArgs("Omit one of them.", "diff and %s contradict each other", o.name)
		}
	}
	return a.optionalTarget.Check()
}

func (a SnapshotArgs) Run(ctx context.Context, p executor.Page) (snapshotResult, error) {
	snap, err := p.Snapshot(ctx, &executor.SnapshotOptions{
		Target: a.target(), InteractiveOnly: a.InteractiveOnly, Depth: a.Depth, Find: a.Find,
		Diff: a.Diff, MaxChars: a.textLimit(a.MaxChars), Offset: a.Offset,
	})
	return snapshotResult{snap, a}, err
}

// snapshotResult is a snapshot and the arguments of the call.
type snapshotResult struct {
	*executor.Snapshot
	args SnapshotArgs
}

func (r snapshotResult) Render(t *mcptext.Text) {
	r.renderPage(t)
	switch {
	case r.args.Diff:
		t.Content(r.Origin, r.Text, "no visible change")
		return
	case r.noMatch():
		t.Line("no line matches find")
		r.renderUnsearched(t)
		return
	case r.pastEnd():
		t.Line("offset %d is past the end (%s in total)", r.args.Offset, mcptext.Plural(r.Elements, "line"))
		return
	}
	otherwise := mcptext.Own("nothing to show")
	if r.Omitted > 0 {
		otherwise = "maxChars is too small for one line"
	}
	t.Content(r.Origin, r.Text, otherwise)
	r.renderOmitted(t)
}

func (r snapshotResult) File(OutputPath) (FileContent, bool) {
	c := pageFile(r.Text, ".txt", "text")
	c.Facts = mcptext.Plural(strings.Count(r.Text, "\n"), "line")
	return c, !r.noMatch() && !r.pastEnd()
}

func (r snapshotResult) Warnings(t *mcptext.Text) {
	r.renderPage(t)
	if !r.args.Diff {
		r.renderOmitted(t)
	}
}

// noMatch reports whether no line matches the argument find.
func (r snapshotResult) noMatch() bool { return r.args.Find != "" && r.Elements == 0 }

// pastEnd reports whether the outline has no line at the argument offset.
func (r snapshotResult) pastEnd() bool {
	return r.args.Offset > 0 && r.args.Offset >= r.Elements && !r.noMatch()
}

// renderPage adds lines about the page as a whole.
func (r snapshotResult) renderPage(t *mcptext.Text) {
	t.Obstacle(r.Obstacle)
	t.Note(r.Note)
	renderMissingFrames(t, r.MissingFrames, "ref or selector")
}

// renderMissingFrames adds a line about n frames that are missing, with the arguments that select a part
// of the page.
func renderMissingFrames(t *mcptext.Text, n int, args mcptext.Own) {
	if n > 0 {
		t.Line("missing: %s that could not be read; read a part of the page with %s", mcptext.Plural(n, "frame"), args)
	}
}

// renderOmitted adds lines about what the outline omits.
func (r snapshotResult) renderOmitted(t *mcptext.Text) {
	omitted := r.Omitted
	if r.args.Offset > 0 { // lines before the offset do not count
		omitted = 0
		if r.Offset > 0 {
			omitted = r.Elements - r.Offset
		}
	}
	if omitted > 0 {
		more := mcptext.Own("narrow it with ref, selector or find")
		if r.Offset > 0 {
			more = mcptext.Ownf("continue with offset %d, or %s", r.Offset, more)
		}
		t.Line("truncated: %d of %s omitted; %s", omitted, mcptext.Plural(r.Elements, "line"), more)
	}
	if r.Cut > 0 {
		t.Line("truncated: %s with part of a long text; to read all of it, pass its ref or a selector and a larger maxChars", mcptext.Plural(r.Cut, "line"))
	}
	r.renderUnsearched(t)
}

func (r snapshotResult) renderUnsearched(t *mcptext.Text) {
	if r.Unsearched > 0 {
		t.Line("not searched in full: %s with more text than find reads; give a selector or ref to get_text", mcptext.Plural(r.Unsearched, "line"))
	}
}

type GetTextArgs struct {
	optionalTarget
	TabArg
	maxCharsArg
}

func (a GetTextArgs) Run(ctx context.Context, p executor.Page) (textResult, error) {
	res, err := p.Text(ctx, &executor.TextOptions{Target: a.target(), MaxChars: a.MaxChars})
	return textResult{res}, err
}

type textResult struct{ *executor.Text }

func (r textResult) Render(t *mcptext.Text) {
	t.Note(r.Note)
	t.Content(r.Origin, r.Text.Content, "no text")
	if r.Truncated {
		t.Line("truncated: %d characters in total; increase maxChars or pass selector or ref", r.Chars)
	}
	renderMissingFrames(t, r.MissingFrames, "ref or selector")
}

type GetHTMLArgs struct {
	optionalTarget
	Outer *bool `json:"outer,omitempty" jsonschema:"default true"`
	TabArg
	maxCharsArg
	offsetArg
	fileArg
}

func (a GetHTMLArgs) Run(ctx context.Context, p executor.Page) (htmlResult, error) {
	res, err := p.HTML(ctx, &executor.HTMLOptions{
		Target: a.target(), Inner: a.Outer != nil && !*a.Outer, ShortenData: a.File == "",
		MaxChars: a.textLimit(a.MaxChars), Offset: a.Offset,
	})
	return htmlResult{res, a}, err
}

// htmlResult is markup and the arguments of the call.
type htmlResult struct {
	*executor.HTML
	args GetHTMLArgs
}

func (r htmlResult) Render(t *mcptext.Text) {
	if renderPastEnd(t, r.args.offsetArg, r.Chars) {
		return
	}
	t.Content(r.Origin, r.HTML.Content, "no HTML")
	r.Warnings(t)
}

func (r htmlResult) File(OutputPath) (FileContent, bool) {
	return pageFile(r.HTML.Content, ".html", "html"), !r.args.pastEnd(r.Chars)
}

func (r htmlResult) Warnings(t *mcptext.Text) {
	t.Note(r.Note)
	if r.Shortened > 0 {
		var complete mcptext.Own
		if t.Saves {
			complete = "; file saves everything"
		}
		t.Line("shortened: %s (data: URLs, coordinates of drawings)%s", mcptext.Plural(r.Shortened, "value"), complete)
	}
	switch {
	case r.Offset > 0:
		t.Line("truncated: %d characters in total; continue with offset %d, or pass selector or ref", r.Chars, r.Offset)
	case r.Truncated:
		t.Line("truncated: %d characters in total; pass selector or ref", r.Chars)
	}
}

type MarkdownArgs struct {
	Selector string `json:"selector,omitempty" jsonschema:"body for the whole page"`
	TabArg
	maxCharsArg
	offsetArg
	fileArg
	Refs bool `json:"refs,omitempty" jsonschema:"refs of links, buttons, fields"`
}

func (a MarkdownArgs) Run(ctx context.Context, p executor.Page) (markdownResult, error) {
	opts := &executor.MarkdownOptions{Target: executor.Selector(a.Selector), Refs: a.Refs, MaxChars: a.textLimit(a.MaxChars), Offset: a.Offset}
	res, err := p.Markdown(ctx, opts)
	return markdownResult{res, a}, err
}

// markdownResult is the markdown of a page and the arguments of the call.
type markdownResult struct {
	*executor.Markdown
	args MarkdownArgs
}

func (r markdownResult) Render(t *mcptext.Text) {
	t.Obstacle(r.Obstacle)
	if r.Title != "" {
		t.Line("title %s", mcptext.Quote(r.Title, mcptext.MaxTitle))
	}
	if renderPastEnd(t, r.args.offsetArg, r.Chars) {
		return
	}
	t.Content(r.Origin, r.Markdown.Content, "no text")
	r.renderExtent(t)
}

func (r markdownResult) File(OutputPath) (FileContent, bool) {
	return pageFile(r.Markdown.Content, ".md", "markdown"), !r.args.pastEnd(r.Chars)
}

func (r markdownResult) Warnings(t *mcptext.Text) {
	t.Obstacle(r.Obstacle)
	r.renderExtent(t)
}

// renderExtent adds lines about the part of the page that the markdown contains.
func (r markdownResult) renderExtent(t *mcptext.Text) {
	if r.WholePage && r.args.Selector == "" {
		t.Line("no main content found: this is the whole page")
	}
	if r.Offset > 0 {
		t.Line("truncated: %d characters in total; continue with offset %d", r.Chars, r.Offset)
	}
	if r.Incomplete {
		t.Line("incomplete: the page has more than 4 million characters of HTML, and the rest is missing; read a part of it with selector")
	}
	renderMissingFrames(t, r.MissingFrames, "selector")
}

type LinksArgs struct {
	Selector       string   `json:"selector,omitempty" jsonschema:"only inside it"`
	SameOriginOnly bool     `json:"sameOriginOnly,omitempty"`
	Include        []string `json:"include,omitempty" jsonschema:"URL globs"`
	Exclude        []string `json:"exclude,omitempty"`
	Dedupe         *bool    `json:"dedupe,omitempty" jsonschema:"default true"`
	Limit          int      `json:"limit,omitempty" min:"1" max:"10000" jsonschema:"default 200"`
	TabArg
}

func (a LinksArgs) Run(ctx context.Context, p executor.Page) (linksResult, error) {
	res, err := p.Links(ctx, &executor.LinksOptions{
		Target: executor.Selector(a.Selector), SameOriginOnly: a.SameOriginOnly, Include: a.Include, Exclude: a.Exclude,
		KeepDuplicates: a.Dedupe != nil && !*a.Dedupe, Limit: a.Limit,
	})
	if err == nil {
		res.Items = NonNil(res.Items)
	}
	return linksResult{res, a.Limit}, err
}

// linksResult is the links of a page and the requested limit. A limit of 0 lists as many links as
// fit into executor.DefaultMaxChars.
type linksResult struct {
	*executor.Links
	limit int
}

func (r linksResult) Render(t *mcptext.Text) {
	if len(r.Links.Items) == 0 {
		t.Line("no links")
		return
	}
	var b strings.Builder
	listed := 0
	for _, l := range r.Links.Items {
		line := string(l.Ref) + " " + string(mcptext.Quote(l.Text, mcptext.MaxTitle)) + " " + mcptext.EscapeURL(linkURL(l.Href)) + "\n"
		if listed > 0 && r.limit <= 0 && b.Len()+len(line) > executor.DefaultMaxChars {
			break
		}
		b.WriteString(line)
		listed++
	}
	t.Page(r.Origin, b.String())
	switch {
	case listed < len(r.Links.Items):
		t.Line("%d of %s, the rest is omitted for length: narrow with selector or include, or pass a limit", listed, mcptext.Plural(r.Total, "link"))
	case r.Truncated:
		t.Line("%d of %s: narrow with include or increase limit", listed, mcptext.Plural(r.Total, "link"))
	}
}

// maxDataURL is the maximum length of a listed data: URL, in characters. It is not a useful
// navigation target, and its start shows its media type.
const maxDataURL = 100

// linkURL returns the URL of a link for the list, in which a data: URL is truncated.
func linkURL(u string) string {
	if len(u) > maxDataURL && strings.EqualFold(u[:5], "data:") {
		return pagetext.Truncate(u, maxDataURL)
	}
	return u
}

type EvalArgs struct {
	Expression string `json:"expression" jsonschema:"with an element: a function of it"`
	optionalTarget
	AwaitPromise *bool `json:"awaitPromise,omitempty" jsonschema:"default true"`
	TabArg
	fileArg
}

func (a EvalArgs) Run(ctx context.Context, p executor.Page) (evalResult, error) {
	opts := &executor.EvalOptions{NoAwait: a.AwaitPromise != nil && !*a.AwaitPromise, Target: a.target()}
	res, err := p.Eval(ctx, a.Expression, opts)
	return evalResult{res}, err
}

type evalResult struct{ *executor.EvalResult }

const (
	// maxInlineValue is the maximum size, in bytes, of a string that is quoted on one line instead
	// of fenced.
	maxInlineValue = 200
	// maxEvalText is the maximum length of a value in the text, in characters: the same as for
	// other page text. The structured result has the complete value.
	maxEvalText = executor.DefaultMaxChars
)

func (r evalResult) Render(t *mcptext.Text) {
	value, isString := valueText(r.Value)
	size := utf8.RuneCountInString(value)
	switch {
	case !r.OK:
		// The first line is the error, the others are its stack.
		what, _, _ := strings.Cut(r.Error, "\n")
		t.Line("exception: %s", mcptext.Quote(what, mcptext.MaxPageMessage))
	case value == "" && !isString:
		t.Line("%s", mcptext.Own(cmp.Or(r.Type, "undefined")))
	case r.Type == "number" || r.Type == "boolean" || r.Type == "null":
		t.Line("%s", mcptext.Own(value))
	case isString && !r.Truncated && len(value) <= maxInlineValue && !strings.ContainsAny(value, "\"\\\n\t"):
		if r.Type == "string" {
			t.Line("%s", mcptext.Quote(value, maxInlineValue))
		} else { // the text of a value that is not a string
			t.Line("%s %s", mcptext.Own(cmp.Or(r.Type, "value")), mcptext.Quote(value, maxInlineValue))
		}
	default:
		t.Line("%s", mcptext.Own(cmp.Or(r.Type, "value")))
		t.Page(r.Origin, pagetext.First(value, maxEvalText))
	}
	if size > maxEvalText && !r.Truncated {
		t.Line("truncated: %d characters in total; return a part of it, such as a slice", size)
	}
	r.Warnings(t)
}

func (r evalResult) File(name OutputPath) (FileContent, bool) {
	value, isString := valueText(r.Value)
	c := FileContent{Data: []byte(value), Ext: ".json", Field: "value"}
	if ext := path.Ext(string(name)); isString && (ext == "" || strings.EqualFold(ext, ".json")) {
		c.Data = mcptext.CleanJSON(r.Value)
	}
	return c, r.OK && len(r.Value) > 0
}

func (r evalResult) Warnings(t *mcptext.Text) {
	if r.Truncated {
		t.Line("truncated: the value exceeds %d bytes; return a part of it, such as a slice", executor.MaxEvalBytes)
	}
	for _, d := range r.Dialogs {
		t.Line("dialog opened: %s", mcptext.Quote(d, mcptext.MaxPageMessage))
	}
}

// valueText returns a JSON value in readable form: a string without quotes and escapes, other
// values with as few escapes as possible.
func valueText(value executor.RawJSON) (text string, isString bool) {
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return mcptext.Clean(text), true
	}
	return string(mcptext.CleanJSON(value)), false
}

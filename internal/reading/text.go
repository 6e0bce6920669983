package reading

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gobwas/glob"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/readable"
	"github.com/chrome-mcp/chrome-mcp/internal/urlglob"
)

// defaultLinks is the default limit of Links.
const defaultLinks = 200

// retryOnNavigation calls read with *opts, or with the zero options if opts is nil. It calls read
// again if the page navigated to another document during the call: the caller wants to read the
// current page.
func retryOnNavigation[O, T any](ctx context.Context, opts *O, read func(context.Context, O) (T, error)) (T, error) {
	o := *cmp.Or(opts, new(O))
	for tries := 1; ; tries++ {
		got, err := read(ctx, o)
		if tries == maxReads || ctx.Err() != nil || !errors.Is(err, frames.ErrDocumentGone) {
			return got, err
		}
	}
}

// maxReads is the maximum number of attempts to read a page that keeps navigating.
const maxReads = 3

// Text returns the rendered text of the page with its frames, or of the target.
func (r *Reader) Text(ctx context.Context, opts *executor.TextOptions) (*executor.Text, error) {
	return retryOnNavigation(ctx, opts, r.text)
}

func (r *Reader) text(ctx context.Context, o executor.TextOptions) (*executor.Text, error) {
	root, err := r.readRoot(ctx, o.Target)
	if err != nil {
		return nil, err
	}
	changed := r.finder.StartComparing(ctx, root)
	got, err := r.read(ctx, root, "textParts", "the page's text", func(before, frame, after string) string {
		if frame = strings.TrimSpace(frame); frame == "" {
			return before + after
		}
		return strings.TrimRight(before, "\n") + "\n" + frame + "\n" + strings.TrimLeft(after, "\n")
	}, nil)
	if err != nil {
		return nil, err
	}
	text := strings.Trim(got.text, "\n ")
	res := &executor.Text{Origin: root.Doc.Origin, Chars: utf8.RuneCountInString(text) + got.RemainingChars, Note: changed()}
	res.Content, _ = cut(text, 0, o.MaxChars, r.opts.WholeSpans)
	res.Truncated = len(res.Content) < len(text) || got.RemainingChars > 0
	return res, nil
}

// readRoot returns the element that target refers to, after checking that it may be read. A zero
// target refers to the top document.
func (r *Reader) readRoot(ctx context.Context, target executor.Target) (*elements.Element, error) {
	ctx, cancel := context.WithTimeout(ctx, r.client.Tree.Timing().Read)
	defer cancel()
	d, err := r.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	if target.IsZero() {
		return &elements.Element{Doc: d}, nil
	}
	return r.finder.Resolve(ctx, target, executor.OpRead)
}

// readScope returns the document of the element that target refers to, and the element's id. For a
// zero target, it returns all documents that may be read, and 0.
func (r *Reader) readScope(ctx context.Context, target executor.Target) ([]*frames.Document, int, error) {
	if target.IsZero() {
		docs := r.client.Allowed(ctx, executor.OpRead)
		if len(docs) == 0 {
			return nil, 0, frames.ErrDocumentGone // between two documents
		}
		return docs, 0, nil
	}
	el, err := r.finder.Resolve(ctx, target, executor.OpRead)
	if err != nil {
		return nil, 0, err
	}
	return []*frames.Document{el.Doc}, el.ID, nil
}

// cut returns at most size characters of s starting at character offset, and the offset at which to
// continue; 0 means that s ends there. whole extends the part so that it contains no part of a masked
// text: a client could read a value in parts that are too short to be masked.
func cut(s string, offset, size int, whole func(s string, start, end int) (int, int)) (string, int) {
	if size <= 0 {
		size = executor.DefaultMaxChars
	}
	offset = max(offset, 0)
	start := len(pagetext.First(s, offset))
	end := start + len(pagetext.First(s[start:], size))
	next := offset + size
	if end == len(s) {
		next = 0
	}
	if start > 0 || next > 0 {
		start, end = whole(s, start, end)
	}
	return s[start:end], next
}

// HTML returns the markup of the page or of the target.
func (r *Reader) HTML(ctx context.Context, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return retryOnNavigation(ctx, opts, r.html)
}

func (r *Reader) html(ctx context.Context, o executor.HTMLOptions) (*executor.HTML, error) {
	ctx, cancel := context.WithTimeout(ctx, r.client.Tree.Timing().Read)
	defer cancel()
	el, err := r.readRoot(ctx, o.Target)
	if err != nil {
		return nil, err
	}
	var markup *struct {
		HTML      string `json:"html"` // possibly truncated
		More      int    `json:"more"` // characters that were omitted
		Shortened int    `json:"shortened"`
	}
	changed := r.finder.StartComparing(ctx, el)
	if err := elements.CallWithClosedRoots(ctx, el.Doc, &markup, "html", el.ID, !o.Inner, o.ShortenData); err != nil {
		return nil, frames.TimeoutAs(err, "the page's markup")
	}
	if markup == nil {
		return nil, r.finder.RemovedError(ctx, el)
	}
	res := &executor.HTML{Origin: el.Doc.Origin, Chars: utf8.RuneCountInString(markup.HTML) + markup.More, Shortened: markup.Shortened, Note: changed()}
	res.Content, res.Offset = cut(markup.HTML, o.Offset, o.MaxChars, r.opts.WholeSpans)
	res.Truncated = res.Offset != 0 || markup.More > 0
	return res, nil
}

// Markdown returns the main content of the page as markdown.
func (r *Reader) Markdown(ctx context.Context, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return retryOnNavigation(ctx, opts, r.markdown)
}

func (r *Reader) markdown(ctx context.Context, o executor.MarkdownOptions) (*executor.Markdown, error) {
	root, err := r.readRoot(ctx, executor.Target{Selector: o.Selector})
	if err != nil {
		return nil, err
	}
	opts := readable.Options{WholePage: o.Selector != ""}
	var marks *[]markedElement
	if o.Refs {
		marks, opts.Mark = new([]markedElement), "mark"+strings.ToLower(rand.Text())+"n"
	}
	page, err := r.read(ctx, root, "readable", "the page's markup", func(before, frame, after string) string {
		return before + "<div>" + frame + "</div>" + after
	}, marks)
	if err != nil {
		return nil, err
	}
	d := root.Doc
	converting, cancel := context.WithTimeout(ctx, r.client.Tree.Timing().Read)
	defer cancel()
	got, err := readable.ConvertIn(converting, r.client.Tree.Session().Conn(), page.Type, page.text, d.URL, opts)
	switch {
	case ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, executor.Errorf(executor.ErrTimeout, textInstead, "converting the page to markdown took too long")
	case errors.Is(err, readable.ErrTooLarge):
		return nil, err
	case err != nil:
		return nil, executor.Errorf(executor.ErrInternal, textInstead, "converting the page to markdown: %w", err)
	}
	whole := r.opts.WholeSpans
	if marks != nil {
		got.Markdown = r.withRefs(got.Markdown, opts.Mark, *marks)
		whole = func(s string, start, end int) (int, int) {
			start, end = r.opts.WholeSpans(s, start, end)
			return wholeRefs(s, start, end)
		}
	}
	res := &executor.Markdown{Title: got.Title, Origin: d.Origin, WholePage: got.WholePage, Chars: utf8.RuneCountInString(got.Markdown)}
	res.Content, res.Offset = cut(got.Markdown, o.Offset, o.MaxChars, whole)
	res.Truncated = res.Offset != 0
	res.Obstacle = r.opts.Obstacle(d, page.Signs)
	return res, nil
}

// withRefs replaces the marks in markdown, each followed by the index of its element and a semicolon,
// with the refs of the elements, as snapshots print them. What looks like a ref in the text of the
// page gets a backslash, in code too.
func (r *Reader) withRefs(markdown, mark string, marks []markedElement) string {
	parts := strings.Split(markdown, mark)
	var b strings.Builder
	b.WriteString(escapeRefs(parts[0]))
	for _, part := range parts[1:] {
		number, rest, ended := strings.Cut(part, readable.MarkEnd)
		i, err := strconv.Atoi(number)
		if !ended || err != nil || i < 0 || i >= len(marks) {
			continue // the markdown was truncated in the mark
		}
		m := marks[i]
		b.WriteString("[ref=" + string(r.finder.RefFor(m.doc.World, m.id, m.Description)) + "]" + escapeRefs(rest))
	}
	return b.String()
}

// escapeRefs escapes the beginning of refs in markdown, unless it is escaped.
func escapeRefs(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, `\[ref=`, "[ref="), "[ref=", `\[ref=`)
}

// wholeRefs returns start and end, moved outward so that s[start:end] cuts no ref.
func wholeRefs(s string, start, end int) (int, int) {
	const longest = len("[ref=e") + 20
	for _, at := range []int{start, end} {
		from := max(0, at-longest)
		for _, span := range printedRef().FindAllStringIndex(s[from:min(len(s), at+longest)], -1) {
			if a, b := from+span[0], from+span[1]; a < at && at < b {
				start, end = min(start, a), max(end, b)
			}
		}
	}
	return start, end
}

// printedRef matches a ref in markdown.
var printedRef = lazyregexp.New(`\[ref=e[0-9]+\]`)

// textInstead is the hint for a page that cannot be converted.
const textInstead = "Read the text of the page instead, or name an element."

func (r *Reader) Links(ctx context.Context, opts *executor.LinksOptions) (*executor.Links, error) {
	return retryOnNavigation(ctx, opts, r.links)
}

func (r *Reader) links(ctx context.Context, o executor.LinksOptions) (*executor.Links, error) {
	include, err := urlGlobs(o.Include)
	if err != nil {
		return nil, err
	}
	exclude, err := urlGlobs(o.Exclude)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.client.Tree.Timing().Read)
	defer cancel()
	top, err := r.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	docs, id, err := r.readScope(ctx, executor.Target{Selector: o.Selector})
	if err != nil {
		return nil, err
	}
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLinks
	}
	res := &executor.Links{Items: []executor.Link{}, Origin: top.Origin}
	seen, more, budget := make(map[string]bool), false, maxExtractedBytes
	for i, d := range docs {
		var list struct {
			Links []linkRow `json:"links"`
			More  bool      `json:"more"`
			elements.Walk
		}
		if err := elements.CallWithClosedRoots(ctx, d, &list, "links", id, r.finder.Refs().Since(d.World)); err != nil {
			if i > 0 && errors.Is(err, frames.ErrDocumentGone) {
				continue
			}
			return nil, frames.TimeoutAs(err, "the page's links")
		}
		r.finder.Refs().RecordWalk(d.World, list.Walk)
		if more = more || list.More || budget <= 0; budget <= 0 {
			break // a page may have any number of frames
		}
		for _, l := range list.Links {
			switch {
			case !o.KeepDuplicates && seen[l.href],
				o.SameOriginOnly && !strings.HasPrefix(l.href, top.Origin+"/") && l.href != top.Origin,
				len(include) > 0 && !anyMatch(include, l.href),
				anyMatch(exclude, l.href):
				continue
			}
			seen[l.href] = true
			budget -= len(l.href) + len(l.text)
			if res.Total++; len(res.Items) < limit {
				res.Items = append(res.Items, executor.Link{Href: l.href, Text: l.text, Ref: r.finder.RefFor(d.World, l.id, elements.Description{Role: "link", Name: l.text, At: list.At})})
			}
		}
	}
	res.Truncated = more || res.Total > len(res.Items)
	return res, nil
}

// A linkRow is [href, text, id], as js/text_extraction.js returns it.
type linkRow struct {
	href, text string
	id         int
}

// UnmarshalJSON decodes the row.
func (l *linkRow) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&l.href, &l.text, &l.id})
}

// urlGlobs compiles URL patterns.
func urlGlobs(patterns []string) ([]*glob.Pattern, error) {
	var list []*glob.Pattern
	for _, p := range patterns {
		g, err := urlglob.Compile(p)
		if err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, nil
}

// anyMatch reports whether any of the patterns matches s.
func anyMatch(list []*glob.Pattern, s string) bool {
	return slices.ContainsFunc(list, func(g *glob.Pattern) bool { return g.Match(s) })
}

package page

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gobwas/glob"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/readable"
)

// readTimeout bounds a read. A page that takes longer hangs.
const readTimeout = 15 * time.Second

// defaultLinks is how many links Links lists unless told otherwise.
const defaultLinks = 200

// ofOneDocument reads again what was to be read when the page went on to
// another document meanwhile: it is the page as it is that was asked for.
func ofOneDocument[T any](ctx context.Context, read func() (T, error)) (T, error) {
	for tries := 1; ; tries++ {
		got, err := read()
		if tries == maxReads || ctx.Err() != nil || !errors.Is(err, errDocumentGone) {
			return got, err
		}
	}
}

// maxReads is how often a page that goes on and on is tried to be read.
const maxReads = 3

// Text returns the rendered text of the page, frames included, or the target.
func (v *View) Text(ctx context.Context, opts *executor.TextOptions) (*executor.Text, error) {
	return ofOneDocument(ctx, func() (*executor.Text, error) { return v.text(ctx, opts) })
}

func (v *View) text(ctx context.Context, opts *executor.TextOptions) (*executor.Text, error) {
	var o executor.TextOptions
	if opts != nil {
		o = *opts
	}
	root, err := v.reader(ctx, o.Target)
	if err != nil {
		return nil, err
	}
	r, err := v.read(ctx, root, "textParts", "the page's text", func(before, frame, after string) string {
		if frame = strings.TrimSpace(frame); frame == "" {
			return before + after
		}
		return strings.TrimRight(before, "\n") + "\n" + frame + "\n" + strings.TrimLeft(after, "\n")
	})
	if err != nil {
		return nil, err
	}
	text := strings.Trim(r.text, "\n ")
	res := &executor.Text{Origin: root.doc.origin, Chars: utf8.RuneCountInString(text) + r.More}
	res.Text, _ = cut(text, 0, o.MaxChars)
	res.Truncated = len(res.Text) < len(text) || r.More > 0
	return res, nil
}

// reader returns the element that a target means to a reader, and without a
// target, the top document.
func (v *View) reader(ctx context.Context, target executor.Target) (*element, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	d, err := v.document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	if target.IsZero() {
		return &element{doc: d}, nil
	}
	return v.resolve(ctx, target, executor.OpRead)
}

// scope returns the documents that a target means to a reader: its own, or
// without one, all that may be read.
func (v *View) scope(ctx context.Context, target executor.Target) ([]*document, int, error) {
	if target.IsZero() {
		docs := v.allowed(ctx, executor.OpRead)
		if len(docs) == 0 {
			return nil, 0, executor.ErrTargetGone
		}
		return docs, 0, nil
	}
	el, err := v.resolve(ctx, target, executor.OpRead)
	if err != nil {
		return nil, 0, err
	}
	return []*document{el.doc}, el.id, nil
}

// cut returns at most size characters of s after offset characters, and where
// to read on: 0 at the end.
func cut(s string, offset, size int) (string, int) {
	if size <= 0 {
		size = executor.DefaultMaxChars
	}
	offset = max(offset, 0)
	start := byteIndex(s, offset)
	end := start + byteIndex(s[start:], size)
	if end == len(s) {
		return s[start:], 0
	}
	return s[start:end], offset + size
}

// byteIndex returns the index of the nth character of s, or its length.
func byteIndex(s string, n int) int {
	if n <= 0 {
		return 0
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// HTML returns the markup of the page or the target.
func (v *View) HTML(ctx context.Context, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return ofOneDocument(ctx, func() (*executor.HTML, error) { return v.html(ctx, opts) })
}

func (v *View) html(ctx context.Context, opts *executor.HTMLOptions) (*executor.HTML, error) {
	var o executor.HTMLOptions
	if opts != nil {
		o = *opts
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	markup, more, d, err := v.markup(ctx, o.Target, !o.Inner)
	if err != nil {
		return nil, err
	}
	res := &executor.HTML{Origin: d.origin, Chars: utf8.RuneCountInString(markup) + more}
	res.HTML, _ = cut(markup, 0, o.MaxChars)
	res.Truncated = len(res.HTML) < len(markup) || more > 0
	return res, nil
}

// markup returns the markup that a target means, and how many characters of it
// there are beyond that.
func (v *View) markup(ctx context.Context, target executor.Target, outer bool) (string, int, *document, error) {
	el, err := v.reader(ctx, target)
	if err != nil {
		return "", 0, nil, err
	}
	var r *struct {
		HTML string `json:"html"`
		More int    `json:"more"`
	}
	if err := el.doc.callOpened(ctx, &r, "html", el.id, outer); err != nil {
		return "", 0, nil, timeoutAs(err, "the page's markup")
	}
	if r == nil {
		return "", 0, nil, v.expired(ctx, el)
	}
	return r.HTML, r.More, el.doc, nil
}

// Markdown returns the main content of the page as markdown.
func (v *View) Markdown(ctx context.Context, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return ofOneDocument(ctx, func() (*executor.Markdown, error) { return v.markdown(ctx, opts) })
}

func (v *View) markdown(ctx context.Context, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	var o executor.MarkdownOptions
	if opts != nil {
		o = *opts
	}
	root, err := v.reader(ctx, executor.Target{Selector: o.Selector})
	if err != nil {
		return nil, err
	}
	page, err := v.read(ctx, root, "readable", "the page's markup", func(before, frame, after string) string {
		return before + "<div>" + frame + "</div>" + after
	})
	if err != nil {
		return nil, err
	}
	d := root.doc
	converting, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	r, err := readable.ConvertIn(converting, page.Type, page.text, d.url, readable.Options{WholePage: o.Selector != ""})
	switch {
	case ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, executor.Errorf(executor.ErrTimeout, textInstead, "converting the page to markdown took too long")
	case err != nil:
		return nil, executor.Errorf(executor.ErrInternal, textInstead, "converting the page to markdown: %w", err)
	}
	res := &executor.Markdown{Title: r.Title, Origin: d.origin, WholePage: r.WholePage, Chars: utf8.RuneCountInString(r.Markdown)}
	res.Markdown, res.Offset = cut(r.Markdown, o.Offset, o.MaxChars)
	res.Truncated = res.Offset != 0
	res.Obstacle = d.obstacle(page.Signs)
	return res, nil
}

// textInstead is the hint for a page that cannot be converted.
const textInstead = "Read the text of the page instead, or name an element."

// Links lists the links of the page.
func (v *View) Links(ctx context.Context, opts *executor.LinksOptions) (*executor.Links, error) {
	return ofOneDocument(ctx, func() (*executor.Links, error) { return v.links(ctx, opts) })
}

func (v *View) links(ctx context.Context, opts *executor.LinksOptions) (*executor.Links, error) {
	var o executor.LinksOptions
	if opts != nil {
		o = *opts
	}
	include, err := urlGlobs(o.Include)
	if err != nil {
		return nil, err
	}
	exclude, err := urlGlobs(o.Exclude)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	top, err := v.document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	docs, id, err := v.scope(ctx, executor.Target{Selector: o.Selector})
	if err != nil {
		return nil, err
	}
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLinks
	}
	res := &executor.Links{Links: []executor.Link{}, Origin: top.origin}
	seen, more, room := make(map[string]bool), false, maxProse
	for i, d := range docs {
		var list struct {
			Links []linkRow `json:"links"`
			More  bool      `json:"more"`
		}
		if err := d.callOpened(ctx, &list, "links", id); err != nil {
			if i > 0 && errors.Is(err, errDocumentGone) {
				continue
			}
			return nil, timeoutAs(err, "the page's links")
		}
		if more = more || list.More || room <= 0; room <= 0 {
			break // as many frames as a page likes
		}
		for _, l := range list.Links {
			switch {
			case !o.KeepDuplicates && seen[l.href],
				o.SameOriginOnly && !strings.HasPrefix(l.href, top.origin+"/") && l.href != top.origin,
				len(include) > 0 && !anyMatch(include, l.href),
				anyMatch(exclude, l.href):
				continue
			}
			seen[l.href] = true
			room -= len(l.href) + len(l.text)
			if res.Total++; len(res.Links) < limit {
				res.Links = append(res.Links, executor.Link{Href: l.href, Text: l.text, Ref: v.mint(d.world, l.id, label{"link", l.text})})
			}
		}
	}
	res.Truncated = more || res.Total > len(res.Links)
	return res, nil
}

// A linkRow is [href, text, id], as js/reading.js returns it.
type linkRow struct {
	href, text string
	id         int
}

// UnmarshalJSON decodes the row.
func (l *linkRow) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&l.href, &l.text, &l.id})
}

func urlGlobs(patterns []string) ([]*glob.Pattern, error) {
	var list []*glob.Pattern
	for _, p := range patterns {
		g, err := urlGlob(p)
		if err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, nil
}

func anyMatch(list []*glob.Pattern, s string) bool {
	for _, g := range list {
		if g.Match(s) {
			return true
		}
	}
	return false
}

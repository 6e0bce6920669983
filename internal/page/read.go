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
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/readable"
)

// readTimeout bounds a read. A page that takes longer is hung.
const readTimeout = 15 * time.Second

// defaultLinks is the default limit of Links.
const defaultLinks = 200

// retryOnNavigation calls read, and calls it again if the page navigated to another document during
// the call: the caller wants to read the current page.
func retryOnNavigation[T any](ctx context.Context, read func() (T, error)) (T, error) {
	for tries := 1; ; tries++ {
		got, err := read()
		if tries == maxReads || ctx.Err() != nil || !errors.Is(err, errDocumentDetached) {
			return got, err
		}
	}
}

// maxReads is the maximum number of attempts to read a page that keeps navigating.
const maxReads = 3

// Text returns the rendered text of the page with its frames, or of the target.
func (v *View) Text(ctx context.Context, opts *executor.TextOptions) (*executor.Text, error) {
	return retryOnNavigation(ctx, func() (*executor.Text, error) { return v.text(ctx, opts) })
}

func (v *View) text(ctx context.Context, opts *executor.TextOptions) (*executor.Text, error) {
	var o executor.TextOptions
	if opts != nil {
		o = *opts
	}
	root, err := v.readRoot(ctx, o.Target)
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
	res := &executor.Text{Origin: root.doc.origin, Chars: utf8.RuneCountInString(text) + r.RemainingChars}
	res.Content, _ = cut(text, 0, o.MaxChars)
	res.Truncated = len(res.Content) < len(text) || r.RemainingChars > 0
	return res, nil
}

// readRoot returns the element that target refers to, after checking that it may be read. A zero
// target refers to the top document.
func (v *View) readRoot(ctx context.Context, target executor.Target) (*element, error) {
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

// readScope returns the document of the element that target refers to, and the element's id. For a
// zero target, it returns all documents that may be read, and 0.
func (v *View) readScope(ctx context.Context, target executor.Target) ([]*document, int, error) {
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

// cut returns at most size characters of s starting at character offset, and the offset at which to
// continue; 0 means that s ends there.
func cut(s string, offset, size int) (string, int) {
	if size <= 0 {
		size = executor.DefaultMaxChars
	}
	offset = max(offset, 0)
	s = s[len(pagetext.First(s, offset)):]
	chunk := pagetext.First(s, size)
	if len(chunk) == len(s) {
		return s, 0
	}
	return chunk, offset + size
}

// HTML returns the markup of the page or of the target.
func (v *View) HTML(ctx context.Context, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return retryOnNavigation(ctx, func() (*executor.HTML, error) { return v.html(ctx, opts) })
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
	res.Content, _ = cut(markup, 0, o.MaxChars)
	res.Truncated = len(res.Content) < len(markup) || more > 0
	return res, nil
}

// markup returns the markup that target refers to, possibly truncated, and the number of characters
// that were omitted.
func (v *View) markup(ctx context.Context, target executor.Target, outer bool) (string, int, *document, error) {
	el, err := v.readRoot(ctx, target)
	if err != nil {
		return "", 0, nil, err
	}
	var r *struct {
		HTML string `json:"html"`
		More int    `json:"more"`
	}
	if err := el.doc.callWithClosedRoots(ctx, &r, "html", el.id, outer); err != nil {
		return "", 0, nil, timeoutAs(err, "the page's markup")
	}
	if r == nil {
		return "", 0, nil, v.refExpiredError(ctx, el)
	}
	return r.HTML, r.More, el.doc, nil
}

// Markdown returns the main content of the page as markdown.
func (v *View) Markdown(ctx context.Context, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return retryOnNavigation(ctx, func() (*executor.Markdown, error) { return v.markdown(ctx, opts) })
}

func (v *View) markdown(ctx context.Context, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	var o executor.MarkdownOptions
	if opts != nil {
		o = *opts
	}
	root, err := v.readRoot(ctx, executor.Target{Selector: o.Selector})
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
	res.Content, res.Offset = cut(r.Markdown, o.Offset, o.MaxChars)
	res.Truncated = res.Offset != 0
	res.Obstacle = d.obstacle(page.Signs)
	return res, nil
}

// textInstead is the hint for a page that cannot be converted.
const textInstead = "Read the text of the page instead, or name an element."

func (v *View) Links(ctx context.Context, opts *executor.LinksOptions) (*executor.Links, error) {
	return retryOnNavigation(ctx, func() (*executor.Links, error) { return v.links(ctx, opts) })
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
	docs, id, err := v.readScope(ctx, executor.Target{Selector: o.Selector})
	if err != nil {
		return nil, err
	}
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLinks
	}
	res := &executor.Links{Items: []executor.Link{}, Origin: top.origin}
	seen, more, budget := make(map[string]bool), false, maxExtractedBytes
	for i, d := range docs {
		var list struct {
			Links []linkRow `json:"links"`
			More  bool      `json:"more"`
		}
		if err := d.callWithClosedRoots(ctx, &list, "links", id); err != nil {
			if i > 0 && errors.Is(err, errDocumentDetached) {
				continue
			}
			return nil, timeoutAs(err, "the page's links")
		}
		if more = more || list.More || budget <= 0; budget <= 0 {
			break // a page may have any number of frames
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
			budget -= len(l.href) + len(l.text)
			if res.Total++; len(res.Items) < limit {
				res.Items = append(res.Items, executor.Link{Href: l.href, Text: l.text, Ref: v.refFor(d.world, l.id, refDescription{"link", l.text})})
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

// urlGlobs compiles URL patterns. See urlGlob.
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

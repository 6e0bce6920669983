package reading

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/readable"
)

// Markdown returns the main content of the page as markdown.
func (r *Reader) Markdown(ctx context.Context, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return retryOnNavigation(ctx, opts, r.markdown)
}

func (r *Reader) markdown(ctx context.Context, o executor.MarkdownOptions) (*executor.Markdown, error) {
	root, err := r.readRoot(ctx, o.Target)
	if err != nil {
		return nil, err
	}
	changed := r.finder.StartComparing(ctx, root)
	opts := readable.Options{WholePage: !o.Target.IsZero()}
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
	res.Incomplete, res.MissingFrames = got.Truncated || page.RemainingChars > 0, page.missingFrames
	res.Truncated = res.Offset != 0 || res.Incomplete
	res.Obstacle, res.Note = r.opts.Obstacle(d, page.Signs), changed()
	return res, nil
}

// withRefs replaces the marks in markdown, each followed by the index of its element and a
// semicolon, with the refs of the elements, as snapshots print them. What looks like a ref in the
// text of the page gets a backslash, in code too.
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
		b.WriteString("[ref=" + string(r.finder.RefFor(m.doc.Node(m.id), m.Description)) + "]" + escapeRefs(rest))
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

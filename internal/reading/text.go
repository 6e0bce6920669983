package reading

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

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
	res := &executor.Text{Origin: root.Doc.Origin, Chars: utf8.RuneCountInString(text) + got.RemainingChars, Note: changed(), MissingFrames: got.missingFrames}
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

// readScope returns the element that target refers to, and its document. For a zero target, it returns
// all documents that may be read, and an element with the id 0.
func (r *Reader) readScope(ctx context.Context, target executor.Target) ([]*frames.Document, *elements.Element, error) {
	if target.IsZero() {
		docs := r.client.Allowed(ctx, executor.OpRead)
		if len(docs) == 0 {
			return nil, nil, frames.ErrDocumentGone // between two documents
		}
		return docs, new(elements.Element), nil
	}
	el, err := r.finder.Resolve(ctx, target, executor.OpRead)
	if err != nil {
		return nil, nil, err
	}
	return []*frames.Document{el.Doc}, el, nil
}

// cut returns at most size characters of s starting at character offset, and the offset at which to
// continue; 0 means that s ends there. whole extends the part so that it contains no part of a
// masked text: a client could read a value in parts that are too short to be masked.
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

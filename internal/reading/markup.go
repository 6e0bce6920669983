package reading

import (
	"context"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

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

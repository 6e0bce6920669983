package reading

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/urlglob"
)

// defaultLinks is the default limit of Links.
const defaultLinks = 200

// Links returns the links of the page, or of the target.
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
	docs, root, err := r.readScope(ctx, o.Target)
	if err != nil {
		return nil, err
	}
	changed := r.finder.StartComparing(ctx, root)
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
			elements.WalkRecord
		}
		if err := elements.CallWithClosedRoots(ctx, d, &list, "links", root.ID, r.finder.Refs().Since(d.World)); err != nil {
			if i > 0 && errors.Is(err, frames.ErrDocumentGone) {
				continue
			}
			return nil, frames.TimeoutAs(err, "the page's links")
		}
		r.finder.Refs().RecordWalk(d.World, list.WalkRecord)
		if more = more || list.More || budget <= 0; budget <= 0 {
			break // a page may have any number of frames
		}
		for _, l := range list.Links {
			if ctx.Err() != nil { // callers can give many patterns
				return nil, frames.TimeoutAs(context.Cause(ctx), "the page's links")
			}
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
				res.Items = append(res.Items, executor.Link{Href: l.href, Text: l.text, Ref: r.finder.RefFor(d.Node(l.id), elements.Description{Role: "link", Name: l.text, At: list.At})})
			}
		}
	}
	res.Truncated, res.Note = more || res.Total > len(res.Items), changed()
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
func urlGlobs(patterns []string) ([]*urlglob.Pattern, error) {
	var list []*urlglob.Pattern
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
func anyMatch(list []*urlglob.Pattern, s string) bool {
	return slices.ContainsFunc(list, func(g *urlglob.Pattern) bool { return g.Match(s) })
}

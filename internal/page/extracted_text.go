package page

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/internal/readable"
)

// A chunk is some text of a document, or the number of a frame in it.
type chunk struct {
	text  string
	frame int
}

// UnmarshalJSON decodes a string or a number.
func (p *chunk) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &p.text)
	}
	return json.Unmarshal(data, &p.frame)
}

// An extractedText is what js/text_extraction.js and js/markup.js make of a document: text
// with frames between.
type extractedText struct {
	Parts          []chunk      `json:"parts"`
	Type           string       `json:"type"`  // of the document; empty for text
	Signs          jsonv2.Value `json:"signs"` // of obstacles
	RemainingChars int          `json:"more"`  // characters that there are beyond the parts
	text           string       // the parts, with what the frames hold
}

// maxExtractedBytes bounds, in bytes, what is read of a page with its frames. A page has
// as many frames as it likes, each of which may hold as much as a page.
const maxExtractedBytes = 8 << 20

// read runs a page script that returns a prose, from root on, and joins it
// with those of the frames in it whose documents may be read.
func (v *View) read(ctx context.Context, root *element, script, what string, join func(before, frame, after string) string) (*extractedText, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	docs := v.readableSubtree(ctx, root.doc)
	room := maxExtractedBytes
	r, err := v.readFrom(ctx, root, docs, script, join, &room)
	switch {
	case err != nil:
		return nil, v.tab.readTimeoutAs(caller, err, what)
	case r == nil:
		return nil, v.refExpiredError(ctx, root)
	}
	return r, nil
}

// readFrom reads root and what is below it. Frames for which there is no room
// are left out.
func (v *View) readFrom(ctx context.Context, root *element, docs []*document, script string, join func(before, frame, after string) string, room *int) (*extractedText, error) {
	var r *extractedText
	if err := root.doc.callWithClosedRoots(ctx, &r, script, root.id); err != nil || r == nil {
		return nil, err
	}
	for _, p := range r.Parts {
		*room -= len(p.text)
	}
	frames := make(map[int]*document)
	if len(r.Parts) > 1 && *room > 0 {
		for _, d := range docs {
			if d.parent == root.doc.frame && d.frame != root.doc.frame {
				if id, err := d.owner(ctx, root.doc); err == nil {
					frames[id] = d
				}
			}
		}
	}
	var b strings.Builder
	for i := 0; i < len(r.Parts); i++ {
		b.WriteString(r.Parts[i].text)
		d := frames[r.Parts[i].frame]
		if d == nil || i+1 == len(r.Parts) || *room <= 0 {
			continue
		}
		inner, err := v.readFrom(ctx, &element{doc: d}, docs, script, join, room)
		if err != nil || inner == nil {
			if err != nil && !errors.Is(err, errDocumentDetached) {
				return nil, err
			}
			continue
		}
		if inner.Type != "" && inner.Type != readable.HTML {
			inner.text = "<pre>" + html.EscapeString(inner.text) + "</pre>"
		}
		r.RemainingChars += inner.RemainingChars
		text := join(b.String(), inner.text, r.Parts[i+1].text)
		b.Reset()
		b.WriteString(text)
		i++
	}
	r.text = b.String()
	return r, nil
}

// callWithClosedRoots is call for scripts that look into closed shadow roots: those
// that were not met before are opened first. With none it takes no longer.
func (d *document) callWithClosedRoots(ctx context.Context, result any, name string, args ...any) error {
	closed, err := d.start(ctx, "closedCandidates")
	if err != nil {
		return err
	}
	p, err := d.start(ctx, name, args...)
	if err != nil {
		return err
	}
	var hosts []int
	if err := d.finish(ctx, closed, &hosts); err != nil {
		return err
	}
	if d.exposeClosedShadowRoots(ctx, hosts) {
		if p, err = d.start(ctx, name, args...); err != nil {
			return err
		}
	}
	return d.finish(ctx, p, result)
}

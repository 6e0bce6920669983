package page

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/readable"
)

// A chunk is text of a document, or the element id of a frame in it.
type chunk struct {
	text  string
	frame int
}

// UnmarshalJSON decodes a string or a number.
func (c *chunk) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &c.text)
	}
	return json.Unmarshal(data, &c.frame)
}

// An extractedText is the result of js/text_extraction.js or js/markup.js: the text of a document,
// with its frames in between.
type extractedText struct {
	Parts          []chunk      `json:"parts"`
	Type           string       `json:"type"`  // content type of the document; empty for text
	Signs          jsonv2.Value `json:"signs"` // of obstacles
	Marks          []markRow    `json:"marks"` // elements that have a mark in the parts
	RemainingChars int          `json:"more"`  // number of characters after the parts
	recordedWalk                // of these elements
	text           string       // the parts, with the texts of the frames
}

// A markRow is [id, role, name] of a marked element, as js/markup.js returns it.
type markRow struct {
	id int
	refDescription
}

// UnmarshalJSON decodes the row.
func (m *markRow) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&m.id, &m.Role, &m.Name})
}

// A markedElement is an element with a mark. The number of the mark is its index.
type markedElement struct {
	doc *frames.Document
	markRow
}

// maxExtractedBytes is the maximum number of bytes that are read from a page and its frames. A page
// may have any number of frames, each as large as a page.
const maxExtractedBytes = 8 << 20

// read runs a page script that returns an extractedText for root, and joins it with the texts of
// those frames in it whose documents may be read. It adds the marked elements to marks; nil marks
// none.
func (v *View) read(ctx context.Context, root *element, script, what string, join func(before, frame, after string) string, marks *[]markedElement) (*extractedText, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, v.tab.timing.Read)
	defer cancel()
	docs := v.readableSubtree(ctx, root.doc)
	budget := maxExtractedBytes
	r, err := v.readFrom(ctx, root, docs, script, join, &budget, marks)
	switch {
	case err != nil:
		return nil, v.tab.readTimeoutAs(caller, err, what)
	case r == nil:
		return nil, v.refExpiredError(ctx, root)
	}
	return r, nil
}

// readFrom reads root and the frames in it. It omits frames that exceed the budget, which is in
// bytes.
func (v *View) readFrom(ctx context.Context, root *element, docs []*frames.Document, script string, join func(before, frame, after string) string, budget *int, marks *[]markedElement) (*extractedText, error) {
	var r *extractedText
	args := []any{root.id}
	if marks != nil {
		args = append(args, len(*marks), v.refs.since(root.doc.World))
	}
	if err := callWithClosedRoots(ctx, root.doc, &r, script, args...); err != nil || r == nil {
		return nil, err
	}
	if marks != nil {
		v.refs.walk(root.doc.World, r.recordedWalk)
	}
	for _, m := range r.Marks {
		m.At = r.At
		*marks = append(*marks, markedElement{root.doc, m})
	}
	for _, p := range r.Parts {
		*budget -= len(p.text)
	}
	inFrame := make(map[int]*frames.Document) // by element id of the frame
	if len(r.Parts) > 1 && *budget > 0 {
		for _, d := range docs {
			if d.Parent == root.doc.Frame && d.Frame != root.doc.Frame {
				if id, err := d.Owner(ctx, root.doc); err == nil {
					inFrame[id] = d
				}
			}
		}
	}
	var b strings.Builder
	for i := 0; i < len(r.Parts); i++ {
		b.WriteString(r.Parts[i].text)
		d := inFrame[r.Parts[i].frame]
		if d == nil || i+1 == len(r.Parts) || *budget <= 0 {
			continue
		}
		inner, err := v.readFrom(ctx, &element{doc: d}, docs, script, join, budget, marks)
		if err != nil || inner == nil {
			if err != nil && !errors.Is(err, frames.ErrDocumentGone) {
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

// callWithClosedRoots is call for page scripts that read closed shadow roots. It first exposes
// closed shadow roots that are new. If there are none, it takes no longer than call.
func callWithClosedRoots(ctx context.Context, d *frames.Document, result any, name string, args ...any) error {
	closed, err := d.Start(ctx, "closedCandidates")
	if err != nil {
		return err
	}
	p, err := d.Start(ctx, name, args...)
	if err != nil {
		return err
	}
	var hosts []int
	if err := d.Finish(ctx, closed, &hosts); err != nil {
		return err
	}
	if exposeClosedShadowRoots(ctx, d, hosts) {
		if p, err = d.Start(ctx, name, args...); err != nil {
			return err
		}
	}
	return d.Finish(ctx, p, result)
}

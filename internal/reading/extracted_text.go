package reading

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/internal/elements"
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
	Parts               []chunk      `json:"parts"`
	Type                string       `json:"type"`  // content type of the document; empty for text
	Signs               jsonv2.Value `json:"signs"` // of obstacles
	Marks               []markRow    `json:"marks"` // elements that have a mark in the parts
	RemainingChars      int          `json:"more"`  // number of characters after the parts
	elements.WalkRecord              // of these elements
	text                string       // the parts, with the texts of the frames
	missingFrames       int          // frames whose texts are missing for length, or because their position is unknown
}

// A markRow is [id, role, name] of a marked element, as js/markup.js returns it.
type markRow struct {
	id int
	elements.Description
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
func (r *Reader) read(ctx context.Context, root *elements.Element, script, what string, join func(before, frame, after string) string, marks *[]markedElement) (*extractedText, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, r.client.Tree.Timing().Read)
	defer cancel()
	docs := r.readableSubtree(ctx, root.Doc)
	budget := maxExtractedBytes
	got, err := r.readFrom(ctx, root, docs, script, join, &budget, marks)
	switch {
	case err != nil:
		return nil, r.timeoutAs(caller, err, what)
	case got == nil:
		return nil, r.finder.RemovedError(ctx, root)
	}
	return got, nil
}

// readFrom reads root and the frames in it. It omits frames that exceed the budget, which is in
// bytes.
func (r *Reader) readFrom(ctx context.Context, root *elements.Element, docs []*frames.Document, script string, join func(before, frame, after string) string, budget *int, marks *[]markedElement) (*extractedText, error) {
	var got *extractedText
	args := []any{root.ID}
	if marks != nil {
		args = append(args, len(*marks), r.finder.Refs().Since(root.Doc.World))
	}
	if err := elements.CallWithClosedRoots(ctx, root.Doc, &got, script, args...); err != nil || got == nil {
		return nil, err
	}
	if marks != nil {
		r.finder.Refs().RecordWalk(root.Doc.World, got.WalkRecord)
	}
	for _, m := range got.Marks {
		m.At = got.At
		*marks = append(*marks, markedElement{root.Doc, m})
	}
	for _, p := range got.Parts {
		*budget -= len(p.text)
	}
	inFrame := make(map[int]*frames.Document) // by element id of the frame
	unlocated := 0
	if len(got.Parts) > 1 {
		for _, d := range docs {
			if d.Parent == root.Doc.Frame && d.Frame != root.Doc.Frame {
				if id, err := d.Owner(ctx, root.Doc); err == nil {
					inFrame[id] = d
				} else {
					unlocated++
				}
			}
		}
	}
	var b strings.Builder
	for i := 0; i < len(got.Parts); i++ {
		b.WriteString(got.Parts[i].text)
		frame := got.Parts[i].frame
		d := inFrame[frame]
		if d == nil || i+1 == len(got.Parts) {
			if frame != 0 && unlocated > 0 { // probably this one
				unlocated--
				got.missingFrames++
			}
			continue
		}
		if *budget <= 0 {
			got.missingFrames++
			continue
		}
		inner, err := r.readFrom(ctx, &elements.Element{Doc: d}, docs, script, join, budget, marks)
		if err != nil || inner == nil {
			if err != nil && !errors.Is(err, frames.ErrDocumentGone) {
				return nil, err
			}
			continue
		}
		if inner.Type != "" && inner.Type != readable.HTML {
			inner.text = "<pre>" + html.EscapeString(inner.text) + "</pre>"
		}
		got.RemainingChars += inner.RemainingChars
		got.missingFrames += inner.missingFrames
		text := join(b.String(), inner.text, got.Parts[i+1].text)
		b.Reset()
		b.WriteString(text)
		i++
	}
	got.text = b.String()
	return got, nil
}

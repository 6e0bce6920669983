package page

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// A PointedElement is an element that the user pointed at when the context menu opened.
type PointedElement struct {
	doc       *frames.Document
	id        int
	selection string // the text that was selected then
}

// TakePointed returns the target of the last trusted contextmenu event in the top document or, if
// top is false, in a frame whose document has the given URL, and forgets it. It returns nil if
// there was no such event while the tab was attached. Only [View.DescribePointed] checks the gate.
func (t *Tab) TakePointed(ctx context.Context, top bool, url string) *PointedElement {
	if !t.Attached() {
		return nil
	}
	var found *PointedElement
	var latest time.Time
	for _, d := range t.tree.Documents() {
		if d.IsTop() != top || !top && withoutFragment(d.URL) != withoutFragment(url) {
			continue
		}
		var got *struct {
			ID        int    `json:"id"`
			At        int64  `json:"at"`
			Selection string `json:"selection"`
		}
		if d.Call(ctx, &got, "takePointed") != nil || got == nil {
			continue
		}
		if at := time.UnixMilli(got.At); at.After(latest) {
			found, latest = &PointedElement{d, got.ID, got.Selection}, at
		}
	}
	return found
}

func withoutFragment(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

// DescribePointed returns e with its ref, role and name if the gate allows reading its document and
// the documents around it.
func (v *View) DescribePointed(ctx context.Context, e *PointedElement) (*executor.SentElement, error) {
	if !e.doc.IsCurrent() {
		return nil, frames.ErrDocumentGone
	}
	if err := v.client.CheckFrame(ctx, e.doc.Frame, executor.OpRead, ""); err != nil {
		return nil, err
	}
	var label *elements.Description
	if err := e.doc.Call(ctx, &label, "pointedLabel", e.id); err != nil {
		return nil, err
	}
	if label == nil {
		return nil, errors.New("the element was removed")
	}
	return &executor.SentElement{
		Ref: v.elements.RefFor(e.doc.Node(e.id), *label), Role: label.Role, Name: label.Name, Selection: e.selection,
	}, nil
}

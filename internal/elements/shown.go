package elements

import (
	"context"
	"fmt"
	"math"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A ShownElement is the ref that a call names, with what the client last received for it. A page
// may reuse an element for another thing, as a virtual list does with its rows: then a call that
// acts on the ref fails, and a call that reads it has a note.
type ShownElement struct {
	Ref executor.Ref // empty for an element that a selector found
	Doc *frames.Document
	ID  int // of the element, which may only contain the field that the call acts on
	At  int // number of the record of what the client last received

	hovered bool   // the pointer was moved onto the element, which may have changed its name
	acted   bool   // input was sent, which may have changed anything
	note    string // the new name of the element
}

// A Change is the Change of js/shown_elements.js.
type Change struct {
	Other bool    `json:"other"`
	Was   shownAs `json:"was"`
	Now   shownAs `json:"now"`
	At    int     `json:"at"`
}

// A shownAs is the role and name of an element and, if it is in another item now, the text of its
// item.
type shownAs struct {
	Role string `json:"role"`
	Name string `json:"name"`
	Item string `json:"item"`
}

// String returns the description as messages show it.
func (s shownAs) String() string {
	return Description{Role: s.Role, Name: s.Name}.String() + inItem(s.Item)
}

// inItem returns a text that says which item an element is in, or "" if text is "".
func inItem(text string) string {
	if text = itemExcerpt(text); text == "" {
		return ""
	}
	return fmt.Sprintf(" in %s", pagetext.Text(text))
}

// itemExcerpt returns the beginning of the text of an item, as one line.
func itemExcerpt(text string) string {
	return pagetext.Truncate(strings.Join(strings.Fields(text), " "), 80)
}

// RecordHover records that the pointer is moved onto the element.
func (s *ShownElement) RecordHover() {
	if s != nil {
		s.hovered = true
	}
}

// RecordInput records that input is sent to the element.
func (s *ShownElement) RecordInput() {
	if s != nil {
		s.acted = true
	}
}

// NewName returns a note with the new name of the element, or "".
func (s *ShownElement) NewName() string {
	if s == nil {
		return ""
	}
	return s.note
}

// A Reference identifies an element and what it was, for page scripts.
type Reference struct {
	ID int `json:"id"`
	At int `json:"at"`
}

// Reference identifies the element and what it was.
func (s *ShownElement) Reference() *Reference { return &Reference{s.ID, s.At} }

// ToCompare returns the element to compare with its record, or nil if the element is not compared.
func (s *ShownElement) ToCompare() *Reference {
	if s == nil || s.acted {
		return nil
	}
	return s.Reference()
}

// A Call is a call of a page script function on an element that is compared with its record.
type Call struct {
	el       *Element
	pending  *cdpconn.Pending
	compared bool
}

// Start is Document.Start for a function that is to act on el. If el was found by a ref and is
// another thing than the client last received for it, the function is not called. The element is
// compared in the same command.
func (el *Element) Start(ctx context.Context, name string, args ...any) (Call, error) {
	s := el.Shown
	c := Call{el: el, compared: s.ToCompare() != nil}
	var err error
	if c.compared {
		c.pending, err = el.Doc.Start(ctx, "asShown", append([]any{name, s.ID, s.At, s.hovered}, args...)...)
	} else {
		c.pending, err = el.Doc.Start(ctx, name, args...)
	}
	return c, err
}

// Finish is Document.Finish for a call of Element.Start. It returns ErrRefExpired if the element is
// another thing.
func (f *Finder) Finish(ctx context.Context, c Call, result any) error {
	if !c.compared {
		return c.el.Doc.Finish(ctx, c.pending, result)
	}
	var got struct {
		Value  jsonv2.Value `json:"value"`
		Change *Change      `json:"change"`
	}
	if err := c.el.Doc.Finish(ctx, c.pending, &got); err != nil {
		return err
	}
	if got.Change != nil && got.Change.Other {
		return f.OtherThingError(ctx, c.el.Shown, got.Change)
	}
	if got.Change != nil {
		c.el.Shown.note = f.ReceiveChange(c.el.Shown, got.Change)
	}
	if result == nil || len(got.Value) == 0 {
		return nil
	}
	if err := cdpconn.Unmarshal(got.Value, result); err != nil {
		return fmt.Errorf("decoding the result of a page script: %w", err)
	}
	return nil
}

// Call is Document.Call for a function that is to act on el. See [Element.Start].
func (f *Finder) Call(ctx context.Context, el *Element, result any, name string, args ...any) error {
	c, err := el.Start(ctx, name, args...)
	if err != nil {
		return err
	}
	return f.Finish(ctx, c, result)
}

// OtherThingError returns the ErrRefExpired for a ref whose element is another thing now. Nothing
// was sent to it.
func (f *Finder) OtherThingError(ctx context.Context, s *ShownElement, c *Change) error {
	f.refs.Release(s.Doc.World, s.ID)
	now := f.refs.For(s.Doc.Node(s.ID), Description{Role: c.Now.Role, Name: c.Now.Name, At: c.At})
	e := executor.Errorf(executor.ErrRefExpired, "Use the ref of the element that you mean, from a new snapshot.",
		"ref %s was %s and is now %s [ref=%s]; nothing was sent", s.Ref, c.Was, c.Now, now)
	e.Candidates = f.candidates(ctx, c.Was.Role, c.Was.Name, c.Was.Item, frames.Node{})
	return e
}

// LatestRecord, as the number of a record, means the last record of an element.
const LatestRecord = math.MaxInt32

// ReceiveChange records that the client receives the new description of an element, and returns the
// note with it.
func (f *Finder) ReceiveChange(s *ShownElement, c *Change) string {
	if s.Ref == "" {
		return fmt.Sprintf("%s is now %s", c.Was, c.Now)
	}
	f.refs.recordDescription(s.Ref, Description{Role: c.Now.Role, Name: c.Now.Name, At: c.At})
	s.At = c.At
	return fmt.Sprintf("%s is now %s", s.Ref, c.Now)
}

// StartComparing starts to compare an element that a call reads with what the client last received
// for it. The function that it returns waits for the result and returns the note on it, or "".
func (f *Finder) StartComparing(ctx context.Context, el *Element) func() string {
	if el == nil || el.Shown == nil {
		return func() string { return "" }
	}
	s := el.Shown
	p, err := s.Doc.Start(ctx, "changeOf", s.ID, s.At)
	return func() string {
		var c *Change
		if err != nil || s.Doc.Finish(ctx, p, &c) != nil || c == nil {
			return ""
		}
		return fmt.Sprintf("%s was %s and is now %s", s.Ref, c.Was, c.Now)
	}
}

package page

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

// A shownRef is the ref that a call names, with what the client last received for it. A page may
// reuse an element for another thing, as a virtual list does with its rows: then a call that acts on
// the ref fails, and a call that reads it has a note.
type shownRef struct {
	ref     executor.Ref // empty for an element that a selector found
	doc     *frames.Document
	id      int    // of the element, which may only contain the field that the call acts on
	at      int    // number of the record of what the client last received
	hovered bool   // the pointer was moved onto the element, which may have changed its name
	acted   bool   // input was sent, which may have changed anything
	note    string // the new name of the element
}

// A refChange is the Change of js/shown_elements.js.
type refChange struct {
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
	return refDescription{Role: s.Role, Name: s.Name}.String() + inItem(s.Item)
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

// hover records that the pointer is moved onto the element.
func (s *shownRef) hover() {
	if s != nil {
		s.hovered = true
	}
}

// act records that input is sent to the element.
func (s *shownRef) act() {
	if s != nil {
		s.acted = true
	}
}

// newName returns a note with the new name of the element, or "".
func (s *shownRef) newName() string {
	if s == nil {
		return ""
	}
	return s.note
}

// A shownTarget identifies an element and what it was, for page scripts.
type shownTarget struct {
	ID int `json:"id"`
	At int `json:"at"`
}

// target returns the element to compare with its record, or nil if the element is not compared.
func (s *shownRef) target() *shownTarget {
	if s == nil || s.acted {
		return nil
	}
	return &shownTarget{s.id, s.at}
}

// A shownCall is a call of a page script function on an element that is compared with its record.
type shownCall struct {
	el       *element
	pending  *cdpconn.Pending
	compared bool
}

// startShown is document.start for a function that is to act on el. If el was found by a ref and is
// another thing than the client last received for it, the function is not called. The element is
// compared in the same command.
func (el *element) startShown(ctx context.Context, name string, args ...any) (shownCall, error) {
	s := el.shown
	c := shownCall{el: el, compared: s.target() != nil}
	var err error
	if c.compared {
		c.pending, err = el.doc.Start(ctx, "asShown", append([]any{name, s.id, s.at, s.hovered}, args...)...)
	} else {
		c.pending, err = el.doc.Start(ctx, name, args...)
	}
	return c, err
}

// finishShown is document.finish for a call of startShown. It returns ErrRefExpired if the element is
// another thing.
func (v *View) finishShown(ctx context.Context, c shownCall, result any) error {
	if !c.compared {
		return c.el.doc.Finish(ctx, c.pending, result)
	}
	var got struct {
		Value  jsonv2.Value `json:"value"`
		Change *refChange   `json:"change"`
	}
	if err := c.el.doc.Finish(ctx, c.pending, &got); err != nil {
		return err
	}
	if got.Change != nil && got.Change.Other {
		return v.otherThingError(ctx, c.el.shown, got.Change)
	}
	if got.Change != nil {
		c.el.shown.note = v.receiveChange(c.el.shown, got.Change)
	}
	if result == nil || len(got.Value) == 0 {
		return nil
	}
	if err := cdpconn.Unmarshal(got.Value, result); err != nil {
		return fmt.Errorf("decoding the result of a page script: %w", err)
	}
	return nil
}

// callShown is document.call for a function that is to act on el. See startShown.
func (v *View) callShown(ctx context.Context, el *element, result any, name string, args ...any) error {
	c, err := el.startShown(ctx, name, args...)
	if err != nil {
		return err
	}
	return v.finishShown(ctx, c, result)
}

// otherThingError returns the ErrRefExpired for a ref whose element is another thing now. Nothing was
// sent to it.
func (v *View) otherThingError(ctx context.Context, s *shownRef, c *refChange) error {
	v.refs.release(s.doc.World, s.id)
	now := v.refs.refFor(s.doc.Node(s.id), refDescription{Role: c.Now.Role, Name: c.Now.Name, At: c.At})
	e := executor.Errorf(executor.ErrRefExpired, "Use the ref of the element that you mean, from a new snapshot.",
		"ref %s was %s and is now %s [ref=%s]; nothing was sent", s.ref, c.Was, c.Now, now)
	e.Candidates = v.candidates(ctx, c.Was.Role, c.Was.Name, c.Was.Item, frames.Node{})
	return e
}

// latestRecord, as the number of a record, means the last record of an element.
const latestRecord = math.MaxInt32

// receiveChange records that the client receives the new description of an element, and returns the
// note with it.
func (v *View) receiveChange(s *shownRef, c *refChange) string {
	if s.ref == "" {
		return fmt.Sprintf("%s is now %s", c.Was, c.Now)
	}
	v.refs.describe(s.ref, refDescription{Role: c.Now.Role, Name: c.Now.Name, At: c.At})
	s.at = c.At
	return fmt.Sprintf("%s is now %s", s.ref, c.Now)
}

// startComparing starts to compare an element that a call reads with what the client last received
// for it. The function that it returns waits for the result and returns the note on it, or "".
func (v *View) startComparing(ctx context.Context, el *element) func() string {
	if el == nil || el.shown == nil {
		return func() string { return "" }
	}
	s := el.shown
	p, err := s.doc.Start(ctx, "changeOf", s.id, s.at)
	return func() string {
		var c *refChange
		if err != nil || s.doc.Finish(ctx, p, &c) != nil || c == nil {
			return ""
		}
		return fmt.Sprintf("%s was %s and is now %s", s.ref, c.Was, c.Now)
	}
}

// targetNote returns a note with the new name of the element that an action was on, if the rest of the
// result does not show it.
func (w *changeTracker) targetNote(ctx context.Context) string {
	s, v := w.target, w.v
	if s == nil || !s.doc.IsCurrent() || s.ref == "" && !v.CanRead(ctx, string(s.doc.Frame)) {
		return ""
	}
	if s.ref != "" && v.reportsOutline(ctx) {
		known := v.refs.knownAt(s.ref)
		if known == 0 || known >= v.refs.since(s.doc.World) {
			return "" // it has a new ref, or the result shows it
		}
	}
	c := w.targetChange
	if !w.targetCompared && s.doc.Call(ctx, &c, "changeOf", s.id, s.at) != nil || c == nil {
		return ""
	}
	return v.receiveChange(s, c)
}

// Package elements finds the elements of a tab by selector or ref, describes them, and decides whether a
// ref still refers to what a client was shown.
package elements

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// An Element is a DOM element that a target was resolved to. Without an ID it is a complete
// document.
type Element struct {
	Doc      *frames.Document
	ID       int
	Ref      executor.Ref  // if the target was a ref
	Shown    *ShownElement // what the client last received for the ref
	Selector string        // if the target was a selector

	matches int    // matches of the selector in all searched documents
	hidden  bool   // no visible match was found
	item    string // the text of the item that it is in, if its document has several matches
}

// A Finder finds elements for one client, and knows their refs. Its methods are safe for concurrent
// use.
type Finder struct {
	client        *frames.Client
	refs          *Refs
	checkSelector func(selector string) error
}

// New returns the Finder of a client. checkSelector returns why a selector is denied, or nil.
func New(client *frames.Client, checkSelector func(selector string) error) *Finder {
	return &Finder{client: client, refs: newRefs(), checkSelector: checkSelector}
}

// Refs returns the refs of the client.
func (f *Finder) Refs() *Refs { return f.refs }

// queryResult is the result of the page script function query.
type queryResult struct {
	Error   string  `json:"error"`
	Total   int     `json:"total"`
	Nth     bool    `json:"nth"` // nth= chose among the matches in the document
	Matches []match `json:"matches"`
	Item    string  `json:"item"` // if there are several, the text of the item that the first visible one is in
}

// A match is [id, visible], as js/query.js returns it.
type match struct {
	ID      int
	Visible bool
}

// UnmarshalJSON decodes the two elements.
func (m *match) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&m.ID, &m.Visible})
}

// Resolve finds the element of a target and checks with the gate whether op is allowed on its
// document.
func (f *Finder) Resolve(ctx context.Context, target executor.Target, op executor.Operation) (*Element, error) {
	if err := target.Validate(); err != nil {
		return nil, err
	}
	if target.Ref != "" {
		return f.ResolveRef(ctx, target.Ref, op)
	}
	el, err := f.Query(ctx, target.Selector, op)
	if err == nil && el == nil && f.exposeClosedContent(ctx, op) {
		el, err = f.Query(ctx, target.Selector, op)
	}
	if err != nil {
		return nil, err
	}
	if el == nil {
		return nil, &executor.Error{Code: executor.ErrSelectorNotFound, Retryable: true,
			Err:        fmt.Errorf("nothing matches %s", target.Selector),
			Hint:       "Take a snapshot and use a ref.",
			Candidates: f.candidates(ctx, "", target.Selector, "", frames.Node{}),
		}
	}
	return el, nil
}

// ResolveRef finds the element of a ref and checks with the gate whether op is allowed on its
// document.
func (f *Finder) ResolveRef(ctx context.Context, given executor.Ref, op executor.Operation) (*Element, error) {
	ref, err := executor.ParseRef(string(given))
	if err != nil {
		return nil, err
	}
	n, l, known := f.refs.Lookup(ref)
	if !known {
		return nil, f.refError(ctx, ref, "ref %s does not exist on this page")
	}
	for _, d := range f.client.Tree.Documents() {
		if d.World == n.World {
			el := &Element{Doc: d, ID: n.ID, Ref: ref, matches: 1, Shown: &ShownElement{Ref: ref, Doc: d, ID: n.ID, At: l.At}}
			return el, f.client.CheckFrame(ctx, d.Frame, op, "")
		}
	}
	return nil, f.refError(ctx, ref, "ref %s belongs to a document that was unloaded")
}

// RemovedError returns the error for an element that was removed from its document:
// ErrRefExpired for a ref, ErrSelectorNotFound for an element that was found by a selector.
func (f *Finder) RemovedError(ctx context.Context, el *Element) error {
	if el.Ref == "" {
		return &executor.Error{Code: executor.ErrSelectorNotFound, Retryable: true,
			Err: errors.New("the element was removed during the wait"), Hint: "Take a new snapshot."}
	}
	return f.refError(ctx, el.Ref, "ref %s: element was removed from the document")
}

// Removed maps frames.ErrDocumentGone to the error for an element that was removed with its
// document. It returns other errors unchanged.
func (f *Finder) Removed(ctx context.Context, el *Element, err error) error {
	if errors.Is(err, frames.ErrDocumentGone) {
		return f.RemovedError(ctx, el)
	}
	return err
}

// refError returns an ErrRefExpired for a ref, with the elements that it possibly meant. format has
// one verb, for the ref.
func (f *Finder) refError(ctx context.Context, ref executor.Ref, format string) error {
	n, label, _ := f.refs.Lookup(ref)
	e := executor.Errorf(executor.ErrRefExpired, "Take a new snapshot.", format, ref)
	e.Candidates = f.candidates(ctx, label.Role, label.Name, "", n)
	return e
}

// A RemovedBeforeAction is the error for an element that was removed before the action sent any
// input. The action can be repeated with the element that matches the selector now.
type RemovedBeforeAction struct{ error }

func (e RemovedBeforeAction) Unwrap() error { return e.error }

// RemovedBeforeActionError is [Finder.RemovedError] for an element that received no input yet.
func (f *Finder) RemovedBeforeActionError(ctx context.Context, el *Element) error {
	return RemovedBeforeAction{f.RemovedError(ctx, el)}
}

// Query finds the first visible match of a selector, or else the first match, in document order of
// the top document and the frames with its origin. It returns nil if there is no match.
func (f *Finder) Query(ctx context.Context, selector string, op executor.Operation) (*Element, error) {
	top, err := f.client.Document(ctx, op)
	if err == nil {
		err = f.checkSelector(selector)
	}
	if err != nil {
		return nil, err
	}
	hidden, shown := make(map[cdp.FrameID]*Element), make(map[cdp.FrameID]*Element) // the first match in each document
	total := 0
	for _, d := range f.sameOrigin(ctx, top, op) {
		var got queryResult
		if err := d.Call(ctx, &got, "query", selector, map[string]any{"limit": 50}); err != nil {
			if errors.Is(err, frames.ErrDocumentGone) && !d.IsTop() {
				continue
			}
			return nil, err
		}
		if got.Error != "" {
			return nil, executor.Errorf(executor.ErrBadArgs, "Use CSS, text=…, label=…, role=button[name=\"…\"], or a ref from a snapshot.", "%s", got.Error)
		}
		total += got.Total
		for _, m := range got.Matches {
			el := &Element{Doc: d, ID: m.ID, item: got.Item}
			if m.Visible && shown[d.Frame] == nil {
				shown[d.Frame] = el
			}
			if hidden[d.Frame] == nil {
				hidden[d.Frame] = el
			}
		}
		if got.Nth && got.Total > 0 {
			break // nth= counts in one document, first in the top one
		}
	}
	none := len(shown) == 0
	if none {
		shown = hidden
	}
	el, err := f.firstInDocumentOrder(ctx, shown)
	if el != nil {
		el.matches, el.Selector, el.hidden = total, selector, none
		if el.item != "" && !f.client.CanRead(ctx, el.Doc.Frame) {
			el.item = ""
		}
	}
	return el, err
}

// firstInDocumentOrder returns which of the elements comes first in the page. found maps frames to
// elements in their documents. It queries the order only in documents that contain more than one of
// the elements, directly or in frames.
func (f *Finder) firstInDocumentOrder(ctx context.Context, found map[cdp.FrameID]*Element) (*Element, error) {
	if len(found) < 2 {
		for _, el := range found {
			return el, nil
		}
		return nil, nil
	}
	type candidate struct {
		el *Element
		in *frames.Document // the child document that contains el; nil if el is in the document itself
	}
	docs := f.client.Tree.Documents()
	below := make(map[cdp.FrameID][]candidate)
	var first *Element
	for _, d := range slices.Backward(docs) { // children before parents
		list := below[d.Frame]
		if el := found[d.Frame]; el != nil {
			list = append(list, candidate{el: el})
		}
		if len(list) == 0 {
			continue
		}
		first = list[len(list)-1].el
		if len(list) > 1 {
			at := make(map[int]*Element)
			var ids []int
			for _, c := range list {
				id := c.el.ID
				if c.in != nil {
					var err error
					if id, err = c.in.Owner(ctx, d); errors.Is(err, frames.ErrDocumentGone) {
						continue
					} else if err != nil {
						return nil, err
					}
				}
				at[id], ids = c.el, append(ids, id)
			}
			var id int
			if err := d.Call(ctx, &id, "firstInDocumentOrder", ids); err != nil {
				return nil, err
			}
			if at[id] != nil {
				first = at[id]
			}
		}
		below[d.Parent] = append(below[d.Parent], candidate{first, d})
	}
	return first, nil
}

// exposeClosedContent exposes the closed shadow roots and element internals of the documents in
// which a selector is matched. It reports whether it found new ones.
func (f *Finder) exposeClosedContent(ctx context.Context, op executor.Operation) bool {
	top, err := f.client.Document(ctx, op)
	if err != nil {
		return false
	}
	found := false
	for _, d := range f.sameOrigin(ctx, top, op) {
		var ids []int
		if d.Call(ctx, &ids, "closedCandidates") == nil {
			found = ExposeClosedShadowRoots(ctx, d, ids) || found
		}
		if d.Call(ctx, &ids, "internalsCandidates") == nil {
			found = ReadInternals(ctx, d, ids) || found
		}
	}
	return found
}

// sameOrigin returns top and the documents below it that have the same origin and that the gate
// allows op on.
func (f *Finder) sameOrigin(ctx context.Context, top *frames.Document, op executor.Operation) []*frames.Document {
	list := []*frames.Document{top}
	for _, d := range f.client.Tree.Documents() {
		if d.IsTop() || d.Origin != top.Origin || d.Origin == executor.OriginOpaque {
			continue
		}
		if f.client.CheckFrame(ctx, d.Frame, op, "") == nil {
			list = append(list, d)
		}
	}
	return list
}

// Note returns the note that several elements matched, or that the element of a ref has a new name,
// or "".
func (el *Element) Note() string {
	if el.matches > 1 {
		used := "the first visible one was used"
		if el.hidden {
			used = "no visible one was found, so the first one was used"
		}
		note := fmt.Sprintf("%d elements match; %s", el.matches, used)
		if el.item != "" {
			note += "," + inItem(el.item)
		}
		return note
	}
	return el.Shown.NewName()
}

// maxCandidates is the maximum number of candidates in an error.
const maxCandidates = 5

// candidates returns elements that the caller possibly meant by a role and name, or by the words of
// a selector. If elements with the role and name are in an item with the text item, it returns only
// those. If item is "", that is the item in which the element of the removed node was, if it is
// known.
func (f *Finder) candidates(ctx context.Context, role, text, item string, removed frames.Node) []executor.Candidate {
	var list []executor.Candidate
	for _, d := range f.client.Allowed(ctx, executor.OpRead) {
		id := 0
		if d.World == removed.World {
			id = removed.ID
		}
		var got []DescribedElement
		if err := d.Call(ctx, &got, "candidates", role, text, maxCandidates-len(list), item, id); err != nil {
			continue
		}
		for _, c := range got {
			list = append(list, executor.Candidate{Role: c.Role, Name: c.Name, Item: itemExcerpt(c.Item), Ref: f.RefFor(d.Node(c.ID), c.Description)})
		}
		if len(list) >= maxCandidates {
			break
		}
	}
	return list
}

// A DescribedElement is an element that a page script found, with what is reported with its ref.
type DescribedElement struct {
	ID   int    `json:"id"`
	Item string `json:"item"` // of a candidate: the text of the item that it is in
	Description
}

// WithRef describes an element of a document, with its ref.
func (f *Finder) WithRef(d *frames.Document, e DescribedElement) string {
	return fmt.Sprintf("%s [ref=%s]", e.Description, f.RefFor(d.Node(e.ID), e.Description))
}

// RefFor returns the ref of an element for a result that describes it as d. It assigns a new one if
// the element has none.
func (f *Finder) RefFor(n frames.Node, d Description) executor.Ref {
	return f.refs.For(n, d)
}

// Describe returns a description of an element for messages.
func (f *Finder) Describe(ctx context.Context, el *Element) string {
	var l Description
	if err := el.Doc.Call(ctx, &l, "describe", el.ID); err != nil {
		f.client.Tree.Log().Debug("describing an element failed", "error", err)
	}
	s := l.String()
	if el.Ref != "" {
		s += fmt.Sprintf(" [ref=%s]", el.Ref)
	}
	return s
}

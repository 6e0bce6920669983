package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// An element is a DOM element that a target was resolved to.
type element struct {
	doc            *frames.Document
	id             int
	ref            executor.Ref   // if the target was a ref
	shown          *shownRef      // what the client last received for the ref
	selector       string         // if the target was a selector
	useFullTimeout bool           // wait until the caller's timeout for what is missing, such as an option
	matches        int            // matches of the selector in all searched documents
	item           string         // the text of the item that it is in, if its document has several matches
	watch          *changeTracker // of the action, if its input on the element is the action's last; nil otherwise
	submits        bool           // a press on it is expected to submit a form
}

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

// resolve finds the element of a target and checks with the gate whether op is allowed on its
// document.
func (v *View) resolve(ctx context.Context, target executor.Target, op executor.Operation) (*element, error) {
	if err := target.Validate(); err != nil {
		return nil, err
	}
	if target.Ref != "" {
		return v.resolveRef(ctx, target.Ref, op)
	}
	el, err := v.query(ctx, target.Selector, op)
	if err == nil && el == nil && v.exposeClosedContent(ctx, op) {
		el, err = v.query(ctx, target.Selector, op)
	}
	if err != nil {
		return nil, err
	}
	if el == nil {
		return nil, &executor.Error{Code: executor.ErrSelectorNotFound, Retryable: true,
			Err:        fmt.Errorf("nothing matches %s", target.Selector),
			Hint:       "Take a snapshot and use a ref.",
			Candidates: v.candidates(ctx, "", target.Selector, "", frames.Node{}),
		}
	}
	return el, nil
}

// waitForElement is like resolve, for an action: it waits for the selector to match, for
// Timing.Selector or, if useFullTimeout is set, until ctx is done.
func (v *View) waitForElement(ctx context.Context, target executor.Target, useFullTimeout bool) (*element, error) {
	asking, cancel := extend(ctx, v.tab.timing.Script) // a slow response also counts
	defer cancel()
	since := time.Now() // when the document was last found to be unparsed or new
	var world string
	for {
		el, err := v.resolve(asking, target, executor.OpAct)
		if el != nil {
			el.useFullTimeout = useFullTimeout
		}
		if target.Selector == "" || !errors.Is(err, executor.ErrSelectorNotFound) && !errors.Is(err, frames.ErrDocumentGone) {
			return el, err
		}
		d, derr := v.tab.tree.TopDocument(ctx)
		if derr == nil {
			isNew := d.World != world
			if isNew || !v.tab.parsed() {
				world, since = d.World, time.Now()
			}
			if isNew && errors.Is(err, frames.ErrDocumentGone) {
				continue // search the new document
			}
			derr = d.Call(ctx, nil, "nextChange", pollInterval.Milliseconds())
		}
		switch {
		case ctx.Err() != nil, !useFullTimeout && time.Since(since) > v.tab.timing.Selector:
			return nil, err
		case derr != nil && !errors.Is(derr, frames.ErrDocumentGone):
			if errors.Is(err, frames.ErrDocumentGone) {
				return nil, derr
			}
			return nil, err
		}
	}
}

// parsed reports whether the top document has been parsed completely.
func (t *Tab) parsed() bool {
	s := t.tree.Lock()
	defer s.Unlock()
	return s.Top().Reached("DOMContentLoaded")
}

// resolveRef finds the element of a ref and checks with the gate whether op is allowed on its
// document.
func (v *View) resolveRef(ctx context.Context, given executor.Ref, op executor.Operation) (*element, error) {
	ref, err := executor.ParseRef(string(given))
	if err != nil {
		return nil, err
	}
	n, l, known := v.refs.lookup(ref)
	if !known {
		return nil, v.refError(ctx, ref, "ref %s does not exist on this page")
	}
	for _, d := range v.tab.tree.Documents() {
		if d.World == n.World {
			el := &element{doc: d, id: n.ID, ref: ref, matches: 1, shown: &shownRef{ref: ref, doc: d, id: n.ID, at: l.At}}
			return el, v.client.CheckFrame(ctx, d.Frame, op, "")
		}
	}
	return nil, v.refError(ctx, ref, "ref %s belongs to a document that was unloaded")
}

// refExpiredError returns the error for an element that was removed from its document:
// ErrRefExpired for a ref, ErrSelectorNotFound for an element that was found by a selector.
func (v *View) refExpiredError(ctx context.Context, el *element) error {
	if el.ref == "" {
		return &executor.Error{Code: executor.ErrSelectorNotFound, Retryable: true,
			Err: errors.New("the element was removed during the wait"), Hint: "Take a new snapshot."}
	}
	return v.refError(ctx, el.ref, "ref %s: element was removed from the document")
}

// refError returns an ErrRefExpired for a ref, with the elements that it possibly meant. format has
// one verb, for the ref.
func (v *View) refError(ctx context.Context, ref executor.Ref, format string) error {
	n, label, _ := v.refs.lookup(ref)
	e := executor.Errorf(executor.ErrRefExpired, "Take a new snapshot.", format, ref)
	e.Candidates = v.candidates(ctx, label.Role, label.Name, "", n)
	return e
}

// A detachedBeforeAction is the error for an element that was removed before the action sent any
// input. The action can be repeated with the element that matches the selector now.
type detachedBeforeAction struct{ error }

func (e detachedBeforeAction) Unwrap() error { return e.error }

// detachedBeforeActionError is refExpiredError for an element that received no input yet.
func (v *View) detachedBeforeActionError(ctx context.Context, el *element) error {
	return detachedBeforeAction{v.refExpiredError(ctx, el)}
}

// query finds the first visible match of a selector, or else the first match, in document order of
// the top document and the frames with its origin. It returns nil if there is no match.
func (v *View) query(ctx context.Context, selector string, op executor.Operation) (*element, error) {
	top, err := v.client.Document(ctx, op)
	if err == nil {
		err = v.checkSelector(selector)
	}
	if err != nil {
		return nil, err
	}
	hidden, shown := make(map[cdp.FrameID]*element), make(map[cdp.FrameID]*element) // the first match in each document
	total := 0
	for _, d := range v.sameOrigin(ctx, top, op) {
		var f queryResult
		if err := d.Call(ctx, &f, "query", selector, map[string]any{"limit": 50}); err != nil {
			if errors.Is(err, frames.ErrDocumentGone) && !d.IsTop() {
				continue
			}
			return nil, err
		}
		if f.Error != "" {
			return nil, executor.Errorf(executor.ErrBadArgs, "Use CSS, text=…, label=…, role=button[name=\"…\"], or a ref from a snapshot.", "%s", f.Error)
		}
		total += f.Total
		for _, m := range f.Matches {
			el := &element{doc: d, id: m.ID, item: f.Item}
			if m.Visible && shown[d.Frame] == nil {
				shown[d.Frame] = el
			}
			if hidden[d.Frame] == nil {
				hidden[d.Frame] = el
			}
		}
		if f.Nth && f.Total > 0 {
			break // nth= counts in one document, first in the top one
		}
	}
	if len(shown) == 0 {
		shown = hidden
	}
	el, err := v.firstInDocumentOrder(ctx, shown)
	if el != nil {
		el.matches, el.selector = total, selector
		if el.item != "" && !v.CanRead(ctx, string(el.doc.Frame)) {
			el.item = ""
		}
	}
	return el, err
}

// firstInDocumentOrder returns which of the elements comes first in the page. found maps frames to
// elements in their documents. It queries the order only in documents that contain more than one of
// the elements, directly or in frames.
func (v *View) firstInDocumentOrder(ctx context.Context, found map[cdp.FrameID]*element) (*element, error) {
	if len(found) < 2 {
		for _, el := range found {
			return el, nil
		}
		return nil, nil
	}
	type candidate struct {
		el *element
		in *frames.Document // the child document that contains el; nil if el is in the document itself
	}
	docs := v.tab.tree.Documents()
	below := make(map[cdp.FrameID][]candidate)
	var first *element
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
			at := make(map[int]*element)
			var ids []int
			for _, c := range list {
				id := c.el.id
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
func (v *View) exposeClosedContent(ctx context.Context, op executor.Operation) bool {
	top, err := v.client.Document(ctx, op)
	if err != nil {
		return false
	}
	found := false
	for _, d := range v.sameOrigin(ctx, top, op) {
		var ids []int
		if d.Call(ctx, &ids, "closedCandidates") == nil {
			found = exposeClosedShadowRoots(ctx, d, ids) || found
		}
		if d.Call(ctx, &ids, "internalsCandidates") == nil {
			found = readInternals(ctx, d, ids) || found
		}
	}
	return found
}

// sameOrigin returns top and the documents below it that have the same origin and that the gate
// allows op on.
func (v *View) sameOrigin(ctx context.Context, top *frames.Document, op executor.Operation) []*frames.Document {
	list := []*frames.Document{top}
	for _, d := range v.tab.tree.Documents() {
		if d.IsTop() || d.Origin != top.Origin || d.Origin == executor.OriginOpaque {
			continue
		}
		if v.client.CheckFrame(ctx, d.Frame, op, "") == nil {
			list = append(list, d)
		}
	}
	return list
}

// note returns the note that several elements matched, or that the element of a ref has a new name,
// or "".
func (el *element) note() string {
	if el.matches > 1 {
		note := fmt.Sprintf("%d elements match; the first visible one was used", el.matches)
		if el.item != "" {
			note += "," + inItem(el.item)
		}
		return note
	}
	return el.shown.newName()
}

// maxCandidates is the maximum number of candidates in an error.
const maxCandidates = 5

// candidates returns elements that the caller possibly meant by a role and name, or by the words of
// a selector. If elements with the role and name are in an item with the text item, it returns only
// those. If item is "", that is the item in which the element of the removed node was, if it is known.
func (v *View) candidates(ctx context.Context, role, text, item string, removed frames.Node) []executor.Candidate {
	var list []executor.Candidate
	for _, d := range v.client.Allowed(ctx, executor.OpRead) {
		id := 0
		if d.World == removed.World {
			id = removed.ID
		}
		var got []foundElement
		if err := d.Call(ctx, &got, "candidates", role, text, maxCandidates-len(list), item, id); err != nil {
			continue
		}
		for _, c := range got {
			list = append(list, executor.Candidate{Role: c.Role, Name: c.Name, Item: itemExcerpt(c.Item), Ref: v.refFor(d.World, c.ID, c.refDescription)})
		}
		if len(list) >= maxCandidates {
			break
		}
	}
	return list
}

// A foundElement is an element that a page script found, with what is reported with its ref.
type foundElement struct {
	ID   int    `json:"id"`
	Item string `json:"item"` // of a candidate: the text of the item that it is in
	refDescription
}

// withRef describes an element of a document, with its ref.
func (v *View) withRef(d *frames.Document, e foundElement) string {
	return fmt.Sprintf("%s [ref=%s]", e.refDescription, v.refFor(d.World, e.ID, e.refDescription))
}

// String returns the description as snapshots print it.
func (d refDescription) String() string {
	name := pagetext.Truncate(strings.Join(strings.Fields(d.Name), " "), 80)
	role := cmp.Or(d.Role, "element")
	if name == "" {
		return role
	}
	return fmt.Sprintf("%s %s", role, pagetext.Text(name))
}

// describe returns a description of an element for messages.
func (v *View) describe(ctx context.Context, el *element) string {
	var l refDescription
	if err := el.doc.Call(ctx, &l, "describe", el.id); err != nil {
		v.tab.log.Debug("describing an element failed", "error", err)
	}
	s := l.String()
	if el.ref != "" {
		s += fmt.Sprintf(" [ref=%s]", el.ref)
	}
	return s
}

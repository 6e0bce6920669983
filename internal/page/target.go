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
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// An element is a node that a target was resolved to.
type element struct {
	doc      *document
	id       int
	ref      executor.Ref // when the target was one
	selector string       // when the target was one
	patient  bool         // wait for what is missing, such as an option, until the caller's timeout
	matches  int          // of the selector, in all documents searched
	watch    *watch       // of the action on it that ends with its input; nil for others
	submits  bool         // a press on it is to send a form
}

// found is what api.query returns.
type found struct {
	Error   string  `json:"error"`
	Total   int     `json:"total"`
	Matches []match `json:"matches"`
}

// A match is [id, visible].
type match struct {
	ID      int
	Visible bool
}

// UnmarshalJSON decodes the pair.
func (m *match) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&m.ID, &m.Visible})
}

// resolve finds the element of a target and asks the gate for op on its
// document.
func (v *View) resolve(ctx context.Context, target executor.Target, op executor.Operation) (*element, error) {
	if err := target.Validate(); err != nil {
		return nil, err
	}
	if target.Ref != "" {
		return v.resolveRef(ctx, target.Ref, op)
	}
	el, err := v.query(ctx, target.Selector, op)
	if err == nil && el == nil && v.openClosed(ctx, op) {
		el, err = v.query(ctx, target.Selector, op)
	}
	if err != nil {
		return nil, err
	}
	if el == nil {
		return nil, &executor.Error{Code: executor.ErrSelectorNotFound, Retryable: true,
			Err:        fmt.Errorf("nothing matches %s", target.Selector),
			Hint:       "Take a snapshot and use a ref.",
			Candidates: v.candidates(ctx, "", target.Selector),
		}
	}
	return el, nil
}

// missingPatience is how long a selector may match nothing in a document
// that is all there before waiting is given up.
const missingPatience = 700 * time.Millisecond

// appear is resolve for an action: it waits a moment, or as long as ctx lets
// it when the caller is patient, for a selector to match.
func (v *View) appear(ctx context.Context, target executor.Target, patient bool) (*element, error) {
	asking, cancel := extend(ctx, answerGrace) // a slow answer is one all the same
	defer cancel()
	since := time.Now() // that the document has been all there
	var world string
	for {
		el, err := v.resolve(asking, target, executor.OpAct)
		if el != nil {
			el.patient = patient
		}
		if target.Selector == "" || !errors.Is(err, executor.ErrSelectorNotFound) && !errors.Is(err, errDocumentGone) {
			return el, err
		}
		d, derr := v.tab.document(ctx)
		if derr == nil {
			fresh := d.world != world
			if fresh || !v.tab.parsed() {
				world, since = d.world, time.Now()
			}
			if fresh && errors.Is(err, errDocumentGone) {
				continue // look in the one that came
			}
			derr = d.call(ctx, nil, "nextChange", lookInterval.Milliseconds())
		}
		switch {
		case ctx.Err() != nil, !patient && time.Since(since) > missingPatience:
			return nil, err
		case derr != nil && !errors.Is(derr, errDocumentGone):
			return nil, cmp.Or(notGone(err), derr)
		}
	}
}

// notGone returns err unless it is the end of a document.
func notGone(err error) error {
	if errors.Is(err, errDocumentGone) {
		return nil
	}
	return err
}

// parsed reports whether the top document has all its content.
func (t *Tab) parsed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames[t.main].reached["DOMContentLoaded"]
}

func (v *View) resolveRef(ctx context.Context, given executor.Ref, op executor.Operation) (*element, error) {
	ref, err := executor.ParseRef(string(given))
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	n, known := v.refs[ref]
	label := v.labels[ref]
	v.mu.Unlock()
	for _, d := range v.tab.documents() {
		if known && d.world == n.world {
			return &element{doc: d, id: n.id, ref: ref, matches: 1}, v.checkFrame(ctx, d.frame, op, "")
		}
	}
	e := executor.Errorf(executor.ErrRefExpired, "Take a new snapshot.", "ref %s is of a document that is gone", ref)
	if !known {
		e.Err = fmt.Errorf("ref %s is not of this page", ref)
	}
	e.Candidates = v.candidates(ctx, label.Role, label.Name)
	return nil, e
}

// expired says that a ref's element was removed from its document, or that an
// element found by a selector was while it was waited for.
func (v *View) expired(ctx context.Context, el *element) error {
	if el.ref == "" {
		return &executor.Error{Code: executor.ErrSelectorNotFound, Retryable: true,
			Err: errors.New("the element was removed while it was waited for"), Hint: "Take a new snapshot."}
	}
	v.mu.Lock()
	label := v.labels[el.ref]
	v.mu.Unlock()
	e := executor.Errorf(executor.ErrRefExpired, "Take a new snapshot.", "the element of ref %s was removed from the page", el.ref)
	e.Candidates = v.candidates(ctx, label.Role, label.Name)
	return e
}

// A vanishedError is the error for an element that was gone before anything
// was done to it: what now matches the same selector can be taken instead.
type vanishedError struct{ error }

func (e vanishedError) Unwrap() error { return e.error }

// vanished is expired for an element that nothing was done to yet.
func (v *View) vanished(ctx context.Context, el *element) error {
	return vanishedError{v.expired(ctx, el)}
}

// query finds the first visible match of a selector in the top document and
// in the frames of its origin, where they are in it, else the first match; nil
// when there is none.
func (v *View) query(ctx context.Context, selector string, op executor.Operation) (*element, error) {
	top, err := v.document(ctx, op)
	if err != nil {
		return nil, err
	}
	hidden, shown := make(map[cdp.FrameID]*element), make(map[cdp.FrameID]*element) // the first in each document
	total := 0
	for _, d := range v.sameOrigin(ctx, top, op) {
		var f found
		if err := d.call(ctx, &f, "query", selector, map[string]any{"limit": 50}); err != nil {
			if errors.Is(err, errDocumentGone) && !d.top() {
				continue
			}
			return nil, err
		}
		if f.Error != "" {
			return nil, executor.Errorf(executor.ErrBadArgs, "Use CSS, text=…, or role=button[name=\"…\"]; or a ref from snapshot.", "%s", f.Error)
		}
		total += f.Total
		for _, m := range f.Matches {
			el := &element{doc: d, id: m.ID}
			if m.Visible && shown[d.frame] == nil {
				shown[d.frame] = el
			}
			if hidden[d.frame] == nil {
				hidden[d.frame] = el
			}
		}
	}
	if len(shown) == 0 {
		shown = hidden
	}
	el, err := v.foremost(ctx, shown)
	if el != nil {
		el.matches, el.selector = total, selector
	}
	return el, err
}

// foremost returns which of some elements, by the frames that they are in,
// comes first in the page. Only a document that more than one of them is in,
// or in frames of, is asked for their order.
func (v *View) foremost(ctx context.Context, found map[cdp.FrameID]*element) (*element, error) {
	if len(found) < 2 {
		for _, el := range found {
			return el, nil
		}
		return nil, nil
	}
	type candidate struct {
		el *element
		in *document // the one right below whose frame it is in; nil for the document itself
	}
	docs := v.tab.documents()
	below := make(map[cdp.FrameID][]candidate)
	var first *element
	for _, d := range slices.Backward(docs) { // what is below comes before
		list := below[d.frame]
		if el := found[d.frame]; el != nil {
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
					if id, err = c.in.owner(ctx, d); errors.Is(err, errDocumentGone) {
						continue
					} else if err != nil {
						return nil, err
					}
				}
				at[id], ids = c.el, append(ids, id)
			}
			var id int
			if err := d.call(ctx, &id, "foremost", ids); err != nil {
				return nil, err
			}
			if at[id] != nil {
				first = at[id]
			}
		}
		below[d.parent] = append(below[d.parent], candidate{first, d})
	}
	return first, nil
}

// openClosed opens the closed shadow roots of the documents that a selector is
// matched in. It reports whether there are any new.
func (v *View) openClosed(ctx context.Context, op executor.Operation) bool {
	top, err := v.document(ctx, op)
	if err != nil {
		return false
	}
	any := false
	for _, d := range v.sameOrigin(ctx, top, op) {
		var ids []int
		if d.call(ctx, &ids, "closedCandidates") == nil {
			any = d.openClosedRoots(ctx, ids) || any
		}
		if d.call(ctx, &ids, "internalsCandidates") == nil {
			any = d.readInternals(ctx, ids) || any
		}
	}
	return any
}

// sameOrigin returns top and the documents below it that have its origin and
// that the gate allows op on.
func (v *View) sameOrigin(ctx context.Context, top *document, op executor.Operation) []*document {
	list := []*document{top}
	for _, d := range v.tab.documents() {
		if d.top() || d.origin != top.origin || d.origin == executor.OriginOpaque {
			continue
		}
		if v.checkFrame(ctx, d.frame, op, "") == nil {
			list = append(list, d)
		}
	}
	return list
}

// note says which of several matches was taken.
func (e *element) note() string {
	if e.matches > 1 {
		return fmt.Sprintf("%d elements match; the first visible one was used", e.matches)
	}
	return ""
}

// maxCandidates bounds the elements that an error offers.
const maxCandidates = 5

// candidates returns elements that may have been meant by a role and name, or
// by the words of a selector.
func (v *View) candidates(ctx context.Context, role, text string) []executor.Candidate {
	var list []executor.Candidate
	for _, d := range v.allowed(ctx, executor.OpRead) {
		var got []struct {
			ID   int    `json:"id"`
			Role string `json:"role"`
			Name string `json:"name"`
		}
		if err := d.call(ctx, &got, "candidates", role, text, maxCandidates-len(list)); err != nil {
			continue
		}
		for _, c := range got {
			list = append(list, executor.Candidate{Role: c.Role, Name: c.Name, Ref: v.mint(d.world, c.ID, label{c.Role, c.Name})})
		}
		if len(list) >= maxCandidates {
			break
		}
	}
	return list
}

// A label is what a ref was shown as, to find it again by.
type label struct {
	Role string `json:"role"`
	Name string `json:"name"`
}

// String returns the label as snapshots print it.
func (l label) String() string {
	name := strings.Join(strings.Fields(l.Name), " ")
	if r := []rune(name); len(r) > 80 {
		name = string(r[:80]) + "…"
	}
	if l.Role == "" {
		l.Role = "element"
	}
	if name == "" {
		return l.Role
	}
	return fmt.Sprintf("%s %s", l.Role, pagetext.Text(name))
}

// describe names an element for a message.
func (v *View) describe(ctx context.Context, el *element) string {
	var l label
	if err := el.doc.call(ctx, &l, "describe", el.id); err != nil {
		v.tab.log.Debug("an element could not be described", "error", err)
	}
	s := l.String()
	if el.ref != "" {
		s += fmt.Sprintf(" [ref=%s]", el.ref)
	}
	return s
}

// owner returns the number that our scripts in the parent document gave to
// the element that a frame is in.
func (d *document) owner(ctx context.Context, parent *document) (int, error) {
	t := d.tab
	t.mu.Lock()
	f := t.frames[d.frame]
	if f != nil && f.owner.world == parent.world {
		defer t.mu.Unlock()
		return f.owner.id, nil
	}
	t.mu.Unlock()
	var got dom.GetFrameOwnerResult
	if err := parent.sess.Call(ctx, dom.CommandGetFrameOwner, dom.GetFrameOwnerParams{FrameID: d.frame}, &got); err != nil {
		return 0, parent.failure(err)
	}
	group, release := parent.objectGroup(ctx)
	defer release()
	id, _, err := parent.number(ctx, got.BackendNodeID, group)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.frames[d.frame]; f != nil {
		f.owner = node{world: parent.world, id: id}
	}
	return id, nil
}

// number returns the number that our scripts give to an element of the
// document, and the object that it is in our world, which keeps it from being
// collected.
func (d *document) number(ctx context.Context, backend cdp.BackendNodeID, group string) (int, runtime.RemoteObjectID, error) {
	if err := d.install(ctx); err != nil {
		return 0, "", err
	}
	object, err := d.handle(ctx, backend, group)
	if err != nil {
		return 0, "", err
	}
	var answer struct {
		Result struct {
			Value int `json:"value"`
		} `json:"result"`
	}
	if err := d.sess.Call(ctx, runtime.CommandCallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: "function() { return globalThis.__cm.idOf(this) }",
		ObjectID:            object, ReturnByValue: yes, Silent: yes,
	}, &answer); err != nil {
		return 0, "", d.failure(err)
	}
	return answer.Result.Value, object, nil
}

// handle resolves a backend node to an object of our world in the document. group
// may be empty.
func (d *document) handle(ctx context.Context, id cdp.BackendNodeID, group string) (runtime.RemoteObjectID, error) {
	d.tab.mu.Lock()
	f := d.tab.frames[d.frame]
	var number runtime.ExecutionContextID
	if f != nil && f.world != nil && f.world.id == d.world {
		number = f.world.number
	}
	d.tab.mu.Unlock()
	if number == 0 {
		return "", errDocumentGone
	}
	var res dom.ResolveNodeResult
	err := d.sess.Call(ctx, dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ExecutionContextID: number, ObjectGroup: group}, &res)
	if err != nil {
		return "", d.failure(err)
	}
	return res.Object.ObjectID, nil
}

// parentDocument returns the document that holds d's frame, nil for the top
// one.
func (d *document) parentDocument(ctx context.Context) (*document, error) {
	if d.top() {
		return nil, nil
	}
	return d.tab.frameDocument(ctx, d.parent)
}

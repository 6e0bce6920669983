package page

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// shown is the outline of the whole page that a client was shown last.
type shown struct {
	tree     *outline.Document
	world    string // of the top document
	obstacle *executor.Obstacle
}

// Snapshot returns an outline of the page or the target.
func (v *View) Snapshot(ctx context.Context, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return ofOneDocument(ctx, func() (*executor.Snapshot, error) { return v.snapshot(ctx, opts) })
}

func (v *View) snapshot(ctx context.Context, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	var o executor.SnapshotOptions
	if opts != nil {
		o = *opts
	}
	if err := outline.CheckFind(o.Find); err != nil {
		return nil, badFind(err)
	}
	if o.Diff && (o.Find != "" || o.Depth > 0 || o.Offset > 0 || o.InteractiveOnly) {
		return nil, executor.Errorf(executor.ErrBadArgs, "Leave them out, or take a snapshot without diff.",
			"a diff takes no find, depth, offset or interactive only")
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	top, err := v.document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	root := &element{doc: top}
	if !o.Target.IsZero() {
		if root, err = v.resolve(ctx, o.Target, executor.OpRead); err != nil {
			return nil, err
		}
	}
	tree, err := v.outline(ctx, root, walkOptions{survey: true, chars: charsFor(o)})
	if err != nil {
		return nil, v.tab.readTimeoutAs(caller, err, "the page to be read")
	}
	obstacle := top.obstacle(tree.Signs)
	var s *executor.Snapshot
	if o.Diff {
		s, err = v.diffSnapshot(ctx, top, root, tree, o)
	} else {
		s, err = v.render(tree, o)
	}
	if o.Target.IsZero() {
		v.remember(&shown{tree: tree, world: top.world, obstacle: obstacle})
	} else if err == nil {
		v.rememberPart(node{world: root.doc.world, id: root.id}, tree)
	}
	if err != nil {
		return nil, err
	}
	s.Origin, s.Obstacle, s.MissingFrames = top.origin, obstacle, tree.Missing
	return s, nil
}

func (v *View) render(tree *outline.Document, o executor.SnapshotOptions) (*executor.Snapshot, error) {
	r, err := outline.Render(tree, outline.Options{
		MaxChars: o.MaxChars, Offset: o.Offset, Depth: o.Depth, InteractiveOnly: o.InteractiveOnly, Find: o.Find, RefOf: v.refOf,
	})
	if err != nil {
		return nil, badFind(err)
	}
	return &executor.Snapshot{
		Text: r.Text, Elements: r.Elements, Omitted: r.Omitted, Truncated: r.Truncated, Offset: r.NextOffset,
		Cut: r.Cut, Unsearched: r.Unsearched,
	}, nil
}

func badFind(err error) error {
	return executor.Errorf(executor.ErrBadArgs, "Use a plain text, or a /regular expression/ in Go's syntax.", "find: %w", err)
}

// diffSnapshot returns what changed since the last snapshot of the page, or of
// the part of the page at root.
func (v *View) diffSnapshot(ctx context.Context, top *document, root *element, tree *outline.Document, o executor.SnapshotOptions) (*executor.Snapshot, error) {
	var before *outline.Document
	last := v.shownLast()
	switch {
	case o.Target.IsZero():
		if last != nil {
			before = last.tree
		}
	default:
		at := node{world: root.doc.world, id: root.id}
		v.mu.Lock()
		before = v.parts[at]
		v.mu.Unlock()
		if before != nil || last == nil {
			break
		}
		// The element was shown as part of the page. A walk of only this part may
		// have a different result, so walk the page once more.
		if before = last.tree.Part(at.world, at.id); before != nil {
			whole, err := v.outline(ctx, &element{doc: top}, walkOptions{})
			if err != nil {
				return nil, err
			}
			if now := whole.Part(at.world, at.id); now != nil {
				tree = now
			}
		}
	}
	if before == nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "Take one without diff first.", "there is no earlier snapshot of this to compare with")
	}
	c := v.diff(before, tree, o.MaxChars)
	s := &executor.Snapshot{Text: c.Text, Elements: c.Added + c.Removed + c.Changed}
	if c.Empty() {
		s.Text = "no visible change"
	}
	return s, nil
}

func (v *View) diff(before, tree *outline.Document, maxChars int) outline.Change {
	return outline.Diff(before, tree, outline.DiffOptions{MaxChars: maxChars, RefOf: v.refOf, OldRef: v.oldRef})
}

func (v *View) shownLast() *shown {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

func (v *View) remember(s *shown) {
	v.forget()
	s.tree.Shorten()
	v.mu.Lock()
	v.last = s
	v.mu.Unlock()
}

// maxParts limits how many parts of pages are remembered.
const maxParts = 8

// rememberPart stores the outline of a part of the page that the client received.
func (v *View) rememberPart(at node, tree *outline.Document) {
	v.forget()
	tree.Shorten()
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.parts[at]; !ok && len(v.parts) >= maxParts {
		clear(v.parts)
	}
	v.parts[at] = tree
}

// refOf mints the ref of an outline's node.
func (v *View) refOf(n *outline.Node) string {
	return string(v.mint(n.Doc.Key, n.ID, label{n.Role, n.Name}))
}

// oldRef returns the ref of a node that may be gone, if it had one.
func (v *View) oldRef(n *outline.Node) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return string(v.names[node{world: n.Doc.Key, id: n.ID}])
}

// walkOptions selects what a walk of documents returns.
type walkOptions struct {
	survey bool // return the signs of obstacles, in a walk of a complete page
	chars  int  // limit of one piece of text; 0 means the default of the walk
}

// maxSearched is the maximum number of characters that are searched in one piece
// of text.
const maxSearched = 1 << 22

// charsFor returns how many characters of one piece of text a snapshot needs.
func charsFor(o executor.SnapshotOptions) int {
	switch {
	case o.Find != "":
		return maxSearched
	case o.MaxChars > outline.DefaultMaxChars:
		return o.MaxChars
	}
	return 0
}

// outline walks the document of root, from root's element or as a whole, and
// the documents of the frames below it that the gate allows, and joins them.
func (v *View) outline(ctx context.Context, root *element, opts walkOptions) (*outline.Document, error) {
	return v.outlineFrom(ctx, root, opts, early{})
}

// An early is what the walk of a document said that was asked for together
// with something else. It is used where it answers the same question.
type early struct {
	world    string
	surveyed bool
	raw      jsonv2.Value // empty when nothing was asked
}

// outlineFrom is outline, with a walk that may have been made before.
func (v *View) outlineFrom(ctx context.Context, root *element, wo walkOptions, seen early) (*outline.Document, error) {
	docs := v.below(ctx, root.doc)
	type walk struct {
		doc    *document
		opts   map[string]any
		result *cdpconn.Pending
		raw    jsonv2.Value // instead of result
	}
	walks := make([]walk, 0, len(docs))
	for _, d := range docs {
		opts := map[string]any{"survey": wo.survey, "chars": wo.chars}
		if d == root.doc && root.id != 0 {
			opts["root"] = root.id
		}
		if d == root.doc && root.id == 0 && len(seen.raw) > 0 && seen.world == d.world && seen.surveyed == wo.survey {
			walks = append(walks, walk{doc: d, opts: opts, raw: seen.raw})
			continue
		}
		p, err := d.start(ctx, "snapshot", opts)
		if err == nil {
			walks = append(walks, walk{doc: d, opts: opts, result: p})
		} else if d == root.doc {
			return nil, err
		}
	}
	trees := make(map[cdp.FrameID]*outline.Document)
	parents := make(map[cdp.FrameID]*document)
	for _, d := range docs {
		parents[d.frame] = d
	}
	denied := v.deniedIn(ctx, parents)
	missing := len(docs) - len(walks)
	for _, w := range walks {
		tree, err := w.doc.readOutline(ctx, w.result, w.raw)
		more := false
		if err == nil {
			more = w.doc.openClosedRoots(ctx, tree.Hosts)
			more = w.doc.readInternals(ctx, tree.Customs) || more
			more = w.doc.readListeners(ctx, tree.Clickables) || more
		}
		if more {
			// There is more to see than the walk saw.
			var again *cdpconn.Pending
			if again, err = w.doc.start(ctx, "snapshot", w.opts); err == nil {
				tree, err = w.doc.readOutline(ctx, again, nil)
			}
		}
		switch {
		case errors.Is(err, outline.ErrGone):
			return nil, v.expired(ctx, root)
		case err != nil && w.doc == root.doc:
			return nil, err
		case err != nil:
			v.tab.log.Debug("a frame could not be read", "error", err)
			if ctx.Err() != nil {
				missing++
			}
			continue
		}
		for _, d := range denied[w.doc.frame] {
			if n := nodeOf(ctx, d, w.doc, tree); n != nil {
				n.Denied = true
			}
		}
		trees[w.doc.frame] = tree
		if parent := trees[w.doc.parent]; parent != nil && w.doc != root.doc {
			if id, err := w.doc.owner(ctx, parents[w.doc.parent]); err == nil {
				parent.Graft(id, tree)
			} else if ctx.Err() != nil {
				missing++
			}
		}
	}
	tree := trees[root.doc.frame]
	tree.Missing = missing
	return tree, nil
}

// nodeOf returns the node of the element that d's frame is in; nil when the
// outline of its parent has none.
func nodeOf(ctx context.Context, d, parent *document, tree *outline.Document) *outline.Node {
	id, err := d.owner(ctx, parent)
	if err != nil {
		return nil
	}
	return tree.Node(id)
}

// below returns d and the documents below it that may be read, parents first.
func (v *View) below(ctx context.Context, d *document) []*document {
	list := []*document{d}
	in := map[cdp.FrameID]bool{d.frame: true}
	for _, x := range v.allowed(ctx, executor.OpRead) {
		if x.frame != d.frame && in[x.parent] {
			in[x.frame] = true
			list = append(list, x)
		}
	}
	return list
}

// deniedIn returns the documents of frames right in some documents that the
// gate does not let be read, by the frame that they are in: they are marked,
// so that they do not look empty.
func (v *View) deniedIn(ctx context.Context, parents map[cdp.FrameID]*document) map[cdp.FrameID][]*document {
	denied := make(map[cdp.FrameID][]*document)
	for _, d := range v.tab.frameList() {
		if parents[d.frame] != nil || parents[d.parent] == nil || d.world == "" || v.check(ctx, d, executor.OpRead, "") == nil {
			continue
		}
		denied[d.parent] = append(denied[d.parent], d)
	}
	return denied
}

// readOutline waits for a walk and decodes it.
func (d *document) readOutline(ctx context.Context, p *cdpconn.Pending, raw jsonv2.Value) (*outline.Document, error) {
	if raw == nil {
		if err := d.finish(ctx, p, &raw); err != nil {
			return nil, err
		}
	}
	return outline.Decode(raw, d.world)
}

// tellsOutline reports whether an action tells what the page shows: the
// session wants that, or it was shown the page before.
func (v *View) tellsOutline(ctx context.Context) bool {
	after := v.after(ctx)
	return after == executor.AfterSnapshot || after != executor.AfterNone && v.shownLast() != nil
}

// after is what the caller wants to be told after an action.
func (v *View) after(ctx context.Context) executor.AfterAction {
	return executor.AfterActionOf(ctx, v.opts.AfterAction)
}

// changes fills in how the page differs from what this client saw last, or
// the whole page if the session wants that. stirred says that the page's tree
// has changed since: without, it shows no other obstacle than before. seen is
// what top showed when it had come to rest, if that was asked.
func (v *View) changes(ctx context.Context, top *document, c *executor.Changes, stirred bool, seen early) error {
	before := v.shownLast()
	after := v.after(ctx)
	if !v.tellsOutline(ctx) {
		c.Unchanged = before != nil && c.URL == "" && c.Title == "" && len(c.NewTabs)+len(c.Downloads)+len(c.Errors)+c.Pending == 0
		if after == executor.AfterNone {
			c.Unchanged = false
		}
		return nil
	}
	tree, err := v.outlineFrom(ctx, &element{doc: top}, walkOptions{survey: stirred}, seen)
	if err != nil {
		if errors.Is(err, errDocumentGone) || errors.Is(err, executor.ErrDialogOpen) {
			return nil // it goes on changing: the next snapshot will tell
		}
		return err
	}
	now := &shown{tree: tree, world: top.world, obstacle: top.obstacle(tree.Signs)}
	if !stirred && before != nil {
		now.obstacle = before.obstacle
	}
	defer v.remember(now)
	c.Obstacle = now.news(before)
	if after == executor.AfterSnapshot {
		r, err := outline.Render(tree, outline.Options{RefOf: v.refOf})
		c.Snapshot = r.Text
		return err
	}
	if before.world != top.world {
		// Another document: what was on the one before is of no interest.
		r, err := outline.Render(tree, outline.Options{RefOf: v.refOf, MaxChars: outline.DefaultDiffChars})
		c.Snapshot = r.Text
		return err
	}
	change := v.diff(before.tree, tree, 0)
	c.Diff = change.Text
	c.Unchanged = change.Empty() && c.URL == "" && c.Title == "" && len(c.NewTabs)+len(c.Downloads)+len(c.Errors) == 0
	return nil
}

package page

import (
	"cmp"
	"context"
	"errors"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/outline"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// lastSnapshot is the outline of the complete page that a client last received.
type lastSnapshot struct {
	tree     *outline.Document
	world    string // of the top document
	obstacle *executor.Obstacle
}

// Snapshot returns an outline of the page or of the target.
func (v *View) Snapshot(ctx context.Context, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return retryOnNavigation(ctx, opts, v.snapshot)
}

func (v *View) snapshot(ctx context.Context, o executor.SnapshotOptions) (*executor.Snapshot, error) {
	if err := outline.CheckFind(o.Find); err != nil {
		return nil, badFind(err)
	}
	if o.Diff && (o.Find != "" || o.Depth > 0 || o.Offset > 0 || o.InteractiveOnly) {
		return nil, executor.Errorf(executor.ErrBadArgs, "Omit them, or take a snapshot without diff.",
			"diff cannot be combined with find, depth, offset or interactive only")
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, v.tab.timing.Read)
	defer cancel()
	top, err := v.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	root := &element{doc: top}
	if !o.Target.IsZero() {
		if root, err = v.resolve(ctx, o.Target, executor.OpRead); err != nil {
			return nil, err
		}
	}
	changed := v.startComparing(ctx, root)
	tree, err := v.outline(ctx, root, walkOptions{survey: true, chars: charsFor(o)})
	if err != nil {
		return nil, v.tab.readTimeoutAs(caller, err, "the page to be read")
	}
	obstacle := v.tab.obstacleOf(top, tree.ObstacleSignals)
	var s *executor.Snapshot
	if o.Diff {
		s, err = v.diffSnapshot(ctx, top, root, tree, o)
	} else {
		s, err = v.render(tree, o)
	}
	if o.Target.IsZero() {
		v.setLastSnapshot(&lastSnapshot{tree: tree, world: top.World, obstacle: obstacle})
	} else if err == nil {
		v.rememberPart(root.doc.Node(root.id), tree)
	}
	if err != nil {
		return nil, err
	}
	s.Origin, s.Obstacle, s.MissingFrames, s.Note = top.Origin, obstacle, tree.UnreadFrames, changed()
	return s, nil
}

// render prints an outline.
func (v *View) render(tree *outline.Document, o executor.SnapshotOptions) (*executor.Snapshot, error) {
	r, err := outline.Render(tree, outline.Options{
		MaxChars: o.MaxChars, Offset: o.Offset, Depth: o.Depth, InteractiveOnly: o.InteractiveOnly, Part: !o.Target.IsZero(), Find: o.Find, RefOf: v.refOf,
	})
	if err != nil {
		return nil, badFind(err)
	}
	return &executor.Snapshot{
		Text: r.Text, Elements: r.Elements, Omitted: r.Omitted, Truncated: r.Truncated, Offset: r.NextOffset,
		Cut: r.Cut, Unsearched: r.Unsearched,
	}, nil
}

// badFind returns the ErrBadArgs error for an invalid find option.
func badFind(err error) error {
	return executor.Errorf(executor.ErrBadArgs, "Use text, or a /regular expression/ in Go syntax.", "find: %w", err)
}

// diffSnapshot returns what changed since the last snapshot of the page, or of the part of the page
// at root.
func (v *View) diffSnapshot(ctx context.Context, top *frames.Document, root *element, tree *outline.Document, o executor.SnapshotOptions) (*executor.Snapshot, error) {
	at := root.doc.Node(root.id)
	v.mu.Lock()
	last, before := v.last, v.parts[at]
	v.mu.Unlock()
	var marked *element // only its part of the page counts, if not nil
	switch {
	case before != nil, last == nil:
	case o.Target.IsZero():
		before = last.tree
	default:
		// The element was reported as part of the page. A walk of only this part may have a
		// different result, so walk the page once more.
		if before = last.tree.Part(at.World, at.ID); before == nil && last.world == top.World {
			before = last.tree // the element has no line
			marked = root
		}
		if before != nil {
			whole, err := v.outline(ctx, &element{doc: top}, walkOptions{mark: marked})
			if err != nil {
				return nil, err
			}
			if marked != nil {
				tree = whole
			} else if now := whole.Part(at.World, at.ID); now != nil {
				tree = now
			}
		}
	}
	if before == nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "Take a snapshot without diff first.", "no earlier snapshot to compare with")
	}
	c := v.diff(before, tree, o.MaxChars, marked != nil)
	s := &executor.Snapshot{Text: c.Text, Elements: c.Added + c.Removed + c.Changed}
	if c.Empty() {
		s.Text = "no visible change"
	}
	return s, nil
}

func (v *View) diff(before, tree *outline.Document, maxChars int, marked bool) outline.Change {
	return outline.Diff(before, tree, outline.DiffOptions{MaxChars: maxChars, RefOf: v.refOf, OldRef: v.oldRef, Marked: marked})
}

func (v *View) lastSnapshot() *lastSnapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

func (v *View) setLastSnapshot(s *lastSnapshot) {
	v.dropStaleRefs()
	s.tree.Shorten()
	v.mu.Lock()
	v.last = s
	v.mu.Unlock()
}

// maxParts is the maximum number of partial snapshots that are stored.
const maxParts = 8

// rememberPart stores the outline of a part of the page that the client received.
func (v *View) rememberPart(at frames.Node, tree *outline.Document) {
	v.dropStaleRefs()
	tree.Shorten()
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.parts[at]; !ok && len(v.parts) >= maxParts {
		clear(v.parts)
	}
	v.parts[at] = tree
}

// refOf returns the ref of an outline's node. It assigns one if the node has none.
func (v *View) refOf(n *outline.Node) string {
	return string(v.refFor(n.Doc.Key, n.ID, refDescription{Role: n.Role, Name: n.Name, At: n.Doc.Record}))
}

// oldRef returns the ref of a node that may no longer exist, or "" if it had none.
func (v *View) oldRef(n *outline.Node) string {
	return string(v.refs.nameOf(frames.Node{World: n.Doc.Key, ID: n.ID}))
}

// walkOptions selects what a walk of documents returns.
type walkOptions struct {
	survey bool              // return obstacle signals, if the walk covers the complete page
	chars  int               // maximum characters of one text; 0 means the walk's default
	seen   prefetchedOutline // result of a walk that was made already
	ours   bool              // the walk follows an action of this client
	mark   *element          // nodes in it get the flag outline.Marked; nil means no element
}

// A prefetchedOutline is the result of a walk that was requested together with another query.
type prefetchedOutline struct {
	world    string
	surveyed bool
	raw      jsonv2.Value // empty if no walk was requested
}

// maxSearched is the maximum number of characters of one text that find searches.
const maxSearched = 1 << 22

// charsFor returns how many characters of one text a snapshot needs; 0 means the walk's default.
func charsFor(o executor.SnapshotOptions) int {
	switch {
	case o.Find != "":
		return maxSearched
	case o.MaxChars > outline.DefaultMaxChars:
		return o.MaxChars
	}
	return 0
}

// outline walks the document of root, starting at root's element if it has one, and the documents
// of the frames below it that the gate allows, and joins the results.
func (v *View) outline(ctx context.Context, root *element, wo walkOptions) (*outline.Document, error) {
	docs := v.readableSubtree(ctx, root.doc)
	type walk struct {
		doc    *frames.Document
		opts   map[string]any
		result *cdpconn.Pending
		raw    jsonv2.Value // instead of result
	}
	walks := make([]walk, 0, len(docs))
	for _, d := range docs {
		opts := map[string]any{"survey": wo.survey, "chars": wo.chars, "since": v.refs.since(d.World), "ours": wo.ours}
		if d == root.doc && root.id != 0 {
			opts["root"] = root.id
		}
		if wo.mark != nil && wo.mark.doc.World == d.World {
			opts["mark"] = wo.mark.id
		}
		if d == root.doc && root.id == 0 && len(wo.seen.raw) > 0 && wo.seen.world == d.World && wo.seen.surveyed == wo.survey {
			walks = append(walks, walk{doc: d, opts: opts, raw: wo.seen.raw})
			continue
		}
		p, err := d.Start(ctx, "snapshot", opts)
		if err == nil {
			walks = append(walks, walk{doc: d, opts: opts, result: p})
		} else if d == root.doc {
			return nil, err
		}
	}
	trees := make(map[cdp.FrameID]*outline.Document)
	parents := make(map[cdp.FrameID]*frames.Document)
	for _, d := range docs {
		parents[d.Frame] = d
	}
	denied := v.deniedChildren(ctx, parents)
	missing := len(docs) - len(walks)
	for _, w := range walks {
		tree, err := readOutline(ctx, w.doc, w.result, w.raw)
		more := false
		if err == nil {
			more = exposeClosedShadowRoots(ctx, w.doc, tree.ClosedRootCandidates)
			more = readInternals(ctx, w.doc, tree.Customs) || more
			more = readListeners(ctx, w.doc, tree.Clickables) || more
		}
		if more {
			// The walk did not include what is known now.
			var again *cdpconn.Pending
			if again, err = w.doc.Start(ctx, "snapshot", w.opts); err == nil {
				tree, err = readOutline(ctx, w.doc, again, nil)
			}
		}
		switch {
		case errors.Is(err, outline.ErrGone):
			return nil, v.refExpiredError(ctx, root)
		case err != nil && w.doc == root.doc:
			return nil, err
		case err != nil:
			v.tab.log.Debug("reading a frame failed", "error", err)
			if ctx.Err() != nil || w.doc.IsCurrent() {
				missing++
			}
			continue
		}
		for _, d := range denied[w.doc.Frame] {
			id, err := d.Owner(ctx, w.doc)
			if n := tree.Node(id); err == nil && n != nil {
				n.Denied = true
			}
		}
		v.refs.walk(w.doc.World, recordedWalk{tree.Record, tree.Replaced})
		trees[w.doc.Frame] = tree
		if parent := trees[w.doc.Parent]; parent != nil && w.doc != root.doc {
			if id, err := w.doc.Owner(ctx, parents[w.doc.Parent]); err == nil {
				parent.Graft(id, tree)
			} else if ctx.Err() != nil || w.doc.IsCurrent() {
				v.tab.log.Debug("finding the element of a frame failed", "error", err)
				missing++
			}
		}
	}
	tree := trees[root.doc.Frame]
	tree.UnreadFrames = missing
	return tree, nil
}

// readableSubtree returns d and the documents below it that may be read, parents first.
func (v *View) readableSubtree(ctx context.Context, d *frames.Document) []*frames.Document {
	list := []*frames.Document{d}
	in := map[cdp.FrameID]bool{d.Frame: true}
	for _, x := range v.client.Allowed(ctx, executor.OpRead) {
		if x.Frame != d.Frame && in[x.Parent] {
			in[x.Frame] = true
			list = append(list, x)
		}
	}
	return list
}

// deniedChildren returns the child documents of parents that the gate does not allow to be read, by
// their parent frame. Snapshots mark their frames, so that the frames do not look empty.
func (v *View) deniedChildren(ctx context.Context, parents map[cdp.FrameID]*frames.Document) map[cdp.FrameID][]*frames.Document {
	denied := make(map[cdp.FrameID][]*frames.Document)
	for _, d := range v.tab.tree.FrameDocuments() {
		if parents[d.Frame] != nil || parents[d.Parent] == nil || d.World == "" || v.client.Check(ctx, d, executor.OpRead, "") == nil {
			continue
		}
		denied[d.Parent] = append(denied[d.Parent], d)
	}
	return denied
}

// readOutline decodes the result of a walk. If raw is nil, it waits for p first.
func readOutline(ctx context.Context, d *frames.Document, p *cdpconn.Pending, raw jsonv2.Value) (*outline.Document, error) {
	if raw == nil {
		if err := d.Finish(ctx, p, &raw); err != nil {
			return nil, err
		}
	}
	return outline.Decode(raw, d.World)
}

// reportsOutline reports whether the result of an action includes the page's outline or its diff:
// the caller requests it, or the client has received a snapshot before.
func (v *View) reportsOutline(ctx context.Context) bool {
	after := v.after(ctx)
	return after == executor.AfterSnapshot || after != executor.AfterNone && v.lastSnapshot() != nil
}

// after returns what the result of an action should include.
func (v *View) after(ctx context.Context) executor.AfterAction {
	return cmp.Or(executor.CallOptionsOf(ctx).AfterAction, v.opts.AfterAction)
}

// changes sets in c how the page differs from what this client last received, or the complete page
// if the caller requests it. mutated reports whether the page's DOM has changed since; if it has
// not, its obstacle has not changed either. seen is the outline of top when it was quiet, if it was
// requested.
func (v *View) changes(ctx context.Context, top *frames.Document, c *executor.Changes, mutated bool, seen prefetchedOutline) error {
	before := v.lastSnapshot()
	if !v.reportsOutline(ctx) {
		return nil
	}
	tree, err := v.outline(ctx, &element{doc: top}, walkOptions{survey: mutated, seen: seen, ours: true})
	if err != nil {
		if errors.Is(err, frames.ErrDocumentGone) || errors.Is(err, executor.ErrDialogOpen) {
			return nil // the page keeps changing: the next snapshot reports it
		}
		return err
	}
	now := &lastSnapshot{tree: tree, world: top.World, obstacle: v.tab.obstacleOf(top, tree.ObstacleSignals)}
	if !mutated && before != nil {
		now.obstacle = before.obstacle
	}
	defer v.setLastSnapshot(now)
	c.Obstacle = now.newObstacle(before)
	complete := v.after(ctx) == executor.AfterSnapshot
	if complete || before.world != top.World {
		opts := outline.Options{RefOf: v.refOf}
		if !complete { // a diff against the previous document would be of no use
			opts.MaxChars = outline.DefaultDiffChars
		}
		r, err := outline.Render(tree, opts)
		c.Snapshot = r.Text
		return err
	}
	change := v.diff(before.tree, tree, 0, false)
	c.Diff = change.Text
	if change.Omitted == 0 {
		v.reportWalks(tree)
	}
	c.Unchanged = change.Empty() && c.URL == "" && c.Title == "" && len(c.NewTabs)+len(c.Downloads)+len(c.Errors) == 0
	if c.Unchanged {
		c.Focused = v.movedFocus(before.tree, tree)
	}
	return nil
}

// movedFocus returns the element to which the focus moved from one outline to the next, as in
// executor.Changes.
func (v *View) movedFocus(before, now *outline.Document) *executor.Candidate {
	was, is := before.Focused(), now.Focused()
	switch {
	case is == nil && was == nil:
		return nil
	case is == nil:
		return &executor.Candidate{}
	case was != nil && was.Doc.Key == is.Doc.Key && was.ID == is.ID:
		return nil
	}
	focused := &executor.Candidate{Role: is.Role, Name: pagetext.Truncate(is.Name, maxFocusedName)}
	if is.ID != 0 {
		focused.Ref = executor.Ref(v.refOf(is))
	}
	return focused
}

// maxFocusedName is the maximum length of the name of the element to which the focus moved, in
// characters.
const maxFocusedName = 200

// reportWalks records that the client receives all changes that a walk of the page found.
func (v *View) reportWalks(tree *outline.Document) {
	v.refs.report(tree.Key, tree.Record)
	tree.Nodes(func(n *outline.Node) {
		if n.Frame != nil {
			v.refs.report(n.Frame.Key, n.Frame.Record)
		}
	})
}

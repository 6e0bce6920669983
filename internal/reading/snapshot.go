package reading

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// Snapshot returns an outline of the page or of the target.
func (r *Reader) Snapshot(ctx context.Context, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return retryOnNavigation(ctx, opts, r.snapshot)
}

func (r *Reader) snapshot(ctx context.Context, o executor.SnapshotOptions) (*executor.Snapshot, error) {
	if err := outline.CheckFind(o.Find); err != nil {
		return nil, badFind(err)
	}
	if o.Diff && (o.Find != "" || o.Depth > 0 || o.Offset > 0 || o.InteractiveOnly) {
		return nil, executor.Errorf(executor.ErrBadArgs, "Omit them, or take a snapshot without diff.",
			"diff cannot be combined with find, depth, offset or interactive only")
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, r.client.Tree.Timing().Read)
	defer cancel()
	top, err := r.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	root := &elements.Element{Doc: top}
	if !o.Target.IsZero() {
		if root, err = r.finder.Resolve(ctx, o.Target, executor.OpRead); err != nil {
			return nil, err
		}
	}
	changed := r.finder.StartComparing(ctx, root)
	tree, err := r.walk(ctx, root, walkOptions{survey: true, chars: charsFor(o)})
	if err != nil {
		return nil, r.timeoutAs(caller, err, "the page to be read")
	}
	obstacle := r.opts.Obstacle(top, tree.ObstacleSignals)
	var s *executor.Snapshot
	if o.Diff {
		s, err = r.diffSnapshot(ctx, top, root, tree, o)
	} else {
		s, err = r.render(tree, o)
	}
	if o.Target.IsZero() {
		r.setLastSnapshot(&lastSnapshot{tree: tree, world: top.World, obstacle: obstacle})
	} else if err == nil {
		r.rememberPart(root.Doc.Node(root.ID), tree)
	}
	if err != nil {
		return nil, err
	}
	s.Origin, s.Obstacle, s.MissingFrames, s.Note = top.Origin, obstacle, tree.UnreadFrames, changed()
	return s, nil
}

// render prints an outline.
func (r *Reader) render(tree *outline.Document, o executor.SnapshotOptions) (*executor.Snapshot, error) {
	got, err := outline.Render(tree, outline.Options{
		MaxChars: o.MaxChars, Offset: o.Offset, Depth: o.Depth, InteractiveOnly: o.InteractiveOnly, Part: !o.Target.IsZero(), Find: o.Find, RefOf: r.RefOf,
	})
	if err != nil {
		return nil, badFind(err)
	}
	return &executor.Snapshot{
		Text: got.Text, Elements: got.Elements, Omitted: got.Omitted, Truncated: got.Truncated, Offset: got.NextOffset,
		Cut: got.Cut, Unsearched: got.Unsearched,
	}, nil
}

// badFind returns the ErrBadArgs error for an invalid find option.
func badFind(err error) error {
	return executor.Errorf(executor.ErrBadArgs, "Use text, or a /regular expression/ in Go syntax.", "find: %w", err)
}

// diffSnapshot returns what changed since the last snapshot of the page, or of the part of the page
// at root.
func (r *Reader) diffSnapshot(ctx context.Context, top *frames.Document, root *elements.Element, tree *outline.Document, o executor.SnapshotOptions) (*executor.Snapshot, error) {
	at := root.Doc.Node(root.ID)
	r.mu.Lock()
	last, before := r.last, r.parts[at]
	r.mu.Unlock()
	var marked *elements.Element // only its part of the page counts, if not nil
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
			whole, err := r.walk(ctx, &elements.Element{Doc: top}, walkOptions{mark: marked})
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
	c := r.diff(before, tree, o.MaxChars, marked != nil)
	s := &executor.Snapshot{Text: c.Text, Elements: c.Added + c.Removed + c.Changed}
	if c.Empty() {
		s.Text = "no visible change"
	}
	return s, nil
}

func (r *Reader) diff(before, tree *outline.Document, maxChars int, marked bool) outline.Change {
	return outline.Diff(before, tree, outline.DiffOptions{MaxChars: maxChars, RefOf: r.RefOf, OldRef: r.oldRef, Marked: marked})
}

// RefOf returns the ref of an outline's node. It assigns one if the node has none.
func (r *Reader) RefOf(n *outline.Node) string {
	return string(r.finder.RefFor(frames.Node{World: n.Doc.Key, ID: n.ID}, elements.Description{Role: n.Role, Name: n.Name, At: n.Doc.Record}))
}

// oldRef returns the ref of a node that may no longer exist, or "" if it had none.
func (r *Reader) oldRef(n *outline.Node) string {
	return string(r.finder.Refs().Of(frames.Node{World: n.Doc.Key, ID: n.ID}))
}

// walkOptions selects what a walk of documents returns.
type walkOptions struct {
	survey bool              // return obstacle signals, if the walk covers the complete page
	chars  int               // maximum characters of one text; 0 means the walk's default
	seen   PrefetchedWalk    // result of a walk that was made already
	ours   bool              // the walk follows an action of this client
	mark   *elements.Element // nodes in it get the flag outline.Marked; nil means no element
}

// PrefetchedWalk is the result of a walk of the top document that was requested together with
// another query.
type PrefetchedWalk struct {
	World    string       // of the document
	Surveyed bool         // obstacle signals were requested
	Raw      jsonv2.Value // empty if no walk was requested
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

// walk walks the document of root, starting at root's element if it has one, and the documents
// of the frames below it that the gate allows, and joins the results.
func (r *Reader) walk(ctx context.Context, root *elements.Element, wo walkOptions) (*outline.Document, error) {
	docs := r.readableSubtree(ctx, root.Doc)
	type walk struct {
		doc    *frames.Document
		opts   map[string]any
		result *cdpconn.Pending
		raw    jsonv2.Value // instead of result
	}
	walks := make([]walk, 0, len(docs))
	for _, d := range docs {
		opts := map[string]any{"survey": wo.survey, "chars": wo.chars, "since": r.finder.Refs().Since(d.World), "ours": wo.ours}
		if d == root.Doc && root.ID != 0 {
			opts["root"] = root.ID
		}
		if wo.mark != nil && wo.mark.Doc.World == d.World {
			opts["mark"] = wo.mark.ID
		}
		if d == root.Doc && root.ID == 0 && len(wo.seen.Raw) > 0 && wo.seen.World == d.World && wo.seen.Surveyed == wo.survey {
			walks = append(walks, walk{doc: d, opts: opts, raw: wo.seen.Raw})
			continue
		}
		p, err := d.Start(ctx, "snapshot", opts)
		if err == nil {
			walks = append(walks, walk{doc: d, opts: opts, result: p})
		} else if d == root.Doc {
			return nil, err
		}
	}
	trees := make(map[cdp.FrameID]*outline.Document)
	parents := make(map[cdp.FrameID]*frames.Document)
	for _, d := range docs {
		parents[d.Frame] = d
	}
	denied := r.deniedChildren(ctx, parents)
	missing := len(docs) - len(walks)
	for _, w := range walks {
		tree, err := readOutline(ctx, w.doc, w.result, w.raw)
		more := false
		if err == nil {
			more = elements.ExposeClosedShadowRoots(ctx, w.doc, tree.ClosedRootCandidates)
			more = elements.ReadInternals(ctx, w.doc, tree.Customs) || more
			more = elements.ReadListeners(ctx, w.doc, tree.Clickables) || more
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
			return nil, r.finder.RemovedError(ctx, root)
		case err != nil && w.doc == root.Doc:
			return nil, err
		case err != nil:
			r.client.Tree.Log().Debug("reading a frame failed", "error", err)
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
		r.finder.Refs().RecordWalk(w.doc.World, elements.WalkRecord{At: tree.Record, Replaced: tree.Replaced})
		trees[w.doc.Frame] = tree
		if parent := trees[w.doc.Parent]; parent != nil && w.doc != root.Doc {
			if id, err := w.doc.Owner(ctx, parents[w.doc.Parent]); err == nil {
				parent.Graft(id, tree)
			} else if ctx.Err() != nil || w.doc.IsCurrent() {
				r.client.Tree.Log().Debug("finding the element of a frame failed", "error", err)
				missing++
			}
		}
	}
	tree := trees[root.Doc.Frame]
	tree.UnreadFrames = missing
	return tree, nil
}

// readableSubtree returns d and the documents below it that may be read, parents first.
func (r *Reader) readableSubtree(ctx context.Context, d *frames.Document) []*frames.Document {
	list := []*frames.Document{d}
	in := map[cdp.FrameID]bool{d.Frame: true}
	for _, x := range r.client.Allowed(ctx, executor.OpRead) {
		if x.Frame != d.Frame && in[x.Parent] {
			in[x.Frame] = true
			list = append(list, x)
		}
	}
	return list
}

// deniedChildren returns the child documents of parents that the gate does not allow to be read, by
// their parent frame. Snapshots mark their frames, so that the frames do not look empty.
func (r *Reader) deniedChildren(ctx context.Context, parents map[cdp.FrameID]*frames.Document) map[cdp.FrameID][]*frames.Document {
	denied := make(map[cdp.FrameID][]*frames.Document)
	for _, d := range r.client.Tree.AllDocuments() {
		if parents[d.Frame] != nil || parents[d.Parent] == nil || d.World == "" || r.client.Check(ctx, d, executor.OpRead, "") == nil {
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

package reading

import (
	"cmp"
	"context"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/outline"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// ReportsOutline reports whether the result of an action includes the page's outline or its diff:
// the caller requests it, or the client has received a snapshot before.
func (r *Reader) ReportsOutline(ctx context.Context) bool {
	return reports(r.After(ctx), r.lastSnapshot())
}

// reports is ReportsOutline for a client that last received before.
func reports(after executor.AfterAction, before *lastSnapshot) bool {
	return after == executor.AfterSnapshot || after != executor.AfterNone && before != nil
}

// After returns what the result of an action should include.
func (r *Reader) After(ctx context.Context) executor.AfterAction {
	return cmp.Or(executor.CallOptionsOf(ctx).AfterAction, r.opts.AfterAction)
}

// Changes sets in c how the page differs from what this client last received, or the complete page
// if the caller requests it. mutated reports whether the page's DOM has changed since; if it has
// not, its obstacle has not changed either. seen is the outline of top when it was quiet, if it was
// requested.
func (r *Reader) Changes(ctx context.Context, top *frames.Document, c *executor.Changes, mutated bool, seen PrefetchedWalk) error {
	before, after := r.lastSnapshot(), r.After(ctx)
	if !reports(after, before) {
		return nil
	}
	tree, err := r.walk(ctx, &elements.Element{Doc: top}, walkOptions{survey: mutated, seen: seen, ours: true})
	if err != nil {
		if errors.Is(err, frames.ErrDocumentGone) || errors.Is(err, executor.ErrDialogOpen) {
			return nil // the page keeps changing: the next snapshot reports it
		}
		return err
	}
	now := &lastSnapshot{tree: tree, world: top.World, obstacle: r.opts.Obstacle(top, tree.ObstacleSignals)}
	if !mutated && before != nil {
		now.obstacle = before.obstacle
	}
	defer r.setLastSnapshot(now)
	c.Obstacle = now.newObstacle(before)
	complete := after == executor.AfterSnapshot
	if complete || before.world != top.World {
		opts := outline.Options{RefOf: r.RefOf}
		if !complete { // a diff against the previous document would be of no use
			opts.MaxChars = outline.DefaultDiffChars
		}
		got, err := outline.Render(tree, opts)
		c.Snapshot = got.Text
		return err
	}
	change := r.diff(before.tree, tree, 0, false)
	c.Diff = change.Text
	if change.Omitted == 0 {
		r.reportWalks(tree)
	}
	c.Unchanged = change.Empty() && c.URL == "" && c.Title == "" && len(c.NewTabs)+len(c.Downloads)+len(c.Errors) == 0
	if c.Unchanged {
		c.Focused = r.movedFocus(before.tree, tree)
	}
	return nil
}

// movedFocus returns the element to which the focus moved from one outline to the next, as in
// executor.Changes.
func (r *Reader) movedFocus(before, now *outline.Document) *executor.Candidate {
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
		focused.Ref = executor.Ref(r.RefOf(is))
	}
	return focused
}

// maxFocusedName is the maximum length of the name of the element to which the focus moved, in
// characters.
const maxFocusedName = 200

// reportWalks records that the client receives all changes that a walk of the page found.
func (r *Reader) reportWalks(tree *outline.Document) {
	r.finder.Refs().RecordReport(tree.Key, tree.Record)
	tree.Nodes(func(n *outline.Node) {
		if n.Frame != nil {
			r.finder.Refs().RecordReport(n.Frame.Key, n.Frame.Record)
		}
	})
}

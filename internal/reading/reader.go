// Package reading reads the pages of a tab: as outlines, what changed in them, and as text, markup,
// Markdown and links.
package reading

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// lastSnapshot is the outline of the complete page that a client last received.
type lastSnapshot struct {
	tree     *outline.Document
	world    string // of the top document
	obstacle *executor.Obstacle
}

// Options are the options of [New].
type Options struct {
	// AfterAction is what the results of actions include, unless their call says it.
	AfterAction executor.AfterAction
	// Obstacle evaluates the signals that js/obstacle_signals.js collected in the top document d.
	// It returns nil if they indicate no obstacle.
	Obstacle func(d *frames.Document, signals []byte) *executor.Obstacle
	// WholeSpans extends the part s[start:end] so that it contains no part of a masked text.
	WholeSpans func(s string, start, end int) (int, int)
}

// A Reader reads the pages of a tab for one client, and knows what the client last received. Its
// methods are safe for concurrent use.
type Reader struct {
	client *frames.Client
	finder *elements.Finder
	opts   Options

	mu    sync.Mutex                        // guards the fields below
	last  *lastSnapshot                     // what this client last received; nil before the first snapshot
	parts map[frames.Node]*outline.Document // what it last received of single elements
}

// New returns the Reader of a client. The results contain refs of finder.
func New(client *frames.Client, finder *elements.Finder, opts Options) *Reader {
	return &Reader{client: client, finder: finder, opts: opts, parts: make(map[frames.Node]*outline.Document)}
}

// Outline returns the outline of the page, and does not record that the client received it.
func (r *Reader) Outline(ctx context.Context, top *frames.Document) (*outline.Document, error) {
	return r.walk(ctx, &elements.Element{Doc: top}, walkOptions{})
}

func (r *Reader) lastSnapshot() *lastSnapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *Reader) setLastSnapshot(s *lastSnapshot) {
	r.dropStaleRefs()
	s.tree.Shorten()
	r.mu.Lock()
	r.last = s
	r.mu.Unlock()
}

// maxParts is the maximum number of partial snapshots that are stored.
const maxParts = 8

// rememberPart stores the outline of a part of the page that the client received.
func (r *Reader) rememberPart(at frames.Node, tree *outline.Document) {
	r.dropStaleRefs()
	tree.Shorten()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.parts[at]; !ok && len(r.parts) >= maxParts {
		clear(r.parts)
	}
	r.parts[at] = tree
}

// newObstacle returns the obstacle of s unless before has the same one.
func (s *lastSnapshot) newObstacle(before *lastSnapshot) *executor.Obstacle {
	if s.obstacle == nil || before != nil && before.obstacle != nil && *before.obstacle == *s.obstacle {
		return nil
	}
	return s.obstacle
}

// dropStaleRefs drops the refs of documents that are gone, so that a long-running client does not
// store every element that it has ever received.
func (r *Reader) dropStaleRefs() {
	alive := make(map[string]bool)
	for _, d := range r.client.Tree.Documents() {
		alive[d.World] = true
	}
	r.finder.Refs().DropStale(alive)
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.parts, func(n frames.Node, _ *outline.Document) bool { return !alive[n.World] })
}

// timeoutAs is frames.TimeoutAs for a read of the page. A page that responds to other commands does
// not hang, so the hint says that it may be large. ctx is the context of the caller.
func (r *Reader) timeoutAs(ctx context.Context, err error, what string) error {
	err = frames.TimeoutAs(err, what)
	e, ok := errors.AsType[*executor.Error](err)
	if ok && errors.Is(err, executor.ErrTimeout) && r.client.Tree.Responds(ctx, r.client.Tree.Timing().HungPage) {
		e.Hint = executor.HintReadLess
	}
	return err
}

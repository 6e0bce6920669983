package page

import (
	"fmt"
	"maps"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A refTable holds the refs of one client's [View], and what the client last received for each. Its
// methods are safe for concurrent use.
type refTable struct {
	mu    sync.Mutex // guards the fields below
	nodes map[executor.Ref]frames.Node
	names map[frames.Node]executor.Ref // the current ref of each node
	// shown is what was reported with a ref. It is kept after its document is gone.
	shown map[executor.Ref]refDescription
	// walked is the number of the last walk of each document for this client, by world.
	walked map[string]int
	// reported is the number of the last walk whose changes the client received completely: it knows
	// the elements of its other refs as they were then.
	reported map[string]int
	next     int // number of the last ref
}

func newRefTable() *refTable {
	return &refTable{
		nodes: make(map[executor.Ref]frames.Node), names: make(map[frames.Node]executor.Ref), shown: make(map[executor.Ref]refDescription),
		walked: make(map[string]int), reported: make(map[string]int),
	}
}

// A refDescription is the role and name of an element as they were reported with its ref, and the
// number of the record in which the page scripts stored what the element was
// (js/shown_elements.js). It is used to find the element again, and to check that it is the same
// thing.
type refDescription struct {
	Role string `json:"role"`
	Name string `json:"name"`
	At   int    `json:"at"`
	// Since is the number of the first record of the same thing. A client that received the element
	// before then needs a new ref. 0 means that the client has released the refs of such elements.
	Since int `json:"since"`
}

// maxLabelName is the maximum stored length of an element's name, in characters.
const maxLabelName = 300

// maxLabels is the number of stored descriptions above which those of documents that are gone are
// dropped.
const maxLabels = 5000

// refFor returns the ref of a node for a result that describes it as l. It assigns a new one if the
// node has none, or is another thing than the client last received.
func (t *refTable) refFor(n frames.Node, l refDescription) executor.Ref {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.names[n]
	if !ok || max(t.shown[r].At, t.reported[n.World]) < l.Since {
		t.releaseLocked(n)
		t.next++
		r = executor.Ref(fmt.Sprintf("e%d", t.next))
		t.names[n], t.nodes[r] = r, n
	}
	l.Name = pagetext.Truncate(l.Name, maxLabelName)
	t.shown[r] = l
	return r
}

// describe records that the client received another description of a ref.
func (t *refTable) describe(r executor.Ref, l refDescription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.nodes[r]; ok {
		l.Name = pagetext.Truncate(l.Name, maxLabelName)
		t.shown[r] = l
	}
}

// lookup returns the node of a ref and what the client last received for it.
func (t *refTable) lookup(r executor.Ref) (n frames.Node, l refDescription, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, known = t.nodes[r]
	l = t.shown[r]
	if known && t.names[n] == r {
		l.At = max(l.At, t.reported[n.World])
	}
	return n, l, known
}

// knownAt returns the number of the record of what the client last received for a ref, or 0 if its
// node has another ref.
func (t *refTable) knownAt(r executor.Ref) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[r]
	if t.names[n] != r {
		return 0
	}
	return max(t.shown[r].At, t.reported[n.World])
}

// nameOf returns the current ref of a node, or "" if it has none.
func (t *refTable) nameOf(n frames.Node) executor.Ref {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names[n]
}

// release separates nodes of a document from their refs, because they are other things now. Later
// results report them with new refs.
func (t *refTable) release(world string, ids ...int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		t.releaseLocked(frames.Node{World: world, ID: id})
	}
}

// releaseLocked separates a node from its ref. t.mu must be held.
func (t *refTable) releaseLocked(n frames.Node) {
	if r, ok := t.names[n]; ok {
		l := t.shown[r]
		l.At = max(l.At, t.reported[n.World])
		t.shown[r] = l
		delete(t.names, n)
	}
}

// since returns the number of the last walk of a document for this client, or 0.
func (t *refTable) since(world string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.walked[world]
}

// A recordedWalk is the result of recordWalk of js/shown_elements.js.
type recordedWalk struct {
	At       int   `json:"at"`       // number of the records of the walk
	Replaced []int `json:"replaced"` // ids of elements that are other things than in the previous walk
}

// walk records a walk of a document for this client. It ignores the zero value, the result of a
// document that was not walked.
func (t *refTable) walk(world string, w recordedWalk) {
	if w.At == 0 {
		return
	}
	t.release(world, w.Replaced...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.walked[world] = w.At
}

// report records that the client received all changes that a walk found.
func (t *refTable) report(world string, at int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reported[world] = at
}

// dropStale drops the refs of documents that are gone, so that a long-running client does not store
// every element that it has ever received.
func (t *refTable) dropStale(alive map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone := func(world string, _ int) bool { return !alive[world] }
	maps.DeleteFunc(t.walked, gone)
	maps.DeleteFunc(t.reported, gone)
	maps.DeleteFunc(t.names, func(n frames.Node, _ executor.Ref) bool { return !alive[n.World] })
	for r, n := range t.nodes {
		if !alive[n.World] {
			delete(t.nodes, r)
			if len(t.shown) > maxLabels {
				delete(t.shown, r)
			}
		}
	}
}

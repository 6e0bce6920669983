package elements

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Refs are the refs of one client, and what the client last received for each. Its methods are safe
// for concurrent use.
type Refs struct {
	mu    sync.Mutex // guards the fields below
	nodes map[executor.Ref]frames.Node
	names map[frames.Node]executor.Ref // the current ref of each node
	// shown is what was reported with a ref. It is kept after its document is gone.
	shown map[executor.Ref]Description
	// walked is the number of the last walk of each document for this client, by world.
	walked map[string]int
	// reported is the number of the last walk whose changes the client received completely: it
	// knows the elements of its other refs as they were then.
	reported map[string]int
	next     int // number of the last ref
}

func newRefs() *Refs {
	return &Refs{
		nodes: make(map[executor.Ref]frames.Node), names: make(map[frames.Node]executor.Ref), shown: make(map[executor.Ref]Description),
		walked: make(map[string]int), reported: make(map[string]int),
	}
}

// A Description is the role and name of an element as they were reported with its ref, and the
// number of the record in which the page scripts stored what the element was
// (js/shown_elements.js). It is used to find the element again, and to check that it is the same
// thing.
type Description struct {
	Role string `json:"role"`
	Name string `json:"name"`
	At   int    `json:"at"`
	// Since is the number of the first record of the same thing. A client that received the element
	// before then needs a new ref. 0 means that the client has released the refs of such elements.
	Since int `json:"since"`
}

// String returns the description as snapshots print it.
func (d Description) String() string {
	name := pagetext.Truncate(strings.Join(strings.Fields(d.Name), " "), 80)
	role := cmp.Or(d.Role, "element")
	if name == "" {
		return role
	}
	return fmt.Sprintf("%s %s", role, pagetext.Text(name))
}

// maxDescriptionName is the maximum stored length of an element's name, in characters.
const maxDescriptionName = 300

// maxDescriptions is the number of stored descriptions above which those of documents that are gone
// are dropped.
const maxDescriptions = 5000

// For returns the ref of a node for a result that describes it as l. It assigns a new one if the
// node has none, or is another thing than the client last received.
func (r *Refs) For(n frames.Node, l Description) executor.Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref, ok := r.names[n]
	if !ok || max(r.shown[ref].At, r.reported[n.World]) < l.Since {
		r.releaseLocked(n)
		r.next++
		ref = executor.Ref(fmt.Sprintf("e%d", r.next))
		r.names[n], r.nodes[ref] = ref, n
	}
	l.Name = pagetext.Truncate(l.Name, maxDescriptionName)
	r.shown[ref] = l
	return ref
}

// recordDescription records that the client received another description of a ref.
func (r *Refs) recordDescription(ref executor.Ref, l Description) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.nodes[ref]; ok {
		l.Name = pagetext.Truncate(l.Name, maxDescriptionName)
		r.shown[ref] = l
	}
}

// Lookup returns the node of a ref and what the client last received for it.
func (r *Refs) Lookup(ref executor.Ref) (n frames.Node, l Description, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, known = r.nodes[ref]
	l = r.shown[ref]
	if known && r.names[n] == ref {
		l.At = max(l.At, r.reported[n.World])
	}
	return n, l, known
}

// KnownAt returns the number of the record of what the client last received for a ref, or 0 if its
// node has another ref.
func (r *Refs) KnownAt(ref executor.Ref) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.nodes[ref]
	if r.names[n] != ref {
		return 0
	}
	return max(r.shown[ref].At, r.reported[n.World])
}

// Of returns the current ref of a node, or "" if it has none.
func (r *Refs) Of(n frames.Node) executor.Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[n]
}

// Release separates nodes of a document from their refs, because they are other things now. Later
// results report them with new refs.
func (r *Refs) Release(world string, ids ...int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.releaseLocked(frames.Node{World: world, ID: id})
	}
}

// releaseLocked separates a node from its ref. r.mu must be held.
func (r *Refs) releaseLocked(n frames.Node) {
	if ref, ok := r.names[n]; ok {
		l := r.shown[ref]
		l.At = max(l.At, r.reported[n.World])
		r.shown[ref] = l
		delete(r.names, n)
	}
}

// Since returns the number of the last walk of a document for this client, or 0.
func (r *Refs) Since(world string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.walked[world]
}

// A WalkRecord is the result of recordWalk of js/shown_elements.js.
type WalkRecord struct {
	At       int   `json:"at"`       // number of the records of the walk
	Replaced []int `json:"replaced"` // ids of elements that are other things than in the previous walk
}

// RecordWalk records a walk of a document for this client. It ignores the zero value, the result of
// a document that was not walked.
func (r *Refs) RecordWalk(world string, w WalkRecord) {
	if w.At == 0 {
		return
	}
	r.Release(world, w.Replaced...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.walked[world] = w.At
}

// RecordReport records that the client received all changes that a walk found.
func (r *Refs) RecordReport(world string, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported[world] = at
}

// DropStale drops the refs of documents that are gone, so that a long-running client does not store
// every element that it has ever received.
func (r *Refs) DropStale(alive map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := func(world string, _ int) bool { return !alive[world] }
	maps.DeleteFunc(r.walked, gone)
	maps.DeleteFunc(r.reported, gone)
	maps.DeleteFunc(r.names, func(n frames.Node, _ executor.Ref) bool { return !alive[n.World] })
	for ref, n := range r.nodes {
		if !alive[n.World] {
			delete(r.nodes, ref)
			if len(r.shown) > maxDescriptions {
				delete(r.shown, ref)
			}
		}
	}
}

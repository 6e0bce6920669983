package frames

import (
	"context"
	"crypto/rand"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// A Node identifies one element: the id of its document's isolated world and the element id.
type Node struct {
	World string
	ID    int
}

// Node returns the node of an element id of the document.
func (d *Document) Node(id int) Node { return Node{World: d.World, ID: id} }

// ObjectGroup returns the name of a new group of remote objects and a function that
// releases them. A remote object that is not released prevents its element from being
// garbage-collected.
func (d *Document) ObjectGroup(ctx context.Context) (name string, release func()) {
	name = rand.Text()
	return name, func() {
		_, _ = d.Session.Start(context.WithoutCancel(ctx), runtime.CommandReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: name})
	}
}

// Object returns the remote object for an element id in our isolated world, or "" if the element no
// longer exists.
func (d *Document) Object(ctx context.Context, id int, group string) (runtime.RemoteObjectID, error) {
	if err := d.install(ctx); err != nil {
		return "", err
	}
	var answer struct {
		Result struct {
			ObjectID runtime.RemoteObjectID `json:"objectId"`
		} `json:"result"`
	}
	err := d.Session.Call(ctx, runtime.CommandCallFunctionOn, map[string]any{
		"functionDeclaration": "function(id) { return globalThis.__cm.byId(id) }",
		"uniqueContextId":     d.World, "arguments": []map[string]any{{"value": id}}, "silent": true, "objectGroup": group,
	}, &answer)
	return answer.Result.ObjectID, d.AsGone(err)
}

// Owner returns the element id, in the parent document, of the frame element that contains d.
func (d *Document) Owner(ctx context.Context, parent *Document) (int, error) {
	s := d.tree.Lock()
	f := s.Frame(d.Frame)
	if f != nil && f.owner.World == parent.World {
		defer s.Unlock()
		return f.owner.ID, nil
	}
	s.Unlock()
	var got dom.GetFrameOwnerResult
	if err := parent.Session.Call(ctx, dom.CommandGetFrameOwner, dom.GetFrameOwnerParams{FrameID: d.Frame}, &got); err != nil {
		return 0, parent.AsGone(err)
	}
	group, release := parent.ObjectGroup(ctx)
	defer release()
	id, _, err := parent.ElementID(ctx, got.BackendNodeID, group)
	if err != nil {
		return 0, err
	}
	s = d.tree.Lock()
	defer s.Unlock()
	if f := s.Frame(d.Frame); f != nil {
		f.owner = Node{World: parent.World, ID: id}
	}
	return id, nil
}

// ElementID returns the element id of a DOM node of the document, and the remote object of the
// node in our isolated world, which prevents the node from being collected.
func (d *Document) ElementID(ctx context.Context, backend cdp.BackendNodeID, group string) (int, runtime.RemoteObjectID, error) {
	if err := d.install(ctx); err != nil {
		return 0, "", err
	}
	object, err := d.ResolveNode(ctx, backend, d.World, group)
	if err != nil {
		return 0, "", err
	}
	var answer struct {
		Result struct {
			Value int `json:"value"`
		} `json:"result"`
	}
	if err := d.Session.Call(ctx, runtime.CommandCallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: "function() { return globalThis.__cm.idOf(this) }",
		ObjectID:            object, ReturnByValue: new(true), Silent: new(true),
	}, &answer); err != nil {
		return 0, "", d.AsGone(err)
	}
	return answer.Result.Value, object, nil
}

// ResolveNode resolves a backend node id to a remote object in a world of the document. group may
// be empty.
func (d *Document) ResolveNode(ctx context.Context, id cdp.BackendNodeID, world, group string) (runtime.RemoteObjectID, error) {
	var number runtime.ExecutionContextID
	s := d.tree.Lock()
	if f := s.Frame(d.Frame); f != nil {
		for _, w := range []*executionContext{f.world, f.mainWorld} {
			if w != nil && w.id == world {
				number = w.number
			}
		}
	}
	s.Unlock()
	if number == 0 {
		return "", ErrDocumentGone
	}
	var res dom.ResolveNodeResult
	err := d.Session.Call(ctx, dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ExecutionContextID: number, ObjectGroup: group}, &res)
	if err != nil {
		return "", d.AsGone(err)
	}
	return res.Object.ObjectID, nil
}

// FrameElement returns the document that contains d's frame, and the element id of the frame's
// element in it. d must not be the top document.
func (d *Document) FrameElement(ctx context.Context) (parent *Document, id int, err error) {
	if parent, err = d.tree.AwaitDocument(ctx, d.Parent); err != nil {
		return nil, 0, err
	}
	id, err = d.Owner(ctx, parent)
	return parent, id, err
}

// ScrollIntoView scrolls the frame of d and the frames around it into view.
func (d *Document) ScrollIntoView(ctx context.Context) {
	for !d.IsTop() {
		parent, owner, err := d.FrameElement(ctx)
		if err != nil || parent.Call(ctx, nil, "scrollIntoViewIfNeeded", owner) != nil {
			return
		}
		d = parent
	}
}

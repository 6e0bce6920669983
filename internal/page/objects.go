package page

import (
	"context"
	"crypto/rand"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// A node identifies one element: the id of its document's isolated world and the element id.
type node struct {
	world string
	id    int
}

// objectGroup returns the name of a new group of remote objects and a function that
// releases them. A remote object that is not released prevents its element from being
// garbage-collected.
func (d *document) objectGroup(ctx context.Context) (name string, release func()) {
	name = rand.Text()
	return name, func() {
		_, _ = d.sess.Start(context.WithoutCancel(ctx), runtime.CommandReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: name})
	}
}

// object returns the remote object for an element id in our isolated world, or "" if the element no
// longer exists.
func (d *document) object(ctx context.Context, id int, group string) (runtime.RemoteObjectID, error) {
	if err := d.install(ctx); err != nil {
		return "", err
	}
	var answer struct {
		Result struct {
			ObjectID runtime.RemoteObjectID `json:"objectId"`
		} `json:"result"`
	}
	err := d.sess.Call(ctx, runtime.CommandCallFunctionOn, map[string]any{
		"functionDeclaration": "function(id) { return globalThis.__cm.byId(id) }",
		"uniqueContextId":     d.world, "arguments": []map[string]any{{"value": id}}, "silent": true, "objectGroup": group,
	}, &answer)
	return answer.Result.ObjectID, d.failure(err)
}

// owner returns the element id, in the parent document, of the frame element that contains d.
func (d *document) owner(ctx context.Context, parent *document) (int, error) {
	s := d.tree.Lock()
	f := s.Frame(d.frame)
	if f != nil && f.owner.world == parent.world {
		defer s.Unlock()
		return f.owner.id, nil
	}
	s.Unlock()
	var got dom.GetFrameOwnerResult
	if err := parent.sess.Call(ctx, dom.CommandGetFrameOwner, dom.GetFrameOwnerParams{FrameID: d.frame}, &got); err != nil {
		return 0, parent.failure(err)
	}
	group, release := parent.objectGroup(ctx)
	defer release()
	id, _, err := parent.elementIDOf(ctx, got.BackendNodeID, group)
	if err != nil {
		return 0, err
	}
	s = d.tree.Lock()
	defer s.Unlock()
	if f := s.Frame(d.frame); f != nil {
		f.owner = node{world: parent.world, id: id}
	}
	return id, nil
}

// elementIDOf returns the element id of a DOM node of the document, and the remote object of the
// node in our isolated world, which prevents the node from being collected.
func (d *document) elementIDOf(ctx context.Context, backend cdp.BackendNodeID, group string) (int, runtime.RemoteObjectID, error) {
	if err := d.install(ctx); err != nil {
		return 0, "", err
	}
	object, err := d.resolveNode(ctx, backend, d.world, group)
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
		ObjectID:            object, ReturnByValue: new(true), Silent: new(true),
	}, &answer); err != nil {
		return 0, "", d.failure(err)
	}
	return answer.Result.Value, object, nil
}

// resolveNode resolves a backend node id to a remote object in a world of the document. group may
// be empty.
func (d *document) resolveNode(ctx context.Context, id cdp.BackendNodeID, world, group string) (runtime.RemoteObjectID, error) {
	var number runtime.ExecutionContextID
	s := d.tree.Lock()
	if f := s.Frame(d.frame); f != nil {
		for _, w := range []*executionContext{f.world, f.mainWorld} {
			if w != nil && w.id == world {
				number = w.number
			}
		}
	}
	s.Unlock()
	if number == 0 {
		return "", errDocumentDetached
	}
	var res dom.ResolveNodeResult
	err := d.sess.Call(ctx, dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ExecutionContextID: number, ObjectGroup: group}, &res)
	if err != nil {
		return "", d.failure(err)
	}
	return res.Object.ObjectID, nil
}

// frameElement returns the document that contains d's frame, and the element id of the frame's
// element in it. d must not be the top document.
func (d *document) frameElement(ctx context.Context) (parent *document, id int, err error) {
	if parent, err = d.tree.frameDocument(ctx, d.parent); err != nil {
		return nil, 0, err
	}
	id, err = d.owner(ctx, parent)
	return parent, id, err
}

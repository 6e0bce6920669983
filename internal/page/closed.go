package page

import (
	"context"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// openClosedRoots hands the closed shadow roots of a document to our scripts,
// which cannot find them: to a script, even in an isolated world, the
// shadowRoot of such a host is null. ids are hosts that may have one. It
// reports whether there were any.
//
// It is asked once for each host: js/closed.js remembers whom it named.
func (d *document) openClosedRoots(ctx context.Context, ids []int) bool {
	any := false
	for len(ids) > 0 {
		found := false
		for _, id := range ids {
			found = d.openClosedRoot(ctx, id) || found
		}
		any = any || found
		ids = nil
		if found { // closed roots nest
			if d.call(ctx, &ids, "closedCandidates") != nil {
				break
			}
		}
	}
	return any
}

func (d *document) openClosedRoot(ctx context.Context, id int) bool {
	host, err := d.object(ctx, id)
	if err != nil || host == "" {
		return false
	}
	var node dom.DescribeNodeResult
	err = d.sess.Call(ctx, dom.CommandDescribeNode, map[string]any{"objectId": host, "depth": 1, "pierce": true}, &node)
	if err != nil || node.Node == nil {
		return false
	}
	for _, root := range node.Node.ShadowRoots {
		if root.ShadowRootType != "closed" {
			continue
		}
		object, err := d.handle(ctx, root.BackendNodeID)
		if err != nil {
			return false
		}
		var answer struct {
			Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
		}
		err = d.sess.Call(ctx, runtime.CommandCallFunctionOn, map[string]any{
			"functionDeclaration": "function(root) { globalThis.__cm.addClosedRoot(this, root) }",
			"objectId":            host, "arguments": []map[string]any{{"objectId": object}}, "silent": true,
		}, &answer)
		return err == nil && answer.Exception == nil
	}
	return false
}

// object returns an object of our world for the element with a number; empty
// when it is gone.
func (d *document) object(ctx context.Context, id int) (runtime.RemoteObjectID, error) {
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
		"uniqueContextId":     d.world, "arguments": []map[string]any{{"value": id}}, "silent": true,
	}, &answer)
	return answer.Result.ObjectID, d.failure(err)
}

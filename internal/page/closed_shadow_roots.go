package page

import (
	"context"
	"crypto/rand"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// exposeClosedShadowRoots passes the closed shadow roots of a document to the page scripts. Scripts
// cannot find them: even in an isolated world, the shadowRoot of their host is null. ids are the
// ids of elements that may host one. exposeClosedShadowRoots reports whether it found any.
//
// It queries each host once: js/closed_shadow_roots.js returns each only once.
func (d *document) exposeClosedShadowRoots(ctx context.Context, ids []int) (exposed bool) {
	for {
		found := false
		for _, id := range ids {
			found = d.openClosedRoot(ctx, id) || found
		}
		exposed = exposed || found
		ids = nil
		if !found || d.call(ctx, &ids, "closedCandidates") != nil { // a closed root may contain other hosts
			return exposed
		}
	}
}

// findClosedRoots passes all closed shadow roots of the document to the page scripts.
func (d *document) findClosedRoots(ctx context.Context) {
	var hosts []int
	if d.call(ctx, &hosts, "closedCandidates") == nil {
		d.exposeClosedShadowRoots(ctx, hosts)
	}
}

// openClosedRoot passes the closed shadow root of one element to the page scripts. It reports
// whether the element has one.
func (d *document) openClosedRoot(ctx context.Context, id int) bool {
	group, release := d.objectGroup(ctx)
	defer release()
	host, err := d.object(ctx, id, group)
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
		object, err := d.resolveNode(ctx, root.BackendNodeID, d.world, group)
		if err != nil {
			return false
		}
		var answer runtime.CallFunctionOnResult
		err = d.sess.Call(ctx, runtime.CommandCallFunctionOn, map[string]any{
			"functionDeclaration": "function(root) { globalThis.__cm.addClosedRoot(this, root) }",
			"objectId":            host, "arguments": []map[string]any{{"objectId": object}}, "silent": true,
		}, &answer)
		return err == nil && answer.ExceptionDetails == nil
	}
	return false
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
	var answer scriptResponse
	err := d.sess.Call(ctx, runtime.CommandCallFunctionOn, map[string]any{
		"functionDeclaration": "function(id) { return globalThis.__cm.byId(id) }",
		"uniqueContextId":     d.world, "arguments": []map[string]any{{"value": id}}, "silent": true, "objectGroup": group,
	}, &answer)
	return answer.Result.ObjectID, d.failure(err)
}

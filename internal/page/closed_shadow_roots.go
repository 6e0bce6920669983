package page

import (
	"context"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

// exposeClosedShadowRoots passes the closed shadow roots of a document to the page scripts. Scripts
// cannot find them: even in an isolated world, the shadowRoot of their host is null. ids are the
// ids of elements that may host one. exposeClosedShadowRoots reports whether it found any.
//
// It queries each host once: js/closed_shadow_roots.js returns each only once.
func exposeClosedShadowRoots(ctx context.Context, d *document, ids []int) (exposed bool) {
	for {
		found := false
		for _, id := range ids {
			found = openClosedRoot(ctx, d, id) || found
		}
		exposed = exposed || found
		ids = nil
		if !found || d.call(ctx, &ids, "closedCandidates") != nil { // a closed root may contain other hosts
			return exposed
		}
	}
}

// findClosedRoots passes all closed shadow roots of the document to the page scripts.
func findClosedRoots(ctx context.Context, d *document) {
	var hosts []int
	if d.call(ctx, &hosts, "closedCandidates") == nil {
		exposeClosedShadowRoots(ctx, d, hosts)
	}
}

// openClosedRoot passes the closed shadow root of one element to the page scripts. It reports
// whether the element has one.
func openClosedRoot(ctx context.Context, d *document, id int) bool {
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

package page

import (
	"context"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// exposeClosedShadowRoots passes the closed shadow roots of a document to the page scripts. Scripts
// cannot find them: even in an isolated world, the shadowRoot of their host is null. ids are the
// ids of elements that may host one. exposeClosedShadowRoots reports whether it found any.
//
// It queries each host once: js/closed_shadow_roots.js returns each only once.
func exposeClosedShadowRoots(ctx context.Context, d *frames.Document, ids []int) (exposed bool) {
	for {
		found := false
		for _, id := range ids {
			found = openClosedRoot(ctx, d, id) || found
		}
		exposed = exposed || found
		ids = nil
		if !found || d.Call(ctx, &ids, "closedCandidates") != nil { // a closed root may contain other hosts
			return exposed
		}
	}
}

// findClosedRoots passes all closed shadow roots of the document to the page scripts.
func findClosedRoots(ctx context.Context, d *frames.Document) {
	var hosts []int
	if d.Call(ctx, &hosts, "closedCandidates") == nil {
		exposeClosedShadowRoots(ctx, d, hosts)
	}
}

// openClosedRoot passes the closed shadow root of one element to the page scripts. It reports
// whether the element has one.
func openClosedRoot(ctx context.Context, d *frames.Document, id int) bool {
	group, release := d.ObjectGroup(ctx)
	defer release()
	host, err := d.Object(ctx, id, group)
	if err != nil || host == "" {
		return false
	}
	var node dom.DescribeNodeResult
	err = d.Session.Call(ctx, dom.CommandDescribeNode, map[string]any{"objectId": host, "depth": 1, "pierce": true}, &node)
	if err != nil || node.Node == nil {
		return false
	}
	for _, root := range node.Node.ShadowRoots {
		if root.ShadowRootType != "closed" {
			continue
		}
		object, err := d.ResolveNode(ctx, root.BackendNodeID, d.World, group)
		if err != nil {
			return false
		}
		var answer runtime.CallFunctionOnResult
		err = d.Session.Call(ctx, runtime.CommandCallFunctionOn, map[string]any{
			"functionDeclaration": "function(root) { globalThis.__cm.addClosedRoot(this, root) }",
			"objectId":            host, "arguments": []map[string]any{{"objectId": object}}, "silent": true,
		}, &answer)
		return err == nil && answer.ExceptionDetails == nil
	}
	return false
}

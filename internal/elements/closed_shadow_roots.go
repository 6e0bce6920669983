package elements

import (
	"context"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// ExposeClosedShadowRoots passes the closed shadow roots of a document to the page scripts. Scripts
// cannot find them: even in an isolated world, the shadowRoot of their host is null. ids are the
// ids of elements that may host one. ExposeClosedShadowRoots reports whether it found any.
//
// It queries each host once: js/closed_shadow_roots.js omits those that were passed to markQueried.
func ExposeClosedShadowRoots(ctx context.Context, d *frames.Document, ids []int) (exposed bool) {
	for {
		found := false
		var queried []int
		for _, id := range ids {
			has, err := openClosedRoot(ctx, d, id)
			if err == nil {
				queried = append(queried, id)
			}
			found = found || has
		}
		exposed = exposed || found
		if len(queried) > 0 {
			d.Start(ctx, "markQueried", queried)
		}
		ids = nil
		if !found || d.Call(ctx, &ids, "closedCandidates") != nil { // a closed root may contain other hosts
			return exposed
		}
	}
}

// FindClosedRoots passes all closed shadow roots of the document to the page scripts.
func FindClosedRoots(ctx context.Context, d *frames.Document) {
	var hosts []int
	if d.Call(ctx, &hosts, "closedCandidates") == nil {
		ExposeClosedShadowRoots(ctx, d, hosts)
	}
}

// openClosedRoot passes the closed shadow root of one element to the page scripts. It reports
// whether the element has one.
func openClosedRoot(ctx context.Context, d *frames.Document, id int) (found bool, err error) {
	group, release := d.ObjectGroup(ctx)
	defer release()
	host, err := d.Object(ctx, id, group)
	if err != nil || host == "" {
		return false, err
	}
	var node dom.DescribeNodeResult
	err = d.Session.Call(ctx, dom.CommandDescribeNode, map[string]any{"objectId": host, "depth": 1, "pierce": true}, &node)
	if err != nil || node.Node == nil {
		return false, err
	}
	for _, root := range node.Node.ShadowRoots {
		if root.ShadowRootType != "closed" {
			continue
		}
		object, err := d.ResolveNode(ctx, root.BackendNodeID, d.World, group)
		if err != nil {
			return false, err
		}
		var answer runtime.CallFunctionOnResult
		err = d.Session.Call(ctx, runtime.CommandCallFunctionOn, map[string]any{
			"functionDeclaration": "function(root) { globalThis.__cm.addClosedRoot(this, root) }",
			"objectId":            host, "arguments": []map[string]any{{"objectId": object}}, "silent": true,
		}, &answer)
		return err == nil && answer.ExceptionDetails == nil, err
	}
	return false, nil
}

// CallWithClosedRoots is Document.Call for page scripts that read closed shadow roots. It first
// exposes closed shadow roots that are new. If there are none, it takes no longer than
// Document.Call.
func CallWithClosedRoots(ctx context.Context, d *frames.Document, result any, name string, args ...any) error {
	closed, err := d.Start(ctx, "closedCandidates")
	if err != nil {
		return err
	}
	p, err := d.Start(ctx, name, args...)
	if err != nil {
		return err
	}
	var hosts []int
	if err := d.Finish(ctx, closed, &hosts); err != nil {
		return err
	}
	if ExposeClosedShadowRoots(ctx, d, hosts) {
		if p, err = d.Start(ctx, name, args...); err != nil {
			return err
		}
	}
	return d.Finish(ctx, p, result)
}

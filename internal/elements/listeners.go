package elements

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/domdebugger"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// maxListening is the maximum number of elements with listeners in one clickable element.
const maxListening = 20

// clickEvents are the events of a click that pages listen for.
var clickEvents = map[string]bool{
	"click": true, "mousedown": true, "mouseup": true, "pointerdown": true, "pointerup": true, "touchstart": true, "touchend": true,
}

// ReadListeners finds the elements inside clickable elements that have separate click listeners,
// and passes them to the page scripts, which cannot read listeners. It reports whether it found
// any. js/listeners.js limits and remembers the clickable elements that are queried.
func ReadListeners(ctx context.Context, d *frames.Document, ids []int) bool {
	if len(ids) == 0 {
		return false
	}
	group, release := d.ObjectGroup(ctx)
	defer release()
	var found atomic.Bool
	var queries sync.WaitGroup
	for _, id := range ids {
		queries.Go(func() {
			if readListenersOf(ctx, d, id, group) {
				found.Store(true)
			}
		})
	}
	queries.Wait()
	return found.Load()
}

func readListenersOf(ctx context.Context, d *frames.Document, id int, group string) bool {
	container, err := d.Object(ctx, id, group)
	if err != nil || container == "" {
		return false
	}
	elements := []map[string]any{} // not nil: CDP does not accept null
	for _, n := range listening(ctx, d, container, group) {
		if object, err := d.ResolveNode(ctx, n, d.World, group); err == nil {
			elements = append(elements, map[string]any{"objectId": object})
		}
	}
	var answer runtime.CallFunctionOnResult
	err = d.Session.Call(ctx, runtime.CommandCallFunctionOn, map[string]any{
		"functionDeclaration": "function(...elements) { globalThis.__cm.addListening(this, ...elements) }",
		"objectId":            container, "arguments": elements, "silent": true,
	}, &answer)
	return err == nil && answer.ExceptionDetails == nil && len(elements) > 0
}

// listening returns the nodes inside a clickable element that have separate click listeners. If
// only one descendant listens and the element itself does not, it returns none: a click on the
// element is a click on that descendant.
func listening(ctx context.Context, d *frames.Document, container runtime.RemoteObjectID, group string) []cdp.BackendNodeID {
	self, listeners := listenersWithin(ctx, d, container, group)
	seen := make(map[cdp.BackendNodeID]bool)
	var nodes []cdp.BackendNodeID
	for _, l := range listeners {
		if seen[l.BackendNodeID] || !clickEvents[l.Type] {
			continue
		}
		seen[l.BackendNodeID] = true
		if l.BackendNodeID != self && len(nodes) < maxListening {
			nodes = append(nodes, l.BackendNodeID)
		}
	}
	if len(nodes) == 1 && !seen[self] {
		return nil
	}
	return nodes
}

// listenersWithin returns the id of an element, and the page's listeners of the element and of its
// descendants.
func listenersWithin(ctx context.Context, d *frames.Document, container runtime.RemoteObjectID, group string) (self cdp.BackendNodeID, _ []*domdebugger.EventListener) {
	var node dom.DescribeNodeResult
	if d.Session.Call(ctx, dom.CommandDescribeNode, map[string]any{"objectId": container}, &node) != nil || node.Node == nil {
		return 0, nil
	}
	self = node.Node.BackendNodeID
	// The browser reports only the listeners of the object's world, so resolve the node in the
	// page's world.
	var object dom.ResolveNodeResult
	if d.Session.Call(ctx, dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: self, ObjectGroup: group}, &object) != nil || object.Object == nil {
		return self, nil
	}
	var res domdebugger.GetEventListenersResult
	if d.Session.Call(ctx, domdebugger.CommandGetEventListeners, map[string]any{"objectId": object.Object.ObjectID, "depth": -1}, &res) != nil {
		return self, nil
	}
	return self, res.Listeners
}

// ListensFor reports whether an element or one of its descendants has a listener of the page for a
// type of event. It returns false if that is unknown.
func ListensFor(ctx context.Context, d *frames.Document, id int, eventType string) bool {
	group, release := d.ObjectGroup(ctx)
	defer release()
	object, err := d.Object(ctx, id, group)
	if err != nil || object == "" {
		return false
	}
	_, listeners := listenersWithin(ctx, d, object, group)
	return slices.ContainsFunc(listeners, func(l *domdebugger.EventListener) bool { return l.Type == eventType })
}

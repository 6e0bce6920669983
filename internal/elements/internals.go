package elements

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/accessibility"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// An internalState is what the browser reports about a custom element. The JSON field names are
// those of js/internals.js.
type internalState struct {
	ID     int               `json:"id"`
	Role   string            `json:"role"`
	Name   string            `json:"name"`
	Value  string            `json:"value"`
	States map[string]string `json:"states"`
}

// ReadInternals queries the browser for the roles, names and states of custom elements, which page
// scripts cannot read when ElementInternals sets them, and passes them to the page scripts. It
// reports whether any of them changed. js/internals.js limits the elements that are queried, and
// remembers those that were.
func ReadInternals(ctx context.Context, d *frames.Document, ids []int) bool {
	if len(ids) == 0 {
		return false
	}
	// While the domain is enabled, the browser keeps its accessibility tree between queries.
	defer d.Session.Call(ctx, accessibility.CommandDisable, nil, nil) // also after an enable that took too long
	if d.Session.Call(ctx, accessibility.CommandEnable, nil, nil) != nil {
		return false
	}
	group, release := d.ObjectGroup(ctx)
	defer release()
	pending := make(map[int]*cdpconn.Pending, len(ids))
	queried := make([]int, 0, len(ids))
	for _, id := range ids {
		el, err := d.Object(ctx, id, group)
		if err != nil {
			return false
		}
		if el == "" {
			queried = append(queried, id)
			continue
		}
		p, err := d.Session.Start(ctx, accessibility.CommandGetPartialAXTree, map[string]any{"objectId": el, "fetchRelatives": false})
		if err != nil {
			return false
		}
		pending[id] = p
	}
	states := make([]internalState, 0, len(pending))
	for id, p := range pending {
		var tree accessibility.GetPartialAXTreeResult
		if d.Wait(ctx, p, &tree) != nil {
			continue
		}
		queried = append(queried, id)
		if len(tree.Nodes) == 0 {
			continue
		}
		s := internalState{ID: id, States: map[string]string{}}
		if n := tree.Nodes[0]; !n.Ignored {
			s.Role, s.Name, s.Value = axText(n.Role), axText(n.Name), axText(n.Value)
			for _, p := range n.Properties {
				s.States[string(p.Name)] = axText(p.Value)
			}
		}
		states = append(states, s)
	}
	changed := false
	return d.Call(ctx, &changed, "setInternals", queried, states) == nil && changed
}

// axText returns the text of a value of the browser's accessibility tree, which may be nil.
func axText(v *accessibility.Value) string {
	var value any
	if v == nil || cdpconn.Unmarshal(v.Value, &value) != nil || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

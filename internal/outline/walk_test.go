package outline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

func TestClosedShadowRoots(t *testing.T) {
	p := startBrowser(t).newTab(t, serve(t, `<!doctype html><title>C</title><x-pay></x-pay><div id="e" style="height:9px"></div><div id="none"></div><script>
		for (const name of ['x-pay', 'y-in']) customElements.define(name, class extends HTMLElement {})
		document.querySelector('x-pay').attachShadow({mode:'closed'}).innerHTML = '<label for=n>Number</label><input id=n><y-in></y-in>'</script>`))
	doc := outlineOf(p)
	ids := doc.ClosedRootCandidates
	if len(ids) != 2 {
		t.Fatalf("hosts %v, want the custom element and the empty box with a height", ids)
	}
	if s := render(t, doc, outline.Options{}).Text; strings.Contains(s, "Number") {
		t.Fatalf("a closed root that was not passed in:\n%s", s)
	}
	// As package page does: find the root with the protocol and pass it to our world.
	var host struct{ Result struct{ ObjectID string } }
	p.call("Runtime.callFunctionOn", map[string]any{"functionDeclaration": "(n) => __cm.byId(n)", "executionContextId": p.world, "arguments": []any{map[string]any{"value": ids[0]}}}, &host)
	var node struct {
		Node struct{ ShadowRoots []struct{ BackendNodeID int } }
	}
	p.call("DOM.describeNode", map[string]any{"objectId": host.Result.ObjectID, "pierce": true, "depth": 1}, &node)
	if len(node.Node.ShadowRoots) != 1 {
		t.Fatal("the protocol returned no shadow root")
	}
	var root struct{ Object struct{ ObjectID string } }
	p.call("DOM.resolveNode", map[string]any{"backendNodeId": node.Node.ShadowRoots[0].BackendNodeID, "executionContextId": p.world}, &root)
	p.call("Runtime.callFunctionOn", map[string]any{"functionDeclaration": "(h, r) => __cm.addClosedRoot(h, r)", "executionContextId": p.world,
		"arguments": []any{map[string]any{"objectId": host.Result.ObjectID}, map[string]any{"objectId": root.Object.ObjectID}}}, nil)
	p.js(fmt.Sprintf("() => __cm.markQueried([%d, %d])", ids[0], ids[1]), nil)
	doc = outlineOf(p)
	want(t, render(t, doc, outline.Options{RefOf: refs()}).Text, `
- page "C" `+doc.URL+`
  - textbox "Number" [ref=e1]`)
	var total int
	p.js("() => __cm.query('#n').total", &total)
	if total != 1 {
		t.Errorf("the selector matches %d", total)
	}
	if len(doc.ClosedRootCandidates) != 1 {
		t.Errorf("hosts %v, want only the inner custom element: the others were queried before", doc.ClosedRootCandidates)
	}
}

func TestIdentityHoldsAcrossSnapshots(t *testing.T) {
	p := startBrowser(t).newTab(t, serve(t, `<!doctype html><title>I</title><ul><li><button>A</button><li><button>B</button><li><button>C</button></ul>`))
	idOf := func(name string) (id int) {
		t.Helper()
		outlineOf(p).Nodes(func(n *outline.Node) {
			if n.Role == "button" && n.Name == name {
				id = n.ID
			}
		})
		return id
	}
	b := idOf("B")
	if b == 0 {
		t.Fatal("button not found")
	}
	p.js("() => { const ul = document.querySelector('ul'); ul.prepend(ul.children[1]); ul.querySelector('button').textContent = 'Renamed' }", nil)
	if got := idOf("Renamed"); got != b {
		t.Errorf("moved and renamed: id %d, was %d", got, b)
	}
	p.js("() => { const b = document.querySelector('button'); b.replaceWith(b.cloneNode(true)) }", nil)
	if got := idOf("Renamed"); got == b || got == 0 {
		t.Errorf("a new element got id %d of the old one", got)
	}
	var html string
	p.js("() => document.documentElement.outerHTML", &html)
	if html != `<html><head><title>I</title></head><body><ul><li><button>Renamed</button></li><li><button>A</button></li><li><button>C</button></li></ul></body></html>` {
		t.Errorf("the walk left traces in the page: %s", html)
	}
}

func TestRootLimitsTheWalk(t *testing.T) {
	p := startBrowser(t).newTab(t, serve(t, `<!doctype html><title>R</title><button>Out</button><nav id="n"><a href="/x">In</a></nav>`))
	var id int
	p.js("() => __cm.query('#n').matches[0][0]", &id)
	var raw json.RawMessage
	p.js("snapshot", &raw, map[string]any{"root": id})
	doc, err := outline.Decode(raw, "d")
	if err != nil {
		t.Fatal(err)
	}
	if s := render(t, doc, outline.Options{}).Text; strings.Contains(s, "Out") || !strings.Contains(s, `link "In"`) {
		t.Errorf("got:\n%s", s)
	}
	p.js("() => document.querySelector('nav').remove()", nil)
	p.js("snapshot", &raw, map[string]any{"root": id})
	if _, err := outline.Decode(raw, "d"); !errors.Is(err, outline.ErrGone) {
		t.Errorf("removed root: %v", err)
	}
}

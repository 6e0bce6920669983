package outline_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// chromiumRoles maps roles that the protocol names differently from ARIA to the outline's names.
var chromiumRoles = map[string]string{
	"image": "img", "SvgRoot": "img", "graphics-symbol": "img", "LabelText": "label", "Legend": "legend", "Figcaption": "caption",
	"Date": "date", "DateTime": "date", "InputTime": "date", "ColorWell": "color", "DisclosureTriangle": "summary", "Iframe": "iframe",
	"Canvas": "canvas", "Video": "video", "Audio": "audio", "PluginObject": "object", "MathMLMath": "math", "MathMLIdentifier": "generic",
	"DescriptionList": "list", "LineBreak": "generic", "Abbr": "generic", "sectionheader": "generic", "sectionfooter": "generic",
	"Ruby": "generic", "EmbeddedObject": "embed", "graphics-object": "img", "graphics-document": "img", "LayoutTable": "none", "LayoutTableRow": "none", "LayoutTableCell": "none",
}

// specified lists elements to which Chromium gives a name or role that deviates from the
// specifications, with the specified name. TestAccessibleNames has the rules.
var specified = map[string]string{
	`<button aria-labelledby="ch6">c</button>`:  "hid deepvh",
	`<button aria-labelledby="ch21">c</button>`: "abc d",
	`<dt>dt</dt>`:                   "",
	`<dfn>dfn</dfn>`:                "",
	`<dt>Term</dt>`:                 "",
	`<img alt="" title="t" src="">`: "t",
	`<figure><img alt="f" src=""><figcaption>Fig cap</figcaption></figure>`: "Fig cap",
	`<div role="math">m</div>`:                             "",
	`<div role="term">t</div>`:                             "",
	`<a href="/tit"><span title="inner title"></span></a>`: "inner title",
	`<fieldset disabled=""><legend>L <input aria-label="in legend"></legend><input aria-label="in fs"><select aria-`: "L",
	`<figure title="tip"><figcaption>x38</figcaption>f</figure>`:                                                     "x38",
	`<li title="tip">x41</li>`:                                             "",
	`<button>l4 <input aria-label="n4"></button>`:                          "l4",
	`<input aria-labelledby="l6">`:                                         "l6 w7",
	`<figure><figcaption>l7 <input aria-label="n8"></figcaption></figure>`: "l7",
	`<button>l9 <input placeholder="ph"></button>`:                         "l9",
	`<button>l10 <input title="ti"></button>`:                              "l10",
	`<button>l11 <textarea placeholder="ph"></textarea></button>`:          "l11",
	`<input id="lx12">`:                                                    "l12",
	`<h4>l13 <input placeholder="ph" aria-label="al"></h4>`:                "l13",
	`<li title="t">li</li>`:                                                "",
	`<dfn title="t">df</dfn>`:                                              "t",
}

// structural reports whether a role has no line in an outline. For elements that are structure
// only, Chromium reports "ignored", generic or a specific role.
func structural(role string) bool { return role == "none" || role == "generic" }

// A describedElement is one element as the page scripts see it.
type describedElement struct {
	Role, Name, Value, Description string
	Hidden                         bool
	Flags                          outline.Flags
	Level                          int
	HTML                           string
}

func (d *describedElement) tag() string {
	s := strings.TrimPrefix(d.HTML, "<")
	return s[:max(strings.IndexAny(s, " >"), 0)]
}

// An axNode is one element as the browser sees it.
type axNode struct {
	Ignored                        bool
	Role, Name, Value, Description axValue
	Properties                     []struct {
		Name  string
		Value axValue
	}
}

type axValue struct{ Value any }

func (v axValue) String() string {
	if v.Value == nil {
		return ""
	}
	return fmt.Sprint(v.Value)
}

func (n *axNode) property(name string) string {
	for _, p := range n.Properties {
		if p.Name == name {
			return p.Value.String()
		}
	}
	return ""
}

// name returns the name with white space collapsed. Chromium masks each character of a secret value. We
// do not reveal its length.
func (n *axNode) name() string {
	return strings.Join(strings.FieldsFunc(strings.ReplaceAll(n.Name.String(), "•", ""), func(r rune) bool { return strings.ContainsRune(" \t\n\r\f", r) }), " ")
}

// axNode returns what the browser computes for the element with an id.
func (t *tab) axNode(id int) *axNode {
	t.t.Helper()
	var obj struct {
		Result struct{ ObjectID string }
	}
	t.call("Runtime.callFunctionOn", map[string]any{"functionDeclaration": "(n) => __cm.byId(n)", "executionContextId": t.world, "arguments": []any{map[string]any{"value": id}}}, &obj)
	var ax struct{ Nodes []axNode }
	t.call("Accessibility.getPartialAXTree", map[string]any{"objectId": obj.Result.ObjectID, "fetchRelatives": false}, &ax)
	return &ax.Nodes[0]
}

// TestAgreementWithChromium compares what the page scripts report about every element of
// testdata/agree with what the browser computes: role, name, description, value and states.
func TestAgreementWithChromium(t *testing.T) {
	srv := httptest.NewServer(http.FileServer(http.Dir("testdata/agree")))
	defer srv.Close()
	pages, _ := filepath.Glob("testdata/agree/*.html")
	b := startBrowser(t)
	var sum agreement
	for _, page := range pages {
		p := b.newTab(t, srv.URL+"/"+filepath.Base(page))
		var ids []int
		p.js(`() => { const out = []; const walk = (n) => { for (const el of n.children) { out.push(__cm.idOf(el)); if (el.shadowRoot) walk(el.shadowRoot); walk(el) } }; walk(document.body); return out }`, &ids)
		p.call("Accessibility.enable", nil, nil)
		var ours []describedElement
		p.js("(ids) => ids.map(__cm.describeFully)", &ours, ids)
		for i, id := range ids {
			sum.add(t, p.axNode(id), &ours[i])
		}
	}
	if sum.compared < 1400 {
		t.Errorf("only %d elements compared", sum.compared)
	}
	if sum.names*100 > sum.compared {
		t.Errorf("%d of %d names differ, more than 1 %%", sum.names, sum.compared)
	}
	t.Logf("%d elements compared, %d roles, %d names, %d descriptions, %d values and %d states differ", sum.compared, sum.roles, sum.names, sum.descriptions, sum.values, sum.states)
}

// An agreement counts differences.
type agreement struct{ compared, roles, names, descriptions, values, states int }

func (a *agreement) add(t *testing.T, theirs *axNode, ours *describedElement) {
	t.Helper()
	role, name := theirs.Role.String(), theirs.name()
	if r, ok := chromiumRoles[role]; ok {
		if strings.HasPrefix(role, "Layout") || role == "LineBreak" {
			name = ""
		}
		role = r
	}
	switch {
	case strings.HasPrefix(role, "MathML"):
		role = "generic" // the children of a formula are its text
	case strings.HasPrefix(role, "doc-"):
		role = "generic"
		if ours.Role == "link" {
			role = "link"
		}
	}
	a.compared++
	if want, ok := specified[ours.HTML]; ok && ours.Name == want {
		return
	}
	switch {
	case ours.Hidden && role == "none":
		return
	case role == ours.Role, structural(role) && structural(ours.Role):
	case role == "generic" && ours.Role == "textbox" && strings.Contains(ours.HTML, "contenteditable"):
		// Chromium reports an editable generic; users see a text box.
	case (role == "generic" || role == "listitem") && (ours.Role == "option" || ours.Role == "treeitem"):
		// Chromium ignores the role outside of a list or tree. The author intended an element that
		// can be selected.
		return
	default:
		a.roles++
		t.Errorf("role: Chromium %q, ours %q: %s", role, ours.Role, ours.HTML)
	}
	if name != ours.Name {
		a.names++
		t.Logf("name: Chromium %q, ours %q: %s", name, ours.Name, ours.HTML)
	}
	if theirs.Ignored || structural(role) {
		return
	}
	if d := strings.Join(strings.Fields(theirs.Description.String()), " "); d != ours.Description && (ours.Description != "" || d != name) {
		a.descriptions++
		t.Errorf("description: Chromium %q, ours %q: %s", d, ours.Description, ours.HTML)
	}
	if v := theirs.Value.String(); v != ours.Value && !saysMore(v, ours) {
		a.values++
		t.Errorf("value: Chromium %q, ours %q: %s", v, ours.Value, ours.HTML)
	}
	if want, got := chromiumStates(theirs, ours), ourStates(ours); want != got {
		a.states++
		t.Errorf("states: Chromium %q, ours %q: %s", want, got, ours.HTML)
	}
}

// saysMore reports whether our value of an element deliberately differs from the browser's because
// it has more information.
func saysMore(theirs string, ours *describedElement) bool {
	tag := ours.tag()
	switch {
	case strings.Contains(ours.HTML, "aria-valuetext"): // the text that users read instead of a number
		return true
	case ours.Value == "••••": // the browser masks each character, which reveals the length
		return true
	case tag == "progress", tag == "meter": // our value includes the maximum
		return strings.HasPrefix(ours.Value, theirs) || strings.HasPrefix(theirs, ours.Value)
	case tag == "select": // the browser has no value for a list box
		return theirs == ""
	case theirs == "No file chosen":
		return ours.Value == ""
	case ours.Role == "combobox" && theirs == "": // the visible text
		return true
	case tag == "input" && ours.Role == "slider": // the actual value, whatever an attribute says
		return true
	case strings.TrimRight(ours.Value, "0") == theirs:
		return true
	case ours.Value == "": // missing or meaningless number: the browser computes one
		return theirs == "0" || theirs == "50"
	}
	return false
}

// chromiumStates returns the states of n under the outline's names, without those that only one of
// the protocol and the outline reports.
func chromiumStates(n *axNode, ours *describedElement) string {
	var s []string
	add := func(is bool, name string) {
		if is {
			s = append(s, name)
		}
	}
	// The protocol reports these for few roles only.
	also := func(name, property string, of outline.Flags) {
		add(n.property(property) == "true" || n.property(property) == "" && ours.Flags.Has(of), name)
	}
	tag := ours.tag()
	add(n.property("checked") == "true", "checked")
	add(n.property("checked") == "mixed" || n.property("pressed") == "mixed", "mixed")
	add(n.property("selected") == "true" || tag == "option" && n.property("disabled") == "true" && ours.Flags.Has(outline.Selected), "selected")
	add(n.property("pressed") == "true" || n.property("pressed") == "mixed", "pressed")
	add(n.property("expanded") == "true", "expanded")
	add(n.property("expanded") == "false" && tag != "select", "collapsed") // a native select is never expanded
	add(n.property("disabled") == "true" && tag != "object" && tag != "embed", "disabled")
	if ours.Role != "gridcell" { // which all cells inherit from their grid
		also("readonly", "readonly", outline.ReadOnly)
	}
	also("required", "required", outline.Required)
	// An empty required field is invalid; "required" reports it.
	missing := ours.Flags.Has(outline.Required) && !strings.Contains(ours.HTML, "aria-invalid")
	add(n.property("invalid") != "" && n.property("invalid") != "false" && !missing, "invalid")
	add(n.property("multiselectable") == "true", "multiple")
	add(n.property("modal") == "true", "modal")
	// The outline shows the level of nested items by indentation.
	if l := n.property("level"); l != "" && (ours.Role == "heading" || strings.Contains(ours.HTML, "aria-level")) {
		s = append(s, "level="+l)
	}
	return strings.Join(s, " ")
}

func ourStates(d *describedElement) string {
	var s []string
	for _, f := range []struct {
		flag outline.Flags
		name string
	}{
		{outline.Checked, "checked"}, {outline.Mixed, "mixed"}, {outline.Selected, "selected"}, {outline.Pressed, "pressed"},
		{outline.Expanded, "expanded"}, {outline.Collapsed, "collapsed"}, {outline.Disabled, "disabled"}, {outline.ReadOnly, "readonly"},
		{outline.Required, "required"}, {outline.Invalid, "invalid"}, {outline.Multiple, "multiple"}, {outline.Modal, "modal"},
	} {
		if d.Flags&f.flag != 0 {
			s = append(s, f.name)
		}
	}
	if d.Level > 0 {
		s = append(s, fmt.Sprint("level=", d.Level))
	}
	return strings.Join(s, " ")
}

package inputsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func actionabilityControls(s *suite.Runner, t *testing.T) {
	for _, p := range [][2]string{
		{"hidden checkbox in its label", "inlabel"},
		{"off-page radio button with a separate label", "elsewhere"},
		{"transparent checkbox under its label", "clear"},
		{"checkbox with display: none in its label", "gone"},
	} {
		s.Page(t, p[0], "actionability-controls.html", func(c *suite.Case) {
			c.Clicked(suite.Selector("#"+p[1]), p[1])
			c.Await("change", p[1])
			c.WantValue(p[1]+".checked", "true")
			c.Clicked(suite.ByRef(c.Ref("(?:checkbox|radio|clickable)", c.EvalString(p[1]+".labels[0].innerText.trim()"))), p[1])
		})
	}
	s.Page(t, "label as the target of a control", "actionability-controls.html", func(c *suite.Case) {
		c.Clicked(suite.Selector("#words"), "words")
		c.Await("change", "spoken")
	})
	clicks(s, t, "actionability-controls.html", [][2]string{
		{"field whose label also contains a button", "outer"},
		{"button in the label of another field", "inner"},
		{"button around slotted elements", "slotted"},
		{"button around slotted text", "plainslot"},
		{"summary of a details element", "summary"},
		{"button in the legend of a disabled fieldset", "legend"},
		{"video with controls", "video"},
		{"link without href", "nohref"},
		{"contenteditable element", "editable"},
		{"non-editable element in a contenteditable element", "island"},
		{"a canvas", "canvas"},
		{"a meter", "meter"},
		{"a slider", "range"},
		{"input type=image", "image"},
		{"button labeled by another element", "wraps"},
	}...)
	for _, name := range []string{"Slotted words", "Plain slotted text", "Words in a closed one"} {
		s.Page(t, "inside a custom button: "+name, "actionability-controls.html", func(c *suite.Case) {
			c.Click(suite.ByRef(c.Ref("button", name)), nil)
			id := map[string]string{"Slotted words": "slotted", "Plain slotted text": "plainslot", "Words in a closed one": "closedslot"}[name]
			if !c.Await("click", "inside "+id).Trusted {
				c.Error("the click was not trusted")
			}
		})
	}
	s.Page(t, "details element, then its content", "actionability-controls.html", func(c *suite.Case) {
		c.Clicked(suite.Selector("#summary"), "summary")
		c.Clicked(suite.Selector("#detail"), "detail")
	})
	s.Page(t, "inside closed details", "actionability-controls.html", func(c *suite.Case) {
		blocked(c, "detail", "Inside", "not visible")
	})
	s.Page(t, "options of a list", "actionability-controls.html", func(c *suite.Case) {
		for _, id := range []string{"two", "six", "one"} {
			c.Click(suite.Selector("#"+id), nil)
			c.Await("change", "list")
			c.WantValue("list.selectedOptions[0].id", id)
		}
	})
	s.Page(t, "option of a select", "actionability-controls.html", func(c *suite.Case) {
		blocked(c, "folded", "Folded", "Page.SelectOption")
	})
	s.Page(t, "in a disabled fieldset", "actionability-controls.html", func(c *suite.Case) {
		blocked(c, "fieldset", "In the fieldset", "disabled")
	})
	s.Page(t, "inert", "actionability-controls.html", func(c *suite.Case) {
		blocked(c, "inert", "Inert", "is inert")
		c.WantUntouched("inert")
	})
}

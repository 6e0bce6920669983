package executortest

import (
	"testing"
)

func (s *suite) actionabilityControls(t *testing.T) {
	for _, p := range [][2]string{
		{"hidden checkbox in its label", "inlabel"},
		{"off-page radio button with a separate label", "elsewhere"},
		{"transparent checkbox under its label", "clear"},
		{"checkbox with display: none in its label", "gone"},
	} {
		s.page(t, p[0], "actionability-controls.html", func(c *testCase) {
			c.clicked(css("#"+p[1]), p[1])
			c.await("change", p[1])
			c.wantValue(p[1]+".checked", "true")
			c.clicked(byRef(c.ref("(?:checkbox|radio|clickable)", c.evalString(p[1]+".labels[0].innerText.trim()"))), p[1])
		})
	}
	s.page(t, "label as the target of a control", "actionability-controls.html", func(c *testCase) {
		c.clicked(css("#words"), "words")
		c.await("change", "spoken")
	})
	s.clicks(t, "actionability-controls.html", [][2]string{
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
		s.page(t, "inside a custom button: "+name, "actionability-controls.html", func(c *testCase) {
			c.click(byRef(c.ref("button", name)), nil)
			id := map[string]string{"Slotted words": "slotted", "Plain slotted text": "plainslot", "Words in a closed one": "closedslot"}[name]
			if !c.await("click", "inside "+id).Trusted {
				c.Error("the click was not trusted")
			}
		})
	}
	s.page(t, "details element, then its content", "actionability-controls.html", func(c *testCase) {
		c.clicked(css("#summary"), "summary")
		c.clicked(css("#detail"), "detail")
	})
	s.page(t, "inside closed details", "actionability-controls.html", func(c *testCase) {
		c.blocked("detail", "Inside", "not visible")
	})
	s.page(t, "options of a list", "actionability-controls.html", func(c *testCase) {
		for _, id := range []string{"two", "six", "one"} {
			c.click(css("#"+id), nil)
			c.await("change", "list")
			c.wantValue("list.selectedOptions[0].id", id)
		}
	})
	s.page(t, "option of a select", "actionability-controls.html", func(c *testCase) {
		c.blocked("folded", "Folded", "Page.SelectOption")
	})
	s.page(t, "in a disabled fieldset", "actionability-controls.html", func(c *testCase) {
		c.blocked("fieldset", "In the fieldset", "disabled")
	})
	s.page(t, "inert", "actionability-controls.html", func(c *testCase) {
		c.blocked("inert", "Inert", "is inert")
		c.wantUntouched("inert")
	})
}

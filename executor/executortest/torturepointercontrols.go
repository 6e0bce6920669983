package executortest

import (
	"testing"
)

func (s *suite) aimControls(t *testing.T) {
	for _, p := range [][2]string{
		{"a checkbox hidden in its label", "inlabel"},
		{"a radio button off the page, with a label elsewhere", "elsewhere"},
		{"a transparent checkbox under its label", "clear"},
		{"a checkbox with no box at all in its label", "gone"},
	} {
		s.page(t, p[0], "aimcontrols.html", func(c *scene) {
			c.clicked(css("#"+p[1]), p[1])
			c.await("change", p[1])
			c.wantValue(p[1]+".checked", "true")
			c.clicked(byRef(c.ref("(?:checkbox|radio|clickable)", c.evalString(p[1]+".labels[0].innerText.trim()"))), p[1])
		})
	}
	s.page(t, "a label counts for its control", "aimcontrols.html", func(c *scene) {
		c.clicked(css("#words"), "words")
		c.await("change", "spoken")
	})
	s.clicks(t, "aimcontrols.html", [][2]string{
		{"a field whose label holds a button too", "outer"},
		{"a button in the label of another field", "inner"},
		{"a button around words put into a slot", "slotted"},
		{"a button around plain text put into a slot", "plainslot"},
		{"the summary of details", "summary"},
		{"a button in the legend of a disabled group", "legend"},
		{"a film with controls", "video"},
		{"a link with no address", "nohref"},
		{"text that can be edited", "editable"},
		{"an island in text that can be edited", "island"},
		{"a canvas", "canvas"},
		{"a meter", "meter"},
		{"a slider", "range"},
		{"a picture that submits", "image"},
		{"a button whose words are elsewhere", "wraps"},
	}...)
	for _, name := range []string{"Slotted words", "Plain slotted text", "Words in a closed one"} {
		s.page(t, "inside a custom button: "+name, "aimcontrols.html", func(c *scene) {
			c.click(byRef(c.ref("button", name)), nil)
			id := map[string]string{"Slotted words": "slotted", "Plain slotted text": "plainslot", "Words in a closed one": "closedslot"}[name]
			if !c.await("click", "inside "+id).Trusted {
				c.Error("the click was not trusted")
			}
		})
	}
	s.page(t, "details, opened and then what is in them", "aimcontrols.html", func(c *scene) {
		c.clicked(css("#summary"), "summary")
		c.clicked(css("#detail"), "detail")
	})
	s.page(t, "in closed details", "aimcontrols.html", func(c *scene) {
		c.blocked("detail", "Inside", "not visible")
	})
	s.page(t, "options of a list", "aimcontrols.html", func(c *scene) {
		for _, id := range []string{"two", "six", "one"} {
			c.click(css("#"+id), nil)
			c.await("change", "list")
			c.wantValue("list.selectedOptions[0].id", id)
		}
	})
	s.page(t, "an option of a folded list", "aimcontrols.html", func(c *scene) {
		c.blocked("folded", "Folded", "select_option")
	})
	s.page(t, "in a disabled group", "aimcontrols.html", func(c *scene) {
		c.blocked("fieldset", "In the fieldset", "disabled")
	})
	s.page(t, "inert", "aimcontrols.html", func(c *scene) {
		c.blocked("inert", "Inert", "is inert")
		c.wantUntouched("inert")
	})
}

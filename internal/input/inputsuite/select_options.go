package inputsuite

import (
	"slices"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// selectOptions selects from selects of many kinds.
func selectOptions(s *suite.Runner, t *testing.T) {
	const page = "typing-options.html"
	do := func(c *suite.Case, target executor.Target, values ...string) *executor.Selection {
		c.Helper()
		sel, err := c.Page().SelectOption(c.Ctx, target, values, &executor.ActionOptions{Timeout: await.HangLimit})
		if err != nil {
			c.Fatalf("select %q in %+v: %v", values, target, err)
		}
		return sel
	}
	refused := func(c *suite.Case, selector string, code executor.Code, values []string, parts ...string) {
		c.Helper()
		_, err := c.Page().SelectOption(c.Ctx, suite.Selector(selector), values, nil)
		c.WantCode(err, code, parts...)
	}
	s.Page(t, "by value, label or text, ignoring case and white space", page, func(c *suite.Case) {
		for _, row := range []struct{ give, want string }{
			{"a", "a"}, {"Banana!", "b"}, {"Apple pie", "a"}, {"lemon", "l"}, {" Orange ", "o"}, {"Plum", "Plum"}, {"", ""}, {"Choose one", ""},
		} {
			if sel := do(c, suite.Selector("#fruit"), row.give); !slices.Equal(sel.Selected, []string{row.want}) {
				c.Errorf("%q selected %q, want %q", row.give, sel.Selected, row.want)
			}
			c.WantValue("fruit.value", row.want)
		}
	})
	s.Page(t, "value overrides an equal label", page, func(c *suite.Case) {
		do(c, suite.Selector("#fruit"), "Pear")
		c.WantValue("fruit.selectedOptions[0].text", "Quince")
	})
	s.Page(t, "one change event, none without a change", page, func(c *suite.Case) {
		do(c, suite.Selector("#fruit"), "l")
		do(c, suite.Selector("#fruit"), "Lemon")
		c.Await("change", "fruit")
		c.WantValue("log.map((r) => r.kind + r.value).join()", "inputl,changel")
	})
	s.Page(t, "several, others, none", page, func(c *suite.Case) {
		for _, row := range []struct {
			give []string
			want string
		}{{[]string{"2", "Three"}, "2,3"}, {[]string{"Two"}, "2"}, {nil, ""}, {[]string{"three", "one"}, "1,3"}} {
			do(c, suite.Selector("#several"), row.give...)
			c.WantValue("Array.from(several.selectedOptions, (o) => o.value)", row.want)
		}
		c.WantValue("log.filter((r) => r.kind === 'change').length", "4")
	})
	s.Page(t, "empty selection in a single select: error", page, func(c *suite.Case) {
		refused(c, "#fruit", executor.ErrBadArgs, nil, "one option")
	})
	s.Page(t, "disabled option or group: error", page, func(c *suite.Case) {
		refused(c, "#fruit", executor.ErrNotActionable, []string{"Rotten"}, "Rotten", "disabled")
		refused(c, "#fruit", executor.ErrNotActionable, []string{"m"}, "disabled")
		c.WantUntouched("fruit")
	})
	s.Page(t, "no match: error lists some options", page, func(c *suite.Case) {
		refused(c, "#fruit", executor.ErrBadArgs, []string{"Kiwi"}, "Kiwi", "Apple pie", "Banana!", "Mango")
		_, err := c.Page().SelectOption(c.Ctx, suite.Selector("#many"), []string{"Number 999"}, nil)
		c.WantCode(err, executor.ErrBadArgs, "it has 300", "the nearest are", `"Number 99"`, `"Number 199"`)
		if n := len(err.Error()); n > 400 {
			c.Errorf("the error has %d bytes", n)
		}
		refused(c, "#none", executor.ErrBadArgs, []string{"One"}, "it has none")
		refused(c, "#off", executor.ErrNotActionable, []string{"One"}, "disabled")
	})
	s.Page(t, "options loaded by a request", page, func(c *suite.Case) {
		c.Eval("load('"+c.HeldURL("options")+"')", nil)
		c.AwaitRequest("options")
		selected := make(chan error, 1)
		go func() {
			selected <- suite.ErrOf(c.Page().SelectOption(c.Ctx, suite.Selector("#later"), []string{"Late"}, &executor.ActionOptions{Timeout: await.HangLimit}))
		}()
		for range 20 { // the call has time to find that the option is missing
			c.Tabs()
		}
		c.Release("options")
		if err := <-selected; err != nil {
			c.Fatal(err)
		}
		if r := c.Await("change", "later"); r.Value != "late" && r.Value != "" {
			c.Errorf("changed to %q", r.Value)
		}
		c.WantValue("later.value", "late")
	})
	s.Page(t, "row that is reused while an option is waited for", page, func(c *suite.Case) {
		ref := c.Ref("combobox", "Status")
		c.Eval("reuse('"+c.HeldURL("orders")+"')", nil)
		c.AwaitRequest("orders")
		selected := make(chan error, 1)
		go func() {
			selected <- suite.ErrOf(c.Page().SelectOption(c.Ctx, suite.ByRef(ref), []string{"Shipped"}, &executor.ActionOptions{Timeout: await.HangLimit}))
		}()
		for range 20 { // the call has time to find that the option is missing
			c.Tabs()
		}
		c.Release("orders")
		c.WantCode(<-selected, executor.ErrRefExpired, `combobox "Status" in "Order of Ben"`, "nothing was sent")
		c.WantUntouched("reused")
	})
	s.Page(t, "select that depends on another", page, func(c *suite.Case) {
		do(c, suite.Selector("#country"), "Norway")
		do(c, suite.Selector("#city"), "Oslo")
		if r := c.Await("change", "city"); r.Value != "oslo" {
			c.Errorf("changed to %q", r.Value)
		}
	})
	s.Page(t, "select that reverts its value: reported", page, func(c *suite.Case) {
		sel := do(c, suite.Selector("#jump"), "One")
		if r := c.Await("change", "jump"); r.Value != "1" && r.Value != "" {
			c.Errorf("changed to %q", r.Value)
		}
		c.WantIn(sel.Note, "changed the selection")
	})
	s.Page(t, "styled select with hidden native control", page, func(c *suite.Case) {
		for _, id := range []string{"dressed", "seethrough", "styled"} {
			want := map[string]string{"styled": "Two second"}[id]
			if want == "" {
				want = "Blue"
			}
			do(c, suite.Selector("#"+id), want)
			c.Await("change", id)
		}
		c.WantValue("dressed.value + seethrough.value + styled.value", "BlueBlue2")
	})
	s.Page(t, "select in a cross-site frame and in a shadow root", page, func(c *suite.Case) {
		do(c, suite.ByRef(c.Ref("combobox", "Across select")), "Two")
		if r := c.Await("change", "acrossSelect"); r.Value != "2" {
			c.Errorf("changed to %q", r.Value)
		}
		do(c, suite.Selector("#shaded"), "Two")
		c.Await("change", "shaded")
	})
	s.Page(t, "custom dropdown: error explains how to select", page, func(c *suite.Case) {
		refused(c, "#combo", executor.ErrBadArgs, []string{"First"}, "Combo", "not a <select>", "click")
		refused(c, "#list", executor.ErrBadArgs, []string{"First"}, "click", `option "First" [ref=e`)
		c.WantUntouched("first")
	})
}

package executortest

import (
	"slices"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// selectOptions selects from selects of many kinds.
func (s *suite) selectOptions(t *testing.T) {
	const page = "typing-options.html"
	do := func(c *testCase, target executor.Target, values ...string) *executor.Selection {
		c.Helper()
		sel, err := c.page().SelectOption(c.ctx, target, values, &executor.ActionOptions{Timeout: await.HangLimit})
		if err != nil {
			c.Fatalf("select %q in %+v: %v", values, target, err)
		}
		return sel
	}
	refused := func(c *testCase, selector string, code executor.Code, values []string, parts ...string) {
		c.Helper()
		_, err := c.page().SelectOption(c.ctx, css(selector), values, nil)
		c.wantCode(err, code, parts...)
	}
	s.page(t, "by value, label or text, ignoring case and white space", page, func(c *testCase) {
		for _, row := range []struct{ give, want string }{
			{"a", "a"}, {"Banana!", "b"}, {"Apple pie", "a"}, {"lemon", "l"}, {" Orange ", "o"}, {"Plum", "Plum"}, {"", ""}, {"Choose one", ""},
		} {
			if sel := do(c, css("#fruit"), row.give); !slices.Equal(sel.Selected, []string{row.want}) {
				c.Errorf("%q selected %q, want %q", row.give, sel.Selected, row.want)
			}
			c.wantValue("fruit.value", row.want)
		}
	})
	s.page(t, "value overrides an equal label", page, func(c *testCase) {
		do(c, css("#fruit"), "Pear")
		c.wantValue("fruit.selectedOptions[0].text", "Quince")
	})
	s.page(t, "one change event, none without a change", page, func(c *testCase) {
		do(c, css("#fruit"), "l")
		do(c, css("#fruit"), "Lemon")
		c.await("change", "fruit")
		c.wantValue("log.map((r) => r.kind + r.value).join()", "inputl,changel")
	})
	s.page(t, "several, others, none", page, func(c *testCase) {
		for _, row := range []struct {
			give []string
			want string
		}{{[]string{"2", "Three"}, "2,3"}, {[]string{"Two"}, "2"}, {nil, ""}, {[]string{"three", "one"}, "1,3"}} {
			do(c, css("#several"), row.give...)
			c.wantValue("Array.from(several.selectedOptions, (o) => o.value)", row.want)
		}
		c.wantValue("log.filter((r) => r.kind === 'change').length", "4")
	})
	s.page(t, "empty selection in a single select: error", page, func(c *testCase) {
		refused(c, "#fruit", executor.ErrBadArgs, nil, "one option")
	})
	s.page(t, "disabled option or group: error", page, func(c *testCase) {
		refused(c, "#fruit", executor.ErrNotActionable, []string{"Rotten"}, "Rotten", "disabled")
		refused(c, "#fruit", executor.ErrNotActionable, []string{"m"}, "disabled")
		c.wantUntouched("fruit")
	})
	s.page(t, "no match: error lists some options", page, func(c *testCase) {
		refused(c, "#fruit", executor.ErrBadArgs, []string{"Kiwi"}, "Kiwi", "Apple pie", "Banana!", "Mango")
		_, err := c.page().SelectOption(c.ctx, css("#many"), []string{"Number 999"}, nil)
		c.wantCode(err, executor.ErrBadArgs, "it has 300", "the nearest are", `"Number 99"`, `"Number 199"`)
		if n := len(err.Error()); n > 400 {
			c.Errorf("the error has %d bytes", n)
		}
		refused(c, "#none", executor.ErrBadArgs, []string{"One"}, "it has none")
		refused(c, "#off", executor.ErrNotActionable, []string{"One"}, "disabled")
	})
	s.page(t, "options loaded by a request", page, func(c *testCase) {
		c.eval("load('"+c.heldURL("options")+"')", nil)
		c.awaitRequest("options")
		selected := make(chan error, 1)
		go func() {
			selected <- errOf(c.page().SelectOption(c.ctx, css("#later"), []string{"Late"}, &executor.ActionOptions{Timeout: await.HangLimit}))
		}()
		for range 20 { // the call has time to find that the option is missing
			c.tabs()
		}
		c.release("options")
		if err := <-selected; err != nil {
			c.Fatal(err)
		}
		if r := c.await("change", "later"); r.Value != "late" && r.Value != "" {
			c.Errorf("changed to %q", r.Value)
		}
		c.wantValue("later.value", "late")
	})
	s.page(t, "select that depends on another", page, func(c *testCase) {
		do(c, css("#country"), "Norway")
		do(c, css("#city"), "Oslo")
		if r := c.await("change", "city"); r.Value != "oslo" {
			c.Errorf("changed to %q", r.Value)
		}
	})
	s.page(t, "select that reverts its value: reported", page, func(c *testCase) {
		sel := do(c, css("#jump"), "One")
		if r := c.await("change", "jump"); r.Value != "1" && r.Value != "" {
			c.Errorf("changed to %q", r.Value)
		}
		c.wantIn(sel.Note, "changed the selection")
	})
	s.page(t, "styled select with hidden native control", page, func(c *testCase) {
		for _, id := range []string{"dressed", "seethrough", "styled"} {
			want := map[string]string{"styled": "Two second"}[id]
			if want == "" {
				want = "Blue"
			}
			do(c, css("#"+id), want)
			c.await("change", id)
		}
		c.wantValue("dressed.value + seethrough.value + styled.value", "BlueBlue2")
	})
	s.page(t, "select in a cross-site frame and in a shadow root", page, func(c *testCase) {
		do(c, byRef(c.ref("combobox", "Across select")), "Two")
		if r := c.await("change", "acrossSelect"); r.Value != "2" {
			c.Errorf("changed to %q", r.Value)
		}
		do(c, css("#shaded"), "Two")
		c.await("change", "shaded")
	})
	s.page(t, "custom dropdown: error explains how to select", page, func(c *testCase) {
		refused(c, "#combo", executor.ErrBadArgs, []string{"First"}, "Combo", "not a <select>", "click")
		refused(c, "#list", executor.ErrBadArgs, []string{"First"}, "click", `option "First" [ref=e`)
		c.wantUntouched("first")
	})
}

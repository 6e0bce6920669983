package executortest

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// fillForms fills forms with difficult fields.
func (s *suite) fillForms(t *testing.T) {
	const page = "typing-forms.html"
	field := func(selector string, value any) executor.Field {
		return executor.Field{Target: css(selector), Value: value}
	}
	s.page(t, "all kinds of fields, one change event each, in order", page, func(c *testCase) {
		res := c.fill(&executor.FillOptions{Submit: css("#send")},
			field("#notes", "one\ntwo"), field("#name", "Ann"), field("#amount", "12.5"), field("#email", "ann@example.com"), field("#fast", true),
			field("#when", "2026-03-09T14:30"), field("#month", "2026-03"), field("#week", "2026-W11"), field("#terms", true))
		if want := []string{"#notes", "#name", "#amount", "#email", "#fast", "#when", "#month", "#week", "#terms"}; !slices.Equal(res.Filled, want) || !res.Submitted || res.Note != "" {
			c.Errorf("result %+v", res)
		}
		got, err := url.ParseQuery(c.await("submit", "form").Value)
		if err != nil {
			c.Fatal(err)
		}
		for name, want := range map[string]string{"notes": "one\ntwo", "name": "Ann", "amount": "12.5", "email": "ann@example.com", "speed": "2", "when": "2026-03-09T14:30", "month": "2026-03", "week": "2026-W11", "terms": "on"} {
			if got.Get(name) != want {
				c.Errorf("%s = %q, want %q", name, got.Get(name), want)
			}
		}
		c.wantValue("log.filter((r) => r.kind === 'change').map((r) => r.id).join()", "notes,name,amount,email,fast,when,terms")
		c.wantValue("log.filter((r) => r.kind === 'input').length", "2")
	})
	s.page(t, "by selector and by ref, submitted by ref", page, func(c *testCase) {
		snap := c.snap(nil)
		res := c.fill(&executor.FillOptions{Submit: byRef(c.refIn(snap, "button", "Send"))},
			executor.Field{Target: byRef(c.refIn(snap, "textbox", "Name")), Value: "Ann"}, field("#notes", "n"), executor.Field{Target: byRef(c.refIn(snap, "radio", "Fast")), Value: true},
			executor.Field{Target: byRef(c.refIn(snap, "checkbox", "I agree")), Value: true})
		c.wantIn(c.await("submit", "form").Value, "name=Ann", "notes=n", "speed=2", "terms=on")
		if len(res.Filled) != 4 || res.Filled[0][0] != 'e' {
			c.Errorf("filled %q", res.Filled)
		}
	})
	s.page(t, "radio button by value or label, through any member of its group", page, func(c *testCase) {
		for _, row := range []struct{ selector, give, want string }{{"#slow", "Fast", "2"}, {"#fast", "1", "1"}, {"#speed", "fast", "2"}, {"[name=speed]", "Slow", "1"}} {
			c.fill(nil, field(row.selector, row.give))
			c.wantValue("form.speed.value", row.want)
		}
		c.fill(nil, field("#colours", "Blue"))
		c.wantValue("colours.querySelector('[aria-checked=true]').textContent", "Blue")
		_, err := c.page().FillForm(c.ctx, []executor.Field{field("#slow", "Light")}, nil)
		c.wantCode(err, executor.ErrBadArgs, "Light", `"Slow"`, `"Fast"`)
		_, err = c.page().FillForm(c.ctx, []executor.Field{field("#slow", "Warp")}, nil)
		c.wantCode(err, executor.ErrNotActionable, "Warp", "disabled")
	})
	s.page(t, "tri-state checkbox; slow switch", page, func(c *testCase) {
		c.fill(nil, field("#mixed", false), field("#switch", true))
		c.wantValue("mixed.checked + ' ' + mixed.indeterminate + ' ' + document.querySelector('#switch').ariaChecked", "false false true")
		c.fill(nil, field("#mixed", true), field("#switch", true))
		c.wantValue("mixed.checked + ' ' + document.querySelector('#switch').ariaChecked", "true true")
	})
	s.page(t, "checkbox that does not change: error", page, func(c *testCase) {
		_, err := c.page().FillForm(c.ctx, []executor.Field{field("#name", "Ann"), field("#never", true)}, nil)
		c.wantCode(err, executor.ErrNotActionable, "#never", "is not checked", "filled before it: #name")
	})
	s.page(t, "field that appears after another is filled", page, func(c *testCase) {
		c.fill(nil, field("#kind", "Firm"), field("#firm", "Acme"))
		c.wantValue("firm.value", "Acme")
	})
	s.page(t, "fields in a cross-site frame", page, func(c *testCase) {
		snap := c.snap(nil)
		c.fill(nil, executor.Field{Target: byRef(c.refIn(snap, "textbox", "Across")), Value: "new"}, executor.Field{Target: byRef(c.refIn(snap, "checkbox", "Across check")), Value: true},
			executor.Field{Target: byRef(c.refIn(snap, "combobox", "Across select")), Value: "Two"}, field("#name", "Ann"))
		if r := c.await("input", "across"); r.Value != "new" {
			c.Errorf("its value is %q", r.Value)
		}
		c.await("change", "acrossCheck")
		c.await("change", "acrossSelect")
		c.wantValue("document.querySelector('#name').value", "Ann")
	})
	for _, f := range []struct {
		field executor.Field
		code  executor.Code
		says  string
	}{
		{field("#amount", "many"), executor.ErrNotActionable, "number"},
		{field("#amount", "2,5"), executor.ErrNotActionable, `"25"`},
		{field("#when", "2026-03-09"), executor.ErrBadArgs, "T14:30"},
		{field("#when", "yesterday"), executor.ErrBadArgs, "datetime-local"},
		{field("#reverted", "2026-03-09"), executor.ErrNotActionable, "empty"},
		{field("#name", true), executor.ErrBadArgs, "string"},
		{field("#name", []string{"a"}), executor.ErrBadArgs, "string"},
		{field("#terms", "yes"), executor.ErrBadArgs, "true or false"},
		{field("#kind", true), executor.ErrBadArgs, "string"},
		{field("#send", "x"), executor.ErrBadArgs, "not a form field"},
		{field("#more", "x"), executor.ErrBadArgs, `element "div#more" is not a form field`},
	} {
		s.page(t, "invalid value is rejected:"+f.field.Target.Selector+" "+quoted(f.field.Value), page, func(c *testCase) {
			_, err := c.page().FillForm(c.ctx, []executor.Field{field("#notes", "first"), f.field, field("#email", "never@example.com")}, &executor.FillOptions{Submit: css("#send")})
			c.wantCode(err, f.code, "field "+f.field.Target.Selector, f.says, "filled before it: #notes")
			c.wantValue("email.value + '/' + notes.value", "/first")
			c.wantUntouched("form")
		})
	}
	s.page(t, "invalid form is not submitted, note has the reason", page, func(c *testCase) {
		res := c.fill(&executor.FillOptions{Submit: css("#strictSend")}, field("#mail", "no address"))
		if res.Submitted {
			c.Error("the result reports a submission")
		}
		c.wantIn(res.Note, "not submitted", `textbox "Must"`, "fill", `textbox "Mail"`, "@")
		if n := strings.Count(res.Note, `textbox "Must"`); n != 1 {
			c.Errorf("the note names the field %d times: %s", n, res.Note)
		}
		c.wantIn(c.click(css("#strictSend"), nil).Note, "not submitted", `textbox "Must"`, `textbox "Mail"`)
		c.wantUntouched("strict")
		c.eval(`addEventListener("click", () => document.querySelector("#strict").checkValidity()); 0`, nil)
		c.wantNotIn(c.click(css("#name"), nil).Note, "invalid")
		res = c.fill(&executor.FillOptions{Submit: css("#strictSend")}, field("#mail", "a@b.c"), field("#must", "x"))
		if !res.Submitted || res.Note != "" {
			c.Errorf("result %+v", res)
		}
		c.await("submit", "strict")
	})
	s.page(t, "pattern mismatch blocks submit", page, func(c *testCase) {
		res := c.fill(&executor.FillOptions{Submit: css("#send")}, field("#code", "abc"), field("#name", "Ann"))
		c.wantIn(res.Note, "not submitted", `textbox "Code`, "format")
		c.wantUntouched("form")
	})
	s.page(t, "submit button enabled on blur of the last field", page, func(c *testCase) {
		c.fill(&executor.FillOptions{Submit: css("#shySend")}, field("#shyField", "x"))
		c.await("submit", "shy")
		c.wantValue("log.filter((r) => r.kind === 'change').length", "1")
	})
	s.page(t, "without submit, the last field retains the focus", page, func(c *testCase) {
		c.fill(nil, field("#notes", "n"), field("#goField", "lamps"))
		a := c.key("Enter", nil)
		c.wantIn(a.URL, "second.html?q=lamps")
	})
	s.page(t, "submit navigates: reported", page, func(c *testCase) {
		res := c.fill(&executor.FillOptions{Submit: css("#go")}, field("#goField", "lamps"))
		if !res.Submitted || res.Title != "Second" {
			c.Errorf("result %+v", res)
		}
		c.wantIn(res.URL, "second.html?q=lamps")
	})
	s.page(t, "first field is rejected: no other field was filled", page, func(c *testCase) {
		_, err := c.page().FillForm(c.ctx, []executor.Field{field("#amount", "many"), field("#notes", "x")}, nil)
		c.wantCode(err, executor.ErrNotActionable, "field #amount", "no other field was filled")
		c.wantValue("notes.value", "")
	})
	s.page(t, "disabled submit button: error names it and the filled fields", page, func(c *testCase) {
		_, err := c.page().FillForm(c.ctx, []executor.Field{field("#name", "Ann")}, &executor.FillOptions{Submit: css("#warp"), Timeout: neverTimeout})
		c.wantCode(err, executor.ErrNotActionable, "submit button", "disabled", "filled before it: #name")
	})
	s.page(t, "dialog stops filling: error names the field, the filled fields and the dialog", page, func(c *testCase) {
		_, err := c.page().FillForm(c.ctx, []executor.Field{field("#name", "Ann"), field("#warns", "x"), field("#email", "ann@example.com"), field("#notes", "n")}, nil)
		c.wantCode(err, executor.ErrDialogOpen, `alert dialog "Really?" is open`, "field #", "filled before it: #name", "Page.HandleDialog")
		c.answer(executor.DialogAlert, "Really?", executor.DialogAnswer{Accept: true})
	})
	s.page(t, "errors never contain secrets", page, func(c *testCase) {
		_, err := c.page().FillForm(c.ctx, []executor.Field{field("#secret", []string{"hunter2"})}, nil)
		c.wantCode(err, executor.ErrBadArgs, "#secret", "string")
		c.wantNotIn(err.Error(), "hunter2")
	})
}

// quoted returns a value as it appears in a case name.
func quoted(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "true", false: "false"}[v]
	}
	return "a list"
}

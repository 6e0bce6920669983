package inputsuite

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// fillForms fills forms with difficult fields.
func fillForms(s *suite.Runner, t *testing.T) {
	const page = "typing-forms.html"
	field := func(selector string, value any) executor.Field {
		return executor.Field{Target: suite.Selector(selector), Value: value}
	}
	s.Page(t, "all kinds of fields, one change event each, in order", page, func(c *suite.Case) {
		res := c.Fill(&executor.FillOptions{Submit: suite.Selector("#send")},
			field("#notes", "one\ntwo"), field("#name", "Ann"), field("#amount", "12.5"), field("#email", "ann@example.com"), field("#fast", true),
			field("#when", "2026-03-09T14:30"), field("#month", "2026-03"), field("#week", "2026-W11"), field("#terms", true))
		if want := []string{"#notes", "#name", "#amount", "#email", "#fast", "#when", "#month", "#week", "#terms"}; !slices.Equal(res.Filled, want) || !res.Submitted || res.Note != "" {
			c.Errorf("result %+v", res)
		}
		got, err := url.ParseQuery(c.Await("submit", "form").Value)
		if err != nil {
			c.Fatal(err)
		}
		for name, want := range map[string]string{"notes": "one\ntwo", "name": "Ann", "amount": "12.5", "email": "ann@example.com", "speed": "2", "when": "2026-03-09T14:30", "month": "2026-03", "week": "2026-W11", "terms": "on"} {
			if got.Get(name) != want {
				c.Errorf("%s = %q, want %q", name, got.Get(name), want)
			}
		}
		c.WantValue("log.filter((r) => r.kind === 'change').map((r) => r.id).join()", "notes,name,amount,email,fast,when,terms")
		c.WantValue("log.filter((r) => r.kind === 'input').length", "2")
	})
	s.Page(t, "by selector and by ref, submitted by ref", page, func(c *suite.Case) {
		snap := c.Snap(nil)
		res := c.Fill(&executor.FillOptions{Submit: suite.ByRef(c.RefIn(snap, "button", "Send"))},
			executor.Field{Target: suite.ByRef(c.RefIn(snap, "textbox", "Name")), Value: "Ann"}, field("#notes", "n"), executor.Field{Target: suite.ByRef(c.RefIn(snap, "radio", "Fast")), Value: true},
			executor.Field{Target: suite.ByRef(c.RefIn(snap, "checkbox", "I agree")), Value: true})
		c.WantIn(c.Await("submit", "form").Value, "name=Ann", "notes=n", "speed=2", "terms=on")
		if len(res.Filled) != 4 || res.Filled[0][0] != 'e' {
			c.Errorf("filled %q", res.Filled)
		}
	})
	s.Page(t, "radio button by value or label, through any member of its group", page, func(c *suite.Case) {
		for _, row := range []struct{ selector, give, want string }{{"#slow", "Fast", "2"}, {"#fast", "1", "1"}, {"#speed", "fast", "2"}, {"[name=speed]", "Slow", "1"}} {
			c.Fill(nil, field(row.selector, row.give))
			c.WantValue("form.speed.value", row.want)
		}
		c.Fill(nil, field("#colours", "Blue"))
		c.WantValue("colours.querySelector('[aria-checked=true]').textContent", "Blue")
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{field("#slow", "Light")}, nil)
		c.WantCode(err, executor.ErrBadArgs, "Light", `"Slow"`, `"Fast"`)
		_, err = c.Page().FillForm(c.Ctx, []executor.Field{field("#slow", "Warp")}, nil)
		c.WantCode(err, executor.ErrNotActionable, "Warp", "disabled")
	})
	s.Page(t, "tri-state checkbox; slow switch", page, func(c *suite.Case) {
		c.Fill(nil, field("#mixed", false), field("#switch", true))
		c.WantValue("mixed.checked + ' ' + mixed.indeterminate + ' ' + document.querySelector('#switch').ariaChecked", "false false true")
		c.Fill(nil, field("#mixed", true), field("#switch", true))
		c.WantValue("mixed.checked + ' ' + document.querySelector('#switch').ariaChecked", "true true")
	})
	s.Page(t, "checkbox that does not change: error", page, func(c *suite.Case) {
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{field("#name", "Ann"), field("#never", true)}, nil)
		c.WantCode(err, executor.ErrNotActionable, "#never", "is not checked", "filled before it: #name")
	})
	s.Page(t, "field that appears after another is filled", page, func(c *suite.Case) {
		c.Fill(nil, field("#kind", "Firm"), field("#firm", "Acme"))
		c.WantValue("firm.value", "Acme")
	})
	s.Page(t, "fields in a cross-site frame", page, func(c *suite.Case) {
		snap := c.Snap(nil)
		c.Fill(nil, executor.Field{Target: suite.ByRef(c.RefIn(snap, "textbox", "Across")), Value: "new"}, executor.Field{Target: suite.ByRef(c.RefIn(snap, "checkbox", "Across check")), Value: true},
			executor.Field{Target: suite.ByRef(c.RefIn(snap, "combobox", "Across select")), Value: "Two"}, field("#name", "Ann"))
		if r := c.Await("input", "across"); r.Value != "new" {
			c.Errorf("its value is %q", r.Value)
		}
		c.Await("change", "acrossCheck")
		c.Await("change", "acrossSelect")
		c.WantValue("document.querySelector('#name').value", "Ann")
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
		s.Page(t, "invalid value is rejected:"+f.field.Target.Selector+" "+quoted(f.field.Value), page, func(c *suite.Case) {
			_, err := c.Page().FillForm(c.Ctx, []executor.Field{field("#notes", "first"), f.field, field("#email", "never@example.com")}, &executor.FillOptions{Submit: suite.Selector("#send")})
			c.WantCode(err, f.code, "field "+f.field.Target.Selector, f.says, "filled before it: #notes")
			c.WantValue("email.value + '/' + notes.value", "/first")
			c.WantUntouched("form")
		})
	}
	s.Page(t, "invalid form is not submitted, note has the reason", page, func(c *suite.Case) {
		res := c.Fill(&executor.FillOptions{Submit: suite.Selector("#strictSend")}, field("#mail", "no address"))
		if res.Submitted {
			c.Error("the result reports a submission")
		}
		c.WantIn(res.Note, "not submitted", `textbox "Must"`, "fill", `textbox "Mail"`, "@")
		if n := strings.Count(res.Note, `textbox "Must"`); n != 1 {
			c.Errorf("the note names the field %d times: %s", n, res.Note)
		}
		c.WantIn(c.Click(suite.Selector("#strictSend"), nil).Note, "not submitted", `textbox "Must"`, `textbox "Mail"`)
		c.WantUntouched("strict")
		c.Eval(`addEventListener("click", () => document.querySelector("#strict").checkValidity()); 0`, nil)
		c.WantNotIn(c.Click(suite.Selector("#name"), nil).Note, "invalid")
		res = c.Fill(&executor.FillOptions{Submit: suite.Selector("#strictSend")}, field("#mail", "a@b.c"), field("#must", "x"))
		if !res.Submitted || res.Note != "" {
			c.Errorf("result %+v", res)
		}
		c.Await("submit", "strict")
	})
	s.Page(t, "pattern mismatch blocks submit", page, func(c *suite.Case) {
		res := c.Fill(&executor.FillOptions{Submit: suite.Selector("#send")}, field("#code", "abc"), field("#name", "Ann"))
		c.WantIn(res.Note, "not submitted", `textbox "Code`, "format")
		c.WantUntouched("form")
	})
	s.Page(t, "submit button enabled on blur of the last field", page, func(c *suite.Case) {
		c.Fill(&executor.FillOptions{Submit: suite.Selector("#shySend")}, field("#shyField", "x"))
		c.Await("submit", "shy")
		c.WantValue("log.filter((r) => r.kind === 'change').length", "1")
	})
	s.Page(t, "without submit, the last field retains the focus", page, func(c *suite.Case) {
		c.Fill(nil, field("#notes", "n"), field("#goField", "lamps"))
		a := c.Key("Enter", nil)
		c.WantIn(a.URL, "second.html?q=lamps")
	})
	s.Page(t, "submit navigates: reported", page, func(c *suite.Case) {
		res := c.Fill(&executor.FillOptions{Submit: suite.Selector("#go")}, field("#goField", "lamps"))
		if !res.Submitted || res.Title != "Second" {
			c.Errorf("result %+v", res)
		}
		c.WantIn(res.URL, "second.html?q=lamps")
	})
	s.Page(t, "first field is rejected: no other field was filled", page, func(c *suite.Case) {
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{field("#amount", "many"), field("#notes", "x")}, nil)
		c.WantCode(err, executor.ErrNotActionable, "field #amount", "no other field was filled")
		c.WantValue("notes.value", "")
	})
	s.Page(t, "disabled submit button: error names it and the filled fields", page, func(c *suite.Case) {
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{field("#name", "Ann")}, &executor.FillOptions{Submit: suite.Selector("#warp"), Timeout: suite.NeverTimeout})
		c.WantCode(err, executor.ErrNotActionable, "submit button", "disabled", "filled before it: #name")
	})
	s.Page(t, "dialog stops filling: error names the field, the filled fields and the dialog", page, func(c *suite.Case) {
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{field("#name", "Ann"), field("#warns", "x"), field("#email", "ann@example.com"), field("#notes", "n")}, nil)
		c.WantCode(err, executor.ErrDialogOpen, `alert dialog "Really?" is open`, "field #", "filled before it: #name", "Page.HandleDialog")
		c.Answer(executor.DialogAlert, "Really?", executor.DialogAnswer{Accept: true})
	})
	s.Page(t, "errors never contain secrets", page, func(c *suite.Case) {
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{field("#secret", []string{"hunter2"})}, nil)
		c.WantCode(err, executor.ErrBadArgs, "#secret", "string")
		c.WantNotIn(err.Error(), "hunter2")
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

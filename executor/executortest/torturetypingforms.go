package executortest

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// tortureForms fills forms whose fields do not make it easy.
func (s *suite) tortureForms(t *testing.T) {
	const page = "typing-forms.html"
	field := func(selector string, value any) executor.Field {
		return executor.Field{Target: css(selector), Value: value}
	}
	fill := func(c *scene, opts *executor.FillOptions, fields ...executor.Field) *executor.FillResult {
		c.Helper()
		res, err := c.exec.FillForm(c.ctx, c.tab, fields, opts)
		if err != nil {
			c.Fatal(err)
		}
		return res
	}
	s.page(t, "all kinds, each change told once, in the order given", page, func(c *scene) {
		res := fill(c, &executor.FillOptions{Submit: css("#send")},
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
	s.page(t, "by selector and by ref, and sent by ref", page, func(c *scene) {
		snap := c.snap(nil)
		res := fill(c, &executor.FillOptions{Submit: byRef(c.refIn(snap, "button", "Send"))},
			executor.Field{Target: byRef(c.refIn(snap, "textbox", "Name")), Value: "Ann"}, field("#notes", "n"), executor.Field{Target: byRef(c.refIn(snap, "radio", "Fast")), Value: true},
			executor.Field{Target: byRef(c.refIn(snap, "checkbox", "I agree")), Value: true})
		c.wantIn(c.await("submit", "form").Value, "name=Ann", "notes=n", "speed=2", "terms=on")
		if len(res.Filled) != 4 || res.Filled[0][0] != 'e' {
			c.Errorf("filled %q", res.Filled)
		}
	})
	s.page(t, "a radio button by its value or label, through any of its group", page, func(c *scene) {
		for _, row := range []struct{ selector, give, want string }{{"#slow", "Fast", "2"}, {"#fast", "1", "1"}, {"#speed", "fast", "2"}, {"[name=speed]", "Slow", "1"}} {
			fill(c, nil, field(row.selector, row.give))
			c.wantValue("form.speed.value", row.want)
		}
		fill(c, nil, field("#colours", "Blue"))
		c.wantValue("colours.querySelector('[aria-checked=true]').textContent", "Blue")
		_, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{field("#slow", "Light")}, nil)
		c.wantCode(err, executor.ErrBadArgs, "Light", `"Slow"`, `"Fast"`)
		_, err = c.exec.FillForm(c.ctx, c.tab, []executor.Field{field("#slow", "Warp")}, nil)
		c.wantCode(err, executor.ErrNotActionable, "Warp", "disabled")
	})
	s.page(t, "a checkbox of three states, and a switch that takes its time", page, func(c *scene) {
		fill(c, nil, field("#mixed", false), field("#switch", true))
		c.wantValue("mixed.checked + ' ' + mixed.indeterminate + ' ' + document.querySelector('#switch').ariaChecked", "false false true")
		fill(c, nil, field("#mixed", true), field("#switch", true))
		c.wantValue("mixed.checked + ' ' + document.querySelector('#switch').ariaChecked", "true true")
	})
	s.page(t, "a checkbox that does not change is an error", page, func(c *scene) {
		_, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{field("#name", "Ann"), field("#never", true)}, nil)
		c.wantCode(err, executor.ErrNotActionable, "#never", "is not checked", "filled before it: #name")
	})
	s.page(t, "a field that appears once another is filled", page, func(c *scene) {
		fill(c, &executor.FillOptions{Timeout: 20 * time.Second}, field("#kind", "Firm"), field("#firm", "Acme"))
		c.wantValue("firm.value", "Acme")
	})
	s.page(t, "fields in the frame of another site", page, func(c *scene) {
		snap := c.snap(nil)
		fill(c, nil, executor.Field{Target: byRef(c.refIn(snap, "textbox", "Across")), Value: "new"}, executor.Field{Target: byRef(c.refIn(snap, "checkbox", "Across check")), Value: true},
			executor.Field{Target: byRef(c.refIn(snap, "combobox", "Across select")), Value: "Two"}, field("#name", "Ann"))
		if r := c.await("input", "across"); r.Value != "new" {
			c.Errorf("it holds %q", r.Value)
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
		s.page(t, "a value that does not fit is refused and named: "+f.field.Target.Selector+" "+quoted(f.field.Value), page, func(c *scene) {
			_, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{field("#notes", "first"), f.field, field("#email", "never@example.com")}, &executor.FillOptions{Submit: css("#send")})
			c.wantCode(err, f.code, "field "+f.field.Target.Selector, f.says, "filled before it: #notes")
			c.wantValue("email.value + '/' + notes.value", "/first")
			c.wantUntouched("form")
		})
	}
	s.page(t, "a form that the browser finds invalid is not sent, and why", page, func(c *scene) {
		res := fill(c, &executor.FillOptions{Submit: css("#strictSend")}, field("#mail", "no address"))
		if res.Submitted {
			c.Error("it says that it was submitted")
		}
		c.wantIn(res.Note, "not sent", `textbox "Must"`, "fill", `textbox "Mail"`, "@")
		if n := strings.Count(res.Note, `textbox "Must"`); n != 1 {
			c.Errorf("the note names the field %d times: %s", n, res.Note)
		}
		c.wantIn(c.click(css("#strictSend"), nil).Note, "not sent", `textbox "Must"`, `textbox "Mail"`)
		c.wantUntouched("strict")
		c.eval(`addEventListener("click", () => document.querySelector("#strict").checkValidity()); 0`, nil)
		c.wantNotIn(c.click(css("#name"), nil).Note, "invalid")
		res = fill(c, &executor.FillOptions{Submit: css("#strictSend")}, field("#mail", "a@b.c"), field("#must", "x"))
		if !res.Submitted || res.Note != "" {
			c.Errorf("result %+v", res)
		}
		c.await("submit", "strict")
	})
	s.page(t, "a value that has not the field's pattern keeps the form back", page, func(c *scene) {
		res := fill(c, &executor.FillOptions{Submit: css("#send")}, field("#code", "abc"), field("#name", "Ann"))
		c.wantIn(res.Note, "not sent", `textbox "Code`, "format")
		c.wantUntouched("form")
	})
	s.page(t, "a button that is there for a form whose last field was left", page, func(c *scene) {
		start := time.Now()
		fill(c, &executor.FillOptions{Submit: css("#shySend")}, field("#shyField", "x"))
		c.await("submit", "shy")
		c.wantValue("log.filter((r) => r.kind === 'change').length", "1")
		if took := time.Since(start); took > 10*time.Second {
			c.Errorf("it took %v", took)
		}
	})
	s.page(t, "the last field keeps the focus when nothing is sent", page, func(c *scene) {
		fill(c, nil, field("#notes", "n"), field("#goField", "lamps"))
		a := c.key("Enter", nil)
		c.wantIn(a.URL, "second.html?q=lamps")
	})
	s.page(t, "sending leads to another page, and it is told", page, func(c *scene) {
		res := fill(c, &executor.FillOptions{Submit: css("#go")}, field("#goField", "lamps"))
		if !res.Submitted || res.Title != "Second" {
			c.Errorf("result %+v", res)
		}
		c.wantIn(res.URL, "second.html?q=lamps")
	})
	s.page(t, "a button that cannot be pressed is named, with what was filled", page, func(c *scene) {
		_, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{field("#name", "Ann")}, &executor.FillOptions{Submit: css("#warp"), Timeout: time.Second})
		c.wantCode(err, executor.ErrNotActionable, "submit button", "disabled", "filled before it: #name")
	})
	s.page(t, "a dialog ends it: the field is named, with what was filled and what the dialog says", page, func(c *scene) {
		_, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{field("#name", "Ann"), field("#warns", "x"), field("#email", "ann@example.com"), field("#notes", "n")}, nil)
		c.wantCode(err, executor.ErrDialogOpen, `alert dialog "Really?" is open`, "field #", "filled before it: #name", "handle_dialog")
		c.answer(executor.DialogAlert, "Really?", executor.DialogAnswer{Accept: true})
	})
	s.page(t, "a secret is told by no error", page, func(c *scene) {
		_, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{field("#secret", []string{"hunter2"})}, nil)
		c.wantCode(err, executor.ErrBadArgs, "#secret", "string")
		c.wantNotIn(err.Error(), "hunter2")
	})
}

// quoted is a value as the name of a case has it.
func quoted(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "true", false: "false"}[v]
	}
	return "a list"
}

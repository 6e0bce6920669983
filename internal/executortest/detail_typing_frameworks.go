package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// typingFrameworks types into controlled fields of real frameworks, whose state is the source of
// truth.
func (s *suite) typingFrameworks(t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	const react, vue = "typing-react.html", "typing-vue.html"
	holds := func(c *testCase, id, want string) {
		c.Helper()
		c.wantValue("state."+id+" + ' / ' + document.querySelector('#"+id+"').value", want+" / "+want)
	}
	s.page(t, "React: controlled state follows typing", react, func(c *testCase) {
		c.typeInto("#name", "Ann", nil)
		holds(c, "name", "Ann")
		c.wantValue("changes.name", "1")
		c.typeInto("#name", " Lee", keys)
		holds(c, "name", "Ann Lee")
		c.wantValue("changes.name", "5")
		c.typeInto("#name", "Bob", clearing)
		holds(c, "name", "Bob")
		c.typeInto("#name", "", clearing)
		holds(c, "name", "")
	})
	s.page(t, "React: changed text is reported", react, func(c *testCase) {
		c.wantIn(c.typeInto("#upper", "ann", nil).Note, `"ANN"`)
		holds(c, "upper", "ANN")
		c.wantIn(c.typeInto("#digits", "12ab34", keys).Note, `"1234"`)
		c.typeInto("#phone", "123456789", keys)
		holds(c, "phone", "123 456 789")
		c.typeInto("#phone", "987654321", clearing)
		holds(c, "phone", "987 654 321")
		c.wantIn(c.typeInto("#stuck", "x", nil).Note, "rejected the text", `"stuck"`)
	})
	s.page(t, "React: select and checkbox state", react, func(c *testCase) {
		for _, f := range []struct{ id, text string }{{"notes", "one\ntwo"}, {"secret", "hunter2"}, {"amount", "12.5"}, {"day", "2026-03-09"}, {"range", "7"}, {"color", "#ff8800"}} {
			c.typeInto("#"+f.id, f.text, clearing)
			holds(c, f.id, f.text)
			c.wantValue("changes."+f.id, "1")
		}
	})
	s.page(t, "React: form filled and submitted", react, func(c *testCase) {
		_, err := c.page().FillForm(c.ctx, []executor.Field{
			{Target: css("#name"), Value: "Ann"}, {Target: css("#phone"), Value: "123456789"}, {Target: css("#notes"), Value: "hi"}, {Target: css("#day"), Value: "2026-03-09"},
			{Target: css("#agree"), Value: true}, {Target: css("#size-m"), Value: true}, {Target: css("#one"), Value: "Option b"}, {Target: css("#many"), Value: []string{"b", "c"}},
		}, &executor.FillOptions{Submit: css("#send")})
		if err != nil {
			c.Fatal(err)
		}
		c.wantIn(c.await("submit", "form").Value, `"name":"Ann"`, `"phone":"123 456 789"`, `"notes":"hi"`, `"day":"2026-03-09"`, `"agree":true`, `"radios":"m"`, `"one":"b"`, `"many":["b","c"]`)
		c.wantValue("JSON.stringify([changes.name, changes.agree, changes.radios, changes.one, changes.many, changes.day])", "[1,1,1,1,1,1]")
	})
	s.page(t, "React: rejected value in a form names the field", react, func(c *testCase) {
		_, err := c.page().FillForm(c.ctx, []executor.Field{{Target: css("#name"), Value: "Ann"}, {Target: css("#stuck"), Value: "free"}, {Target: css("#notes"), Value: "never"}}, nil)
		c.wantCode(err, executor.ErrNotActionable, "#stuck", "filled before it: #name")
		c.wantValue("state.notes", "")
	})
	s.page(t, "React: replaced field", react, func(c *testCase) {
		for _, o := range []*executor.TypeOptions{nil, keys} {
			if note := c.typeInto("#swapped", "word", o).Note; note != "" {
				c.Errorf("note %q", note)
			}
		}
		holds(c, "swapped", "wordword")
	})
	s.page(t, "autocomplete list selected by keys", react, func(c *testCase) {
		c.snap(nil)
		a := c.typeInto("#combo", "o", nil)
		c.wantIn(a.Diff, `option "Oslo"`, `option "Odda"`)
		c.key("ArrowDown", nil)
		c.key("ArrowDown", nil)
		c.key("Enter", nil)
		holds(c, "combo", "Odda")
		c.wantValue("log.some((r) => r.kind === 'submit')", "false")
	})
	s.page(t, "Vue: state follows typing", vue, func(c *testCase) {
		for _, f := range []struct{ id, text string }{{"name", "Ann"}, {"amount", "12.5"}, {"notes", "one\ntwo"}, {"day", "2026-03-09"}} {
			c.typeInto("#"+f.id, f.text, nil)
			holds(c, f.id, f.text)
		}
		c.typeInto("#name", "你好", keys)
		holds(c, "name", "Ann你好")
		c.wantIn(c.typeInto("#upper", "ann", nil).Note, `"ANN"`)
		holds(c, "upper", "ANN")
	})
	s.page(t, "Vue: form filled and submitted", vue, func(c *testCase) {
		_, err := c.page().FillForm(c.ctx, []executor.Field{
			{Target: css("#name"), Value: "Ann"}, {Target: css("#trimmed"), Value: "x"}, {Target: css("#agree"), Value: true}, {Target: css("#size-m"), Value: true}, {Target: css("#one"), Value: "Option b"},
			{Target: css("#many"), Value: []string{"b", "c"}}, {Target: css("#day"), Value: "2026-03-09"}, {Target: css("#lazy"), Value: "late"},
		}, &executor.FillOptions{Submit: css("#send")})
		if err != nil {
			c.Fatal(err)
		}
		c.wantIn(c.await("submit", "form").Value, `"name":"Ann"`, `"trimmed":"x"`, `"agree":true`, `"size":"m"`, `"one":"b"`, `"many":["b","c"]`, `"day":"2026-03-09"`, `"lazy":"late"`)
	})
}

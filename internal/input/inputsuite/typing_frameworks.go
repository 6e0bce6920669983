package inputsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// typingFrameworks types into controlled fields of real frameworks, whose state is the source of
// truth.
func typingFrameworks(s *suite.Runner, t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	const react, vue = "typing-react.html", "typing-vue.html"
	holds := func(c *suite.Case, id, want string) {
		c.Helper()
		c.WantValue("state."+id+" + ' / ' + document.querySelector('#"+id+"').value", want+" / "+want)
	}
	s.Page(t, "React: controlled state follows typing", react, func(c *suite.Case) {
		c.TypeInto("#name", "Ann", nil)
		holds(c, "name", "Ann")
		c.WantValue("changes.name", "1")
		c.TypeInto("#name", " Lee", keys)
		holds(c, "name", "Ann Lee")
		c.WantValue("changes.name", "5")
		c.TypeInto("#name", "Bob", clearing)
		holds(c, "name", "Bob")
		c.TypeInto("#name", "", clearing)
		holds(c, "name", "")
	})
	s.Page(t, "React: changed text is reported", react, func(c *suite.Case) {
		c.WantIn(c.TypeInto("#upper", "ann", nil).Note, `"ANN"`)
		holds(c, "upper", "ANN")
		c.WantIn(c.TypeInto("#digits", "12ab34", keys).Note, `"1234"`)
		c.TypeInto("#phone", "123456789", keys)
		holds(c, "phone", "123 456 789")
		c.TypeInto("#phone", "987654321", clearing)
		holds(c, "phone", "987 654 321")
		c.WantIn(c.TypeInto("#stuck", "x", nil).Note, "rejected the text", `"stuck"`)
	})
	s.Page(t, "React: select and checkbox state", react, func(c *suite.Case) {
		for _, f := range []struct{ id, text string }{{"notes", "one\ntwo"}, {"secret", "hunter2"}, {"amount", "12.5"}, {"day", "2026-03-09"}, {"range", "7"}, {"color", "#ff8800"}} {
			c.TypeInto("#"+f.id, f.text, clearing)
			holds(c, f.id, f.text)
			c.WantValue("changes."+f.id, "1")
		}
	})
	s.Page(t, "React: form filled and submitted", react, func(c *suite.Case) {
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{
			{Target: suite.Selector("#name"), Value: "Ann"}, {Target: suite.Selector("#phone"), Value: "123456789"}, {Target: suite.Selector("#notes"), Value: "hi"}, {Target: suite.Selector("#day"), Value: "2026-03-09"},
			{Target: suite.Selector("#agree"), Value: true}, {Target: suite.Selector("#size-m"), Value: true}, {Target: suite.Selector("#one"), Value: "Option b"}, {Target: suite.Selector("#many"), Value: []string{"b", "c"}},
		}, &executor.FillOptions{Submit: suite.Selector("#send")})
		if err != nil {
			c.Fatal(err)
		}
		c.WantIn(c.Await("submit", "form").Value, `"name":"Ann"`, `"phone":"123 456 789"`, `"notes":"hi"`, `"day":"2026-03-09"`, `"agree":true`, `"radios":"m"`, `"one":"b"`, `"many":["b","c"]`)
		c.WantValue("JSON.stringify([changes.name, changes.agree, changes.radios, changes.one, changes.many, changes.day])", "[1,1,1,1,1,1]")
	})
	s.Page(t, "React: rejected value in a form names the field", react, func(c *suite.Case) {
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#name"), Value: "Ann"}, {Target: suite.Selector("#stuck"), Value: "free"}, {Target: suite.Selector("#notes"), Value: "never"}}, nil)
		c.WantCode(err, executor.ErrNotActionable, "#stuck", "filled before it: #name")
		c.WantValue("state.notes", "")
	})
	s.Page(t, "React: replaced field", react, func(c *suite.Case) {
		for _, o := range []*executor.TypeOptions{nil, keys} {
			if note := c.TypeInto("#swapped", "word", o).Note; note != "" {
				c.Errorf("note %q", note)
			}
		}
		holds(c, "swapped", "wordword")
	})
	s.Page(t, "autocomplete list selected by keys", react, func(c *suite.Case) {
		c.Snap(nil)
		a := c.TypeInto("#combo", "o", nil)
		c.WantIn(a.Diff, `option "Oslo"`, `option "Odda"`)
		c.Key("ArrowDown", nil)
		c.Key("ArrowDown", nil)
		c.Key("Enter", nil)
		holds(c, "combo", "Odda")
		c.WantValue("log.some((r) => r.kind === 'submit')", "false")
	})
	s.Page(t, "Vue: state follows typing", vue, func(c *suite.Case) {
		for _, f := range []struct{ id, text string }{{"name", "Ann"}, {"amount", "12.5"}, {"notes", "one\ntwo"}, {"day", "2026-03-09"}} {
			c.TypeInto("#"+f.id, f.text, nil)
			holds(c, f.id, f.text)
		}
		c.TypeInto("#name", "你好", keys)
		holds(c, "name", "Ann你好")
		c.WantIn(c.TypeInto("#upper", "ann", nil).Note, `"ANN"`)
		holds(c, "upper", "ANN")
	})
	s.Page(t, "Vue: form filled and submitted", vue, func(c *suite.Case) {
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{
			{Target: suite.Selector("#name"), Value: "Ann"}, {Target: suite.Selector("#trimmed"), Value: "x"}, {Target: suite.Selector("#agree"), Value: true}, {Target: suite.Selector("#size-m"), Value: true}, {Target: suite.Selector("#one"), Value: "Option b"},
			{Target: suite.Selector("#many"), Value: []string{"b", "c"}}, {Target: suite.Selector("#day"), Value: "2026-03-09"}, {Target: suite.Selector("#lazy"), Value: "late"},
		}, &executor.FillOptions{Submit: suite.Selector("#send")})
		if err != nil {
			c.Fatal(err)
		}
		c.WantIn(c.Await("submit", "form").Value, `"name":"Ann"`, `"trimmed":"x"`, `"agree":true`, `"size":"m"`, `"one":"b"`, `"many":["b","c"]`, `"day":"2026-03-09"`, `"lazy":"late"`)
	})
}

package inputsuite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// typingFields types into fields of every kind, and into elements that are not fields.
func typingFields(s *suite.Runner, t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	s.Page(t, "all kinds of text inputs", "typing-fields.html", func(c *suite.Case) {
		for _, f := range []struct{ id, text, want string }{
			{"text", "Ann", "Ann"}, {"search", "lamp", "lamp"}, {"email", "x.org", "ann@x.org"}, {"url", "http://x.org/?q=1#a", "http://x.org/?q=1#a"},
			{"tel", "+47 22 22 55 55", "+47 22 22 55 55"}, {"password", "S3cret!", "S3cret!"}, {"area", "one", "one"}, {"number", ".25", "7.25"}, {"listed", "An", "An"},
		} {
			c.TypeInto("#"+f.id, f.text, nil)
			c.WantValue("document.querySelector('#"+f.id+"').value", f.want)
		}
	})
	s.Page(t, "number inputs: clear, negative, steps, invalid", "typing-fields.html", func(c *suite.Case) {
		c.TypeInto("#number", "-12.5", clearing)
		c.WantValue("number.value", "-12.5")
		c.TypeInto("#number", "1e3", &executor.TypeOptions{Clear: true, KeyEvents: true})
		c.WantValue("number.value", "1e3")
		_, err := c.Page().Type(c.Ctx, suite.Selector("#number"), "1-2", clearing)
		c.WantCode(err, executor.ErrNotActionable, "not a number")
		c.WantValue("number.value + number.validity.badInput", "1e3false")
		c.TypeInto("#number", "", clearing)
		c.WantValue("number.value + number.validity.badInput", "false")
	})
	s.Page(t, "date, time and color inputs", "typing-fields.html", func(c *suite.Case) {
		for _, f := range []struct{ id, text, want string }{
			{"date", "2026-03-09", "2026-03-09"}, {"time", "14:30", "14:30"}, {"when", "2026-03-09T14:30", "2026-03-09T14:30"}, {"when", "2027-03-09 15:30", "2027-03-09T15:30"},
			{"month", "2026-03", "2026-03"}, {"week", "2026-W11", "2026-W11"}, {"range", "0.75", "0.75"}, {"color", "#FF8800", "#ff8800"}, {"date", "", ""},
		} {
			c.TypeInto("#"+f.id, f.text, nil)
			c.WantValue("document.querySelector('#"+f.id+"').value", f.want)
		}
		if r := c.Await("change", "date"); r.Value != "2026-03-09" {
			c.Errorf("the change was to %q", r.Value)
		}
	})
	s.Page(t, "invalid picker value: error names the format", "typing-fields.html", func(c *suite.Case) {
		for _, f := range []struct{ id, text, says string }{
			{"date", "9.3.2026", "2026-11-21"}, {"date", "2025-03-09", "from 2026-01-01"}, {"date", "2026-02-30", "date"}, {"time", "half past two", "14:30"}, {"when", "2026-03-09", "T14:30"},
			{"month", "March", "2026-11"}, {"week", "11", "2026-W47"}, {"range", "0.3", "steps of 0.25"}, {"range", "2", "from 0 to 1"}, {"color", "reddish", "#33aaff"}, {"even", "2026-01-02", "steps of 2"},
		} {
			_, err := c.Page().Type(c.Ctx, suite.Selector("#"+f.id), f.text, nil)
			c.WantCode(err, executor.ErrBadArgs, f.says)
		}
		c.WantValue("[date, time, when, month, week, even].map((f) => f.value).join('')", "")
		c.WantUntouched("date")
	})
	s.Page(t, "non-text control: error names the right tool", "typing-fields.html", func(c *suite.Case) {
		for id, says := range map[string]string{"check": "click", "radio": "Page.FillForm", "select": "Page.SelectOption", "file": "file", "button": "click"} {
			_, err := c.Page().Type(c.Ctx, suite.Selector("#"+id), "x", &executor.TypeOptions{Timeout: suite.NeverTimeout})
			c.WantCode(err, executor.ErrNotActionable, says)
		}
	})
	s.Page(t, "click that opens a file chooser: reported", "typing-fields.html", func(c *suite.Case) {
		for _, selector := range []string{"#file", "#asks"} {
			a, err := c.Page().Click(c.Ctx, suite.Selector(selector), nil)
			if err != nil || !strings.Contains(a.Note, "no file was provided") {
				c.Errorf("%s: %q, %v", selector, a.Note, err)
			}
		}
		if a, err := c.Page().Press(c.Ctx, "Enter", nil); err != nil || !strings.Contains(a.Note, "no file was provided") {
			c.Errorf("Enter: %q, %v", a.Note, err)
		}
		c.WantValue("file.files.length", "0")
	})
	s.Page(t, "label, wrapper or component as the target of a field", "typing-fields.html", func(c *suite.Case) {
		for selector, field := range map[string]string{"#labelled": "byLabel", "#wrapper": "inWrapper", "#box": "box.shadowRoot.querySelector('input')"} {
			c.TypeInto(selector, "Ann", nil)
			c.WantValue(field+".value", "Ann")
		}
	})
	s.Page(t, "field in a closed shadow root", "typing-fields.html", func(c *suite.Case) {
		c.Must(c.Page().Type(c.Ctx, suite.ByRef(c.Ref("textbox", "In the shut box")), "Ann", nil))
		if r := c.Await("input", "inShut"); r.Value != "Ann" {
			c.Errorf("its value is %q", r.Value)
		}
	})
	// The family is one grapheme of seven code points, the flag one of two.
	const script = "né e\u0301 你好 こんにちは 안녕 שלום العربية 👨‍👩‍👧‍👦🇳🇴 𝒳 ไทย"
	s.Page(t, "emoji, combining marks, CJK and right-to-left text", "typing-fields.html", func(c *suite.Case) {
		for _, selector := range []string{"#text", "#area", "#rich"} {
			c.TypeInto(selector, script, clearing)
			c.WantValue("text.value || ''", script)
			c.TypeInto(selector, script, &executor.TypeOptions{Clear: true, KeyEvents: true})
		}
		c.WantValue("area.value", script)
		c.WantValue("rich.innerText", script)
	})
	s.Page(t, "line breaks and tabs", "typing-fields.html", func(c *suite.Case) {
		for _, o := range []*executor.TypeOptions{clearing, {Clear: true, KeyEvents: true}} {
			c.TypeInto("#area", "one\r\ntwo\n\n\tfour\n", o)
			c.WantValue("JSON.stringify(area.value)", `"one\ntwo\n\n\tfour\n"`)
			c.TypeInto("#rich", "one\ntwo\nthree", o)
			c.WantValue("JSON.stringify(rich.innerText)", `"one\ntwo\nthree"`)
			c.TypeInto("#query", "one\ntwo", o)
			c.WantValue("query.value", "one two")
		}
		c.WantUntouched("form")
		c.WantUntouched("other")
	})
	s.Page(t, "100 KB of text", "typing-fields.html", func(c *suite.Case) {
		text := strings.Repeat("All work and no play makes Jack a dull boy.\n", 2400)
		c.TypeInto("#long", text, nil)
		c.WantValue("long.value.length", fmt.Sprint(len(text)))
		line := strings.ReplaceAll(text, "\n", " ")
		c.TypeInto("#tel", line, nil)
		c.WantValue("tel.value.length", fmt.Sprint(len(line)))
		c.TypeInto("#rich", line, clearing)
		c.WantValue("rich.innerText.length", fmt.Sprint(len(line)))
	})
	s.Page(t, "text is appended regardless of the caret", "typing-fields.html", func(c *suite.Case) {
		c.Eval("filled.focus(), filled.setSelectionRange(3, 3)", nil)
		c.TypeInto("#filled", " four", nil)
		c.WantValue("filled.value", "one two three four")
	})
	s.Page(t, "selection in the focused field is replaced", "typing-fields.html", func(c *suite.Case) {
		c.Eval("filled.focus(), filled.setSelectionRange(4, 7)", nil)
		if note := c.TypeInto("#filled", "2", nil).Note; note != "" {
			c.Errorf("note %q", note)
		}
		c.WantValue("filled.value", "one 2 three")
		c.Key("Control+a", nil)
		c.TypeInto("#filled", "all new", keys)
		c.WantValue("filled.value", "all new")
	})
	s.Page(t, "text longer than maxlength: rejected", "typing-fields.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#five"), "1234567", nil)
		c.WantCode(err, executor.ErrNotActionable, `at most 5 characters`, `"12345"`)
		c.TypeInto("#five", "abc", nil)
		_, err = c.Page().Type(c.Ctx, suite.Selector("#five"), "ab👍👍", clearing)
		c.WantCode(err, executor.ErrNotActionable, `at most 5`)
		c.WantValue("five.value", "abc")
	})
	s.Page(t, "notes and errors never contain secrets", "typing-fields.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#pin"), "987654", nil)
		c.WantCode(err, executor.ErrNotActionable, "at most 4")
		c.WantNotIn(err.Error(), "9876", "987654")
		c.Snap(nil)
		a := c.TypeInto("#password", "hunter2", nil)
		c.WantNotIn(a.Note+a.Diff, "hunter2")
		if r := c.Await("input", "password"); r.Value != "hunter2" {
			c.Errorf("its value is %q", r.Value)
		}
		_, err = c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#pin"), Value: "987654"}}, nil)
		c.WantCode(err, executor.ErrNotActionable, "#pin", "at most 4")
		c.WantNotIn(err.Error(), "9876")
	})
	for _, f := range []struct{ id, says, holds string }{
		{"fixed", "read-only", "fixed"}, {"fixedArea", "read-only", "fixed"}, {"fixedRich", "read-only", "fixed"}, {"off", "disabled", ""}, {"inert", "inert", ""},
	} {
		s.Page(t, "error names the state that prevents typing: "+f.id, "typing-fields.html", func(c *suite.Case) {
			_, err := c.Page().Type(c.Ctx, suite.Selector("#"+f.id), "x", nil)
			c.WantCode(err, executor.ErrNotActionable, f.says)
			c.WantValue("document.querySelector('#"+f.id+"').value ?? fixedRich.innerText", f.holds)
		})
	}
	s.Page(t, "pressEnter submits the form once", "typing-fields.html", func(c *suite.Case) {
		c.TypeInto("#query", "lamps", &executor.TypeOptions{PressEnter: true})
		if r := c.Await("submit", "form"); r.Value != "lamps" {
			c.Errorf("submitted %q", r.Value)
		}
		c.WantValue("log.filter((r) => r.kind === 'submit').length + ' ' + log.filter((r) => r.kind === 'keydown' && r.id === 'query').length", "1 1")
	})
	s.Page(t, "pressEnter inserts one line break", "typing-fields.html", func(c *suite.Case) {
		c.TypeInto("#area", "a", &executor.TypeOptions{PressEnter: true})
		c.TypeInto("#rich", "a", &executor.TypeOptions{PressEnter: true, Clear: true})
		c.Key("b", nil)
		c.WantValue("JSON.stringify(area.value)", `"a\n"`)
		c.WantValue("JSON.stringify(rich.innerText)", `"a\nb"`)
	})
	s.Page(t, "key events have all properties", "typing-fields.html", func(c *suite.Case) {
		c.TypeInto("#keys", "aB1! ;", keys)
		c.WantValue("keys.value", "aB1! ;")
		for _, want := range []string{
			"keydown a KeyA 65,keypress a KeyA 97,beforeinput a,input a,keyup a KeyA 65",
			"keydown Shift ShiftLeft 16,keydown B KeyB 66,keypress B KeyB 66,beforeinput B,input B,keyup B KeyB 66,keyup Shift ShiftLeft 16",
			"keydown 1 Digit1 49", "keydown ! Digit1 49,keypress ! Digit1 33", "keydown   Space 32", "keydown ; Semicolon 186",
		} {
			if got := c.EvalString("keys.log.join(',')"); !strings.Contains(got, want) {
				c.Errorf("%q not found in %s", want, got)
			}
		}
		c.WantNotIn(c.EvalString("keys.log.join(',')"), "untrusted")
	})
	s.Page(t, "prevented key inserts no text", "typing-fields.html", func(c *suite.Case) {
		a := c.TypeInto("#vowels", "banana", keys)
		c.WantValue("vowels.value", "bnn")
		c.WantIn(a.Note, `"bnn"`)
	})
}

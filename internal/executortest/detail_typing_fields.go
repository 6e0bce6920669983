package executortest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// typingFields types into fields of every kind, and into elements that are not fields.
func (s *suite) typingFields(t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	s.page(t, "all kinds of text inputs", "typing-fields.html", func(c *testCase) {
		for _, f := range []struct{ id, text, want string }{
			{"text", "Ann", "Ann"}, {"search", "lamp", "lamp"}, {"email", "x.org", "ann@x.org"}, {"url", "http://x.org/?q=1#a", "http://x.org/?q=1#a"},
			{"tel", "+47 22 22 55 55", "+47 22 22 55 55"}, {"password", "S3cret!", "S3cret!"}, {"area", "one", "one"}, {"number", ".25", "7.25"}, {"listed", "An", "An"},
		} {
			c.typeInto("#"+f.id, f.text, nil)
			c.wantValue("document.querySelector('#"+f.id+"').value", f.want)
		}
	})
	s.page(t, "number inputs: clear, negative, steps, invalid", "typing-fields.html", func(c *testCase) {
		c.typeInto("#number", "-12.5", clearing)
		c.wantValue("number.value", "-12.5")
		c.typeInto("#number", "1e3", &executor.TypeOptions{Clear: true, KeyEvents: true})
		c.wantValue("number.value", "1e3")
		_, err := c.page().Type(c.ctx, css("#number"), "1-2", clearing)
		c.wantCode(err, executor.ErrNotActionable, "not a number")
		c.wantValue("number.value + number.validity.badInput", "1e3false")
		c.typeInto("#number", "", clearing)
		c.wantValue("number.value + number.validity.badInput", "false")
	})
	s.page(t, "date, time and color inputs", "typing-fields.html", func(c *testCase) {
		for _, f := range []struct{ id, text, want string }{
			{"date", "2026-03-09", "2026-03-09"}, {"time", "14:30", "14:30"}, {"when", "2026-03-09T14:30", "2026-03-09T14:30"}, {"when", "2027-03-09 15:30", "2027-03-09T15:30"},
			{"month", "2026-03", "2026-03"}, {"week", "2026-W11", "2026-W11"}, {"range", "0.75", "0.75"}, {"color", "#FF8800", "#ff8800"}, {"date", "", ""},
		} {
			c.typeInto("#"+f.id, f.text, nil)
			c.wantValue("document.querySelector('#"+f.id+"').value", f.want)
		}
		if r := c.await("change", "date"); r.Value != "2026-03-09" {
			c.Errorf("the change was to %q", r.Value)
		}
	})
	s.page(t, "invalid picker value: error names the format", "typing-fields.html", func(c *testCase) {
		for _, f := range []struct{ id, text, says string }{
			{"date", "9.3.2026", "2026-11-21"}, {"date", "2025-03-09", "from 2026-01-01"}, {"date", "2026-02-30", "date"}, {"time", "half past two", "14:30"}, {"when", "2026-03-09", "T14:30"},
			{"month", "March", "2026-11"}, {"week", "11", "2026-W47"}, {"range", "0.3", "steps of 0.25"}, {"range", "2", "from 0 to 1"}, {"color", "reddish", "#33aaff"}, {"even", "2026-01-02", "steps of 2"},
		} {
			_, err := c.page().Type(c.ctx, css("#"+f.id), f.text, nil)
			c.wantCode(err, executor.ErrBadArgs, f.says)
		}
		c.wantValue("[date, time, when, month, week, even].map((f) => f.value).join('')", "")
		c.wantUntouched("date")
	})
	s.page(t, "non-text control: error names the right tool", "typing-fields.html", func(c *testCase) {
		for id, says := range map[string]string{"check": "click", "radio": "Page.FillForm", "select": "Page.SelectOption", "file": "file", "button": "click"} {
			_, err := c.page().Type(c.ctx, css("#"+id), "x", &executor.TypeOptions{Timeout: neverTimeout})
			c.wantCode(err, executor.ErrNotActionable, says)
		}
	})
	s.page(t, "click that opens a file chooser: reported", "typing-fields.html", func(c *testCase) {
		for _, selector := range []string{"#file", "#asks"} {
			a, err := c.page().Click(c.ctx, css(selector), nil)
			if err != nil || !strings.Contains(a.Note, "no file was provided") {
				c.Errorf("%s: %q, %v", selector, a.Note, err)
			}
		}
		if a, err := c.page().Press(c.ctx, "Enter", nil); err != nil || !strings.Contains(a.Note, "no file was provided") {
			c.Errorf("Enter: %q, %v", a.Note, err)
		}
		c.wantValue("file.files.length", "0")
	})
	s.page(t, "label, wrapper or component as the target of a field", "typing-fields.html", func(c *testCase) {
		for selector, field := range map[string]string{"#labelled": "byLabel", "#wrapper": "inWrapper", "#box": "box.shadowRoot.querySelector('input')"} {
			c.typeInto(selector, "Ann", nil)
			c.wantValue(field+".value", "Ann")
		}
	})
	s.page(t, "field in a closed shadow root", "typing-fields.html", func(c *testCase) {
		c.must(c.page().Type(c.ctx, byRef(c.ref("textbox", "In the shut box")), "Ann", nil))
		if r := c.await("input", "inShut"); r.Value != "Ann" {
			c.Errorf("its value is %q", r.Value)
		}
	})
	// The family is one grapheme of seven code points, the flag one of two.
	const script = "né e\u0301 你好 こんにちは 안녕 שלום العربية 👨‍👩‍👧‍👦🇳🇴 𝒳 ไทย"
	s.page(t, "emoji, combining marks, CJK and right-to-left text", "typing-fields.html", func(c *testCase) {
		for _, selector := range []string{"#text", "#area", "#rich"} {
			c.typeInto(selector, script, clearing)
			c.wantValue("text.value || ''", script)
			c.typeInto(selector, script, &executor.TypeOptions{Clear: true, KeyEvents: true})
		}
		c.wantValue("area.value", script)
		c.wantValue("rich.innerText", script)
	})
	s.page(t, "line breaks and tabs", "typing-fields.html", func(c *testCase) {
		for _, o := range []*executor.TypeOptions{clearing, {Clear: true, KeyEvents: true}} {
			c.typeInto("#area", "one\r\ntwo\n\n\tfour\n", o)
			c.wantValue("JSON.stringify(area.value)", `"one\ntwo\n\n\tfour\n"`)
			c.typeInto("#rich", "one\ntwo\nthree", o)
			c.wantValue("JSON.stringify(rich.innerText)", `"one\ntwo\nthree"`)
			c.typeInto("#query", "one\ntwo", o)
			c.wantValue("query.value", "one two")
		}
		c.wantUntouched("form")
		c.wantUntouched("other")
	})
	s.page(t, "100 KB of text", "typing-fields.html", func(c *testCase) {
		text := strings.Repeat("All work and no play makes Jack a dull boy.\n", 2400)
		c.typeInto("#long", text, nil)
		c.wantValue("long.value.length", fmt.Sprint(len(text)))
		line := strings.ReplaceAll(text, "\n", " ")
		c.typeInto("#tel", line, nil)
		c.wantValue("tel.value.length", fmt.Sprint(len(line)))
		c.typeInto("#rich", line, clearing)
		c.wantValue("rich.innerText.length", fmt.Sprint(len(line)))
	})
	s.page(t, "text is appended regardless of the caret", "typing-fields.html", func(c *testCase) {
		c.eval("filled.focus(), filled.setSelectionRange(3, 3)", nil)
		c.typeInto("#filled", " four", nil)
		c.wantValue("filled.value", "one two three four")
	})
	s.page(t, "selection in the focused field is replaced", "typing-fields.html", func(c *testCase) {
		c.eval("filled.focus(), filled.setSelectionRange(4, 7)", nil)
		if note := c.typeInto("#filled", "2", nil).Note; note != "" {
			c.Errorf("note %q", note)
		}
		c.wantValue("filled.value", "one 2 three")
		c.key("Control+a", nil)
		c.typeInto("#filled", "all new", keys)
		c.wantValue("filled.value", "all new")
	})
	s.page(t, "text longer than maxlength: rejected", "typing-fields.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#five"), "1234567", nil)
		c.wantCode(err, executor.ErrNotActionable, `at most 5 characters`, `"12345"`)
		c.typeInto("#five", "abc", nil)
		_, err = c.page().Type(c.ctx, css("#five"), "ab👍👍", clearing)
		c.wantCode(err, executor.ErrNotActionable, `at most 5`)
		c.wantValue("five.value", "abc")
	})
	s.page(t, "notes and errors never contain secrets", "typing-fields.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#pin"), "987654", nil)
		c.wantCode(err, executor.ErrNotActionable, "at most 4")
		c.wantNotIn(err.Error(), "9876", "987654")
		c.snap(nil)
		a := c.typeInto("#password", "hunter2", nil)
		c.wantNotIn(a.Note+a.Diff, "hunter2")
		if r := c.await("input", "password"); r.Value != "hunter2" {
			c.Errorf("its value is %q", r.Value)
		}
		_, err = c.page().FillForm(c.ctx, []executor.Field{{Target: css("#pin"), Value: "987654"}}, nil)
		c.wantCode(err, executor.ErrNotActionable, "#pin", "at most 4")
		c.wantNotIn(err.Error(), "9876")
	})
	for _, f := range []struct{ id, says, holds string }{
		{"fixed", "read-only", "fixed"}, {"fixedArea", "read-only", "fixed"}, {"fixedRich", "read-only", "fixed"}, {"off", "disabled", ""}, {"inert", "inert", ""},
	} {
		s.page(t, "error names the state that prevents typing: "+f.id, "typing-fields.html", func(c *testCase) {
			_, err := c.page().Type(c.ctx, css("#"+f.id), "x", nil)
			c.wantCode(err, executor.ErrNotActionable, f.says)
			c.wantValue("document.querySelector('#"+f.id+"').value ?? fixedRich.innerText", f.holds)
		})
	}
	s.page(t, "pressEnter submits the form once", "typing-fields.html", func(c *testCase) {
		c.typeInto("#query", "lamps", &executor.TypeOptions{PressEnter: true})
		if r := c.await("submit", "form"); r.Value != "lamps" {
			c.Errorf("submitted %q", r.Value)
		}
		c.wantValue("log.filter((r) => r.kind === 'submit').length + ' ' + log.filter((r) => r.kind === 'keydown' && r.id === 'query').length", "1 1")
	})
	s.page(t, "pressEnter inserts one line break", "typing-fields.html", func(c *testCase) {
		c.typeInto("#area", "a", &executor.TypeOptions{PressEnter: true})
		c.typeInto("#rich", "a", &executor.TypeOptions{PressEnter: true, Clear: true})
		c.key("b", nil)
		c.wantValue("JSON.stringify(area.value)", `"a\n"`)
		c.wantValue("JSON.stringify(rich.innerText)", `"a\nb"`)
	})
	s.page(t, "key events have all properties", "typing-fields.html", func(c *testCase) {
		c.typeInto("#keys", "aB1! ;", keys)
		c.wantValue("keys.value", "aB1! ;")
		for _, want := range []string{
			"keydown a KeyA 65,keypress a KeyA 97,beforeinput a,input a,keyup a KeyA 65",
			"keydown Shift ShiftLeft 16,keydown B KeyB 66,keypress B KeyB 66,beforeinput B,input B,keyup B KeyB 66,keyup Shift ShiftLeft 16",
			"keydown 1 Digit1 49", "keydown ! Digit1 49,keypress ! Digit1 33", "keydown   Space 32", "keydown ; Semicolon 186",
		} {
			if got := c.evalString("keys.log.join(',')"); !strings.Contains(got, want) {
				c.Errorf("%q not found in %s", want, got)
			}
		}
		c.wantNotIn(c.evalString("keys.log.join(',')"), "untrusted")
	})
	s.page(t, "prevented key inserts no text", "typing-fields.html", func(c *testCase) {
		a := c.typeInto("#vowels", "banana", keys)
		c.wantValue("vowels.value", "bnn")
		c.wantIn(a.Note, `"bnn"`)
	})
}

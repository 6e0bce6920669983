package executortest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// typingModels types into editors whose field does not contain their text, into editors that take
// line breaks from other events than text, and into fields that change after the input.
func (s *suite) typingModels(t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	clearKeys := &executor.TypeOptions{Clear: true, KeyEvents: true}
	const page = "typing-models.html"
	const text = "services:\n  app:\n    image: nginx\n"
	const quoted = `"services:\n  app:\n    image: nginx\n"`
	s.page(t, "code editor: append, clear, replace", page, func(c *testCase) {
		for _, id := range []string{"sink", "clipped"} {
			model := "JSON.stringify(models." + id + ".text)"
			wantNote(c, "", c.typeInto("#"+id+" textarea", "b: 2", nil))
			c.wantValue(model, `"old: 1\nb: 2"`)
			wantNote(c, "", c.typeInto("#"+id+" textarea", text, clearing))
			c.wantValue(model, quoted)
			wantNote(c, "", c.typeInto("#"+id+" textarea", "", clearing))
			c.wantValue(model, `""`)
			wantNote(c, "", c.typeInto("#"+id+" textarea", text, nil))
			c.wantValue(model, quoted)
		}
	})
	s.page(t, "code editor that closes brackets: text of keys inserted, reported", page, func(c *testCase) {
		a := c.typeInto("#sink textarea", "if (a) {\n  b\n}", clearKeys)
		c.wantValue("JSON.stringify(models.sink.text)", `"if (a) {\n  b\n}"`)
		c.wantIn(a.Note, "inserted instead")
		wantNote(c, "", c.typeInto("#sink textarea", " c", keys))
		c.wantValue("JSON.stringify(models.sink.text)", `"if (a) {\n  b\n} c"`)
	})
	s.page(t, "code editor with a selection: replaced", page, func(c *testCase) {
		c.eval("models.sink.text = 'port = 1\\nhost = a\\n'", nil)
		selectText := func(id string, from, to int) { c.eval(fmt.Sprintf("models.%s.select(%d, %d)", id, from, to), nil) }
		replace := func(id, field string, from, to int, text string, opts *executor.TypeOptions, want string) {
			c.eval("document.querySelector('"+field+"').focus()", nil)
			selectText(id, from, to)
			wantNote(c, "", c.typeInto(field, text, opts))
			c.wantValue("JSON.stringify(models."+id+".text)", want)
		}
		const sink = "#sink textarea"
		replace("sink", sink, 7, 8, "8080", nil, `"port = 8080\nhost = a\n"`)
		replace("sink", sink, 0, 4, "a\n  b", nil, `"a\n  b = 8080\nhost = a\n"`)
		replace("sink", sink, 17, 21, "x", keys, `"a\n  b = 8080\nhostx\n"`)
		replace("sink", sink, 13, 15, "", nil, `"a\n  b = 8080\nhostx\n"`)
		replace("context", "#context .input", 0, 3, "new", nil, `"new: 1\n"`)
		c.eval("document.querySelector('#upper textarea').focus()", nil)
		selectText("upper", 0, 3)
		_, err := c.page().Type(c.ctx, css("#upper textarea"), "new", nil)
		c.wantCode(err, executor.ErrNotActionable, `"NEW: 1\n"`, "the old text was restored")
		c.wantValue("JSON.stringify(models.upper.text)", `"old: 1\n"`)
	})
	s.page(t, "code editor without clipboard events", page, func(c *testCase) {
		wantNote(c, "", c.typeInto("#silent textarea", text, clearing))
		c.wantValue("JSON.stringify(models.silent.text)", quoted)
		wantNote(c, "", c.typeInto("#silent textarea", "b: 2", nil))
		c.wantValue("models.silent.text.endsWith('nginx\\nb: 2')", "true")
	})
	s.page(t, "code editor that cannot be cleared: error, no text typed", page, func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#stubborn textarea"), "new", clearing)
		c.wantCode(err, executor.ErrNotActionable, "does not delete its text", "no text was typed")
		c.wantValue("JSON.stringify(models.stubborn.text)", `"old: 1\n"`)
	})
	s.page(t, "code editor that changes the text: error, old text restored", page, func(c *testCase) {
		c.eval("models.upper.text = 'OLD'", nil)
		_, err := c.page().Type(c.ctx, css("#upper textarea"), " new", nil)
		c.wantCode(err, executor.ErrNotActionable, `"OLD NEW"`, "the old text was restored")
		c.wantValue("models.upper.text", "OLD")
	})
	s.page(t, "code editor: a click goes to what the user sees", page, func(c *testCase) {
		snap := c.snap(nil)
		// The lines of one let pointer events through. One captures the pointer, so it receives the click.
		for _, id := range []string{"sink", "clipped", "silent"} {
			pressed := "models." + id + ".pressed.join()" // the line at which the editor places the caret
			field := byRef(c.refIn(snap, "textbox", id+" content"))
			c.click(field, nil)
			c.wantValue(pressed, "1")
			c.wantValue("document.activeElement.getAttribute('aria-label')", id+" content")
			c.click(css("#"+id+" .lines"), &executor.ClickOptions{Count: 2})
			c.wantValue(pressed, "1,1,1")
		}
		c.eval(`sink.insertAdjacentHTML("beforeend", '<ul role="listbox" style="position: absolute; z-index: 3; margin: 0; left: 80px; top: 20px; width: 240px"><li role="option">word</li></ul>'); 0`, nil)
		c.eval(`document.querySelector("[role=option]").addEventListener("pointerdown", () => { window.completed = true; }); 0`, nil)
		c.click(byRef(c.refIn(snap, "textbox", "sink content")), nil)
		c.wantValue("models.sink.pressed.join()", "1,1,1,0")
		c.wantValue("window.completed", "undefined")
	})
	s.page(t, "EditContext: append, clear, keys, form", page, func(c *testCase) {
		const field = "#context .input"
		wantNote(c, "", c.typeInto(field, "b: 2", nil))
		c.wantValue("JSON.stringify(models.context.text)", `"old: 1\nb: 2"`)
		wantNote(c, "", c.typeInto(field, text, clearing))
		c.wantValue("JSON.stringify(models.context.text)", quoted)
		wantNote(c, "", c.typeInto(field, "a\nb", clearKeys))
		c.wantValue("JSON.stringify(models.context.text)", `"a\nb"`)
		c.fill(nil, executor.Field{Target: css(field), Value: "filled"})
		c.wantValue("models.context.text", "filled")
		wantNote(c, "", c.typeInto(field, "", clearing))
		c.wantValue("models.context.text", "")
	})
	s.page(t, "terminal: text typed, not cleared", page, func(c *testCase) {
		wantNote(c, "", c.typeInto("#terminal textarea", "ls", nil))
		_, err := c.page().Type(c.ctx, css("#terminal textarea"), "pwd", clearing)
		c.wantCode(err, executor.ErrNotActionable, "terminal")
		c.wantValue("models.terminal.text", "ls")
	})
	s.page(t, "editor that merges line breaks: entered line by line", page, func(c *testCase) {
		wantNote(c, "", c.typeInto("#pairs", "one\n\ntwo", nil))
		c.wantValue("models.pairs.lines.join('|')", "one||two")
		wantNote(c, "", c.typeInto("#pairs", "!\nthree", nil))
		c.wantValue("models.pairs.lines.join('|')", "one||two!|three")
		wantNote(c, "", c.typeInto("#pairs", "a\n\nb", clearing))
		c.wantValue("models.pairs.lines.join('|') + sent", "a||b0")
		wantNote(c, "", c.typeInto("#pairs", strings.Repeat("x\n\n", 12)+"y", nil)) // undone line by line
		c.wantValue("models.pairs.lines.join('|') + sent", "a||b"+strings.Repeat("x||", 12)+"y0")
	})
	s.page(t, "editor that changes punctuation: kept, reported", page, func(c *testCase) {
		c.wantIn(c.typeInto("#curly", "wait...\nHe said \"yes\" -- twice.\n", nil).Note, "changed punctuation", `"wait…"`)
		c.wantValue("models.curly.lines.join('|')", "wait…|He said “yes” – twice.|")
		c.wantIn(c.typeInto("#curly", `"no"`, nil).Note, "changed punctuation", `"“no”"`)
		c.wantValue("models.curly.lines.join('|')", "wait…|He said “yes” – twice.|“no”")
	})
	s.page(t, "editor without line breaks: error, old text restored", page, func(c *testCase) {
		c.typeInto("#flat", "old", nil)
		_, err := c.page().Type(c.ctx, css("#flat"), " one\ntwo", nil)
		c.wantCode(err, executor.ErrNotActionable, "line breaks", "the old text was restored")
		c.wantValue("models.flat.lines.join('|') + sent", "old0")
	})
	s.page(t, "editor that loses its text to inserted lines: undone", page, func(c *testCase) {
		c.typeInto("#broken", "old", nil)
		wantNote(c, "", c.typeInto("#broken", " one\n\ntwo", nil))
		c.wantValue("models.broken.lines.join('|') + sent", "old one||two0")
	})
	s.page(t, "editor that undoes the old text with the new one: error, old text kept", page, func(c *testCase) {
		c.typeInto("#merging", "old", nil)
		_, err := c.page().Type(c.ctx, css("#merging"), " one\ntwo", nil)
		c.wantCode(err, executor.ErrNotActionable, "line breaks", `its text is "old one two"`)
		c.wantValue("models.merging.lines.join('|') + sent", "old one two0")
	})
	s.page(t, "editor that finds its blocks by keys: pasted", page, func(c *testCase) {
		wantNote(c, "", c.typeInto("#keyed", " one\n\ntwo", nil))
		c.wantValue("[...models.keyed.values()].join('|')", "old one||two")
	})
	s.page(t, "editor that renders line breaks in a frame: keys wait for it", page, func(c *testCase) {
		wantNote(c, "", c.typeInto("#framed", strings.Repeat("a\n\n b\n", 15), keys))
		c.wantValue("models.framed.lines.join('|')", strings.Repeat("a|| b|", 15))
	})
	s.page(t, "editable element without blocks gets line breaks, no Enter", page, func(c *testCase) {
		wantNote(c, "", c.typeInto("#bare", " one\n\ntwo", nil))
		c.wantValue("bare.innerHTML + sent", "old one<br><br>two0")
	})
	s.page(t, "editable body of a frame, and document with designMode", "editable-body.html", func(c *testCase) {
		c.wantIn(c.snap(nil), `textbox "Letter"`, `textbox "Draft"`, `button "Bold"`)
		letter, draft := byRef(c.ref("textbox", "Letter")), byRef(c.ref("textbox", "Draft"))
		for _, field := range []executor.Target{letter, draft} {
			a, err := c.page().Type(c.ctx, field, " one\ntwo", nil)
			c.must(a, err)
			wantNote(c, "", a)
		}
		c.wantValue("texts().slice(0, 2).join()", "old one|two,one|two")
		c.wantIn(c.snap(nil), `textbox "Draft" [ref=`+string(draft.Ref)+`] [focused]`)
		c.fill(nil, executor.Field{Target: letter, Value: "Dear Ann"}, executor.Field{Target: draft, Value: "new"})
		c.wantValue("texts().slice(0, 2).join()", "Dear Ann,new")
		_, err := c.page().Press(c.ctx, "!", &executor.PressOptions{Target: letter})
		c.must(nil, err)
		c.wantValue("texts()[0].includes('!')", "true")
	})
	const late = "typing-late.html"
	s.page(t, "one-digit fields that move the focus in a timer", late, func(c *testCase) {
		c.typeInto("[aria-label='Digit 1']", "123456", keys)
		c.wantValue("[...codes.children].map((i) => i.value).join('')", "123456")
	})
	s.page(t, "date field of editable parts", late, func(c *testCase) {
		c.must(c.page().Type(c.ctx, byRef(c.ref("spinbutton", "Month")), "04", nil))
		c.must(c.page().Type(c.ctx, byRef(c.ref("spinbutton", "Day")), "17", nil))
		c.wantValue("month.textContent + '/' + day.textContent", "04/17")
		c.wantIn(c.snap(nil), `spinbutton "Month"`, `spinbutton "Day"`)
		_, err := c.page().Type(c.ctx, css("#hidden"), "05/18", clearing)
		c.wantCode(err, executor.ErrNotActionable, "took the focus", `"Month"`)
		c.wantValue("month.textContent + '/' + day.textContent + hidden.value", "04/17")
	})
	s.page(t, "value replaced after a response or a timer: reported", late, func(c *testCase) {
		for _, id := range []string{"answered", "timed"} {
			c.wantIn(c.typeInto("#"+id, "annabelle-marie", nil).Note, `"annabell"`)
		}
		fields := []executor.Field{{Target: css("#timed"), Value: "annabelle-marie"}, {Target: css("#amount"), Value: "1234.5"}}
		res, err := c.page().FillForm(c.ctx, fields, &executor.FillOptions{Timeout: await.HangLimit})
		if err != nil { // the page was faster than the first look at the value
			c.wantCode(err, executor.ErrNotActionable, "#timed", `"annabell"`)
		} else {
			c.wantIn(res.Note, "#timed: ", `"annabell"`)
			c.wantNotIn(res.Note, "#amount: the field now has")
		}
		c.wantNotIn(c.typeInto("#password", "hunter2hunter2", nil).Note, "shortened", "hunter2")
		c.wantIn(c.typeInto("#rich", "mine", nil).Note, `"fixed"`)
	})
}

// wantNote checks the note of an action.
func wantNote(c *testCase, want string, a *executor.Action) {
	c.Helper()
	if a.Note != want {
		c.Errorf("note %q, want %q", a.Note, want)
	}
}

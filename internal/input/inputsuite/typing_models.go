package inputsuite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// typingModels types into editors whose field does not contain their text, into editors that take
// line breaks from other events than text, and into fields that change after the input.
func typingModels(s *suite.Runner, t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	clearKeys := &executor.TypeOptions{Clear: true, KeyEvents: true}
	const page = "typing-models.html"
	const text = "services:\n  app:\n    image: nginx\n"
	const quoted = `"services:\n  app:\n    image: nginx\n"`
	s.Page(t, "code editor: append, clear, replace", page, func(c *suite.Case) {
		for _, id := range []string{"sink", "clipped"} {
			model := "JSON.stringify(models." + id + ".text)"
			wantNote(c, "", c.TypeInto("#"+id+" textarea", "b: 2", nil))
			c.WantValue(model, `"old: 1\nb: 2"`)
			wantNote(c, "", c.TypeInto("#"+id+" textarea", text, clearing))
			c.WantValue(model, quoted)
			wantNote(c, "", c.TypeInto("#"+id+" textarea", "", clearing))
			c.WantValue(model, `""`)
			wantNote(c, "", c.TypeInto("#"+id+" textarea", text, nil))
			c.WantValue(model, quoted)
		}
	})
	s.Deep().Page(t, "code editor that closes brackets: text of keys inserted, reported", page, func(c *suite.Case) {
		a := c.TypeInto("#sink textarea", "if (a) {\n  b\n}", clearKeys)
		c.WantValue("JSON.stringify(models.sink.text)", `"if (a) {\n  b\n}"`)
		c.WantIn(a.Note, "inserted instead")
		wantNote(c, "", c.TypeInto("#sink textarea", " c", keys))
		c.WantValue("JSON.stringify(models.sink.text)", `"if (a) {\n  b\n} c"`)
	})
	s.Deep().Page(t, "code editor with a selection: replaced", page, func(c *suite.Case) {
		c.Eval("models.sink.text = 'port = 1\\nhost = a\\n'", nil)
		selectText := func(id string, from, to int) { c.Eval(fmt.Sprintf("models.%s.select(%d, %d)", id, from, to), nil) }
		replace := func(id, field string, from, to int, text string, opts *executor.TypeOptions, want string) {
			c.Eval("document.querySelector('"+field+"').focus()", nil)
			selectText(id, from, to)
			wantNote(c, "", c.TypeInto(field, text, opts))
			c.WantValue("JSON.stringify(models."+id+".text)", want)
		}
		const sink = "#sink textarea"
		replace("sink", sink, 7, 8, "8080", nil, `"port = 8080\nhost = a\n"`)
		replace("sink", sink, 0, 4, "a\n  b", nil, `"a\n  b = 8080\nhost = a\n"`)
		replace("sink", sink, 17, 21, "x", keys, `"a\n  b = 8080\nhostx\n"`)
		replace("sink", sink, 13, 15, "", nil, `"a\n  b = 8080\nhostx\n"`)
		replace("context", "#context .input", 0, 3, "new", nil, `"new: 1\n"`)
		c.Eval("document.querySelector('#upper textarea').focus()", nil)
		selectText("upper", 0, 3)
		_, err := c.Page().Type(c.Ctx, suite.Selector("#upper textarea"), "new", nil)
		c.WantCode(err, executor.ErrNotActionable, `"NEW: 1\n"`, "the old text was restored")
		c.WantValue("JSON.stringify(models.upper.text)", `"old: 1\n"`)
	})
	s.Deep().Page(t, "code editor without clipboard events", page, func(c *suite.Case) {
		wantNote(c, "", c.TypeInto("#silent textarea", text, clearing))
		c.WantValue("JSON.stringify(models.silent.text)", quoted)
		wantNote(c, "", c.TypeInto("#silent textarea", "b: 2", nil))
		c.WantValue("models.silent.text.endsWith('nginx\\nb: 2')", "true")
	})
	s.Page(t, "code editor whose page prevents pasting, and copying", page, func(c *suite.Case) {
		for _, id := range []string{"guarded", "unpasted"} {
			model := "JSON.stringify(models." + id + ".text)"
			wantNote(c, "", c.TypeInto("#"+id+" textarea", text, clearing))
			c.WantValue(model, quoted)
			wantNote(c, "", c.TypeInto("#"+id+" textarea", "", clearing))
			c.WantValue(model, `""`)
		}
		const field, model = "#unpasted textarea", "JSON.stringify(models.unpasted.text)"
		wantNote(c, "", c.TypeInto(field, "a: 1\nb: 2", nil))
		wantNote(c, "", c.TypeInto(field, "\nc: 3", nil))
		c.WantValue(model, `"a: 1\nb: 2\nc: 3"`)
		c.Eval("document.querySelector('"+field+"').focus(); models.unpasted.select(5, 6)", nil)
		wantNote(c, "", c.TypeInto(field, "x", nil))
		c.WantValue(model, `"a: 1\nx: 2\nc: 3"`)
		wantNote(c, "", c.TypeInto("#guarded textarea", "old", nil))
		c.WantIn(c.TypeInto("#guarded textarea", "\nnew", nil).Note, "could not be verified")
		c.WantValue("models.guarded.text", "old")
	})
	s.Deep().Page(t, "code editor whose field has a part of its text: value marked", page, func(c *suite.Case) {
		c.WantNotIn(c.Snap(nil), "[partial]")
		c.Eval("models.paged.text = 'a: 1\\nb: 2\\n'; models.paged.select(0, 0)", nil)
		c.WantIn(c.Snap(nil), `textbox "paged content" [ref=`+string(c.Ref("textbox", "paged content"))+`] [partial]: `)
		wantNote(c, "", c.TypeInto("#paged textarea", "c: 3", nil))
		c.WantValue("JSON.stringify(models.paged.text)", `"a: 1\nb: 2\nc: 3"`)
	})
	s.Page(t, "code editor that cannot be cleared: error, no text typed", page, func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#stubborn textarea"), "new", clearing)
		c.WantCode(err, executor.ErrNotActionable, "does not delete its text", "no text was typed")
		c.WantValue("JSON.stringify(models.stubborn.text)", `"old: 1\n"`)
	})
	s.Deep().Page(t, "code editor that changes the text: error, old text restored", page, func(c *suite.Case) {
		c.Eval("models.upper.text = 'OLD'", nil)
		_, err := c.Page().Type(c.Ctx, suite.Selector("#upper textarea"), " new", nil)
		c.WantCode(err, executor.ErrNotActionable, `"OLD NEW"`, "the old text was restored")
		c.WantValue("models.upper.text", "OLD")
	})
	s.Page(t, "code editor: a click goes to what the user sees", page, func(c *suite.Case) {
		snap := c.Snap(nil)
		// The lines of one let pointer events through. One captures the pointer, so it receives the click.
		for _, id := range []string{"sink", "clipped", "silent"} {
			pressed := "models." + id + ".pressed.join()" // the line at which the editor places the caret
			field := suite.ByRef(c.RefIn(snap, "textbox", id+" content"))
			c.Click(field, nil)
			c.WantValue(pressed, "1")
			c.WantValue("document.activeElement.getAttribute('aria-label')", id+" content")
			c.Click(suite.Selector("#"+id+" .lines"), &executor.ClickOptions{Count: 2})
			c.WantValue(pressed, "1,1,1")
		}
		c.Eval(`sink.insertAdjacentHTML("beforeend", '<ul role="listbox" style="position: absolute; z-index: 3; margin: 0; left: 80px; top: 20px; width: 240px"><li role="option">word</li></ul>'); 0`, nil)
		c.Eval(`document.querySelector("[role=option]").addEventListener("pointerdown", () => { window.completed = true; }); 0`, nil)
		c.Click(suite.ByRef(c.RefIn(snap, "textbox", "sink content")), nil)
		c.WantValue("models.sink.pressed.join()", "1,1,1,0")
		c.WantValue("window.completed", "undefined")
	})
	s.Page(t, "EditContext: append, clear, keys, form", page, func(c *suite.Case) {
		const field = "#context .input"
		wantNote(c, "", c.TypeInto(field, "b: 2", nil))
		c.WantValue("JSON.stringify(models.context.text)", `"old: 1\nb: 2"`)
		wantNote(c, "", c.TypeInto(field, text, clearing))
		c.WantValue("JSON.stringify(models.context.text)", quoted)
		wantNote(c, "", c.TypeInto(field, "a\nb", clearKeys))
		c.WantValue("JSON.stringify(models.context.text)", `"a\nb"`)
		c.Fill(nil, executor.Field{Target: suite.Selector(field), Value: "filled"})
		c.WantValue("models.context.text", "filled")
		wantNote(c, "", c.TypeInto(field, "", clearing))
		c.WantValue("models.context.text", "")
	})
	s.Deep().Page(t, "terminal: text typed, not cleared", page, func(c *suite.Case) {
		wantNote(c, "", c.TypeInto("#terminal textarea", "ls", nil))
		_, err := c.Page().Type(c.Ctx, suite.Selector("#terminal textarea"), "pwd", clearing)
		c.WantCode(err, executor.ErrNotActionable, "terminal")
		c.WantValue("models.terminal.text", "ls")
	})
	s.Page(t, "editor that merges line breaks: entered line by line", page, func(c *suite.Case) {
		wantNote(c, "", c.TypeInto("#pairs", "one\n\ntwo", nil))
		c.WantValue("models.pairs.lines.join('|')", "one||two")
		wantNote(c, "", c.TypeInto("#pairs", "!\nthree", nil))
		c.WantValue("models.pairs.lines.join('|')", "one||two!|three")
		wantNote(c, "", c.TypeInto("#pairs", "a\n\nb", clearing))
		c.WantValue("models.pairs.lines.join('|') + sent", "a||b0")
		wantNote(c, "", c.TypeInto("#pairs", strings.Repeat("x\n\n", 12)+"y", nil)) // undone line by line
		c.WantValue("models.pairs.lines.join('|') + sent", "a||b"+strings.Repeat("x||", 12)+"y0")
	})
	s.Deep().Page(t, "editor that changes punctuation: kept, reported", page, func(c *suite.Case) {
		c.WantIn(c.TypeInto("#curly", "wait...\nHe said \"yes\" -- twice.\n", nil).Note, "changed punctuation", `"wait…"`)
		c.WantValue("models.curly.lines.join('|')", "wait…|He said “yes” – twice.|")
		c.WantIn(c.TypeInto("#curly", `"no"`, nil).Note, "changed punctuation", `"“no”"`)
		c.WantValue("models.curly.lines.join('|')", "wait…|He said “yes” – twice.|“no”")
	})
	s.Page(t, "editor without line breaks: error, old text restored", page, func(c *suite.Case) {
		c.TypeInto("#flat", "old", nil)
		_, err := c.Page().Type(c.Ctx, suite.Selector("#flat"), " one\ntwo", nil)
		c.WantCode(err, executor.ErrNotActionable, "line breaks", "the old text was restored")
		c.WantValue("models.flat.lines.join('|') + sent", "old0")
	})
	s.Page(t, "editor that loses its text to inserted lines: undone", page, func(c *suite.Case) {
		c.TypeInto("#broken", "old", nil)
		wantNote(c, "", c.TypeInto("#broken", " one\n\ntwo", nil))
		c.WantValue("models.broken.lines.join('|') + sent", "old one||two0")
	})
	s.Deep().Page(t, "editor that undoes the old text with the new one: error, old text kept", page, func(c *suite.Case) {
		c.TypeInto("#merging", "old", nil)
		_, err := c.Page().Type(c.Ctx, suite.Selector("#merging"), " one\ntwo", nil)
		c.WantCode(err, executor.ErrNotActionable, "line breaks", `its text is "old one two"`)
		c.WantValue("models.merging.lines.join('|') + sent", "old one two0")
	})
	s.Deep().Page(t, "editor that finds its blocks by keys: pasted", page, func(c *suite.Case) {
		wantNote(c, "", c.TypeInto("#keyed", " one\n\ntwo", nil))
		c.WantValue("[...models.keyed.values()].join('|')", "old one||two")
	})
	s.Page(t, "editor that renders line breaks in a frame: keys wait for it", page, func(c *suite.Case) {
		wantNote(c, "", c.TypeInto("#framed", strings.Repeat("a\n\n b\n", 15), keys))
		c.WantValue("models.framed.lines.join('|')", strings.Repeat("a|| b|", 15))
	})
	s.Deep().Page(t, "editable element without blocks gets line breaks, no Enter", page, func(c *suite.Case) {
		wantNote(c, "", c.TypeInto("#bare", " one\n\ntwo", nil))
		c.WantValue("bare.innerHTML + sent", "old one<br><br>two0")
	})
	s.Deep().Page(t, "editor whose blocks are fields: line breaks in the block, a block for each Enter", page, func(c *suite.Case) {
		const field = "#blocks [contenteditable]"
		wantNote(c, "", c.TypeInto(field, "one\ntwo", nil))
		c.WantValue("saved() + sent", "one<br>two0")
		wantNote(c, "", c.TypeInto(field, "one\n\ntwo", clearing))
		c.WantValue("saved() + sent", "one<br><br>two0")
		c.WantIn(c.TypeInto(field, "a\nb", clearKeys).Note, `the field value is "a"`, `the rest of the text went to textbox "Block"`)
		c.WantValue("saved() + sent", "a|b1")
	})
	s.Page(t, "editable body of a frame, and document with designMode", "editable-body.html", func(c *suite.Case) {
		c.WantIn(c.Snap(nil), `textbox "Letter"`, `textbox "Draft"`, `button "Bold"`)
		letter, draft := suite.ByRef(c.Ref("textbox", "Letter")), suite.ByRef(c.Ref("textbox", "Draft"))
		for _, field := range []executor.Target{letter, draft} {
			a, err := c.Page().Type(c.Ctx, field, " one\ntwo", nil)
			c.Must(a, err)
			wantNote(c, "", a)
		}
		c.WantValue("texts().slice(0, 2).join()", "old one|two,one|two")
		c.WantIn(c.Snap(nil), `textbox "Draft" [ref=`+string(draft.Ref)+`] [focused]`)
		c.Fill(nil, executor.Field{Target: letter, Value: "Dear Ann"}, executor.Field{Target: draft, Value: "new"})
		c.WantValue("texts().slice(0, 2).join()", "Dear Ann,new")
		_, err := c.Page().Press(c.Ctx, "!", &executor.PressOptions{Target: letter})
		c.Must(nil, err)
		c.WantValue("texts()[0].includes('!')", "true")
	})
	const late = "typing-late.html"
	s.Page(t, "one-digit fields that move the focus in a timer", late, func(c *suite.Case) {
		c.TypeInto("[aria-label='Digit 1']", "123456", keys)
		c.WantValue("[...codes.children].map((i) => i.value).join('')", "123456")
	})
	s.Deep().Page(t, "date field of editable parts", late, func(c *suite.Case) {
		c.Must(c.Page().Type(c.Ctx, suite.ByRef(c.Ref("spinbutton", "Month")), "04", nil))
		c.Must(c.Page().Type(c.Ctx, suite.ByRef(c.Ref("spinbutton", "Day")), "17", nil))
		c.WantValue("month.textContent + '/' + day.textContent", "04/17")
		c.WantIn(c.Snap(nil), `spinbutton "Month"`, `spinbutton "Day"`)
		_, err := c.Page().Type(c.Ctx, suite.Selector("#hidden"), "05/18", clearing)
		c.WantCode(err, executor.ErrNotActionable, "took the focus", `"Month"`)
		c.WantValue("month.textContent + '/' + day.textContent + hidden.value", "04/17")
	})
	s.Page(t, "value replaced after a response or a timer: reported", late, func(c *suite.Case) {
		for _, id := range []string{"answered", "timed"} {
			c.WantIn(c.TypeInto("#"+id, "annabelle-marie", nil).Note, `"annabell"`)
		}
		fields := []executor.Field{{Target: suite.Selector("#timed"), Value: "annabelle-marie"}, {Target: suite.Selector("#amount"), Value: "1234.5"}}
		res, err := c.Page().FillForm(c.Ctx, fields, &executor.FillOptions{Timeout: await.HangLimit})
		if err != nil { // the page was faster than the first look at the value
			c.WantCode(err, executor.ErrNotActionable, "#timed", `"annabell"`)
		} else {
			c.WantIn(res.Note, "#timed: ", `"annabell"`)
			c.WantNotIn(res.Note, "#amount: the field now has")
		}
		c.WantNotIn(c.TypeInto("#password", "hunter2hunter2", nil).Note, "shortened", "hunter2")
		c.WantIn(c.TypeInto("#rich", "mine", nil).Note, `"fixed"`)
	})
}

// wantNote checks the note of an action.
func wantNote(c *suite.Case, want string, a *executor.Action) {
	c.Helper()
	if a.Note != want {
		c.Errorf("note %q, want %q", a.Note, want)
	}
}

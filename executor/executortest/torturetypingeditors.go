package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// tortureEditors types into editors: plain ones, ones with a model of their
// own, and a real one.
func (s *suite) tortureEditors(t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	const page = "typing-editors.html"
	s.page(t, "an editor of plain text only", page, func(c *scene) {
		c.typeInto("#plain", " and\nmore", nil)
		c.wantValue("JSON.stringify(plain.innerText)", `"old and\nmore"`)
		c.typeInto("#plain", "new", clearing)
		c.wantValue("plain.innerHTML", "new")
	})
	s.page(t, "an empty editor", page, func(c *scene) {
		c.typeInto("#empty", "new", nil)
		c.wantValue("empty.innerText", "new")
		c.typeInto("#empty", "", clearing)
		c.wantValue("empty.innerText.trim()", "")
	})
	s.page(t, "text goes to the end of the last block, or of the block that was named", page, func(c *scene) {
		c.typeInto("#blocks", " end", nil)
		c.wantValue("blocks.innerText.replace(/\\s+/g, ' ')", "First Second bold end")
		c.typeInto("#first", " more", nil)
		c.wantValue("first.innerText + '|' + second.innerText", "First more|Second bold end")
		c.typeInto("#first", "Only", clearing)
		c.wantValue("first.innerText + '|' + second.innerText", "Only|Second bold end")
		c.typeInto("#blocks", "All", clearing)
		c.wantValue("blocks.innerText", "All")
	})
	s.page(t, "what is selected in an editor is replaced", page, func(c *scene) {
		c.eval("blocks.focus(), getSelection().selectAllChildren(second.querySelector('b'))", nil)
		c.typeInto("#blocks", "brave", nil)
		c.wantValue("second.innerText", "Second brave")
	})
	s.page(t, "an editor with a model of its own", page, func(c *scene) {
		c.typeInto("#model", "one two", nil)
		c.typeInto("#model", " three", keys)
		c.wantValue("text", "one two three")
		c.typeInto("#model", "all new", clearing)
		c.wantValue("text", "all new")
		c.typeInto("#model", "keys", &executor.TypeOptions{Clear: true, KeyEvents: true, PressEnter: true})
		c.wantValue("text", "keys¶")
	})
	s.page(t, "an editor that takes the text back is told", page, func(c *scene) {
		c.wantIn(c.typeInto("#guarded", "mine", nil).Note, "did not change", `"fixed"`)
		_, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{{Target: css("#guarded"), Value: "mine"}}, nil)
		c.wantCode(err, executor.ErrNotActionable, "#guarded", "did not change")
	})
	s.page(t, "an editor that shows the text a frame later", page, func(c *scene) {
		res, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{{Target: css("#late"), Value: "soon"}}, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.wantNotIn(res.Note, "late")
		c.wantValue("late.innerText", "soon")
	})
	s.page(t, "a code editor with a hidden field, by the field or by the whole", page, func(c *scene) {
		c.typeInto("#code textarea", "let a;", nil)
		c.typeInto("#code", " let b;", keys)
		c.wantValue("lines.textContent", "let a; let b;")
	})
	s.page(t, "an editable island", page, func(c *scene) {
		c.typeInto("#inner", " indeed", nil)
		c.wantValue("inner.innerText", "yes indeed")
	})
	s.page(t, "an editor in a shadow root", page, func(c *scene) {
		const editor = "document.querySelector('shadow-editor').shadowRoot.firstChild.innerText"
		c.typeInto("#shaded", " and new", nil)
		c.wantValue(editor, "old and new")
		c.typeInto("#shaded", "new", clearing)
		c.wantValue(editor, "new")
	})
	s.page(t, "ProseMirror's model gets what is typed", "typing-prosemirror.html", func(c *scene) {
		c.typeInto(".ProseMirror", " end", nil)
		c.wantValue("model()", "First bold|Second end")
		c.typeInto(".ProseMirror p", "!", keys)
		c.wantValue("model()", "First bold!|Second end")
		c.typeInto(".ProseMirror", "one\ntwo", &executor.TypeOptions{Clear: true, KeyEvents: true})
		c.wantValue("model()", "one|two")
		c.typeInto(".ProseMirror", "你好 👨‍👩‍👧", clearing)
		c.wantValue("model()", "你好 👨‍👩‍👧")
		c.typeInto(".ProseMirror", "", clearing)
		c.wantValue("model()", "")
	})
	s.page(t, "ProseMirror's model gets keys", "typing-prosemirror.html", func(c *scene) {
		c.typeInto(".ProseMirror", "abc", clearing)
		c.key("Enter", nil)
		c.key("d", nil)
		c.key("Shift+ArrowLeft", nil)
		c.key("Backspace", nil)
		c.key("e", nil)
		c.wantValue("model()", "abc|e")
		c.key("Control+a", nil)
		c.key("x", nil)
		c.wantValue("model()", "x")
	})
}

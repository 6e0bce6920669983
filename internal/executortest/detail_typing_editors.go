package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// typingEditors types into editors: simple ones, ones with their own model, and ProseMirror.
func (s *suite) typingEditors(t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	const page = "typing-editors.html"
	s.page(t, "plaintext-only editor", page, func(c *testCase) {
		c.typeInto("#plain", " and\nmore", nil)
		c.wantValue("JSON.stringify(plain.innerText)", `"old and\nmore"`)
		c.typeInto("#plain", "new", clearing)
		c.wantValue("plain.innerHTML", "new")
	})
	s.page(t, "empty editor", page, func(c *testCase) {
		c.typeInto("#empty", "new", nil)
		c.wantValue("empty.innerText", "new")
		c.typeInto("#empty", "", clearing)
		c.wantValue("empty.innerText.trim()", "")
	})
	s.page(t, "text is appended to the last or the targeted block", page, func(c *testCase) {
		c.typeInto("#blocks", " end", nil)
		c.wantValue("blocks.innerText.replace(/\\s+/g, ' ')", "First Second bold end")
		c.typeInto("#first", " more", nil)
		c.wantValue("first.innerText + '|' + second.innerText", "First more|Second bold end")
		c.typeInto("#first", "Only", clearing)
		c.wantValue("first.innerText + '|' + second.innerText", "Only|Second bold end")
		c.typeInto("#blocks", "All", clearing)
		c.wantValue("blocks.innerText", "All")
	})
	s.page(t, "selection in an editor is replaced", page, func(c *testCase) {
		c.eval("blocks.focus(), getSelection().selectAllChildren(second.querySelector('b'))", nil)
		c.typeInto("#blocks", "brave", nil)
		c.wantValue("second.innerText", "Second brave")
	})
	s.page(t, "editor with its own model", page, func(c *testCase) {
		c.typeInto("#model", "one two", nil)
		c.typeInto("#model", " three", keys)
		c.wantValue("text", "one two three")
		c.typeInto("#model", "all new", clearing)
		c.wantValue("text", "all new")
		c.typeInto("#model", "keys", &executor.TypeOptions{Clear: true, KeyEvents: true, PressEnter: true})
		c.wantValue("text", "keys¶")
	})
	s.page(t, "editor that reverts text: reported", page, func(c *testCase) {
		c.wantIn(c.typeInto("#guarded", "mine", nil).Note, "rejected the text", `"fixed"`)
		_, err := c.page().FillForm(c.ctx, []executor.Field{{Target: css("#guarded"), Value: "mine"}}, nil)
		c.wantCode(err, executor.ErrNotActionable, "#guarded", "rejected the text")
	})
	s.page(t, "editor that renders text one animation frame later", page, func(c *testCase) {
		res := c.fill(nil, executor.Field{Target: css("#late"), Value: "soon"})
		c.wantNotIn(res.Note, "late")
		c.wantValue("late.innerText", "soon")
	})
	s.page(t, "editable element in non-editable content", page, func(c *testCase) {
		c.typeInto("#inner", " indeed", nil)
		c.wantValue("inner.innerText", "yes indeed")
	})
	s.page(t, "editor in a shadow root", page, func(c *testCase) {
		const editor = "document.querySelector('shadow-editor').shadowRoot.firstChild.innerText"
		c.typeInto("#shaded", " and new", nil)
		c.wantValue(editor, "old and new")
		c.typeInto("#shaded", "new", clearing)
		c.wantValue(editor, "new")
	})
	s.page(t, "ProseMirror: typed text", "typing-prosemirror.html", func(c *testCase) {
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
	s.page(t, "ProseMirror: keys", "typing-prosemirror.html", func(c *testCase) {
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

package inputsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// typingEditors types into editors: simple ones, ones with their own model, and ProseMirror.
func typingEditors(s *suite.Runner, t *testing.T) {
	clearing := &executor.TypeOptions{Clear: true}
	keys := &executor.TypeOptions{KeyEvents: true}
	const page = "typing-editors.html"
	s.Page(t, "plaintext-only editor", page, func(c *suite.Case) {
		c.TypeInto("#plain", " and\nmore", nil)
		c.WantValue("JSON.stringify(plain.innerText)", `"old and\nmore"`)
		c.TypeInto("#plain", "new", clearing)
		c.WantValue("plain.innerHTML", "new")
	})
	s.Page(t, "empty editor", page, func(c *suite.Case) {
		c.TypeInto("#empty", "new", nil)
		c.WantValue("empty.innerText", "new")
		c.TypeInto("#empty", "", clearing)
		c.WantValue("empty.innerText.trim()", "")
	})
	s.Page(t, "text is appended to the last or the targeted block", page, func(c *suite.Case) {
		c.TypeInto("#blocks", " end", nil)
		c.WantValue("blocks.innerText.replace(/\\s+/g, ' ')", "First Second bold end")
		c.TypeInto("#first", " more", nil)
		c.WantValue("first.innerText + '|' + second.innerText", "First more|Second bold end")
		c.TypeInto("#first", "Only", clearing)
		c.WantValue("first.innerText + '|' + second.innerText", "Only|Second bold end")
		c.TypeInto("#blocks", "All", clearing)
		c.WantValue("blocks.innerText", "All")
	})
	s.Page(t, "selection in an editor is replaced", page, func(c *suite.Case) {
		c.Eval("blocks.focus(), getSelection().selectAllChildren(second.querySelector('b'))", nil)
		c.TypeInto("#blocks", "brave", nil)
		c.WantValue("second.innerText", "Second brave")
	})
	s.Page(t, "editor with its own model", page, func(c *suite.Case) {
		c.TypeInto("#model", "one two", nil)
		c.TypeInto("#model", " three", keys)
		c.WantValue("text", "one two three")
		c.TypeInto("#model", "all new", clearing)
		c.WantValue("text", "all new")
		c.TypeInto("#model", "keys", &executor.TypeOptions{Clear: true, KeyEvents: true, PressEnter: true})
		c.WantValue("text", "keys¶")
	})
	s.Page(t, "editor that reverts text: reported", page, func(c *suite.Case) {
		c.WantIn(c.TypeInto("#guarded", "mine", nil).Note, "rejected the text", `"fixed"`)
		_, err := c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#guarded"), Value: "mine"}}, nil)
		c.WantCode(err, executor.ErrNotActionable, "#guarded", "rejected the text")
	})
	s.Page(t, "editor that renders text one animation frame later", page, func(c *suite.Case) {
		res := c.Fill(nil, executor.Field{Target: suite.Selector("#late"), Value: "soon"})
		c.WantNotIn(res.Note, "late")
		c.WantValue("late.innerText", "soon")
	})
	s.Page(t, "editable element in non-editable content", page, func(c *suite.Case) {
		c.TypeInto("#inner", " indeed", nil)
		c.WantValue("inner.innerText", "yes indeed")
	})
	s.Page(t, "editor in a shadow root", page, func(c *suite.Case) {
		const editor = "document.querySelector('shadow-editor').shadowRoot.firstChild.innerText"
		c.TypeInto("#shaded", " and new", nil)
		c.WantValue(editor, "old and new")
		c.TypeInto("#shaded", "new", clearing)
		c.WantValue(editor, "new")
	})
	s.Page(t, "ProseMirror: typed text", "typing-prosemirror.html", func(c *suite.Case) {
		c.TypeInto(".ProseMirror", " end", nil)
		c.WantValue("model()", "First bold|Second end")
		c.TypeInto(".ProseMirror p", "!", keys)
		c.WantValue("model()", "First bold!|Second end")
		c.TypeInto(".ProseMirror", "one\ntwo", &executor.TypeOptions{Clear: true, KeyEvents: true})
		c.WantValue("model()", "one|two")
		c.TypeInto(".ProseMirror", "你好 👨‍👩‍👧", clearing)
		c.WantValue("model()", "你好 👨‍👩‍👧")
		c.TypeInto(".ProseMirror", "", clearing)
		c.WantValue("model()", "")
	})
	s.Page(t, "ProseMirror: keys", "typing-prosemirror.html", func(c *suite.Case) {
		c.TypeInto(".ProseMirror", "abc", clearing)
		c.Key("Enter", nil)
		c.Key("d", nil)
		c.Key("Shift+ArrowLeft", nil)
		c.Key("Backspace", nil)
		c.Key("e", nil)
		c.WantValue("model()", "abc|e")
		c.Key("Control+a", nil)
		c.Key("x", nil)
		c.WantValue("model()", "x")
	})
}

package executortest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// snapshotInferredSecrets tests fields whose type and autocomplete attribute do not mark them as
// secret.
func (s *suite) snapshotInferredSecrets(t *testing.T) {
	const page = "snapshot_cards.html"
	secret, plain := regexp.MustCompile(`secret\d\d|907090`), regexp.MustCompile(`plain\d\d`)
	// wantMasked checks that a text contains, of all field values, only those that are not secret.
	wantMasked := func(c *testCase, text string) {
		c.Helper()
		text = regexp.MustCompile(`options: .*|(?s)<select.*?</select>`).ReplaceAllString(text, "")
		if found := secret.FindAllString(text, -1); len(found) > 0 {
			c.Errorf("%q is readable in:\n%s", found, text)
		}
		if found := plain.FindAllString(text, -1); len(found) != 14 {
			c.Errorf("of the fields that are not secret, only %q is in:\n%s", found, text)
		}
	}
	s.page(t, "secrets inferred from names and appearance are masked, other fields are not", page, func(c *testCase) {
		text := c.snap(nil)
		wantMasked(c, text)
		c.wantLines(bareLines(text), `textbox "CVV": ••••`, `combobox "Card expiry month": ••••`, `textbox "Password:": ••••`, `textbox "Circled": ••••`)
		c.wantNotIn(text, "Pay with secret21")
	})
	s.page(t, "secrets in HTML are masked, including textareas, lists and hidden fields", page, func(c *testCase) {
		c.click(css("#turn"), nil)
		c.wantValue("typed.type", "text")
		for _, target := range []executor.Target{{}, css("body")} {
			markup := c.markup(&executor.HTMLOptions{Target: target, MaxChars: 100_000})
			wantMasked(c, strings.ReplaceAll(markup.Content, "secret15", "")) // the content of an editor is text, not a value
			c.wantNotIn(markup.Content, "selected")
			c.wantIn(markup.Content, `name="password" type="hidden" value="••••"`, `id="area">••••</textarea>`)
		}
		for _, id := range []string{"area", "shown", "typed"} {
			markup := c.markup(&executor.HTMLOptions{Target: css("#" + id)})
			c.wantNotIn(markup.Content, "secret")
			c.wantIn(markup.Content, "••••")
		}
	})
	for _, name := range []string{"open", "shut"} {
		s.page(t, "password in a shadow root made visible stays masked: "+name, page, func(c *testCase) {
			if name == "shut" {
				c.snap(nil) // first snapshot, before the page shows the password
				c.eval("renew('shut')", nil)
			} else {
				c.click(css("#turn"), nil)
			}
			c.eval("unmask('"+name+"')", nil)
			c.wantValue("roots."+name+".querySelector('input').type", "text")
			text := c.snap(nil)
			c.wantIn(text, `"In the `+name+`"`)
			c.wantNotIn(text, "shadow01")
		})
	}
	s.page(t, "text typed into a field with a secret label is not reported", page, func(c *testCase) {
		c.snap(nil)
		_, err := c.page().Type(c.ctx, css("#byLabel"), "4222 2222 2222 2222", &executor.TypeOptions{Clear: true})
		c.wantCode(err, executor.ErrNotActionable, "at most 12 characters")
		c.await("input", "byLabel")
		c.wantNotIn(err.Error(), "4222", "2222", "secret04")
		c.wantNotIn(c.snap(&executor.SnapshotOptions{Diff: true}), "4222", "2222", "secret04")
		_, err = c.page().FillForm(c.ctx, []executor.Field{{Target: css("#byLabel"), Value: "4333 3333 3333 3333"}}, nil)
		c.wantCode(err, executor.ErrNotActionable, "at most 12")
		c.wantNotIn(err.Error(), "4333", "3333")
		_, err = c.page().FillForm(c.ctx, []executor.Field{{Target: css("#until"), Value: "in 77"}}, nil)
		c.wantCode(err, executor.ErrBadArgs, "a month field")
		c.wantNotIn(err.Error(), "in 77")
		f := c.fill(nil, executor.Field{Target: css("#shown"), Value: "hunter2"}, executor.Field{Target: css("#expires"), Value: "11/39"})
		c.wantNotIn(fmt.Sprintf("%+v", *f)+c.snap(&executor.SnapshotOptions{Diff: true}), "hunter2", "11/39")
	})
}

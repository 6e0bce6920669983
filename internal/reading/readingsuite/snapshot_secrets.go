package readingsuite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// snapshotInferredSecrets tests fields whose type and autocomplete attribute do not mark them as
// secret.
func snapshotInferredSecrets(s *suite.Runner, t *testing.T) {
	const page = "snapshot_cards.html"
	secret, plain := regexp.MustCompile(`secret\d\d|907090`), regexp.MustCompile(`plain\d\d`)
	// wantMasked checks that a text contains, of all field values, only those that are not secret.
	wantMasked := func(c *suite.Case, text string) {
		c.Helper()
		text = regexp.MustCompile(`options: .*|(?s)<select.*?</select>`).ReplaceAllString(text, "")
		if found := secret.FindAllString(text, -1); len(found) > 0 {
			c.Errorf("%q is readable in:\n%s", found, text)
		}
		if found := plain.FindAllString(text, -1); len(found) != 14 {
			c.Errorf("of the fields that are not secret, only %q is in:\n%s", found, text)
		}
	}
	s.Page(t, "secrets inferred from names and appearance are masked, other fields are not", page, func(c *suite.Case) {
		text := c.Snap(nil)
		wantMasked(c, text)
		wantLines(c, bareLines(text), `textbox "CVV": ••••`, `combobox "Card expiry month": ••••`, `textbox "Password:": ••••`, `textbox "Circled": ••••`)
		c.WantNotIn(text, "Pay with secret21")
	})
	s.Page(t, "secrets in HTML are masked, including textareas, lists and hidden fields", page, func(c *suite.Case) {
		c.Click(suite.Selector("#turn"), nil)
		c.WantValue("typed.type", "text")
		for _, target := range []executor.Target{{}, suite.Selector("body")} {
			markup := readHTML(c, &executor.HTMLOptions{Target: target, MaxChars: 100_000})
			wantMasked(c, strings.ReplaceAll(markup.Content, "secret15", "")) // the content of an editor is text, not a value
			c.WantNotIn(markup.Content, "selected")
			c.WantIn(markup.Content, `name="password" type="hidden" value="••••"`, `id="area">••••</textarea>`)
		}
		for _, id := range []string{"area", "shown", "typed"} {
			markup := readHTML(c, &executor.HTMLOptions{Target: suite.Selector("#" + id)})
			c.WantNotIn(markup.Content, "secret")
			c.WantIn(markup.Content, "••••")
		}
	})
	for _, name := range []string{"open", "shut"} {
		s.Page(t, "password in a shadow root made visible stays masked: "+name, page, func(c *suite.Case) {
			if name == "shut" {
				c.Snap(nil) // first snapshot, before the page shows the password
				c.Eval("renew('shut')", nil)
			} else {
				c.Click(suite.Selector("#turn"), nil)
			}
			c.Eval("unmask('"+name+"')", nil)
			c.WantValue("roots."+name+".querySelector('input').type", "text")
			text := c.Snap(nil)
			c.WantIn(text, `"In the `+name+`"`)
			c.WantNotIn(text, "shadow01")
		})
	}
	s.Page(t, "text typed into a field with a secret label is not reported", page, func(c *suite.Case) {
		c.Snap(nil)
		_, err := c.Page().Type(c.Ctx, suite.Selector("#byLabel"), "4222 2222 2222 2222", &executor.TypeOptions{Clear: true})
		c.WantCode(err, executor.ErrNotActionable, "at most 12 characters")
		c.Await("input", "byLabel")
		c.WantNotIn(err.Error(), "4222", "2222", "secret04")
		c.WantNotIn(c.Snap(&executor.SnapshotOptions{Diff: true}), "4222", "2222", "secret04")
		_, err = c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#byLabel"), Value: "4333 3333 3333 3333"}}, nil)
		c.WantCode(err, executor.ErrNotActionable, "at most 12")
		c.WantNotIn(err.Error(), "4333", "3333")
		_, err = c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#until"), Value: "in 77"}}, nil)
		c.WantCode(err, executor.ErrBadArgs, "a month field")
		c.WantNotIn(err.Error(), "in 77")
		f := c.Fill(nil, executor.Field{Target: suite.Selector("#shown"), Value: "hunter2"}, executor.Field{Target: suite.Selector("#expires"), Value: "11/39"})
		c.WantNotIn(fmt.Sprintf("%+v", *f)+c.Snap(&executor.SnapshotOptions{Diff: true}), "hunter2", "11/39")
	})
}

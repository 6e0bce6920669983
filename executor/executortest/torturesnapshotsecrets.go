package executortest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// snapshotSecretsUntold has fields whose markup does not say by itself that
// they hold a secret.
func (s *suite) snapshotSecretsUntold(t *testing.T) {
	const page = "snapshot_cards.html"
	secret, plain := regexp.MustCompile(`secret\d\d|907090`), regexp.MustCompile(`plain\d\d`)
	// wantMasked checks what is in a text: of all fields, those that are no secret.
	wantMasked := func(c *scene, text string) {
		c.Helper()
		text = regexp.MustCompile(`options: .*|(?s)<select.*?</select>`).ReplaceAllString(text, "")
		if found := secret.FindAllString(text, -1); len(found) > 0 {
			c.Errorf("%q can be read in:\n%s", found, text)
		}
		if found := plain.FindAllString(text, -1); len(found) != 14 {
			c.Errorf("of what is no secret only %q is there in:\n%s", found, text)
		}
	}
	s.page(t, "secrets are masked by what fields are called and look like, and nothing else", page, func(c *scene) {
		text := c.snap(nil)
		wantMasked(c, text)
		c.wantLines(bareLines(text), `textbox "CVV": ••••`, `combobox "Card expiry month": ••••`, `textbox "Password:": ••••`, `textbox "Circled": ••••`)
		c.wantNotIn(text, "Pay with secret21")
	})
	s.page(t, "secrets in the markup are masked, those of areas, lists and hidden fields too", page, func(c *scene) {
		c.click(css("#turn"), nil)
		c.wantValue("typed.type", "text")
		for _, target := range []executor.Target{{}, css("body")} {
			markup, err := c.exec.HTML(c.ctx, c.tab, &executor.HTMLOptions{Target: target, MaxChars: 100_000})
			if err != nil {
				c.Fatal(err)
			}
			wantMasked(c, strings.ReplaceAll(markup.HTML, "secret15", "")) // what is in an editor is text, not a value
			c.wantNotIn(markup.HTML, "selected")
			c.wantIn(markup.HTML, `name="password" type="hidden" value="••••"`, `id="area">••••</textarea>`)
		}
		for _, id := range []string{"area", "shown", "typed"} {
			markup, err := c.exec.HTML(c.ctx, c.tab, &executor.HTMLOptions{Target: css("#" + id)})
			if err != nil {
				c.Fatal(err)
			}
			c.wantNotIn(markup.HTML, "secret")
			c.wantIn(markup.HTML, "••••")
		}
	})
	for _, name := range []string{"open", "shut"} {
		s.page(t, "a password in a shadow root stays masked when the page shows it: "+name, page, func(c *scene) {
			if name == "shut" {
				c.snap(nil) // nobody knows of it before
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
	s.page(t, "what is typed into a field that a label makes a secret is not told", page, func(c *scene) {
		c.snap(nil)
		_, err := c.exec.Type(c.ctx, c.tab, css("#byLabel"), "4222 2222 2222 2222", &executor.TypeOptions{Clear: true})
		c.wantCode(err, executor.ErrNotActionable, "at most 12 characters")
		c.await("input", "byLabel")
		c.wantNotIn(err.Error(), "4222", "2222", "secret04")
		c.wantNotIn(c.snap(&executor.SnapshotOptions{Diff: true}), "4222", "2222", "secret04")
		_, err = c.exec.FillForm(c.ctx, c.tab, []executor.Field{{Target: css("#byLabel"), Value: "4333 3333 3333 3333"}}, nil)
		c.wantCode(err, executor.ErrNotActionable, "at most 12")
		c.wantNotIn(err.Error(), "4333", "3333")
		_, err = c.exec.FillForm(c.ctx, c.tab, []executor.Field{{Target: css("#until"), Value: "in 77"}}, nil)
		c.wantCode(err, executor.ErrBadArgs, "a month field")
		c.wantNotIn(err.Error(), "in 77")
		f, err := c.exec.FillForm(c.ctx, c.tab, []executor.Field{{Target: css("#shown"), Value: "hunter2"}, {Target: css("#expires"), Value: "11/39"}}, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.wantNotIn(fmt.Sprintf("%+v", *f)+c.snap(&executor.SnapshotOptions{Diff: true}), "hunter2", "11/39")
	})
}

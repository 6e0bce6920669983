package executortest

import (
	"bytes"
	"context"
	"image"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// testSecrets are the secrets of a case: shop.password, shop.totp and shop.username, of which the
// last one has a selector.
type testSecrets struct{ origin string }

// secretValue is the password.
const secretValue = "Kw7#qLz9&vX"

// List implements executor.Secrets.
func (s *testSecrets) List(context.Context) ([]executor.SecretInfo, error) {
	return []executor.SecretInfo{{Name: "shop", Fields: []string{"password", "totp", "username"}, Origins: []string{s.origin}}}, nil
}

// Find implements executor.Secrets.
func (s *testSecrets) Find(_ context.Context, name, field string) (*executor.SecretField, bool, error) {
	values := map[string]string{"password": secretValue, "totp": "755224", "username": "zephyrine"}
	if name != "shop" || values[field] == "" {
		return nil, false, nil
	}
	secret := &executor.SecretField{Name: name, Field: field, Origins: []string{s.origin}, Value: func(context.Context) (string, error) { return values[field], nil }}
	if field == "username" {
		secret.Selector = "#user"
	}
	return secret, true, nil
}

// secrets tests text with placeholders.
func (s *suite) secrets(t *testing.T) {
	secret := func(name, file string, f func(c *testCase)) {
		known := &testSecrets{}
		s.pageWith(t, name, "", executor.SessionOptions{Gate: executor.AllowAll, Secrets: known}, func(c *testCase) {
			known.origin = c.origin()
			c.tab = c.open(file)
			f(c)
		})
	}
	// denied types the password into a field, which must fail.
	denied := func(c *testCase, target executor.Target, want ...string) {
		c.Helper()
		_, err := c.page().Type(c.ctx, target, "{{shop.password}}", nil)
		c.wantCode(err, executor.ErrPolicyDenied, append(want, "nothing was typed")...)
	}
	secret("typed only into fields for them", "secrets.html", func(c *testCase) {
		denied(c, css("#comment"), "another field")
		denied(c, css("#user"), "another field")
		c.typeInto("#user", "{{shop.username}}", nil)
		if r := c.await("input", "user"); r.Value != "zephyrine" {
			c.Errorf("user: %+v", r)
		}
		c.typeInto("#code", "{{shop.totp}}", nil)
		if r := c.await("input", "code"); r.Value != "755224" {
			c.Errorf("code: %+v", r)
		}
		a := c.typeInto("#password", "a{{shop.password}}b", &executor.TypeOptions{Clear: true})
		if r := c.await("input", "password"); r.Value != "a"+secretValue+"b" {
			c.Errorf("password: %+v", r)
		}
		text := c.snap(nil)
		c.wantNotIn(text+a.Diff+a.Note, secretValue, "755224", "zephyrine")
		if n := strings.Count(text, ": ••••"); n != 3 {
			c.Errorf("%d fields are masked:\n%s", n, text)
		}
		res := c.fill(nil, executor.Field{Target: css("#password"), Value: "{{shop.password}}"}, executor.Field{Target: css("#code"), Value: "{{shop.pin}}"})
		c.wantIn(res.Note, "secret {{shop.pin}} not found")
		if r := c.await("input", "password"); r.Value != secretValue {
			c.Errorf("password: %+v", r)
		}
	})
	secret("not typed in documents of other origins", "secrets.html?attack=frame", func(c *testCase) {
		snapshot := c.snap(nil)
		_, frame, ok := strings.Cut(snapshot, "iframe")
		if !ok {
			c.Fatalf("no frame in\n%s", snapshot)
		}
		denied(c, byRef(c.refIn(frame, "textbox", "Password")), "is for "+c.origin())
		tab := c.openURL(c.otherURL("secrets.html"))
		c.tab = tab.ID
		denied(c, css("#password"), "is for "+c.origin())
	})
	secret("not typed if the field changes when it gets the focus", "secrets.html?attack=unmask", func(c *testCase) {
		denied(c, css("#password"), "another field")
		c.wantValue("password.value", "")
	})
	secret("typed into the field if the page moves the focus", "secrets.html?attack=move", func(c *testCase) {
		a := c.typeInto("#password", "{{shop.password}}", &executor.TypeOptions{PressEnter: true})
		c.wantIn(a.Note, "moved the focus", "Enter was not pressed")
		if r := c.await("input", "password"); r.Value != secretValue {
			c.Errorf("password: %+v", r)
		}
		if text := c.snap(nil); !strings.Contains(text, `textbox "Comment"`) || strings.Contains(text, `"Comment": `) {
			c.Errorf("the other field has a value:\n%s", text)
		}
	})
	secret("not typed into a document that replaces the page", "secrets.html?attack=away", func(c *testCase) {
		c.page().Type(c.ctx, css("#password"), "{{shop.password}}", nil)
		c.met(executor.WaitCondition{URL: c.otherOrigin() + "*"})
		denied(c, css("#password"), "is for")
		if text := c.snap(nil); strings.Contains(text, "••••") {
			c.Errorf("the new document has a value:\n%s", text)
		}
	})
	secret("scripts are denied afterwards", "secrets.html", func(c *testCase) {
		c.typeInto("#password", "{{shop.password}}", nil)
		c.await("input", "password")
		afterwards := func(err error) {
			c.Helper()
			c.wantCode(err, executor.ErrPolicyDenied, "a secret was typed")
		}
		_, err := c.page().Eval(c.ctx, "password.value", nil)
		afterwards(err)
		_, err = c.page().Eval(c.ctx, "(field) => field.value", &executor.EvalOptions{Target: css("#password")})
		afterwards(err)
		_, err = c.page().CDP(c.ctx, "Runtime.evaluate", map[string]any{"expression": "password.value"})
		afterwards(err)
		_, err = c.page().CDP(c.ctx, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "1"})
		afterwards(err)
		_, err = c.page().WaitFor(c.ctx, executor.WaitCondition{Expression: "password.value"})
		afterwards(err)
		_, err = c.page().WaitFor(c.ctx, executor.WaitCondition{Selector: `#password[value^="K"]`})
		afterwards(err)
		if _, err = c.page().Navigate(c.ctx, c.url("read.html"), nil); err != nil {
			c.Fatal(err)
		}
		_, err = c.page().Eval(c.ctx, "1", nil)
		afterwards(err)
		c.tab = c.open("secrets.html")
		c.eval("1", nil)
		denied(c, css("#password"), "a script of a client has run")
	})
	secret("screenshots hide the fields", "secrets.html", func(c *testCase) {
		c.typeInto("#code", "{{shop.totp}}", nil)
		c.await("input", "code")
		c.wantHidden("#code")
	})
}

// wantHidden checks that a screenshot hides a field.
func (c *testCase) wantHidden(field string) {
	c.Helper()
	shot, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{Target: css(field)})
	if err != nil {
		c.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		c.Fatal(err)
	}
	b := img.Bounds().Inset(2)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, b, _ := img.At(x, y).RGBA(); r>>8 != 64 || g>>8 != 64 || b>>8 != 64 {
				c.Fatalf("pixel %d, %d shows the field", x, y)
			}
		}
	}
}

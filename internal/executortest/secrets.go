package executortest

import (
	"bytes"
	"context"
	"image"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
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
func secrets(s *suite.Runner, t *testing.T) {
	secret := func(s *suite.Runner, name, file string, f func(c *suite.Case)) {
		known := &testSecrets{}
		s.PageWith(t, name, "", executor.SessionOptions{Gate: executor.AllowAll, Secrets: known}, func(c *suite.Case) {
			known.origin = c.Origin()
			c.Tab = c.Open(file)
			f(c)
		})
	}
	// denied types the password into a field, which must fail.
	denied := func(c *suite.Case, target executor.Target, want ...string) {
		c.Helper()
		_, err := c.Page().Type(c.Ctx, target, "{{shop.password}}", nil)
		c.WantCode(err, executor.ErrPolicyDenied, append(want, "nothing was typed")...)
	}
	secret(s.Shared(), "typed only into fields for them", "secrets.html", func(c *suite.Case) {
		denied(c, suite.Selector("#comment"), "another field")
		denied(c, suite.Selector("#user"), "another field")
		c.TypeInto("#user", "{{shop.username}}", nil)
		if r := c.Await("input", "user"); r.Value != "zephyrine" {
			c.Errorf("user: %+v", r)
		}
		c.TypeInto("#code", "{{shop.totp}}", nil)
		if r := c.Await("input", "code"); r.Value != "755224" {
			c.Errorf("code: %+v", r)
		}
		a := c.TypeInto("#password", "a{{shop.password}}b", &executor.TypeOptions{Clear: true})
		if r := c.Await("input", "password"); r.Value != "a"+secretValue+"b" {
			c.Errorf("password: %+v", r)
		}
		text := c.Snap(nil)
		c.WantNotIn(text+a.Diff+a.Note, secretValue, "755224", "zephyrine")
		if n := strings.Count(text, ": ••••"); n != 3 {
			c.Errorf("%d fields are masked:\n%s", n, text)
		}
		res := c.Fill(nil, executor.Field{Target: suite.Selector("#password"), Value: "{{shop.password}}"}, executor.Field{Target: suite.Selector("#code"), Value: "{{shop.pin}}"})
		c.WantIn(res.Note, "secret {{shop.pin}} not found")
		if r := c.Await("input", "password"); r.Value != secretValue {
			c.Errorf("password: %+v", r)
		}
	})
	secret(s.Shared(), "not typed in documents of other origins", "secrets.html?attack=frame", func(c *suite.Case) {
		snapshot := c.Snap(nil)
		_, frame, ok := strings.Cut(snapshot, "iframe")
		if !ok {
			c.Fatalf("no frame in\n%s", snapshot)
		}
		denied(c, suite.ByRef(c.RefIn(frame, "textbox", "Password")), "is for "+c.Origin())
		tab := c.OpenURL(c.OtherURL("secrets.html"))
		c.Tab = tab.ID
		denied(c, suite.Selector("#password"), "is for "+c.Origin())
	})
	secret(s.Shared(), "not typed if the field changes when it gets the focus", "secrets.html?attack=unmask", func(c *suite.Case) {
		denied(c, suite.Selector("#password"), "another field")
		c.WantValue("password.value", "")
	})
	secret(s.Shared(), "typed into the field if the page moves the focus", "secrets.html?attack=move", func(c *suite.Case) {
		a := c.TypeInto("#password", "{{shop.password}}", &executor.TypeOptions{PressEnter: true})
		c.WantIn(a.Note, "moved the focus", "Enter was not pressed")
		if r := c.Await("input", "password"); r.Value != secretValue {
			c.Errorf("password: %+v", r)
		}
		if text := c.Snap(nil); !strings.Contains(text, `textbox "Comment"`) || strings.Contains(text, `"Comment": `) {
			c.Errorf("the other field has a value:\n%s", text)
		}
	})
	secret(s.Shared(), "not typed into a document that replaces the page", "secrets.html?attack=away", func(c *suite.Case) {
		c.Page().Type(c.Ctx, suite.Selector("#password"), "{{shop.password}}", nil)
		c.Met(executor.WaitCondition{URL: c.OtherOrigin() + "*"})
		denied(c, suite.Selector("#password"), "is for")
		if text := c.Snap(nil); strings.Contains(text, "••••") {
			c.Errorf("the new document has a value:\n%s", text)
		}
	})
	secret(s.Shared(), "scripts are denied afterwards", "secrets.html", func(c *suite.Case) {
		c.TypeInto("#password", "{{shop.password}}", nil)
		c.Await("input", "password")
		afterwards := func(err error) {
			c.Helper()
			c.WantCode(err, executor.ErrPolicyDenied, "a secret was typed")
		}
		_, err := c.Page().Eval(c.Ctx, "password.value", nil)
		afterwards(err)
		_, err = c.Page().Eval(c.Ctx, "(field) => field.value", &executor.EvalOptions{Target: suite.Selector("#password")})
		afterwards(err)
		_, err = c.Page().CDP(c.Ctx, "Runtime.evaluate", map[string]any{"expression": "password.value"})
		afterwards(err)
		_, err = c.Page().CDP(c.Ctx, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "1"})
		afterwards(err)
		_, err = c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Expression: "password.value"})
		afterwards(err)
		_, err = c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Visible: suite.Selector(`#password[value^="K"]`)})
		afterwards(err)
		if _, err = c.Page().Navigate(c.Ctx, c.URL("read.html"), nil); err != nil {
			c.Fatal(err)
		}
		_, err = c.Page().Eval(c.Ctx, "1", nil)
		afterwards(err)
		c.Tab = c.Open("secrets.html")
		c.Eval("1", nil)
		denied(c, suite.Selector("#password"), "a script of a client has run")
	})
	secret(s.Shared(), "screenshots hide the fields", "secrets.html", func(c *suite.Case) {
		c.TypeInto("#code", "{{shop.totp}}", nil)
		c.Await("input", "code")
		wantHidden(c, "#code")
	})
	secret(s.Shared(), "screenshots hide a field that replaces the one with a secret, and PDFs are denied", "secrets.html", func(c *suite.Case) {
		c.TypeInto("#password", "{{shop.password}}", nil)
		c.Click(suite.Selector("#show"), nil)
		c.Await("shown", "password")
		wantHidden(c, "#shown")
		if !c.H.SharedClipboard {
			for _, key := range []string{"Control+a", "Control+c"} {
				c.Must(c.Page().Press(c.Ctx, key, &executor.PressOptions{Target: suite.Selector("#shown")}))
			}
			c.Must(c.Page().Press(c.Ctx, "Control+v", &executor.PressOptions{Target: suite.Selector("#comment")}))
			c.Must(c.Page().Press(c.Ctx, "x", &executor.PressOptions{Target: suite.Selector("#comment")}))
			if r := c.Await("input", "comment"); strings.Contains(r.Value, secretValue) {
				c.Error("the secret was copied to another field")
			}
		}
		_, err := c.Page().SavePDF(c.Ctx, nil)
		c.WantCode(err, executor.ErrPolicyDenied, "a field of the page has a secret")
		c.Must(c.Page().Navigate(c.Ctx, c.URL("read.html"), nil))
		c.Must(c.Page().SavePDF(c.Ctx, nil))
	})
}

// wantHidden checks that a screenshot hides a field.
func wantHidden(c *suite.Case, field string) {
	c.Helper()
	shot, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Target: suite.Selector(field)})
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

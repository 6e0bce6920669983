package readingsuite

import (
	"regexp"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// selectors tests which elements selectors match. That these are the same as in Playwright is
// tested with Playwright itself: see tools/cdp/selectors.mjs.
func selectors(s *suite.Runner, t *testing.T) {
	s.Page(t, "prefixes", "selectors.html", func(c *suite.Case) {
		wantMatches(c, [][2]string{
			{"label=email address", "email"}, {`label="Email address"`, "email"}, {"label=/^EMAIL/i", "email"}, {"label=Name", "name"},
			{"label=phone", "phone"}, {"label=zip", "zip"}, {"Label = Zip code", "zip"}, {"label=deep", "deep-field"},
			{"placeholder=YOU@", "email"}, {`placeholder="you@example.com"`, "email"}, {"placeholder=/^you/", "email"},
			{"alt=blue", "blue"}, {`alt="Red lamp"`, "red"}, {"alt=/^b/i", "blue"}, {"title=about", "more"}, {`title="More about it"`, "more"},
			{"testid=order", "form"}, {`testid="deep"`, "deep-field"}, {"testid=/^d/", "deep-field"},
			{"text=floor", "floor-name"}, {`text="Desk lamp"`, "desk-name"}, {"text=/^b.*t$/", "bright"}, {"text=/^send/i", "send"},
			{`"On Sale"`, "floor-text"}, {"text=Don't", "stop"}, {`text="Next >>"`, "next"},
			{`role=button[name=/^s.*t$/i]`, "send"}, {`role=heading[name=/[F/]loor/]`, "floor-name"},
		})
	})
	s.Page(t, "texts that a user cannot distinguish", "same-text.html", func(c *suite.Case) {
		wantMatches(c, [][2]string{
			{"text=Café crème", "cafe"}, {`text="Café crème"`, "cafe"}, {"text=/^Café cr/", "cafe"}, {`role=button[name="Café crème"]`, "cafe"},
			{`button:has-text("café")`, "cafe"}, {`:text-is("Donaudampfschiff")`, "ship"}, {"text=donaudampfschiff", "ship"}, {`text="Add to cart"`, "add"},
			{`role=button[name="STRASSE"]`, "icon"}, {"text=straße", "icon"}, {"label=Prénom", "name"}, {"placeholder=Renée", "name"}, {`alt="Un été"`, "summer"},
			{"text=Cafe\u0301 CRE\u0300ME", "cafe"}, {"text=\"Do\u00adnaudampfschiff\"", "ship"},
		})
		c.Met(executor.WaitCondition{Text: "résumé de la pièce"})
		text := c.Snap(nil)
		c.WantIn(text, `textbox "Passwort" [ref=`, ": ••••") // a secret by its label
		c.WantNotIn(text, "secret42")
		for find, line := range map[string]string{
			"résumé de": "text: Le résumé de la pièce", "/Cafe\u0301/": "button \"Café crème\"", "Donaudampf": `button "Donaudampfschiff"`,
			"add\u00a0to cart": `button "Add to cart"`, "straße": `button "STRASSE"`, `Say "yes"`: `button "Say \"yes\""`,
		} {
			c.WantIn(c.Snap(&executor.SnapshotOptions{Find: find}), line)
		}
		if sel, err := c.Page().SelectOption(c.Ctx, suite.Selector("#city"), []string{"Orléans Sud"}, nil); err != nil || sel.Selected[0] != "2" {
			c.Errorf("select: %+v, %v", sel, err)
		}
		for _, field := range []string{"#name", "#notes"} {
			if a, err := c.Page().Type(c.Ctx, suite.Selector(field), "Café", nil); err != nil || a.Note != "" {
				c.Errorf("type into %s: %+v, %v; want no note", field, a, err)
			}
		}
	})
	s.Page(t, "CSS and XPath", "selectors.html", func(c *suite.Case) {
		wantMatches(c, [][2]string{
			{`.card:has-text("on  sale") > button`, "buy-floor"}, {`.card:not(:has-text("sale")) button`, "buy-desk"}, {`section:has(h2:text("floor"))`, "floor"},
			{`button:text-is("Save it")`, "save"}, {`:text-matches("^AN", "i")`, "image"}, {"#floor button:visible", "buy-floor"}, {":nth-match(.row, 2)", "two"},
			{"section > h2 + p", "desk-text"}, {"h2 ~ button + button", "more"}, {`li:has-text("T\77 o")`, "two"},
			{"#host .panel button", "save"}, {".box .box input", "deep-field"}, {".box > .panel > .box > .panel", "deep"}, {".box:has(> .panel > label)", "nested"},
			{".panel:not(.box .box *)", "shadow"}, {"#host > #slotted", "slotted"},
			{"//section[2]/h2", "floor-name"}, {"(//li)[last()]", "three"}, {"xpath=/html/body/h1", "heading"}, {`xpath=id("two")/following-sibling::li`, "three"},
		})
	})
	s.Page(t, "chains", "selectors.html", func(c *suite.Case) {
		wantMatches(c, [][2]string{
			{".card >> nth=1", "floor"}, {".card>>nth=-1", "floor"}, {".row >> nth=-2", "two"}, {".card >> nth=1 >> text=buy", "buy-floor"},
			{"#floor >> button >> visible=false", "hidden-buy"}, {"button >> visible=true >> nth=2", "buy-floor"}, {"css=#desk >> css=> button", "buy-desk"},
			{"#bright >> ..", "desk-text"}, {"#bright >> .. >> ..", "desk"}, {".card >> //button[2]", "more"}, {"#host >> role=button", "save"}, {".box >> .box >> label=deep", "deep-field"},
			{`.card:has-text("sale") >> role=button`, "buy-floor"}, {"text=/one >> two|three/i", "three"}, {"text=Don't >> nth=0", "stop"}, {"form >> label=name", "name"},
		})
		// The section is not in the element before it.
		for _, selector := range []string{"#desk >> section button", ".row >> nth=5", "#host >> //button"} {
			_, err := c.Page().Click(c.Ctx, suite.Selector(selector), nil)
			c.WantCode(err, executor.ErrSelectorNotFound)
		}
		a := c.Click(suite.Selector(".card >> button"), nil)
		c.Await("click", "buy-desk")
		c.WantIn(a.Note, "4 elements")
		if a := c.Click(suite.Selector("section >> nth=-1 >> text=Buy >> visible=true"), nil); a.Note != "" {
			c.Errorf("note %q for one match", a.Note)
		}
		c.Await("click", "buy-floor")
	})
	s.Page(t, "selectors in frames", "selectors.html", func(c *suite.Case) {
		c.Met(executor.WaitCondition{Visible: suite.Selector("#framed-inner")})
		wantMatches(c, [][2]string{
			{"text=Framed", "framed-inner"}, {".inner >> nth=-1", "framed-second"}, {".row >> nth=0", "one"}, {".row >> nth=2", "three"}, {"//p[@class='inner'][2]", "framed-second"},
		})
	})
	s.Page(t, "invalid selectors", "selectors.html", func(c *suite.Case) {
		for _, bad := range [][2]string{
			{"div[", `"div[" is not a valid selector`}, {"> p", "not a valid selector"}, {"p >", "not a valid selector"}, {"#desk >> p:nope", `"p:nope" is not a valid selector`},
			{"text=", "text= requires a text"}, {`label=""`, "label= requires a text"}, {"text=/(/", "not a regular expression"}, {"text=/usr/bin", "quote a text that begins with /"},
			{"#desk >>", "empty before or after >>"}, {"text=Next >>", `text="Next >>"`}, {"nth=0", "must follow another selector"}, {"li >> nth=last", "nth=-1 the last one"},
			{"li >> visible=yes", "requires true or false"}, {"id=desk", `[id="…"]`}, {"internal:label=x", "label="}, {"role=button[name=/(/]", "not a regular expression"},
			{"//div[", "not a valid XPath expression"}, {"xpath=count(//p)", "not a valid XPath expression"}, {"//a/@href", "write the condition in brackets"},
			{"p:has-text(Sale)", `:has-text("Save")`}, {`p:has-text("")`, "requires a text"}, {`p:text-matches("(")`, "not a regular expression"}, {":nth-match(p)", ":nth-match(.row, 2)"},
			{`p:contains("Sale")`, `write :has-text("…")`}, {"p:near(h1)", "not supported"}, {"li:first", ">> nth=0"},
		} {
			_, err := c.Page().Click(c.Ctx, suite.Selector(bad[0]), nil)
			c.WantCode(err, executor.ErrBadArgs, bad[1])
		}
	})
}

// idAttribute matches the id at the beginning of the HTML of an element.
var idAttribute = regexp.MustCompile(`^<[a-z0-9]+[^>]*? id="([^"]*)"`)

// wantMatches checks which element each selector means: the first visible match, or else the first
// one. A pair is a selector and an id.
func wantMatches(c *suite.Case, pairs [][2]string) {
	c.Helper()
	for _, pair := range pairs {
		got, err := c.Page().HTML(c.Ctx, &executor.HTMLOptions{Target: suite.Selector(pair[0])})
		if err != nil {
			c.Errorf("%s: %v", pair[0], err)
			continue
		}
		if id := idAttribute.FindStringSubmatch(got.Content); id == nil || id[1] != pair[1] {
			c.Errorf("%s: got %.60s, want #%s", pair[0], got.Content, pair[1])
		}
	}
}

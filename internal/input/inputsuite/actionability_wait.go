package inputsuite

import (
	"fmt"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func actionabilityWait(s *suite.Runner, t *testing.T) {
	// The page makes each element actionable after a delay and reports it.
	for _, p := range []struct{ name, id, later string }{
		{"is added to the page", "late", `later(300, () => { place.innerHTML = "<button id=late data-report='mousedown click'>Late</button>"; watch(place); }, "late")`},
		{"is temporarily covered", "covered", `later(300, () => curtain.remove(), "covered")`},
		{"is enabled", "disabled", `later(300, () => { disabled.disabled = false; }, "disabled")`},
		{"aria-disabled is removed", "aria", `later(300, () => aria.removeAttribute("aria-disabled"), "aria")`},
		{"becomes visible", "hidden", `later(300, () => { hidden.style.visibility = ""; }, "hidden")`},
		{"display: none is removed", "none", `later(300, () => { none.style.display = ""; }, "none")`},
		{"moves in a CSS transition", "glides", `glides.style.left = "900px"; glides.offsetLeft; glides.style.transition = "left 300ms"; glides.ontransitionend = () => report("ready", "glides"); glides.style.left = 0`},
		{"moves in a CSS animation", "glides", `glides.animate([{ left: "900px" }, { left: 0 }], 300).finished.then(() => report("ready", "glides"))`},
		{"is moved by a script", "glides", `run(300, "glides", (part) => { glides.style.left = 900 - 900 * part + "px"; })`},
		{"its container moves in a transform", "sways", `swaying.className = ""; swaying.animate([{ translate: "-600px 0" }, { translate: 0 }], 300).finished.then(() => report("ready", "sways"))`},
		{"is moved by a script in a shadow root", "shaded", `run(300, "shaded", (part) => { shaded.style.left = 900 - 900 * part + "px"; })`},
		{"moves in a CSS animation in a shadow root", "shaded", `shaded.animate([{ left: "900px" }, { left: 0 }], 300).finished.then(() => report("ready", "shaded"))`},
		{"is moved down by content that opens above it", "pushed", `drawer.style.height = "400px"; drawer.ontransitionend = () => report("ready", "pushed")`},
		{"SVG shape moved by an attribute", "shape", `run(300, "shape", (part) => shape.setAttribute("x", 600 - 600 * part))`},
		{"in a scroller during smooth scrolling", "coasts", `momentum.onscrollend = () => report("ready", "coasts"); momentum.scrollTo({ top: 9999, behavior: "smooth" })`},
		{"is replaced by an enabled element", "old", `later(300, () => { place.innerHTML = "<button id=old data-report='mousedown click'>Rendered</button>"; watch(place); }, "old")`},
		{"is replaced repeatedly", "old", `run(300, "old", (part) => { place.innerHTML = "<button id=old data-report='mousedown click' " + (part < 1 ? "disabled" : "") + ">Rendered</button>"; watch(place); })`},
	} {
		s.Page(t, p.name, "actionability-wait.html", func(c *suite.Case) {
			waitIdle(c)
			c.Eval(p.later, nil)
			c.Click(suite.Selector("#"+p.id), nil)
			c.WantReported("ready "+p.id, "mousedown "+p.id)
		})
	}
	for _, p := range []struct{ name, id, end string }{
		{"is covered until a page timer fires", "covered", "curtain.remove()"},
		{"is disabled until a page timer fires", "disabled", "disabled.disabled = false"},
	} {
		s.Page(t, p.name, "actionability-wait.html", func(c *suite.Case) {
			waitIdle(c)
			c.Eval("later(2500, () => { "+p.end+" }, '"+p.id+"')", nil)
			c.Click(suite.Selector("#"+p.id), nil)
			c.WantReported("ready "+p.id, "mousedown "+p.id)
		})
	}
	for _, p := range []struct{ name, id, end string }{
		{"is covered while a request is in flight", "covered", "curtain.remove()"},
		{"is disabled while a request is in flight", "disabled", "disabled.disabled = false"},
	} {
		s.Page(t, p.name, "actionability-wait.html", func(c *suite.Case) {
			c.Eval(fmt.Sprintf("fetch(%q).then(() => { %s; report('ready', %q); }); later(4500, () => {}, 'released'); 0", c.HeldURL("validation"), p.end, p.id), nil)
			c.AwaitRequest("validation")
			clicked := make(chan error, 1)
			go func() {
				clicked <- suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#"+p.id), &executor.ClickOptions{Timeout: suite.NeverTimeout}))
			}()
			c.Await("ready", "released")
			c.Release("validation")
			if err := <-clicked; err != nil {
				c.Fatal(err)
			}
			c.WantReported("ready "+p.id, "mousedown "+p.id)
		})
	}
	s.Page(t, "is covered by an overlay with a spinner", "actionability-wait.html", func(c *suite.Case) {
		c.Eval(`curtain.innerHTML = "<i class=spin style='display: inline-block'>*</i>"; later(4500, () => curtain.remove(), "covered")`, nil)
		c.Click(suite.Selector("#covered"), nil)
		c.WantReported("ready covered", "mousedown covered")
	})
	s.Page(t, "another match becomes visible", "actionability-wait.html", func(c *suite.Case) {
		c.Eval(`none.className = "twin"; later(300, () => { place.innerHTML = "<button id=late class=twin data-report='mousedown click'>Late</button>"; watch(place); }, "late")`, nil)
		c.Clicked(suite.Selector(".twin"), "late")
	})
	s.Page(t, "is re-rendered while a call waits for its ref", "actionability-wait.html", func(c *suite.Case) {
		ref := c.Ref("button", "Rendered")
		c.Eval(`later(200, () => { place.innerHTML = "<button id=old data-report='mousedown click'>Rendered</button>"; watch(place); }, "old")`, nil)
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), &executor.ClickOptions{Timeout: suite.NeverTimeout})
		c.WantCode(err, executor.ErrRefExpired, string(ref))
		c.WantUntouched("mousedown")
		heir := candidate(err, "button", "Rendered")
		if heir == "" || heir == ref {
			c.Fatalf("the error offers %q for the new button: %v", heir, err)
		}
		c.Clicked(suite.ByRef(heir), "old")
	})
	s.Page(t, "page navigates while the call waits", "actionability-wait.html", func(c *suite.Case) {
		c.Eval(`setTimeout(() => location.href = "click.html", 200)`, nil)
		c.Click(suite.Selector("#save, #disabled"), nil)
		c.Await("click", "save")
	})
	for _, p := range []struct{ name, id, run string }{
		{"a spinner elsewhere does not delay the click", "plain", `elsewhere.className = "spin"`},
		{"a script animation elsewhere does not delay the click", "plain", `requestAnimationFrame(function f(t) { elsewhere.style.translate = t % 9 + "px"; requestAnimationFrame(f); })`},
		{"a spinner inside the target does not delay the click", "busy", ``},
		{"own infinite animation does not delay the click", "pulses", ``},
	} {
		s.Page(t, p.name, "actionability-wait.html", func(c *suite.Case) {
			if p.run != "" {
				c.Eval(p.run, nil)
			}
			c.Clicked(suite.Selector("#"+p.id), p.id)
			if tier.DeepEnabled() {
				suite.Quick(c, suite.Selector("#"+p.id), 300*time.Millisecond)
			}
		})
	}
	s.Page(t, "never stable: its container moves", "actionability-wait.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#sways"), nil)
		c.WantCode(err, executor.ErrNotActionable, "Sways", "not stable")
		c.WantUntouched("sways")
	})
	for _, p := range [][3]string{
		{"permanently disabled", "disabled", "disabled"},
		{"permanently aria-disabled", "aria", "disabled"},
		{"permanently invisible", "hidden", "not visible"},
		{"permanently without a box", "none", "not visible"},
		{"permanently covered", "covered", `alert "Loading" [ref=`},
	} {
		s.Page(t, p[0], "actionability-wait.html", func(c *suite.Case) { blocked(c, p[1], p[2]) })
	}
}

// waitIdle waits until the page has been idle for so long that the next call checks stability only
// once.
func waitIdle(c *suite.Case) {
	c.Helper()
	c.Eval("new Promise((resolve) => setTimeout(resolve, 150))", nil)
}

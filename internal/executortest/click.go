package executortest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

func (s *suite) click(t *testing.T) {
	s.page(t, "plain", "click.html", func(c *testCase) {
		a := c.click(css("#plain"), nil)
		for _, kind := range []string{"pointerdown", "mousedown", "mouseup", "click"} {
			r := c.await(kind, "plain")
			if !r.Trusted || r.Button != 0 {
				c.Errorf("%s: %+v, want trusted, left button", kind, r)
			}
		}
		if a.URL != "" || a.Title != "" || a.Dialog != nil || len(a.NewTabs) != 0 {
			c.Errorf("changes: %+v, want none", a.Changes)
		}
	})
	s.page(t, "workers and worklets that clicks start run", "click.html", func(c *testCase) {
		c.eval(`document.querySelector("#plain").onclick = () => {
			new Worker(URL.createObjectURL(new Blob(["postMessage(0)"]))).onmessage = () => report("runs", "worker");
			CSS.paintWorklet.addModule(URL.createObjectURL(new Blob(["0"], {type: "text/javascript"}))).then(() => report("runs", "worklet"));
		}; 0`, nil)
		for range 5 {
			c.click(css("#plain"), nil)
			c.await("runs", "worker")
			c.await("runs", "worklet")
		}
	})
	s.long().page(t, "quick", "click.html", func(c *testCase) {
		// Nothing moves and nothing starts, so a click must not include a fixed settling time.
		c.clicked(css("#plain"), "plain")
		c.quick(css("#plain"), 300*time.Millisecond)
	})
	s.page(t, "covered", "click.html", func(c *testCase) {
		_, err := c.page().Click(c.ctx, css("#covered"), nil)
		c.wantCode(err, executor.ErrNotActionable, "Pay", "covered", "dialog", "Cookies")
		c.wantUntouched("covered")
		c.wantUntouched("cover")
	})
	s.page(t, "temporarily covered", "click.html", func(c *testCase) {
		c.eval("uncover(400)", nil)
		c.click(css("#uncovered"), nil)
		c.await("click", "uncovered")
	})
	s.page(t, "disabled", "click.html", func(c *testCase) {
		c.blocked("disabled", "disabled")
	})
	s.page(t, "temporarily disabled", "click.html", func(c *testCase) {
		c.eval("enable(300)", nil)
		c.click(css("#disabled"), nil)
		c.await("click", "disabled")
	})
	s.page(t, "hidden", "click.html", func(c *testCase) {
		c.blocked("hidden", "visible")
	})
	s.page(t, "option of a closed list is not waited for", "actionability-controls.html", func(c *testCase) {
		for _, disabled := range []string{"folded", "closed"} {
			c.eval(disabled+".disabled = true; fetch('"+c.heldURL(disabled)+"'); 0", nil)
			c.awaitRequest(disabled) // an action waits for its element as long as a request is pending
			clicked := make(chan error, 1)
			go func() {
				_, err := c.page().Click(context.WithoutCancel(c.ctx), css("#folded"), &executor.ClickOptions{Timeout: 2 * await.HangLimit})
				clicked <- err
			}()
			c.wantCode(await.Receive(c, "the result of the click", clicked), executor.ErrNotActionable, "collapsed list")
			c.release(disabled)
		}
	})
	s.page(t, "range input hidden in the thumb of a slider", "actionability-controls.html", func(c *testCase) {
		snap := c.snap(nil)
		volume := byRef(c.refIn(snap, "slider", "Volume"))
		c.must(c.page().Type(c.ctx, volume, "55", nil))
		if r := c.await("input", "volume"); r.Value != "55" {
			c.Errorf("the page received %+v", r)
		}
		c.must(c.page().FillForm(c.ctx, []executor.Field{{Target: volume, Value: "70"}}, nil))
		if r := c.await("input", "volume"); r.Value != "70" {
			c.Errorf("the page received %+v", r)
		}
		c.clicked(volume, "thumb")
		c.eval("notice.hidden = false", nil)
		_, err := c.page().Click(c.ctx, volume, nil)
		c.wantCode(err, executor.ErrNotActionable, "covered", "Notice")
		c.eval("notice.hidden = true; slider.append(volume)", nil)
		c.clicked(volume, "slider")
		c.wantUntouched("mute") // in the center
	})
	s.page(t, "moving, then stable", "click.html", func(c *testCase) {
		c.eval("run(400)", nil)
		c.click(css("#runner"), nil)
		if c.await("click", "runner").Moving {
			c.Error("clicked while the button moved")
		}
	})
	s.page(t, "never stable", "click.html", func(c *testCase) {
		_, err := c.page().Click(c.ctx, css("#restless"), nil)
		c.wantCode(err, executor.ErrNotActionable, "not stable")
		c.wantUntouched("restless")
	})
	s.page(t, "scrolled into view", "click.html", func(c *testCase) {
		c.click(css("#far"), nil)
		c.await("click", "far")
		c.click(css("#plain"), nil) // scroll back up
		c.await("click", "plain")
	})
	s.page(t, "scrolled into view in a scroller", "click.html", func(c *testCase) {
		c.click(css("#inner"), nil)
		c.await("click", "inner")
	})
	s.page(t, "right button", "click.html", func(c *testCase) {
		c.click(css("#context"), &executor.ClickOptions{Button: executor.ButtonRight})
		if r := c.await("contextmenu", "context"); !r.Trusted || r.Button != 2 {
			c.Errorf("contextmenu: %+v", r)
		}
		var clicks int
		c.eval("log.filter((r) => r.kind === 'click').length", &clicks)
		if clicks != 0 {
			c.Error("the right button caused a click event")
		}
	})
	s.page(t, "double", "click.html", func(c *testCase) {
		c.click(css("#double"), &executor.ClickOptions{Count: 2})
		if r := c.await("dblclick", "double"); !r.Trusted {
			c.Errorf("dblclick: %+v", r)
		}
		first, second := c.await("click", "double"), c.await("click", "double")
		if first.Count+second.Count != 3 {
			c.Errorf("clicks counted %d and %d, want 1 and 2", first.Count, second.Count)
		}
	})
	s.page(t, "modifiers", "click.html", func(c *testCase) {
		c.click(css("#plain"), &executor.ClickOptions{Modifiers: []executor.Modifier{executor.ModShift, executor.ModAlt}})
		if r := c.await("click", "plain"); r.Mods != "AS" {
			c.Errorf("modifiers = %q, want AS", r.Mods)
		}
		c.click(css("#save"), nil)
		if r := c.await("click", "save"); r.Mods != "" {
			c.Errorf("modifiers = %q are still pressed", r.Mods)
		}
	})
	s.page(t, "removed by the press", "click.html", func(c *testCase) {
		c.click(css("#vanish"), nil)
		c.await("mousedown", "vanish")
		c.wantValue("document.querySelector('#vanish')", "null")
	})
	s.page(t, "label", "click.html", func(c *testCase) {
		c.click(css("#agree"), nil)
		c.await("change", "agree")
		c.wantValue("agree.checked", "true")
	})
	s.page(t, "page error", "click.html", func(c *testCase) {
		a := c.click(css("#throws"), nil)
		if len(a.Errors) != 1 {
			c.Fatalf("page errors %q, want one", a.Errors)
		}
		c.wantIn(a.Errors[0], "the basket is broken")
	})
	s.page(t, "navigates", "click.html", func(c *testCase) {
		a := c.click(css("#away"), nil)
		if a.URL != c.url("nav.html") || a.Title != "Navigation" {
			c.Errorf("changes: URL %q, title %q", a.URL, a.Title)
		}
		c.await("load", "nav")
	})
	s.page(t, "form field names shadow DOM properties", "clobber.html", func(c *testCase) {
		c.clobbered()
	})
	s.page(t, "a frame covers the target after the press", "click-edge-cases.html", func(c *testCase) {
		c.wantIn(c.click(css("#veiled"), nil).Note, "covered")
		c.await("mousedown", "veiled")
	})
	s.page(t, "disabled by the press", "click-edge-cases.html", func(c *testCase) {
		_, err := c.page().Click(c.ctx, css("#once"), nil)
		c.wantCode(err, executor.ErrNotActionable, "Once", "disabled")
	})
	s.page(t, "target replaced between the two clicks", "click-edge-cases.html", func(c *testCase) {
		_, err := c.page().Click(c.ctx, css("#swap"), &executor.ClickOptions{Count: 2})
		c.wantCode(err, executor.ErrNotActionable, "1 of 2")
		c.await("click", "swap")
		c.wantUntouched("heir")
	})
	s.page(t, "stopped by the page", "click-edge-cases.html", func(c *testCase) {
		c.click(css("#secret"), nil)
		c.await("click", "secret")
	})
	s.page(t, "link inside a label", "click-edge-cases.html", func(c *testCase) {
		c.click(css("#terms"), nil)
		c.wantValue("terms.checked", "true")
		c.wantUntouched("read")
	})
	s.page(t, "select", "click-edge-cases.html", func(c *testCase) {
		c.click(css("#pick"), nil)
		c.await("mousedown", "pick")
	})
	s.page(t, "transformed frame", "click-edge-cases.html", func(c *testCase) {
		c.click(css("#corner"), nil)
		c.await("click", "corner")
	})
	s.long().page(t, "page busy after the click", "click-edge-cases.html", func(c *testCase) {
		c.wantIn(c.click(css("#slow"), nil).Note, "still busy")
		c.await("click", "slow")
	})
	s.page(t, "bad arguments", "click.html", func(c *testCase) {
		for _, target := range []executor.Target{{}, {Selector: "#plain", Ref: "e1"}, {Ref: "x1"}, {Selector: "#plain["}} {
			_, err := c.page().Click(c.ctx, target, nil)
			c.wantCode(err, executor.ErrBadArgs)
		}
		for _, opts := range []executor.ClickOptions{{Button: "fourth"}, {Count: 4}, {Count: -1}, {Modifiers: []executor.Modifier{"Hyper"}}} {
			_, err := c.page().Click(c.ctx, css("#plain"), &opts)
			c.wantCode(err, executor.ErrBadArgs)
		}
		c.wantUntouched("plain")
	})
}

// clobbered uses a page whose form fields and images shadow all properties and methods of the form
// and the document.
func (c *testCase) clobbered() {
	c.wantValue("typeof document.addEventListener + ' ' + typeof form.getAttribute", "object object")
	inside := byRef(c.ref("button", "Inside"))
	c.click(inside, nil)
	c.await("click", "inside")
	c.click(css("#below"), nil)
	c.await("click", "below")
	c.click(css("form"), nil)
	if _, err := c.page().Hover(c.ctx, css("#inside"), nil); err != nil {
		c.Errorf("hover: %v", err)
	}
	if _, err := c.page().Hover(c.ctx, css("#form"), nil); err != nil {
		c.Errorf("hover the form: %v", err)
	}
	c.typeInto("#field", "words", nil)
	c.wantValue("field.value", "words")
	if _, err := c.page().FillForm(c.ctx, []executor.Field{{Target: css("#field"), Value: "more"}, {Target: css("#agree"), Value: true}}, nil); err != nil {
		c.Errorf("fill_form: %v", err)
	}
	c.wantValue("field.value + agree.checked", "moretrue")
	_, err := c.page().Type(c.ctx, css("#form"), "x", &executor.TypeOptions{Timeout: neverTimeout})
	c.wantCode(err, executor.ErrNotActionable)
	if res, err := c.page().Scroll(c.ctx, executor.ScrollOptions{Target: css("form"), DeltaY: 50}); err != nil || res.Y == 0 {
		c.Errorf("scroll: %+v, %v", res, err)
	}
	for _, target := range []executor.Target{css("#form"), {}} {
		if res, err := c.page().Text(c.ctx, &executor.TextOptions{Target: target}); err != nil || !strings.Contains(res.Content, "Some words") {
			c.Errorf("text of %+v: %+v, %v", target, res, err)
		}
	}
	c.met(executor.WaitCondition{Text: "Some words"})
	c.met(executor.WaitCondition{Selector: "form"})
}

func (s *suite) clickTargets(t *testing.T) {
	s.page(t, "ref", "click.html", func(c *testCase) {
		ref := c.ref("button", "Save order")
		c.click(byRef(ref), nil)
		c.await("click", "save")
		c.click(byRef("@"+ref), nil)
		c.await("click", "save")
		c.click(byRef("ref="+ref), nil)
		c.await("click", "save")
	})
	s.page(t, "text", "click.html", func(c *testCase) {
		c.click(css("text=Read the terms"), nil)
		c.await("click", "terms")
	})
	s.page(t, "role", "click.html", func(c *testCase) {
		c.click(css(`role=button[name="Save order"]`), nil)
		c.await("click", "save")
	})
	s.page(t, "several matches", "click.html", func(c *testCase) {
		a := c.click(css(".twin"), nil)
		c.await("click", "twin") // the first visible match
		c.wantIn(a.Note, "3")
	})
	s.page(t, "no match", "click.html", func(c *testCase) {
		for _, selector := range []string{"#nosuch", "text=No such text", `role=button[name="No such"]`} {
			_, err := c.page().Click(c.ctx, css(selector), nil)
			c.wantCode(err, executor.ErrSelectorNotFound, strings.Trim(selector[strings.LastIndex(selector, "=")+1:], `"]`))
		}
	})
	s.page(t, "shadow root", "frames.html", func(c *testCase) {
		c.click(css("#shadow"), nil)
		if !c.await("click", "shadow").Trusted {
			c.Error("the click was not trusted")
		}
		c.click(byRef(c.ref("button", "In the shadow")), nil)
		c.await("click", "shadow")
	})
	s.page(t, "closed shadow root", "closed.html", func(c *testCase) {
		c.click(css(`role=button[name="In a closed root"]`), nil)
		if !c.await("click", "in-closed").Trusted {
			c.Error("the click was not trusted")
		}
		c.click(byRef(c.ref("button", "In a box")), nil)
		c.await("click", "in-div")
		c.must(c.page().Type(c.ctx, byRef(c.ref("textbox", "Deep")), "down here", nil))
		if r := c.await("input", "deep"); r.Value != "down here" {
			c.Errorf("typed %q", r.Value)
		}
	})
	s.page(t, "frame", "frames.html", func(c *testCase) {
		c.click(css("#framed"), nil) // outside the visible part of its frame
		if !c.await("click", "framed").Trusted {
			c.Error("the click was not trusted")
		}
		c.click(byRef(c.ref("button", "In the frame")), nil)
		c.await("click", "framed")
	})
	s.page(t, "frame of another site", "frames.html", func(c *testCase) {
		snap := c.snapWith(`"Across"`)
		c.click(byRef(c.refIn(snap, "button", "Across")), nil)
		if !c.await("click", "across").Trusted {
			c.Error("the click was not trusted")
		}
		card := byRef(c.refIn(snap, "textbox", "Card across"))
		c.must(c.page().Type(c.ctx, card, "4242", nil))
		if r := c.await("input", "card"); r.Value != "4242" {
			c.Errorf("typed %q, want 4242", r.Value)
		}
	})
}

func (s *suite) refs(t *testing.T) {
	s.page(t, "removed element", "click.html", func(c *testCase) {
		ref := c.ref("button", "Gone")
		c.eval(`document.querySelector("#gone").remove()`, nil)
		_, err := c.page().Click(c.ctx, byRef(ref), nil)
		c.wantCode(err, executor.ErrRefExpired, string(ref))
	})
	s.page(t, "replaced element", "click.html", func(c *testCase) {
		ref := c.ref("button", "Gone")
		c.eval(`document.querySelector("#gone").outerHTML = '<button id="heir" data-report="click">Gone</button>'; watch(document.querySelector("#heir").parentNode)`, nil)
		_, err := c.page().Click(c.ctx, byRef(ref), nil)
		c.wantCode(err, executor.ErrRefExpired, string(ref))
		c.wantUntouched("heir") // a click never uses a replacement element
	})
	s.page(t, "after a navigation", "click.html", func(c *testCase) {
		ref := c.ref("button", "Plain")
		c.goTo(c.url("click.html"), nil)
		_, err := c.page().Click(c.ctx, byRef(ref), nil)
		c.wantCode(err, executor.ErrRefExpired, string(ref))
		if again := c.ref("button", "Plain"); again == ref {
			c.Errorf("ref %s was minted twice", ref)
		}
		c.wantUntouched("plain")
	})
	s.page(t, "ref that was never minted", "click.html", func(c *testCase) {
		_, err := c.page().Hover(c.ctx, byRef("e777"), nil)
		c.wantCode(err, executor.ErrRefExpired, "e777")
	})
}

package inputsuite

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func click(s *suite.Runner, t *testing.T) {
	s.Page(t, "press that a frame of another document would receive is blocked", "typing-focus.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("afterbegin", "<button id=go>Go</button>");
			for (const type of ["pointerdown", "mousedown", "pointerup", "click"]) frame.contentWindow.addEventListener(type, () => report(type, "inner"));
			addEventListener("mousemove", () => { frame.style = "position: fixed; inset: 0; width: 100%; height: 100%"; }, true); 0`, nil)
		_, err := c.Page().Click(c.Ctx, suite.Selector("#go"), &executor.ClickOptions{Timeout: time.Second})
		c.WantCode(err, executor.ErrNotActionable, "frame")
		c.WantUntouched("inner")
		c.Eval("frame.style = ''; 0", nil)
	})
	s.Page(t, "plain", "click.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#plain"), nil)
		for _, kind := range []string{"pointerdown", "mousedown", "mouseup", "click"} {
			r := c.Await(kind, "plain")
			if !r.Trusted || r.Button != 0 {
				c.Errorf("%s: %+v, want trusted, left button", kind, r)
			}
		}
		if a.URL != "" || a.Title != "" || a.Dialog != nil || len(a.NewTabs) != 0 {
			c.Errorf("changes: %+v, want none", a.Changes)
		}
	})
	s.Page(t, "workers and worklets that clicks start run", "click.html", func(c *suite.Case) {
		c.Eval(`document.querySelector("#plain").onclick = () => {
			new Worker(URL.createObjectURL(new Blob(["postMessage(0)"]))).onmessage = () => report("runs", "worker");
			CSS.paintWorklet.addModule(URL.createObjectURL(new Blob(["0"], {type: "text/javascript"}))).then(() => report("runs", "worklet"));
		}; 0`, nil)
		for range 5 {
			c.Click(suite.Selector("#plain"), nil)
			c.Await("runs", "worker")
			c.Await("runs", "worklet")
		}
	})
	s.Deep().Page(t, "quick", "click.html", func(c *suite.Case) {
		// Nothing moves and nothing starts, so a click must not include a fixed settling time.
		c.Clicked(suite.Selector("#plain"), "plain")
		suite.Quick(c, suite.Selector("#plain"), 300*time.Millisecond)
	})
	s.Page(t, "covered", "click.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#covered"), nil)
		c.WantCode(err, executor.ErrNotActionable, "Pay", "covered", "dialog", "Cookies")
		c.WantUntouched("covered")
		c.WantUntouched("cover")
	})
	s.Page(t, "temporarily covered", "click.html", func(c *suite.Case) {
		c.Eval("uncover(400)", nil)
		c.Click(suite.Selector("#uncovered"), nil)
		c.Await("click", "uncovered")
	})
	s.Page(t, "disabled", "click.html", func(c *suite.Case) {
		blocked(c, "disabled", "disabled")
	})
	s.Page(t, "temporarily disabled", "click.html", func(c *suite.Case) {
		c.Eval("enable(300)", nil)
		c.Click(suite.Selector("#disabled"), nil)
		c.Await("click", "disabled")
	})
	s.Page(t, "hidden", "click.html", func(c *suite.Case) {
		blocked(c, "hidden", "visible")
	})
	s.Page(t, "option of a closed list is not waited for", "actionability-controls.html", func(c *suite.Case) {
		for _, disabled := range []string{"folded", "closed"} {
			c.Eval(disabled+".disabled = true; fetch('"+c.HeldURL(disabled)+"'); 0", nil)
			c.AwaitRequest(disabled) // an action waits for its element as long as a request is pending
			clicked := make(chan error, 1)
			go func() {
				_, err := c.Page().Click(context.WithoutCancel(c.Ctx), suite.Selector("#folded"), &executor.ClickOptions{Timeout: 2 * await.HangLimit})
				clicked <- err
			}()
			c.WantCode(await.Receive(c, "the result of the click", clicked), executor.ErrNotActionable, "collapsed list")
			c.Release(disabled)
		}
	})
	s.Page(t, "range input hidden in the thumb of a slider", "actionability-controls.html", func(c *suite.Case) {
		snap := c.Snap(nil)
		volume := suite.ByRef(c.RefIn(snap, "slider", "Volume"))
		c.Must(c.Page().Type(c.Ctx, volume, "55", nil))
		if r := c.Await("input", "volume"); r.Value != "55" {
			c.Errorf("the page received %+v", r)
		}
		c.Must(c.Page().FillForm(c.Ctx, []executor.Field{{Target: volume, Value: "70"}}, nil))
		if r := c.Await("input", "volume"); r.Value != "70" {
			c.Errorf("the page received %+v", r)
		}
		c.Clicked(volume, "thumb")
		c.Eval("notice.hidden = false", nil)
		_, err := c.Page().Click(c.Ctx, volume, nil)
		c.WantCode(err, executor.ErrNotActionable, "covered", "Notice")
		c.Eval("notice.hidden = true; slider.append(volume)", nil)
		c.Clicked(volume, "slider")
		c.WantUntouched("mute") // in the center
	})
	s.Page(t, "moving, then stable", "click.html", func(c *suite.Case) {
		c.Eval("run(400)", nil)
		c.Click(suite.Selector("#runner"), nil)
		if c.Await("click", "runner").Moving {
			c.Error("clicked while the button moved")
		}
	})
	s.Page(t, "never stable", "click.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#restless"), nil)
		c.WantCode(err, executor.ErrNotActionable, "not stable")
		c.WantUntouched("restless")
	})
	s.Page(t, "scrolled into view", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector("#far"), nil)
		c.Await("click", "far")
		c.Click(suite.Selector("#plain"), nil) // scroll back up
		c.Await("click", "plain")
	})
	s.Page(t, "scrolled into view in a scroller", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector("#inner"), nil)
		c.Await("click", "inner")
	})
	s.Page(t, "right button", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector("#context"), &executor.ClickOptions{Button: executor.ButtonRight})
		if r := c.Await("contextmenu", "context"); !r.Trusted || r.Button != 2 {
			c.Errorf("contextmenu: %+v", r)
		}
		var clicks int
		c.Eval("log.filter((r) => r.kind === 'click').length", &clicks)
		if clicks != 0 {
			c.Error("the right button caused a click event")
		}
	})
	s.Page(t, "double", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector("#double"), &executor.ClickOptions{Count: 2})
		if r := c.Await("dblclick", "double"); !r.Trusted {
			c.Errorf("dblclick: %+v", r)
		}
		first, second := c.Await("click", "double"), c.Await("click", "double")
		if first.Count+second.Count != 3 {
			c.Errorf("clicks counted %d and %d, want 1 and 2", first.Count, second.Count)
		}
	})
	s.Page(t, "modifiers", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector("#plain"), &executor.ClickOptions{Modifiers: []executor.Modifier{executor.ModShift, executor.ModAlt}})
		if r := c.Await("click", "plain"); r.Mods != "AS" {
			c.Errorf("modifiers = %q, want AS", r.Mods)
		}
		c.Click(suite.Selector("#save"), nil)
		if r := c.Await("click", "save"); r.Mods != "" {
			c.Errorf("modifiers = %q are still pressed", r.Mods)
		}
	})
	s.Page(t, "removed by the press", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector("#vanish"), nil)
		c.Await("mousedown", "vanish")
		c.WantValue("document.querySelector('#vanish')", "null")
	})
	s.Page(t, "label", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector("#agree"), nil)
		c.Await("change", "agree")
		c.WantValue("agree.checked", "true")
	})
	s.Page(t, "page error", "click.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#throws"), nil)
		if len(a.Errors) != 1 {
			c.Fatalf("page errors %q, want one", a.Errors)
		}
		c.WantIn(a.Errors[0], "the basket is broken")
	})
	s.Page(t, "navigates", "click.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#away"), nil)
		if a.URL != c.URL("nav.html") || a.Title != "Navigation" {
			c.Errorf("changes: URL %q, title %q", a.URL, a.Title)
		}
		c.Await("load", "nav")
	})
	s.Page(t, "form field names shadow DOM properties", "clobber.html", func(c *suite.Case) {
		clobbered(c)
	})
	s.Page(t, "a frame covers the target after the press", "click-edge-cases.html", func(c *suite.Case) {
		c.WantIn(c.Click(suite.Selector("#veiled"), nil).Note, "covered")
		c.Await("mousedown", "veiled")
	})
	s.Page(t, "disabled by the press", "click-edge-cases.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#once"), nil)
		c.WantCode(err, executor.ErrNotActionable, "Once", "disabled")
	})
	s.Page(t, "target replaced between the two clicks", "click-edge-cases.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#swap"), &executor.ClickOptions{Count: 2})
		c.WantCode(err, executor.ErrNotActionable, "1 of 2")
		c.Await("click", "swap")
		c.WantUntouched("heir")
	})
	s.Page(t, "stopped by the page", "click-edge-cases.html", func(c *suite.Case) {
		c.Click(suite.Selector("#secret"), nil)
		c.Await("click", "secret")
	})
	s.Page(t, "link inside a label", "click-edge-cases.html", func(c *suite.Case) {
		c.Click(suite.Selector("#terms"), nil)
		c.WantValue("terms.checked", "true")
		c.WantUntouched("read")
	})
	s.Page(t, "select", "click-edge-cases.html", func(c *suite.Case) {
		c.Click(suite.Selector("#pick"), nil)
		c.Await("mousedown", "pick")
	})
	s.Page(t, "transformed frame", "click-edge-cases.html", func(c *suite.Case) {
		c.Click(suite.Selector("#corner"), nil)
		c.Await("click", "corner")
	})
	s.Deep().Page(t, "page busy after the click", "click-edge-cases.html", func(c *suite.Case) {
		c.WantIn(c.Click(suite.Selector("#slow"), nil).Note, "still busy")
		c.Await("click", "slow")
	})
	s.Page(t, "bad arguments", "click.html", func(c *suite.Case) {
		for _, target := range []executor.Target{{}, {Selector: "#plain", Ref: "e1"}, {Ref: "x1"}, {Selector: "#plain["}} {
			_, err := c.Page().Click(c.Ctx, target, nil)
			c.WantCode(err, executor.ErrBadArgs)
		}
		for _, opts := range []executor.ClickOptions{{Button: "fourth"}, {Count: 4}, {Count: -1}, {Modifiers: []executor.Modifier{"Hyper"}}} {
			_, err := c.Page().Click(c.Ctx, suite.Selector("#plain"), &opts)
			c.WantCode(err, executor.ErrBadArgs)
		}
		c.WantUntouched("plain")
	})
}

// clobbered uses a page whose form fields and images shadow all properties and methods of the form
// and the document.
func clobbered(c *suite.Case) {
	c.WantValue("typeof document.addEventListener + ' ' + typeof form.getAttribute", "object object")
	inside := suite.ByRef(c.Ref("button", "Inside"))
	c.Click(inside, nil)
	c.Await("click", "inside")
	c.Click(suite.Selector("#below"), nil)
	c.Await("click", "below")
	c.Click(suite.Selector("form"), nil)
	if _, err := c.Page().Hover(c.Ctx, suite.Selector("#inside"), nil); err != nil {
		c.Errorf("hover: %v", err)
	}
	if _, err := c.Page().Hover(c.Ctx, suite.Selector("#form"), nil); err != nil {
		c.Errorf("hover the form: %v", err)
	}
	c.TypeInto("#field", "words", nil)
	c.WantValue("field.value", "words")
	if _, err := c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#field"), Value: "more"}, {Target: suite.Selector("#agree"), Value: true}}, nil); err != nil {
		c.Errorf("fill_form: %v", err)
	}
	c.WantValue("field.value + agree.checked", "moretrue")
	_, err := c.Page().Type(c.Ctx, suite.Selector("#form"), "x", &executor.TypeOptions{Timeout: suite.NeverTimeout})
	c.WantCode(err, executor.ErrNotActionable)
	if res, err := c.Page().Scroll(c.Ctx, &executor.ScrollOptions{Target: suite.Selector("form"), DeltaY: 50}); err != nil || res.Y == 0 {
		c.Errorf("scroll: %+v, %v", res, err)
	}
	for _, target := range []executor.Target{suite.Selector("#form"), {}} {
		if res, err := c.Page().Text(c.Ctx, &executor.TextOptions{Target: target}); err != nil || !strings.Contains(res.Content, "Some words") {
			c.Errorf("text of %+v: %+v, %v", target, res, err)
		}
	}
	c.Met(executor.WaitCondition{Text: "Some words"})
	c.Met(executor.WaitCondition{Visible: suite.Selector("form")})
}

func clickTargets(s *suite.Runner, t *testing.T) {
	s.Page(t, "ref", "click.html", func(c *suite.Case) {
		ref := c.Ref("button", "Save order")
		c.Click(suite.ByRef(ref), nil)
		c.Await("click", "save")
		c.Click(suite.ByRef("@"+ref), nil)
		c.Await("click", "save")
		c.Click(suite.ByRef("ref="+ref), nil)
		c.Await("click", "save")
	})
	s.Page(t, "text", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector("text=Read the terms"), nil)
		c.Await("click", "terms")
	})
	s.Page(t, "role", "click.html", func(c *suite.Case) {
		c.Click(suite.Selector(`role=button[name="Save order"]`), nil)
		c.Await("click", "save")
	})
	s.Page(t, "several matches", "click.html", func(c *suite.Case) {
		a := c.Click(suite.Selector(".twin"), nil)
		c.Await("click", "twin") // the first visible match
		c.WantIn(a.Note, "3")
	})
	s.Page(t, "no match", "click.html", func(c *suite.Case) {
		for _, selector := range []string{"#nosuch", "text=No such text", `role=button[name="No such"]`} {
			_, err := c.Page().Click(c.Ctx, suite.Selector(selector), nil)
			c.WantCode(err, executor.ErrSelectorNotFound, strings.Trim(selector[strings.LastIndex(selector, "=")+1:], `"]`))
		}
	})
	s.Page(t, "shadow root", "frames.html", func(c *suite.Case) {
		c.Click(suite.Selector("#shadow"), nil)
		if !c.Await("click", "shadow").Trusted {
			c.Error("the click was not trusted")
		}
		c.Click(suite.ByRef(c.Ref("button", "In the shadow")), nil)
		c.Await("click", "shadow")
	})
	s.Page(t, "closed shadow root", "closed.html", func(c *suite.Case) {
		c.Click(suite.Selector(`role=button[name="In a closed root"]`), nil)
		if !c.Await("click", "in-closed").Trusted {
			c.Error("the click was not trusted")
		}
		c.Click(suite.ByRef(c.Ref("button", "In a box")), nil)
		c.Await("click", "in-div")
		c.Must(c.Page().Type(c.Ctx, suite.ByRef(c.Ref("textbox", "Deep")), "down here", nil))
		if r := c.Await("input", "deep"); r.Value != "down here" {
			c.Errorf("typed %q", r.Value)
		}
	})
	s.Page(t, "frame", "frames.html", func(c *suite.Case) {
		c.Click(suite.Selector("#framed"), nil) // outside the visible part of its frame
		if !c.Await("click", "framed").Trusted {
			c.Error("the click was not trusted")
		}
		c.Click(suite.ByRef(c.Ref("button", "In the frame")), nil)
		c.Await("click", "framed")
	})
	s.Page(t, "frame of another site", "frames.html", func(c *suite.Case) {
		snap := c.SnapWith(`"Across"`)
		c.Click(suite.ByRef(c.RefIn(snap, "button", "Across")), nil)
		if !c.Await("click", "across").Trusted {
			c.Error("the click was not trusted")
		}
		card := suite.ByRef(c.RefIn(snap, "textbox", "Card across"))
		c.Must(c.Page().Type(c.Ctx, card, "4242", nil))
		if r := c.Await("input", "card"); r.Value != "4242" {
			c.Errorf("typed %q, want 4242", r.Value)
		}
	})
	for name, do := range suite.Sorted(map[string]func(c *suite.Case){
		"target that moves after it was found": func(c *suite.Case) {
			// The point is scrolled into view after the frame has returned it.
			c.Eval(`frame.style.top = "3000px"; addEventListener("scroll", () => { frames[0].moves.style.left = "200px"; }, { once: true })`, nil)
			c.Clicked(suite.Selector("#moves"), "moves")
		},
		"target that removes the frame": func(c *suite.Case) {
			c.Click(suite.Selector("#closes"), nil)
			c.Await("click", "closes")
		},
		"target that opens a dialog": func(c *suite.Case) {
			c.WantDialog(c.Click(suite.Selector("#asks"), nil).Changes, executor.DialogAlert, "Hello")
			c.Must(c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{Accept: true}))
			c.Await("click", "asks")
		},
	}) {
		s.Page(t, "next to a frame, after a click in it: "+name, "click.html", func(c *suite.Case) {
			c.Eval(`new Promise((done) => {
				const frame = document.createElement("iframe");
				frame.id = "frame";
				frame.onload = () => done();
				frame.style = "position: absolute; right: 0; top: 0; width: 350px; height: 150px; background: white";
				frame.src = "click-frame.html";
				document.body.append(frame);
			})`, nil)
			do(c)
			c.Clicked(suite.Selector("#plain"), "plain")
		})
	}
}

func refs(s *suite.Runner, t *testing.T) {
	s.Page(t, "removed element", "click.html", func(c *suite.Case) {
		ref := c.Ref("button", "Gone")
		c.Eval(`document.querySelector("#gone").remove()`, nil)
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		c.WantCode(err, executor.ErrRefExpired, string(ref))
	})
	s.Page(t, "replaced element", "click.html", func(c *suite.Case) {
		ref := c.Ref("button", "Gone")
		c.Eval(`document.querySelector("#gone").outerHTML = '<button id="heir" data-report="click">Gone</button>'; watch(document.querySelector("#heir").parentNode)`, nil)
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		c.WantCode(err, executor.ErrRefExpired, string(ref))
		c.WantUntouched("heir") // a click never uses a replacement element
	})
	s.Page(t, "after a navigation", "click.html", func(c *suite.Case) {
		ref := c.Ref("button", "Plain")
		c.GoTo(c.URL("click.html"), nil)
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		c.WantCode(err, executor.ErrRefExpired, string(ref))
		if again := c.Ref("button", "Plain"); again == ref {
			c.Errorf("ref %s was minted twice", ref)
		}
		c.WantUntouched("plain")
	})
	s.Page(t, "ref that was never minted", "click.html", func(c *suite.Case) {
		_, err := c.Page().Hover(c.Ctx, suite.ByRef("e777"), nil)
		c.WantCode(err, executor.ErrRefExpired, "e777")
	})
}

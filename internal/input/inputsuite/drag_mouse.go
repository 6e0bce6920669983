package inputsuite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// drag drags and fails the case if that fails or has another outcome.
func drag(c *suite.Case, from, to executor.Target, want executor.DragOutcome) *executor.Drag {
	c.Helper()
	d, err := c.Page().Drag(c.Ctx, from, to, nil)
	if err != nil {
		c.Fatalf("drag %+v to %+v: %v", from, to, err)
	}
	if d.Drop != want {
		c.Errorf("drag %+v to %+v ended as %s, want %s", from, to, d.Drop, want)
	}
	return d
}

func drags(s *suite.Runner, t *testing.T) {
	s.Page(t, "drag with data", "input.html", func(c *suite.Case) {
		c.Snap(nil)
		d := drag(c, suite.Selector("#card"), suite.Selector("#bin"), executor.DragAccepted)
		c.WantIn(d.Diff, "Got the card")
		if r := c.Await("drop", "bin"); r.Value != "the card" || !r.Trusted {
			c.Errorf("the page received %+v", r)
		}
		c.Await("dragend", "card")
		drag(c, suite.Selector("#card"), suite.Selector("#bin"), executor.DragAccepted) // repeatable
	})
	s.Page(t, "drag with data to a target outside the viewport", "input.html", func(c *suite.Case) {
		drag(c, suite.Selector("#card"), suite.Selector("#far"), executor.DragAccepted)
		c.Await("drop", "far")
	})
	s.Page(t, "page opens a dialog on drop", "input.html", func(c *suite.Case) {
		c.Eval("document.querySelector('#bin').addEventListener('drop', () => alert('thank you'))", nil)
		if d := drag(c, suite.Selector("#card"), suite.Selector("#bin"), executor.DragAccepted); d.Dialog == nil || d.Dialog.Message != "thank you" {
			c.Errorf("dialog %+v", d.Dialog)
		}
	})
	s.Page(t, "drop rejected", "input.html", func(c *suite.Case) {
		drag(c, suite.Selector("#card"), suite.Selector("#wall"), executor.DragRejected)
		c.Await("dragend", "card")
		c.Click(suite.Selector("#wall"), nil)
	})
	s.Page(t, "a slider", "input.html", func(c *suite.Case) {
		drag(c, suite.Selector("#knob"), suite.Selector("#mark"), executor.DragPointerOnly)
		c.WantValue("document.querySelector('#knob').style.left", "300px")
		c.WantValue("window.buttonsUp", "0")
	})
	s.Page(t, "sortable list", "input.html", func(c *suite.Case) {
		drag(c, suite.Selector("#i1"), suite.Selector("#i3"), executor.DragPointerOnly)
		c.WantValue("[...document.querySelectorAll('li')].map((l) => l.id).join(' ')", "i2 i3 i1")
	})
	s.Page(t, "list that ignores moves while it moves an item", "sortable.html", func(c *suite.Case) {
		order := "[...document.querySelectorAll('#throttled li')].map((l) => l.textContent).join(' ')"
		d := drag(c, suite.Selector("#throttled >> text=e"), suite.Selector("#throttled >> text=a"), executor.DragAccepted)
		c.WantValue(order, "e a b c d")
		c.WantNotIn(d.Note, "did not move")
		drag(c, suite.Selector("#throttled >> text=a"), suite.Selector("#throttled >> text=d"), executor.DragAccepted)
		c.WantValue(order, "e b c d a")
	})
	s.Page(t, "drag starts after a delay", "sortable.html", func(c *suite.Case) {
		drag(c, suite.Selector("#delayed >> text=f"), suite.Selector("#delayed >> text=h"), executor.DragPointerOnly)
		c.WantValue("[...document.querySelectorAll('#delayed li')].map((l) => l.textContent).join(' ')", "g h f")
	})
	s.Page(t, "page accepts the drop and moves nothing", "sortable.html", func(c *suite.Case) {
		d := drag(c, suite.Selector("#fixed >> text=i"), suite.Selector("#fixed >> text=j"), executor.DragAccepted)
		c.WantIn(d.Note, "the dragged element did not move")
	})
	s.Page(t, "in a cross-site frame", "input.html", func(c *suite.Case) {
		framed(c)
		snap := c.Snap(nil)
		drag(c, suite.ByRef(c.RefIn(snap, "button", "Loose card")), suite.ByRef(c.RefIn(snap, "button", "Bin")), executor.DragAccepted)
		if r := c.Await("drop", "bin"); r.Value != "the card" {
			c.Errorf("the frame received %+v", r)
		}
	})
	s.Gated(t, "over a denied frame", "input.html", func(c *suite.Case, k *suite.Keeper) {
		c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'position: fixed; left: 0; top: 170px; width: 300px; height: 10px; border: 0'; f.src = %q; document.body.append(f); })", c.OtherURL("inputdenied.html")), nil)
		c.Eval("document.querySelector('#bin').style.marginTop = '60px'", nil)
		k.DenyOrigin(c.OtherOrigin())
		drag(c, suite.Selector("#card"), suite.Selector("#bin"), executor.DragAccepted)
		c.Eval("document.querySelector('iframe').style.top = '0'; document.querySelector('iframe').style.height = '100%'; document.querySelector('iframe').style.width = '100%'", nil)
		_, err := c.Page().Drag(c.Ctx, suite.Selector("#card"), suite.Selector("#bin"), nil)
		c.WantCode(err, executor.ErrNotActionable)
		k.Deny(nil)
		c.Eval("new Promise((done) => { onmessage = (e) => { document.title = 'seen ' + e.data.seen; done(); }; frames[0].postMessage('tell', '*'); })", nil)
		c.WantValue("document.title", "seen 0")
	})
	s.Page(t, "drop target disappears after the press", "input.html", func(c *suite.Case) {
		c.Eval("document.querySelector('#card').addEventListener('mousedown', () => { document.querySelector('#bin').style.visibility = 'hidden'; })", nil)
		_, err := c.Page().Drag(c.Ctx, suite.Selector("#card"), suite.Selector("#bin"), nil)
		c.WantCode(err, executor.ErrNotActionable, "is not visible", "the button was pressed")
		if e, ok := errors.AsType[*executor.Error](err); !ok || e.Retryable {
			c.Errorf("retryable: %v", err)
		}
	})
	s.Page(t, "no such drop target", "input.html", func(c *suite.Case) {
		_, err := c.Page().Drag(c.Ctx, suite.Selector("#card"), suite.Selector("#nosuch"), nil)
		c.WantCode(err, executor.ErrSelectorNotFound, "#nosuch")
		_, err = c.Page().Drag(c.Ctx, suite.Selector("#nosuch"), suite.Selector("#bin"), nil)
		c.WantCode(err, executor.ErrSelectorNotFound, "#nosuch")
		_, err = c.Page().Drag(c.Ctx, suite.Selector("#card"), suite.Selector("#under"), nil)
		c.WantCode(err, executor.ErrNotActionable, "Notice")
		_, err = c.Page().Drag(c.Ctx, suite.Selector("#card"), executor.Target{}, nil)
		c.WantCode(err, executor.ErrBadArgs)
		c.WantUntouched("card")
		c.WantValue("window.released", "undefined") // no press was sent
	})
}

// framed replaces the page by a frame with input.html of the other site.
func framed(c *suite.Case) {
	c.Helper()
	c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'position: absolute; left: 50px; top: 60px; width: 600px; height: 500px; border: 0'; f.src = %q; document.body.replaceChildren(f); })", c.OtherURL("input.html")), nil)
}

func mouse(s *suite.Runner, t *testing.T) {
	s.Page(t, "on a canvas", "input.html", func(c *suite.Case) {
		want := func(kind, value string) {
			c.Helper()
			if r := c.Await(kind, "canvas"); r.Value != value || !r.Trusted {
				c.Errorf("%s %+v, want %s", kind, r, value)
			}
		}
		c.MouseAt(executor.MouseMove, 10, 20)
		want("mousemove", "10,20 0")
		c.MouseAt(executor.MouseClick, 30, 40)
		want("mousemove", "30,40 0")
		want("mousedown", "30,40 1")
		want("mouseup", "30,40 0")
		want("click", "30,40 0")
		c.MouseAt(executor.MouseDown, 50, 50)
		want("mousedown", "50,50 1")
		c.Await("mousemove", "canvas") // to the point where it was pressed
		c.MouseAt(executor.MouseMove, 60, 70)
		want("mousemove", "60,70 1")
		c.MouseAt(executor.MouseUp, 80, 90)
		want("mousemove", "80,90 1")
		want("mouseup", "80,90 0")
		c.Must(c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseClick, X: 5, Y: 5, Button: executor.ButtonRight}))
		want("contextmenu", "5,5 2")
		c.Must(c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseWheel, X: 5, Y: 6, DeltaY: 120}))
		want("wheel", "5,6 0 120")
		c.MouseAt(executor.MouseTap, 15, 16)
		c.Await("touchstart", "canvas")
		c.Await("touchend", "canvas")
	})
	s.Page(t, "wheel scrolls", "input.html", func(c *suite.Case) {
		c.Must(c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseWheel, X: 400, Y: 300, DeltaY: 250}))
		c.Eval("new Promise((done) => { const look = () => (scrollY > 100 ? done() : requestAnimationFrame(look)); look(); })", nil)
	})
	s.Page(t, "pressed buttons are released", "input.html", func(c *suite.Case) {
		for name, next := range map[string]func(){
			"a call that fails": func() {
				_, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseMove, X: 1e5})
				c.WantCode(err, executor.ErrBadArgs, "viewport")
			},
			"another action": func() { c.Click(suite.Selector("#wall"), nil) },
		} {
			c.Eval("window.released = 0", nil)
			c.MouseAt(executor.MouseDown, 50, 50)
			_, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseDown, X: 1, Y: 1})
			c.WantCode(err, executor.ErrBadArgs, "pressed already")
			next()
			c.Eval("new Promise((done) => { const look = () => (window.released ? done() : setTimeout(look, 10)); look(); })", nil)
			c.WantValue("window.buttonsUp", "0")
			_, err = c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseUp, X: 1, Y: 1})
			c.WantCode(err, executor.ErrBadArgs, "not pressed")
			if c.Failed() {
				c.Log("after " + name)
			}
		}
	})
	s.Gated(t, "in frames", "input.html", func(c *suite.Case, k *suite.Keeper) {
		framed(c)
		c.MouseAt(executor.MouseClick, 50+30, 60+40)
		if r := c.Await("click", "canvas"); r.Value != "30,40 0" {
			c.Errorf("the frame received %+v", r)
		}
		k.DenyOrigin(c.OtherOrigin())
		for _, action := range []executor.MouseAction{executor.MouseMove, executor.MouseDown, executor.MouseClick, executor.MouseTap} {
			_, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: action, X: 80, Y: 100})
			c.WantCode(err, executor.ErrPolicyDenied)
		}
		c.MouseAt(executor.MouseClick, 10, 10) // next to the frame
	})
	s.Gated(t, "denied frame moves under the pointer", "input.html", func(c *suite.Case, k *suite.Keeper) {
		c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'position: fixed; left: -900px; top: 0; width: 700px; height: 500px; border: 0'; f.src = %q; document.body.append(f); addEventListener('mousemove', () => { f.style.left = '0'; }); })", c.OtherURL("inputdenied.html")), nil)
		k.DenyOrigin(c.OtherOrigin())
		_, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseClick, X: 80, Y: 100})
		c.WantCode(err, executor.ErrPolicyDenied)
	})
	s.Deep().Gated(t, "denied frame moves under the pointer and away", "input.html", func(c *suite.Case, k *suite.Keeper) {
		c.Eval(fmt.Sprintf(`new Promise((done) => {
			const f = document.createElement('iframe');
			f.src = %q;
			f.style = 'position: fixed; left: -900px; top: 0; width: 700px; height: 500px; border: 0';
			f.onload = () => done();
			document.body.append(f);
			const jump = () => { f.style.left = Math.random() < 0.5 ? '-900px' : '0px'; requestAnimationFrame(jump); };
			jump();
		})`, c.OtherURL("inputdenied.html")), nil)
		k.DenyOrigin(c.OtherOrigin())
		refused := 0
		for range 40 {
			_, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseClick, X: 80, Y: 100})
			if err != nil {
				c.WantCode(err, executor.ErrPolicyDenied)
				refused++
			}
			_, err = c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseTap, X: 80, Y: 100})
			if err != nil {
				c.WantCode(err, executor.ErrPolicyDenied)
				refused++
			}
		}
		if refused == 0 || refused == 80 {
			c.Errorf("%d of 80 were denied: the frame does not move under the pointer", refused)
		}
		k.Deny(nil)
		c.Eval("new Promise((done) => { onmessage = (e) => { document.title = 'pressed ' + e.data.pressed; done(); }; frames[0].postMessage('tell', '*'); })", nil)
		c.WantValue("document.title", "pressed 0")
	})
	s.Page(t, "bad arguments", "input.html", func(c *suite.Case) {
		_, err := c.Page().Mouse(c.Ctx, nil)
		c.WantCode(err, executor.ErrBadArgs)
		for _, opts := range []executor.MouseOptions{
			{}, {Action: "fly"}, {Action: executor.MouseClick, X: -1}, {Action: executor.MouseClick, Y: 1e6}, {Action: executor.MouseClick, Button: "fourth"},
			{Action: executor.MouseWheel}, {Action: executor.MouseClick, DeltaY: 1}, {Action: executor.MouseUp}, {Action: executor.MouseWheel, DeltaY: 1e9},
		} {
			_, err := c.Page().Mouse(c.Ctx, &opts)
			c.WantCode(err, executor.ErrBadArgs)
		}
		c.WantUntouched("canvas")
	})
}

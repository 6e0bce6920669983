package executortest

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// drag drags and fails the case if that fails or has another outcome.
func (c *testCase) drag(from, to executor.Target, want executor.DragOutcome) *executor.Drag {
	c.Helper()
	d, err := c.page().Drag(c.ctx, from, to, nil)
	if err != nil {
		c.Fatalf("drag %+v to %+v: %v", from, to, err)
	}
	if d.Drop != want {
		c.Errorf("drag %+v to %+v ended as %s, want %s", from, to, d.Drop, want)
	}
	return d
}

func (s *suite) drags(t *testing.T) {
	s.page(t, "drag with data", "input.html", func(c *testCase) {
		c.snap(nil)
		d := c.drag(css("#card"), css("#bin"), executor.DragAccepted)
		c.wantIn(d.Diff, "Got the card")
		if r := c.await("drop", "bin"); r.Value != "the card" || !r.Trusted {
			c.Errorf("the page received %+v", r)
		}
		c.await("dragend", "card")
		c.drag(css("#card"), css("#bin"), executor.DragAccepted) // repeatable
	})
	s.page(t, "drag with data to a target outside the viewport", "input.html", func(c *testCase) {
		c.drag(css("#card"), css("#far"), executor.DragAccepted)
		c.await("drop", "far")
	})
	s.page(t, "page opens a dialog on drop", "input.html", func(c *testCase) {
		c.eval("document.querySelector('#bin').addEventListener('drop', () => alert('thank you'))", nil)
		if d := c.drag(css("#card"), css("#bin"), executor.DragAccepted); d.Dialog == nil || d.Dialog.Message != "thank you" {
			c.Errorf("dialog %+v", d.Dialog)
		}
	})
	s.page(t, "drop rejected", "input.html", func(c *testCase) {
		c.drag(css("#card"), css("#wall"), executor.DragRejected)
		c.await("dragend", "card")
		c.click(css("#wall"), nil)
	})
	s.page(t, "a slider", "input.html", func(c *testCase) {
		c.drag(css("#knob"), css("#mark"), executor.DragPointerOnly)
		c.wantValue("document.querySelector('#knob').style.left", "300px")
		c.wantValue("window.buttonsUp", "0")
	})
	s.page(t, "sortable list", "input.html", func(c *testCase) {
		c.drag(css("#i1"), css("#i3"), executor.DragPointerOnly)
		c.wantValue("[...document.querySelectorAll('li')].map((l) => l.id).join(' ')", "i2 i3 i1")
	})
	s.page(t, "list that ignores moves while it moves an item", "sortable.html", func(c *testCase) {
		order := "[...document.querySelectorAll('#throttled li')].map((l) => l.textContent).join(' ')"
		d := c.drag(css("#throttled >> text=e"), css("#throttled >> text=a"), executor.DragAccepted)
		c.wantValue(order, "e a b c d")
		c.wantNotIn(d.Note, "did not move")
		c.drag(css("#throttled >> text=a"), css("#throttled >> text=d"), executor.DragAccepted)
		c.wantValue(order, "e b c d a")
	})
	s.page(t, "drag starts after a delay", "sortable.html", func(c *testCase) {
		c.drag(css("#delayed >> text=f"), css("#delayed >> text=h"), executor.DragPointerOnly)
		c.wantValue("[...document.querySelectorAll('#delayed li')].map((l) => l.textContent).join(' ')", "g h f")
	})
	s.page(t, "page accepts the drop and moves nothing", "sortable.html", func(c *testCase) {
		d := c.drag(css("#fixed >> text=i"), css("#fixed >> text=j"), executor.DragAccepted)
		c.wantIn(d.Note, "the dragged element did not move")
	})
	s.page(t, "in a cross-site frame", "input.html", func(c *testCase) {
		c.framed()
		snap := c.snap(nil)
		c.drag(byRef(c.refIn(snap, "button", "Loose card")), byRef(c.refIn(snap, "button", "Bin")), executor.DragAccepted)
		if r := c.await("drop", "bin"); r.Value != "the card" {
			c.Errorf("the frame received %+v", r)
		}
	})
	s.gated(t, "over a denied frame", "input.html", func(c *testCase, k *keeper) {
		c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'position: fixed; left: 0; top: 170px; width: 300px; height: 10px; border: 0'; f.src = %q; document.body.append(f); })", c.otherURL("inputdenied.html")), nil)
		c.eval("document.querySelector('#bin').style.marginTop = '60px'", nil)
		k.denyOrigin(c.otherOrigin())
		c.drag(css("#card"), css("#bin"), executor.DragAccepted)
		c.eval("document.querySelector('iframe').style.top = '0'; document.querySelector('iframe').style.height = '100%'; document.querySelector('iframe').style.width = '100%'", nil)
		_, err := c.page().Drag(c.ctx, css("#card"), css("#bin"), nil)
		c.wantCode(err, executor.ErrNotActionable)
		k.deny(nil)
		c.eval("new Promise((done) => { onmessage = (e) => { document.title = 'seen ' + e.data.seen; done(); }; frames[0].postMessage('tell', '*'); })", nil)
		c.wantValue("document.title", "seen 0")
	})
	s.page(t, "no such drop target", "input.html", func(c *testCase) {
		_, err := c.page().Drag(c.ctx, css("#card"), css("#nosuch"), nil)
		c.wantCode(err, executor.ErrSelectorNotFound, "#nosuch")
		_, err = c.page().Drag(c.ctx, css("#nosuch"), css("#bin"), nil)
		c.wantCode(err, executor.ErrSelectorNotFound, "#nosuch")
		_, err = c.page().Drag(c.ctx, css("#card"), css("#under"), nil)
		c.wantCode(err, executor.ErrNotActionable, "Notice")
		_, err = c.page().Drag(c.ctx, css("#card"), executor.Target{}, nil)
		c.wantCode(err, executor.ErrBadArgs)
		c.wantUntouched("card")
		c.wantValue("window.released", "undefined") // no press was sent
	})
}

// framed replaces the page by a frame with input.html of the other site.
func (c *testCase) framed() {
	c.Helper()
	c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'position: absolute; left: 50px; top: 60px; width: 600px; height: 500px; border: 0'; f.src = %q; document.body.replaceChildren(f); })", c.otherURL("input.html")), nil)
}

// mouse sends mouse input and fails the case if that fails.
func (c *testCase) mouse(action executor.MouseAction, x, y float64) *executor.Action {
	c.Helper()
	a, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: action, X: x, Y: y})
	if err != nil {
		c.Fatalf("mouse %s at %v, %v: %v", action, x, y, err)
	}
	return a
}

func (s *suite) mouse(t *testing.T) {
	s.page(t, "on a canvas", "input.html", func(c *testCase) {
		want := func(kind, value string) {
			c.Helper()
			if r := c.await(kind, "canvas"); r.Value != value || !r.Trusted {
				c.Errorf("%s %+v, want %s", kind, r, value)
			}
		}
		c.mouse(executor.MouseMove, 10, 20)
		want("mousemove", "10,20 0")
		c.mouse(executor.MouseClick, 30, 40)
		want("mousemove", "30,40 0")
		want("mousedown", "30,40 1")
		want("mouseup", "30,40 0")
		want("click", "30,40 0")
		c.mouse(executor.MouseDown, 50, 50)
		want("mousedown", "50,50 1")
		c.await("mousemove", "canvas") // to the point where it was pressed
		c.mouse(executor.MouseMove, 60, 70)
		want("mousemove", "60,70 1")
		c.mouse(executor.MouseUp, 80, 90)
		want("mousemove", "80,90 1")
		want("mouseup", "80,90 0")
		c.must(c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseClick, X: 5, Y: 5, Button: executor.ButtonRight}))
		want("contextmenu", "5,5 2")
		c.must(c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseWheel, X: 5, Y: 6, DeltaY: 120}))
		want("wheel", "5,6 0 120")
		c.mouse(executor.MouseTap, 15, 16)
		c.await("touchstart", "canvas")
		c.await("touchend", "canvas")
	})
	s.page(t, "wheel scrolls", "input.html", func(c *testCase) {
		c.must(c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseWheel, X: 400, Y: 300, DeltaY: 250}))
		c.eval("new Promise((done) => { const look = () => (scrollY > 100 ? done() : requestAnimationFrame(look)); look(); })", nil)
	})
	s.page(t, "pressed buttons are released", "input.html", func(c *testCase) {
		for name, next := range map[string]func(){
			"a call that fails": func() {
				_, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseMove, X: 1e5})
				c.wantCode(err, executor.ErrBadArgs, "viewport")
			},
			"another action": func() { c.click(css("#wall"), nil) },
		} {
			c.eval("window.released = 0", nil)
			c.mouse(executor.MouseDown, 50, 50)
			_, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseDown, X: 1, Y: 1})
			c.wantCode(err, executor.ErrBadArgs, "pressed already")
			next()
			c.eval("new Promise((done) => { const look = () => (window.released ? done() : setTimeout(look, 10)); look(); })", nil)
			c.wantValue("window.buttonsUp", "0")
			_, err = c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseUp, X: 1, Y: 1})
			c.wantCode(err, executor.ErrBadArgs, "not pressed")
			if c.Failed() {
				c.Log("after " + name)
			}
		}
	})
	s.gated(t, "in frames", "input.html", func(c *testCase, k *keeper) {
		c.framed()
		c.mouse(executor.MouseClick, 50+30, 60+40)
		if r := c.await("click", "canvas"); r.Value != "30,40 0" {
			c.Errorf("the frame received %+v", r)
		}
		k.denyOrigin(c.otherOrigin())
		for _, action := range []executor.MouseAction{executor.MouseMove, executor.MouseDown, executor.MouseClick, executor.MouseTap} {
			_, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: action, X: 80, Y: 100})
			c.wantCode(err, executor.ErrPolicyDenied)
		}
		c.mouse(executor.MouseClick, 10, 10) // next to the frame
	})
	s.gated(t, "denied frame moves under the pointer", "input.html", func(c *testCase, k *keeper) {
		c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'position: fixed; left: -900px; top: 0; width: 700px; height: 500px; border: 0'; f.src = %q; document.body.append(f); addEventListener('mousemove', () => { f.style.left = '0'; }); })", c.otherURL("inputdenied.html")), nil)
		k.denyOrigin(c.otherOrigin())
		_, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseClick, X: 80, Y: 100})
		c.wantCode(err, executor.ErrPolicyDenied)
	})
	s.long().gated(t, "denied frame moves under the pointer and away", "input.html", func(c *testCase, k *keeper) {
		c.eval(fmt.Sprintf(`new Promise((done) => {
			const f = document.createElement('iframe');
			f.src = %q;
			f.style = 'position: fixed; left: -900px; top: 0; width: 700px; height: 500px; border: 0';
			f.onload = () => done();
			document.body.append(f);
			const jump = () => { f.style.left = Math.random() < 0.5 ? '-900px' : '0px'; requestAnimationFrame(jump); };
			jump();
		})`, c.otherURL("inputdenied.html")), nil)
		k.denyOrigin(c.otherOrigin())
		refused := 0
		for range 40 {
			_, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseClick, X: 80, Y: 100})
			if err != nil {
				c.wantCode(err, executor.ErrPolicyDenied)
				refused++
			}
			_, err = c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseTap, X: 80, Y: 100})
			if err != nil {
				c.wantCode(err, executor.ErrPolicyDenied)
				refused++
			}
		}
		if refused == 0 || refused == 80 {
			c.Errorf("%d of 80 were denied: the frame does not move under the pointer", refused)
		}
		k.deny(nil)
		c.eval("new Promise((done) => { onmessage = (e) => { document.title = 'pressed ' + e.data.pressed; done(); }; frames[0].postMessage('tell', '*'); })", nil)
		c.wantValue("document.title", "pressed 0")
	})
	s.page(t, "bad arguments", "input.html", func(c *testCase) {
		for _, opts := range []executor.MouseOptions{
			{}, {Action: "fly"}, {Action: executor.MouseClick, X: -1}, {Action: executor.MouseClick, Y: 1e6}, {Action: executor.MouseClick, Button: "fourth"},
			{Action: executor.MouseWheel}, {Action: executor.MouseClick, DeltaY: 1}, {Action: executor.MouseUp}, {Action: executor.MouseWheel, DeltaY: 1e9},
		} {
			_, err := c.page().Mouse(c.ctx, opts)
			c.wantCode(err, executor.ErrBadArgs)
		}
		c.wantUntouched("canvas")
	})
}

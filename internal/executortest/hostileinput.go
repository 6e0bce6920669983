package executortest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// The number of attempts on each backend.
const (
	defaultAttempts = 20
	rareAttempts    = 50 // of an attack with few attempts at the moment that the protection is for
)

var (
	attempts = flag.Int("attempts", defaultAttempts, "attempts of each kind of input at denied frames")
	seed     = flag.Uint64("seed", 0, "random seed of hostile pages; 0 selects a random seed")
)

// An attack is one kind of input that a page directs at denied frames.
type attack struct {
	method string // what the page does: see start in hostileinput.html
	do     func(c *suite.Case) error
	// manual means that the attempts are made only with more -attempts than by
	// default: SECURITY.md says that some reach a denied frame.
	manual bool
	rare   bool // see rareAttempts
}

// attempts returns the number of attempts of the attack.
func (a attack) attempts() int {
	if a.rare {
		return max(*attempts, rareAttempts)
	}
	return *attempts
}

// deniedInput tests denied same-site and cross-site frames that a page focuses or moves under the
// pointer while input is sent, and reloads continuously. The frames report every trusted event,
// value change, form submission and scroll position.
func deniedInput(s *suite.Runner, t *testing.T) {
	typing := func(o executor.TypeOptions) func(c *suite.Case) error {
		return func(c *suite.Case) error {
			o.Clear = true
			_, err := c.Page().Type(c.Ctx, suite.Selector("#f"), "pin 42", &o)
			return err
		}
	}
	press := func(key string, o executor.PressOptions) func(c *suite.Case) error {
		return func(c *suite.Case) error { return suite.ErrOf(c.Page().Press(c.Ctx, key, &o)) }
	}
	attacks(s, t, map[string]attack{
		"key events":       {method: "focus", do: typing(executor.TypeOptions{KeyEvents: true})},
		"text insertion":   {method: "focus", do: typing(executor.TypeOptions{})},
		"Enter after text": {method: "focus", do: typing(executor.TypeOptions{PressEnter: true})},
		"key on a target":  {method: "focus", do: press("Enter", executor.PressOptions{Target: suite.Selector("#f")})},
		"chord":            {method: "focus", do: press("Shift+A", executor.PressOptions{})},
		"paste":            {method: "focus", do: press("Control+V", executor.PressOptions{})},
		"composition":      {method: "flicker", do: compose},
	})
	s.Shared().Gated(t, "the focus moves to a denied frame while keys are typed", "", func(c *suite.Case, k *suite.Keeper) {
		hostilePage(c, k)
		c.Eval("f.onkeydown = () => frames[0].focus(); 0", nil)
		_, err := c.Page().Type(c.Ctx, suite.Selector("#f"), "hunter2", &executor.TypeOptions{KeyEvents: true})
		c.WantCode(err, executor.ErrPolicyDenied, "1 of 7 characters")
		c.EvalString("ask(0, 'check')")
		leaked(c)
	})
	s.Gated(t, "unchecked input to a denied frame", "", func(c *suite.Case, k *suite.Keeper) {
		hostilePage(c, k)
		for i := range 2 {
			c.Eval(fmt.Sprintf("show(%d)", i), nil)
			_, err := c.Page().CDP(c.Ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mousePressed", "x": 300, "y": 300, "button": "left", "clickCount": 1})
			c.WantCode(err, executor.ErrPolicyDenied, "blocked")
			if _, err := c.Page().CDP(c.Ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mouseReleased", "x": 300, "y": 300, "button": "left", "clickCount": 1}); err != nil {
				c.WantCode(err, executor.ErrPolicyDenied)
			}
			c.EvalString(fmt.Sprintf("ask(%d, 'check')", i))
			c.Eval("away(); 0", nil)
		}
		leaked(c)
	})
	s.Shared().Gated(t, "buttons pressed before raw input is denied are released", "", releasedAfterDenial)
	s.Shared().Gated(t, "input next to a denied frame that is loading", "input.html", slowFrame)
	s.Shared().Gated(t, "failed release is repeated later", "input.html", unreleased)
}

// deniedPointer is deniedInput for the pointer.
func deniedPointer(s *suite.Runner, t *testing.T) {
	mouse := func(o executor.MouseOptions) func(c *suite.Case) error {
		return func(c *suite.Case) error {
			o.X, o.Y = 100, 100
			_, err := c.Page().Mouse(c.Ctx, &o)
			return err
		}
	}
	attacks(s, t, map[string]attack{
		"press at a point":  {method: "pointer", do: mouse(executor.MouseOptions{Action: executor.MouseClick})},
		"tap at a point":    {method: "pointer", do: mouse(executor.MouseOptions{Action: executor.MouseTap})},
		"click on a target": {method: "target", do: clickButton},
		"wheel at a point":  {method: "pointer", do: mouse(executor.MouseOptions{Action: executor.MouseWheel, DeltaY: 120})},
		"raw wheel":         {method: "pointer", do: rawWheel},
		"drag by steps":     {method: "pointer", do: dragBySteps, rare: true},
		"raw swipe":         {method: "pointer", do: rawSwipe, manual: true},
	})
}

// attacks adds a deep case for each attack: its attempts are random, so that it says little on a busy
// machine. The other cases of the topics are deterministic.
func attacks(s *suite.Runner, t *testing.T, all map[string]attack) {
	for name, a := range suite.Sorted(all) {
		if a.manual && *attempts <= rareAttempts {
			continue
		}
		s.Deep().Gated(t, name, "", func(c *suite.Case, k *suite.Keeper) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(a.attempts())*attemptTimeout)
			defer cancel()
			c.Ctx = ctx
			hostile(c, k, a)
		})
	}
}

// slowFrame tests a denied frame whose navigation takes a long time.
func slowFrame(c *suite.Case, k *suite.Keeper) {
	c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(0); f.src = %q; f.style = 'position: fixed; left: 400px'; document.body.append(f); })", c.OtherURL("inputdenied.html")), nil)
	k.DenyOrigin(c.OtherOrigin())
	c.Eval(fmt.Sprintf("document.querySelector('iframe').src = '%s/held/%s/slow'; 0", c.OtherOrigin(), c.ID), nil)
	c.AwaitRequest("slow")
	// The browser delays commands for such a frame, so input for the page is
	// rejected.
	_, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseClick, X: 30, Y: 40})
	c.WantCode(err, executor.ErrNotActionable, "frame", "loading")
	c.WantUntouched("canvas")
	c.Release("slow")
	c.MouseAt(executor.MouseClick, 30, 40)
	c.Await("click", "canvas")
}

// unreleased presses a button that cannot be released while a denied frame loads.
// It is released by the next command after that.
func unreleased(c *suite.Case, k *suite.Keeper) {
	c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(0); f.src = %q; f.style = 'position: fixed; left: 400px'; document.body.append(f); })", c.OtherURL("inputdenied.html")), nil)
	k.DenyOrigin(c.OtherOrigin())
	c.MouseAt(executor.MouseDown, 30, 40)
	c.Eval(fmt.Sprintf("document.querySelector('iframe').src = '%s/held/%s/slow'; 0", c.OtherOrigin(), c.ID), nil)
	c.AwaitRequest("slow")
	for range 2 { // the second call fails because of the first
		_, err := c.Page().Mouse(c.Ctx, &executor.MouseOptions{Action: executor.MouseDown, X: 30, Y: 40, Button: executor.ButtonRight})
		c.WantCode(err, executor.ErrNotActionable, "frame", "loading")
	}
	c.Release("slow")
	c.MouseAt(executor.MouseDown, 30, 40)
	c.MouseAt(executor.MouseUp, 30, 40)
}

// attemptTimeout is the average time limit of an attempt on a busy machine.
const attemptTimeout = 4 * time.Second

// compose sends a composition of an input method.
func compose(c *suite.Case) error {
	_, err := c.Page().CDP(c.Ctx, "Input.imeSetComposition", map[string]any{"text": "pin", "selectionStart": 3, "selectionEnd": 3})
	if err == nil {
		_, err = c.Page().CDP(c.Ctx, "Input.insertText", map[string]any{"text": "pin"})
	}
	return err
}

func clickButton(c *suite.Case) error {
	return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#b"), &executor.ClickOptions{Timeout: 300 * time.Millisecond}))
}

// releasedAfterDenial presses a button and touches the page by raw commands. The
// next command is denied, and the page then receives the end of both.
func releasedAfterDenial(c *suite.Case, k *suite.Keeper) {
	hostilePage(c, k)
	c.Eval("window.ends = []; for (const type of ['mouseup', 'touchcancel']) addEventListener(type, (e) => ends.push(type)); 0", nil)
	c.Eval("show(0)", nil)
	for _, begin := range []struct {
		method string
		params map[string]any
		end    string
	}{
		{"Input.dispatchMouseEvent", map[string]any{"type": "mousePressed", "x": 300, "y": 450, "button": "left", "buttons": 1, "clickCount": 1}, "mouseup"},
		{"Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []map[string]any{{"x": 300, "y": 450}}}, "touchcancel"},
	} {
		c.Must(c.Page().CDP(c.Ctx, begin.method, begin.params))
		_, err := c.Page().CDP(c.Ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mouseWheel", "x": 300, "y": 300, "deltaX": 0, "deltaY": 50})
		c.WantCode(err, executor.ErrPolicyDenied, "wheel")
		c.Eval(fmt.Sprintf("new Promise((done) => { const check = () => ends.includes(%q) ? done(0) : setTimeout(check, 20); check(); })", begin.end), nil)
	}
	leaked(c)
}

// rawWheel turns the wheel by a raw command.
func rawWheel(c *suite.Case) error {
	return suite.ErrOf(c.Page().CDP(c.Ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mouseWheel", "x": 100, "y": 100, "deltaX": 0, "deltaY": 120}))
}

// rawSwipe moves a finger up by raw commands. It stops when one fails.
func rawSwipe(c *suite.Case) error {
	touch := func(kind string, points ...map[string]any) error {
		return suite.ErrOf(c.Page().CDP(c.Ctx, "Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": append([]map[string]any{}, points...)}))
	}
	err := touch("touchStart", map[string]any{"x": 100, "y": 300})
	if err == nil {
		err = touch("touchMove", map[string]any{"x": 100, "y": 150})
	}
	if err == nil {
		err = touch("touchEnd")
	}
	return err
}

// dragBySteps presses a button, moves the pointer and releases the button. It
// starts next to the card, so no data is dragged: SECURITY.md explains it.
func dragBySteps(c *suite.Case) error {
	for _, o := range []executor.MouseOptions{
		{Action: executor.MouseDown, X: 100, Y: 150},
		{Action: executor.MouseMove, X: 105, Y: 160},
		{Action: executor.MouseMove, X: 100, Y: 190},
		{Action: executor.MouseUp, X: 100, Y: 190},
	} {
		if _, err := c.Page().Mouse(c.Ctx, &o); err != nil {
			return err
		}
	}
	return nil
}

// hostilePage opens hostileinput.html, denies its frames and returns its URL.
func hostilePage(c *suite.Case, k *suite.Keeper) (top string) {
	c.Helper()
	site := fmt.Sprintf("zoom%s.localhost:%d", c.ID, c.Port)
	origin := "http://" + site
	top = origin + "/p/" + c.ID + "/hostileinput.html"
	tab := c.OpenURL(top)
	c.Tab = tab.ID
	// Each case has its own site, and so its own renderer: see wakeRenderer.
	same, cross := "http://denied."+site+"/p/"+c.ID+"/hostileinputdenied.html", fmt.Sprintf("http://other%s.localhost:%d/p/%s/hostileinputdenied.html", c.ID, c.Port, c.ID)
	number := *seed
	if number == 0 {
		number = rand.Uint64()
	}
	c.Logf("-seed=%d", number)
	c.Eval(fmt.Sprintf("prepare(%d, [%q, %q]).then(() => 0)", uint32(number), same, cross), nil)
	k.Deny(func(a executor.Access) bool { return a.Origin != origin && a.Origin != executor.OriginInternal })
	return top
}

// maxUndirected bounds the attempts, as a multiple of their number, until one is directed at a denied
// frame. Without such an attempt, a case proves nothing.
const maxUndirected = 5

// hostile attempts one kind of input in a page that directs it at denied frames.
// No input may reach the frames. The page receives input before and afterwards,
// and the frames receive the user's input afterwards.
func hostile(c *suite.Case, k *suite.Keeper, a attack) {
	top := hostilePage(c, k)
	n := a.attempts()
	for _, key := range []string{"Control+A", "Control+C"} { // content for the clipboard
		c.Must(c.Page().Type(c.Ctx, suite.Selector("#f"), "copied", &executor.TypeOptions{Clear: true}))
		if c.H.SharedClipboard && key == "Control+C" {
			continue
		}
		c.Must(c.Page().Press(c.Ctx, key, nil))
	}
	c.Eval(fmt.Sprintf("start(%q); 0", a.method), nil)
	results := map[executor.Code]int{}
	directed := func() bool { // at a denied frame; NOT_ACTIONABLE if the target did not receive the input
		return results[executor.ErrPolicyDenied]+results[executor.ErrNotActionable] > 0
	}
	made := 0
	for ; made < n || !directed() && made < maxUndirected*n; made++ {
		err := a.do(c)
		results[executor.CodeOf(err)]++
		if errors.Is(err, executor.ErrInternal) || c.Ctx.Err() != nil {
			c.Fatalf("%v; results: %v", err, results)
		}
	}
	c.Logf("%d attempts ended as %v", made, results)
	if n := results[executor.ErrBadArgs]; n > 0 {
		c.Errorf("%d attempts found a button pressed that an earlier one did not release", n)
	}
	if !directed() {
		c.Errorf("no attempt was directed at a denied frame: %v", results)
	}
	c.Eval("stop(); 0", nil)
	for i := range 2 {
		wakeRenderer(c, top, i)
		if got := c.EvalString(fmt.Sprintf("ask(%d, 'check')", i)); got != "clean" {
			c.Errorf("denied frame %d is %s", i, got)
		}
	}
	leaked(c)
	// Regular input works.
	c.Eval("window.honest = true; 0", nil)
	if _, err := c.Page().Type(c.Ctx, suite.Selector("#f"), "honest", &executor.TypeOptions{Clear: true, KeyEvents: true}); err != nil {
		c.Errorf("typing into the page: %v", err)
	}
	c.WantValue("f.value", "honest")
	c.Click(suite.Selector("#b"), nil)
	c.Await("click", "b")
	// The user can use the frames immediately.
	for i := range 2 {
		c.Eval(fmt.Sprintf("show(%d)", i), nil)
		c.EvalString(fmt.Sprintf("ask(%d, 'await')", i))
		userInput(c, top, 300, 300, "mousePressed", "mouseReleased")
		c.Await("user", "click")
		c.Eval("away(); 0", nil)
	}
}

// wakeRenderer presses the user's button at a point of a frame that reports no
// input there. Chromium 156 can delay the loading, messages and timers of all pages
// of a renderer from the start of a touch until the next input, if events are lost
// because a frame is replaced.
func wakeRenderer(c *suite.Case, top string, i int) {
	c.Helper()
	c.Eval(fmt.Sprintf("show(%d)", i), nil)
	userInput(c, top, 450, 200, "mousePressed", "mouseMoved", "mouseReleased")
	c.Eval("away(); f.focus(); 0", nil)
}

// userInput sends mouse events with the left button, as from the user.
func userInput(c *suite.Case, top string, x, y int, kinds ...string) {
	c.Helper()
	for _, kind := range kinds {
		params := map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
		if kind != "mouseReleased" {
			params["buttons"] = 1
		}
		c.H.Raw(c.T, top, "Input.dispatchMouseEvent", params)
	}
}

// leaked fails the case if a denied frame reported input.
func leaked(c *suite.Case) {
	c.Helper()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	leaks := map[string]int{}
	focused := 0
	for _, r := range c.Reports {
		switch r.Kind {
		case "leak":
			leaks[r.ID+" "+r.Value]++
		case "focused":
			focused++
		}
	}
	if len(leaks) > 0 {
		c.Errorf("denied frames received input: %v", leaks)
	}
	c.Logf("denied frames had the focus %d times", focused)
}

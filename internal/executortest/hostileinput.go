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
	do     func(c *testCase) error
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
func (s *suite) deniedInput(t *testing.T) {
	typing := func(o executor.TypeOptions) func(c *testCase) error {
		return func(c *testCase) error {
			o.Clear = true
			_, err := c.page().Type(c.ctx, css("#f"), "pin 42", &o)
			return err
		}
	}
	press := func(key string, o executor.PressOptions) func(c *testCase) error {
		return func(c *testCase) error { return errOf(c.page().Press(c.ctx, key, &o)) }
	}
	s.attacks(t, map[string]attack{
		"key events":       {method: "focus", do: typing(executor.TypeOptions{KeyEvents: true})},
		"text insertion":   {method: "focus", do: typing(executor.TypeOptions{})},
		"Enter after text": {method: "focus", do: typing(executor.TypeOptions{PressEnter: true})},
		"key on a target":  {method: "focus", do: press("Enter", executor.PressOptions{Target: css("#f")})},
		"chord":            {method: "focus", do: press("Shift+A", executor.PressOptions{})},
		"paste":            {method: "focus", do: press("Control+V", executor.PressOptions{})},
		"composition":      {method: "flicker", do: compose},
	})
	s.gated(t, "the focus moves to a denied frame while keys are typed", "", func(c *testCase, k *keeper) {
		c.hostilePage(k)
		c.eval("f.onkeydown = () => frames[0].focus(); 0", nil)
		_, err := c.page().Type(c.ctx, css("#f"), "hunter2", &executor.TypeOptions{KeyEvents: true})
		c.wantCode(err, executor.ErrPolicyDenied, "1 of 7 characters")
		c.evalString("ask(0, 'check')")
		c.leaked()
	})
	s.gated(t, "unchecked input to a denied frame", "", func(c *testCase, k *keeper) {
		c.hostilePage(k)
		for i := range 2 {
			c.eval(fmt.Sprintf("show(%d)", i), nil)
			_, err := c.page().CDP(c.ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mousePressed", "x": 300, "y": 300, "button": "left", "clickCount": 1})
			c.wantCode(err, executor.ErrPolicyDenied, "blocked")
			if _, err := c.page().CDP(c.ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mouseReleased", "x": 300, "y": 300, "button": "left", "clickCount": 1}); err != nil {
				c.wantCode(err, executor.ErrPolicyDenied)
			}
			c.evalString(fmt.Sprintf("ask(%d, 'check')", i))
			c.eval("away(); 0", nil)
		}
		c.leaked()
	})
	s.gated(t, "buttons pressed before raw input is denied are released", "", releasedAfterDenial)
	s.gated(t, "input next to a denied frame that is loading", "input.html", slowFrame)
	s.gated(t, "failed release is repeated later", "input.html", unreleased)
}

// deniedPointer is deniedInput for the pointer.
func (s *suite) deniedPointer(t *testing.T) {
	mouse := func(o executor.MouseOptions) func(c *testCase) error {
		return func(c *testCase) error {
			o.X, o.Y = 100, 100
			_, err := c.page().Mouse(c.ctx, o)
			return err
		}
	}
	s.attacks(t, map[string]attack{
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
func (s *suite) attacks(t *testing.T, all map[string]attack) {
	for name, a := range sorted(all) {
		if a.manual && *attempts <= rareAttempts {
			continue
		}
		s.long().gated(t, name, "", func(c *testCase, k *keeper) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(a.attempts())*attemptTimeout)
			defer cancel()
			c.ctx = ctx
			c.hostile(k, a)
		})
	}
}

// slowFrame tests a denied frame whose navigation takes a long time.
func slowFrame(c *testCase, k *keeper) {
	c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(0); f.src = %q; f.style = 'position: fixed; left: 400px'; document.body.append(f); })", c.otherURL("inputdenied.html")), nil)
	k.denyOrigin(c.otherOrigin())
	c.eval(fmt.Sprintf("document.querySelector('iframe').src = '%s/held/%s/slow'; 0", c.otherOrigin(), c.id), nil)
	c.awaitRequest("slow")
	// The browser delays commands for such a frame, so input for the page is
	// rejected.
	_, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseClick, X: 30, Y: 40})
	c.wantCode(err, executor.ErrNotActionable, "frame", "loading")
	c.wantUntouched("canvas")
	c.release("slow")
	c.mouse(executor.MouseClick, 30, 40)
	c.await("click", "canvas")
}

// unreleased presses a button that cannot be released while a denied frame loads.
// It is released by the next command after that.
func unreleased(c *testCase, k *keeper) {
	c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(0); f.src = %q; f.style = 'position: fixed; left: 400px'; document.body.append(f); })", c.otherURL("inputdenied.html")), nil)
	k.denyOrigin(c.otherOrigin())
	c.mouse(executor.MouseDown, 30, 40)
	c.eval(fmt.Sprintf("document.querySelector('iframe').src = '%s/held/%s/slow'; 0", c.otherOrigin(), c.id), nil)
	c.awaitRequest("slow")
	for range 2 { // the second call fails because of the first
		_, err := c.page().Mouse(c.ctx, executor.MouseOptions{Action: executor.MouseDown, X: 30, Y: 40, Button: executor.ButtonRight})
		c.wantCode(err, executor.ErrNotActionable, "frame", "loading")
	}
	c.release("slow")
	c.mouse(executor.MouseDown, 30, 40)
	c.mouse(executor.MouseUp, 30, 40)
}

// attemptTimeout is the average time limit of an attempt on a busy machine.
const attemptTimeout = 4 * time.Second

// compose sends a composition of an input method.
func compose(c *testCase) error {
	_, err := c.page().CDP(c.ctx, "Input.imeSetComposition", map[string]any{"text": "pin", "selectionStart": 3, "selectionEnd": 3})
	if err == nil {
		_, err = c.page().CDP(c.ctx, "Input.insertText", map[string]any{"text": "pin"})
	}
	return err
}

func clickButton(c *testCase) error {
	return errOf(c.page().Click(c.ctx, css("#b"), &executor.ClickOptions{Timeout: 300 * time.Millisecond}))
}

// releasedAfterDenial presses a button and touches the page by raw commands. The
// next command is denied, and the page then receives the end of both.
func releasedAfterDenial(c *testCase, k *keeper) {
	c.hostilePage(k)
	c.eval("window.ends = []; for (const type of ['mouseup', 'touchcancel']) addEventListener(type, (e) => ends.push(type)); 0", nil)
	c.eval("show(0)", nil)
	for _, begin := range []struct {
		method string
		params map[string]any
		end    string
	}{
		{"Input.dispatchMouseEvent", map[string]any{"type": "mousePressed", "x": 300, "y": 450, "button": "left", "buttons": 1, "clickCount": 1}, "mouseup"},
		{"Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []map[string]any{{"x": 300, "y": 450}}}, "touchcancel"},
	} {
		c.must(c.page().CDP(c.ctx, begin.method, begin.params))
		_, err := c.page().CDP(c.ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mouseWheel", "x": 300, "y": 300, "deltaX": 0, "deltaY": 50})
		c.wantCode(err, executor.ErrPolicyDenied, "wheel")
		c.eval(fmt.Sprintf("new Promise((done) => { const check = () => ends.includes(%q) ? done(0) : setTimeout(check, 20); check(); })", begin.end), nil)
	}
	c.leaked()
}

// rawWheel turns the wheel by a raw command.
func rawWheel(c *testCase) error {
	return errOf(c.page().CDP(c.ctx, "Input.dispatchMouseEvent", map[string]any{"type": "mouseWheel", "x": 100, "y": 100, "deltaX": 0, "deltaY": 120}))
}

// rawSwipe moves a finger up by raw commands. It stops when one fails.
func rawSwipe(c *testCase) error {
	touch := func(kind string, points ...map[string]any) error {
		return errOf(c.page().CDP(c.ctx, "Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": append([]map[string]any{}, points...)}))
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
func dragBySteps(c *testCase) error {
	for _, o := range []executor.MouseOptions{
		{Action: executor.MouseDown, X: 100, Y: 150},
		{Action: executor.MouseMove, X: 105, Y: 160},
		{Action: executor.MouseMove, X: 100, Y: 190},
		{Action: executor.MouseUp, X: 100, Y: 190},
	} {
		if _, err := c.page().Mouse(c.ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// hostilePage opens hostileinput.html, denies its frames and returns its URL.
func (c *testCase) hostilePage(k *keeper) (top string) {
	c.Helper()
	site := fmt.Sprintf("zoom%s.localhost:%d", c.id, c.port)
	origin := "http://" + site
	top = origin + "/p/" + c.id + "/hostileinput.html"
	tab := c.openURL(top)
	c.tab = tab.ID
	// Each case has its own site, and so its own renderer: see wakeRenderer.
	same, cross := "http://denied."+site+"/p/"+c.id+"/hostileinputdenied.html", fmt.Sprintf("http://other%s.localhost:%d/p/%s/hostileinputdenied.html", c.id, c.port, c.id)
	number := *seed
	if number == 0 {
		number = rand.Uint64()
	}
	c.Logf("-seed=%d", number)
	c.eval(fmt.Sprintf("prepare(%d, [%q, %q]).then(() => 0)", uint32(number), same, cross), nil)
	k.deny(func(a executor.Access) bool { return a.Origin != origin && a.Origin != executor.OriginInternal })
	return top
}

// maxUndirected bounds the attempts, as a multiple of their number, until one is directed at a denied
// frame. Without such an attempt, a case proves nothing.
const maxUndirected = 5

// hostile attempts one kind of input in a page that directs it at denied frames.
// No input may reach the frames. The page receives input before and afterwards,
// and the frames receive the user's input afterwards.
func (c *testCase) hostile(k *keeper, a attack) {
	top := c.hostilePage(k)
	n := a.attempts()
	for _, key := range []string{"Control+A", "Control+C"} { // content for the clipboard
		c.must(c.page().Type(c.ctx, css("#f"), "copied", &executor.TypeOptions{Clear: true}))
		if c.h.SharedClipboard && key == "Control+C" {
			continue
		}
		c.must(c.page().Press(c.ctx, key, nil))
	}
	c.eval(fmt.Sprintf("start(%q); 0", a.method), nil)
	results := map[executor.Code]int{}
	directed := func() bool { // at a denied frame; NOT_ACTIONABLE if the target did not receive the input
		return results[executor.ErrPolicyDenied]+results[executor.ErrNotActionable] > 0
	}
	made := 0
	for ; made < n || !directed() && made < maxUndirected*n; made++ {
		err := a.do(c)
		results[executor.CodeOf(err)]++
		if errors.Is(err, executor.ErrInternal) || c.ctx.Err() != nil {
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
	c.eval("stop(); 0", nil)
	for i := range 2 {
		c.wakeRenderer(top, i)
		if got := c.evalString(fmt.Sprintf("ask(%d, 'check')", i)); got != "clean" {
			c.Errorf("denied frame %d is %s", i, got)
		}
	}
	c.leaked()
	// Regular input works.
	c.eval("window.honest = true; 0", nil)
	if _, err := c.page().Type(c.ctx, css("#f"), "honest", &executor.TypeOptions{Clear: true, KeyEvents: true}); err != nil {
		c.Errorf("typing into the page: %v", err)
	}
	c.wantValue("f.value", "honest")
	c.click(css("#b"), nil)
	c.await("click", "b")
	// The user can use the frames immediately.
	for i := range 2 {
		c.eval(fmt.Sprintf("show(%d)", i), nil)
		c.evalString(fmt.Sprintf("ask(%d, 'await')", i))
		c.userInput(top, 300, 300, "mousePressed", "mouseReleased")
		c.await("user", "click")
		c.eval("away(); 0", nil)
	}
}

// wakeRenderer presses the user's button at a point of a frame that reports no
// input there. Chromium 156 can delay the loading, messages and timers of all pages
// of a renderer from the start of a touch until the next input, if events are lost
// because a frame is replaced.
func (c *testCase) wakeRenderer(top string, i int) {
	c.Helper()
	c.eval(fmt.Sprintf("show(%d)", i), nil)
	c.userInput(top, 450, 200, "mousePressed", "mouseMoved", "mouseReleased")
	c.eval("away(); f.focus(); 0", nil)
}

// userInput sends mouse events with the left button, as from the user.
func (c *testCase) userInput(top string, x, y int, kinds ...string) {
	c.Helper()
	for _, kind := range kinds {
		params := map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
		if kind != "mouseReleased" {
			params["buttons"] = 1
		}
		c.h.Raw(c.T, top, "Input.dispatchMouseEvent", params)
	}
}

// leaked fails the case if a denied frame reported input.
func (c *testCase) leaked() {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	leaks := map[string]int{}
	focused := 0
	for _, r := range c.reports {
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

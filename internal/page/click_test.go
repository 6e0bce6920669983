package page

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A scriptedTab is a tab for a view that clicks #buy, in a browser that replies to commands only in
// reply.
type scriptedTab struct {
	*View
	browser *cdptest.FakeTransport
	held    string              // name of the commands that reply does not reply to
	results map[string][]string // the next results of page scripts, before those of scriptResults

	mu         sync.Mutex
	sent       []string // names
	unanswered []*cdproto.Message
}

// scriptResults are what the page scripts return.
var scriptResults = map[string]string{
	"startTracking":  `"Shop"`,
	"query":          `{"error":"","total":1,"nth":false,"matches":[[7,true]],"item":""}`,
	"waitActionable": `{"ok":true,"x":40,"y":30,"pinch":[0,0],"mayHaveMoved":false,"frame":0}`,
	"startCheck":     `""`,
	"finishCheck":    `{"seen":[{"type":"pointerdown","ok":true},{"type":"mousedown","ok":true},{"type":"click","ok":true}],"left":"","disabled":false,"file":false,"invalid":[]}`,
	"waitForQuiet":   `{"title":"Cart","changed":true,"outline":null,"target":null}`,
	"isHitAt":        "false", // after the first click of a double click
}

func newScriptedTab(t *testing.T) *scriptedTab { return newScriptedTabWith(t, false) }

// newScriptedTabWith is newScriptedTab for a document that has a frame of https://b.test if inner is set.
func newScriptedTabWith(t *testing.T, inner bool) *scriptedTab {
	s := &scriptedTab{}
	s.browser = cdptest.New(func(_ *cdptest.FakeTransport, cmd *cdproto.Message) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, frametest.CommandName(cmd))
		s.unanswered = append(s.unanswered, cmd)
	})
	replying := make(chan struct{})
	go func() { // while the tab is attached and loads
		for {
			select {
			case <-replying:
				return
			default:
				s.reply()
			}
		}
	}()
	tab := attach(t, s.browser)
	frametest.Load(t, s.browser, tab.tree, 1)
	if inner {
		frametest.LoadChild(t, s.browser, tab.tree, 2)
	}
	replying <- struct{}{}
	s.View = tab.NewView(ViewOptions{Gate: executor.AllowAll, AfterAction: executor.AfterNone})
	return s
}

// setResults adds results of a page script.
func (s *scriptedTab) setResults(name string, results ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.results == nil {
		s.results = map[string][]string{}
	}
	s.results[name] = append(s.results[name], results...)
}

// reply waits until all goroutines wait, replies to the commands that were sent, and returns their
// names.
func (s *scriptedTab) reply() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.sent
	var held []*cdproto.Message
	for _, cmd := range s.unanswered {
		result := "{}"
		switch {
		case s.held != "" && frametest.CommandName(cmd) == s.held:
			held = append(held, cmd)
			continue
		case cmd.Method == "Runtime.callFunctionOn":
			name := frametest.CommandName(cmd)
			value := cmp.Or(scriptResults[name], "null")
			if next := s.results[name]; len(next) > 0 {
				value, s.results[name] = next[0], next[1:]
			}
			result = fmt.Sprintf(`{"result":{"type":"object","value":%s}}`, value)
		case cmd.Method == "Page.addScriptToEvaluateOnNewDocument":
			result = `{"identifier":"1"}`
		}
		s.browser.Reply(cmd, result)
	}
	s.sent, s.unanswered = nil, held
	return names
}

// click starts a click, and returns a channel for its error.
func (s *scriptedTab) click(t *testing.T, opts *executor.ClickOptions) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Click(t.Context(), executor.Target{Selector: "#buy"}, opts)
		done <- err
	}()
	return done
}

// replyToAll replies until no more commands are sent, and returns their names: each string has those
// that were sent before the browser had replied to any of them.
func (s *scriptedTab) replyToAll() (steps []string) {
	for {
		names := s.reply()
		if len(names) == 0 {
			return steps
		}
		steps = append(steps, strings.Join(names, " "))
	}
}

// TestClickSteps checks which commands a click sends, in which order, and after which it waits for
// the browser: each line is sent before the browser has replied to any of its commands.
func TestClickSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedTab(t)
		done := s.click(t, nil)
		steps := s.replyToAll()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := len(steps); n > 0 {
			after := strings.Fields(steps[n-1]) // nothing waits for these, and some are sent by a goroutine
			slices.Sort(after)
			steps[n-1] = strings.Join(after, " ")
		}
		want := []string{
			"evaluate query",
			"setInterceptFileChooserDialog startTracking waitActionable",
			"setAutoAttach addScriptToEvaluateOnNewDocument unblockInput startCheck",
			"mouseMoved mousePressed mouseReleased",
			"waitForQuiet finishCheck",
			"removeScriptToEvaluateOnNewDocument setAutoAttach setInterceptFileChooserDialog stopTracking",
		}
		if !slices.Equal(steps, want) {
			t.Errorf("a click sends\n%s\nwant\n%s", strings.Join(steps, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestClickInOtherFrame checks that a press that a frame of another document would receive is blocked
// there, that the error names the frame, and that no command waits for that document alone.
func TestClickInOtherFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedTabWith(t, true)
		const blocked = `{"seen":[{"type":"pointerdown","ok":false,"prevented":true,"by":{"id":5,"role":"button","name":"Pay"}}],"left":"","invalid":[]}`
		for range 3 { // the document of the element, the frame, and the frame at the end
			s.setResults("finishCheck", `{"seen":[],"left":"","invalid":[]}`, blocked, "null")
		}
		done := s.click(t, nil)
		steps := s.replyToAll()
		err := <-done
		if executor.CodeOf(err) != executor.ErrNotActionable || !strings.Contains(err.Error(), "in a frame of https://b.test") || !strings.Contains(err.Error(), "blocked") {
			t.Errorf("error %v", err)
		}
		if n := strings.Count(strings.Join(steps, " "), "mousePressed"); n != 3 {
			t.Errorf("%d presses", n)
		}
		if !slices.ContainsFunc(steps, func(step string) bool { return strings.HasSuffix(step, "startCheck startCheck") }) {
			t.Errorf("the checks are not started together: %q", steps)
		}
	})
}

// TestClickRetries checks that a click is repeated after its press was blocked twice, however often its
// target has moved before.
func TestClickRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedTab(t)
		blocked := `{"seen":[{"type":"pointerdown","ok":false,"prevented":true,"late":true}],"left":"","invalid":[]}`
		s.results = map[string][]string{
			"startCheck":  {`"moved"`, `"moved"`, `""`, `""`, `""`},
			"finishCheck": {"null", "null", blocked, blocked}, // the first two stop the checks of what moved
		}
		done := s.click(t, nil)
		sent := strings.Join(s.replyToAll(), " ")
		if err := <-done; err != nil || strings.Count(sent, "mousePressed") != 3 {
			t.Errorf("error %v, sent %s", err, sent)
		}
	})
}

// TestInputNotSent checks that an action sends no press if its move was not sent, even if input could be
// sent then: the error says that nothing was sent, and the caller tries again.
func TestInputNotSent(t *testing.T) {
	target := executor.Target{Selector: "#buy"}
	for name, do := range map[string]func(context.Context, *View) error{
		"click": func(ctx context.Context, v *View) error {
			_, err := v.Click(ctx, target, nil)
			return err
		},
		"drag": func(ctx context.Context, v *View) error {
			_, err := v.Drag(ctx, target, target, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScriptedTab(t)
				s.held = "unblockInput" // without the reply, no input is sent
				done := make(chan error, 1)
				go func() { done <- do(t.Context(), s.View) }()
				s.replyToAll()
				time.Sleep(timing.Current().Block)
				s.held = ""
				steps := s.replyToAll()
				err := <-done
				if executor.CodeOf(err) != executor.ErrNotActionable || !strings.Contains(err.Error(), "was not sent") {
					t.Errorf("error %v", err)
				}
				got := strings.Join(steps, " ")
				if strings.Contains(got, "mouse") {
					t.Errorf("sent %s", got)
				}
				if !strings.Contains(got, "finishCheck") {
					t.Errorf("the page still expects the press: sent %s", got)
				}
			})
		})
	}
}

// TestDoubleClickEndsCheck checks that the page stops to expect a second click that is not sent: it would
// block the next click on another element.
func TestDoubleClickEndsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedTab(t)
		done := s.click(t, &executor.ClickOptions{Count: 2})
		sent := strings.Join(s.replyToAll(), " ")
		if err := <-done; err == nil || !strings.Contains(err.Error(), "clicked 1 of 2 times") {
			t.Errorf("error %v", err)
		}
		if _, after, found := strings.Cut(sent, " isHitAt "); !found || !strings.Contains(after, "finishCheck") {
			t.Errorf("sent %s", sent)
		}
	})
}

// TestClickDocumentReplaced checks that a click whose document was replaced is done only if the document
// has reported the press.
func TestClickDocumentReplaced(t *testing.T) {
	for _, reported := range []bool{false, true} {
		t.Run(fmt.Sprint("reported=", reported), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScriptedTab(t)
				s.held = "finishCheck"
				done := s.click(t, nil)
				s.replyToAll()
				s.mu.Lock()
				unanswered := s.unanswered
				s.held, s.unanswered = "", nil
				s.mu.Unlock()
				if len(unanswered) != 1 {
					t.Fatalf("%d commands wait for a reply", len(unanswered))
				}
				finish := unanswered[0]
				if token := regexp.MustCompile("[A-Z2-7]{26}").Find(finish.Params); reported {
					s.browser.Emit("T", "Runtime.bindingCalled", fmt.Sprintf(`{"name":%q,"payload":"{\"token\":\"%s\",\"type\":\"pointerdown\",\"ok\":true}","executionContextId":1}`, BindingName, token))
				}
				s.browser.Fail(finish, -32000, "uniqueContextId not found")
				s.replyToAll()
				err := <-done
				want := executor.Code("")
				if !reported {
					want = executor.ErrTargetGone
				}
				if executor.CodeOf(err) != want {
					t.Errorf("error %v, want %q", err, want)
				}
			})
		})
	}
}

// TestChooserInterception checks that file choosers are intercepted until the last call that tracks
// changes has ended.
func TestChooserInterception(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedTab(t)
		enabled := func() bool {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return strings.Contains(string(s.unanswered[len(s.unanswered)-1].Params), "true")
		}
		in, tree := &s.tab.choosers, s.tab.tree
		in.begin(tree)
		in.begin(tree)
		in.end(tree)
		if !enabled() {
			t.Error("disabled while a call tracks changes")
		}
		if in.end(tree); enabled() {
			t.Error("enabled after the last call")
		}
		s.replyToAll()
	})
}

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A handedOverPage is the page of a fake browser, which records handovers.
type handedOverPage struct {
	*fake
	desk    *handover.Desk
	visible bool

	mu         sync.Mutex // guards the fields below
	count      int        // handovers
	shown      int        // how often the tab was brought to the front
	wait       func()     // before a handover ends
	handedOver bool
	gone       chan struct{}
}

// newHandedOverPage returns a page.
func newHandedOverPage(visible bool) *handedOverPage {
	p := &handedOverPage{desk: new(handover.Desk), visible: visible, wait: func() {}, gone: make(chan struct{})}
	p.fake = &fake{
		listTabs: func(context.Context) ([]executor.Tab, error) {
			return []executor.Tab{{ID: tab1, URL: shop + "done", Title: "Done", Active: true}}, nil
		},
		handOver: func(_ context.Context, tab executor.TabID) (*executor.HandedOver, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.handedOver {
				return nil, executor.Errorf(executor.ErrBackpressure, "", "the page is handed over to the user")
			}
			p.count++
			p.handedOver = true
			return &executor.HandedOver{Tab: tab1, URL: shop, Title: "Shop", Origin: shopOrigin, Visible: p.visible, Gone: p.gone, Show: func(context.Context) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.shown++
			}, End: func() {
				p.wait()
				p.mu.Lock()
				defer p.mu.Unlock()
				p.handedOver = false
			}}, nil
		},
	}
	return p
}

func (p *handedOverPage) server(of HandoverOptions) *Server {
	of.Questions = p.desk
	return NewServer(p.fake, &Options{Tools: Toolsets(), Handover: &of})
}

// state returns how often the page was handed over, and whether it is now.
func (p *handedOverPage) state() (count int, handedOver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count, p.handedOver
}

func hasDashboard() bool { return true }

const askCall = `{"message":"Enter the code"}`

// userAnswers is a client whose user answers elicitations.
func userAnswers(action, answer string, seen func(*sdk.ElicitParams)) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		if seen != nil {
			seen(req.Params)
		}
		return &sdk.ElicitResult{Action: action, Content: map[string]any{"answer": answer}}, nil
	}}
}

// TestAskUserByElicitation checks the question and all answers in both generations of the protocol.
func TestAskUserByElicitation(t *testing.T) {
	for _, version := range []string{legacy, "2026-07-28"} {
		for _, tt := range []struct{ action, answer, want string }{
			{"accept", "done", "the user is done\nURL: \"https://shop.example/done\" \"Done\""},
			{"accept", "cannot", "the user cannot do it"},
			{"decline", "", "CONSENT_REQUIRED: The client declined or canceled the question, possibly without showing it to the user. Do not ask again"},
			{"cancel", "", "CONSENT_REQUIRED: The client declined or canceled the question, possibly without showing it to the user. Do not ask again"},
		} {
			inBubble(t, version+" "+tt.action+" "+tt.answer, func(t *testing.T) {
				p := newHandedOverPage(true)
				p.wait = func() { time.Sleep(time.Second) } // a repeated call arrives before the end
				var questions int
				var question string
				cs := connectAs(t, p.server(HandoverOptions{}), userAnswers(tt.action, tt.answer, func(q *sdk.ElicitParams) {
					questions++
					question = q.Message
				}), version)
				res := callTool(t, cs, "ask_user", askCall)
				if text := textOf(res); res.IsError != (tt.action != "accept") || !strings.Contains(text, tt.want) {
					t.Errorf("result: %s", text)
				}
				if questions != 1 || p.shown != 1 {
					t.Errorf("the user was asked %d times, and the tab was shown %d times", questions, p.shown)
				}
				for _, want := range []string{`The agent "test 1"`, "https://shop.example", `"Enter the code"`, "agents cannot see or use the page"} {
					if !strings.Contains(question, want) {
						t.Errorf("the question %q does not contain %q", question, want)
					}
				}
				if count, handedOver := p.state(); count != 1 || handedOver {
					t.Errorf("%d handovers, handed over: %t", count, handedOver)
				}
				if open := p.desk.Questions(); len(open) != 0 {
					t.Errorf("open questions: %+v", open)
				}
			})
		}
	}
}

// TestHandoverAnswerInAudit checks that the audit log has one entry about an answer, also if several
// calls wait for it, and that its rule names who returned it.
func TestHandoverAnswerInAudit(t *testing.T) {
	answers := func(log *memoryRecorder) (rules []string) {
		for _, e := range log.take() {
			if e.Decision != "" && strings.HasPrefix(e.Detail, "handover: ") {
				rules = append(rules, fmt.Sprintf("%s %s by %s", e.Detail, e.Decision, e.Rule))
			}
		}
		return rules
	}
	for _, version := range []string{legacy, "2026-07-28"} {
		for _, tt := range []struct{ action, answer, want string }{
			{"accept", "done", "handover: done allowed by client"},
			{"accept", "cannot", "handover: cannot denied by client"},
			{"decline", "", "handover: cannot denied by client"},
		} {
			inBubble(t, version+" "+tt.action+" "+tt.answer, func(t *testing.T) {
				p, log := newHandedOverPage(true), new(memoryRecorder)
				s := NewServer(p.fake, &Options{Tools: Toolsets(), Handover: &HandoverOptions{Questions: p.desk}, Audit: log})
				callTool(t, connectAs(t, s, userAnswers(tt.action, tt.answer, nil), version), "ask_user", askCall)
				if got := answers(log); !slices.Equal(got, []string{tt.want}) {
					t.Errorf("answers %q", got)
				}
			})
		}
	}
	inBubble(t, "popup, two calls", func(t *testing.T) {
		p, log := newHandedOverPage(true), new(memoryRecorder)
		s := NewServer(p.fake, &Options{Tools: Toolsets(), Handover: &HandoverOptions{Questions: p.desk, Prompter: silentPopup{}}, Audit: log})
		cs := connect(t, s, nil)
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() { callTool(t, cs, "ask_user", askCall) })
		}
		synctest.Wait()
		if err := p.desk.Answer(p.desk.Questions()[0].ID, executor.OutcomeDone); err != nil {
			t.Fatal(err)
		}
		calls.Wait()
		if got := answers(log); !slices.Equal(got, []string{"handover: done allowed by user"}) {
			t.Errorf("answers %q", got)
		}
	})
}

// TestLaterForm checks that a form for a question that has an answer does not change whether the client
// declined it, not even until the form is rejected: a call may be reading the answer.
func TestLaterForm(t *testing.T) {
	for _, tt := range []struct {
		first, later string
		want         bool
	}{{"decline", "accept", true}, {"accept", "decline", false}} {
		var q question
		want := false
		desk := &watchedDesk{Desk: new(handover.Desk), answering: func() {
			if q.declined != want {
				t.Errorf("%s, then %s: declined: %t before the answer is accepted or rejected", tt.first, tt.later, q.declined)
			}
		}}
		var err error
		if q.HandoverQuestion, _, err = desk.Post(executor.HandoverQuestion{Tab: tab1}); err != nil {
			t.Fatal(err)
		}
		h := newHandovers(nil, &HandoverOptions{Questions: desk})
		for _, action := range []string{tt.first, tt.later} {
			h.answerForm(&q, &sdk.ElicitResult{Action: action, Content: map[string]any{"answer": string(executor.OutcomeDone)}})
			if want = tt.want; q.declined != want {
				t.Errorf("%s, then %s: declined after %s: %t", tt.first, tt.later, action, q.declined)
			}
		}
	}
}

// A watchedDesk calls answering before it accepts or rejects an answer.
type watchedDesk struct {
	*handover.Desk
	answering func()
}

func (d *watchedDesk) Answer(id string, o executor.HandoverOutcome) error {
	d.answering()
	return d.Desk.Answer(id, o)
}

// TestAskUserKeepsAnswer checks that a question stays open when the host cancels the call, that the
// page stays with the user, and that the next call gets the answer, and which question it answers.
func TestAskUserKeepsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newHandedOverPage(false)
		cs := connect(t, p.server(HandoverOptions{Prompter: silentPopup{}}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "ask_user", Arguments: rawArgs(askCall)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the canceled call: %v", err)
		}
		synctest.Wait()
		open := p.desk.Questions()
		if _, handedOver := p.state(); len(open) != 1 || !handedOver {
			t.Fatalf("after the timeout of the host: handed over: %t, open %+v", handedOver, open)
		}
		begin := time.Now()
		text := errorText(t, callTool(t, cs, "ask_user", askCall))
		if took := time.Since(begin); took != answerWait || !strings.HasPrefix(text, "CONSENT_REQUIRED: ") || !strings.Contains(text, "Call ask_user again") || strings.Contains(text, "dashboard") {
			t.Errorf("after %v: %s", took, text)
		}
		if err := p.desk.Answer(open[0].ID, executor.OutcomeDone); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, handedOver := p.state(); handedOver {
			t.Error("the page is handed over after the answer")
		}
		text = textOf(callTool(t, cs, "ask_user", `{"message":"Pay the bill"}`))
		if !strings.Contains(text, "the user is done") || !strings.Contains(text, `earlier question "Enter the code"`) {
			t.Errorf("the kept answer: %s", text)
		}
		if count, _ := p.state(); count != 1 {
			t.Errorf("%d handovers", count)
		}
	})
}

// A silentPopup is a popup whose user does not answer.
type silentPopup struct{}

func (silentPopup) CanAsk(executor.TabID) bool { return true }

func (silentPopup) AskAbout(ctx context.Context, _ executor.HandoverQuestion) (executor.HandoverOutcome, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// TestAskUserOnDashboardOnly checks that the first call about a question that neither the popup nor
// the client shows returns soon, with the hint to write to the user, and that the next ones wait as
// long as others.
func TestAskUserOnDashboardOnly(t *testing.T) {
	failing := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return nil, errors.New("no user")
	}}
	for _, tt := range []struct {
		name    string
		visible bool
		client  *sdk.ClientOptions
	}{
		{"headless", false, nil},
		{"with a window", true, nil},
		{"client that shows no question", false, failing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newHandedOverPage(tt.visible)
				cs := connectAs(t, p.server(HandoverOptions{Dashboard: hasDashboard}), tt.client, legacy)
				for i, wait := range []time.Duration{answerWaitDashboard, answerWait} {
					begin := time.Now()
					text := errorText(t, callTool(t, cs, "ask_user", askCall))
					if took := time.Since(begin); took != wait || !strings.HasPrefix(text, "CONSENT_REQUIRED: ") || !strings.Contains(text, "Write to the user to run `chrome-mcp dashboard`") {
						t.Errorf("call %d, after %v: %s", i+1, took, text)
					}
				}
				if err := p.desk.Answer(p.desk.Questions()[0].ID, executor.OutcomeDone); err != nil {
					t.Fatal(err)
				}
				if text := textOf(callTool(t, cs, "ask_user", askCall)); !strings.Contains(text, "the user is done") {
					t.Errorf("after the answer: %s", text)
				}
			})
		})
	}
}

// TestAskUserProgress checks that a call whose client wants progress waits longer, and that the
// notifications arrive every ten seconds.
func TestAskUserProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newHandedOverPage(false)
		var at []time.Duration
		begin := time.Now()
		cs := connect(t, p.server(HandoverOptions{Prompter: silentPopup{}}), &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			at = append(at, time.Since(begin))
		}})
		time.AfterFunc(95*time.Second, func() { _ = p.desk.Answer(p.desk.Questions()[0].ID, executor.OutcomeCannot) })
		params := &sdk.CallToolParams{Name: "ask_user", Arguments: rawArgs(askCall)}
		params.SetProgressToken("p")
		res, err := cs.CallTool(t.Context(), params)
		if err != nil || !strings.Contains(textOf(res), "the user cannot do it") {
			t.Fatalf("%v %v", err, res)
		}
		if len(at) != 9 || at[0] != 10*time.Second || at[8] != 90*time.Second {
			t.Errorf("progress at %v", at)
		}
	})
}

// TestAskUserWithoutAnswer checks the ends of a question that the user does not answer: the tab is
// closed, the extension does not reconnect, the session ends, an hour passes.
func TestAskUserWithoutAnswer(t *testing.T) {
	lost := executor.Errorf(executor.ErrExtensionDisconnected, "Ask again.", "the extension disconnected")
	for name, tt := range map[string]struct {
		of   HandoverOptions
		end  func(p *handedOverPage)
		want string
	}{
		"tab closed":    {HandoverOptions{Dashboard: hasDashboard}, func(p *handedOverPage) { close(p.gone) }, "TARGET_GONE: The tab was closed"},
		"Chrome closed": {HandoverOptions{Prompter: lostPopup{lost}}, nil, "EXTENSION_DISCONNECTED: The extension disconnected"},
		"an hour":       {HandoverOptions{Dashboard: hasDashboard}, nil, "TIMEOUT: The user did not answer within an hour"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newHandedOverPage(false)
				cs := connect(t, p.server(tt.of), nil)
				if tt.end != nil {
					time.AfterFunc(time.Second, func() { tt.end(p) })
				}
				var text string
				for range 100 {
					if text = errorText(t, callTool(t, cs, "ask_user", askCall)); !strings.HasPrefix(text, "CONSENT_REQUIRED: ") {
						break
					}
				}
				if !strings.HasPrefix(text, tt.want) {
					t.Errorf("got %s", text)
				}
				if _, handedOver := p.state(); handedOver || len(p.desk.Questions()) != 0 {
					t.Errorf("handed over: %t, open: %+v", handedOver, p.desk.Questions())
				}
			})
		})
	}
}

// inBubble runs a subtest with a fake clock.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// TestCloseDuringHandover checks that a page that does not respond does not delay the end of the
// session.
func TestCloseDuringHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newHandedOverPage(false)
		runner, closeRunner, err := p.server(HandoverOptions{Dashboard: hasDashboard}).openRunner(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.wait = func() { time.Sleep(time.Minute) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		runner.runTool(ctx, runner.tool("ask_user"), json.RawMessage(askCall), false, nil)
		if _, handedOver := p.state(); !handedOver {
			t.Fatal("the page is not handed over")
		}
		begin := time.Now()
		if err := closeRunner(); err != nil {
			t.Error(err)
		}
		took := time.Since(begin)
		p.wait()
		if took > timing.Default().CloseHandovers || len(p.desk.Questions()) != 0 {
			t.Errorf("after %v: open questions %+v", took, p.desk.Questions())
		}
	})
}

// TestAnswersNobodyReceives checks that a session does not keep the questions whose answers no call
// receives.
func TestAnswersNobodyReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newHandedOverPage(false)
		runner, closeRunner, err := p.server(HandoverOptions{Dashboard: hasDashboard}).openRunner(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer closeRunner()
		tab := executor.TabID("")
		handOver := p.handOver
		p.handOver = func(ctx context.Context, of executor.TabID) (*executor.HandedOver, error) {
			page, err := handOver(ctx, of)
			if err == nil {
				page.Tab = of
			}
			return page, err
		}
		for i := range 20 {
			tab = executor.TabID(fmt.Sprintf("cdp:one:%d", i))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			runner.runTool(ctx, runner.tool("ask_user"), json.RawMessage(`{"message":"x","tabId":"`+string(tab)+`"}`), false, nil)
			cancel()
			if err := p.desk.Answer(p.desk.Questions()[0].ID, executor.OutcomeDone); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if n := len(runner.handovers.open); n > 2 {
			t.Errorf("the session keeps %d questions", n)
		}
	})
}

// TestAskUserFreesSlot checks that ask_user has no slot while it waits for the user, also within a
// batch, in which other calls get it, and that the answer is kept if the call is canceled before it
// gets a slot again.
func TestAskUserFreesSlot(t *testing.T) {
	for name, call := range map[string][2]string{
		"call":           {"ask_user", askCall},
		"batch":          {"batch", `{"calls":[{"tool":"ask_user","args":` + askCall + `},{"tool":"tabs_list"}]}`},
		"parallel batch": {"batch", `{"parallel":true,"calls":[{"tool":"ask_user","args":` + askCall + `},{"tool":"get_text","args":{"tabId":"` + string(tab2) + `"}}]}`},
	} {
		inBubble(t, name, func(t *testing.T) {
			p := newHandedOverPage(false)
			slots := make(chan struct{}, 1)
			p.text = func(context.Context, executor.TabID, *executor.TextOptions) (*executor.Text, error) {
				if len(slots) != 1 {
					t.Error("a call of the batch has no slot")
				}
				return &executor.Text{Origin: shopOrigin}, nil
			}
			s := NewServer(p.fake, &Options{Tools: Toolsets(), Handover: &HandoverOptions{Questions: p.desk, Dashboard: hasDashboard},
				Limit: func(ctx context.Context) (func(), error) {
					select {
					case slots <- struct{}{}:
						return func() { <-slots }, nil
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				}})
			cs := connect(t, s, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = cs.CallTool(ctx, &sdk.CallToolParams{Name: call[0], Arguments: rawArgs(call[1])})
			}()
			synctest.Wait()
			open := p.desk.Questions()
			if len(open) != 1 || len(slots) != 0 {
				t.Fatalf("%d slots are in use; questions %+v", len(slots), open)
			}
			slots <- struct{}{} // another call
			if err := p.desk.Answer(open[0].ID, executor.OutcomeDone); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			cancel()
			<-ended
			synctest.Wait()
			<-slots
			if text := textOf(callTool(t, cs, "ask_user", askCall)); !strings.Contains(text, "the user is done") {
				t.Errorf("the kept answer: %s", text)
			}
			if len(slots) != 0 {
				t.Error("a slot is in use after the calls")
			}
		})
	}
}

// A lostPopup is a popup whose browser disconnects.
type lostPopup struct{ err error }

func (lostPopup) CanAsk(executor.TabID) bool { return true }

func (p lostPopup) AskAbout(context.Context, executor.HandoverQuestion) (executor.HandoverOutcome, error) {
	return "", p.err
}

// TestAskUserEndsWithSession checks that the handover ends with the connection of its agent.
func TestAskUserEndsWithSession(t *testing.T) {
	p := newHandedOverPage(false)
	t.Run("session", func(t *testing.T) {
		cs := connect(t, p.server(HandoverOptions{Dashboard: hasDashboard, Session: "s", Principal: "p"}), nil)
		ctx, cancel := context.WithCancel(t.Context())
		changed := p.desk.Changed()
		go func() {
			<-changed
			cancel()
		}()
		_, _ = cs.CallTool(ctx, &sdk.CallToolParams{Name: "ask_user", Arguments: rawArgs(askCall)})
		if open := p.desk.Questions(); len(open) != 1 || open[0].Session != "s" || open[0].Principal != "p" || open[0].Agent != "test 1" {
			t.Errorf("open questions: %+v", open)
		}
	})
	if _, handedOver := p.state(); handedOver || len(p.desk.Questions()) != 0 {
		t.Errorf("handed over: %t, open: %+v", handedOver, p.desk.Questions())
	}
}

// TestAskUserLimits checks the number of questions, that two calls share a question, and that
// another agent gets none about the same tab.
func TestAskUserLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newHandedOverPage(false)
		s := p.server(HandoverOptions{Dashboard: hasDashboard})
		cs, other := connect(t, s, nil), connect(t, s, nil)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if text := textOf(callTool(t, cs, "ask_user", askCall)); !strings.Contains(text, "is done") {
					t.Errorf("one of two calls: %s", text)
				}
			})
		}
		synctest.Wait()
		if text := errorText(t, callTool(t, other, "ask_user", askCall)); !strings.HasPrefix(text, "BACKPRESSURE: ") {
			t.Errorf("another agent: %s", text)
		}
		if err := p.desk.Answer(p.desk.Questions()[0].ID, executor.OutcomeDone); err != nil {
			t.Fatal(err)
		}
		both.Wait()
		for i := 1; ; i++ {
			go func() {
				for {
					changed := p.desk.Changed()
					if open := p.desk.Questions(); len(open) > 0 {
						_ = p.desk.Answer(open[0].ID, executor.OutcomeCannot)
						return
					}
					select {
					case <-changed:
					case <-time.After(time.Second):
						return
					}
				}
			}()
			text := textOf(callTool(t, cs, "ask_user", askCall))
			if strings.Contains(text, "the user cannot do it") && i < questionsPerMinute {
				continue
			}
			if i != questionsPerMinute || !strings.HasPrefix(text, "BACKPRESSURE: ") || !strings.Contains(text, "10s") {
				t.Errorf("question %d: %s", i+1, text)
			}
			break
		}
		time.Sleep(2 * time.Second)
	})
}

// TestCannotAskUser checks that a call fails, and the page is not handed over, if nothing can show the
// question. The rate limit does not count such calls.
func TestCannotAskUser(t *testing.T) {
	for _, tt := range []struct {
		name    string
		visible bool
		of      HandoverOptions
		client  *sdk.ClientOptions
		version string
		tool    string
	}{
		{"nothing", true, HandoverOptions{}, nil, legacy, "ask_user"},
		{"headless without a dashboard", false, HandoverOptions{}, userAnswers("accept", "done", nil), legacy, "ask_user"},
		{"in a batch that would be repeated", true, HandoverOptions{}, userAnswers("accept", "done", nil), "2026-07-28", "batch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newHandedOverPage(tt.visible)
			cs := connectAs(t, p.server(tt.of), tt.client, tt.version)
			args := askCall
			if tt.tool == "batch" {
				args = fmt.Sprintf(`{"calls":[{"tool":"ask_user","args":%s}]}`, askCall)
			}
			for range questionsPerMinute + 1 {
				if text := textOf(callTool(t, cs, tt.tool, args)); !strings.Contains(text, "CONSENT_REQUIRED: The question cannot be shown") {
					t.Errorf("got %s", text)
				}
			}
			if _, handedOver := p.state(); handedOver || len(p.desk.Questions()) != 0 || p.shown != 0 {
				t.Errorf("handed over: %t, shown: %d times, open: %+v", handedOver, p.shown, p.desk.Questions())
			}
		})
	}
}

// TestForgedAnswer checks that an answer to a question that the client was not asked has no effect.
func TestForgedAnswer(t *testing.T) {
	p := newHandedOverPage(true)
	opts := userAnswers("accept", "done", nil)
	opts.MultiRoundTrip = &sdk.MultiRoundTripOptions{Disabled: true}
	cs := connectAs(t, p.server(HandoverOptions{}), opts, "2026-07-28")
	forged := sdk.InputResponseMap{"x": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "done"}}}
	for range 2 { // the second call repeats the request
		res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask_user", Arguments: rawArgs(askCall), InputResponses: forged})
		if err != nil || !res.NeedsInput() || len(p.desk.Questions()) != 1 {
			t.Fatalf("%v %+v", err, res)
		}
	}
	if count, handedOver := p.state(); count != 1 || !handedOver {
		t.Errorf("%d handovers, handed over: %t", count, handedOver)
	}
}

// TestAskUserMessage checks that the message cannot imitate the text around it.
func TestAskUserMessage(t *testing.T) {
	p := newHandedOverPage(true)
	var question string
	cs := connectAs(t, p.server(HandoverOptions{}), userAnswers("accept", "done", func(q *sdk.ElicitParams) { question = q.Message }), legacy)
	callTool(t, cs, "ask_user", `{"message":"Hello\".\n\nchrome-mcp asks: enter your \u202epassword"}`)
	if strings.ContainsAny(question, "\n\u202e") || !strings.Contains(question, `"Hello\". chrome-mcp asks:`) {
		t.Errorf("the question is %q", question)
	}
	for _, bad := range []string{`{"message":" \n"}`, fmt.Sprintf(`{"message":%q}`, strings.Repeat("x", wire.MaxHandoverMessage+1))} {
		if text := errorText(t, callTool(t, cs, "ask_user", bad)); !strings.HasPrefix(text, "BAD_ARGS: ") {
			t.Errorf("%.40s: %s", bad, text)
		}
	}
}

// TestObstacleNamesTools checks that a captcha or a login names ask_user, and a login secrets_list,
// if the session has them.
func TestObstacleNamesTools(t *testing.T) {
	for _, tt := range []struct {
		tools []Toolset
		kind  executor.ObstacleKind
		want  bool
	}{
		{nil, executor.ObstacleCaptcha, false},
		{[]Toolset{ToolsCore, ToolsPeople}, executor.ObstacleCaptcha, true},
		{[]Toolset{ToolsCore, ToolsPeople}, executor.ObstacleLogin, true},
		{[]Toolset{ToolsCore, ToolsPeople}, executor.ObstacleConsent, false},
	} {
		f := &fake{snapshot: func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error) {
			return &executor.Snapshot{Origin: shopOrigin, Obstacle: &executor.Obstacle{Kind: tt.kind, Confidence: executor.ConfidenceHigh, Advice: "Do it."}}, nil
		}}
		for _, secrets := range []executor.Secrets{nil, struct{ executor.Secrets }{}} {
			text := textOf(callTool(t, connect(t, NewServer(f, &Options{Tools: tt.tools, Secrets: secrets}), nil), "snapshot", "{}"))
			wantSecrets := secrets != nil && tt.tools != nil && tt.kind == executor.ObstacleLogin
			if strings.Contains(text, "ask_user") != tt.want || strings.Contains(text, "secrets_list") != wantSecrets || !strings.Contains(text, "obstacle: ") {
				t.Errorf("%v %s, secrets %v: %s", tt.tools, tt.kind, secrets != nil, text)
			}
		}
	}
}

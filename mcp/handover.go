package mcp

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// HandoverOptions configure the tool ask_user.
type HandoverOptions struct {
	// Questions holds the open questions. Other parts of the program also show and answer them.
	Questions Questions
	// Session and Principal identify the session in its questions.
	Session, Principal string
	// Prompter shows the questions about tabs for which its CanAsk returns true; the client shows
	// the others. The extension backend shows them in the extension popup. May be nil.
	Prompter executor.HandoverPrompter
	// Dashboard reports whether the user can open a dashboard, which shows the questions and a live
	// view of the tab. Nil means that they cannot.
	Dashboard func() bool
}

// Questions holds the open questions of a process and their answers. A question stays open when its
// call returns without the answer, which is then stored for the agent's next call about the tab.
type Questions interface {
	Find(agent executor.HandoverAsker, tab executor.TabID) (_ executor.HandoverQuestion, ok bool)
	Post(executor.HandoverQuestion) (_ executor.HandoverQuestion, opened bool, err error)
	Wait(ctx context.Context, id string) (executor.HandoverOutcome, error)
	Done(id string) <-chan struct{}
	Answer(id string, o executor.HandoverOutcome) error
	Forget(agent executor.HandoverAsker)
}

const (
	// questionsPerMinute limits the questions of a session. Each interrupts the user.
	questionsPerMinute = 6
	// answerWait is how long a call waits for the answer if its client requested no progress
	// notifications. Hosts allow at least one minute per call.
	answerWait = 50 * time.Second
	// answerWaitProgress is the same if it requested them.
	answerWaitProgress = 10 * time.Minute
	// answerWaitDashboard is the same for the first call about a question that only the dashboard
	// shows. The user does not know of the question before the agent reports it.
	answerWaitDashboard = 5 * time.Second
	// questionTTL is how long a page stays handed over if the user does not answer.
	questionTTL = time.Hour
)

// handovers holds the pages that one session has handed over. It is safe for concurrent use.
type handovers struct {
	runner     *toolRunner
	opts       HandoverOptions
	limit      *rate.Limiter
	limits     timing.ProgramLimits
	opening    chan struct{}  // a semaphore of questionAbout
	closed     chan struct{}  // closed by close
	markClosed func()         // closes closed, once
	running    sync.WaitGroup // of show

	mu   sync.Mutex           // guards open
	open map[string]*question // by id, until a caller has received the answer
}

// A question is an open question, or one whose answer no call has received.
type question struct {
	executor.HandoverQuestion
	page     *executor.HandedOver
	client   askChannel    // of the call that opened it
	inPopup  bool          // the extension popup shows it
	inClient bool          // the client shows it, in a form
	ended    chan struct{} // closed when the handover has ended
	// dashboardOnly is closed when neither the popup nor the client shows the question: the user
	// does not know of it.
	dashboardOnly chan struct{}

	// handovers.mu guards the fields below.
	hinted   bool                     // a call has returned the hint to open the dashboard
	err      error                    // why the handover ended without an answer; may be nil
	declined bool                     // the client declined or canceled the form
	rule     string                   // ruleClient if the client returned the answer, otherwise empty
	received executor.HandoverOutcome // empty until a call has received the answer
}

// byRepeatedCall reports whether the client repeats the call to send the answer.
func (q *question) byRepeatedCall() bool { return q.inClient && q.client.InputRequests }

func newHandovers(runner *toolRunner, opts *HandoverOptions) *handovers {
	h := &handovers{
		runner: runner, limit: rate.NewLimiter(rate.Limit(questionsPerMinute)/60, questionsPerMinute), limits: timing.Current().ProgramLimits,
		opening: make(chan struct{}, 1), closed: make(chan struct{}), open: make(map[string]*question),
	}
	h.markClosed = sync.OnceFunc(func() { close(h.closed) })
	h.opts = *cmp.Or(opts, new(HandoverOptions))
	if h.opts.Questions == nil {
		h.opts.Questions = new(handover.Desk)
	}
	if h.opts.Dashboard == nil {
		h.opts.Dashboard = func() bool { return false }
	}
	return h
}

// asker identifies the session in its questions.
func (h *handovers) asker() executor.HandoverAsker {
	return executor.HandoverAsker{Principal: h.opts.Principal, Session: h.opts.Session, Client: h.runner.sessionID}
}

// close ends all handovers. It waits for them at most Timing.CloseHandovers.
func (h *handovers) close() {
	h.markClosed()
	ended := make(chan struct{})
	go func() {
		h.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(h.limits.CloseHandovers):
	}
	h.opts.Questions.Forget(h.asker())
}

// An askChannel describes how the client of one call of ask_user shows questions. The zero value is
// a client that shows none.
type askChannel struct {
	prompting.Elicitation
	progress bool // the client requested progress notifications
}

type askChannelKey struct{}

// beginCall returns a context for a call with its askChannel. It accepts the answers that the
// client has sent with the call.
func (h *handovers) beginCall(ctx context.Context, support prompting.Elicitation, req *sdk.CallToolRequest) context.Context {
	for id, response := range req.Params.InputResponses {
		h.mu.Lock()
		q := h.open[id]
		h.mu.Unlock()
		if q == nil || !q.byRepeatedCall() {
			continue
		}
		if res, ok := response.(*sdk.ElicitResult); ok {
			h.answerForm(q, res)
		}
	}
	return context.WithValue(ctx, askChannelKey{}, askChannel{support, req.Params.GetProgressToken() != nil})
}

// ask hands a tab over to the user and waits for the answer, or continues to wait for an earlier
// question about the tab.
func (h *handovers) ask(ctx context.Context, message string, tab executor.TabID) (askUserResult, error) {
	ch, _ := ctx.Value(askChannelKey{}).(askChannel) // zero without MCP
	var q *question
	err := callSlotOf(ctx).freeWhile(ctx, func() (err error) {
		if q, err = h.questionAbout(ctx, ch, message, tab); err != nil {
			return err
		}
		return h.awaitEnd(ctx, ch, q)
	})
	if err != nil {
		return askUserResult{}, err
	}
	t, _ := h.runner.findTab(ctx, q.Tab)
	// This is last, because a call that fails before leaves the answer for the next one.
	outcome, err := h.result(ctx, q)
	if err != nil {
		return askUserResult{}, err
	}
	res := askUserResult{Outcome: outcome, URL: t.URL, Title: t.Title}
	if q.Message != message {
		res.Message = q.Message
	}
	return res, nil
}

// questionAbout returns the question of the session about a tab. It opens one if there is none.
func (h *handovers) questionAbout(ctx context.Context, ch askChannel, message string, tab executor.TabID) (*question, error) {
	select {
	case h.opening <- struct{}{}:
		defer func() { <-h.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if tab == "" {
		active, err := h.runner.findTab(ctx, "")
		if err != nil {
			return nil, err
		}
		tab = active.ID
	}
	if q := h.find(tab); q != nil {
		if q.byRepeatedCall() && ch.Form && ch.InputRequests && !notify.IsClosed(h.opts.Questions.Done(q.ID)) {
			return nil, &prompting.InputRequired{ID: q.ID, Form: q.form()}
		}
		return q, nil
	}
	h.forget()
	if h.limit.Tokens() < 1 {
		return nil, rateLimited(h.limit, "question", time.Second, "Do more of the task without the user. The next question is possible in %v.")
	}
	return h.handOver(ctx, ch, message, tab)
}

// find returns the question of the session about a tab, or nil. tab may be empty.
func (h *handovers) find(tab executor.TabID) *question {
	found, ok := h.opts.Questions.Find(h.asker(), tab)
	if !ok || tab == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open[found.ID]
}

// forget removes the questions that Questions no longer holds, such as one about a closed tab.
func (h *handovers) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, q := range h.open {
		if found, ok := h.opts.Questions.Find(h.asker(), q.Tab); !ok || found.ID != id {
			delete(h.open, id)
		}
	}
}

// handOver hands a tab over and opens a question about it.
func (h *handovers) handOver(ctx context.Context, ch askChannel, message string, tab executor.TabID) (*question, error) {
	p, err := h.runner.ex.Page(ctx, tab)
	if err != nil {
		return nil, err
	}
	page, err := p.HandOver(ctx)
	if err != nil {
		return nil, err
	}
	q, err := h.post(ctx, ch, message, page)
	if err != nil {
		page.End()
		return nil, err
	}
	h.limit.Allow() // succeeds: see questionAbout
	h.record(ctx, q, "", "asked")
	page.Show(ctx)
	showCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.running.Go(func() {
		defer cancel()
		h.show(showCtx, cancel, q)
	})
	if q.byRepeatedCall() {
		return nil, &prompting.InputRequired{ID: q.ID, Form: q.form()}
	}
	return q, nil
}

// post opens a question about a page. It returns ErrConsentRequired if nothing can show the
// question.
func (h *handovers) post(ctx context.Context, ch askChannel, message string, page *executor.HandedOver) (*question, error) {
	inPopup, inClient := h.shownIn(page, ch)
	if !inPopup && !inClient && !h.opts.Dashboard() {
		return nil, cannotAsk(page.Visible)
	}
	agent := clientOf(ctx)
	if ch.Conn != nil {
		agent = nameOf(ch.Conn)
	}
	posted, opened, err := h.opts.Questions.Post(executor.HandoverQuestion{
		HandoverAsker: h.asker(), Agent: pagetext.Truncate(mcptext.OneLine(agent), maxClient), Message: message,
		Site: webOrigin(page.URL), URL: page.URL, Title: pagetext.Truncate(mcptext.Clean(page.Title), mcptext.MaxTitle), Tab: page.Tab,
	})
	if err == nil && !opened {
		err = &executor.Error{Code: executor.ErrBackpressure, Retryable: true, Hint: "Call ask_user again.", Err: errors.New("another question about the tab is open")}
	}
	if err != nil {
		return nil, err
	}
	q := &question{
		HandoverQuestion: posted, page: page, client: ch, inPopup: inPopup, inClient: inClient,
		ended: make(chan struct{}), dashboardOnly: make(chan struct{}),
	}
	if !inPopup && !inClient {
		close(q.dashboardOnly)
	}
	h.mu.Lock()
	h.open[q.ID] = q
	h.mu.Unlock()
	return q, nil
}

// shownIn returns where a question about a page is shown, in addition to the dashboard.
func (h *handovers) shownIn(page *executor.HandedOver, ch askChannel) (popup, client bool) {
	if h.opts.Prompter != nil && h.opts.Prompter.CanAsk(page.Tab) {
		return true, false
	}
	return false, ch.Form && (page.Visible || h.opts.Dashboard())
}

// cannotAsk returns the error of a call whose question cannot be shown. visible is whether the user
// can see the page in a window.
func cannotAsk(visible bool) error {
	hint := "Report that to the user. They can start chrome-mcp with --headless=false and an MCP host that supports elicitation, or share a tab of Chrome with the extension."
	why := "the page has no window"
	if visible {
		why = "this call cannot use elicitation"
		hint = "Write to the user what to do in the browser's window, and wait for their next message."
	}
	return executor.Errorf(executor.ErrConsentRequired, hint, "the question cannot be shown: there is no extension popup and no dashboard, and %s", why)
}

// show shows a question until it is answered, and then ends the handover. When the question is
// answered, show calls cancel, which cancels ctx.
func (h *handovers) show(ctx context.Context, cancel func(), q *question) {
	defer close(q.ended)
	answer := func(o executor.HandoverOutcome, why error) {
		if h.opts.Questions.Answer(q.ID, o) == nil && why != nil {
			h.mu.Lock()
			q.err = why
			h.mu.Unlock()
		}
	}
	var showing sync.WaitGroup
	showing.Go(func() {
		switch {
		case q.inPopup:
			o, err := h.opts.Prompter.AskAbout(ctx, q.HandoverQuestion)
			if err != nil {
				o = executor.OutcomeClosed
			}
			if ctx.Err() == nil {
				answer(o, err)
			}
		case q.inClient && !q.client.InputRequests:
			res, err := q.showForm(ctx)
			switch {
			case ctx.Err() != nil:
			case err == nil:
				h.answerForm(q, res)
			case h.opts.Dashboard():
				close(q.dashboardOnly)
			default:
				answer(executor.OutcomeClosed, err)
			}
		}
	})
	late := time.NewTimer(questionTTL)
	defer late.Stop()
	select {
	case <-h.opts.Questions.Done(q.ID):
	case <-q.page.Gone:
		answer(executor.OutcomeClosed, executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the tab was closed or is no longer shared"))
	case <-h.closed:
		answer(executor.OutcomeClosed, nil)
	case <-late.C:
		answer(executor.OutcomeTimeout, nil)
	}
	cancel()
	showing.Wait()
	q.page.End()
}

// result receives the answer to a question that has ended, and returns it, or an error if the user did
// not answer.
func (h *handovers) result(ctx context.Context, q *question) (executor.HandoverOutcome, error) {
	o, why, err := h.receive(ctx, q)
	switch {
	case err != nil:
		return "", err
	case o == executor.OutcomeDone:
		return o, nil
	case o == executor.OutcomeCannot:
		h.mu.Lock()
		declined := q.declined
		h.mu.Unlock()
		if declined {
			return "", executor.Errorf(executor.ErrConsentRequired, "Do not ask again: write to the user what to do, or continue without it.",
				"the client declined or canceled the question, possibly without showing it to the user")
		}
		return o, nil
	case o == executor.OutcomeTimeout:
		return "", executor.Errorf(executor.ErrTimeout, "Continue without the user, or report that to them.", "the user did not answer within an hour")
	case why != nil:
		return "", why
	}
	return "", executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the handover ended before the user answered")
}

// awaitEnd waits until a question has ended. It returns an error if that takes too long.
func (h *handovers) awaitEnd(ctx context.Context, ch askChannel, q *question) error {
	limit := answerWait
	if ch.progress {
		limit = answerWaitProgress
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	h.mu.Lock()
	dashboardOnly := q.dashboardOnly
	if q.hinted {
		dashboardOnly = nil
	}
	h.mu.Unlock()
	for {
		select {
		case <-q.ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-dashboardOnly:
			dashboardOnly = nil
			late.Reset(answerWaitDashboard)
		case <-late.C:
			return h.noAnswerYet(q)
		}
	}
}

// noAnswerYet returns the error of a call that has waited too long for the answer.
func (h *handovers) noAnswerYet(q *question) error {
	hint := "Call ask_user again to continue waiting; the question stays open."
	if notify.IsClosed(q.dashboardOnly) {
		h.mu.Lock()
		q.hinted = true
		h.mu.Unlock()
		hint = "Write to the user to run `chrome-mcp dashboard` and to answer there, then call ask_user again; the question stays open."
	}
	return &executor.Error{Code: executor.ErrConsentRequired, Tab: q.Tab, Retryable: true,
		Err: errors.New("the user has not answered yet, and the page is still handed over"), Hint: hint}
}

// receive returns the answer to a question that has ended, and removes the question. All waiting calls
// receive the answer, except those that their client has canceled. The first one records it.
func (h *handovers) receive(ctx context.Context, q *question) (o executor.HandoverOutcome, why, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil {
		return "", nil, context.Cause(ctx)
	}
	if q.received == "" {
		q.received, err = h.opts.Questions.Wait(ctx, q.ID) // returns immediately: it is answered
		delete(h.open, q.ID)
		switch q.received {
		case executor.OutcomeDone:
			h.record(ctx, q, audit.Allowed, string(q.received))
		case executor.OutcomeCannot:
			h.record(ctx, q, audit.Denied, string(q.received))
		}
	}
	return q.received, q.err, err
}

// record records an audit entry about a question, without its message. h.mu must be held if q can have
// an answer.
func (h *handovers) record(ctx context.Context, q *question, decision, what string) {
	a := h.runner.audit
	e := a.consentEntry(ctx, "ask_user", q.Tab, q.URL)
	e.Rule = q.rule
	a.consent(e, decision, "handover: "+what)
}

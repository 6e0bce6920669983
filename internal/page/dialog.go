package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// An openDialog is an open JavaScript dialog.
type openDialog struct {
	executor.Dialog
	sess        *cdpconn.Session
	frame       cdp.FrameID
	consecutive int         // number of dialogs that opened before it; see maxConsecutiveDialogs
	early       bool        // it opened before we attached; see enabledUnlessBlocked
	resubmit    atomic.Bool // the client has requested that the form of the page is sent again
	url         string      // of the page, for an early dialog
}

// dialogs is the state of the JavaScript dialogs of a tab. The zero value is ready to use. It is
// safe for concurrent use.
type dialogs struct {
	open atomic.Pointer[openDialog] // nil means none

	mu           sync.Mutex                                   // guards the fields below
	consecutive  int                                          // dialogs that opened before the last one, each directly after the previous one was answered
	answeredAt   time.Time                                    // when the last dialog was answered
	answerableAt time.Time                                    // when a dialog may be answered; see delayAnswers
	answer       func(executor.Dialog) *executor.DialogAnswer // answers dialogs automatically; may be nil
}

// error returns the error for the open dialog, or nil if none is open.
func (ds *dialogs) error() error {
	if d := ds.open.Load(); d != nil {
		return d.error()
	}
	return nil
}

// answerWith makes f answer dialogs, except those for which it returns nil. f is called while s is
// locked. A nil f leaves dialogs open.
func (ds *dialogs) answerWith(f func(executor.Dialog) *executor.DialogAnswer) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.answer = f
}

// automaticAnswer returns the automatic answer to a dialog, or nil if there is none.
func (ds *dialogs) automaticAnswer(d executor.Dialog) *executor.DialogAnswer {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.answer == nil {
		return nil
	}
	return ds.answer(d)
}

// opened counts a dialog that opens now, and returns the number of consecutive dialogs before it:
// those that opened within window after an answer.
func (ds *dialogs) opened(now time.Time, window time.Duration) (consecutive int) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.consecutive++; now.Sub(ds.answeredAt) > window {
		ds.consecutive = 0
	}
	return ds.consecutive
}

// answered records that a dialog was answered.
func (ds *dialogs) answered(now time.Time) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.answeredAt = now
}

// delayAnswers delays the answers to dialogs by d: a press that waits behind a dialog must expire
// first.
func (ds *dialogs) delayAnswers(d time.Duration) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.answerableAt = time.Now().Add(d)
}

// waitAnswerable waits until a dialog may be answered. See delayAnswers.
func (ds *dialogs) waitAnswerable(ctx context.Context) error {
	ds.mu.Lock()
	left := time.Until(ds.answerableAt)
	ds.mu.Unlock()
	if left <= 0 {
		return nil
	}
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return frames.TimeoutAs(context.Cause(ctx), "the dialog to accept an answer")
	}
}

// maxConsecutiveDialogs is how many dialogs a page may open, each directly after the previous
// one was answered. A page that opens more probably never stops, so the next answer terminates
// its scripts. No user would answer that many.
const maxConsecutiveDialogs = 10

// error returns the ErrDialogOpen error of calls while the dialog is open.
func (d *openDialog) error() *executor.Error {
	hint := "Answer it with Page.HandleDialog."
	switch {
	case d.early:
		return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: "Dismiss the dialog. It cannot be accepted.",
			Err: errors.New("a dialog that opened before chrome-mcp attached to the tab blocks the page")}
	case d.consecutive > maxConsecutiveDialogs:
		hint = "The page keeps opening dialogs. Close it with Page.Close."
	case d.Type == executor.DialogBeforeUnload:
		hint = "Answer it with Page.HandleDialog: accept to leave the page, dismiss to stay."
	}
	return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: hint,
		Err: fmt.Errorf("%s dialog is open and blocks the page", withArticle(string(d.Type)))}
}

func withArticle(noun string) string {
	if noun != "" && noun[0] == 'a' {
		return "an " + noun
	}
	return "a " + noun
}

// dialogOpened records a dialog, or answers it if the current call has requested that. The returned
// function, if any, must be called without the lock.
func (t *Tab) dialogOpened(s *frames.State, sess *cdpconn.Session, e cdppage.EventJavascriptDialogOpening) (after func()) {
	d := executor.Dialog{Type: executor.DialogType(e.Type), Message: pagetext.Truncate(e.Message, maxDialogText), DefaultPrompt: pagetext.Truncate(e.DefaultPrompt, maxDialogText)}
	handedOver := t.HandedOver() // the user answers it
	if a := t.dialogs.automaticAnswer(d); a != nil && !handedOver {
		t.wg.Go(func() { t.answerDialog(context.Background(), sess, *a) })
		return nil
	}
	opened := &openDialog{Dialog: d, sess: sess, frame: e.FrameID}
	if !handedOver && t.closeIfNavigating(s, sess, opened) {
		return nil
	}
	opened.consecutive = t.dialogs.opened(time.Now(), t.timing.ConsecutiveDialogs)
	t.setDialog(opened)
	frame := string(opened.frameOr(t.main))
	return func() { t.emit(Event{Kind: executor.EventDialog, Dialog: &d, Frame: frame}) }
}

// maxDialogText is the maximum length of the texts of a dialog, in characters. Users do not read
// more, and the browser itself allows 10,000.
const maxDialogText = 2000

func (t *Tab) answerDialog(ctx context.Context, s *cdpconn.Session, a executor.DialogAnswer) error {
	params := cdppage.HandleJavaScriptDialogParams{Accept: a.Accept}
	if a.PromptText != "" {
		params.PromptText = a.PromptText
	}
	t.dialogs.answered(time.Now()) // the next dialog may open before this call returns
	err := s.Call(ctx, "Page.handleJavaScriptDialog", params, nil)
	if ce, ok := errors.AsType[*cdpconn.Error](err); ok && strings.Contains(ce.Message, "Not attached to an active page") {
		// See closeIfNavigating: the answer was too late.
		return executor.Errorf(executor.ErrDialogOpen, "Close the tab with Page.Close, and open the page in another one.",
			"the dialog can no longer be answered: a navigation is pending")
	}
	return err
}

// An autoClosedDialog is a dialog that was closed because the page was navigating.
type autoClosedDialog struct {
	executor.Dialog
	doc *frames.Document // the top document if the dialog belongs to it, otherwise nil
}

// closeIfNavigating closes a dialog that opens while the tab navigates to another document, and
// reports whether it does. The navigation would wait for the dialog. When the dialog is answered,
// the browser accepts commands only for the next page, so that neither would ever end.
func (t *Tab) closeIfNavigating(s *frames.State, sess *cdpconn.Session, d *openDialog) bool {
	n, navigating := s.TopNavigation()
	if !navigating || n.SameDocument || d.Type == executor.DialogBeforeUnload {
		return false
	}
	p := autoClosedDialog{Dialog: d.Dialog}
	if d.frameOr(t.main) == t.main {
		p.doc = s.Document(s.Top())
	}
	t.autoClosed.add(p)
	t.wg.Go(func() {
		if err := t.answerDialog(context.Background(), sess, executor.DialogAnswer{}); errors.Is(err, executor.ErrDialogOpen) {
			s := t.tree.Lock()
			defer s.Unlock()
			t.setDialog(d)
		}
	})
	return true
}

// autoClosedNote describes the dialogs that closeIfNavigating has closed since it had closed count.
func (v *View) autoClosedNote(ctx context.Context, count int) string {
	var notes []string
	for _, p := range v.tab.autoClosed.since(count) {
		what := string(p.Type)
		if p.doc != nil && v.client.Check(ctx, p.doc, executor.OpRead, "") == nil {
			what += " " + strconv.Quote(pagetext.FirstLine(p.Message))
		}
		notes = append(notes, fmt.Sprintf("%s was closed because the page was navigating", withArticle(what)))
	}
	return strings.Join(notes, "; ")
}

// dialogErrorPattern matches the error of an openDialog.
var dialogErrorPattern = lazyregexp.New(`an? \w+ dialog is open and blocks the page`)

// HasDialog reports whether a dialog blocks the page.
func (t *Tab) HasDialog() bool { return t.dialogs.open.Load() != nil }

// AsClientError converts an error of a call on the tab to an error for the client. The error for an
// open dialog contains the text of the dialog if the client may read it. The rest of the error,
// such as the fields that were filled, is retained.
func (v *View) AsClientError(ctx context.Context, err error) error {
	if errors.Is(err, frames.ErrDocumentGone) {
		return &executor.Error{Code: executor.ErrTargetGone, Retryable: true, Err: errors.New("the page navigated during the call"),
			Hint: "Try again; take a snapshot to see where it is."}
	}
	d := v.tab.dialogs.open.Load()
	if d == nil || !errors.Is(err, executor.ErrDialogOpen) {
		return err
	}
	e := d.error()
	if redacted := v.redactedDialog(ctx, d); redacted.Message != "" {
		e.Err = fmt.Errorf("%s dialog %q is open and blocks the page", withArticle(string(d.Type)), pagetext.FirstLine(redacted.Message))
	}
	if was, ok := errors.AsType[*executor.Error](err); ok && dialogErrorPattern().MatchString(was.Message()) {
		e.Err = errors.New(dialogErrorPattern().ReplaceAllLiteralString(was.Message(), e.Message()))
	}
	return e
}

// redactedDialog returns what the client may know about a dialog. For a document that the gate does
// not allow to be read, that is only its type.
func (v *View) redactedDialog(ctx context.Context, d *openDialog) executor.Dialog {
	if !v.CanRead(ctx, string(d.frameOr(v.tab.main))) {
		return executor.Dialog{Type: d.Type}
	}
	return d.Dialog
}

// frameOr returns the frame of the dialog, or main if the browser is too old to report it.
func (d *openDialog) frameOr(main cdp.FrameID) cdp.FrameID {
	if d.frame == "" {
		return main
	}
	return d.frame
}

func noDialogError(what string) error {
	return executor.Errorf(executor.ErrBadArgs, "Nothing needs to be answered; take a snapshot to see the page.", "%s", what)
}

// HandleDialog answers the open dialog and returns what that changed.
func (v *View) HandleDialog(ctx context.Context, a executor.DialogAnswer) (*executor.DialogResult, error) {
	t := v.tab
	d := t.dialogs.open.Load()
	if d == nil {
		return nil, noDialogError("no dialog is open in this tab")
	}
	s := t.tree.Lock()
	f := cmp.Or(s.Frame(d.frame), s.Top())
	doc := s.Document(f)
	if doc == nil && f == s.Top() {
		doc = s.BestKnownDocument() // the dialog opened before the browser reported anything else about the page
	}
	s.Unlock()
	op := executor.OpDismiss
	if a.Accept {
		op = executor.OpAct
	}
	if doc == nil {
		return nil, executor.Errorf(executor.ErrDialogOpen, "Close the tab with Page.Close.", "the document of the dialog is unknown")
	}
	// The dialog may be why the document has not masked what the user entered.
	if err := v.client.CheckGate(ctx, doc, op, ""); err != nil {
		return nil, err
	}
	if err := t.dialogs.waitAnswerable(ctx); err != nil {
		return nil, err
	}
	redacted := v.redactedDialog(ctx, d)
	w := v.watch()
	defer w.end()
	if d.consecutive >= maxConsecutiveDialogs {
		t.log.Info("terminating the scripts of a page that keeps opening dialogs")
		// The browser executes this although the dialog blocks the page. If the command is
		// rejected, as in the user's Chrome, the hint of the next dialog says what else can be
		// done.
		_, _ = d.sess.Start(ctx, "Runtime.terminateExecution", nil)
	}
	answer := func() error { return t.answerDialog(ctx, d.sess, a) }
	if d.early {
		answer = func() error { return t.dismissEarly(ctx, d, a.Accept) }
	}
	closed := func(*frames.State) (bool, error) { return t.dialogs.open.Load() != d, nil }
	guard, err := v.guardLeaving(ctx, d, a)
	if err != nil {
		return nil, err
	}
	defer guard.end(ctx)
	if err := answer(); err != nil {
		limit, cancel := context.WithTimeout(ctx, t.timing.DialogClosed)
		defer cancel()
		if errors.Is(err, executor.ErrCDP) && t.tree.Await(limit, closed) == nil {
			return nil, noDialogError("the dialog closed before it was answered; the page continued")
		}
		return nil, err
	}
	err = t.tree.Await(ctx, closed)
	t.dialogs.answered(time.Now())
	if err != nil {
		return nil, frames.TimeoutAs(err, "the dialog to close")
	}
	if t.opts.Attach != nil {
		t.EnsureAttached(ctx) // on error, no changes are known that could be returned
	}
	if err := guard.await(ctx); err != nil {
		return nil, err
	}
	res := &executor.DialogResult{Type: d.Type, Message: redacted.Message, Handled: true}
	res.Changes, err = w.settle(ctx)
	return res, err
}

package page

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// An openDialog is a JavaScript dialog that waits for its answer.
type openDialog struct {
	executor.Dialog
	sess        *cdpconn.Session
	frame       cdp.FrameID
	url         string // of the frame's document, the browser's own word
	consecutive int    // how many opened before it, see maxConsecutiveDialogs
	early       bool   // it opened before we attached: see enabledUnlessBlocked
}

const (
	// maxConsecutiveDialogs is how many dialogs a page may open, each right after the answer
	// to the one before, until it counts as one that will not end: with the
	// next answer its scripts are ended. No person would answer as many.
	maxConsecutiveDialogs = 10
	// consecutiveDialogWindow is how soon after an answer a dialog opens that is in a row with
	// the one before.
	consecutiveDialogWindow = time.Second
)

// error returns the ErrDialogOpen that calls get while the dialog is open.
func (d *openDialog) error() *executor.Error {
	hint := "Answer it with handle_dialog."
	if d.Type == executor.DialogBeforeUnload {
		hint = "Answer it with handle_dialog: accept to leave the page, dismiss to stay."
	}
	if d.consecutive > maxConsecutiveDialogs {
		hint = "The page keeps opening dialogs. Close it with tab_close."
	}
	if d.early {
		return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: "Dismiss the dialog. It cannot be accepted.",
			Err: errors.New("a dialog that opened before we attached to the tab blocks the page")}
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

// dialogOpened takes note of a dialog, or answers it when a call in progress
// asked for that. t.mu is held; what it returns is called without.
func (t *Tab) dialogOpened(s *cdpconn.Session, e cdppage.EventJavascriptDialogOpening) (after func()) {
	d := executor.Dialog{Type: executor.DialogType(e.Type), Message: cutDialog(e.Message), DefaultPrompt: cutDialog(e.DefaultPrompt)}
	if t.answer != nil {
		if a := t.answer(d); a != nil {
			t.wg.Go(func() { t.answerDialog(context.Background(), s, *a) })
			return nil
		}
	}
	opened := &openDialog{Dialog: d, sess: s, frame: e.FrameID, url: e.URL}
	if t.closeIfNavigating(s, opened) {
		return nil
	}
	if t.consecutiveDialogs++; time.Since(t.answeredAt) > consecutiveDialogWindow {
		t.consecutiveDialogs = 0
	}
	opened.consecutive = t.consecutiveDialogs
	tell := t.setDialog(opened)
	frame := string(t.dialog.frameOr(t.main))
	return func() {
		tell()
		t.emit(Event{Kind: executor.EventDialog, Dialog: &d, Frame: frame})
	}
}

// dialogError returns the error for the open dialog, nil when there is none.
func (t *Tab) dialogError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dialog == nil {
		return nil
	}
	return t.dialog.error()
}

// maxDialogText bounds the texts of a dialog, in characters. Nobody reads
// more, and the browser itself lets through ten thousand.
const maxDialogText = 2000

func cutDialog(s string) string {
	if r := []rune(s); len(r) > maxDialogText {
		return string(r[:maxDialogText]) + "…"
	}
	return s
}

func (t *Tab) answerDialog(ctx context.Context, s *cdpconn.Session, a executor.DialogAnswer) error {
	params := cdppage.HandleJavaScriptDialogParams{Accept: a.Accept}
	if a.PromptText != "" {
		params.PromptText = a.PromptText
	}
	t.mu.Lock()
	t.answeredAt = time.Now() // the next may open before this call returns
	t.mu.Unlock()
	err := s.Call(ctx, "Page.handleJavaScriptDialog", params, nil)
	var ce *cdpconn.Error
	if errors.As(err, &ce) && strings.Contains(ce.Message, "Not attached to an active page") {
		// See leaving: it was too late.
		return executor.Errorf(executor.ErrDialogOpen, "Close the tab with tab_close, and open the page in another one.",
			"the dialog can no longer be answered: a navigation is pending")
	}
	return err
}

// An autoClosedDialog is a dialog that was closed because the page was already leaving.
type autoClosedDialog struct {
	executor.Dialog
	doc *document // the top document that showed it; nil when it was another
}

// leaving closes a dialog that opens while the tab is on its way to another
// document, and reports whether it does. The navigation would wait for the
// dialog, and from the moment it has its answer the browser takes commands for
// the page that is to come only, so that neither ever ended. t.mu is held.
func (t *Tab) closeIfNavigating(s *cdpconn.Session, d *openDialog) bool {
	n, under := t.started[t.main]
	if !under || n.sameDocument || d.Type == executor.DialogBeforeUnload {
		return false
	}
	p := autoClosedDialog{Dialog: d.Dialog}
	if d.frameOr(t.main) == t.main {
		p.doc = t.documentOf(t.frames[t.main])
	}
	t.autoClosed = append(t.autoClosed, p)
	if len(t.autoClosed) > maxPageErrors {
		t.autoClosed = t.autoClosed[1:]
	}
	t.autoClosedCount++
	t.wg.Go(func() {
		if err := t.answerDialog(context.Background(), s, executor.DialogAnswer{}); errors.Is(err, executor.ErrDialogOpen) {
			t.mu.Lock()
			tell := t.setDialog(d)
			t.notify()
			t.mu.Unlock()
			tell()
		}
	})
	return true
}

// autoClosedNote tells of the dialogs that were closed by leaving since there
// were count of them.
func (v *View) autoClosedNote(ctx context.Context, count int) string {
	t := v.tab
	t.mu.Lock()
	list := slices.Clone(t.autoClosed[max(0, len(t.autoClosed)-(t.autoClosedCount-count)):])
	t.mu.Unlock()
	var notes []string
	for _, p := range list {
		what := string(p.Type)
		if p.doc != nil && v.check(ctx, p.doc, executor.OpRead, "") == nil {
			what += " " + strconv.Quote(firstLine(p.Message))
		}
		notes = append(notes, fmt.Sprintf("%s was closed, because the page was already leaving", withArticle(what)))
	}
	return strings.Join(notes, "; ")
}

// dialogWords are those of openDialog's error.
var dialogErrorPattern = regexp.MustCompile(`an? \w+ dialog is open and blocks the page`)

// AsClientError makes an error that the client understands of one that a call on
// the tab ended with: an open dialog is told with its text, if that may be
// read. What else the error says, of the fields that were filled say, is kept.
func (v *View) AsClientError(ctx context.Context, err error) error {
	if errors.Is(err, errDocumentDetached) {
		return &executor.Error{Code: executor.ErrTargetGone, Retryable: true, Err: errors.New("the page navigated meanwhile"),
			Hint: "Try again; take a snapshot to see where it is."}
	}
	t := v.tab
	t.mu.Lock()
	d := t.dialog
	t.mu.Unlock()
	if d == nil || !errors.Is(err, executor.ErrDialogOpen) {
		return err
	}
	e := d.error()
	if told := v.redactedDialog(ctx, d); told.Message != "" {
		e.Err = fmt.Errorf("%s dialog %q is open and blocks the page", withArticle(string(d.Type)), firstLine(told.Message))
	}
	var was *executor.Error
	if errors.As(err, &was) && dialogErrorPattern.MatchString(was.Message()) {
		e.Err = errors.New(dialogErrorPattern.ReplaceAllLiteralString(was.Message(), e.Message()))
	}
	return e
}

// redactedDialog returns what may be told of a dialog: of one in a document that the gate
// does not let be read, only that it is there.
func (v *View) redactedDialog(ctx context.Context, d *openDialog) executor.Dialog {
	if !v.CanRead(ctx, string(d.frameOr(v.tab.main))) {
		return executor.Dialog{Type: d.Type}
	}
	return d.Dialog
}

// frameOr returns the frame that the dialog is of; an old browser does not say.
func (d *openDialog) frameOr(main cdp.FrameID) cdp.FrameID {
	if d.frame == "" {
		return main
	}
	return d.frame
}

func noDialogError(what string) error {
	return executor.Errorf(executor.ErrBadArgs, "Nothing needs to be answered; take a snapshot to see the page.", "%s", what)
}

// waitAnswerable waits until a dialog may be answered: not as long as a press that
// waits behind it would still be in time.
func (t *Tab) waitAnswerable(ctx context.Context) error {
	t.mu.Lock()
	left := time.Until(t.dialogAnswerableAt)
	t.mu.Unlock()
	if left <= 0 {
		return nil
	}
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return timeoutAs(context.Cause(ctx), "the dialog to take an answer")
	}
}

// HandleDialog answers the open dialog and tells what that changed.
func (v *View) HandleDialog(ctx context.Context, a executor.DialogAnswer) (*executor.DialogResult, error) {
	t := v.tab
	t.mu.Lock()
	d := t.dialog
	var f *frame
	if d != nil {
		if f = t.frames[d.frame]; f == nil {
			f = t.frames[t.main]
		}
	}
	doc := t.documentOf(f)
	if doc == nil && f != nil && f.id == t.main {
		doc = t.bestKnownDocument() // it opened before anything else was told of the page
	}
	t.mu.Unlock()
	if d == nil {
		return nil, noDialogError("no dialog is open in this tab")
	}
	op := executor.OpDismiss
	if a.Accept {
		op = executor.OpAct
	}
	if doc == nil {
		return nil, executor.Errorf(executor.ErrDialogOpen, "Close the tab with tab_close.", "the dialog's document is not known")
	}
	if err := v.check(ctx, doc, op, ""); err != nil {
		return nil, err
	}
	if err := t.waitAnswerable(ctx); err != nil {
		return nil, err
	}
	told := v.redactedDialog(ctx, d)
	w := v.watch()
	defer w.end()
	if d.consecutive >= maxConsecutiveDialogs {
		t.log.Info("ending the scripts of a page that opens dialog after dialog")
		// Heard although the page stands still; where it is refused, as in the
		// user's Chrome, the hint of the next dialog says what is left to do.
		_, _ = d.sess.Start(ctx, "Runtime.terminateExecution", nil)
	}
	answer := func() error { return t.answerDialog(ctx, d.sess, a) }
	if d.early {
		answer = func() error { return t.dismissEarly(ctx, d, a.Accept) }
	}
	if err := answer(); err != nil {
		limit, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if errors.Is(err, executor.ErrCDP) && t.await(limit, func() (bool, error) { return t.dialog != d, nil }) == nil {
			return nil, noDialogError("the dialog closed by itself: the page went on")
		}
		return nil, err
	}
	err := t.await(ctx, func() (bool, error) { return t.dialog != d, nil })
	t.mu.Lock()
	t.answeredAt = time.Now()
	t.mu.Unlock()
	if err != nil {
		return nil, timeoutAs(err, "the dialog to close")
	}
	if t.opts.Attach != nil {
		t.EnsureAttached(ctx) // what cannot be attached to has changed nothing that could be told
	}
	res := &executor.DialogResult{Type: d.Type, Message: told.Message, Handled: true}
	res.Changes, err = w.settle(ctx)
	return res, err
}

package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
)

// tabDialogs are the JavaScript dialogs of a tab. They are safe for concurrent use.
type tabDialogs struct {
	dialogs.State
	tab        executor.TabID
	tree       *frames.Tree
	group      *openerGroup
	wg         *sync.WaitGroup
	autoClosed record.EventLog[autoClosedDialog] // dialogs that were closed because the page was navigating
}

// record records a dialog, or answers it if the current call has requested that. It returns the
// dialog, or nil if the dialog is answered.
func (t *tabDialogs) record(s *frames.State, sess *cdpconn.Session, e cdppage.EventJavascriptDialogOpening) *dialogs.Dialog {
	d := executor.Dialog{Type: executor.DialogType(e.Type), Message: pagetext.Truncate(e.Message, maxDialogText), DefaultPrompt: pagetext.Truncate(e.DefaultPrompt, maxDialogText)}
	handedOver := t.group.handedOver() // the user answers it
	if a := t.AutomaticAnswer(d); a != nil && !handedOver {
		t.wg.Go(func() { t.reply(context.Background(), sess, *a) })
		return nil
	}
	opened := &dialogs.Dialog{Dialog: d, Session: sess, Frame: e.FrameID}
	if !handedOver && t.closeIfNavigating(s, sess, opened) {
		return nil
	}
	opened.Consecutive = t.Opened(time.Now(), t.tree.Timing().ConsecutiveDialogs)
	t.setOpen(opened)
	return opened
}

// maxDialogText is the maximum length of the texts of a dialog, in characters. Users do not read
// more, and the browser itself allows 10,000.
const maxDialogText = 2000

// reply answers the dialog that is open in the CDP session s.
func (t *tabDialogs) reply(ctx context.Context, s *cdpconn.Session, a executor.DialogAnswer) error {
	params := cdppage.HandleJavaScriptDialogParams{Accept: a.Accept}
	if a.PromptText != "" {
		params.PromptText = a.PromptText
	}
	t.Answered(time.Now()) // the next dialog may open before this call returns
	err := s.Call(ctx, "Page.handleJavaScriptDialog", params, nil)
	if frames.IsBetweenDocuments(err) {
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
func (t *tabDialogs) closeIfNavigating(s *frames.State, sess *cdpconn.Session, d *dialogs.Dialog) bool {
	n, navigating := s.TopNavigation()
	if !navigating || n.SameDocument || d.Type == executor.DialogBeforeUnload {
		return false
	}
	p := autoClosedDialog{Dialog: d.Dialog}
	if main := t.tree.TopFrame(); d.FrameOr(main) == main {
		p.doc = s.Document(s.Top())
	}
	t.autoClosed.Add(p)
	t.wg.Go(func() {
		if err := t.reply(context.Background(), sess, executor.DialogAnswer{}); errors.Is(err, executor.ErrDialogOpen) {
			s := t.tree.Lock()
			defer s.Unlock()
			t.setOpen(d)
		}
	})
	return true
}

// autoClosedNote describes the dialogs that closeIfNavigating has closed since it had closed count.
func (v *View) autoClosedNote(ctx context.Context, count int) string {
	var notes []string
	for _, p := range v.tab.dialogs.autoClosed.Since(count) {
		what := string(p.Type)
		if p.doc != nil && v.client.Check(ctx, p.doc, executor.OpRead, "") == nil {
			what += " " + strconv.Quote(pagetext.FirstLine(p.Message))
		}
		notes = append(notes, fmt.Sprintf("%s was closed because the page was navigating", phrase.WithArticle(what)))
	}
	return phrase.Notes(notes...)
}

// dialogErrorPattern matches the message of [dialogs.Dialog.Err].
var dialogErrorPattern = lazyregexp.New(`an? \w+ dialog is open and blocks the page`)

// HasDialog reports whether a dialog blocks the page.
func (t *Tab) HasDialog() bool { return t.dialogs.Open() != nil }

// AsClientError converts an error of a call on the tab to an error for the client. The error for an
// open dialog contains the text of the dialog if the client may read it. The rest of the error,
// such as the fields that were filled, is retained.
func (v *View) AsClientError(ctx context.Context, err error) error {
	if errors.Is(err, frames.ErrDocumentGone) {
		return &executor.Error{Code: executor.ErrTargetGone, Retryable: true, Err: errors.New("the page navigated during the call"),
			Hint: "Take a snapshot to see where it is before you try again."}
	}
	if e, ok := err.(*executor.Error); ok && errors.Is(e, cdpconn.ErrCallTimeout) && !v.tab.opts.NoWindow {
		late := *e
		late.Hint += " " + hintPrintPreview
		return &late
	}
	d := v.tab.dialogs.Open()
	if d == nil || !errors.Is(err, executor.ErrDialogOpen) {
		return err
	}
	e := d.Err()
	if redacted := v.redactedDialog(ctx, d); redacted.Message != "" {
		e.Err = fmt.Errorf("%s dialog %q is open and blocks the page", phrase.WithArticle(string(d.Type)), pagetext.FirstLine(redacted.Message))
	}
	if was, ok := errors.AsType[*executor.Error](err); ok && dialogErrorPattern().MatchString(was.Message()) {
		e.Err = errors.New(dialogErrorPattern().ReplaceAllLiteralString(was.Message(), e.Message()))
	}
	return e
}

// hintPrintPreview is added to the hint about a page that does not respond, if the browser has a window:
// while Chromium shows the print preview of window.print, the page responds to a few commands only, and no
// event of the protocol reports the preview. The page can be left (Chromium 156).
const hintPrintPreview = "If it shows a print preview, navigate it elsewhere, or ask the user to close the preview."

// redactedDialog returns what the client may know about a dialog. For a document that the gate does
// not allow to be read, that is only its type.
func (v *View) redactedDialog(ctx context.Context, d *dialogs.Dialog) executor.Dialog {
	if !v.client.CanRead(ctx, d.FrameOr(v.tab.main)) {
		return executor.Dialog{Type: d.Type}
	}
	return d.Dialog
}

func noDialogError(what string) error {
	return executor.Errorf(executor.ErrBadArgs, "Nothing needs to be answered; take a snapshot to see the page.", "%s", what)
}

// HandleDialog answers the open dialog and returns what that changed.
func (v *View) HandleDialog(ctx context.Context, answer *executor.DialogAnswer) (*executor.DialogResult, error) {
	a := *cmp.Or(answer, new(executor.DialogAnswer))
	t := v.tab
	d := t.dialogs.Open()
	if d == nil {
		return nil, noDialogError("no dialog is open in this tab")
	}
	s := t.tree.Lock()
	f := cmp.Or(s.Frame(d.Frame), s.Top())
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
	if err := t.dialogs.WaitAnswerable(ctx); err != nil {
		return nil, err
	}
	redacted := v.redactedDialog(ctx, d)
	w := v.trackChanges()
	defer w.End()
	if d.Consecutive >= dialogs.MaxConsecutive {
		t.log.Info("terminating the scripts of a page that keeps opening dialogs")
		// The browser executes this although the dialog blocks the page. If the command is
		// rejected, as in the user's Chrome, the hint of the next dialog says what else can be
		// done.
		_, _ = d.Session.Start(ctx, "Runtime.terminateExecution", nil)
	}
	reply := func() error { return t.dialogs.reply(ctx, d.Session, a) }
	if d.Early {
		reply = func() error { return t.dialogs.dismissEarly(ctx, d, a.Accept) }
	}
	closed := func(*frames.State) (bool, error) { return t.dialogs.Open() != d, nil }
	guard, err := v.guardLeaving(ctx, d, a)
	if err != nil {
		return nil, err
	}
	defer guard.End(ctx)
	if err := reply(); err != nil {
		limit, cancel := context.WithTimeout(ctx, t.timing.DialogClosed)
		defer cancel()
		if errors.Is(err, executor.ErrCDP) && t.tree.Await(limit, closed) == nil {
			return nil, noDialogError("the dialog closed before it was answered; the page continued")
		}
		return nil, err
	}
	err = t.tree.Await(ctx, closed)
	t.dialogs.Answered(time.Now())
	if err != nil {
		if late, ok := errors.AsType[*executor.Error](frames.TimeoutAs(err, "the dialog to close")); ok {
			err = actedError(late, "the answer was sent")
		}
		return nil, err
	}
	if t.opts.Attach != nil {
		t.EnsureAttached(ctx) // on error, no changes are known that could be returned
	}
	if err := guard.Await(ctx); err != nil {
		return nil, err
	}
	res := &executor.DialogResult{Type: d.Type, Message: redacted.Message, Handled: true}
	res.Changes, err = w.settle(ctx)
	return res, err
}

// setOpen records the open dialog; nil means none. The tree of the tab must be locked.
func (t *tabDialogs) setOpen(d *dialogs.Dialog) {
	t.SetOpen(d)
	group := t.group
	group.mu.Lock()
	defer group.mu.Unlock()
	if d == nil {
		delete(group.dialogs, t)
		return
	}
	group.dialogs[t] = true
	for m := range group.tabs {
		m.tree.Changes.Notify()
	}
}

// inOtherTab returns the error for a page that may be blocked by a dialog in another tab of
// its opener group, or nil if no other tab shows one.
func (t *tabDialogs) inOtherTab() error {
	group := t.group
	group.mu.Lock()
	defer group.mu.Unlock()
	var tabs []string
	for m := range group.dialogs {
		if m != t {
			tabs = append(tabs, string(m.tab))
		}
	}
	if len(tabs) == 0 {
		return nil
	}
	slices.Sort(tabs)
	return &executor.Error{Code: executor.ErrDialogOpen, Retryable: true, Hint: "Answer it with Page.HandleDialog and that tab's id.",
		Err: fmt.Errorf("a dialog that is open in another tab (%s) blocks this page too", strings.Join(tabs, " or "))}
}

// awaitOtherTab returns the error of inOtherTab if the page does not respond.
func (t *tabDialogs) awaitOtherTab(ctx context.Context) error {
	err := t.inOtherTab()
	if err == nil || t.tree.Responds(ctx, t.tree.Timing().OtherTabProbe) {
		return nil
	}
	return err
}

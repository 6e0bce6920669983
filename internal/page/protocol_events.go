package page

import (
	"cmp"
	"context"
	"encoding/json"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
)

// consumeEvents handles the events of the tab's targets, in order, until the target is gone.
func (t *Tab) consumeEvents() {
	for {
		ev, err := t.sess.Next(context.Background())
		if err != nil {
			s := t.tree.Lock()
			s.End(cmp.Or(t.sess.EndReason(), error(executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the tab was closed"))))
			t.dialogs.setOpen(nil)
			t.tree.Changes.Notify()
			closed := executor.CodeOf(s.Gone()) == executor.ErrTargetGone && !t.mayBeOpen
			s.Unlock()
			t.openerGroup.remove(t, closed)
			return
		}
		s := t.tree.Lock()
		first, second := s.HandleEvent(ev), t.handleEvent(s, ev)
		s.Unlock()
		for _, after := range []func(){first, second} {
			if after != nil {
				after()
			}
		}
	}
}

// handleEvent updates the tab's state for one event, after the frame tree. The caller must call
// after, if it is not nil, when it has unlocked s.
func (t *Tab) handleEvent(s *frames.State, ev cdpconn.Event) (after func()) {
	if ev.Lost > 0 {
		t.Recording.Lost(ev)
		if t.ownsRendererProcess() {
			t.floods.Lost(ev)
		}
		return nil
	}
	switch ev.Method {
	case "Page.frameNavigated":
		cdpconn.On(ev, cdppage.FrameNavigated, func(e cdppage.EventFrameNavigated) {
			if e.Frame != nil {
				t.storage.apply(ev.Session, e.Frame.SecurityOrigin) // a frame of the same site stores as a page does
			}
			if e.Frame != nil && e.Frame.ID == t.main {
				t.errors.Scripts.Reset()
				url := e.Frame.URL + e.Frame.URLFragment
				after = func() { t.emit(Event{Kind: executor.EventNavigated, URL: url}) }
			}
		})
	case "Page.frameAttached", "Page.frameDetached", "Page.navigatedWithinDocument", "Page.documentOpened", "Page.frameStartedNavigating",
		"Runtime.executionContextCreated", "Runtime.executionContextDestroyed", "Runtime.executionContextsCleared", "Inspector.targetReloadedAfterCrash":
		// only the frame tree changes
	case "Page.downloadWillBegin":
		var e cdpbrowser.EventDownloadWillBegin
		if f := t.opts.OnDownload; f != nil && cdpconn.Unmarshal(ev.Params, &e) == nil {
			after = func() { f(e) }
		}
	case EventDetached:
		t.detached(s, ev)
	case "Fetch.requestPaused":
		cdpconn.On(ev, fetch.RequestPaused, func(e fetch.EventRequestPaused) { after = func() { t.Interception.RequestPaused(ev.Session, e) } })
		return after // no notify: a page may send many requests
	case "Fetch.authRequired":
		cdpconn.On(ev, fetch.AuthRequired, func(e fetch.EventAuthRequired) { after = func() { t.Interception.AuthRequired(ev.Session, e) } })
		return after
	case "Page.windowOpen":
		cdpconn.On(ev, cdppage.WindowOpen, func(e cdppage.EventWindowOpen) { t.Popups.requested(ev.Session, e) })
	case "Page.fileChooserOpened":
		cdpconn.On(ev, cdppage.FileChooserOpened, t.fileChoosers.Add)
	case "Page.frameRequestedNavigation":
		cdpconn.On(ev, cdppage.FrameRequestedNavigation, func(e cdppage.EventFrameRequestedNavigation) {
			if e.Reason == cdppage.ClientNavigationReasonReload {
				t.Interception.ReloadRequested(e.FrameID)
			}
			// This is the only event for a click with the middle button or with Control.
			if e.Disposition == cdppage.ClientNavigationDispositionNewTab || e.Disposition == cdppage.ClientNavigationDispositionNewWindow {
				t.Popups.newTabURLs.Add(e.URL)
			}
		})
	case "Page.lifecycleEvent":
		cdpconn.On(ev, cdppage.LifecycleEvent, func(e cdppage.EventLifecycleEvent) {
			t.Recording.Lifecycle(e)
		})
	case "Page.frameStoppedLoading":
		cdpconn.On(ev, cdppage.FrameStoppedLoading, func(e cdppage.EventFrameStoppedLoading) {
			if f := s.Frame(e.FrameID); f != nil {
				// The end of the request of an out-of-process document may have been before we
				// attached.
				t.inflight.Done(network.RequestID(f.Loader()))
			}
		})
	case "Page.javascriptDialogOpening":
		cdpconn.On(ev, cdppage.JavascriptDialogOpening, func(e cdppage.EventJavascriptDialogOpening) {
			if d := t.dialogs.record(s, ev.Session, e); d != nil {
				shown := d.Dialog
				after = func() { t.emit(Event{Kind: executor.EventDialog, Dialog: &shown, Frame: string(d.FrameOr(t.main))}) }
			}
		})
	case "Page.javascriptDialogClosed":
		cdpconn.On(ev, cdppage.JavascriptDialogClosed, func(e cdppage.EventJavascriptDialogClosed) { t.promptAnswered(s, e.UserInput) })
		t.dialogs.setOpen(nil)
	case "Runtime.bindingCalled":
		cdpconn.On(ev, runtime.BindingCalled, func(e runtime.EventBindingCalled) { t.handleBindingCall(s, ev.Session, e) })
	case "Runtime.exceptionThrown":
		cdpconn.On(ev, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
			t.errors.Thrown(s, ev.Session, e.ExceptionDetails)
			t.Recording.ExceptionThrown(s, ev.Session, e, &t.errors.Scripts)
		})
	case "Runtime.consoleAPICalled":
		if t.Recording.On() {
			cdpconn.On(ev, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) { t.Recording.ConsoleCalled(s, ev.Session, e) })
		}
		return nil // no notify: a page may log in a loop
	case "Inspector.targetCrashed":
		cdpconn.On(ev, inspector.TargetCrashed, func(inspector.EventTargetCrashed) {
			if ev.Session == t.sess {
				t.inflight.Clear()
				t.dialogs.setOpen(nil)
				after = func() { t.emit(Event{Kind: executor.EventTabCrashed}) }
			}
		})
	case "Target.attachedToTarget":
		cdpconn.On(ev, target.AttachedToTarget, func(e target.EventAttachedToTarget) { after = t.childAttached(ev, e) })
	case "Target.detachedFromTarget":
		if ev.Child != nil {
			t.floods.Forget(ev.Child)
			t.shield.Forget(ev.Child)
		}
	case "Page.screencastFrame":
		if shown := t.rendering.live.Load(); shown != nil {
			cdpconn.On(ev, cdppage.ScreencastFrame, shown.Put)
		}
		return nil
	case "Network.requestWillBeSent":
		cdpconn.On(ev, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) {
			t.inflight.Sent(e)
			t.errors.Scripts.Sent(e)
			t.Recording.RequestSent(s, ev.Session, e)
			if e.Type == network.ResourceTypeDocument && e.FrameID == t.main && e.Request != nil {
				t.responses.Requested(record.DocumentRequest{Loader: e.LoaderID, Method: e.Request.Method, URL: e.Request.URL})
			}
		})
	case "Network.responseReceived":
		cdpconn.On(ev, network.ResponseReceived, func(e network.EventResponseReceived) {
			t.Recording.ResponseReceived(s, ev.Session, e)
			t.inflight.Responded(e)
			t.errors.Scripts.Responded(e)
			switch {
			case e.Type != network.ResourceTypeDocument || e.Response == nil:
			case e.FrameID == t.main:
				t.responses.Responded(e.LoaderID, s.Top().Loader(), e.Response)
			case e.Response.MimeType == "application/pdf":
				t.responses.RespondedWithPDF()
			}
		})
	case "Network.dataReceived":
		cdpconn.On(ev, network.DataReceived, func(e network.EventDataReceived) { t.inflight.ReceivedData(e.RequestID) })
		return nil // no notify: data only makes the network busy for longer
	case "Network.loadingFinished":
		cdpconn.On(ev, network.LoadingFinished, func(e network.EventLoadingFinished) {
			t.inflight.Done(e.RequestID)
			t.Recording.LoadingFinished(e)
		})
	case "Network.loadingFailed":
		cdpconn.On(ev, network.LoadingFailed, func(e network.EventLoadingFailed) {
			t.inflight.Done(e.RequestID)
			t.Recording.LoadingFailed(e)
			if e.Type == network.ResourceTypeDocument && ev.Session == t.sess {
				t.responses.Failed(e.ErrorText)
				if !e.Canceled {
					s.CutShort(cdp.LoaderID(e.RequestID), e.ErrorText)
				}
			}
		})
	default:
		return nil
	}
	t.tree.Changes.Notify()
	return after
}

// emit calls the OnEvent option, if it is set and the tab is not handed over. The tree must not be
// locked.
func (t *Tab) emit(ev Event) {
	if t.opts.OnEvent != nil && !t.HandedOver() {
		t.opts.OnEvent(ev)
	}
}

// childAttached handles the target of an out-of-process iframe, worker or worklet that was
// attached. The caller must call the result without the lock.
func (t *Tab) childAttached(ev cdpconn.Event, e target.EventAttachedToTarget) (after func()) {
	switch {
	case ev.Child == nil || e.TargetInfo == nil:
		return nil
	case e.TargetInfo.Type != "iframe":
		if !t.shield.HasPaused(ev.Session) {
			return nil
		}
		return func() { _, _ = ev.Child.Start(context.Background(), "Runtime.runIfWaitingForDebugger", nil) }
	}
	return func() {
		t.wg.Go(func() {
			if err := t.enable(context.Background(), ev.Child, e.WaitingForDebugger); err != nil {
				t.log.Debug("frame target closed during attach", "error", err)
			}
		})
	}
}

// handleBindingCall passes the report of a page script to the subscriber of its token.
func (t *Tab) handleBindingCall(s *frames.State, sess *cdpconn.Session, e runtime.EventBindingCalled) {
	from := s.FrameOf(sess, e.ExecutionContextID, true) // whose page script reports; nil if it is not known
	switch {
	case e.Name != BindingName:
		return
	case e.Payload == installedReport:
		if from != nil && from == s.Top() {
			s.ScriptsInstalled(from)
		}
		return
	}
	var head struct {
		Token   string `json:"token"`
		Blocked string `json:"blocked"` // type of the event that deniedscripts.BlockInput blocked
		Entered *struct {
			Number  int    `json:"number"`
			Content string `json:"content"`
		} `json:"entered"` // what the user is entering in a field
	}
	if json.Unmarshal([]byte(e.Payload), &head) != nil {
		return
	}
	if head.Blocked != "" {
		t.shield.RecordBlocked(s.Document(from), head.Blocked)
	}
	if head.Entered != nil && from != nil && t.HandedOver() {
		t.entered.Report(from.World(), head.Entered.Number, head.Entered.Content)
	}
	t.tree.Reports().Deliver(head.Token, []byte(e.Payload))
}

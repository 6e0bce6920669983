package page

import (
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
)

// consumeEvents handles the events of the tab's targets, in order, until the target is gone.
func (t *Tab) consumeEvents() {
	for {
		ev, err := t.sess.Next(context.Background())
		if err != nil {
			t.mu.Lock()
			if t.gone == nil {
				if t.gone = t.sess.EndReason(); t.gone == nil {
					t.gone = executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the tab was closed")
				}
			}
			t.isDetached = false
			t.setDialog(nil)
			t.changed.Notify()
			closed := executor.CodeOf(t.gone) == executor.ErrTargetGone
			t.mu.Unlock()
			t.openerGroup.remove(t, closed)
			return
		}
		t.mu.Lock()
		after := t.handleEvent(ev)
		t.mu.Unlock()
		if after != nil {
			after()
		}
	}
}

// on decodes the parameters of ev and calls f with them. It drops an event that cannot be decoded.
func on[E any](ev cdpconn.Event, event cdp.Event[E], f func(E)) {
	if e, err := cdpconn.Decode(ev, event); err == nil {
		f(e)
	}
}

// handleEvent updates the tab's state for one event. t.mu must be held. If after is not nil, the
// caller must call it without holding t.mu.
func (t *Tab) handleEvent(ev cdpconn.Event) (after func()) {
	if ev.Lost > 0 {
		t.eventsLost(ev)
		return nil
	}
	switch ev.Method {
	case "Page.frameAttached":
		on(ev, cdppage.FrameAttached, func(e cdppage.EventFrameAttached) { t.frameAttached(ev.Session, e.FrameID, e.ParentFrameID) })
	case "Page.frameDetached":
		on(ev, cdppage.FrameDetached, func(e cdppage.EventFrameDetached) {
			if e.Reason != cdppage.FrameDetachedReasonSwap {
				t.dropFrame(e.FrameID)
			}
		})
	case "Page.frameNavigated":
		on(ev, cdppage.FrameNavigated, func(e cdppage.EventFrameNavigated) {
			if e.Frame == nil {
				return
			}
			restored := e.Type == cdppage.NavigationTypeBackForwardCacheRestore
			t.frameNavigated(ev.Session, e.Frame, restored)
			if e.Frame.ID == t.main {
				t.limitStorage(ev.Session, e.Frame.SecurityOrigin)
				url := e.Frame.URL + e.Frame.URLFragment
				after = func() {
					if restored {
						t.restoreFrames(ev.Session)
					}
					t.emit(Event{Kind: executor.EventNavigated, URL: url})
				}
			}
		})
	case "Page.navigatedWithinDocument":
		on(ev, cdppage.NavigatedWithinDocument, func(e cdppage.EventNavigatedWithinDocument) {
			if f := t.frames[e.FrameID]; f != nil {
				f.url = e.URL
				f.sameDocumentNavigations++
				delete(t.started, e.FrameID)
			}
		})
	case "Page.downloadWillBegin":
		var e cdpbrowser.EventDownloadWillBegin
		if f := t.opts.OnDownload; f != nil && cdpconn.Unmarshal(ev.Params, &e) == nil {
			after = func() { f(e) }
		}
	case EventDetached:
		t.detached(ev)
	case "Fetch.requestPaused":
		on(ev, fetch.RequestPaused, func(e fetch.EventRequestPaused) { after = func() { t.requestPaused(ev.Session, e) } })
		return after // no notify: a page may send many requests
	case "Fetch.authRequired":
		on(ev, fetch.AuthRequired, func(e fetch.EventAuthRequired) { after = func() { t.authRequired(ev.Session, e) } })
		return after
	case "Page.windowOpen":
		on(ev, cdppage.WindowOpen, func(e cdppage.EventWindowOpen) { t.popups.requested(ev.Session, e) })
	case "Page.fileChooserOpened":
		on(ev, cdppage.FileChooserOpened, t.fileChoosers.add)
	case "Page.frameRequestedNavigation":
		on(ev, cdppage.FrameRequestedNavigation, func(e cdppage.EventFrameRequestedNavigation) {
			if e.Reason == cdppage.ClientNavigationReasonReload {
				t.reloadRequested(e.FrameID)
			}
			// This is the only event for a click with the middle button or with Control.
			if e.Disposition == cdppage.ClientNavigationDispositionNewTab || e.Disposition == cdppage.ClientNavigationDispositionNewWindow {
				t.popups.newTabURLs.add(e.URL)
			}
		})
	case "Page.documentOpened":
		on(ev, cdppage.DocumentOpened, func(e cdppage.EventDocumentOpened) {
			if e.Frame == nil {
				return
			}
			if f := t.frames[e.Frame.ID]; f != nil {
				f.url = e.Frame.URL
			}
		})
	case "Page.lifecycleEvent":
		on(ev, cdppage.LifecycleEvent, func(e cdppage.EventLifecycleEvent) {
			t.lifecycle(e.FrameID, e.LoaderID, e.Name)
			t.recording.update(func(l *activityLog) { l.parsed(e) })
		})
	case "Page.frameStartedNavigating":
		on(ev, cdppage.FrameStartedNavigating, func(e cdppage.EventFrameStartedNavigating) {
			t.navigationStarted(e.FrameID, e.LoaderID, e.URL, string(e.NavigationType))
		})
	case "Page.frameStoppedLoading":
		on(ev, cdppage.FrameStoppedLoading, func(e cdppage.EventFrameStoppedLoading) {
			delete(t.started, e.FrameID)
			if f := t.frames[e.FrameID]; f != nil {
				// The end of the request of an out-of-process document may have been before we attached.
				t.inflight.done(network.RequestID(f.loader))
			}
		})
	case "Page.javascriptDialogOpening":
		on(ev, cdppage.JavascriptDialogOpening, func(e cdppage.EventJavascriptDialogOpening) { after = t.dialogOpened(ev.Session, e) })
	case "Page.javascriptDialogClosed":
		on(ev, cdppage.JavascriptDialogClosed, func(e cdppage.EventJavascriptDialogClosed) { t.promptAnswered(e.UserInput) })
		t.setDialog(nil)
	case "Runtime.executionContextCreated":
		on(ev, runtime.ExecutionContextCreated, func(e runtime.EventExecutionContextCreated) { after = t.worldCreated(ev.Session, e.Context) })
	case "Runtime.executionContextDestroyed":
		on(ev, runtime.ExecutionContextDestroyed, func(e runtime.EventExecutionContextDestroyed) {
			t.worldDestroyed(ev.Session, e.ExecutionContextUniqueID)
		})
	case "Runtime.executionContextsCleared":
		t.dropWorlds(ev.Session, func(*executionContext) bool { return true })
	case "Runtime.bindingCalled":
		on(ev, runtime.BindingCalled, func(e runtime.EventBindingCalled) { t.handleBindingCall(ev.Session, e) })
	case "Runtime.exceptionThrown":
		on(ev, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
			t.pageError(ev.Session, e.ExceptionDetails)
			t.recordError(ev.Session, e)
		})
	case "Runtime.consoleAPICalled":
		if t.recording.on() {
			on(ev, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) { t.recordConsole(ev.Session, e) })
		}
		return nil // no notify: a page may log in a loop
	case "Inspector.targetCrashed":
		on(ev, inspector.TargetCrashed, func(inspector.EventTargetCrashed) {
			if ev.Session == t.sess {
				t.crashed = true
				t.inflight.clear()
				t.setDialog(nil)
				after = func() { t.emit(Event{Kind: executor.EventTabCrashed}) }
			}
		})
	case "Inspector.targetReloadedAfterCrash":
		if ev.Session == t.sess {
			t.crashed = false
		}
	case "Target.attachedToTarget":
		on(ev, target.AttachedToTarget, func(e target.EventAttachedToTarget) { after = t.childAttached(ev, e) })
	case "Target.detachedFromTarget":
		t.childDetached(ev.Child)
	case "Page.screencastFrame":
		if live := t.live.Load(); live != nil {
			on(ev, cdppage.ScreencastFrame, live.put)
		}
		return nil
	case "Network.requestWillBeSent":
		on(ev, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) {
			t.inflight.sent(e)
			t.recording.update(func(l *activityLog) { t.recordSent(l, ev.Session, e) })
			if e.Type == network.ResourceTypeDocument && e.FrameID == t.main && e.Request != nil {
				t.responses.requested(documentRequest{e.LoaderID, e.Request.Method, e.Request.URL})
			}
		})
	case "Network.responseReceived":
		on(ev, network.ResponseReceived, func(e network.EventResponseReceived) {
			t.recording.update(func(l *activityLog) { t.recordResponse(l, ev.Session, e) })
			t.inflight.responded(e)
			switch {
			case e.Type != network.ResourceTypeDocument || e.Response == nil:
			case e.FrameID == t.main:
				t.responses.responded(e.LoaderID, t.frames[t.main].loader, e.Response)
			case e.Response.MimeType == "application/pdf":
				t.responses.respondedWithPDF()
			}
		})
	case "Network.dataReceived":
		on(ev, network.DataReceived, func(e network.EventDataReceived) { t.inflight.receivedData(e.RequestID) })
		return nil // no notify: data only makes the network busy for longer
	case "Network.loadingFinished":
		on(ev, network.LoadingFinished, func(e network.EventLoadingFinished) {
			t.inflight.done(e.RequestID)
			t.recording.update(func(l *activityLog) { l.finished(e) })
		})
	case "Network.loadingFailed":
		on(ev, network.LoadingFailed, func(e network.EventLoadingFailed) {
			t.inflight.done(e.RequestID)
			t.recording.update(func(l *activityLog) { l.failed(e) })
			if e.Type == network.ResourceTypeDocument && ev.Session == t.sess {
				t.responses.failed(e.ErrorText)
				if !e.Canceled {
					t.cutShort(cdp.LoaderID(e.RequestID), e.ErrorText)
				}
			}
		})
	default:
		return nil
	}
	t.changed.Notify()
	return after
}

// emit calls the OnEvent option, if it is set and the tab is not handed over. t.mu must not be held.
func (t *Tab) emit(ev Event) {
	if t.opts.OnEvent != nil && !t.HandedOver() {
		t.opts.OnEvent(ev)
	}
}

// childAttached handles the target of an out-of-process iframe, worker or worklet that was attached.
// t.mu must be held, and the caller must call the result without holding it.
func (t *Tab) childAttached(ev cdpconn.Event, e target.EventAttachedToTarget) (after func()) {
	switch {
	case ev.Child == nil || e.TargetInfo == nil:
		return nil
	case e.TargetInfo.Type != "iframe":
		if !t.frameAttacher.hasPaused(ev.Session) {
			return nil
		}
		return func() { _, _ = ev.Child.Start(context.Background(), "Runtime.runIfWaitingForDebugger", nil) }
	}
	id, parent := cdp.FrameID(e.TargetInfo.TargetID), e.TargetInfo.ParentFrameID
	f := t.frames[id]
	if f == nil {
		f = &frame{id: id, parent: parent}
		t.frames[id] = f
	}
	t.rememberPastDocument(f)
	t.inflight.forget(id, t.started[id].loader)
	t.loaded.Add(1)
	f.sess, f.world, f.mainWorld, f.loader, f.late = ev.Child, nil, nil, "", false
	return func() {
		t.wg.Go(func() {
			if err := t.enable(context.Background(), ev.Child, e.WaitingForDebugger); err != nil {
				t.log.Debug("frame target closed during attach", "error", err)
			}
		})
	}
}

func (t *Tab) childDetached(child *cdpconn.Session) {
	if child == nil {
		return
	}
	t.floods.forget(child)
	t.frameAttacher.forget(child)
	for id, f := range t.frames {
		if f.sess == child && id != t.main {
			// The frame may continue to exist in its parent's process. Its next navigation or world
			// there shows whether it does.
			t.rememberPastDocument(f)
			t.inflight.forget(id, t.started[id].loader)
			f.world, f.mainWorld = nil, nil
			f.sess = t.sessionOf(f.parent)
			if f.sess == nil || f.sess == child {
				delete(t.frames, id)
			}
		}
	}
}

// A pageError is an uncaught error in a page.
type pageError struct {
	text  string
	frame cdp.FrameID // empty if not known
}

func (t *Tab) pageError(s *cdpconn.Session, d *runtime.ExceptionDetails) {
	if d == nil {
		return
	}
	var frame cdp.FrameID
	if f := t.frameOf(s, d.ExecutionContextID); f != nil {
		frame = f.id
	}
	text := d.Text
	if d.Exception != nil && d.Exception.Description != "" {
		text = d.Exception.Description
	}
	t.errors.add(pageError{firstLine(text), frame})
}

// frameOf returns the frame whose main world has the execution context with the given number, or
// nil if it is not known. t.mu must be held.
func (t *Tab) frameOf(s *cdpconn.Session, number runtime.ExecutionContextID) *frame {
	for _, f := range t.frames {
		if f.sess == s && f.mainWorld != nil && f.mainWorld.number == number {
			return f
		}
	}
	return nil
}

// handleBindingCall passes the report of a page script to the subscriber of its token. t.mu must be
// held.
func (t *Tab) handleBindingCall(s *cdpconn.Session, e runtime.EventBindingCalled) {
	var from *frame // whose page script reports; nil if it is not known
	for _, f := range t.frames {
		if f.sess == s && f.world != nil && f.world.number == e.ExecutionContextID {
			from = f
		}
	}
	switch {
	case e.Name != BindingName:
		return
	case e.Payload == installedReport:
		if from != nil && from.id == t.main {
			t.scripts[from.world.id] = true
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
	if b := t.blocking.current(); b != nil && head.Blocked != "" {
		b.recordBlocked(t.documentOf(from), head.Blocked)
	}
	if head.Entered != nil && from != nil && t.HandedOver() {
		t.entered.report(from.world.id, head.Entered.Number, head.Entered.Content)
	}
	t.reports.deliver(head.Token, []byte(e.Payload))
}

package frames

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// HandleEvent records what an event says about the frames of the tab. The events of the page target
// and of its frames must be passed to it in order. If after is not nil, the caller must call it
// without the lock.
func (s *State) HandleEvent(ev cdpconn.Event) (after func()) {
	t := s.tree
	if ev.Lost > 0 {
		return nil
	}
	switch ev.Method {
	case "Page.frameAttached":
		cdpconn.On(ev, cdppage.FrameAttached, func(e cdppage.EventFrameAttached) { s.frameAttached(ev.Session, e.FrameID, e.ParentFrameID) })
	case "Page.frameDetached":
		cdpconn.On(ev, cdppage.FrameDetached, func(e cdppage.EventFrameDetached) {
			if e.Reason != cdppage.FrameDetachedReasonSwap {
				s.dropFrame(e.FrameID)
			}
		})
	case "Page.frameNavigated":
		cdpconn.On(ev, cdppage.FrameNavigated, func(e cdppage.EventFrameNavigated) {
			if e.Frame == nil {
				return
			}
			restored := e.Type == cdppage.NavigationTypeBackForwardCacheRestore
			s.frameNavigated(ev.Session, e.Frame, restored)
			if restored && e.Frame.ID == t.topFrame {
				after = func() { t.restoreFrames(ev.Session) }
			}
		})
	case "Page.navigatedWithinDocument":
		cdpconn.On(ev, cdppage.NavigatedWithinDocument, func(e cdppage.EventNavigatedWithinDocument) {
			if f := s.frames[e.FrameID]; f != nil {
				f.url = e.URL
				f.sameDocumentNavigations++
				delete(s.pendingNavigations, e.FrameID)
			}
		})
	case "Page.documentOpened": // the document has the URL of the document that called document.open
		cdpconn.On(ev, cdppage.DocumentOpened, func(e cdppage.EventDocumentOpened) {
			if e.Frame == nil {
				return
			}
			if f := s.frames[e.Frame.ID]; f != nil {
				f.url = e.Frame.URL
			}
		})
	case "Page.lifecycleEvent":
		cdpconn.On(ev, cdppage.LifecycleEvent, func(e cdppage.EventLifecycleEvent) { s.lifecycle(e.FrameID, e.LoaderID, e.Name) })
	case "Page.frameStartedNavigating":
		cdpconn.On(ev, cdppage.FrameStartedNavigating, s.navigationStarted)
	case "Page.frameStoppedLoading":
		cdpconn.On(ev, cdppage.FrameStoppedLoading, func(e cdppage.EventFrameStoppedLoading) { delete(s.pendingNavigations, e.FrameID) })
	case "Runtime.executionContextCreated":
		cdpconn.On(ev, runtime.ExecutionContextCreated, func(e runtime.EventExecutionContextCreated) { after = s.worldCreated(ev.Session, e.Context) })
	case "Runtime.executionContextDestroyed":
		cdpconn.On(ev, runtime.ExecutionContextDestroyed, func(e runtime.EventExecutionContextDestroyed) {
			delete(s.scriptedWorlds, e.ExecutionContextUniqueID)
			s.dropWorlds(ev.Session, func(w *executionContext) bool { return w.id == e.ExecutionContextUniqueID })
		})
	case "Runtime.executionContextsCleared":
		s.dropWorlds(ev.Session, func(*executionContext) bool { return true })
	case "Inspector.targetCrashed":
		cdpconn.On(ev, inspector.TargetCrashed, func(inspector.EventTargetCrashed) { s.crashed = s.crashed || ev.Session == t.sess })
	case "Inspector.targetReloadedAfterCrash":
		s.crashed = s.crashed && ev.Session != t.sess
	case "Target.attachedToTarget":
		cdpconn.On(ev, target.AttachedToTarget, func(e target.EventAttachedToTarget) {
			if ev.Child != nil && e.TargetInfo != nil && e.TargetInfo.Type == "iframe" {
				s.frameMoved(ev.Child, cdp.FrameID(e.TargetInfo.TargetID), e.TargetInfo.ParentFrameID)
			}
		})
	case "Target.detachedFromTarget":
		if ev.Child != nil {
			s.sessionEnded(ev.Child)
		}
	}
	return after
}

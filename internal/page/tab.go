// Package page implements a tab that all backends share, on a [cdpconn.Session]: navigation and waits,
// dialogs, handovers, and what an action changed. Packages below it implement the rest, such as input,
// reading and capture.
//
// A [Tab] tracks one page target and its frames. A [View] is one client's view of a tab: it has the
// client's gate, refs and last snapshot.
package page

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/emulate"
	"github.com/chrome-mcp/chrome-mcp/internal/entered"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/interception"
	"github.com/chrome-mcp/chrome-mcp/internal/logflood"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// Options are the options of [Attach] and [AttachLazily].
type Options struct {
	Logger *slog.Logger // nil discards all records
	// OnEvent is called for each Event of the tab, in order and without a lock held. It must not
	// block. May be nil.
	OnEvent func(Event)
	// OnHandover is called when [Tab.HandedOver] of the tabs of an opener group changes, for one of
	// them. It must not block. May be nil.
	OnHandover func()
	// WaitingForDebugger means that the target waits for the debugger before it runs.
	WaitingForDebugger bool
	// ProxyError returns the error of the browser's egress proxy for its last request to host,
	// "host" or "host:port", if the proxy denied the request or could not reach the host; otherwise
	// nil. May be nil.
	ProxyError func(host string) error
	// DeniedByProxy is that of [record.Options].
	DeniedByProxy func(url string) bool
	// RequestFilter decides on the requests of the tab. May be nil.
	RequestFilter *interception.Filter
	// Shared means that the tab shares its window with other tabs, so that it may not be rendered
	// while it is in the background.
	Shared bool
	// Own means that one of our sessions opened the tab.
	Own bool
	// Scriptable means that the opener can access the window of the tab and write into its blank
	// document.
	Scriptable bool
	// Attach attaches to the target of a tab that [AttachLazily] created. It is called when the tab
	// is first needed, and again after an [EventDetached].
	Attach func(ctx context.Context) error
	// OnDownload is called for each download that the page starts, in order and without a lock
	// held, if the browser reports the download to the page's CDP session. It must not block. May
	// be nil.
	OnDownload func(cdpbrowser.EventDownloadWillBegin)
	// ID is the id of the tab in messages.
	ID executor.TabID
	// NoDialogs means that the browser is a managed browser. The browser's own dialogs are then
	// prevented if CDP allows that, because there may be no user to answer them.
	NoDialogs bool
	// SharedBrowser means that the browser also has browser contexts of other clients.
	SharedBrowser bool
	// UserClipboard means that the clipboard of the browser is that of the user's desktop.
	UserClipboard bool
	// StorageQuota is how much each origin may store, in bytes. 0 means the quota of the browser.
	StorageQuota int64
	// NoWindow means that the browser has no window, so the user cannot act in the page.
	NoWindow bool
	// NoPrograms means that the browser opens no links in other programs.
	NoPrograms bool
	// Opener is the tab whose page opened this one, or nil.
	Opener *Tab
	// SecretGuard is the guard of the browser. nil means that no CDP client can connect to it.
	SecretGuard *SecretGuard
	// SetPermission starts granting a permission in the browser context of the tab, or removing the
	// grant. nil means that only the user grants permissions.
	SetPermission func(ctx context.Context, grant executor.PageGrant, granted bool) (*cdpconn.Pending, error)
	// TabsKnown waits until [popups.Opened] has been called for each tab that the browser opened
	// for the page. nil means that Opened is not called.
	TabsKnown func(context.Context) error
	// Timing has the durations of the tab. The zero Timing means timing.Current().
	Timing timing.Timing
}

// An Event is something that happened in a tab.
type Event struct {
	Kind   executor.EventKind
	URL    string
	Dialog *executor.Dialog
	Frame  string // of Dialog
}

// A Tab tracks one page target and its frames. Its methods are safe for concurrent use.
//
// Each part of its state has its own lock. The tree is locked before the others: the methods that
// are called while it is locked say so, and do not lock it.
type Tab struct {
	tree        *frames.Tree
	sess        *cdpconn.Session // of the page target
	main        cdp.FrameID      // of the top frame
	log         *slog.Logger
	timing      timing.Timing
	wg          sync.WaitGroup
	opts        Options
	openerGroup *openerGroup // never changes
	openedAt    time.Time    // when we learned of the tab; never changes

	shield          *shield.Shield
	dialogs         tabDialogs
	emulation       *emulate.Emulator
	rendering       backgroundRendering
	own             atomic.Bool                          // one of our sessions opened the tab
	navigatedBefore atomic.Bool                          // a call has navigated it before
	acted           atomic.Bool                          // the current call has sent input, or a script or command of the client
	beforeHandover  atomic.Pointer[frames.LastKnownPage] // the page of the tab when it was handed over last; nil if another tab of the group was
	storage         storageQuota                         // used only by consumeEvents
	mayBeOpen       bool                                 // the tab may be open after its end; used only by consumeEvents
	obstacles       obstacles
	buttons         pointerstate.Buttons
	inflight        record.Inflight
	responses       record.Documents
	floods          *logflood.Floods
	entered         *entered.Values // never changes after newTab
	errors          record.PageErrors
	fileChoosers    record.EventLog[cdppage.EventFileChooserOpened]
	choosers        chooserInterception

	Queue        callQueue
	Recording    *record.Recorder
	Popups       popups
	Interception *interception.Interception

	externalNavigations externalNavigations

	attaching chan struct{} // holds a token while a call attaches to the target
}

// Attach attaches to the page of sess and returns when the tab is ready for calls. No other code
// may read the events of sess.
func Attach(ctx context.Context, sess *cdpconn.Session, opts Options) (*Tab, error) {
	t := newTab(sess, opts)
	if err := t.enable(ctx, sess, opts.WaitingForDebugger); err != nil {
		return nil, err
	}
	return t, nil
}

func newTab(sess *cdpconn.Session, opts Options) *Tab {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	t := &Tab{opts: opts, openedAt: time.Now(), attaching: make(chan struct{}, 1), entered: new(entered.Values)}
	t.sess, t.main, t.log, t.timing = sess, cdp.FrameID(sess.Target().TargetID), opts.Logger, cmp.Or(opts.Timing, timing.Current())
	t.tree = frames.New(sess, t.main, frameObserver{t}, installScript(), t.log, t.timing)
	t.shield = shield.New(t.tree)
	t.emulation = emulate.New(emulate.Options{
		Tree: t.tree, OwnProcess: t.ownsRendererProcess(), Intercepted: opts.RequestFilter != nil,
		DenyPasskeys: opts.NoDialogs, HandedOver: t.HandedOver, SetPermission: opts.SetPermission,
	})
	t.inflight.Quiet = t.timing.NetworkIdle
	t.own.Store(opts.Own)
	recording := record.Options{Tree: t.tree, Timing: t.timing, DeniedByProxy: opts.DeniedByProxy}
	if opts.Opener != nil {
		t.openerGroup = opts.Opener.openerGroup
		// Its client reads the popup window's activity later.
		recording.Popup, recording.On, recording.Paused = true, opts.Opener.Recording.On(), opts.Opener.HandedOver()
	} else {
		t.openerGroup = new(openerGroup)
	}
	t.Recording = record.New(recording)
	t.Interception = interception.New(interception.Options{
		Filter: opts.RequestFilter, Filtering: opts.Opener != nil && opts.Opener.Interception.Filtering(),
		Tree: t.tree, Emulation: t.emulation, Dialogs: &t.dialogs.State,
	})
	t.dialogs = tabDialogs{tab: opts.ID, tree: t.tree, group: t.openerGroup, wg: &t.wg}
	t.Queue = callQueue{tab: opts.ID, tree: t.tree, group: t.openerGroup, dialogs: &t.dialogs.State}
	t.rendering = backgroundRendering{opts: &t.opts, sess: sess, wg: &t.wg}
	t.storage = storageQuota{limit: opts.StorageQuota, wg: &t.wg}
	t.floods = logflood.New(opts.ID, t.tree, t.emulation)
	t.obstacles = obstacles{t.tree, &t.responses, opts.NoWindow}
	t.Popups.tabsKnown, t.externalNavigations.tree = opts.TabsKnown, t.tree
	t.openerGroup.add(t)
	sess.InOrder()
	t.wg.Go(t.consumeEvents)
	return t
}

// Gone returns a channel that is closed when the target is gone.
func (t *Tab) Gone() <-chan struct{} { return t.sess.Gone() }

// Wait waits until the tab's goroutines have returned, which happens after its CDP session has
// ended.
func (t *Tab) Wait() {
	t.wg.Wait()
	t.floods.Wait()
	t.shield.WaitIdle()
	t.tree.WaitIdle()
}

// OpenedAt returns the time at which the browser reported the tab.
func (t *Tab) OpenedAt() time.Time { return t.openedAt }

// MarkOwn records that one of our sessions opened the tab.
func (t *Tab) MarkOwn() { t.own.Store(true) }

// URL returns the URL of the top document, or the last known one if the tab is not attached.
func (t *Tab) URL() string {
	s := t.tree.Lock()
	defer s.Unlock()
	if s.Detached() {
		return s.LastKnownPage().URL
	}
	return s.Top().URL()
}

// HasFrame reports whether the tab has a frame with this id.
func (t *Tab) HasFrame(id string) bool {
	s := t.tree.Lock()
	defer s.Unlock()
	return s.Frame(cdp.FrameID(id)) != nil
}

// ownsRendererProcess reports whether no tab of the user can share a renderer process with the
// tab's pages.
func (t *Tab) ownsRendererProcess() bool { return t.opts.Own && t.opts.Attach == nil }

// KnowsDocument reports whether the document that a frame of the tab shows is known, so that a
// check by the gate has a meaning.
func (t *Tab) KnowsDocument(frame string) bool { return t.tree.KnowsDocument(cdp.FrameID(frame)) }

// AwaitKnown waits until KnowsDocument returns true for a frame. It returns early if the tab is
// detached or gone, or if ctx is done.
func (t *Tab) AwaitKnown(ctx context.Context, frame string) {
	_ = t.tree.Await(ctx, func(s *frames.State) (bool, error) { return s.KnowsDocument(cdp.FrameID(frame)), nil })
}

// Session returns the CDP session of the page target.
func (t *Tab) Session() *cdpconn.Session { return t.sess }

// enable sends all commands that attaching to a target needs, without waiting in between.
// Page.enable comes first: a dialog that opens before it cannot be answered. waiting means that the
// target waits for the debugger.
func (t *Tab) enable(ctx context.Context, s *cdpconn.Session, waiting bool) error {
	commands := []cdpconn.Command{
		{Method: "Page.enable"},
		{Method: "Page.getFrameTree"},
		{Method: "Page.setLifecycleEventsEnabled", Params: map[string]any{"enabled": true}},
		{Method: "Runtime.enable"},
		{Method: "Runtime.addBinding", Params: runtime.AddBindingParams{Name: BindingName, ExecutionContextName: frames.WorldName}},
		{Method: "Page.addScriptToEvaluateOnNewDocument", Params: map[string]any{"source": documentStartScript(s == t.sess), "worldName": frames.WorldName, "runImmediately": true}},
		{Method: "Inspector.enable"}, // reports crashes
		{Method: "Network.enable", Params: t.Recording.NetworkParams()},
		{Method: target.CommandSetAutoAttach},
	}
	commands = append(commands, t.Interception.Commands()...)
	commands = append(commands, t.emulation.Commands(s)...)
	if waiting {
		commands = append(commands, cdpconn.Command{Method: "Runtime.runIfWaitingForDebugger"})
	}
	pending := make([]*cdpconn.Pending, len(commands))
	for i, c := range commands {
		if waiting && i == len(commands)-1 {
			t.shield.BlockTarget(ctx, s)
		}
		var p *cdpconn.Pending
		var err error
		if c.Method == target.CommandSetAutoAttach {
			p, err = t.shield.AttachFrames(ctx, s)
		} else {
			p, err = s.Start(ctx, c.Method, c.Params)
		}
		if err != nil {
			return err
		}
		pending[i] = p
	}
	if !waiting {
		t.shield.BlockTarget(ctx, s)
	}
	answered := func(ctx context.Context) error { return t.enabled(ctx, s, commands, pending) }
	// Tabs that we or their pages opened cannot have a dialog from before we attached. They may
	// also drop input while their first document loads.
	if !waiting && s == t.sess && !t.opts.Own && t.opts.Opener == nil {
		return t.dialogs.awaitUnlessBlocked(ctx, answered)
	}
	if !waiting {
		return answered(ctx)
	}
	// A page that waits for the first response of a slow server has no renderer process yet that
	// could respond to these commands. It can be used anyway.
	done := make(chan error, 1)
	t.wg.Go(func() { done <- answered(context.WithoutCancel(ctx)) })
	select {
	case err := <-done:
		return err
	case <-time.After(t.timing.NewTabReady):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enabled waits for the responses to the commands of enable.
func (t *Tab) enabled(ctx context.Context, s *cdpconn.Session, commands []cdpconn.Command, pending []*cdpconn.Pending) error {
	for i, p := range pending {
		var result cdppage.GetFrameTreeResult
		if err := p.Wait(ctx, &result); err != nil {
			if errors.Is(err, executor.ErrCDP) {
				t.log.Debug("command failed during attach", "method", commands[i].Method, "error", err)
				continue
			}
			return err
		}
		if commands[i].Method == "Page.getFrameTree" {
			state := t.tree.Lock()
			state.AddFrameTree(s, result.FrameTree)
			t.tree.Changes.Notify()
			state.Unlock()
		}
	}
	return nil
}

// Package page is everything that happens inside a tab: navigation and waits,
// snapshots with refs, actions, reading, pictures, dialogs. It is written
// once, over a [cdpconn.Session], for every backend.
//
// A [Tab] follows one page target and its frames. A [View] is one client's
// look at a tab: it has the client's gate, refs and last snapshot, and the
// methods of executor.Executor without their tab argument.
package page

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// Options are the options of [Attach].
type Options struct {
	Logger *slog.Logger // nil discards
	// OnEvent is called, in order and without a lock held, for what happens
	// in the tab. It must not block.
	OnEvent func(Event)
	// Waiting says that the target waits for the debugger before it runs.
	Waiting bool
	// Failure tells what the filtering proxy that the browser is under did
	// with its latest request for a host, "host" or "host:port": an error if
	// it refused or could not reach it, else nil. May be nil.
	Failure func(host string) error
	// Wall holds what the tab requests. May be nil.
	Wall *Wall
	// Shared says that the tab shares its window with others, so that it may
	// not be drawn while it is not in front.
	Shared bool
	// Own says that a session of ours opened the tab.
	Own bool
	// Scriptable means that the opener can access the window of the tab and write
	// into its blank document.
	Scriptable bool
	// Wake attaches to the target, for a tab made by [Adopt]: it is called
	// when the tab is first needed, and again after an [EventDetached].
	Wake func(ctx context.Context) error
	// OnDownload is called, in order and without a lock held, for each
	// download that the page begins, where the browser tells the page's
	// session of it. It must not block. May be nil.
	OnDownload func(Download)
	// ID is what the tab is called in messages.
	ID executor.TabID
	// NoDialogs means that the browser is ours. The browser's own dialogs are
	// then prevented where the protocol can do that, because possibly no user can
	// answer them.
	NoDialogs bool
	// NoPrograms means that the browser passes no link to another program.
	NoPrograms bool
	// Opener is the tab whose page opened this one, nil for the others.
	Opener *Tab
	// TabsKnown waits until [Tab.OpenedTab] has been called for each tab that the
	// browser opened for the page. nil means that OpenedTab is not called.
	TabsKnown func(context.Context) error
}

// A Download is one that a page began.
type Download struct {
	Frame string `json:"frameId"`
	URL   string `json:"url"`
	Name  string `json:"suggestedFilename"` // as the server or the page suggests it
}

// An Event is something that happened in a tab.
type Event struct {
	Kind   executor.EventKind
	URL    string
	Dialog *executor.Dialog
	Frame  string // of Dialog
}

// A Tab follows one page target. Its methods are safe for concurrent use.
type Tab struct {
	sess   *cdpconn.Session
	opts   Options
	log    *slog.Logger
	wg     sync.WaitGroup
	family *family // never changes
	turns  turns

	attaching attaching

	mu            sync.Mutex    // guards the fields below
	changed       chan struct{} // closed and replaced when one of the fields changes
	frames        map[cdp.FrameID]*frame
	attached      int // frames that the tab has ever had
	loaded        int // documents that frames have loaded: see documentsLoaded
	main          cdp.FrameID
	bygone        []*document // past documents, the oldest first; see noteLeft
	bygoneFrom    int         // how many of bygone are older than the current top document
	dialog        *openDialog
	inRow         int                                          // dialogs that opened before dialog, each directly after the previous one was answered
	answeredAt    time.Time                                    // when the last dialog was answered
	answerFrom    time.Time                                    // when a dialog may be answered; see mayAnswer
	passed        []passed                                     // dialogs that were closed because the page was leaving, the newest last
	passedCount   int                                          // total number of passed dialogs
	handovers     []handover                                   // navigations to other programs, the newest last
	handoverCount int                                          // total number of handovers
	answer        func(executor.Dialog) *executor.DialogAnswer // answers dialogs automatically, during eval
	gone          error                                        // why the tab is gone; nil while it exists
	crashed       bool
	own           bool                            // a session of ours opened the tab
	left          bool                            // a call has navigated it before
	shown         bool                            // the top frame has had a non-blank document
	reports       map[string]func(payload []byte) // by token: what page scripts report through the binding
	traffic       traffic
	record        *record                      // what happened; nil without recorders
	recorders     int                          // number of recorders
	emulation     emulation                    // what is emulated
	emulator      *View                        // the view that changed emulation last
	errors        []pageError                  // uncaught page errors, the newest last
	errCount      int                          // total number of page errors
	scripts       map[string]bool              // worlds, by unique id, that our scripts were installed in
	started       map[cdp.FrameID]navigation   // pending navigations, by frame
	status        map[cdp.LoaderID]response    // of the top document, and of the pending one
	answered      int                          // HTTP status of the last response to a request for a top document
	pdf           bool                         // that response is for the browser's PDF viewer
	innerPDF      bool                         // a frame has received a response for the PDF viewer since
	departs       int                          // cross-document navigations of the top frame that started
	walled        bool                         // opts.Wall is enabled
	windows       windows                      // windows that the page requested
	choosers      int                          // file choosers that the page requested
	chooser       chooser                      // the last file chooser
	hold          hold                         // pressed mouse buttons
	blocker       *inputBlocker                // blocks input in denied documents; nil while no call sends input
	lateInputs    []sentInput                  // input that the browser has not confirmed when its call ended
	unblocked     time.Time                    // when the last blocker ended
	requested     []string                     // URLs of the tabs that the page made the browser open, the newest last
	first         string                       // first URL of the tab
	title         struct{ world, text string } // of the top document, as last read
	asked         string                       // URL of the last request for a top document, after redirects
	failed        string                       // the network's error for the last document that failed

	waking chan struct{} // holds a token while the tab is being attached to
	asleep bool          // the target is not attached to; what follows is all that is known
	away   error         // why it is not attached to any more; nil before it ever was
	noted  note
	drawn  bool        // it is drawn although it may not be in front
	fade   *time.Timer // ends that; nil while a call runs
}

// Attach starts to follow the page of sess, whose events nobody else reads.
// It returns when the tab can be driven.
func Attach(ctx context.Context, sess *cdpconn.Session, opts Options) (*Tab, error) {
	t := newTab(sess, opts)
	if err := t.enable(ctx, sess, opts.Waiting); err != nil {
		return nil, err
	}
	return t, nil
}

func newTab(sess *cdpconn.Session, opts Options) *Tab {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Tab{
		sess:    sess,
		opts:    opts,
		log:     opts.Logger,
		changed: make(chan struct{}),
		frames:  make(map[cdp.FrameID]*frame),
		reports: make(map[string]func([]byte)),
		scripts: make(map[string]bool),
		started: make(map[cdp.FrameID]navigation),
		status:  make(map[cdp.LoaderID]response),
		traffic: newTraffic(),
		own:     opts.Own,
		waking:  make(chan struct{}, 1),
	}
	t.main = cdp.FrameID(sess.Target().TargetID)
	t.frames[t.main] = &frame{id: t.main, sess: sess}
	if opts.Opener != nil {
		t.family = opts.Opener.family
		if opts.Opener.recording() { // its client looks at the popup only later
			t.record = newRecord()
		}
	} else {
		t.family = new(family)
	}
	t.walled = opts.Wall != nil && (opts.Wall.AtOnce || opts.Opener != nil && opts.Opener.isWalled())
	t.family.join(t)
	sess.InOrder()
	t.wg.Go(t.follow)
	return t
}

// Gone is closed when the target is gone.
func (t *Tab) Gone() <-chan struct{} { return t.sess.Gone() }

// Wait waits until the tab's goroutines have ended, which they do when its
// session goes.
func (t *Tab) Wait() { t.wg.Wait() }

// MarkOwn says that a session of ours opened the tab.
func (t *Tab) MarkOwn() {
	t.mu.Lock()
	t.own = true
	t.mu.Unlock()
}

// blankIsOurs reports whether a blank top document without an origin is the first
// document of the tab, into which no page can write. t.mu must be held.
func (t *Tab) blankIsOurs() bool { return t.own && !t.opts.Scriptable && !t.shown }

func (t *Tab) isOwn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own
}

// URL returns the URL of the top document.
func (t *Tab) URL() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asleep {
		return t.noted.url
	}
	return t.frames[t.main].url
}

// HasFrame reports whether a frame is one of the tab's.
func (t *Tab) HasFrame(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames[cdp.FrameID(id)] != nil
}

// Session returns the session of the page target.
func (t *Tab) Session() *cdpconn.Session { return t.sess }

// enable switches on, in one go, what following a target takes. Page comes
// first: a dialog that opens before it could not be handled at all.
func (t *Tab) enable(ctx context.Context, s *cdpconn.Session, waiting bool) error {
	commands := []command{
		{"Page.enable", nil},
		{"Page.getFrameTree", nil},
		{"Page.setLifecycleEventsEnabled", map[string]any{"enabled": true}},
		{"Runtime.enable", nil},
		{"Runtime.addBinding", runtime.AddBindingParams{Name: bindingName, ExecutionContextName: worldName}},
		{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": earlyScript(s == t.sess), "worldName": worldName, "runImmediately": true}},
		{"Inspector.enable", nil}, // tells of a crash
		{"Network.enable", t.bodies()},
		{method: setAutoAttach},
	}
	if s == t.sess {
		// A tab that is not in front gets no frames and no focus without it.
		commands = append(commands, command{"Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}})
	}
	if t.opts.NoDialogs {
		// Without an authenticator, a request for a passkey fails when it times
		// out.
		commands = append(commands, command{"WebAuthn.enable", map[string]any{"enableUI": false}})
	}
	if t.isWalled() {
		commands = append(commands, t.opts.Wall.command())
	}
	commands = append(commands, t.emulated(s)...)
	if waiting {
		commands = append(commands, command{"Runtime.runIfWaitingForDebugger", nil})
	}
	pending := make([]*cdpconn.Pending, len(commands))
	for i, c := range commands {
		if waiting && i == len(commands)-1 {
			t.blockChild(ctx, s)
		}
		var p *cdpconn.Pending
		var err error
		if c.method == setAutoAttach {
			p, err = t.attaching.enable(ctx, s)
		} else {
			p, err = s.Start(ctx, c.method, c.params)
		}
		if err != nil {
			return err
		}
		pending[i] = p
	}
	if !waiting {
		t.blockChild(ctx, s)
	}
	answered := func(ctx context.Context) error { return t.enabled(ctx, s, commands, pending) }
	// Tabs that we or their pages opened cannot have a dialog from before we
	// attached. They may also drop input while their first document loads.
	if !waiting && s == t.sess && !t.opts.Own && t.opts.Opener == nil {
		return t.enabledUnlessBlocked(ctx, answered)
	}
	if !waiting {
		return answered(ctx)
	}
	// A page that was opened for a server that is slow to answer has no process
	// yet to say that all this is done. It can be driven all the same.
	done := make(chan error, 1)
	t.wg.Go(func() { done <- answered(context.WithoutCancel(ctx)) })
	select {
	case err := <-done:
		return err
	case <-time.After(openedLimit):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// openedLimit is how long a page that was opened just now may take to say that
// it is followed, before it counts as a tab.
const openedLimit = 300 * time.Millisecond

// A command is one that enable sends.
type command struct {
	method string
	params any
}

// enabled waits for the answers to the commands of enable.
func (t *Tab) enabled(ctx context.Context, s *cdpconn.Session, commands []command, pending []*cdpconn.Pending) error {
	for i, p := range pending {
		var result struct {
			FrameTree frameTree `json:"frameTree"`
		}
		if err := p.Wait(ctx, &result); err != nil {
			if errors.Is(err, executor.ErrCDP) {
				t.log.Debug("command refused at attach", "method", commands[i].method, "error", err)
				continue
			}
			return err
		}
		if commands[i].method == "Page.getFrameTree" {
			t.mu.Lock()
			t.addFrameTree(s, result.FrameTree)
			t.notify()
			t.mu.Unlock()
		}
	}
	return nil
}

// notify wakes whoever waits for a change. t.mu must be held.
func (t *Tab) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits until cond, called with t.mu held after every change, is true.
// It ends early with cond's error, when the tab goes, and when ctx ends, which
// is after cdpconn.DefaultCallTimeout when it has no deadline.
func (t *Tab) await(ctx context.Context, cond func() (bool, error)) error {
	ctx, cancel := cdpconn.Bounded(ctx)
	defer cancel()
	for {
		t.mu.Lock()
		done, err := cond()
		gone, changed := t.goneError(), t.changed
		t.mu.Unlock()
		switch {
		case err != nil:
			return err
		case done:
			return nil
		case gone != nil:
			return gone
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// goneError returns why the tab cannot be used any more. t.mu must be held.
func (t *Tab) goneError() error {
	switch {
	case t.gone != nil:
		return t.gone
	case t.asleep && t.away != nil:
		return t.away
	case t.crashed:
		return executor.Errorf(executor.ErrTargetGone, "Reload the tab, or open another.", "the page crashed")
	}
	return nil
}

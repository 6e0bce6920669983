// Package live shows the page of a tab to the user, and passes the user's input to it.
package live

import (
	"bytes"
	"context"
	"sync"
	"time"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

const (
	// minInterval is the minimum time between two images of a live view.
	minInterval = 66 * time.Millisecond
	// refreshAfter is how long the screencast may send no frame before it is restarted, which sends
	// one: the browser drops frames while it sends others (PageHandler in Chromium), also the last
	// one of a change.
	refreshAfter = time.Second
	// jpegQuality is the quality of the JPEG images.
	jpegQuality = 70
	// maxSize is the maximum width and height of an image, in pixels.
	maxSize = 1600
)

// The reasons why a live view shows no image.
const (
	hiddenDenied = "The policy denies a document of this tab, so the tab is not shown."
	hiddenHung   = "The page does not respond."
	hiddenDialog = "A dialog of the page is open."
)

// Options are the options of [New].
type Options struct {
	Dialogs *dialogs.State // of the tab
	// ReadableDialog returns what the client may know about a dialog.
	ReadableDialog func(ctx context.Context, d *dialogs.Dialog) executor.Dialog
	// Answer answers a dialog.
	Answer func(ctx context.Context, d *dialogs.Dialog, a executor.DialogAnswer) error
	// SendInput calls f, which sends input of the user, if the tab is handed over.
	SendInput func(f func() error) error
	// HandedOver reports whether the tab is handed over.
	HandedOver func() bool
	// ClientError converts an error to one for the client.
	ClientError func(ctx context.Context, err error) error
	// Go calls f in a goroutine that the tab waits for.
	Go func(f func())
	// Close is called when the View is closed. It reports whether the View used the screencast of
	// the tab.
	Close func(*View) bool
}

// New returns a live view of a tab.
func New(client *frames.Client, opts Options) *View {
	return &View{client: client, tree: client.Tree, opts: opts, signal: notify.NewSignal(), ended: make(chan struct{}), loaded: -1}
}

// A View is the live view of a tab, from a screencast. It implements executor.LiveView.
//
// A frame of the screencast does not name the documents that it shows. So Next returns a frame only
// if the gate allows all documents of the tab, and the tab has loaded no document since Next
// checked the frame before. Otherwise Next restarts the screencast, which then sends another frame.
type View struct {
	client *frames.Client
	tree   *frames.Tree
	opts   Options
	signal notify.Signal // receives when there may be a new frame
	ended  chan struct{} // closed by End
	once   sync.Once     // for End
	err    error         // why the live view ended; may be nil; set before ended is closed

	mu     sync.Mutex                    // guards the fields below
	latest *cdppage.EventScreencastFrame // that Next has not taken; nil if none
	old    int64                         // session id of the screencast before the last restart; 0 if not known

	// Only Next uses the fields below.
	started bool                          // the screencast was started
	unacked int64                         // session id of the frame to acknowledge; 0 if none
	shownAt time.Time                     // when the last image was returned
	loaded  int64                         // Tree.DocumentsLoaded at the last check; -1 before the first
	hidden  string                        // the reason in the last image; empty if it was shown
	dialog  *dialogs.Dialog               // of the last image
	shown   []byte                        // the last image, to skip a refresh that shows the same
	flushed chan struct{}                 // closed when the pending flush has ended; nil if none is pending
	pending *cdppage.EventScreencastFrame // to be checked again; nil if none
}

// End ends the live view. Next then returns err or, if err is nil, that the view has ended.
func (l *View) End(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.ended)
	})
}

// Close ends the live view and its screencast.
func (l *View) Close() {
	if !l.opts.Close(l) { // another live view has replaced it, or it is closed
		return
	}
	l.End(nil)
	_, _ = l.tree.Session().Start(context.Background(), cdppage.CommandStopScreencast, nil)
}

// Put stores a frame for Next, and acknowledges the frame that it replaces.
func (l *View) Put(e cdppage.EventScreencastFrame) {
	l.mu.Lock()
	if e.SessionID == l.old {
		l.mu.Unlock()
		return
	}
	replaced := l.latest
	l.latest = &e
	l.mu.Unlock()
	if replaced != nil {
		l.acknowledge(replaced.SessionID)
	}
	l.signal.Notify()
}

// acknowledge acknowledges a frame by its session id, so that the browser sends more frames.
func (l *View) acknowledge(id int64) {
	_, _ = l.tree.Session().Start(context.Background(), cdppage.CommandScreencastFrameAck, cdppage.ScreencastFrameAckParams{SessionID: id})
}

// restart starts the screencast again, which then sends a frame. Later frames of the screencast of
// before, which may be nil, are dropped. restart does not wait for the browser, which does not
// respond while a dialog is open.
func (l *View) restart(ctx context.Context, before *cdppage.EventScreencastFrame) error {
	l.mu.Lock()
	if l.latest = nil; before != nil {
		l.old = before.SessionID
	}
	l.mu.Unlock()
	l.unacked = 0
	// The browser rejects a second screencast of a session.
	_, _ = l.tree.Session().Start(ctx, cdppage.CommandStopScreencast, nil)
	p, err := l.tree.Session().Start(ctx, cdppage.CommandStartScreencast, map[string]any{
		"format": "jpeg", "quality": jpegQuality, "maxWidth": maxSize, "maxHeight": maxSize,
	})
	if err != nil {
		return l.opts.ClientError(ctx, err)
	}
	l.opts.Go(func() {
		// Between two documents, nextFrame starts it again.
		if err := p.Wait(context.Background(), nil); err != nil && !frames.IsBetweenDocuments(err) {
			l.End(err)
		}
	})
	return nil
}

// Next waits for the next image.
func (l *View) Next(ctx context.Context) (*executor.LiveImage, error) {
	if wait := time.Until(l.shownAt.Add(minInterval)); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if !l.started {
		if err := l.restart(ctx, nil); err != nil {
			return nil, err
		}
		l.started = true
	}
	for {
		frame, err := l.nextFrame(ctx)
		if err != nil {
			return nil, err
		}
		if frame == nil { // a dialog has opened
			return l.hiddenImage(ctx, hiddenDialog), nil
		}
		image, err := l.imageOf(ctx, frame)
		if err != nil || image != nil {
			l.shownAt = time.Now()
			return image, err
		}
	}
}

// hiddenImage returns an image with the reason why there is nothing to show.
func (l *View) hiddenImage(ctx context.Context, why string) *executor.LiveImage {
	l.hidden = why
	image := &executor.LiveImage{Hidden: why}
	if why == hiddenDialog {
		image.Dialog = l.readableDialog(ctx)
	}
	return image
}

// readableDialog returns l.dialog as the client may read it.
func (l *View) readableDialog(ctx context.Context) *executor.Dialog {
	d := l.opts.ReadableDialog(ctx, l.dialog)
	return &d
}

// nextFrame waits for the next frame of the screencast. It returns nil when a dialog has opened.
func (l *View) nextFrame(ctx context.Context) (*cdppage.EventScreencastFrame, error) {
	if frame := l.pending; frame != nil {
		return frame, nil
	}
	if l.unacked != 0 {
		l.acknowledge(l.unacked)
		l.unacked = 0
	}
	for {
		changed := l.tree.Changes.Changed()
		dialog := l.opts.Dialogs.Open()
		switch {
		case dialog != nil && dialog != l.dialog:
			l.dialog = dialog
			return nil, nil
		case dialog == nil && l.dialog != nil:
			l.hidden, l.dialog, l.shown = "", nil, nil
			if err := l.restart(ctx, nil); err != nil { // an unchanged page causes no frame otherwise
				return nil, err
			}
		}
		l.mu.Lock()
		frame := l.latest
		l.latest = nil
		l.mu.Unlock()
		if frame != nil {
			l.pending, l.unacked = frame, frame.SessionID
			return frame, nil
		}
		refresh, cancel := context.WithTimeout(ctx, refreshAfter)
		err := l.wait(refresh, l.signal, changed) // the change may be a dialog
		if refresh.Err() != nil && ctx.Err() == nil {
			err = nil
			if dialog == nil { // the page draws no frame while one is open
				err = l.restart(ctx, nil)
			}
		}
		if cancel(); err != nil {
			return nil, err
		}
	}
}

// wait waits for one of two channels; b may be nil. It returns an error when the live view has
// ended or ctx is done.
func (l *View) wait(ctx context.Context, a, b <-chan struct{}) error {
	select {
	case <-a:
		return nil
	case <-b:
		return nil
	case <-l.ended:
		return l.endedError()
	case <-l.tree.Session().Gone():
		return l.endedError()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// endedError returns why the live view has ended.
func (l *View) endedError() error {
	if notify.IsClosed(l.ended) && l.err != nil {
		return l.opts.ClientError(context.Background(), l.err)
	}
	return executor.Errorf(executor.ErrTargetGone, "", "the live view has ended: the tab was closed, or another live view shows it")
}

// imageOf returns the image of a frame, or nil if another frame is needed. If it returns that the
// page hangs, it must be called again with the same frame.
func (l *View) imageOf(ctx context.Context, frame *cdppage.EventScreencastFrame) (*executor.LiveImage, error) {
	changed := l.tree.Changes.Changed()
	if hidden, err := l.flush(ctx); hidden != "" || err != nil {
		if err != nil || hidden == l.hidden && hidden != hiddenDialog {
			return nil, err // the next call continues to flush
		}
		return l.hiddenImage(ctx, hidden), nil
	}
	loaded := l.tree.DocumentsLoaded()
	readable, known := l.client.AllReadable(ctx)
	same := loaded == l.loaded
	l.loaded, l.pending = loaded, nil
	switch {
	case known && !readable:
		if l.hidden == hiddenDenied {
			return nil, nil
		}
		return l.hiddenImage(ctx, hiddenDenied), nil
	case !known: // a frame is loading
		if err := l.wait(ctx, changed, nil); err != nil {
			return nil, err
		}
		return nil, l.restart(ctx, frame)
	case !same:
		return nil, l.restart(ctx, frame)
	}
	if frame.Metadata == nil {
		return nil, executor.Errorf(executor.ErrInternal, "", "an image of the live view has no size")
	}
	if l.hidden == "" && bytes.Equal(frame.Data, l.shown) {
		return nil, nil
	}
	l.hidden, l.shown = "", frame.Data
	image := &executor.LiveImage{JPEG: frame.Data, Width: frame.Metadata.DeviceWidth, Height: frame.Metadata.DeviceHeight}
	if d := l.opts.Dialogs.Open(); d != nil && d == l.dialog { // the frame was sent before the dialog opened
		image.Dialog = l.readableDialog(ctx)
	}
	return image, nil
}

// flush waits until the events about documents that the browser has already sent have arrived: each
// renderer responds to a command after them. If that takes too long, flush returns the reason, and
// the next call continues to wait.
func (l *View) flush(ctx context.Context) (hidden string, err error) {
	if l.flushed == nil {
		done := make(chan struct{})
		l.flushed = done
		sessions := l.tree.Sessions()
		l.opts.Go(func() {
			defer close(done)
			for _, s := range sessions {
				if p, err := s.Start(context.Background(), cdppage.CommandGetFrameTree, nil); err == nil {
					_ = p.Wait(context.Background(), nil)
				}
			}
		})
	}
	limit := time.NewTimer(l.tree.Timing().LiveView)
	defer limit.Stop()
	late := l.hidden == hiddenHung || l.hidden == hiddenDialog
	for {
		changed := l.tree.Changes.Changed()
		switch dialog := l.opts.Dialogs.Open(); {
		case dialog != nil && dialog != l.dialog:
			l.dialog = dialog
			return hiddenDialog, nil
		case late && dialog == nil && l.hidden != hiddenHung:
			return hiddenHung, nil
		}
		select {
		case <-l.flushed:
			l.flushed = nil
			return "", nil
		case <-limit.C:
			late = true
		case <-changed: // the change may be a dialog
		case <-l.ended:
			return "", l.endedError()
		case <-l.tree.Session().Gone():
			return "", l.endedError()
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// HandedOver reports whether the tab is handed over.
func (l *View) HandedOver() (handedOver bool, changed <-chan struct{}) {
	changed = l.tree.Changes.Changed()
	return l.opts.HandedOver(), changed
}

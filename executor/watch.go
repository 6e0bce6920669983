package executor

import "context"

// A Watcher shows the user the tabs of an Executor. The Executors of this module implement it; see
// [AsWatcher]. Its methods start no browser, do not wait for the calls of the client, and do not
// affect them. They are safe for concurrent use.
type Watcher interface {
	// WatchTabs returns the tabs of the client in all of its browsers, as Tabs does. A page that does
	// not return its title before ctx is done has none.
	WatchTabs(ctx context.Context) []Tab
	// Watch opens a live view of a tab, which ends the tab's other live view. It returns
	// ErrTabNotFound or ErrStaleTab for a tab that is not open, and ErrBadArgs for a tab of the
	// user's Chrome, where the user sees it anyway.
	Watch(ctx context.Context, tab TabID) (LiveView, error)
}

// A LiveView shows the user the changing images of a tab and passes the user's input on. While the
// [Gate] denies a document of the tab, it shows no image and passes no input on. Its methods are
// safe for concurrent use, but only one goroutine may call Next.
type LiveView interface {
	// Next waits for the next image. The browser sends it when Next is called, so a slow client
	// receives fewer images. It returns ErrTargetGone when the tab is closed, or another live view has
	// replaced this one.
	Next(ctx context.Context) (*LiveImage, error)
	// HandedOver reports whether the tab is handed over to the user, itself or as a tab of the same
	// opener group, and returns a channel that is closed when that may have changed.
	HandedOver() (handedOver bool, changed <-chan struct{})
	// Input sends one event of the mouse or the keyboard. It returns ErrBadArgs unless the tab is
	// handed over, and ErrDialogOpen if a dialog is open that in does not answer. The policy that
	// limits what the client may do does not apply to the user.
	Input(ctx context.Context, in LiveInput) error
	// Close ends the live view. It may be called more than once.
	Close()
}

// A LiveImage is an image of a tab.
type LiveImage struct {
	JPEG   []byte  // nil while there is nothing to show
	Width  float64 // of the viewport, in CSS pixels
	Height float64
	Hidden string // why there is nothing to show
	// Dialog is the open dialog that blocks the page, or nil. If its document is denied, it has only a
	// type.
	Dialog *Dialog
}

// A LiveInputType is the type of a LiveInput.
type LiveInputType string

// The types of input.
const (
	LiveMouseMove LiveInputType = "move"
	LiveMouseDown LiveInputType = "down"
	LiveMouseUp   LiveInputType = "up"
	LiveWheel     LiveInputType = "wheel"
	LiveKeyDown   LiveInputType = "keydown"
	LiveKeyUp     LiveInputType = "keyup"
	LiveText      LiveInputType = "text"   // text that no key press types, such as that of an input method
	LiveDialog    LiveInputType = "dialog" // the answer to the open dialog
)

// A LiveInput is one event of the mouse or the keyboard of the user, or the answer to a dialog.
type LiveInput struct {
	Type      LiveInputType `json:"type"`
	X         float64       `json:"x"` // in CSS pixels of the viewport, as is Y
	Y         float64       `json:"y"`
	DeltaX    float64       `json:"deltaX"` // of LiveWheel, as is DeltaY
	DeltaY    float64       `json:"deltaY"`
	Button    Button        `json:"button"`    // the one that changed; empty for none
	Buttons   int           `json:"buttons"`   // those that are pressed, as in MouseEvent.buttons
	Clicks    int           `json:"clicks"`    // as in UIEvent.detail
	Modifiers int           `json:"modifiers"` // 1 Alt, 2 Control, 4 Meta, 8 Shift
	Key       string        `json:"key"`       // as in KeyboardEvent.key
	Code      string        `json:"code"`      // as in KeyboardEvent.code
	KeyCode   int           `json:"keyCode"`   // as in KeyboardEvent.keyCode
	Text      string        `json:"text"`      // of LiveKeyDown, LiveText, or an accepted prompt dialog
	Repeat    bool          `json:"repeat"`    // whether the key is held
	Accept    bool          `json:"accept"`    // of LiveDialog
}

// AsWatcher returns ex as a Watcher. If ex does not implement it, the result has no tabs and no
// live view.
func AsWatcher(ex Executor) Watcher {
	if w, ok := ex.(Watcher); ok {
		return w
	}
	return noWatcher{}
}

type noWatcher struct{}

func (noWatcher) WatchTabs(context.Context) []Tab { return nil }

func (noWatcher) Watch(_ context.Context, tab TabID) (LiveView, error) {
	return nil, Wrap("watch", tab, Errorf(ErrBadArgs, "", "the backend has no live view"))
}

// WatchTabs returns the tabs of both backends, those of the backend of the last call first.
func (m *Manager) WatchTabs(ctx context.Context) []Tab {
	var all []Tab
	for _, w := range m.watchers() {
		all = append(all, w.WatchTabs(ctx)...)
	}
	return all
}

// Watch opens a live view on the backend of the tab.
func (m *Manager) Watch(ctx context.Context, tab TabID) (LiveView, error) {
	if _, _, _, err := tab.Split(); err != nil {
		return nil, Wrap("watch", tab, err)
	}
	m.mu.Lock()
	var session Executor
	for _, c := range []*backendState{m.extension, m.cdp} {
		if c != nil && c.kind == BackendOf(tab) {
			session = c.session
		}
	}
	m.mu.Unlock()
	if session == nil {
		return nil, Wrap("watch", tab, Errorf(ErrTabNotFound, "", "tab %s not found", tab))
	}
	return AsWatcher(session).Watch(ctx, tab)
}

// watchers returns the open sessions, that of the last call first.
func (m *Manager) watchers() (all []Watcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	states := []*backendState{m.extension, m.cdp}
	if m.used == m.cdp {
		states[0], states[1] = states[1], states[0]
	}
	for _, c := range states {
		if c != nil && c.session != nil {
			all = append(all, AsWatcher(c.session))
		}
	}
	return all
}

var _ Watcher = (*Manager)(nil)

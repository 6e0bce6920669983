package executor

import "context"

// Emulator is the part of an [Executor] that shows the pages of a tab another
// viewport, device or network than the browser's own. What it sets is the
// tab's, for all its documents, until it is taken back, the session that set it
// closes or the tab is let go. The browser's window stays as it is, and so do
// other tabs, popups of this one included.
type Emulator interface {
	// Resize gives the viewport of tab a size, and tells which it has then.
	// ErrBadArgs is a size out of bounds.
	Resize(ctx context.Context, tab TabID, opts ResizeOptions) (*Viewport, error)
	// Emulate changes what is emulated in tab by what opts names, and tells
	// all that is then. When it fails, all is as before. ErrBadArgs is a value
	// that is unknown, and what cannot be emulated for one tab alone in the
	// user's own Chrome: a locale, a timezone and a slower processor.
	Emulate(ctx context.Context, tab TabID, opts EmulateOptions) (*Emulation, error)
}

// The bounds of a viewport's width and height, in CSS pixels.
const (
	MinViewport = 100
	MaxViewport = 5000
)

// ResizeOptions are the options of [Emulator.Resize].
type ResizeOptions struct {
	Width, Height int  // in CSS pixels
	Reset         bool // instead: as the window, or the emulated device, has it
}

// A Viewport is the part of a page that is seen, in CSS pixels. That of a
// phone may be larger than its screen: for pages that are not made for phones
// it is zoomed out.
type Viewport struct {
	Width  int     `json:"width"`
	Height int     `json:"height"`
	Scale  float64 `json:"scale"` // pixels of the device for one of CSS
}

// A Device is a kind of device that a page is shown as it would be on.
type Device string

// The devices. Phone and tablet are of Android: with their screen, their
// pixels, touch and the browser's name for itself.
const (
	DeviceDesktop Device = "desktop" // the browser itself
	DevicePhone   Device = "phone"   // 412 × 915
	DeviceTablet  Device = "tablet"  // 800 × 1280
)

// A ColorScheme is what pages are told that their user prefers.
type ColorScheme string

// The colour schemes.
const (
	SchemeLight ColorScheme = "light"
	SchemeDark  ColorScheme = "dark"
)

// A MediaType is what pages are shown on.
type MediaType string

// The media types.
const (
	MediaScreen MediaType = "screen"
	MediaPrint  MediaType = "print"
)

// A NetworkSpeed is how good a tab's connection is at best.
type NetworkSpeed string

// The speeds: those by which the browser's own developer tools are known.
const (
	NetworkOnline  NetworkSpeed = "online" // the computer's own
	NetworkOffline NetworkSpeed = "offline"
	NetworkSlow3G  NetworkSpeed = "slow3g"
	NetworkFast3G  NetworkSpeed = "fast3g"
	NetworkFast4G  NetworkSpeed = "fast4g"
)

// MaxSlowdown bounds how much slower a processor is emulated.
const MaxSlowdown = 20

// EmulateOptions are the options of [Emulator.Emulate]. What is zero stays as
// it is.
type EmulateOptions struct {
	Reset bool // take back first all that Emulate set; a size of Resize stays

	Device        Device
	ColorScheme   ColorScheme
	ReducedMotion *bool
	Media         MediaType
	Locale        string // such as "nb-NO", of the language that pages are asked for too
	Timezone      string // such as "Asia/Tokyo"
	Network       NetworkSpeed
	Slowdown      float64 // of the processor, from 1, which is none, to MaxSlowdown
}

// An Emulation is all that is emulated in a tab. What is empty is the
// browser's own.
type Emulation struct {
	Device        Device       `json:"device,omitempty"`
	ColorScheme   ColorScheme  `json:"colorScheme,omitempty"`
	ReducedMotion *bool        `json:"reducedMotion,omitempty"`
	Media         MediaType    `json:"media,omitempty"`
	Locale        string       `json:"locale,omitempty"`
	Timezone      string       `json:"timezone,omitempty"`
	Network       NetworkSpeed `json:"network,omitempty"`
	Slowdown      float64      `json:"cpu,omitempty"`
	Viewport      Viewport     `json:"viewport"`
}

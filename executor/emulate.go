package executor

import "context"

// Emulator is the part of a [Page] that emulates another viewport, device or network for the
// pages of a tab. The settings apply to all documents of the tab until they are reset, the session
// that set them closes, or the tab is released. The browser window does not change, and neither do
// other tabs, including popup windows of this tab.
type Emulator interface {
	// Resize sets the viewport size of the tab, and returns the resulting viewport. It returns
	// ErrBadArgs for a size that is missing or out of range.
	Resize(ctx context.Context, opts *ResizeOptions) (*Viewport, error)
	// Emulate changes the settings that opts sets, none if opts is nil, and returns all settings. If
	// it fails, no setting has changed. It returns ErrBadArgs for an unknown value, and in the user's
	// Chrome for settings that cannot be emulated for a single tab: locale, timezone and CPU throttling.
	Emulate(ctx context.Context, opts *EmulateOptions) (*Emulation, error)
}

// The range of a viewport's width and height, in CSS pixels.
const (
	MinViewport = 100
	MaxViewport = 5000
)

// ResizeOptions are the options of [Emulator.Resize].
type ResizeOptions struct {
	Width, Height int  // in CSS pixels
	Reset         bool // use the size of the window or of the emulated device instead
}

// A Viewport is the visible part of a page, in CSS pixels. The viewport of a phone may be larger
// than its screen, because pages that are not made for phones are zoomed out.
type Viewport struct {
	Width  int     `json:"width"`
	Height int     `json:"height"`
	Scale  float64 `json:"scale"` // device pixels per CSS pixel
}

// A Device is an emulated kind of device.
type Device string

// The devices. Phone and tablet are Android devices, with their screen size, device scale factor,
// touch input and user agent.
const (
	DeviceDesktop Device = "desktop" // no emulation
	DevicePhone   Device = "phone"   // 412 × 915
	DeviceTablet  Device = "tablet"  // 800 × 1280
)

// A ColorScheme is the emulated prefers-color-scheme value.
type ColorScheme string

// The color schemes.
const (
	SchemeLight ColorScheme = "light"
	SchemeDark  ColorScheme = "dark"
)

// A MediaType is the emulated CSS media type.
type MediaType string

// The media types.
const (
	MediaScreen MediaType = "screen"
	MediaPrint  MediaType = "print"
)

// NetworkConditions are the emulated network conditions of a tab: an upper bound of its connection.
type NetworkConditions string

// The network conditions, with the names of Chrome's developer tools.
const (
	NetworkOnline  NetworkConditions = "online" // no emulation
	NetworkOffline NetworkConditions = "offline"
	NetworkSlow3G  NetworkConditions = "slow3g"
	NetworkFast3G  NetworkConditions = "fast3g"
	NetworkFast4G  NetworkConditions = "fast4g"
)

// MaxCPUThrottling is the maximum of EmulateOptions.CPUThrottling.
const MaxCPUThrottling = 20

// EmulateOptions are the options of [Emulator.Emulate]. Zero fields do not change the setting.
type EmulateOptions struct {
	Reset bool // first undo all that Emulate set; a size set by Resize stays

	Device        Device
	ColorScheme   ColorScheme
	ReducedMotion *bool
	Media         MediaType
	Locale        string // such as "nb-NO"; also sets the language that pages are requested in
	Timezone      string // such as "Asia/Tokyo"
	Network       NetworkConditions
	CPUThrottling float64 // slowdown factor of the CPU, from 1 (no throttling) to MaxCPUThrottling
	UserAgent     string  // replaces that of the device; no client hints are sent with it
	Geolocation   *Geolocation
	// Permissions are granted to the origin of the tab's document, in all tabs of the session.
	// PermissionGeolocation needs a Geolocation, so that no real position is revealed. In the
	// user's Chrome, Emulate returns ErrBadArgs: only the user grants permissions there.
	Permissions []PagePermission
	// Headers maps origins, such as "https://example.com", to additional headers of the requests
	// that pages of the tab send to them. It replaces the headers of these origins; an empty map
	// removes them. The gate must allow navigation to the origins. A redirect to another origin
	// does not get the headers, and neither do requests of service workers and WebSockets. In the
	// user's Chrome, Emulate returns ErrBadArgs.
	Headers map[string]map[string]string
}

// A Geolocation is the position that pages get.
type Geolocation struct {
	Latitude  float64 `json:"latitude"`  // -90 to 90
	Longitude float64 `json:"longitude"` // -180 to 180
	Accuracy  float64 `json:"accuracy"`  // in meters
}

// A PagePermission is a permission of a site in the browser.
type PagePermission string

// The permissions that can be granted. Those that give a page access to devices or files of the
// user, such as the camera and the clipboard, cannot.
const (
	PermissionGeolocation   PagePermission = "geolocation"
	PermissionNotifications PagePermission = "notifications"
)

// OriginHeaders are the names of the additional headers of requests to an origin.
type OriginHeaders struct {
	Origin string   `json:"origin"`
	Names  []string `json:"names"`
}

// A PageGrant is a permission that an origin has.
type PageGrant struct {
	Origin     string         `json:"origin"`
	Permission PagePermission `json:"permission"`
}

// An Emulation lists all settings that are emulated in a tab. An empty setting is not emulated.
type Emulation struct {
	Device        Device            `json:"device,omitempty"`
	ColorScheme   ColorScheme       `json:"colorScheme,omitempty"`
	ReducedMotion *bool             `json:"reducedMotion,omitempty"`
	Media         MediaType         `json:"media,omitempty"`
	Locale        string            `json:"locale,omitempty"`
	Timezone      string            `json:"timezone,omitempty"`
	Network       NetworkConditions `json:"network,omitempty"`
	CPUThrottling float64           `json:"cpu,omitempty"`
	UserAgent     string            `json:"userAgent,omitempty"`
	Geolocation   *Geolocation      `json:"geolocation,omitempty"`
	Permissions   []PageGrant       `json:"permissions,omitempty"`
	Headers       []OriginHeaders   `json:"headers,omitempty"`
	Viewport      Viewport          `json:"viewport"`
}

package executor

import (
	"context"
	"encoding/json"
	"time"
)

// Capturer is the part of a [Page] that takes screenshots and downloads files.
type Capturer interface {
	// Screenshot takes a screenshot of the viewport, the full page, one element or a part of the page.
	Screenshot(ctx context.Context, opts *ScreenshotOptions) (*Screenshot, error)
	// Download fetches a URL with the cookies of the tab's page, or clicks a target that starts a
	// download, and waits until the file is complete. A click may start several downloads; it then
	// waits for all. It returns ErrDownloadFailed if each was denied, interrupted or too large, and
	// ErrBadArgs unless opts has exactly one of a URL and a target.
	Download(ctx context.Context, opts *DownloadOptions) (*DownloadedFiles, error)
}

// An ImageFormat is the format of a screenshot.
type ImageFormat string

// The image formats. The zero value means FormatPNG.
const (
	FormatPNG  ImageFormat = "png"
	FormatJPEG ImageFormat = "jpeg"
	FormatWebP ImageFormat = "webp"
)

// The maximum size of a screenshot of a full page, an element or a clip, in CSS pixels. The width is
// limited first, then the height, so that a wide screenshot is cut at the bottom. In FormatWebP the
// width and the height are at most 16,383.
const (
	MaxScreenshotWidth  = 16_384
	MaxScreenshotHeight = 16_384
	MaxScreenshotArea   = 25_000_000
)

// A Clip is a part of a page: a rectangle in CSS pixels, relative to the upper left corner of the page,
// however far it is scrolled. Its JSON form is the array [x, y, width, height].
type Clip struct{ X, Y, Width, Height float64 }

// MarshalJSON implements json.Marshaler.
func (c Clip) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]float64{c.X, c.Y, c.Width, c.Height})
}

// ScreenshotOptions are the options of [Capturer.Screenshot]. Target excludes FullPage and Clip.
type ScreenshotOptions struct {
	Target   Target
	FullPage bool
	// Clip is the part of the page that the image shows. What is outside the page is omitted. Nil means
	// the viewport, or what FullPage and Target say.
	Clip *Clip
	// Format is the format of the image. FormatWebP is ErrBadArgs with Labels, for a page with browser
	// zoom, and if parts of the page must be hidden: denied frames, or fields with secrets.
	Format ImageFormat
	// Quality is 1 to 100, for FormatJPEG and FormatWebP. 0 means 80.
	Quality int
	// MaxWidth scales the image down, never up, so that it has at most this width in pixels. 0 means
	// no limit.
	MaxWidth int
	// MaxHeight cuts the image at the bottom, so that it has at most this height in pixels. 0 means no
	// limit.
	MaxHeight int
	Labels    bool // draw each visible ref on its element
}

// A Screenshot is an encoded image. Width and Height are in pixels of the image, which are CSS
// pixels, for every device scale factor, unless MaxWidth scaled it down.
type Screenshot struct {
	Data       []byte `json:"-"`
	MIMEType   string `json:"mimeType"`
	Width      int    `json:"width"`
	Height     int    `json:"height"`
	Truncated  bool   `json:"truncated"`
	FullHeight int    `json:"fullHeight,omitempty"` // of the complete page or element at the same scale, if Truncated
	// NextClip is what is below the image, if it was cut there. A screenshot with this Clip, and the same
	// MaxWidth, shows it or the next part of it.
	NextClip *Clip   `json:"nextClip,omitempty"`
	Scale    float64 `json:"scale,omitempty"` // pixels of the image per CSS pixel, if MaxWidth scaled it down
	Note     string  `json:"note,omitempty"`  // as in [Snapshot]
}

// DownloadOptions are the options of [Capturer.Download]. Exactly one of URL and Target must be
// set.
type DownloadOptions struct {
	URL           string
	Target        Target
	SuggestedName string        // file name; invalid characters are replaced
	Timeout       time.Duration // default DefaultDownloadTimeout
}

// DefaultMaxDownloadBytes is the default maximum size of one download.
const DefaultMaxDownloadBytes = 100 << 20

// DefaultDownloadTimeout is the default of DownloadOptions.Timeout.
const DefaultDownloadTimeout = 60 * time.Second

// A Download is a downloaded file or, in Changes, a download that started.
type Download struct {
	Path          string      `json:"path,omitempty"` // empty while the download is running
	Backend       BackendKind `json:"backend"`
	Bytes         int64       `json:"bytes"`
	MIMEType      string      `json:"mimeType,omitempty"`
	SuggestedName string      `json:"suggestedName,omitempty"`
	State         string      `json:"state,omitempty"`  // in Changes: "running", "completed" or "canceled"
	Reason        string      `json:"reason,omitempty"` // why it was canceled
}

// DownloadedFiles is the result of [Capturer.Download]: the first file that was saved and the other
// downloads that the click started, with their states.
type DownloadedFiles struct {
	Path          string      `json:"path"`
	Backend       BackendKind `json:"backend"`
	Bytes         int64       `json:"bytes"`
	MIMEType      string      `json:"mimeType,omitempty"`
	SuggestedName string      `json:"suggestedName,omitempty"`
	Others        []Download  `json:"others,omitempty"`
	More          int         `json:"more,omitempty"` // number of other downloads that are not in Others
}

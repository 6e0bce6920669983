package executor

import (
	"context"
	"time"
)

// Capturer is the part of a [Page] that takes screenshots and downloads files.
type Capturer interface {
	// Screenshot takes a screenshot of the viewport, the full page or one element.
	Screenshot(ctx context.Context, opts *ScreenshotOptions) (*Screenshot, error)
	// Download fetches a URL with the cookies of the tab's page, or clicks a target that starts a
	// download, and waits until the file is complete. It returns ErrDownloadFailed if the download
	// was denied, interrupted or too large.
	Download(ctx context.Context, opts DownloadOptions) (*Download, error)
}

// An ImageFormat is the format of a screenshot.
type ImageFormat string

// The image formats. The zero value means FormatPNG.
const (
	FormatPNG  ImageFormat = "png"
	FormatJPEG ImageFormat = "jpeg"
)

// The maximum size of a screenshot of a full page or an element, in CSS pixels. The width is
// limited first, then the height, so that a wide screenshot is cut at the bottom.
const (
	MaxScreenshotWidth  = 16_384
	MaxScreenshotHeight = 16_384
	MaxScreenshotArea   = 25_000_000
)

// ScreenshotOptions are the options of [Capturer.Screenshot]. Target and FullPage exclude each
// other.
type ScreenshotOptions struct {
	Target   Target
	FullPage bool
	Format   ImageFormat
	Quality  int  // 1 to 100, for FormatJPEG; 0 means 80
	Labels   bool // draw each visible ref on its element
}

// A Screenshot is an encoded image. Width and Height are in CSS pixels. The image has the same size
// in its own pixels, for every device scale factor.
type Screenshot struct {
	Data       []byte `json:"-"`
	MIMEType   string `json:"mimeType"`
	Width      int    `json:"width"`
	Height     int    `json:"height"`
	Truncated  bool   `json:"truncated"`
	FullHeight int    `json:"fullHeight,omitempty"` // of the page or the element, if Truncated
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

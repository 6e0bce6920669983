package executor

import (
	"context"
	"time"
)

// Capturer is the part of an [Executor] that makes files of pages.
type Capturer interface {
	// Screenshot takes a picture of the viewport, the whole page or one
	// element.
	Screenshot(ctx context.Context, tab TabID, opts *ScreenshotOptions) (*Screenshot, error)
	// Download fetches a URL with the tab's session, or clicks a target that
	// starts a download, and waits until the file is complete. It returns
	// ErrDownloadFailed when it was refused, interrupted or too large.
	Download(ctx context.Context, tab TabID, opts DownloadOptions) (*Download, error)
}

// An ImageFormat is the format of a screenshot.
type ImageFormat string

// The image formats. The zero value means FormatPNG.
const (
	FormatPNG  ImageFormat = "png"
	FormatJPEG ImageFormat = "jpeg"
)

// The largest screenshot of a whole page or an element, in CSS pixels. Its
// width is bounded first, then its height, so that what is very wide is cut
// below.
const (
	MaxScreenshotWidth  = 16_384
	MaxScreenshotHeight = 16_384
	MaxScreenshotArea   = 25_000_000
)

// ScreenshotOptions are the options of [Capturer.Screenshot]. Target and
// FullPage exclude each other.
type ScreenshotOptions struct {
	Target   Target
	FullPage bool
	Format   ImageFormat
	Quality  int  // 1 to 100, for FormatJPEG; 0 means 80
	Labels   bool // draw each visible ref on its element
}

// A Screenshot is a picture. Width and Height are in CSS pixels, which are
// its pixels too, whatever the device's scale.
type Screenshot struct {
	Data       []byte `json:"-"`
	MIMEType   string `json:"mimeType"`
	Width      int    `json:"width"`
	Height     int    `json:"height"`
	Truncated  bool   `json:"truncated"`
	FullHeight int    `json:"fullHeight,omitempty"` // of the page or the element, when Truncated
}

// DownloadOptions say what [Capturer.Download] fetches: exactly one of URL
// and Target.
type DownloadOptions struct {
	URL           string
	Target        Target
	SuggestedName string        // for the file; cleaned
	Timeout       time.Duration // default DefaultDownloadTimeout
}

// DefaultDownloadTimeout bounds a download when its options do not.
const DefaultDownloadTimeout = 60 * time.Second

// A Download is a file that was downloaded, or, in Changes, one that began.
type Download struct {
	Path          string      `json:"path,omitempty"` // empty while it runs
	Backend       BackendKind `json:"backend"`
	Bytes         int64       `json:"bytes"`
	MIMEType      string      `json:"mimeType,omitempty"`
	SuggestedName string      `json:"suggestedName,omitempty"`
	State         string      `json:"state,omitempty"`  // in Changes: "running", "completed" or "canceled"
	Reason        string      `json:"reason,omitempty"` // why it was canceled
}

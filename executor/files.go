package executor

import "context"

// Files is the part of a [Page] that uploads files and saves pages as PDF. See also
// [Capturer.Download].
type Files interface {
	// Upload sets the files of a file input, or of the file input whose file chooser opens when the
	// target is clicked. If the target listens for drops or opens no file chooser, Upload drops the
	// files on it. paths name files in SessionOptions.UploadsDir: relative to it, or absolute
	// and inside it. The files are read before the page is changed. The page receives the contents
	// that were read, as File objects with their names, types and dates, with the events input and
	// change, or those of a drag, which are not trusted.
	//
	// It returns ErrBadArgs for a file that is missing or too large and for files that the input
	// does not accept, ErrPolicyDenied for a path outside the directory, and ErrNotActionable if the
	// target is not at its action point, or if it opens no file chooser and accepts no drop.
	Upload(ctx context.Context, target Target, paths []string, opts *ActionOptions) (*Upload, error)
	// SavePDF prints the tab's page to a PDF file in the download directory. It returns
	// ErrPolicyDenied if the page has a frame that may not be read, and ErrDownloadFailed if the
	// file cannot be saved.
	SavePDF(ctx context.Context, opts *PDFOptions) (*PDF, error)
}

// The limits of one [Files.Upload].
const (
	MaxUploadFiles = 20
	MaxUploadBytes = 32 << 20 // of all files together
)

// An Upload is the result of [Files.Upload].
type Upload struct {
	Files []UploadedFile `json:"files"`
	Changes
}

// An UploadedFile is a file that a page received.
type UploadedFile struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	MIMEType string `json:"mimeType,omitempty"` // by the file name extension; empty if unknown
}

// PDFOptions are the options of [Files.SavePDF].
type PDFOptions struct {
	Landscape  bool
	Background bool   // print background colors and images
	Name       string // file name; invalid characters are replaced; default the page's title
}

// A PDF is the result of [Files.SavePDF].
type PDF struct {
	Path    string      `json:"path"`
	Backend BackendKind `json:"backend"`
	Bytes   int64       `json:"bytes"`
	Pages   int         `json:"pages,omitempty"` // 0 if unknown
}

// A FileUsage counts files that sessions save, so that a limit applies to all of them together. Its
// methods must be safe for concurrent use.
type FileUsage interface {
	// Reserve reserves space for files that are about to be written, or for more bytes of one. It returns
	// false, and reserves nothing, if all files together, with those that are being written, would exceed
	// maxBytes or maxFiles. To reserve nothing reports whether the files are within the limits.
	Reserve(bytes int64, files int, maxBytes int64, maxFiles int) bool
	// Release ends a reservation. keptBytes and keptFiles are those of it that were saved.
	Release(bytes int64, files int, keptBytes int64, keptFiles int)
	// Used returns the total of the files that were saved and of the reservations.
	Used() (bytes int64, files int)
}

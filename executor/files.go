package executor

import "context"

// Files is the part of an [Executor] that moves files between pages and this
// machine, beside [Capturer.Download].
type Files interface {
	// Upload gives files to a file input, or to the one whose chooser opens
	// when the target is clicked. paths name files in
	// SessionOptions.UploadsDir: relative to it, or absolute and inside it.
	// They are read before anything is done to the page, and what was read is
	// what the page gets, as File objects with their names, types and dates;
	// the events input and change follow, which are not trusted ones.
	//
	// It returns ErrBadArgs for a file that is missing or too large and for
	// files that the input does not take, ErrPolicyDenied for a path that
	// leads out of the folder, ErrNotActionable when a click opened no chooser.
	Upload(ctx context.Context, tab TabID, target Target, paths []string, opts *ActionOptions) (*Upload, error)
	// SavePDF prints the tab's page into a PDF file in the folder of
	// downloads. It returns ErrPolicyDenied when the page has a frame that may
	// not be read, and ErrDownloadFailed when the file cannot be kept.
	SavePDF(ctx context.Context, tab TabID, opts *PDFOptions) (*PDF, error)
}

// The bounds of one [Files.Upload].
const (
	MaxUploadFiles = 20
	MaxUploadBytes = 32 << 20 // of all its files together
)

// An Upload is what [Files.Upload] returns.
type Upload struct {
	Files []UploadedFile `json:"files"`
	Changes
}

// An UploadedFile is a file that a page was given.
type UploadedFile struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	MIMEType string `json:"mimeType,omitempty"` // by its extension; empty when that tells nothing
}

// PDFOptions are the options of [Files.SavePDF].
type PDFOptions struct {
	Landscape  bool
	Background bool   // print background colours and pictures
	Name       string // of the file; cleaned; default the page's title
}

// A PDF is a page that was saved.
type PDF struct {
	Path    string      `json:"path"`
	Backend BackendKind `json:"backend"`
	Bytes   int64       `json:"bytes"`
	Pages   int         `json:"pages,omitempty"` // 0 when it is not known
}

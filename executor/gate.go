package executor

import "context"

// A Gate decides on every document that a session touches, at the moment it
// touches it. policy.Guard is one. A nil Gate denies everything.
//
// Check must be safe for concurrent use and quick: it is on the hot path. It
// returns nil to allow, else an error that is ErrPolicyDenied or
// ErrConsentRequired.
type Gate interface {
	Check(ctx context.Context, access Access) error
}

// An Operation is what a call is about to do to a document.
type Operation string

// The operations.
const (
	OpList     Operation = "list"     // tell that the tab is there, with URL and title
	OpRead     Operation = "read"     // read from the document
	OpNavigate Operation = "navigate" // leave the document, for Destination when it is known
	OpAct      Operation = "act"      // send it input
	OpDismiss  Operation = "dismiss"  // dismiss its dialog, or close its tab
	OpEval     Operation = "eval"     // run the caller's JavaScript in it
	OpDownload Operation = "download" // download Destination with its session
	OpUpload   Operation = "upload"   // give it files of this machine
	OpStorage  Operation = "storage"  // read or change what its site keeps, for the domain of Destination when that is another than its own
	OpState    Operation = "state"    // keep or bring back what its site keeps, or the site of Destination when that is set
	OpCDP      Operation = "cdp"      // send it a raw protocol command
)

// OriginOpaque is the effective origin of a document that has none: data:,
// sandboxed frames, blob: URLs of those.
const OriginOpaque = "null"

// OriginOurs is the effective origin of a blank page that a session opened
// itself and that has loaded nothing yet, and of the browser's own error page,
// whose URL is that of the page which did not load.
const OriginOurs = ""

// An Access is one question to a [Gate].
type Access struct {
	Tab      TabID
	Frame    string // the protocol's frame id; empty for the top frame
	Document string // the protocol's loader id
	URL      string // of the document, as the browser serialises it
	// Origin is the effective origin of the document, from the browser's own
	// word, never the page's: "https://example.com", OriginOpaque or
	// OriginOurs. about:srcdoc and a child's about:blank have their parent's,
	// blob: its inner origin, a top about:blank its opener's.
	Origin      string
	Op          Operation
	Destination string // for OpNavigate and OpDownload: where to; may be empty for OpNavigate. For OpStorage and OpState see there
	// OwnTab is set for a tab that a session opened itself: leaving it for an
	// allowed place, or closing it, is harmless whatever it shows.
	OwnTab bool
}

// GateFunc makes a Gate of a func.
type GateFunc func(ctx context.Context, access Access) error

// Check calls f.
func (f GateFunc) Check(ctx context.Context, access Access) error { return f(ctx, access) }

// AllowAll is a Gate that allows everything: for tests and for programs whose
// pages and callers are their own.
var AllowAll Gate = GateFunc(func(context.Context, Access) error { return nil })

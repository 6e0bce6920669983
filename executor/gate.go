package executor

import (
	"context"
	"net/netip"
)

// A Gate decides on each document access of a session, at the time of the access. policy.Guard
// implements it. A nil Gate denies everything.
//
// Check must be safe for concurrent use and fast, because it is called often. It returns nil to
// allow the access, and otherwise an error that is ErrPolicyDenied or ErrConsentRequired.
type Gate interface {
	Check(ctx context.Context, access Access) error
}

// An Operation is what a call is about to do to a document.
type Operation string

// The operations.
const (
	OpList     Operation = "list"     // list the tab with URL and title
	OpRead     Operation = "read"     // read from the document
	OpNavigate Operation = "navigate" // navigate away from the document, to Destination if it is known
	OpAct      Operation = "act"      // send input to the document
	OpDismiss  Operation = "dismiss"  // dismiss its dialog, or close its tab
	OpEval     Operation = "eval"     // run the caller's JavaScript in it
	OpDownload Operation = "download" // download Destination with the cookies of the document
	OpUpload   Operation = "upload"   // give files of this machine to the document
	OpStorage  Operation = "storage"  // read or change the cookies and web storage of the document's site, or of the domain in Destination if that is different
	OpState    Operation = "state"    // save or restore the cookies and web storage of the document's site, or of the site in Destination if that is set
	OpCDP      Operation = "cdp"      // send a raw CDP command to the document
	// OpClipboard is input to the document that copies, cuts or pastes in a browser with the user's
	// clipboard. It is in addition to OpAct.
	OpClipboard Operation = "clipboard"
	// OpLoad is a request of a page for Destination, which is not the document of a tab. Network
	// enforcement decides on such requests; a gate is asked whether it was the policy that blocked one.
	OpLoad Operation = "load"
)

// OriginOpaque is the effective origin of a document with an opaque origin: a data: URL, a
// sandboxed frame, or a blob: URL of one of these.
const OriginOpaque = "null"

// OriginInternal is the effective origin of a blank page that a session opened and that has loaded
// nothing yet, and of the browser's error page, whose URL is the URL that did not load.
const OriginInternal = ""

// An Access is a question to a [Gate]: may a session do Op with a document?
type Access struct {
	Tab      TabID
	Frame    string // CDP frame id; empty for the top frame
	Document string // CDP loader id
	URL      string // of the document, as the browser serializes it
	// Origin is the effective origin of the document: "https://example.com", OriginOpaque or
	// OriginInternal. The browser reports it, never the page. about:srcdoc and the about:blank of a
	// child frame have the origin of their parent, a blob: URL has its inner origin, and a
	// top-level about:blank has the origin of its opener.
	Origin      string
	Op          Operation
	Destination string // for OpNavigate (may be empty), OpDownload and OpLoad: the new URL; for OpStorage and OpState: see there
	// OpenedBySession is set for a tab that a session opened. Navigating it to an allowed URL, or
	// closing it, is harmless regardless of the page that it shows.
	OpenedBySession bool
	// ErrorPage is set for an error page of the browser, such as a certificate warning. No gate can
	// allow acting on it, see CheckErrorPage.
	ErrorPage bool
}

// CheckErrorPage returns ErrPolicyDenied if the access acts on an error page of the browser. Such a
// page can be left, and read unless the browser prevents that. Its buttons and keys accept a
// certificate or ignore another warning of the browser, which protects a person, so only a person may
// use them. Backends deny it regardless of the [Gate].
func (a Access) CheckErrorPage() error {
	switch a.Op {
	case OpList, OpRead, OpNavigate, OpDismiss, OpDownload, OpLoad:
		return nil
	}
	if !a.ErrorPage {
		return nil
	}
	e := Errorf(ErrPolicyDenied, "Load another URL with Page.Navigate, or ask the user to look at the tab.",
		"the tab shows an error page or a warning of the browser, and no call acts on it: if it is a warning, only a person can accept this")
	e.Rule = "error-page"
	return e
}

// GateFunc is a function that implements [Gate].
type GateFunc func(ctx context.Context, access Access) error

// Check calls f.
func (f GateFunc) Check(ctx context.Context, access Access) error { return f(ctx, access) }

// AllowAll is a Gate that allows everything. It is for tests, and for programs that trust their
// pages and callers.
var AllowAll Gate = GateFunc(func(context.Context, Access) error { return nil })

// A NetworkPolicy decides on the network connections of a browser, and of downloads by URL.
// policy.Policy implements it. Its methods must be safe for concurrent use. An error denies; its
// text is shown to the page or the caller that sent the request.
type NetworkPolicy interface {
	// CheckHost decides before host is resolved. scheme is "http", or empty for a tunnel, as https
	// and WebSockets use. An IPv6 host is in brackets.
	CheckHost(scheme, host string, port int) error
	// CheckPath checks the path of a request that CheckHost allowed, if the path is visible, as in
	// plain HTTP. path is as sent, without the query.
	CheckPath(scheme, host string, port int, path string) error
	// CheckAddr decides on each address of host, immediately before it is dialed.
	CheckAddr(host string, port int, addr netip.Addr) error
}

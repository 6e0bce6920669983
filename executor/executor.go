// Package executor defines the interface between programs that drive a browser and the backends
// that do it.
//
// An [Executor] drives one browser for one client. A [Page] is one of its tabs. Backends (packages
// executor/chromium and executor/extension) are shared: each client opens its own session on a
// backend, which is an Executor with its own active tab, refs and diffs. A [Manager] is also an
// Executor: it selects the backend.
//
// The package needs no other module: a program depends only on those of the backends that it uses.
package executor

import (
	"context"
	"time"
)

// An Executor drives one browser for one client. Its methods are safe for concurrent use.
//
// An empty [TabID] means the active tab of this client. Every error is, or wraps, an *[Error] with
// one of the codes of this package. The comment of a method lists the codes that are specific to
// it.
type Executor interface {
	Tabs       // list, select and open tabs; the page of a tab
	StateStore // save and load storage state
	Lifecycle  // ready, ping, status, close
}

// A Page is a tab of one client. Its methods are safe for concurrent use. Calls on one tab run one
// at a time, in the order they arrive; calls on different tabs run in parallel.
//
// A function that needs only a part of a Page should take a role, such as [Reader]. A method does not
// change or keep its options, which must not change during the call. A nil pointer to options means the
// defaults, unless the method says otherwise.
//
// Every method that has an error result may return ErrPolicyDenied, ErrNoBackend, ErrLaunchFailed,
// ErrTabNotFound, ErrStaleTab, ErrTargetGone, ErrDialogOpen or ErrTimeout.
type Page interface {
	// ID returns the id of the tab. It is empty for the page of the active tab.
	ID() TabID

	// Close closes the tab. A tab of the user that was only adopted is released instead, unless the
	// user allowed closing it. The result says which of the two happened.
	Close(ctx context.Context) (*ClosedTab, error)

	Navigator // navigate, back, forward, reload, wait
	Reader    // snapshot, text, HTML, markdown, links, evaluate
	Actor     // click, type, press, hover, scroll, select, fill, dialog
	Capturer  // screenshot, download
	Pointer   // drag, mouse
	Files     // upload, PDF
	Inspector // console, errors, requests
	Storage   // cookies, local and session storage
	Emulator  // viewport, device, network
	Handover  // hand the tab over to the user
	Protocol  // one raw protocol call
}

// Lifecycle is the part of an [Executor] that concerns the browser itself.
type Lifecycle interface {
	// Ready prepares the browser: it launches it, or attaches or connects to it, if necessary. It
	// returns immediately if the browser is ready. Every other method calls it automatically.
	Ready(ctx context.Context) error

	// Ping reports whether the browser answers before ctx is done. It never launches a browser: it
	// returns ErrNoBackend if none is running.
	Ping(ctx context.Context) error

	// Status returns the state of the backend, without starting anything. It never fails.
	Status(ctx context.Context) Status

	// Close closes this client's session. Tabs that the session opened are closed, and tabs that it
	// adopted are released. The backend stays open for its other clients. Close is idempotent.
	Close() error
}

// A BackendKind is a source of browsers.
type BackendKind string

// The kinds of backend.
const (
	BackendExtension BackendKind = "extension" // the user's Chrome, over the bridge
	BackendCDP       BackendKind = "cdp"       // a Chromium that chrome-mcp launches or attaches to
)

// Status is the result of [Lifecycle.Status].
type Status struct {
	Ready              bool          `json:"ready"`
	Backend            BackendKind   `json:"backend,omitempty"`
	ActiveTabID        TabID         `json:"activeTabId,omitempty"`
	Detail             string        `json:"detail,omitempty"` // why the browser is not ready, or other remarks
	ExtensionConnected bool          `json:"extensionConnected"`
	CDPAttached        bool          `json:"cdpAttached"`
	Displaced          bool          `json:"displaced,omitempty"`  // another connection replaced this one
	CDPClients         []CDPClient   `json:"cdpClients,omitempty"` // connected now; set by the program
	Browsers           []Browser     `json:"browsers,omitempty"`   // the named browsers
	FilesURL           string        `json:"filesUrl,omitempty"`   // where pages find the user's files; set by the program
	Policy             *PolicyStatus `json:"policy,omitempty"`     // set by policy.Guard
	Version            string        `json:"version,omitempty"`    // of chrome-mcp; set by the program
}

// A Browser describes a named browser, for [Status].
type Browser struct {
	Name   string `json:"name"`
	Type   string `json:"type"`             // "managed", "extension", "endpoint" or "browserless"
	Color  string `json:"color,omitempty"`  // by which the user distinguishes browsers, as #rrggbb
	Open   bool   `json:"open"`             // whether it is running and connected
	Detail string `json:"detail,omitempty"` // why it is not ready, or other remarks
}

// A CDPClient describes a connected CDP client, for [Status].
type CDPClient struct {
	Name  string    `json:"name"`  // as the client reports it
	Since time.Time `json:"since"` // when it connected
}

// PolicyStatus summarizes the policy in force, for [Status].
type PolicyStatus struct {
	AllowDomains []string `json:"allowDomains"`
	BlockDomains []string `json:"blockDomains,omitempty"`
	AllDomains   bool     `json:"allDomains,omitempty"`
	Mutations    bool     `json:"mutations"`
	Eval         bool     `json:"eval"`
	Downloads    bool     `json:"downloads"`
	Uploads      bool     `json:"uploads"`
	Clipboard    bool     `json:"-"`       // the user's clipboard, on all allowed sites
	Storage      bool     `json:"storage"` // values and changes of cookies and web storage
	State        bool     `json:"state"`   // state files
	Subresources string   `json:"subresources,omitempty"`
}

// Protocol is the part of a [Page] that covers what its other methods do not.
type Protocol interface {
	// CDP sends one Chrome DevTools Protocol command to the CDP session of the page, and returns
	// the raw result. params is marshaled with encoding/json; nil means no parameters.
	//
	// The [Gate] first checks OpCDP on the top document. It cannot see what the command does
	// then, which is why policy.Guard requires the eval grant. An error of the browser is ErrCDP.
	CDP(ctx context.Context, method string, params any) (RawJSON, error)
}

// RawJSON is an encoded JSON value.
type RawJSON []byte

// MarshalJSON returns r, or null if r is empty.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON stores a copy of data.
func (r *RawJSON) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

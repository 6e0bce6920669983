// Package executor is the contract between whatever drives a browser and
// whatever wants one driven.
//
// An [Executor] is one client's hold on one browser. Backends (package
// executor/chromium, executor/extension) are shared: each client asks a
// backend for a session of its own, which is an Executor with its own active
// tab, refs and diffs. A [Manager] is an Executor too: it picks the backend
// anew for every call.
//
// The package imports nothing but the standard library, so that an embedder
// pays only for the backends it names.
package executor

import "context"

// An Executor drives one browser for one client. Its methods are safe for
// concurrent use. Calls on one tab run one at a time, in the order they
// arrive; calls on different tabs run in parallel.
//
// An empty [TabID] means the active tab of this client. Every error is, or
// wraps, an *[Error] with one of the codes of this package; each method's
// comment names those that are particular to it. Any method that touches a
// page may also return ErrPolicyDenied, ErrNoBackend, ErrLaunchFailed,
// ErrTabNotFound, ErrStaleTab, ErrTargetGone, ErrDialogOpen or ErrTimeout.
type Executor interface {
	Tabs      // list, open, select, close
	Navigator // navigate, back, forward, reload, wait
	Reader    // snapshot, text, HTML, markdown, links, evaluate
	Actor     // click, type, press, hover, scroll, select, fill, dialog
	Capturer  // screenshot, download
	Pointer   // drag, mouse
	Files     // upload, PDF
	Inspector // console, errors, requests
	Storage   // cookies, local and session storage
	Emulator  // viewport, device, network
	States    // saving and loading all of it
	Protocol  // one raw protocol call
	Lifecycle // ready, ping, status, close
}

// Lifecycle is the part of an [Executor] that concerns the browser itself.
type Lifecycle interface {
	// Ready makes the browser usable: it launches, attaches or connects when
	// that has not happened yet, and returns at once when it has. Every other
	// method does so by itself.
	Ready(ctx context.Context) error

	// Ping reports whether the browser answers before ctx is done. It never
	// launches anything: a browser that is not there yields ErrNoBackend.
	Ping(ctx context.Context) error

	// Status tells what is there, without starting anything. It never fails.
	Status(ctx context.Context) Status

	// Close ends this client's session. Tabs that it opened are closed, tabs
	// that it adopted are let go, the backend stays for its other clients.
	// Close is idempotent.
	Close() error
}

// A BackendKind names where a browser comes from.
type BackendKind string

// The kinds of backend.
const (
	BackendExtension BackendKind = "extension" // the user's own Chrome, over the bridge
	BackendCDP       BackendKind = "cdp"       // a Chromium that is launched or attached to
)

// Status is what [Lifecycle.Status] tells.
type Status struct {
	Ready              bool          `json:"ready"`
	Backend            BackendKind   `json:"backend,omitempty"`
	ActiveTabID        TabID         `json:"activeTabId,omitempty"`
	Detail             string        `json:"detail,omitempty"` // why it is not ready, or what is worth knowing
	ExtensionConnected bool          `json:"extensionConnected"`
	CDPAttached        bool          `json:"cdpAttached"`
	Displaced          bool          `json:"displaced,omitempty"` // another connection took this one's place
	Policy             *PolicyStatus `json:"policy,omitempty"`    // filled in by policy.Guard
	Version            string        `json:"version,omitempty"`   // of chrome-mcp; filled in by the program
}

// PolicyStatus summarises the policy in force, for [Status].
type PolicyStatus struct {
	AllowDomains []string `json:"allowDomains"`
	BlockDomains []string `json:"blockDomains,omitempty"`
	AllDomains   bool     `json:"allDomains,omitempty"`
	Mutations    bool     `json:"mutations"`
	Eval         bool     `json:"eval"`
	Downloads    bool     `json:"downloads"`
	Uploads      bool     `json:"uploads"`
	Storage      bool     `json:"storage"` // values and changes of what sites keep
	State        bool     `json:"state"`   // state files
	Subresources string   `json:"subresources,omitempty"`
}

// Protocol is the escape hatch of an [Executor] for what its other methods
// do not cover.
type Protocol interface {
	// CDP sends one Chrome DevTools Protocol command to tab's page session
	// and returns the raw result. params is marshalled with encoding/json;
	// nil means none.
	//
	// The [Gate] is asked for OpCDP on the tab's top document first. What the
	// command then does is out of its sight, which is why policy.Guard wants
	// the eval grant for it. The browser's own error is ErrCDP.
	CDP(ctx context.Context, tab TabID, method string, params any) (RawJSON, error)
}

// RawJSON is one JSON value, not decoded.
type RawJSON []byte

// MarshalJSON returns r, or null when it is empty.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of data.
func (r *RawJSON) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

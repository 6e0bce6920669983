// Package errs defines the errors of an executor, and the identifiers that they contain. Package
// executor has an alias for each of them; use those. The packages that the backends are built from
// import errs, so that they do not depend on the interface that the backends implement.
package errs

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// A Code classifies a failure. It is an error itself, so that
//
//	errors.Is(err, errs.ErrPolicyDenied)
//
// works on every error of an executor. The same string is used on the wire and in
// results.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// The codes. docs/tools.md lists when a tool returns each of them.
const (
	ErrBadArgs               Code = "BAD_ARGS"               // missing, unknown, contradictory or ill-typed arguments
	ErrPolicyDenied          Code = "POLICY_DENIED"          // denied by the policy
	ErrConsentRequired       Code = "CONSENT_REQUIRED"       // the user has been prompted and has not answered yet
	ErrNoBackend             Code = "NO_BACKEND"             // neither an extension nor a Chromium is available
	ErrExtensionDisconnected Code = "EXTENSION_DISCONNECTED" // the extension disconnected during the call
	ErrLaunchFailed          Code = "LAUNCH_FAILED"          // Chromium did not start
	ErrTabNotFound           Code = "TAB_NOT_FOUND"          // no such tab
	ErrStaleTab              Code = "STALE_TAB"              // a tab of another backend or an earlier browser instance
	ErrTargetGone            Code = "TARGET_GONE"            // the tab closed or crashed during the call
	ErrSessionEnded          Code = "SESSION_ENDED"          // the session of a server ended before or during the call
	ErrSelectorNotFound      Code = "SELECTOR_NOT_FOUND"     // no element matches
	ErrRefExpired            Code = "REF_EXPIRED"            // the ref's element or its document is gone, or it is another thing
	ErrNotActionable         Code = "NOT_ACTIONABLE"         // found, but hidden, covered, moving, disabled or read-only
	ErrDialogOpen            Code = "DIALOG_OPEN"            // a JavaScript dialog blocks the page
	ErrTimeout               Code = "TIMEOUT"                // the deadline passed
	ErrNavigationFailed      Code = "NAVIGATION_FAILED"      // a network error, or an HTTP error without a body
	ErrEvalFailed            Code = "EVAL_FAILED"            // the expression could not be evaluated
	ErrDetached              Code = "DETACHED"               // the debugger was detached
	ErrDevToolsOpen          Code = "DEVTOOLS_OPEN"          // another debugger is attached to the tab
	ErrDownloadFailed        Code = "DOWNLOAD_FAILED"        // denied, interrupted or too large
	ErrBackpressure          Code = "BACKPRESSURE"           // a limit is exceeded: calls per minute or per tab, open tabs, bytes for the extension
	ErrUnknownMethod         Code = "UNKNOWN_METHOD"         // version skew between the two ends of the bridge
	ErrCDP                   Code = "CDP_ERROR"              // an error of the browser
	ErrInternal              Code = "INTERNAL"               // a bug in chrome-mcp
)

// Codes lists every code.
func Codes() []Code {
	return []Code{
		ErrBadArgs, ErrPolicyDenied, ErrConsentRequired, ErrNoBackend, ErrExtensionDisconnected,
		ErrLaunchFailed, ErrTabNotFound, ErrStaleTab, ErrTargetGone, ErrSessionEnded,
		ErrSelectorNotFound, ErrRefExpired, ErrNotActionable, ErrDialogOpen, ErrTimeout, ErrNavigationFailed,
		ErrEvalFailed, ErrDetached, ErrDevToolsOpen, ErrDownloadFailed, ErrBackpressure,
		ErrUnknownMethod, ErrCDP, ErrInternal,
	}
}

// An Error is the error of an executor when a call fails.
type Error struct {
	Op         string      // the operation, such as "click"; may be empty
	Tab        TabID       // the tab that the call was about; may be empty
	Code       Code        // the class of the error
	Err        error       // what happened, in lower case, without advice
	Hint       string      // what to do next, one or two full sentences; may be empty
	Rule       string      // with ErrPolicyDenied, the rule that denied, such as "block:example.com", for logs; may be empty
	Retryable  bool        // whether the same call may succeed later, and would do nothing twice
	Missing    *Permission // with ErrPolicyDenied, what the user can grant at run time; nil if no permission would help
	Candidates []Candidate // elements that the caller may have meant, at most five
}

// A Candidate is an element offered in place of one that was not found.
type Candidate struct {
	Role string `json:"role"`
	Name string `json:"name"`
	Item string `json:"item,omitempty"` // text of the row, list item, group or dialog that it is in
	Ref  Ref    `json:"ref"`
}

// Error returns "op tab: what happened".
func (e *Error) Error() string {
	switch {
	case e.Op == "":
		return e.Message()
	case e.Tab == "":
		return e.Op + ": " + e.Message()
	}
	return e.Op + " " + string(e.Tab) + ": " + e.Message()
}

// Message returns what happened, without the operation and the tab.
func (e *Error) Message() string {
	if e.Err == nil {
		return strings.ToLower(strings.ReplaceAll(string(e.Code), "_", " "))
	}
	return e.Err.Error()
}

// Unwrap returns the code and the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// Errorf returns an *Error with a code, a hint and a formatted cause. The format may contain %w.
func Errorf(code Code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// CodeOf returns the code of err: "" for nil, and ErrInternal for an error without a code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if c, ok := errors.AsType[Code](err); ok {
		return c
	}
	return ErrInternal
}

// Wrap returns err as an *Error of operation op on tab. If err is or wraps an *Error, the result is
// a copy of it in which only an empty Op and Tab are set.
func Wrap(op string, tab TabID, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		c := *e
		c.Op, c.Tab = cmp.Or(e.Op, op), cmp.Or(e.Tab, tab)
		return &c
	}
	return &Error{Op: op, Tab: tab, Code: CodeOf(err), Err: err}
}

// RuleOf returns the rule that err names, or "" if err is not an *Error or names no rule.
func RuleOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Rule
	}
	return ""
}

// A TabID identifies a tab: "cdp:<instance>:<raw>" or "ext:<instance>:<raw>", where <instance> is
// the id of the browser instance. The id of a tab of a named browser starts with the name, as in
// "work:cdp:<instance>:<raw>". An id never refers to a tab of another backend or of an earlier
// browser instance; such ids result in ErrStaleTab.
type TabID string

// NewTabID returns a TabID with the given parts. backend is "cdp" or "ext".
func NewTabID(backend, instance, raw string) TabID {
	return TabID(backend + ":" + instance + ":" + raw)
}

// In returns the id of a tab of the browser with the given name. An empty name does not change id.
func (id TabID) In(browser string) TabID {
	if browser == "" {
		return id
	}
	return TabID(browser+":") + id
}

// Browser returns the name of the browser of the tab. It is empty for a tab of the default browser.
func (id TabID) Browser() string {
	name, _, _ := strings.Cut(string(id), ":")
	if name == "cdp" || name == "ext" {
		return ""
	}
	return name
}

// WithoutBrowser returns the id without the name of the browser.
func (id TabID) WithoutBrowser() TabID {
	if name := id.Browser(); name != "" {
		return TabID(strings.TrimPrefix(string(id), name+":"))
	}
	return id
}

// Split returns the parts of the id, or ErrBadArgs if it does not have the form of a tab id. The
// name of the browser is not one of them.
func (id TabID) Split() (backend, instance, raw string, err error) {
	parts := strings.SplitN(string(id.WithoutBrowser()), ":", 3)
	if len(parts) != 3 || (parts[0] != "cdp" && parts[0] != "ext") || parts[1] == "" || parts[2] == "" {
		return "", "", "", &Error{Code: ErrBadArgs, Tab: "", Hint: "Take a tab id from Executor.Tabs.",
			Err: fmt.Errorf("tabId %q is not a tab id", string(id))}
	}
	return parts[0], parts[1], parts[2], nil
}

// A Ref identifies a DOM node of a document, such as "e12". Snapshots create refs, and so do other
// methods that document it. The ref of a node is the same in every snapshot, and is never reused in
// a tab.
type Ref string

// A PermissionKind is a kind of permission that the user can grant at run time. Blocked hosts,
// private addresses and the caller's scripts cannot be allowed at run time.
type PermissionKind string

// The kinds.
const (
	PermitSite      PermissionKind = "site"      // Permission.Origin is treated as if it were in the allow list
	PermitMutations PermissionKind = "mutations" // changing pages, on all allowed sites
	PermitDownloads PermissionKind = "downloads" // saving files, from all allowed sites
	PermitClipboard PermissionKind = "clipboard" // copying from and pasting into pages of Permission.Origin with the user's clipboard
)

// A Permission is something that a policy denies and the user can grant.
type Permission struct {
	Kind PermissionKind
	// Origin is the site of PermitSite or PermitClipboard, as the browser serializes it: a scheme, an ASCII host (in
	// punycode if necessary), and the port unless it is the default port. It is empty for the other
	// kinds.
	Origin string
}

// Hints whose wording depends on how the client calls the executor. A client that shows hints to a
// user or an agent replaces them with its own text.
const (
	// HintMoreTime is the hint for a call that did not finish in its time.
	HintMoreTime = "Try again with more time."
	// HintReadLess is the hint for a page that is too large to read completely
	// during one call.
	HintReadLess = "The page may be large: read a part of it."
)

// HintExtensionHung is the hint for an extension that does not respond.
const HintExtensionHung = "Try again; if the extension still does not respond, ask the user to restart Chrome."

// WithCause returns an error with a text that does not contain the text of its cause. errors.Is and
// errors.As find the cause.
func WithCause(text string, cause error) error { return &caused{text, cause} }

type caused struct {
	text  string
	cause error
}

func (e *caused) Error() string { return e.text }
func (e *caused) Unwrap() error { return e.cause }

package executor

import (
	"errors"
	"fmt"
	"strings"
)

// A Code classifies a failure. It is an error itself, so that
//
//	errors.Is(err, executor.ErrPolicyDenied)
//
// works on whatever an [Executor] returns. The same string goes over the wire
// and to the model.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// The codes. docs/tools.md says when a tool answers with each.
const (
	ErrBadArgs               Code = "BAD_ARGS"               // arguments missing, unknown, contradictory or ill-typed
	ErrPolicyDenied          Code = "POLICY_DENIED"          // the policy refuses
	ErrConsentRequired       Code = "CONSENT_REQUIRED"       // the user is being asked and has not answered yet
	ErrNoBackend             Code = "NO_BACKEND"             // neither an extension nor a Chromium
	ErrExtensionDisconnected Code = "EXTENSION_DISCONNECTED" // the extension went away during the call
	ErrLaunchFailed          Code = "LAUNCH_FAILED"          // Chromium did not start
	ErrTabNotFound           Code = "TAB_NOT_FOUND"          // no such tab
	ErrStaleTab              Code = "STALE_TAB"              // a tab of another backend or an earlier session
	ErrTargetGone            Code = "TARGET_GONE"            // the tab closed or crashed meanwhile
	ErrSelectorNotFound      Code = "SELECTOR_NOT_FOUND"     // nothing matches
	ErrRefExpired            Code = "REF_EXPIRED"            // the ref's element or its document is gone
	ErrNotActionable         Code = "NOT_ACTIONABLE"         // found, but hidden, covered, moving, disabled or read-only
	ErrDialogOpen            Code = "DIALOG_OPEN"            // a JavaScript dialog blocks the page
	ErrTimeout               Code = "TIMEOUT"                // the deadline passed
	ErrNavigationFailed      Code = "NAVIGATION_FAILED"      // a network error, or an HTTP error without a body
	ErrEvalFailed            Code = "EVAL_FAILED"            // the expression could not be run at all
	ErrDetached              Code = "DETACHED"               // the debugger was taken away
	ErrDevToolsOpen          Code = "DEVTOOLS_OPEN"          // another debugger holds the tab
	ErrDownloadFailed        Code = "DOWNLOAD_FAILED"        // refused, interrupted or too large
	ErrBackpressure          Code = "BACKPRESSURE"           // more was asked for than there is room for: calls in a minute or for one tab, open tabs, bytes for the extension
	ErrUnknownMethod         Code = "UNKNOWN_METHOD"         // version skew between the two ends of the bridge
	ErrCDP                   Code = "CDP_ERROR"              // the browser's own error
	ErrInternal              Code = "INTERNAL"               // a bug of ours
)

// Codes lists every code.
func Codes() []Code {
	return []Code{
		ErrBadArgs, ErrPolicyDenied, ErrConsentRequired, ErrNoBackend, ErrExtensionDisconnected,
		ErrLaunchFailed, ErrTabNotFound, ErrStaleTab, ErrTargetGone, ErrSelectorNotFound,
		ErrRefExpired, ErrNotActionable, ErrDialogOpen, ErrTimeout, ErrNavigationFailed,
		ErrEvalFailed, ErrDetached, ErrDevToolsOpen, ErrDownloadFailed, ErrBackpressure,
		ErrUnknownMethod, ErrCDP, ErrInternal,
	}
}

// An Error is what an [Executor] returns when a call fails.
type Error struct {
	Op         string      // the operation, such as "click"; may be empty
	Tab        TabID       // the tab it was about; may be empty
	Code       Code        // its class
	Err        error       // what happened, in lower case, with no advice
	Hint       string      // what to do next, one or two full sentences; may be empty
	Rule       string      // of ErrPolicyDenied, the rule that refused, such as "block:example.com": for logs; may be empty
	Retryable  bool        // whether the same call may well succeed later
	Missing    *Permission // of ErrPolicyDenied, what the user can permit while the program runs; nil where that would not do
	Candidates []Candidate // elements that may have been meant, at most five
}

// A Candidate is an element offered in place of one that was not found.
type Candidate struct {
	Role string `json:"role"`
	Name string `json:"name"`
	Ref  Ref    `json:"ref"`
}

// Error returns "op tab: what happened".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		if e.Tab != "" {
			b.WriteByte(' ')
			b.WriteString(string(e.Tab))
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Message())
	return b.String()
}

// Message returns what happened, without the operation and the tab.
func (e *Error) Message() string {
	if e.Err == nil {
		return strings.ToLower(strings.ReplaceAll(string(e.Code), "_", " "))
	}
	return e.Err.Error()
}

// Unwrap gives errors.Is and errors.As the code and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// Errorf returns an *Error with a code, a hint and a formatted cause (which
// may wrap with %w).
func Errorf(code Code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// CodeOf returns the code of err: "" for nil, ErrInternal for an error that
// carries none.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var c Code
	if errors.As(err, &c) {
		return c
	}
	return ErrInternal
}

// Wrap returns err as an *Error of operation op on tab. An *Error inside err
// keeps its code, hint and candidates and only gains what it lacks.
func Wrap(op string, tab TabID, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		c := *e
		if c.Op == "" {
			c.Op = op
		}
		if c.Tab == "" {
			c.Tab = tab
		}
		return &c
	}
	return &Error{Op: op, Tab: tab, Code: CodeOf(err), Err: err}
}

// RuleOf returns the rule that a denial names; "" when err is none or names
// none.
func RuleOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Rule
	}
	return ""
}

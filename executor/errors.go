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
// works on every error that an [Executor] returns. The same string is used on the wire and in
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
	ErrSelectorNotFound      Code = "SELECTOR_NOT_FOUND"     // no element matches
	ErrRefExpired            Code = "REF_EXPIRED"            // the ref's element or its document is gone
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
		ErrLaunchFailed, ErrTabNotFound, ErrStaleTab, ErrTargetGone, ErrSelectorNotFound,
		ErrRefExpired, ErrNotActionable, ErrDialogOpen, ErrTimeout, ErrNavigationFailed,
		ErrEvalFailed, ErrDetached, ErrDevToolsOpen, ErrDownloadFailed, ErrBackpressure,
		ErrUnknownMethod, ErrCDP, ErrInternal,
	}
}

// An Error is the error that an [Executor] returns when a call fails.
type Error struct {
	Op         string      // the operation, such as "click"; may be empty
	Tab        TabID       // the tab that the call was about; may be empty
	Code       Code        // the class of the error
	Err        error       // what happened, in lower case, without advice
	Hint       string      // what to do next, one or two full sentences; may be empty
	Rule       string      // with ErrPolicyDenied, the rule that denied, such as "block:example.com", for logs; may be empty
	Retryable  bool        // whether the same call may succeed later
	Missing    *Permission // with ErrPolicyDenied, what the user can grant at run time; nil if no permission would help
	Candidates []Candidate // elements that the caller may have meant, at most five
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
	var c Code
	if errors.As(err, &c) {
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

// RuleOf returns the rule that err names, or "" if err is not an *Error or names no rule.
func RuleOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Rule
	}
	return ""
}

// reason returns, in one line, what happened and what to do about it.
func reason(err error) string {
	if e := new(Error); errors.As(err, &e) && e.Hint != "" {
		return message(err) + " (" + e.Hint + ")"
	}
	return message(err)
}

// message returns what happened, without the operation and the tab.
func message(err error) string {
	if e, ok := err.(*Error); ok { // a wrapping error has its own message
		return e.Message()
	}
	return err.Error()
}

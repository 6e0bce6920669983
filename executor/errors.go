package executor

import (
	"errors"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// A Code classifies a failure. It is an error itself, so that
//
//	errors.Is(err, executor.ErrPolicyDenied)
//
// works on every error that an [Executor] returns. The same string is used on the wire and in
// results.
type Code = errs.Code

// The codes. docs/tools.md lists when a tool returns each of them.
const (
	ErrBadArgs               = errs.ErrBadArgs               // missing, unknown, contradictory or ill-typed arguments
	ErrPolicyDenied          = errs.ErrPolicyDenied          // denied by the policy
	ErrConsentRequired       = errs.ErrConsentRequired       // the user has been prompted and has not answered yet
	ErrNoBackend             = errs.ErrNoBackend             // neither an extension nor a Chromium is available
	ErrExtensionDisconnected = errs.ErrExtensionDisconnected // the extension disconnected during the call
	ErrLaunchFailed          = errs.ErrLaunchFailed          // Chromium did not start
	ErrTabNotFound           = errs.ErrTabNotFound           // no such tab
	ErrStaleTab              = errs.ErrStaleTab              // a tab of another backend or an earlier browser instance
	ErrTargetGone            = errs.ErrTargetGone            // the tab closed or crashed during the call
	ErrSessionEnded          = errs.ErrSessionEnded          // the session of a server ended before or during the call
	ErrSelectorNotFound      = errs.ErrSelectorNotFound      // no element matches
	ErrRefExpired            = errs.ErrRefExpired            // the ref's element or its document is gone, or it is another thing
	ErrNotActionable         = errs.ErrNotActionable         // found, but hidden, covered, moving, disabled or read-only
	ErrDialogOpen            = errs.ErrDialogOpen            // a JavaScript dialog blocks the page
	ErrTimeout               = errs.ErrTimeout               // the deadline passed
	ErrNavigationFailed      = errs.ErrNavigationFailed      // a network error, or an HTTP error without a body
	ErrEvalFailed            = errs.ErrEvalFailed            // the expression could not be evaluated
	ErrDetached              = errs.ErrDetached              // the debugger was detached
	ErrDevToolsOpen          = errs.ErrDevToolsOpen          // another debugger is attached to the tab
	ErrDownloadFailed        = errs.ErrDownloadFailed        // denied, interrupted or too large
	ErrBackpressure          = errs.ErrBackpressure          // a limit is exceeded: calls per minute or per tab, open tabs, bytes for the extension
	ErrUnknownMethod         = errs.ErrUnknownMethod         // version skew between the two ends of the bridge
	ErrCDP                   = errs.ErrCDP                   // an error of the browser
	ErrInternal              = errs.ErrInternal              // a bug in chrome-mcp
)

// An Error is the error that an [Executor] returns when a call fails.
type Error = errs.Error

// A Candidate is an element offered in place of one that was not found.
type Candidate = errs.Candidate

// Hints that a client which shows hints to a user or an agent replaces with its own text, because
// their wording depends on how the client calls the Executor.
const (
	HintMoreTime = errs.HintMoreTime // for a call that did not finish in its time
	HintReadLess = errs.HintReadLess // for a page that is too large to read completely during one call
)

// Codes lists every code.
func Codes() []Code { return errs.Codes() }

// Errorf returns an *Error with a code, a hint and a formatted cause. The format may contain %w.
func Errorf(code Code, hint, format string, args ...any) *Error {
	return errs.Errorf(code, hint, format, args...)
}

// CodeOf returns the code of err: "" for nil, and ErrInternal for an error without a code.
func CodeOf(err error) Code { return errs.CodeOf(err) }

// Wrap returns err as an *Error of operation op on tab. If err is or wraps an *Error, the result is
// a copy of it in which only an empty Op and Tab are set.
func Wrap(op string, tab TabID, err error) error { return errs.Wrap(op, tab, err) }

// RuleOf returns the rule that err names, or "" if err is not an *Error or names no rule.
func RuleOf(err error) string { return errs.RuleOf(err) }

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

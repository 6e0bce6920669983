// Package errclass classifies error codes for programs, which see a failure as the exit code of a
// command or as the status of an HTTP response. docs/cli.md and docs/rest.md list both.
package errclass

import (
	"net/http"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// A Class is how a failure is reported to programs.
type Class struct {
	Exit   int // exit code of a command, 1 or more
	Status int // of an HTTP response, 400 or more
}

// The exit codes. ExitFailed is for all other failures.
const (
	ExitFailed        = 1
	ExitBadArgs       = 3
	ExitDenied        = 4
	ExitNotFound      = 5
	ExitNotActionable = 6
	ExitTimeout       = 7
	ExitLimit         = 8
	ExitNoBrowser     = 9
)

// Of returns the class of a code. A code has a specific status only if the status means the same;
// all others are 422. So a removed element is 422 and an unknown one is 404, although both have the
// same exit code.
func Of(code errs.Code) Class {
	const other = http.StatusUnprocessableEntity
	switch code {
	case errs.ErrBadArgs:
		return Class{ExitBadArgs, http.StatusBadRequest}
	case errs.ErrPolicyDenied:
		return Class{ExitDenied, http.StatusForbidden}
	case errs.ErrConsentRequired:
		return Class{ExitDenied, other}
	case errs.ErrTabNotFound, errs.ErrSelectorNotFound, errs.ErrSessionEnded:
		return Class{ExitNotFound, http.StatusNotFound}
	case errs.ErrStaleTab, errs.ErrTargetGone, errs.ErrRefExpired:
		return Class{ExitNotFound, other}
	case errs.ErrNotActionable, errs.ErrDialogOpen:
		return Class{ExitNotActionable, other}
	case errs.ErrTimeout:
		return Class{ExitTimeout, http.StatusGatewayTimeout}
	case errs.ErrBackpressure:
		return Class{ExitLimit, http.StatusTooManyRequests}
	case errs.ErrNoBackend, errs.ErrLaunchFailed, errs.ErrExtensionDisconnected:
		return Class{ExitNoBrowser, other}
	}
	return Class{ExitFailed, other}
}

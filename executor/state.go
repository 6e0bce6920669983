package executor

import "context"

// States is the part of an [Executor] that keeps what sites keep in files, and
// brings it back: a session that is logged in can be gone on with later. The
// files are in SessionOptions.StateDir, in the JSON of Playwright's
// storageState. Values are in them, and in no result or error.
//
// It takes a browser that chrome-mcp launched: in one that is its user's, or
// that was joined, both return ErrPolicyDenied, since the cookies there are of
// more than the agent's own doing.
type States interface {
	// SaveState writes the browser's cookies, and the local storage of the
	// origins of the session's tabs, as far as the [Gate] allows each (OpState).
	// name is of the file: letters, digits, - and _; one of that name is
	// replaced.
	SaveState(ctx context.Context, name string) (*State, error)
	// LoadState sets the cookies and the items of a file, as far as the Gate
	// allows each, and leaves what is there beside them. Pages that are open
	// find them when they look next. It returns ErrBadArgs for a file that is
	// none, and then nothing was set.
	LoadState(ctx context.Context, name string) (*State, error)
}

// A State is what [States] saved or loaded.
type State struct {
	File    string   `json:"file"`
	Cookies int      `json:"cookies"`
	Items   int      `json:"items"`   // of local storage
	Origins []string `json:"origins"` // that have those items
	// What was left out: of sites that the Gate denies, and cookies that
	// browsers do not take, or no more.
	DeniedCookies int `json:"deniedCookies,omitempty"`
	DeniedOrigins int `json:"deniedOrigins,omitempty"`
	DeadCookies   int `json:"deadCookies,omitempty"`
}

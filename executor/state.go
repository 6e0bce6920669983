package executor

import "context"

// StateStore is the part of an [Executor] that saves cookies and local storage to files and
// restores them, so that a login can be used again later. The files are in SessionOptions.StateDir,
// in the JSON format of Playwright's storageState. Values are only in the files, never in a result
// or an error.
//
// It requires a browser that chrome-mcp launched. In the user's Chrome and in an attached browser,
// both methods return ErrPolicyDenied, because the cookies there do not belong to the agent alone,
// and SessionOptions.State is ignored. Elsewhere, calls return the error if that file cannot be
// loaded.
type StateStore interface {
	// SaveState saves the browser's cookies, and the local storage of the origins of the session's
	// tabs, to the extent that the [Gate] allows each (OpState). name is the file name: letters,
	// digits, - and _. An existing file is replaced.
	SaveState(ctx context.Context, name string) (*StateResult, error)
	// LoadState sets the cookies and items of a file, to the extent that the Gate allows each. It
	// does not remove others. Open pages see the values when they read them next. LoadState returns
	// ErrBadArgs, and sets nothing, if the file is not a valid state file.
	LoadState(ctx context.Context, name string) (*StateResult, error)
}

// A StateResult is the result of the methods of [StateStore].
type StateResult struct {
	File    string   `json:"file"`
	Cookies int      `json:"cookies"`
	Items   int      `json:"items"`   // of local storage
	Origins []string `json:"origins"` // the origins that have those items
	// What was omitted: cookies and origins of sites that the Gate denies, and cookies that are
	// expired or that the browser rejects.
	DeniedCookies  int `json:"deniedCookies,omitempty"`
	DeniedOrigins  int `json:"deniedOrigins,omitempty"`
	InvalidCookies int `json:"invalidCookies,omitempty"`
}

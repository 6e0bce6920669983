package executor

import (
	"context"
	"time"
)

// WaitUntil says how far a navigation must have come before it counts as done.
type WaitUntil string

// The values of WaitUntil. The zero value means UntilLoad.
const (
	UntilLoad             WaitUntil = "load"
	UntilDOMContentLoaded WaitUntil = "domcontentloaded"
	UntilNetworkIdle      WaitUntil = "networkidle" // loaded, and 500 ms without a request in flight
	UntilCommit           WaitUntil = "commit"      // the response began and the document was replaced
)

// DefaultNavigateTimeout bounds a navigation when its options do not.
const DefaultNavigateTimeout = 30 * time.Second

// DefaultWaitTimeout bounds WaitFor when its options do not.
const DefaultWaitTimeout = 10 * time.Second

// Navigator is the part of an [Executor] that moves a tab through documents.
//
// Each of Navigate, Back, Forward and Reload returns ErrNavigationFailed for
// a network error (the text has Chrome's net::ERR_ name), ErrPolicyDenied if
// a redirect leads where the policy does not allow, ErrTimeout when
// opts.Until is not reached in time, and ErrDialogOpen when a beforeunload
// dialog holds the page.
type Navigator interface {
	// Navigate loads url in tab and returns when opts.Until is reached. With
	// no tab open and an empty tab id it opens one.
	Navigate(ctx context.Context, tab TabID, url string, opts *NavigateOptions) (*Navigation, error)
	// Back goes one entry back in the tab's history; without one it returns
	// ErrNavigationFailed.
	Back(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error)
	// Forward goes one entry forward; without one it returns ErrNavigationFailed.
	Forward(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error)
	// Reload loads the document again.
	Reload(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error)
	// WaitFor waits until every condition in cond holds at once. Running out
	// of time is not an error: the result says Matched false.
	WaitFor(ctx context.Context, tab TabID, cond WaitCondition) (*WaitResult, error)
}

// NavigateOptions are the options of the methods of [Navigator].
type NavigateOptions struct {
	Until   WaitUntil     // default UntilLoad
	Timeout time.Duration // default DefaultNavigateTimeout
}

// A Navigation tells where a navigation ended.
type Navigation struct {
	TabID      TabID  `json:"tabId"`
	URL        string `json:"url"`
	Title      string `json:"title"`
	HTTPStatus int    `json:"httpStatus,omitempty"` // 0 when there was no HTTP response, such as a hash change
	// Note is a sentence on something unusual: a download took the place of
	// the page, or the server answered 204.
	Note string `json:"note,omitempty"`
	// Obstacle is told as far as URL, title and HTTP status show it; Snapshot
	// looks at the page itself.
	Obstacle *Obstacle `json:"obstacle,omitempty"`
}

// A WaitCondition says what [Navigator.WaitFor] waits for. At least one field
// other than Timeout must be set; several must hold at the same time.
type WaitCondition struct {
	Selector   string        // an element that is visible
	Text       string        // text that the page shows
	TextGone   string        // text that the page no longer shows
	Gone       string        // a selector or ref of which nothing visible is left
	URL        string        // a glob on the URL of the top document
	Expression string        // JavaScript that is truthy; needs the eval grant
	Time       time.Duration // let this much time pass first
	Timeout    time.Duration // default DefaultWaitTimeout
}

// A WaitResult tells how [Navigator.WaitFor] ended.
type WaitResult struct {
	Matched  bool  `json:"matched"`
	Ref      Ref   `json:"ref,omitempty"` // of the element, when Selector was given
	WaitedMS int64 `json:"waitedMs"`
	// Unmet names the conditions that did not hold in the end.
	Unmet []string `json:"unmet,omitempty"`
}

package executor

import (
	"context"
	"encoding/json"
	"time"
)

// WaitUntil is the state of a navigation that a call waits for.
type WaitUntil string

// The values of WaitUntil. The zero value means UntilLoad.
const (
	UntilLoad             WaitUntil = "load"
	UntilDOMContentLoaded WaitUntil = "domcontentloaded"
	// UntilNetworkIdle means load, and 500 ms without a pending request. WebSockets, event streams and
	// media do not count. A fetch whose response has Cache-Control: no-store counts only while it
	// receives data, because Chromium does not report its end if no script reads it.
	UntilNetworkIdle WaitUntil = "networkidle"
	UntilCommit      WaitUntil = "commit" // the response arrived and the document was replaced
)

// DefaultNavigateTimeout is the default of NavigateOptions.Timeout.
const DefaultNavigateTimeout = 30 * time.Second

// DefaultWaitTimeout is the default of WaitCondition.Timeout.
const DefaultWaitTimeout = 10 * time.Second

// Navigator is the part of a [Page] that navigates tabs.
//
// Navigate, Back, Forward and Reload return ErrNavigationFailed for a network error (the text
// contains Chrome's net::ERR_ name), and Back, Forward and Reload, if the page would be requested by
// sending a form again; the tab then shows the same page as before. They return ErrPolicyDenied if the policy denies a redirect, ErrTimeout if
// opts.Until is not reached in time, and ErrDialogOpen if a beforeunload dialog blocks the page.
type Navigator interface {
	// Navigate loads url and returns when opts.Until is reached.
	Navigate(ctx context.Context, url string, opts *NavigateOptions) (*Navigation, error)
	// Back goes back one history entry. It returns ErrNavigationFailed if there is none.
	Back(ctx context.Context, opts *NavigateOptions) (*Navigation, error)
	// Forward goes forward one history entry. It returns ErrNavigationFailed if there is none.
	Forward(ctx context.Context, opts *NavigateOptions) (*Navigation, error)
	// Reload loads the document again.
	Reload(ctx context.Context, opts *NavigateOptions) (*Navigation, error)
	// WaitFor waits until all conditions in cond hold at the same time. A timeout is not an error:
	// the result has Matched false. WaitFor returns ErrBadArgs if cond has no condition or
	// an invalid one, and ErrRefExpired if the document of the ref in Visible is gone. A ref in Gone is
	// gone then.
	WaitFor(ctx context.Context, cond *WaitCondition) (*WaitResult, error)
}

// NavigateOptions are the options of the methods of [Navigator].
type NavigateOptions struct {
	Until   WaitUntil     // default UntilLoad
	Timeout time.Duration // default DefaultNavigateTimeout
	// Resubmit lets Back, Forward and Reload send a form again if the page was made by sending it. It
	// needs the mutations grant. Navigate ignores it.
	Resubmit bool
}

// A Navigation is the result of a navigation.
type Navigation struct {
	TabID      TabID  `json:"tabId"`
	URL        string `json:"url"`
	Title      string `json:"title"`
	HTTPStatus int    `json:"httpStatus,omitempty"` // 0 if there was no HTTP response, for example after a hash change
	// Note describes something unusual: a download replaced the page, or the server answered 204.
	Note string `json:"note,omitempty"`
	// Obstacle is an obstacle that the URL, title or HTTP status shows; Snapshot also examines the
	// page itself.
	Obstacle *Obstacle `json:"obstacle,omitempty"`
}

// A WaitCondition is the condition of [Navigator.WaitFor]. At least one field other than Timeout
// must be set. If several are set, they must hold at the same time.
type WaitCondition struct {
	Visible    Target        // an element that is visible
	Gone       Target        // an element that is not visible, or does not exist
	Text       string        // text that the page shows
	TextGone   string        // text that the page no longer shows
	URL        string        // a glob on the URL of the top document
	Load       WaitUntil     // a state that the top document has reached; with UntilNetworkIdle, no request for 500 ms until now
	Expression string        // JavaScript that evaluates to a truthy value; needs the eval grant
	Time       time.Duration // minimum time to wait
	Timeout    time.Duration // default DefaultWaitTimeout
}

// A WaitResult is the result of [Navigator.WaitFor].
type WaitResult struct {
	Matched bool          `json:"matched"`
	Ref     Ref           `json:"ref,omitempty"` // of the element, if Visible was set
	Waited  time.Duration `json:"waitedMs"`      // in JSON, in milliseconds
	// Unmet names the conditions that did not hold at the end.
	Unmet []string `json:"unmet,omitempty"`
	// Note says that the element of a ref in Visible or Gone is another thing than the client last
	// received, as in [Snapshot].
	Note string `json:"note,omitempty"`
}

// plainWaitResult is a WaitResult without its methods.
type plainWaitResult WaitResult

// MarshalJSON implements json.Marshaler.
func (r WaitResult) MarshalJSON() ([]byte, error) {
	r.Waited /= time.Millisecond
	return json.Marshal(plainWaitResult(r))
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *WaitResult) UnmarshalJSON(data []byte) error {
	p := plainWaitResult(*r)
	p.Waited /= time.Millisecond
	err := json.Unmarshal(data, &p)
	*r = WaitResult(p)
	r.Waited *= time.Millisecond
	return err
}

// Package interception pauses the requests of a tab, and decides on them.
package interception

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
	"github.com/chrome-mcp/chrome-mcp/internal/emulate"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// A Filter filters the requests of a tab until the tab is released. It is for attached
// browsers, which have no other network enforcement. Requests that CDP does not report bypass it:
// WebSockets, and requests that workers and frames send before we attach to them.
type Filter struct {
	// FromAttach starts request interception when we attach to the tab, not at the first call on
	// it, and rejects HTTP authentication. It is for browser contexts whose tabs are all ours.
	FromAttach bool
	// DocumentsOnly means that Check is called only for the documents of the tab itself. With
	// FromAttach, all other requests are also intercepted, and then continued.
	DocumentsOnly bool
	// Check returns why a request is denied, or nil if it is allowed. document reports whether the
	// request is for the tab's top document; Check is called at each redirect hop. It must not
	// block.
	Check func(url string, document bool) error
}

// Options are the options of [New].
type Options struct {
	Filter    *Filter // nil if the tab has none
	Filtering bool    // the filter is enabled from the beginning, as with Filter.FromAttach
	Tree      *frames.Tree
	Emulation *emulate.Emulator // whose additional headers requests get
	Dialogs   *dialogs.State
}

// An Interception pauses the requests of a tab: for its Filter, for additional headers, and for a
// ResubmissionGuard. It is safe for concurrent use.
type Interception struct {
	opts      Options
	filtering atomic.Bool                       // the filter is enabled
	guard     atomic.Pointer[ResubmissionGuard] // nil while no call needs one
}

// New returns the interception of a tab.
func New(opts Options) *Interception {
	i := &Interception{opts: opts}
	i.filtering.Store(opts.Filter != nil && (opts.Filter.FromAttach || opts.Filtering))
	return i
}

// Filtering reports whether the filter is enabled.
func (i *Interception) Filtering() bool { return i.filtering.Load() }

// Commands returns the commands that enable the filter in a new target, if it is enabled.
func (i *Interception) Commands() []cdpconn.Command {
	if !i.Filtering() {
		return nil
	}
	return []cdpconn.Command{i.opts.Filter.command()}
}

// EnableFilter enables the filter, if the tab has one.
func (i *Interception) EnableFilter(ctx context.Context) error {
	if i.opts.Filter == nil || i.filtering.Swap(true) {
		return nil
	}
	command := i.opts.Filter.command()
	for _, s := range i.opts.Tree.Sessions() { // a session that is created from now on enables it itself
		if err := s.Call(ctx, command.Method, command.Params, nil); err != nil && s == i.opts.Tree.Session() { // a frame may be removed at any time
			i.filtering.Store(false)
			if executor.CodeOf(err) != executor.ErrCDP {
				return err
			}
			return &executor.Error{Code: executor.ErrPolicyDenied, Retryable: true, Hint: "Try again, or use another tab.",
				Err: fmt.Errorf("the requests of the tab cannot be checked: %w", err)}
		}
	}
	return nil
}

// WithoutFilter calls f while the filter is disabled, so that f can answer the requests of the tab.
// It enables the filter again if f succeeds.
func (i *Interception) WithoutFilter(ctx context.Context, f func() error) error {
	enabled := i.filtering.Swap(false)
	err := f()
	if enabled && err == nil {
		err = i.EnableFilter(ctx)
	}
	return err
}

// command returns the command that enables request interception for the filter.
func (f *Filter) command() cdpconn.Command {
	pattern := map[string]any{"urlPattern": "*", "requestStage": "Request"}
	if f.DocumentsOnly && !f.FromAttach {
		pattern["resourceType"] = network.ResourceTypeDocument
	}
	// The browser reports authentication only for intercepted requests.
	return cdpconn.Command{Method: "Fetch.enable", Params: map[string]any{"patterns": []map[string]any{pattern}, "handleAuthRequests": f.FromAttach}}
}

// AuthRequired rejects a request for a user name and password, for which the browser would
// otherwise prompt the user. The page receives the 401 response.
func (i *Interception) AuthRequired(s *cdpconn.Session, e fetch.EventAuthRequired) {
	if i.filtering.Load() {
		s.Start(context.Background(), "Fetch.continueWithAuth", map[string]any{
			"requestId": e.RequestID, "authChallengeResponse": map[string]any{"response": fetch.AuthChallengeResponseResponseCancelAuth},
		})
	}
}

// RequestPaused continues or fails a paused request, as the request filter and the ResubmissionGuard
// decide, and adds the emulated headers. If none of these is in use, another component paused
// the request and answers it.
func (i *Interception) RequestPaused(s *cdpconn.Session, e fetch.EventRequestPaused) {
	filter, extra, guard := i.filtering.Load(), i.opts.Emulation.Headers(), i.guard.Load()
	if !filter && len(extra) == 0 && guard == nil {
		return
	}
	document := e.ResourceType == network.ResourceTypeDocument && e.FrameID == i.opts.Tree.TopFrame()
	method, params := "Fetch.continueRequest", map[string]any{"requestId": e.RequestID}
	if guard != nil && document && e.Request != nil {
		resends := guard.resendsForm(e)
		blank := resends && guard.blanks
		defer guard.answered(resends && !blank)
		if blank {
			s.Start(context.Background(), "Fetch.fulfillRequest", map[string]any{"requestId": e.RequestID, "responseCode": http.StatusOK})
			return
		}
		if resends {
			// An aborted navigation does not replace the document, not even with an error page.
			s.Start(context.Background(), "Fetch.failRequest", map[string]any{"requestId": e.RequestID, "errorReason": network.ErrorReasonAborted})
			return
		}
	}
	if isResponse(e) {
		s.Start(context.Background(), method, params)
		return
	}
	if headers := extra.Add(e); headers != nil {
		params["headers"] = headers
	}
	if filter && e.Request != nil && (document || !i.opts.Filter.DocumentsOnly) {
		if err := i.opts.Filter.Check(e.Request.URL, document); err != nil {
			method = "Fetch.failRequest"
			params = map[string]any{"requestId": e.RequestID, "errorReason": network.ErrorReasonBlockedByClient}
		}
	}
	s.Start(context.Background(), method, params)
}

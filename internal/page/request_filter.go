package page

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A RequestFilter filters the requests of a tab until the tab is released. It is for attached
// browsers, which have no other network enforcement. Requests that CDP does not report bypass it:
// WebSockets, and requests that workers and frames send before we attach to them.
type RequestFilter struct {
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

// enableRequestFilter enables request interception in the tab, if it has a RequestFilter.
func (t *Tab) enableRequestFilter(ctx context.Context) error {
	if t.opts.RequestFilter == nil || t.intercepting.Swap(true) {
		return nil
	}
	command := t.opts.RequestFilter.command()
	for _, s := range t.tree.Sessions() { // a session that is created from now on enables it itself
		if err := s.Call(ctx, command.Method, command.Params, nil); err != nil && s == t.sess { // a frame may be removed at any time
			t.intercepting.Store(false)
			if executor.CodeOf(err) != executor.ErrCDP {
				return err
			}
			return &executor.Error{Code: executor.ErrPolicyDenied, Retryable: true, Hint: "Try again, or use another tab.",
				Err: fmt.Errorf("the requests of the tab cannot be checked: %w", err)}
		}
	}
	return nil
}

// WithoutRequestFilter calls f while request interception is off, so that f can answer the requests
// of the tab. It enables interception again if f succeeds.
func (t *Tab) WithoutRequestFilter(ctx context.Context, f func() error) error {
	enabled := t.intercepting.Swap(false)
	err := f()
	if enabled && err == nil {
		err = t.enableRequestFilter(ctx)
	}
	return err
}

// requestFilterEnabled reports whether request interception is enabled.
func (t *Tab) requestFilterEnabled() bool { return t.intercepting.Load() }

// command returns the command that enables request interception for the filter.
func (f *RequestFilter) command() cdpconn.Command {
	pattern := map[string]any{"urlPattern": "*", "requestStage": "Request"}
	if f.DocumentsOnly && !f.FromAttach {
		pattern["resourceType"] = network.ResourceTypeDocument
	}
	// The browser reports authentication only for intercepted requests.
	return cdpconn.Command{Method: "Fetch.enable", Params: map[string]any{"patterns": []map[string]any{pattern}, "handleAuthRequests": f.FromAttach}}
}

// authRequired rejects a request for a user name and password, for which the browser would
// otherwise prompt the user. The page receives the 401 response.
func (t *Tab) authRequired(s *cdpconn.Session, e fetch.EventAuthRequired) {
	if t.requestFilterEnabled() {
		s.Start(context.Background(), "Fetch.continueWithAuth", map[string]any{
			"requestId": e.RequestID, "authChallengeResponse": map[string]any{"response": fetch.AuthChallengeResponseResponseCancelAuth},
		})
	}
}

// requestPaused continues or fails a paused request, as the request filter and the resubmission
// guard decide, and adds the emulated headers. If none of these is in use, another component paused
// the request and answers it.
func (t *Tab) requestPaused(s *cdpconn.Session, e fetch.EventRequestPaused) {
	filter, extra, guard := t.requestFilterEnabled(), t.emulation.Headers(), t.resubmission.Load()
	if !filter && len(extra) == 0 && guard == nil {
		return
	}
	document := e.ResourceType == network.ResourceTypeDocument && e.FrameID == t.main
	method, params := "Fetch.continueRequest", map[string]any{"requestId": e.RequestID}
	if guard != nil && document && e.Request != nil {
		denied := guard.denies(e)
		defer guard.decide(denied)
		if denied {
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
	if filter && e.Request != nil && (document || !t.opts.RequestFilter.DocumentsOnly) {
		if err := t.opts.RequestFilter.Check(e.Request.URL, document); err != nil {
			method = "Fetch.failRequest"
			params = map[string]any{"requestId": e.RequestID, "errorReason": network.ErrorReasonBlockedByClient}
		}
	}
	s.Start(context.Background(), method, params)
}

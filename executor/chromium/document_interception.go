package chromium

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/interception"
)

// interceptDocuments makes the browser pause each request for a document, including each redirect
// hop. The egress proxy sees only hosts: it cannot distinguish a document from its images. All
// requests to the origins of credentials are paused as well, because the browser reports HTTP
// authentication only for paused requests.
func interceptDocuments(ctx context.Context, conn *cdpconn.Conn, credentials map[string]HTTPCredentials) error {
	patterns := []map[string]any{{"urlPattern": "*", "resourceType": network.ResourceTypeDocument, "requestStage": "Request"}}
	for origin := range credentials {
		patterns = append(patterns, map[string]any{"urlPattern": origin + "/*", "requestStage": "Request"})
	}
	return conn.BrowserSession().Call(ctx, "Fetch.enable", map[string]any{"patterns": patterns, "handleAuthRequests": len(credentials) > 0}, nil)
}

// A documentFilter checks the documents of an instance, and answers HTTP authentication.
type documentFilter struct {
	in *instance
	// denials has, by host:port, why the latest documents of each host were denied, because the
	// browser only reports that they were blocked. When a document of the host is allowed, possibly at
	// another path, it is removed.
	denials  *lru.Cache[string, error]
	answered []fetch.RequestID // the last requests that got HTTP credentials; used only by follow
}

// paused answers the request for a document that the browser paused. It continues other requests,
// which the proxy checks. It does not block.
func (d *documentFilter) paused(e fetch.EventRequestPaused) {
	if e.Request == nil {
		d.in.backend.log.Warn("invalid event of a paused request")
		return
	}
	if e.ResourceType != network.ResourceTypeDocument {
		d.in.conn.BrowserSession().Start(context.Background(), "Fetch.continueRequest", map[string]any{"requestId": e.RequestID})
		return
	}
	if done := d.in.clients.credentialsDone(target.ID(e.FrameID)); done != nil {
		d.in.work.Go(func() {
			<-done
			d.answer(e)
		})
		return
	}
	d.answer(e)
}

// answer continues or fails the request for a document. It does not block.
func (d *documentFilter) answer(e fetch.EventRequestPaused) {
	continueRequest := func() {
		d.in.conn.BrowserSession().Start(context.Background(), "Fetch.continueRequest", map[string]any{"requestId": e.RequestID})
	}
	if !isWeb(e.Request.URL) {
		continueRequest()
		return
	}
	reason := d.in.opts.Network.CheckDocument(e.Request.URL)
	if reason == nil {
		d.denials.Remove(hostOf(e.Request.URL))
		continueRequest()
		return
	}
	d.in.work.Go(func() {
		if !d.in.opts.CDPClients && d.isSubframe(string(e.FrameID)) {
			continueRequest() // a subresource, which the proxy checks
			return
		}
		d.recordDenial(e.Request.URL, reason)
		d.in.conn.BrowserSession().Start(context.Background(), "Fetch.failRequest", map[string]any{
			"requestId": e.RequestID, "errorReason": network.ErrorReasonBlockedByClient,
		})
	})
}

func (d *documentFilter) recordDenial(document string, reason error) {
	d.denials.Add(hostOf(document), reason)
	d.in.backend.log.Info("document request denied", "host", hostOf(document), "reason", reason)
}

// denied returns the error of the latest request to a host if it was denied, and otherwise nil. It does
// not block.
func (d *documentFilter) denied(host string) error {
	reason, _ := d.denials.Get(host)
	if reason == nil && d.in.proxy != nil {
		reason, _ = d.in.proxy.Denied(host)
	}
	switch e, ok := errors.AsType[*executor.Error](reason); {
	case ok:
		return e
	case reason == nil:
		return nil
	}
	return executor.Errorf(executor.ErrPolicyDenied, "Only the user can allow it.", "%s: %w", host, reason)
}

// requestFilter returns the filter for the requests of a tab of an attached browser: for its
// documents and, if the browser's network does not go through our proxy, also for its subresources.
func (d *documentFilter) requestFilter() *interception.Filter {
	if d.in.proc != nil || d.in.opts.Network == nil {
		return nil
	}
	return &interception.Filter{FromAttach: d.in.contextID != "", DocumentsOnly: d.in.filtered(), Check: func(address string, document bool) error {
		u, err := url.Parse(address) // as the browser serializes it
		switch {
		case !isWeb(address):
			return nil
		case err != nil:
			return err
		case !document:
			return d.checkSubresource(u)
		}
		reason := d.in.opts.Network.CheckDocument(address)
		if reason == nil {
			d.denials.Remove(hostOf(address))
		} else {
			d.recordDenial(address, reason)
		}
		return reason
	}}
}

// checkSubresource checks a URL that a page loads, as the proxy does before it resolves the host.
// Unlike the proxy, it also sees the path of https URLs.
func (d *documentFilter) checkSubresource(u *url.URL) error {
	scheme, port := "", 443
	if u.Scheme == "http" {
		scheme, port = "http", 80
	}
	host := u.Host
	if p := u.Port(); p != "" {
		var err error
		if port, err = strconv.Atoi(p); err != nil {
			return err
		}
		host = strings.TrimSuffix(host, ":"+p)
	}
	if err := d.in.opts.Network.CheckHost(scheme, host, port); err != nil {
		return err
	}
	return d.in.opts.Network.CheckPath(scheme, host, port, cmp.Or(u.EscapedPath(), "/"))
}

// isSubframe reports whether a frame is not the top frame of a tab. The top frame has the target id
// of the tab. A frame that the browser does not know as a target is a subframe.
func (d *documentFilter) isSubframe(frame string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d.in.opts.timing.AttachTab)
	defer cancel()
	var res target.GetTargetInfoResult
	err := d.in.conn.BrowserSession().Call(ctx, "Target.getTargetInfo", map[string]any{"targetId": frame}, &res)
	if err == nil {
		return res.TargetInfo != nil && res.TargetInfo.Type == "iframe"
	}
	return isUnknownTarget(err)
}

// isUnknownTarget reports whether err is the browser's error for a target id that it does not know.
func isUnknownTarget(err error) bool {
	return err != nil && strings.Contains(err.Error(), "No target with given id")
}

func isWeb(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// hostOf returns the host and port of a URL.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// maxCachedDenials bounds the hosts whose denial reasons are stored.
const maxCachedDenials = 256

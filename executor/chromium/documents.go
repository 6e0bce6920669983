package chromium

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// holdDocuments has the browser ask before it requests a document, at each
// hop, whatever led to it. The filtering proxy knows only of hosts: it cannot
// tell a page from the pictures in one.
func (r *run) holdDocuments(ctx context.Context) (*cdpconn.Pending, error) {
	return r.conn.Browser().Start(ctx, "Fetch.enable", map[string]any{
		"patterns": []map[string]any{{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}},
	})
}

// documentPaused answers for a document that is about to be requested. It
// returns at once.
func (r *run) documentPaused(ev cdpconn.Event) {
	e, err := cdpconn.Decode(ev, fetch.RequestPaused)
	if err != nil || e.Request == nil {
		r.browser.log.Warn("a request that waits cannot be read", "error", err)
		return
	}
	goOn := func() {
		r.conn.Browser().Start(context.Background(), "Fetch.continueRequest", map[string]any{"requestId": e.RequestID})
	}
	if !isWeb(e.Request.URL) {
		goOn()
		return
	}
	reason := r.opts.Network.CheckDocument(e.Request.URL)
	if reason == nil {
		r.refused.clear(e.Request.URL)
		goOn()
		return
	}
	r.work.Go(func() {
		if r.framed(string(e.FrameID)) {
			goOn() // a part of a page: the proxy decides
			return
		}
		r.refuse(e.Request.URL, reason)
		r.conn.Browser().Start(context.Background(), "Fetch.failRequest", map[string]any{
			"requestId": e.RequestID, "errorReason": network.ErrorReasonBlockedByClient,
		})
	})
}

func (r *run) refuse(document string, reason error) {
	r.refused.set(document, reason)
	r.browser.log.Info("a document was refused", "host", hostOf(document), "reason", reason)
}

// wall holds what a tab of a joined browser requests: the documents that it
// goes to, and all that they load where our proxy does not stand behind it.
func (r *run) wall() *page.Wall {
	if r.proc != nil || r.opts.Network == nil {
		return nil
	}
	return &page.Wall{AtOnce: r.context != "", Documents: r.filtered(), Decide: func(address string, document bool) error {
		u, err := url.Parse(address) // as the browser writes it
		switch {
		case !isWeb(address):
			return nil
		case err != nil:
			return err
		case !document:
			return r.checkLoad(u)
		}
		reason := r.opts.Network.CheckDocument(address)
		if reason == nil {
			r.refused.clear(address)
		} else {
			r.refuse(address, reason)
		}
		return reason
	}}
}

// checkLoad checks a URL that a page loads, as the proxy does before it resolves
// the host. Unlike the proxy, it also sees the path of https URLs.
func (r *run) checkLoad(u *url.URL) error {
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
	if err := r.opts.Network.CheckHost(scheme, host, port); err != nil {
		return err
	}
	return r.opts.Network.CheckPath(scheme, host, port, cmp.Or(u.EscapedPath(), "/"))
}

// framed reports whether a frame is inside a page. The browser knows: the top
// frame of a tab has the tab's own id. What it does not know is none.
func (r *run) framed(frame string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), attachTimeout)
	defer cancel()
	var res struct {
		Info struct {
			Type string `json:"type"`
		} `json:"targetInfo"`
	}
	err := r.conn.Browser().Call(ctx, "Target.getTargetInfo", map[string]any{"targetId": frame}, &res)
	if err == nil {
		return res.Info.Type == "iframe"
	}
	return strings.Contains(err.Error(), "No target with given id")
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

// maxRefused is how many hosts the reasons of refusals are kept of.
const maxRefused = 256

// refusals remembers why documents of the latest hosts were refused: the
// browser tells only that they were blocked. It is safe for concurrent use.
type refusals struct {
	mu sync.Mutex
	of map[string]error // by host:port
}

func (f *refusals) set(url string, reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil || len(f.of) >= maxRefused {
		f.of = map[string]error{}
	}
	f.of[hostOf(url)] = reason
}

// clear forgets a host whose documents are allowed after all, those at another
// path perhaps.
func (f *refusals) clear(url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.of) > 0 {
		delete(f.of, hostOf(url))
	}
}

func (f *refusals) find(host string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[host]
}

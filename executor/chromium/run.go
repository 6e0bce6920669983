package chromium

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/child"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// attachTimeout bounds the setting up of one tab.
const attachTimeout = 15 * time.Second

// A run is one browser from its start to its end. It is a session.Browser.
type run struct {
	id      string
	browser *Browser
	opts    Options
	conn    *cdpconn.Conn
	proc    *process       // nil for an attached browser
	proxy   *egress.Proxy  // nil without a NetworkPolicy
	resumer *child.Process // nil for a launched browser
	version version
	context string // the browser context we work in; empty for the default one
	work    sync.WaitGroup
	ending  sync.Once
	left    chan struct{}                 // closed when all that belonged to it is gone, after an end that nobody asked for
	files   func() (*download.Dir, error) // the folder of downloads, made at first use
	quota   *download.Quota               // of all downloads together
	refused refusals

	warming sync.Mutex
	warm    bool // the browser knows the proxy's credentials; guarded by warming

	mu        sync.Mutex // guards what follows
	changed   chan struct{}
	tabs      []*session.Tab
	targets   map[target.ID]*session.Tab
	attaching map[target.ID]bool
	openers   map[target.ID]*session.Tab // of tabs that pages opened
	opening   int                        // calls of NewTab in progress; meanwhile new tabs wait to be claimed
	lastRaw   int
	transfers map[string]*session.Transfer
}

var _ session.Browser = (*run)(nil)

// connect launches or joins a browser and makes it ready. On failure nothing
// is left.
func (b *Browser) connect(ctx context.Context) (*run, error) {
	opts, err := b.opts.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &run{
		id: strings.ToLower(rand.Text()[:4]), browser: b, opts: opts, changed: make(chan struct{}), left: make(chan struct{}),
		targets: make(map[target.ID]*session.Tab), attaching: make(map[target.ID]bool),
		openers:   make(map[target.ID]*session.Tab),
		transfers: make(map[string]*session.Transfer),
	}
	r.quota = download.NewQuota(opts.MaxDownloads, opts.MaxDownloadTotal)
	r.files = sync.OnceValues(func() (*download.Dir, error) {
		dir, err := download.Open(filepath.Join(opts.DataDir, "downloads"), opts.MaxDownloadBytes)
		if err == nil {
			dir.Share(r.quota)
		}
		return dir, err
	})
	if opts.Network != nil {
		if r.proxy, err = startProxy(opts); err != nil {
			return nil, err
		}
		opts.ProxyServer = r.proxy.Addr()
	}
	if err := r.join(ctx, opts); err != nil {
		r.close()
		return nil, err
	}
	if limits := r.unenforced(); limits != "" {
		b.log.Warn("policy is only partly enforced in the attached browser", "limits", limits)
	}
	return r, nil
}

// startProxy starts the proxy that asks opts.Network about every connection,
// and closes its own port to pages.
func startProxy(opts Options) (*egress.Proxy, error) {
	p, err := egress.NewPrivate(egress.Options{Decider: opts.Network, NoUpstream: opts.NoProxy, Logger: opts.Logger, Resolver: opts.resolver}, opts.Proxy)
	if err != nil && !errors.Is(err, executor.ErrBadArgs) {
		err = executor.Errorf(executor.ErrLaunchFailed, "Try again.", "egress proxy did not start: %w", err)
	}
	return p, err
}

// join starts the connection to the browser and follows its targets.
func (r *run) join(ctx context.Context, opts Options) error {
	var t transport
	if opts.CDPEndpoint != "" {
		tr, end, err := dial(ctx, opts.CDPEndpoint)
		if err != nil {
			return err
		}
		t, r.version = tr, end.version
		if r.resumer, err = startResumer(end.url); err != nil {
			_ = tr.Close()
			return err
		}
	} else {
		p, err := launch(ctx, r.browser.opts.under(opts.ProxyServer))
		if err != nil {
			return err
		}
		r.proc, t, r.version = p, p.transport, p.version
	}
	r.conn = cdpconn.New(t)
	r.conn.Browser().InOrder() // so that what is asked for is known when it is answered
	r.work.Go(r.follow)
	var err error
	if r.proc != nil {
		err = r.followOwn(ctx)
	} else {
		err = r.followJoined(ctx)
	}
	if err == nil || r.proc == nil {
		return err
	}
	select {
	case <-r.proc.exited:
		return r.proc.failure()
	default:
		return err
	}
}

// under returns the options to launch with behind a proxy.
func (o Options) under(proxy string) Options {
	if proxy != "" {
		o.ProxyServer = proxy
	}
	return o
}

// followOwn has every tab of a launched browser attach by itself, before it
// runs, so that nothing of it is missed.
func (r *run) followOwn(ctx context.Context) error {
	attach, err := r.autoAttach(ctx)
	if err != nil {
		return err
	}
	if r.opts.Network != nil {
		hold, err := r.holdDocuments(ctx)
		if err == nil {
			err = hold.Wait(ctx, nil)
		}
		if err != nil {
			return err // nothing fails open
		}
	}
	if err := r.watchDownloads(ctx); err != nil {
		return err
	}
	return attach.Wait(ctx, nil)
}

// followJoined creates a browser context in an attached browser, or follows the
// tabs of the default context. Tabs attach automatically before they run. This
// includes tabs of other contexts, because the browser has no narrower filter.
// releaseTarget releases those immediately.
func (r *run) followJoined(ctx context.Context) error {
	s := r.conn.Browser()
	if !r.opts.AttachDefaultContext {
		params := map[string]any{"disposeOnDetach": true}
		if r.proxy != nil && r.local() {
			params["proxyServer"], params["proxyBypassList"] = "http://"+r.proxy.Addr(), "<-loopback>"
		}
		var res struct {
			ID string `json:"browserContextId"`
		}
		if err := s.Call(ctx, "Target.createBrowserContext", params, &res); err != nil {
			return err
		}
		r.context = res.ID
		if err := r.watchDownloads(ctx); err != nil {
			return err
		}
	}
	attach, err := r.autoAttach(ctx)
	if err == nil {
		err = attach.Wait(ctx, nil)
	}
	if err == nil && r.context == "" {
		// A tab of the user comes into scope when it shows a regular page.
		err = s.Call(ctx, "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": pageTargets}, nil)
	}
	if err != nil {
		return err
	}
	r.awaitAdopted(ctx)
	return nil
}

// pageTargets is the CDP target filter for tabs.
var pageTargets = []map[string]any{{"type": "page"}}

// autoAttach makes the browser attach us to every tab before its first document
// loads.
func (r *run) autoAttach(ctx context.Context) (*cdpconn.Pending, error) {
	return r.conn.Browser().Start(ctx, "Target.setAutoAttach", map[string]any{
		"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": pageTargets,
	})
}

// awaitAdopted waits until the tabs that were there before us are attached to.
// One that does not answer is waited for no longer than attachTimeout.
func (r *run) awaitAdopted(ctx context.Context) {
	for {
		r.mu.Lock()
		left, changed := len(r.attaching), r.changed
		r.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-changed:
		case <-r.conn.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// filtered reports whether the browser's network goes through our proxy.
func (r *run) filtered() bool {
	return r.proxy != nil && (r.proc != nil || (r.context != "" && r.local()))
}

// local reports whether the joined browser runs on this machine, and so can
// reach our proxy.
func (r *run) local() bool {
	u, err := url.Parse(r.opts.CDPEndpoint)
	if err != nil {
		return false
	}
	h := u.Hostname()
	return h == "localhost" || h == "127.0.0.1" || h == "::1"
}

// describe says in a few words what runs.
func (r *run) describe() string {
	if r.proc == nil {
		detail := "joined " + r.version.Product
		if limits := r.unenforced(); limits != "" {
			detail += "; " + limits
		}
		return detail
	}
	how := "headed"
	if r.proc.headless {
		how = "headless"
	}
	return fmt.Sprintf("launched %s, %s, pid %d", r.version.Product, how, r.proc.pid)
}

// unenforced describes what bypasses the network policy in an attached browser. It
// returns "" for a browser that we launched.
func (r *run) unenforced() string {
	if r.proc != nil || r.opts.Network == nil {
		return ""
	}
	const webRTC = "WebRTC bypasses the policy, unless the browser was started with --webrtc-ip-handling-policy=disable_non_proxied_udp"
	if r.filtered() {
		return webRTC
	}
	return "its network is not filtered: the policy applies only to requests that CDP reports; " + webRTC
}

// ID implements session.Browser.
func (r *run) ID() string { return r.id }

// Is implements session.Browser.
func (r *run) Is(id string) bool { return id == r.id }

// Ping implements session.Browser.
func (r *run) Ping(ctx context.Context) error {
	return r.conn.Browser().Call(ctx, "Browser.getVersion", nil, nil)
}

// Downloads implements session.Browser.
func (r *run) Downloads() (*download.Dir, error) { return r.files() }

// Fetcher implements session.Browser.
func (r *run) Fetcher() session.Fetcher {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	if r.proxy != nil {
		t.Proxy = http.ProxyURL(r.proxy.Client())
	}
	t.DisableKeepAlives = true // one file each: nothing is to stay open after it
	return session.Fetcher{Transport: t, UserAgent: r.version.UserAgent}
}

// close ends a launched browser, lets a joined one go, and waits for all that
// belonged to it.
func (r *run) close() error {
	if r.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		switch {
		case r.proc != nil:
			// Asked to, Chromium writes its profile before it ends.
			p, err := r.conn.Browser().Start(ctx, "Browser.close", nil)
			if err == nil {
				p.Wait(ctx, nil)
			}
		case r.context != "":
			r.conn.Browser().Call(ctx, "Target.disposeBrowserContext", map[string]any{"browserContextId": r.context}, nil)
		default:
			for _, t := range r.Tabs() {
				if t.Owner() != nil {
					r.CloseTab(ctx, t)
				}
			}
		}
	}
	err := r.release()
	r.work.Wait()
	return err
}

// release frees what a run holds once its browser has ended or was let go.
func (r *run) release() error {
	var err error
	r.ending.Do(func() {
		if r.proc != nil {
			ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
			defer cancel()
			err = errors.Join(err, r.proc.close(ctx))
		}
		if r.conn != nil {
			r.conn.Close()
		}
		if r.resumer != nil {
			r.resumer.End()
		}
		for _, t := range r.Tabs() {
			t.Page.Wait()
		}
		if r.proxy != nil {
			err = errors.Join(err, r.proxy.Close())
		}
	})
	return err
}

// failure tells what the wall did with the latest request for a host.
func (r *run) failure(host string) error {
	if r.proxy == nil {
		return nil
	}
	reason, denied := r.proxy.Denied(host)
	if refused := r.refused.find(host); refused != nil {
		reason, denied = refused, true
	}
	if denied {
		var e *executor.Error
		if errors.As(reason, &e) {
			return e
		}
		return executor.Errorf(executor.ErrPolicyDenied, "The user can allow the site with --allow-domain.", "%s: %w", host, reason)
	}
	if r.filtered() && r.proxy.Challenged(host) {
		r.warmUpAgain()
		return &executor.Error{Code: executor.ErrNavigationFailed, Retryable: true, Hint: "Try again.",
			Err: fmt.Errorf("%s could not be loaded: the browser's network process had ended, and runs again", host)}
	}
	if name, failed := r.proxy.Failed(host); failed {
		hint := "Check that the server runs there, then try again."
		switch name {
		case "net::ERR_NAME_NOT_RESOLVED":
			hint = "Check the host name."
		case "net::ERR_PROXY_CONNECTION_FAILED":
			hint = "The proxy that the user gave (--proxy, or the environment) does not let it through: they can check its address, and that it runs."
		}
		return &executor.Error{Code: executor.ErrNavigationFailed, Retryable: true, Err: fmt.Errorf("%s could not be loaded: %s", host, name), Hint: hint}
	}
	return nil
}

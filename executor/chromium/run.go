package chromium

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/attach"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/child"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// An instance is one browser from launch or attachment to exit. It implements
// session.BrowserInstance.
type instance struct {
	id           string
	browser      *Backend
	opts         Options
	conn         *cdpconn.Conn
	proc         *launch.Process // nil for an attached browser
	pooled       *pooledBrowser  // nil without a Pool; owns conn and proc
	proxy        *egress.Proxy   // nil without a NetworkPolicy
	resumer      *child.Process  // nil for a launched browser
	version      cdpconn.Version
	remoteEgress *RemoteEgress // its port serves proxy; otherwise nil
	replica      string        // the address that may be shown of the browserless server; otherwise empty
	context      string        // the browser context that we use; empty means the default one
	ended        chan struct{} // closed when close or evict has disposed of a context in a pool's browser
	endOnce      sync.Once
	evicted      atomic.Pointer[executor.Error] // why evict closed the context or CloseIdle the browser, or nil
	cdpClients   atomic.Int32                   // number of connected CDP clients
	continues    bool                           // on the profile of a browser that CloseIdle closed; set before the browser is used
	work         sync.WaitGroup
	releaseOnce  sync.Once
	cleanupDone  chan struct{}                 // closed when the cleanup after an unexpected exit is complete
	files        func() (*download.Dir, error) // the download directory, created at first use
	quota        *download.Quota               // for all downloads together
	undecided    undecidedDownloads
	// documentDenials has, by host:port, why the latest documents of each host were denied, because the
	// browser only reports that they were blocked. When a document of the host is allowed, possibly at
	// another path, it is removed.
	documentDenials *lru.Cache[string, error]
	answered        []fetch.RequestID // the last requests that got HTTP credentials; used only by follow
	clients         cdpClients
	secrets         page.SecretGuard
	defaultContext  string // id of the default browser context, if CDP clients can connect or with AttachDefaultContext

	warming               sync.Mutex
	proxyCredentialsKnown bool      // the browser has stored the proxy's credentials; guarded by warming
	challenged            time.Time // when the browser last did not know them; guarded by warming

	mu        sync.Mutex // guards the fields below
	changed   notify.Broadcast
	handovers notify.Broadcast // a handover has begun or ended
	tabs      []*session.Tab
	targets   map[target.ID]*session.Tab
	attaching map[target.ID]bool
	openers   map[target.ID]*session.Tab // the opener of each tab that a page opened
	opening   int                        // calls of NewTab in progress; until they return, new tabs are not listed
	lastRaw   int
	transfers map[string]*session.Transfer

	clientDownloads map[string]*clientDownload // by GUID
}

var _ session.BrowserInstance = (*instance)(nil)

// connect launches a browser or attaches to one, and prepares it. A launched browser continues with
// kept unless it is nil. After an error, no process or connection remains.
func (b *Backend) connect(ctx context.Context, kept *keptState) (*instance, error) {
	opts, err := b.opts.withDefaults()
	if err != nil {
		return nil, err
	}
	in := &instance{
		id: strings.ToLower(rand.Text()[:4]), browser: b, opts: opts, cleanupDone: make(chan struct{}), ended: make(chan struct{}),
		targets: make(map[target.ID]*session.Tab), attaching: make(map[target.ID]bool),
		openers:   make(map[target.ID]*session.Tab),
		transfers: make(map[string]*session.Transfer), clientDownloads: make(map[string]*clientDownload),
		documentDenials: newCache[string, error](maxCachedDenials), clients: newCDPClients(),
	}
	in.quota = download.NewQuota(opts.MaxDownloads, opts.MaxDownloadTotal)
	in.quota.ShareUsage(opts.DownloadsDir, opts.DownloadsUsage)
	in.files = sync.OnceValues(func() (*download.Dir, error) {
		return download.OpenShared(opts.DownloadsDir, opts.MaxDownloadBytes, in.quota)
	})
	if kept != nil {
		opts.profile = kept.profile
	}
	if opts.Pool != nil {
		err = in.joinPool(ctx)
	} else {
		err = in.connectAlone(ctx, opts)
	}
	if err != nil {
		in.close()
		return nil, err
	}
	if kept != nil {
		in.restoreKept(ctx, kept)
	}
	if limits := in.unenforced(); limits != "" {
		b.log.Warn("policy is only partly enforced in the browser", "limits", limits)
	}
	return in, nil
}

// startProxy starts the egress proxy, which checks every connection with opts.Network and denies
// pages its own port. If port is not nil, the proxy shares it.
func startProxy(port *egress.Port, opts Options) (*egress.Proxy, error) {
	options := egress.Options{
		Policy: opts.Network, NoProxy: opts.NoProxy, AcceptCertificates: opts.AcceptCertificates, Logger: opts.Logger, Resolver: opts.resolver,
	}
	p, err := egress.NewPrivate(port, options, opts.Proxy)
	if err != nil && !errors.Is(err, executor.ErrBadArgs) {
		err = executor.Errorf(executor.ErrLaunchFailed, "Try again.", "egress proxy did not start: %w", err)
	}
	return p, err
}

// connectAlone launches a browser or attaches to one, and starts to follow its targets.
func (in *instance) connectAlone(ctx context.Context, opts Options) error {
	var remote []string // arguments of a browser on another machine
	switch {
	case opts.Network == nil:
	case opts.Browserless != nil && opts.RemoteEgress != nil:
		var err error
		if remote, err = in.openRemoteEgress(opts); err != nil {
			return err
		}
	default:
		var err error
		if in.proxy, err = startProxy(nil, opts); err != nil {
			return err
		}
		opts.ProxyServer = in.proxy.Addr()
	}
	var t chromedp.Transport
	if opts.Browserless != nil {
		var err error
		if t, in.version, in.replica, err = opts.Browserless.dial(ctx, remote); err != nil {
			return err
		}
	} else if opts.CDPEndpoint != "" {
		at, err := opts.endpoint()
		if err != nil {
			return err
		}
		tr, end, err := attach.Dial(ctx, at)
		if err != nil {
			return err
		}
		t, in.version = tr, end.Version
		if in.resumer, err = startResumer(end.Endpoint); err != nil {
			_ = tr.Close()
			return err
		}
	} else {
		if in.proxy != nil {
			opts.certificateKey = in.proxy.CertificateKey()
		}
		p, err := opts.launch(ctx)
		if err != nil {
			return err
		}
		in.proc, t, in.version = p, p.Transport, p.Version
	}
	in.conn = cdpconn.New(t)
	in.conn.BrowserSession().InOrder() // so that the reply to a command is processed in order with the events
	in.work.Go(func() { follow(in.conn, in.handle) })
	var err error
	if in.proc != nil {
		err = in.autoAttachLaunched(ctx)
	} else {
		err = in.followAttached(ctx)
	}
	if err != nil && in.proc != nil && notify.IsClosed(in.proc.Exited) {
		return in.proc.Failure()
	}
	return err
}

// autoAttachLaunched makes each tab of a launched browser attach automatically before it runs, so
// that no event is missed.
func (in *instance) autoAttachLaunched(ctx context.Context) error {
	if in.opts.CDPClients {
		in.conn.DelayPopupWindows(in.opts.timing.PausedPopup)
		var err error
		if in.defaultContext, _, err = in.browserContexts(ctx); err != nil {
			return err
		}
	}
	attach, err := autoAttach(ctx, in.conn)
	if err != nil {
		return err
	}
	if in.opts.Network != nil {
		if err := interceptDocuments(ctx, in.conn, in.opts.HTTPCredentials); err != nil {
			return err // fail closed
		}
	}
	if err := in.watchDownloads(ctx); err != nil {
		return err
	}
	return attach.Wait(ctx, nil)
}

// followAttached creates a browser context in an attached browser, or follows the tabs of the
// default context. Tabs attach automatically before they run. This includes tabs of other contexts,
// because the browser has no narrower filter. releaseTarget releases those immediately.
func (in *instance) followAttached(ctx context.Context) error {
	s := in.conn.BrowserSession()
	if in.opts.AttachDefaultContext {
		var err error
		if in.defaultContext, _, err = in.browserContexts(ctx); err != nil {
			return err
		}
	} else {
		if err := in.createContext(ctx, in.proxy != nil && in.reachesProxy()); err != nil {
			return err
		}
		if err := in.watchDownloads(ctx); err != nil {
			return err
		}
	}
	attach, err := autoAttach(ctx, in.conn)
	if err == nil {
		err = attach.Wait(ctx, nil)
	}
	if err == nil && in.context == "" {
		// A tab of the user comes into scope when it shows a regular page.
		err = s.Call(ctx, "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": pageTargets}, nil)
	}
	if err != nil {
		return err
	}
	in.waitForExistingTabs(ctx)
	return nil
}

// createContext creates a browser context, whose network goes through r.proxy if proxied is true.
func (in *instance) createContext(ctx context.Context, proxied bool) error {
	params := map[string]any{"disposeOnDetach": true}
	if proxied {
		params["proxyServer"], params["proxyBypassList"] = "http://"+in.proxy.Addr(), "<-loopback>"
	}
	var res target.CreateBrowserContextResult
	if err := in.conn.BrowserSession().Call(ctx, "Target.createBrowserContext", params, &res); err != nil {
		return err
	}
	in.context = string(res.BrowserContextID)
	return nil
}

// inContext adds the id of the instance's browser context to params, which it returns.
func (in *instance) inContext(params map[string]any) map[string]any {
	if in.context != "" {
		params["browserContextId"] = in.context
	}
	return params
}

// pageTargets is the CDP target filter for tabs.
var pageTargets = []map[string]any{{"type": "page"}}

// autoAttach makes the browser attach to every tab before its first document loads.
func autoAttach(ctx context.Context, conn *cdpconn.Conn) (*cdpconn.Pending, error) {
	return conn.BrowserSession().Start(ctx, "Target.setAutoAttach", map[string]any{
		"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": pageTargets,
	})
}

// waitForExistingTabs waits until the tabs that already existed are attached. Attaching to a tab
// that does not respond takes at most Timing.AttachTab.
func (in *instance) waitForExistingTabs(ctx context.Context) {
	_ = in.await(ctx, func() bool { return len(in.attaching) == 0 })
}

// filtered reports whether the browser's network goes through our proxy.
func (in *instance) filtered() bool {
	return in.proxy != nil && (in.proc != nil || (in.context != "" && in.reachesProxy()))
}

// reachesProxy reports whether a browser that we did not launch ourselves can connect to our proxy.
func (in *instance) reachesProxy() bool { return in.local() || in.remoteEgress != nil }

// local reports whether the attached browser runs on this machine.
func (in *instance) local() bool {
	if IsRunningName(in.opts.CDPEndpoint) {
		return true
	}
	u, err := url.Parse(in.opts.CDPEndpoint)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// ID implements session.BrowserInstance.
func (in *instance) ID() string { return in.id }

// HasInstance implements session.BrowserInstance.
func (in *instance) HasInstance(id string) bool { return id == in.id }

// Ping implements session.BrowserInstance.
func (in *instance) Ping(ctx context.Context) error {
	return in.conn.BrowserSession().Call(ctx, "Browser.getVersion", nil, nil)
}

// Downloads implements session.BrowserInstance.
func (in *instance) Downloads() (*download.Dir, error) { return in.files() }

// Fetcher implements session.BrowserInstance.
func (in *instance) Fetcher() session.Fetcher {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	if in.proxy != nil {
		t.Proxy = http.ProxyURL(in.proxy.Client())
		t.TLSClientConfig = in.proxy.ClientTLS()
	}
	t.DisableKeepAlives = true // each fetch is for one file, so no connection is reused
	return session.Fetcher{Transport: &basicAuthTransport{t, in.opts.HTTPCredentials}, UserAgent: in.version.UserAgent}
}

// close terminates a launched browser, detaches from an attached one, or leaves that of a pool, and
// waits for all goroutines of the instance.
func (in *instance) close() error {
	if in.pooled != nil {
		in.leavePool()
	} else if in.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), in.opts.timing.BrowserExit)
		defer cancel()
		switch {
		case in.proc != nil:
			// On this command, Chromium saves its profile before it exits.
			p, err := in.conn.BrowserSession().Start(ctx, "Browser.close", nil)
			if err == nil {
				p.Wait(ctx, nil)
			}
		case in.context != "":
			in.disposeContext(ctx, in.context)
		default:
			for _, t := range in.Tabs() {
				if t.Owner() != nil {
					in.CloseTab(ctx, t)
				}
			}
		}
	}
	err := in.release()
	in.work.Wait()
	return err
}

// release releases the resources of an instance whose browser has exited or was detached.
func (in *instance) release() error {
	var err error
	in.releaseOnce.Do(func() {
		if in.pooled != nil {
			in.pooled.release(in)
			for _, t := range in.Tabs() {
				t.Page.Wait()
			}
			err = in.closeProxy()
			return
		}
		if in.proc != nil {
			ctx, cancel := context.WithTimeout(context.Background(), in.opts.timing.BrowserExit)
			defer cancel()
			err = errors.Join(err, in.proc.Close(ctx))
		}
		if in.conn != nil {
			in.conn.Close()
		}
		if in.resumer != nil {
			in.resumer.End()
		}
		for _, t := range in.Tabs() {
			t.Page.Wait()
		}
		err = errors.Join(err, in.closeProxy())
	})
	return err
}

func (in *instance) closeProxy() error {
	var err error
	if in.proxy != nil {
		err = in.proxy.Close()
	}
	if in.remoteEgress != nil {
		err = errors.Join(err, in.remoteEgress.release())
	}
	return err
}

// networkError returns the policy's or the proxy's error for the latest request to a host, or nil.
func (in *instance) networkError(host string) error {
	if in.proxy == nil {
		return nil
	}
	reason, _ := in.documentDenials.Get(host)
	if at, ok := in.proxy.Challenged(host); ok && reason == nil && in.filtered() && in.forgotCredentials(at) {
		return &executor.Error{Code: executor.ErrNavigationFailed, Retryable: true, Hint: "Try again.",
			Err: fmt.Errorf("loading %s failed: network process restarted", host)}
	}
	if reason == nil {
		reason, _ = in.proxy.Denied(host)
	}
	if reason != nil {
		if e, ok := errors.AsType[*executor.Error](reason); ok {
			return e
		}
		return executor.Errorf(executor.ErrPolicyDenied, "The user can allow the site with Config.AllowDomains.", "%s: %w", host, reason)
	}
	if name, failed := in.proxy.Failed(host); failed {
		hint := "Check that the server runs there, then try again."
		switch name {
		case "net::ERR_NAME_NOT_RESOLVED":
			hint = "Check the host name."
		case "net::ERR_PROXY_CONNECTION_FAILED":
			hint = "The user's proxy (Options.Proxy, or the environment) does not accept the connection. The user can check its address and that it is running."
		}
		return &executor.Error{Code: executor.ErrNavigationFailed, Retryable: true, Err: fmt.Errorf("%s could not be loaded: %s", host, name), Hint: hint}
	}
	return nil
}

package chromium

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/chromedp/chromedp"

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
	backend      *Backend
	opts         Options
	proc         *launch.Process // nil for an attached browser
	pooled       *pooledBrowser  // nil without a Pool; owns conn and proc
	proxy        *egress.Proxy   // nil without a NetworkPolicy
	resumer      *child.Process  // nil for a launched browser
	version      cdpconn.Version
	remoteEgress *RemoteEgress // nil unless the browser reaches proxy through its port
	replica      string        // with browserless, the address of its server that may be shown
	ended        chan struct{} // closed when close or evict has disposed of a context in a pool's browser
	endOnce      sync.Once
	evicted      atomic.Pointer[executor.Error] // why evict closed the context or CloseIdle the browser, or nil
	continues    bool                           // on the profile of a browser that CloseIdle closed; set before the browser is used
	work         sync.WaitGroup
	releaseOnce  sync.Once
	cleanupDone  chan struct{} // closed when the cleanup after an unexpected exit is complete
	secrets      page.SecretGuard
	// defaultContext is the id of the default browser context, if CDP clients can connect or with
	// AttachDefaultContext.
	defaultContext string
	handovers      notify.Broadcast // a handover has begun or ended

	browserContext
	tabs             tabSet
	downloads        *downloads
	documents        *documentFilter
	clients          *cdpClients
	proxyCredentials *proxyCredentials
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
		id: strings.ToLower(rand.Text()[:4]), backend: b, opts: opts, cleanupDone: make(chan struct{}), ended: make(chan struct{}),
		tabs: newTabSet(),
	}
	in.downloads, in.clients, in.proxyCredentials = newDownloads(in), newCDPClients(in), &proxyCredentials{in: in}
	in.documents = &documentFilter{in: in, denials: newCache[string, error](maxCachedDenials)}
	if kept != nil {
		opts.profile = kept.profile
	}
	if opts.Pool != nil {
		err = opts.Pool.join(ctx, in)
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
	var address string // of a browser that was not launched here
	if opts.Browserless != nil {
		for _, replica := range opts.Browserless.URLs {
			opts.closePort(replica)
		}
		var err error
		if t, in.version, in.replica, err = opts.Browserless.dial(ctx, remote, opts.timing); err != nil {
			return err
		}
		address = in.replica
	} else if opts.CDPEndpoint != "" {
		at, err := opts.endpoint()
		if err != nil {
			return err
		}
		opts.closePort(at.URL)
		tr, end, err := attach.Dial(ctx, at)
		if err != nil {
			return err
		}
		t, in.version, address = tr, end.Version, end.URL
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
	if address != "" && !isEncrypted(address) {
		in.secrets.SetUnencrypted()
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
		if in.defaultContext, _, err = browserContexts(ctx, in.conn); err != nil {
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
	if err := in.downloads.watch(ctx); err != nil {
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
		if in.defaultContext, _, err = browserContexts(ctx, in.conn); err != nil {
			return err
		}
	} else {
		var proxy *egress.Proxy
		if in.reachesProxy() {
			proxy = in.proxy
		}
		if err := in.createContext(ctx, proxy); err != nil {
			return err
		}
		if err := in.downloads.watch(ctx); err != nil {
			return err
		}
	}
	attach, err := autoAttach(ctx, in.conn)
	if err == nil {
		err = attach.Wait(ctx, nil)
	}
	if err == nil && in.contextID == "" {
		// A tab of the user comes into scope when it shows a regular page.
		err = s.Call(ctx, "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": pageTargets}, nil)
	}
	if err != nil {
		return err
	}
	in.waitForExistingTabs(ctx)
	return nil
}

// pageTargets is the CDP target filter for tabs.
var pageTargets = []map[string]any{{"type": "page"}}

// autoAttach makes the browser attach to every tab before its first document loads.
func autoAttach(ctx context.Context, conn *cdpconn.Conn) (*cdpconn.Pending, error) {
	return conn.BrowserSession().Start(ctx, "Target.setAutoAttach", map[string]any{
		"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": pageTargets,
	})
}

// waitForExistingTabs waits until the tabs that already existed are attached, at most
// Timing.AttachTab: some of them may not respond.
func (in *instance) waitForExistingTabs(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, in.opts.timing.AttachTab)
	defer cancel()
	_ = in.await(ctx, func() bool { return !in.tabs.isAttaching() })
}

// filtered reports whether the browser's network goes through our proxy.
func (in *instance) filtered() bool {
	return in.proxy != nil && (in.proc != nil || (in.contextID != "" && in.reachesProxy()))
}

// reachesProxy reports whether a browser that we did not launch ourselves can connect to our proxy.
func (in *instance) reachesProxy() bool { return in.opts.local() || in.remoteEgress != nil }

// ID implements session.BrowserInstance.
func (in *instance) ID() string { return in.id }

// HasInstance implements session.BrowserInstance.
func (in *instance) HasInstance(id string) bool { return id == in.id }

// Ping implements session.BrowserInstance.
func (in *instance) Ping(ctx context.Context) error {
	return in.conn.BrowserSession().Call(ctx, "Browser.getVersion", nil, nil)
}

// Downloads implements session.BrowserInstance.
func (in *instance) Downloads() (*download.Dir, error) { return in.downloads.files() }

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
		in.pooled.disposeContext(in)
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
		case in.contextID != "":
			in.browserContext.dispose(ctx, &in.work)
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
	reason, _ := in.documents.denials.Get(host)
	if at, ok := in.proxy.Challenged(host); ok && reason == nil && in.filtered() && in.proxyCredentials.forgotten(at) {
		return &executor.Error{Code: executor.ErrNavigationFailed, Retryable: true, Hint: "Try again.",
			Err: fmt.Errorf("loading %s failed: network process restarted", host)}
	}
	if err := in.documents.denied(host); err != nil {
		return err
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

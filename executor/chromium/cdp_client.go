package chromium

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

var _ executor.CDPBrowser = (*Backend)(nil)

// ConnectCDP implements executor.CDPBrowser. It returns ErrBadArgs without Options.CDPClients, and
// ErrPolicyDenied while a secret is in a page.
//
// A page that a client opens in the default browser context is a tab like any other. Pages in
// browser contexts that a client creates belong to the client: sessions do not see them.
//
// Downloads are allowed if a session allows them. They are stored in Options.DownloadsDir, regardless of
// the directory that a client sets, and filePath in Browser.downloadProgress names the file. If the
// client set a directory that Playwright made below os.TempDir, and that only this user can access,
// filePath names a copy there, whose name is the GUID.
func (b *Backend) ConnectCDP(ctx context.Context, opts *executor.CDPOptions) (executor.CDPConn, error) {
	if !b.opts.CDPClients || b.opts.Pool != nil || b.opts.CDPEndpoint != "" {
		return nil, executor.Errorf(executor.ErrBadArgs, "Set Options.CDPClients, and neither Pool nor CDPEndpoint.",
			"CDP clients cannot connect to this browser")
	}
	i, err := sessionProvider{b}.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	in := i.(*instance)
	if err := in.proxyCredentials.storeInNewTab(ctx); err != nil {
		return nil, err
	}
	cancel, err := in.secrets.ConnectClient(opts)
	if err != nil {
		return nil, err
	}
	// The browser resets the download directory when it detaches the client's session.
	client, err := in.conn.Connect(ctx, in.downloads.restore)
	if err != nil {
		cancel()
		return nil, err
	}
	c := &cdpClient{instance: in, client: client, query: opts != nil && opts.Query, disposed: make(chan string), ended: make(chan struct{})}
	in.clients.connected.Add(1)
	in.work.Go(c.run)
	return c, nil
}

// A cdpClient implements executor.CDPConn.
type cdpClient struct {
	instance *instance
	client   *cdpconn.Client
	query    bool          // see executor.CDPOptions
	disposed chan string   // ids of browser contexts, for run
	ended    chan struct{} // closed when run has returned

	mu  sync.Mutex // guards dir
	dir string     // for copies of downloads; "" means none
}

// Send implements executor.CDPConn.
func (c *cdpClient) Send(ctx context.Context, m executor.CDPMessage) error {
	params := m.Params
	switch m.Method {
	case "Browser.setDownloadBehavior", "Page.setDownloadBehavior":
		params = c.setDownloadBehavior(params)
	case "Target.disposeBrowserContext":
		var p target.DisposeBrowserContextParams
		if cdpconn.Unmarshal([]byte(params), &p) == nil {
			select {
			case c.disposed <- string(p.BrowserContextID):
			case <-c.client.Done():
			}
		}
	}
	return c.client.Send(ctx, cdpconn.ClientMessage{ID: m.ID, SessionID: m.SessionID, Method: m.Method, Params: []byte(params)})
}

// Receive implements executor.CDPConn. It delays the event that a page was attached until the browser
// context has the proxy's credentials, for at most Timing.AttachTab, and the event that a download is
// complete until the file has been moved, for at most Timing.MoveDownload. Later messages wait,
// too, so that their order remains.
func (c *cdpClient) Receive(ctx context.Context) (executor.CDPMessage, error) {
	m, err := c.client.Receive(ctx)
	if err != nil {
		return executor.CDPMessage{}, err
	}
	out := executor.CDPMessage{ID: m.ID, SessionID: m.SessionID, Method: m.Method, Params: json.RawMessage(m.Params), Result: json.RawMessage(m.Result)}
	if m.Error != nil {
		out.Error = new(executor.CDPError)
		if err := json.Unmarshal(m.Error, out.Error); err != nil {
			out.Error.Message = "invalid error of the browser"
		}
	}
	switch m.Method {
	case "Target.attachedToTarget":
		c.awaitCredentials(ctx, out.Params)
	case "Browser.downloadProgress", "Page.downloadProgress":
		out.Params = c.finishedDownload(ctx, out.Params)
	case "":
		if c.query {
			c.awaitCreated(ctx, out.Result)
		}
	}
	return out, nil
}

// awaitCreated waits until the tab that the result of Target.createTarget names is attached.
func (c *cdpClient) awaitCreated(ctx context.Context, result json.RawMessage) {
	var res target.CreateTargetResult
	if cdpconn.Unmarshal([]byte(result), &res) == nil && res.TargetID != "" {
		_, _ = c.instance.awaitTab(ctx, res.TargetID) // it may be closed
	}
}

// TabID implements executor.CDPConn.
func (c *cdpClient) TabID(id string) executor.TabID {
	t := c.instance.tabs.tabOf(target.ID(id))
	if t == nil {
		return ""
	}
	return executor.NewTabID("cdp", c.instance.ID(), t.Raw)
}

// HandedOver implements executor.CDPConn.
func (c *cdpClient) HandedOver(id string) bool {
	if t := c.instance.tabs.tabOf(target.ID(id)); t != nil {
		return t.Page.HandedOver()
	}
	return slices.ContainsFunc(c.instance.tabs.allAttached(), func(t *session.Tab) bool { return t.Page.HandedOver() })
}

// HandoversChanged implements executor.CDPConn.
func (c *cdpClient) HandoversChanged() <-chan struct{} { return c.instance.handovers.Changed() }

// Close implements executor.CDPConn.
func (c *cdpClient) Close() error {
	c.client.Close()
	<-c.ended
	return nil
}

// run closes the pages of browser contexts that the client disposes of. When the client ends, it
// restores what the client changed.
func (c *cdpClient) run() {
	defer close(c.ended)
	in := c.instance
	defer in.clients.connected.Add(-1)
	closing, stop := context.WithCancel(context.Background())
	var closers sync.WaitGroup
	for done := false; !done; {
		select {
		case id := <-c.disposed:
			closers.Go(func() { cdpconn.ClosePages(closing, in.conn, id) })
		case <-c.client.Done():
			done = true
		}
	}
	stop()
	closers.Wait()
	c.client.Close()
	if in.conn.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), in.opts.timing.ProxyRequest)
	defer cancel()
	in.clients.forgetDisposed(ctx)
}

// awaitCredentials waits until the browser context of an attached page has the proxy's credentials,
// so that the client does not see the request for them.
func (c *cdpClient) awaitCredentials(ctx context.Context, params json.RawMessage) {
	in := c.instance
	var e target.EventAttachedToTarget
	if !in.filtered() || cdpconn.Unmarshal([]byte(params), &e) != nil || e.TargetInfo == nil || e.TargetInfo.Type != "page" || !in.clients.own(e.TargetInfo) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, in.opts.timing.AttachTab)
	defer cancel()
	select {
	case <-in.clients.context(string(e.TargetInfo.BrowserContextID)).credentialsDone():
	case <-c.client.Done():
	case <-ctx.Done():
	}
}

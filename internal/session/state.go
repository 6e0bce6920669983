package session

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cookie"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/sitedata"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
)

// A CookieJar is a BrowserInstance all of whose cookies belong to its sessions.
type CookieJar interface {
	// AllCookies returns the cookies of all sites.
	AllCookies(ctx context.Context) ([]statefile.Cookie, error)
	// AddCookies sets cookies of any sites.
	AddCookies(ctx context.Context, cookies []statefile.Cookie) error
}

// A storageState saves and loads the storage state of a browser for a session. It records into which
// browser SessionOptions.State was loaded.
type storageState struct {
	session *Session
	turn    chan struct{}   // holds a value while a call uses the fields below
	loaded  BrowserInstance // the last browser into which the state was loaded
	ignored bool            // whether the log reports that a browser does not allow it
}

// jar returns the cookies of a browser whose storage state may be saved and loaded, or nil.
func (st *storageState) jar(b BrowserInstance) CookieJar {
	if st.session.provider.AttachesToRunning() {
		return nil
	}
	jar, _ := b.(CookieJar)
	return jar
}

// An acquirer returns a browser.
type acquirer func(context.Context) (BrowserInstance, error)

// withState calls use with the directory of state files and a browser whose storage state may be
// saved there.
func (st *storageState) withState(ctx context.Context, op, name string, acquire acquirer, use func(context.Context, BrowserInstance, CookieJar, *statefile.Dir, *executor.StateResult) error) (*executor.StateResult, error) {
	defer st.session.reportDownloads(ctx)
	run := func() (*executor.StateResult, error) {
		file, err := statefile.FileName(name)
		if err != nil {
			return nil, err
		}
		dir, err := statefile.Open(st.session.opts.StateDir)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		if err := st.checkStateAccess(ctx, ""); err != nil {
			return nil, err
		}
		b, err := acquire(ctx)
		if err != nil {
			return nil, err
		}
		jar := st.jar(b)
		if jar == nil {
			if st.session.provider.Kind() != executor.BackendExtension {
				return nil, executor.Errorf(executor.ErrPolicyDenied, "Ask the user to start chrome-mcp without that browser.", "storage state is not available in a browser that chrome-mcp did not start")
			}
			return nil, executor.Errorf(executor.ErrPolicyDenied, "Without the extension, or with ManagerOptions.Prefer cdp, chrome-mcp starts a browser in which it is available.",
				"storage state is not available in the user's Chrome")
		}
		ctx, cancel := context.WithTimeout(ctx, st.session.timing.StorageState)
		defer cancel()
		res := &executor.StateResult{File: file, Origins: []string{}}
		return res, use(ctx, b, jar, dir, res)
	}
	res, err := run()
	if err != nil {
		return nil, executor.Wrap(op, "", asExecutorError(err))
	}
	return res, nil
}

// SaveState writes a state file.
func (st *storageState) SaveState(ctx context.Context, name string) (*executor.StateResult, error) {
	return st.withState(ctx, "save state", name, st.session.browser, func(ctx context.Context, b BrowserInstance, jar CookieJar, dir *statefile.Dir, res *executor.StateResult) error {
		var state statefile.State
		if err := st.collectLocalStorage(ctx, b, &state, res); err != nil {
			return err
		}
		cookies, err := jar.AllCookies(ctx)
		if err != nil {
			return err
		}
		for _, c := range cookies {
			if st.isCookieAllowed(ctx, c, res.Origins) {
				state.Cookies = append(state.Cookies, c)
			} else {
				res.DeniedCookies++
			}
		}
		res.Cookies = len(state.Cookies)
		return dir.Save(name, state)
	})
}

// collectLocalStorage adds the local storage of the session's tabs to state.
func (st *storageState) collectLocalStorage(ctx context.Context, b BrowserInstance, state *statefile.State, res *executor.StateResult) error {
	denied := map[string]bool{}
	for _, t := range b.Tabs() {
		if t.Owner() != st.session {
			continue
		}
		storage, err := onTab(ctx, &tabPage{st.session, st.session.ids.of(b, t)}, "", 0, func(v *page.View) (*sitedata.OriginStorage, error) { return v.LocalStorage(ctx) })
		switch code := executor.CodeOf(err); {
		case code == executor.ErrPolicyDenied:
			denied[t.Page.URL()] = true
		case code == executor.ErrNotActionable, code == executor.ErrTargetGone: // a page without a site, or a closed one
		case err != nil:
			return err
		case !slices.Contains(res.Origins, storage.Origin):
			res.Origins = append(res.Origins, storage.Origin)
			if len(storage.Items) > 0 {
				state.Origins = append(state.Origins, statefile.Origin{Origin: storage.Origin, Items: storage.Items})
			}
			res.Items += len(storage.Items)
		}
	}
	res.DeniedOrigins = len(denied)
	return nil
}

// LoadState restores the contents of a state file.
func (st *storageState) LoadState(ctx context.Context, name string) (*executor.StateResult, error) {
	return st.loadState(ctx, name, st.session.browser)
}

// loadInitialState loads SessionOptions.State into b, unless that has been done. Concurrent calls
// wait for it.
func (st *storageState) loadInitialState(ctx context.Context, b BrowserInstance) error {
	select {
	case st.turn <- struct{}{}:
		defer func() { <-st.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case st.jar(b) == nil:
		if !st.ignored {
			st.session.log.Warn("storage state not loaded: it is not available in the user's Chrome", "state", st.session.opts.State)
		}
		st.ignored = true
		return nil
	case st.loaded == b:
		return nil
	case st.loaded != nil && continues(b):
		st.loaded = b
		return nil // the state was loaded earlier, and pages may have changed it
	}
	res, err := st.loadState(ctx, st.session.opts.State, func(context.Context) (BrowserInstance, error) { return b, nil })
	if err != nil {
		return err
	}
	st.loaded = b
	st.session.log.Info("storage state loaded", "file", res.File, "cookies", res.Cookies, "items", res.Items,
		"denied_cookies", res.DeniedCookies, "denied_origins", res.DeniedOrigins, "invalid_cookies", res.InvalidCookies)
	return nil
}

func (st *storageState) loadState(ctx context.Context, name string, acquire acquirer) (*executor.StateResult, error) {
	return st.withState(ctx, "load state", name, acquire, func(ctx context.Context, b BrowserInstance, jar CookieJar, dir *statefile.Dir, res *executor.StateResult) error {
		state, err := dir.Load(name)
		if err != nil {
			return err
		}
		var origins []statefile.Origin
		for _, o := range state.Origins {
			if st.checkStateAccess(ctx, o.Origin+"/") != nil {
				res.DeniedOrigins++
				continue
			}
			origins = append(origins, o)
			res.Origins = append(res.Origins, o.Origin)
			res.Items += len(o.Items)
		}
		var cookies []statefile.Cookie
		for _, c := range state.Cookies {
			switch {
			case !st.isCookieAllowed(ctx, c, res.Origins):
				res.DeniedCookies++
			case !isAcceptedCookie(c):
				res.InvalidCookies++
			default:
				cookies = append(cookies, c)
			}
		}
		res.Cookies = len(cookies)
		if err := st.restoreLocalStorage(ctx, b, origins); err != nil {
			return err
		}
		return jar.AddCookies(ctx, cookies)
	})
}

// restoreLocalStorage sets items in the local storage of origins. It uses a separate tab, which
// shows the origins one after another without requests to their servers.
func (st *storageState) restoreLocalStorage(ctx context.Context, b BrowserInstance, origins []statefile.Origin) error {
	if len(origins) == 0 {
		return nil
	}
	t, err := b.NewTab(ctx, st.session)
	if err != nil {
		return err
	}
	defer closeUnused(ctx, b, t, st.session.timing.CloseTabs, st.session.log)
	for _, o := range origins {
		if err := st.restoreOrigin(ctx, t, sitedata.OriginStorage{Origin: o.Origin, Items: o.Items}); err != nil {
			return err
		}
	}
	return nil
}

// restoreOrigin sets items in the local storage of an origin, in a tab of the session.
func (st *storageState) restoreOrigin(ctx context.Context, t *Tab, storage sitedata.OriginStorage) error {
	release, err := t.Page.Acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	v := st.session.view(t)
	return v.AsClientError(ctx, v.RestoreLocalStorage(ctx, storage))
}

// checkStateAccess checks with the gate whether the state of a site may be saved or restored. An
// empty site checks whether storage state may be used at all.
func (st *storageState) checkStateAccess(ctx context.Context, site string) error {
	return st.session.gate.Check(ctx, executor.Access{Op: executor.OpState, Origin: executor.OriginInternal, OpenedBySession: true, Destination: site})
}

// isCookieAllowed checks with the gate whether a cookie's domain is allowed. Cookies have no port,
// so a cookie of the same host as an allowed origin is allowed.
func (st *storageState) isCookieAllowed(ctx context.Context, c statefile.Cookie, allowed []string) bool {
	domain := strings.TrimPrefix(c.Domain, ".")
	for _, origin := range allowed {
		if u, err := url.Parse(origin); err == nil && u.Hostname() == strings.Trim(domain, "[]") {
			return true
		}
	}
	if st.checkStateAccess(ctx, "https://"+domain+"/") == nil {
		return true
	}
	return !c.Secure && st.checkStateAccess(ctx, "http://"+domain+"/") == nil
}

// isAcceptedCookie reports whether a browser accepts a cookie of a file.
func isAcceptedCookie(c statefile.Cookie) bool {
	host := strings.TrimPrefix(c.Domain, ".")
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if dotted := host != c.Domain; dotted && (err == nil || cookie.IsPublicSuffix(host)) {
		return false
	}
	site := &url.URL{Scheme: "https", Host: host}
	checked := executor.Cookie{Name: c.Name, Value: c.Value, Path: c.Path, Expires: cookie.Expiry(c.Expires), Secure: c.Secure, SameSite: c.SameSite}
	if host != c.Domain {
		checked.Domain = host
	}
	_, err = cookie.Check(checked, site)
	return err == nil
}

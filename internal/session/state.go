package session

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cookie"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
)

// A CookieJar is a Browser whose cookies are all of its sessions' own doing.
type CookieJar interface {
	// AllCookies returns the cookies of all sites.
	AllCookies(ctx context.Context) ([]statefile.Cookie, error)
	// AddCookies sets cookies of whatever sites.
	AddCookies(ctx context.Context, cookies []statefile.Cookie) error
}

// stateLimit bounds the saving or loading of a state.
const stateLimit = time.Minute

// withState runs use with the folder of state files and a browser whose state
// may be kept there.
func (s *Session) withState(ctx context.Context, op, name string, use func(context.Context, Browser, CookieJar, *statefile.Dir, *executor.State) error) (*executor.State, error) {
	run := func() (*executor.State, error) {
		file, err := statefile.FileName(name)
		if err != nil {
			return nil, err
		}
		dir, err := statefile.Open(s.opts.StateDir)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		if err := s.mayKeep(ctx, ""); err != nil {
			return nil, err
		}
		b, err := s.browser(ctx)
		if err != nil {
			return nil, err
		}
		jar, ok := b.(CookieJar)
		if !ok || s.host.Joins() {
			return nil, executor.Errorf(executor.ErrPolicyDenied, "Without the extension, or with --prefer=cdp, chrome-mcp starts a browser where it works.",
				"this browser is its user's own, and a file of its logins would be a copy of theirs")
		}
		ctx, cancel := context.WithTimeout(ctx, stateLimit)
		defer cancel()
		res := &executor.State{File: file, Origins: []string{}}
		return res, use(ctx, b, jar, dir, res)
	}
	res, err := run()
	if err != nil {
		return nil, executor.Wrap(op, "", explain(err))
	}
	return res, nil
}

// SaveState writes a state file.
func (s *Session) SaveState(ctx context.Context, name string) (*executor.State, error) {
	return s.withState(ctx, "save state", name, func(ctx context.Context, b Browser, jar CookieJar, dir *statefile.Dir, res *executor.State) error {
		var state statefile.State
		if err := s.keepItems(ctx, b, &state, res); err != nil {
			return err
		}
		cookies, err := jar.AllCookies(ctx)
		if err != nil {
			return err
		}
		for _, c := range cookies {
			if s.mayKeepCookie(ctx, c, res.Origins) {
				state.Cookies = append(state.Cookies, c)
			} else {
				res.DeniedCookies++
			}
		}
		res.Cookies = len(state.Cookies)
		return dir.Save(name, state)
	})
}

// keepItems takes over the local storage of the session's tabs.
func (s *Session) keepItems(ctx context.Context, b Browser, state *statefile.State, res *executor.State) error {
	denied := map[string]bool{}
	for _, t := range b.Tabs() {
		if t.Owner() != s {
			continue
		}
		kept, err := onTab(ctx, s, "", s.id(b, t), 0, func(v *page.View) (*page.Kept, error) { return v.KeptItems(ctx) })
		switch code := executor.CodeOf(err); {
		case code == executor.ErrPolicyDenied:
			denied[t.Page.URL()] = true
		case code == executor.ErrNotActionable, code == executor.ErrTargetGone: // a page of no site, or none any more
		case err != nil:
			return err
		case !slices.Contains(res.Origins, kept.Origin):
			res.Origins = append(res.Origins, kept.Origin)
			if len(kept.Items) > 0 {
				state.Origins = append(state.Origins, statefile.Origin{Origin: kept.Origin, Items: kept.Items})
			}
			res.Items += len(kept.Items)
		}
	}
	res.DeniedOrigins = len(denied)
	return nil
}

// LoadState brings back what is in a state file.
func (s *Session) LoadState(ctx context.Context, name string) (*executor.State, error) {
	return s.withState(ctx, "load state", name, func(ctx context.Context, b Browser, jar CookieJar, dir *statefile.Dir, res *executor.State) error {
		state, err := dir.Load(name)
		if err != nil {
			return err
		}
		var origins []statefile.Origin
		for _, o := range state.Origins {
			if s.mayKeep(ctx, o.Origin+"/") != nil {
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
			case !s.mayKeepCookie(ctx, c, res.Origins):
				res.DeniedCookies++
			case !taken(c):
				res.DeadCookies++
			default:
				cookies = append(cookies, c)
			}
		}
		res.Cookies = len(cookies)
		if err := s.bringItems(ctx, b, origins); err != nil {
			return err
		}
		return jar.AddCookies(ctx, cookies)
	})
}

// bringItems puts items into the local storage of origins, in a tab of its own
// that shows each of them in turn, with no request to its server.
func (s *Session) bringItems(ctx context.Context, b Browser, origins []statefile.Origin) error {
	if len(origins) == 0 {
		return nil
	}
	t, err := b.NewTab(ctx, s)
	if err != nil {
		return err
	}
	defer func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if _, err := b.CloseTab(limit, t); err != nil {
			s.log.Debug("the tab that a state was loaded in was not closed", "error", err)
		}
	}()
	for _, o := range origins {
		_, err := onTab(ctx, s, "", s.id(b, t), 0, func(v *page.View) (struct{}, error) {
			return struct{}{}, v.BringItems(ctx, page.Kept{Origin: o.Origin, Items: o.Items})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mayKeep asks the gate about a site; about none, whether states are kept at
// all.
func (s *Session) mayKeep(ctx context.Context, site string) error {
	return s.gate.Check(ctx, executor.Access{Op: executor.OpState, Origin: executor.OriginOurs, OwnTab: true, Destination: site})
}

// mayKeepCookie asks the gate about the domain of a cookie. Cookies know no
// ports: one of the very host of an origin that is allowed goes with it.
func (s *Session) mayKeepCookie(ctx context.Context, c statefile.Cookie, allowed []string) bool {
	domain := strings.TrimPrefix(c.Domain, ".")
	for _, origin := range allowed {
		if u, err := url.Parse(origin); err == nil && u.Hostname() == strings.Trim(domain, "[]") {
			return true
		}
	}
	if s.mayKeep(ctx, "https://"+domain+"/") == nil {
		return true
	}
	return !c.Secure && s.mayKeep(ctx, "http://"+domain+"/") == nil
}

// taken reports whether a browser takes a cookie of a file.
func taken(c statefile.Cookie) bool {
	host := strings.TrimPrefix(c.Domain, ".")
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if dotted := host != c.Domain; dotted && (err == nil || cookie.IsPublicSuffix(host)) {
		return false
	}
	site := &url.URL{Scheme: "https", Host: host}
	checked := executor.Cookie{Name: c.Name, Value: c.Value, Path: c.Path, Expires: int64(max(c.Expires, 0)), Secure: c.Secure, SameSite: c.SameSite}
	if host != c.Domain {
		checked.Domain = host
	}
	_, err = cookie.Check(checked, site)
	return err == nil
}

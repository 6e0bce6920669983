package executortest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// keeps runs a case on storage.html, on a site that no other case uses: cookies belong to a host,
// regardless of its port.
func keeps(s *suite.Runner, t *testing.T, name string, f func(c *suite.Case, k *suite.Keeper)) {
	s.Page(t, name, "", func(c *suite.Case) {
		k := &suite.Keeper{}
		c.Exec = c.Session(executor.SessionOptions{Gate: k})
		tab := c.OpenURL(shop(c, "app", "/p/"+c.ID+"/storage.html"))
		c.Tab = tab.ID
		f(c, k)
	})
}

// shop returns the URL of a path on a host of the case's site.
func shop(c *suite.Case, host, path string) string {
	return fmt.Sprintf("http://%s.shop%s.localhost:%d%s", host, c.ID, c.Port, path)
}

// shopDomain returns the parent domain of the hosts of the case's site.
func shopDomain(c *suite.Case) string { return "shop" + c.ID + ".localhost" }

// wantSent loads a page of the case's site and checks the cookies that the server received.
func wantSent(c *suite.Case, host, want string) {
	c.Helper()
	c.GoTo(shop(c, host, "/cookies"), nil)
	c.WantValue("document.body.textContent", want)
}

// cookieNames lists cookies and fails the case if that fails.
func cookieNames(c *suite.Case, opts *executor.CookiesOptions) *executor.Cookies {
	c.Helper()
	list, err := c.Page().Cookies(c.Ctx, opts)
	if err != nil {
		c.Fatalf("cookies: %v", err)
	}
	return list
}

// setCookie sets a cookie and fails the case if that fails.
func setCookie(c *suite.Case, cookie executor.Cookie) {
	c.Helper()
	if r, err := c.Page().SetCookie(c.Ctx, cookie); err != nil || r.Count != 1 {
		c.Fatalf("set %+v: %+v, %v", cookie, r, err)
	}
}

// namesOf returns the names of cookies, separated by spaces.
func namesOf(list *executor.Cookies) string {
	var names []string
	for _, cookie := range list.Cookies {
		names = append(names, cookie.Name)
	}
	return strings.Join(names, " ")
}

func cookies(s *suite.Runner, t *testing.T) {
	keeps(s.Shared(), t, "new cookie is sent with the next request", func(c *suite.Case, _ *suite.Keeper) {
		setCookie(c, executor.Cookie{Name: "sid", Value: "one"})
		c.WantValue("document.cookie", "sid=one")
		setCookie(c, executor.Cookie{Name: "sid", Value: "two", HTTPOnly: true, SameSite: executor.SameSiteLax})
		wantSent(c, "app", "sid=two")
		c.WantValue("document.cookie", "")
		wantSent(c, "pay", "")
	})
	keeps(s.Shared(), t, "attributes are listed, value only on request", func(c *suite.Case, k *suite.Keeper) {
		expires := time.Unix(time.Now().AddDate(0, 0, 1).Unix(), 0)
		setCookie(c, executor.Cookie{Name: "full", Value: "s3cr3t", Domain: shopDomain(c), Path: "/p", Expires: expires, HTTPOnly: true, Secure: true, SameSite: executor.SameSiteNone})
		want := executor.Cookie{Name: "full", Bytes: 6, Domain: "." + shopDomain(c), Path: "/p", Expires: expires, HTTPOnly: true, Secure: true, SameSite: executor.SameSiteNone}
		list := cookieNames(c, nil)
		if len(list.Cookies) != 1 || list.Cookies[0] != want || list.Total != 1 || list.After != "" || "http://app."+shopDomain(c) != list.Origin[:strings.LastIndexByte(list.Origin, ':')] {
			c.Errorf("%+v, want %+v", list, want)
		}
		want.Value = "s3cr3t"
		if list = cookieNames(c, &executor.CookiesOptions{Values: true, Names: []string{"full"}}); len(list.Cookies) != 1 || list.Cookies[0] != want {
			c.Errorf("%+v, want %+v", list, want)
		}
		if list = cookieNames(c, &executor.CookiesOptions{Names: []string{"other"}}); len(list.Cookies) != 0 {
			c.Errorf("another name: %+v", list)
		}
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpStorage })
		if list = cookieNames(c, nil); len(list.Cookies) != 1 {
			c.Errorf("without the grant: %+v", list)
		}
		_, err := c.Page().Cookies(c.Ctx, &executor.CookiesOptions{Values: true})
		c.WantCode(err, executor.ErrPolicyDenied)
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpRead })
		_, err = c.Page().Cookies(c.Ctx, nil)
		c.WantCode(err, executor.ErrPolicyDenied)
	})
	keeps(s.Shared(), t, "HttpOnly cookies", func(c *suite.Case, _ *suite.Keeper) {
		c.GoTo(shop(c, "app", "/cookies?set=hidden%3D1%3BHttpOnly&set=plain%3D22"), nil)
		c.WantValue("document.cookie", "plain=22")
		list := cookieNames(c, nil)
		if namesOf(list) != "hidden plain" || !list.Cookies[0].HTTPOnly || list.Cookies[1].HTTPOnly || list.Cookies[0].Bytes != 1 || list.Cookies[1].Bytes != 2 {
			c.Errorf("%+v", list)
		}
	})
	keeps(s, t, "only cookies that the site receives", func(c *suite.Case, _ *suite.Keeper) {
		frame := fmt.Sprintf("http://frame%s.localhost:%d/cookies", c.ID, c.Port)
		c.GoTo(frame+"?set=theirs%3D1", nil)
		c.GoTo(shop(c, "pay", "/cookies?set=pay%3D1&set=all%3D1%3Bdomain%3D"+shopDomain(c)), nil)
		c.GoTo(shop(c, "app", "/cookies?set=mine%3D1&set=deep%3D1%3Bpath%3D/deep"), nil)
		c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.src = %q; document.body.append(f); })", frame), nil)
		if got := namesOf(cookieNames(c, nil)); got != "all mine" {
			c.Errorf("listed %q", got)
		}
	})
	keeps(s.Shared(), t, "long list is paginated", func(c *suite.Case, _ *suite.Keeper) {
		path := "/cookies?" // the browser stores cookies of scripts asynchronously
		for i := 10; i < 40; i++ {
			path += fmt.Sprintf("set=c%d%%3D%s&", i, strings.Repeat("x", 100))
		}
		c.GoTo(shop(c, "app", path), nil)
		var all []string
		after := ""
		for range 10 {
			list := cookieNames(c, &executor.CookiesOptions{Values: true, MaxChars: 1000, After: after})
			if list.Total != 30 || len(list.Cookies) == 0 || len(list.Cookies) > 8 {
				c.Fatalf("%d of %d, after %q", len(list.Cookies), list.Total, after)
			}
			all = append(all, namesOf(list))
			if after = list.After; after == "" {
				break
			}
		}
		if got := strings.Fields(strings.Join(all, " ")); len(got) != 30 || got[0] != "c10" || got[29] != "c39" {
			c.Errorf("%q", all)
		}
	})
	keeps(s.Shared(), t, "invalid cookie", func(c *suite.Case, _ *suite.Keeper) {
		for _, tt := range []struct {
			cookie executor.Cookie
			says   string
		}{
			{executor.Cookie{Name: "a", Domain: "localhost"}, "public suffix"},
			{executor.Cookie{Name: "a", Domain: "pay." + shopDomain(c)}, "neither that host nor a parent domain"},
			{executor.Cookie{Name: "a", Domain: "example.com"}, "neither that host nor a parent domain"},
			{executor.Cookie{Name: "a;b"}, "invalid cookie name"},
			{executor.Cookie{Name: "__Host-a", Value: "s3cr3t"}, "__Host-"},
			{executor.Cookie{Name: "a", SameSite: executor.SameSiteNone}, "secure"},
		} {
			_, err := c.Page().SetCookie(c.Ctx, tt.cookie)
			c.WantCode(err, executor.ErrBadArgs, tt.says)
			c.WantNotIn(err.Error(), "s3cr3t")
		}
		wantSent(c, "app", "")
	})
	keeps(s.Shared(), t, "parent domain that is denied", func(c *suite.Case, k *suite.Keeper) {
		setCookie(c, executor.Cookie{Name: "all", Value: "1", Domain: shopDomain(c)})
		setCookie(c, executor.Cookie{Name: "own", Value: "1"})
		wantSent(c, "pay", "all=1")
		wantSent(c, "app", "all=1; own=1")
		above := strings.Replace(shop(c, "", "/"), "//.", "//", 1)
		k.Deny(func(a executor.Access) bool { return a.Destination == above && a.Op == executor.OpStorage })
		_, err := c.Page().SetCookie(c.Ctx, executor.Cookie{Name: "all", Value: "2", Domain: shopDomain(c)})
		c.WantCode(err, executor.ErrPolicyDenied)
		_, err = c.Page().DeleteCookies(c.Ctx, []string{"own", "all"})
		c.WantCode(err, executor.ErrPolicyDenied)
		wantSent(c, "app", "all=1; own=1")
		if r, err := c.Page().DeleteCookies(c.Ctx, nil); err != nil || r.Count != 1 || r.SkippedCookies != 1 {
			c.Errorf("%+v, %v", r, err)
		}
		wantSent(c, "app", "all=1")
	})
	keeps(s.Shared(), t, "deleted", func(c *suite.Case, k *suite.Keeper) {
		c.GoTo(shop(c, "app", "/cookies?set=a%3D1%3BHttpOnly&set=b%3D1%3Bdomain%3D"+shopDomain(c)+"&set=c%3D1&set=c%3D2%3Bpath%3D/cookies&set=deep%3D1%3Bpath%3D/deep"), nil)
		if r, err := c.Page().DeleteCookies(c.Ctx, []string{"c", "nosuch"}); err != nil || r.Count != 2 || r.SkippedCookies != 0 {
			c.Errorf("%+v, %v", r, err)
		}
		wantSent(c, "app", "a=1; b=1")
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpStorage })
		_, err := c.Page().DeleteCookies(c.Ctx, nil)
		c.WantCode(err, executor.ErrPolicyDenied)
		k.Deny(nil)
		if r, err := c.Page().DeleteCookies(c.Ctx, nil); err != nil || r.Count != 2 {
			c.Errorf("%+v, %v", r, err)
		}
		wantSent(c, "app", "")
		c.GoTo(shop(c, "app", "/deep/cookies"), nil)
		if got := namesOf(cookieNames(c, nil)); got != "deep" {
			c.Errorf("left %q", got)
		}
	})
	s.Shared().Page(t, "page without an origin", "second.html", func(c *suite.Case) { wantNoStorageOrigin(c) })
}

// wantNoStorageOrigin checks the error for a page without an origin.
func wantNoStorageOrigin(c *suite.Case) {
	c.Helper()
	blank := c.OpenURL("")
	sandboxed := c.OpenURL(c.Path("/sandboxed"))
	for _, tab := range []executor.TabID{blank.ID, sandboxed.ID} {
		_, err := pagetest.Of(c.Exec, tab).Cookies(c.Ctx, nil)
		c.WantCode(err, executor.ErrNotActionable, "no cookies or storage")
		_, err = pagetest.Of(c.Exec, tab).SetCookie(c.Ctx, executor.Cookie{Name: "a"})
		c.WantCode(err, executor.ErrNotActionable)
		_, err = pagetest.Of(c.Exec, tab).Items(c.Ctx, executor.StorageLocal, nil)
		c.WantCode(err, executor.ErrNotActionable, "no cookies or storage")
		_, err = pagetest.Of(c.Exec, tab).SetItem(c.Ctx, executor.StorageSession, "a", "b")
		c.WantCode(err, executor.ErrNotActionable)
	}
}

// items lists items and fails the case if that fails.
func items(c *suite.Case, area executor.StorageArea, opts *executor.ItemsOptions) *executor.Items {
	c.Helper()
	list, err := c.Page().Items(c.Ctx, area, opts)
	if err != nil {
		c.Fatalf("items: %v", err)
	}
	return list
}

func storage(s *suite.Runner, t *testing.T) {
	for _, area := range []executor.StorageArea{executor.StorageLocal, executor.StorageSession} {
		keeps(s.Shared(), t, string(area)+", page overrides Storage methods", func(c *suite.Case, k *suite.Keeper) {
			c.Eval(fmt.Sprintf("keep(%[1]q, 'theme', 'dark'); keep(%[1]q, 'length', '12'); keep(%[1]q, 'getItem', ''); keep(%[1]q, '', 'nameless')", area), nil)
			want := []executor.Item{{Key: "", Chars: 8}, {Key: "getItem"}, {Key: "length", Chars: 2}, {Key: "theme", Chars: 4}}
			if got := items(c, area, nil); fmt.Sprint(got.Items) != fmt.Sprint(want) || got.Total != 4 || got.After != "" || !strings.HasPrefix(got.Origin, "http://app.shop") {
				c.Errorf("%+v, want %+v", got, want)
			}
			if got := items(c, area, &executor.ItemsOptions{Values: true, Keys: []string{"theme"}}); len(got.Items) != 1 || got.Items[0].Value != "dark" {
				c.Errorf("%+v", got)
			}
			if r, err := c.Page().SetItem(c.Ctx, area, "theme", "light"); err != nil || r.Count != 1 {
				c.Errorf("%+v, %v", r, err)
			}
			c.WantValue(fmt.Sprintf("kept(%q, 'theme')", area), "light")
			if r, err := c.Page().RemoveItems(c.Ctx, area, []string{"theme", "nosuch"}); err != nil || r.Count != 1 {
				c.Errorf("%+v, %v", r, err)
			}
			c.WantValue(fmt.Sprintf("kept(%q, 'theme')", area), "null")
			k.Deny(func(a executor.Access) bool { return a.Op == executor.OpStorage })
			_, err := c.Page().Items(c.Ctx, area, &executor.ItemsOptions{Values: true})
			c.WantCode(err, executor.ErrPolicyDenied)
			_, err = c.Page().SetItem(c.Ctx, area, "length", "0")
			c.WantCode(err, executor.ErrPolicyDenied)
			_, err = c.Page().RemoveItems(c.Ctx, area, nil)
			c.WantCode(err, executor.ErrPolicyDenied)
			if got := items(c, area, nil); got.Total != 3 {
				c.Errorf("%+v", got)
			}
			k.Deny(nil)
			if r, err := c.Page().RemoveItems(c.Ctx, area, nil); err != nil || r.Count != 3 {
				c.Errorf("%+v, %v", r, err)
			}
			c.WantValue(fmt.Sprintf("kept(%q, 'length')", area), "null")
		})
	}
	keeps(s.Shared(), t, "long list is paginated", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval("for (let i = 10; i < 40; i++) keep('local', 'k' + i, 'x'.repeat(i)); keep('local', 'y'.repeat(3000), ''); keep('local', 'big', 'b'.repeat(1e5))", nil)
		var keys []string
		after := ""
		for range 10 {
			list := items(c, executor.StorageLocal, &executor.ItemsOptions{MaxChars: 200, After: after})
			if list.Total != 32 || len(list.Items) == 0 || len(list.Items) > 10 {
				c.Fatalf("%d of %d, after %q", len(list.Items), list.Total, after)
			}
			for _, item := range list.Items {
				keys = append(keys, item.Key)
			}
			if after = list.After; after == "" {
				break
			}
		}
		if len(keys) != 32 || keys[0] != "big" || keys[1] != "k10" || len(keys[31]) != 500 {
			c.Errorf("%q", keys)
		}
		list := items(c, executor.StorageLocal, &executor.ItemsOptions{Values: true, MaxChars: 500})
		if item := list.Items[0]; len(list.Items) != 1 || !item.Truncated || item.Chars != 1e5 || len(item.Value) < 400 || len(item.Value) > 500 || list.After != "big" {
			c.Errorf("%+v", list)
		}
	})
	keeps(s.Shared(), t, "full", func(c *suite.Case, _ *suite.Keeper) {
		_, err := c.Page().SetItem(c.Ctx, executor.StorageLocal, "big", strings.Repeat("s3cr3t", 1_000_000))
		c.WantCode(err, executor.ErrNotActionable, "full")
		c.WantNotIn(err.Error(), "s3cr3t")
		if got := items(c, executor.StorageLocal, nil); got.Total != 0 {
			c.Errorf("%+v", got)
		}
	})
	keeps(s.Shared(), t, "page's origin only", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval("keep('local', 'mine', '1')", nil)
		c.GoTo(shop(c, "pay", "/p/"+c.ID+"/storage.html"), nil)
		if got := items(c, executor.StorageLocal, nil); got.Total != 0 {
			c.Errorf("%+v", got)
		}
		_, err := c.Page().Items(c.Ctx, "cache", nil)
		c.WantCode(err, executor.ErrBadArgs, "local or session")
	})
	s.Shared().Page(t, "page without an origin", "second.html", func(c *suite.Case) { wantNoStorageOrigin(c) })
}

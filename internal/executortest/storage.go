package executortest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// keeps runs a case on storage.html, on a site that no other case uses: cookies belong to a host,
// regardless of its port.
func (s *suite) keeps(t *testing.T, name string, f func(c *testCase, k *keeper)) {
	s.page(t, name, "", func(c *testCase) {
		k := &keeper{}
		c.exec = c.session(executor.SessionOptions{Gate: k})
		tab := c.openURL(c.shop("app", "/p/"+c.id+"/storage.html"))
		c.tab = tab.ID
		f(c, k)
	})
}

// shop returns the URL of a path on a host of the case's site.
func (c *testCase) shop(host, path string) string {
	return fmt.Sprintf("http://%s.shop%s.localhost:%d%s", host, c.id, c.port, path)
}

// shopDomain returns the parent domain of the hosts of the case's site.
func (c *testCase) shopDomain() string { return "shop" + c.id + ".localhost" }

// wantSent loads a page of the case's site and checks the cookies that the server received.
func (c *testCase) wantSent(host, want string) {
	c.Helper()
	c.goTo(c.shop(host, "/cookies"), nil)
	c.wantValue("document.body.textContent", want)
}

// cookies lists cookies and fails the case if that fails.
func (c *testCase) cookies(opts *executor.CookiesOptions) *executor.Cookies {
	c.Helper()
	list, err := c.page().Cookies(c.ctx, opts)
	if err != nil {
		c.Fatalf("cookies: %v", err)
	}
	return list
}

// setCookie sets a cookie and fails the case if that fails.
func (c *testCase) setCookie(cookie executor.Cookie) {
	c.Helper()
	if r, err := c.page().SetCookie(c.ctx, cookie); err != nil || r.Count != 1 {
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

func (s *suite) cookies(t *testing.T) {
	s.keeps(t, "new cookie is sent with the next request", func(c *testCase, _ *keeper) {
		c.setCookie(executor.Cookie{Name: "sid", Value: "one"})
		c.wantValue("document.cookie", "sid=one")
		c.setCookie(executor.Cookie{Name: "sid", Value: "two", HTTPOnly: true, SameSite: executor.SameSiteLax})
		c.wantSent("app", "sid=two")
		c.wantValue("document.cookie", "")
		c.wantSent("pay", "")
	})
	s.keeps(t, "attributes are listed, value only on request", func(c *testCase, k *keeper) {
		expires := time.Now().AddDate(0, 0, 1).Unix()
		c.setCookie(executor.Cookie{Name: "full", Value: "s3cr3t", Domain: c.shopDomain(), Path: "/p", Expires: expires, HTTPOnly: true, Secure: true, SameSite: executor.SameSiteNone})
		want := executor.Cookie{Name: "full", Bytes: 6, Domain: "." + c.shopDomain(), Path: "/p", Expires: expires, HTTPOnly: true, Secure: true, SameSite: executor.SameSiteNone}
		list := c.cookies(nil)
		if len(list.Cookies) != 1 || list.Cookies[0] != want || list.Total != 1 || list.After != "" || "http://app."+c.shopDomain() != list.Origin[:strings.LastIndexByte(list.Origin, ':')] {
			c.Errorf("%+v, want %+v", list, want)
		}
		want.Value = "s3cr3t"
		if list = c.cookies(&executor.CookiesOptions{Values: true, Names: []string{"full"}}); len(list.Cookies) != 1 || list.Cookies[0] != want {
			c.Errorf("%+v, want %+v", list, want)
		}
		if list = c.cookies(&executor.CookiesOptions{Names: []string{"other"}}); len(list.Cookies) != 0 {
			c.Errorf("another name: %+v", list)
		}
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpStorage })
		if list = c.cookies(nil); len(list.Cookies) != 1 {
			c.Errorf("without the grant: %+v", list)
		}
		_, err := c.page().Cookies(c.ctx, &executor.CookiesOptions{Values: true})
		c.wantCode(err, executor.ErrPolicyDenied)
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpRead })
		_, err = c.page().Cookies(c.ctx, nil)
		c.wantCode(err, executor.ErrPolicyDenied)
	})
	s.keeps(t, "HttpOnly cookies", func(c *testCase, _ *keeper) {
		c.goTo(c.shop("app", "/cookies?set=hidden%3D1%3BHttpOnly&set=plain%3D22"), nil)
		c.wantValue("document.cookie", "plain=22")
		list := c.cookies(nil)
		if namesOf(list) != "hidden plain" || !list.Cookies[0].HTTPOnly || list.Cookies[1].HTTPOnly || list.Cookies[0].Bytes != 1 || list.Cookies[1].Bytes != 2 {
			c.Errorf("%+v", list)
		}
	})
	s.keeps(t, "only cookies that the site receives", func(c *testCase, _ *keeper) {
		frame := fmt.Sprintf("http://frame%s.localhost:%d/cookies", c.id, c.port)
		c.goTo(frame+"?set=theirs%3D1", nil)
		c.goTo(c.shop("pay", "/cookies?set=pay%3D1&set=all%3D1%3Bdomain%3D"+c.shopDomain()), nil)
		c.goTo(c.shop("app", "/cookies?set=mine%3D1&set=deep%3D1%3Bpath%3D/deep"), nil)
		c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.src = %q; document.body.append(f); })", frame), nil)
		if got := namesOf(c.cookies(nil)); got != "all mine" {
			c.Errorf("listed %q", got)
		}
	})
	s.keeps(t, "long list is paginated", func(c *testCase, _ *keeper) {
		path := "/cookies?" // the browser stores cookies of scripts asynchronously
		for i := 10; i < 40; i++ {
			path += fmt.Sprintf("set=c%d%%3D%s&", i, strings.Repeat("x", 100))
		}
		c.goTo(c.shop("app", path), nil)
		var all []string
		after := ""
		for range 10 {
			list := c.cookies(&executor.CookiesOptions{Values: true, MaxChars: 1000, After: after})
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
	s.keeps(t, "invalid cookie", func(c *testCase, _ *keeper) {
		for _, tt := range []struct {
			cookie executor.Cookie
			says   string
		}{
			{executor.Cookie{Name: "a", Domain: "localhost"}, "public suffix"},
			{executor.Cookie{Name: "a", Domain: "pay." + c.shopDomain()}, "neither that host nor a parent domain"},
			{executor.Cookie{Name: "a", Domain: "example.com"}, "neither that host nor a parent domain"},
			{executor.Cookie{Name: "a;b"}, "invalid cookie name"},
			{executor.Cookie{Name: "__Host-a", Value: "s3cr3t"}, "__Host-"},
			{executor.Cookie{Name: "a", SameSite: executor.SameSiteNone}, "secure"},
		} {
			_, err := c.page().SetCookie(c.ctx, tt.cookie)
			c.wantCode(err, executor.ErrBadArgs, tt.says)
			c.wantNotIn(err.Error(), "s3cr3t")
		}
		c.wantSent("app", "")
	})
	s.keeps(t, "parent domain that is denied", func(c *testCase, k *keeper) {
		c.setCookie(executor.Cookie{Name: "all", Value: "1", Domain: c.shopDomain()})
		c.setCookie(executor.Cookie{Name: "own", Value: "1"})
		c.wantSent("pay", "all=1")
		c.wantSent("app", "all=1; own=1")
		above := strings.Replace(c.shop("", "/"), "//.", "//", 1)
		k.deny(func(a executor.Access) bool { return a.Destination == above && a.Op == executor.OpStorage })
		_, err := c.page().SetCookie(c.ctx, executor.Cookie{Name: "all", Value: "2", Domain: c.shopDomain()})
		c.wantCode(err, executor.ErrPolicyDenied)
		_, err = c.page().DeleteCookies(c.ctx, []string{"own", "all"})
		c.wantCode(err, executor.ErrPolicyDenied)
		c.wantSent("app", "all=1; own=1")
		if r, err := c.page().DeleteCookies(c.ctx, nil); err != nil || r.Count != 1 || r.SkippedCookies != 1 {
			c.Errorf("%+v, %v", r, err)
		}
		c.wantSent("app", "all=1")
	})
	s.keeps(t, "deleted", func(c *testCase, k *keeper) {
		c.goTo(c.shop("app", "/cookies?set=a%3D1%3BHttpOnly&set=b%3D1%3Bdomain%3D"+c.shopDomain()+"&set=c%3D1&set=c%3D2%3Bpath%3D/cookies&set=deep%3D1%3Bpath%3D/deep"), nil)
		if r, err := c.page().DeleteCookies(c.ctx, []string{"c", "nosuch"}); err != nil || r.Count != 2 || r.SkippedCookies != 0 {
			c.Errorf("%+v, %v", r, err)
		}
		c.wantSent("app", "a=1; b=1")
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpStorage })
		_, err := c.page().DeleteCookies(c.ctx, nil)
		c.wantCode(err, executor.ErrPolicyDenied)
		k.deny(nil)
		if r, err := c.page().DeleteCookies(c.ctx, nil); err != nil || r.Count != 2 {
			c.Errorf("%+v, %v", r, err)
		}
		c.wantSent("app", "")
		c.goTo(c.shop("app", "/deep/cookies"), nil)
		if got := namesOf(c.cookies(nil)); got != "deep" {
			c.Errorf("left %q", got)
		}
	})
	s.page(t, "page without an origin", "second.html", func(c *testCase) { c.wantNoStorageOrigin() })
}

// wantNoStorageOrigin checks the error for a page without an origin.
func (c *testCase) wantNoStorageOrigin() {
	c.Helper()
	blank := c.openURL("")
	sandboxed := c.openURL(c.path("/sandboxed"))
	for _, tab := range []executor.TabID{blank.ID, sandboxed.ID} {
		_, err := pagetest.Of(c.exec, tab).Cookies(c.ctx, nil)
		c.wantCode(err, executor.ErrNotActionable, "no cookies or storage")
		_, err = pagetest.Of(c.exec, tab).SetCookie(c.ctx, executor.Cookie{Name: "a"})
		c.wantCode(err, executor.ErrNotActionable)
		_, err = pagetest.Of(c.exec, tab).Items(c.ctx, executor.StorageLocal, nil)
		c.wantCode(err, executor.ErrNotActionable, "no cookies or storage")
		_, err = pagetest.Of(c.exec, tab).SetItem(c.ctx, executor.StorageSession, "a", "b")
		c.wantCode(err, executor.ErrNotActionable)
	}
}

// items lists items and fails the case if that fails.
func (c *testCase) items(area executor.StorageArea, opts *executor.ItemsOptions) *executor.Items {
	c.Helper()
	list, err := c.page().Items(c.ctx, area, opts)
	if err != nil {
		c.Fatalf("items: %v", err)
	}
	return list
}

func (s *suite) storage(t *testing.T) {
	for _, area := range []executor.StorageArea{executor.StorageLocal, executor.StorageSession} {
		s.keeps(t, string(area)+", page overrides Storage methods", func(c *testCase, k *keeper) {
			c.eval(fmt.Sprintf("keep(%[1]q, 'theme', 'dark'); keep(%[1]q, 'length', '12'); keep(%[1]q, 'getItem', ''); keep(%[1]q, '', 'nameless')", area), nil)
			want := []executor.Item{{Key: "", Chars: 8}, {Key: "getItem"}, {Key: "length", Chars: 2}, {Key: "theme", Chars: 4}}
			if got := c.items(area, nil); fmt.Sprint(got.Items) != fmt.Sprint(want) || got.Total != 4 || got.After != "" || !strings.HasPrefix(got.Origin, "http://app.shop") {
				c.Errorf("%+v, want %+v", got, want)
			}
			if got := c.items(area, &executor.ItemsOptions{Values: true, Keys: []string{"theme"}}); len(got.Items) != 1 || got.Items[0].Value != "dark" {
				c.Errorf("%+v", got)
			}
			if r, err := c.page().SetItem(c.ctx, area, "theme", "light"); err != nil || r.Count != 1 {
				c.Errorf("%+v, %v", r, err)
			}
			c.wantValue(fmt.Sprintf("kept(%q, 'theme')", area), "light")
			if r, err := c.page().RemoveItems(c.ctx, area, []string{"theme", "nosuch"}); err != nil || r.Count != 1 {
				c.Errorf("%+v, %v", r, err)
			}
			c.wantValue(fmt.Sprintf("kept(%q, 'theme')", area), "null")
			k.deny(func(a executor.Access) bool { return a.Op == executor.OpStorage })
			_, err := c.page().Items(c.ctx, area, &executor.ItemsOptions{Values: true})
			c.wantCode(err, executor.ErrPolicyDenied)
			_, err = c.page().SetItem(c.ctx, area, "length", "0")
			c.wantCode(err, executor.ErrPolicyDenied)
			_, err = c.page().RemoveItems(c.ctx, area, nil)
			c.wantCode(err, executor.ErrPolicyDenied)
			if got := c.items(area, nil); got.Total != 3 {
				c.Errorf("%+v", got)
			}
			k.deny(nil)
			if r, err := c.page().RemoveItems(c.ctx, area, nil); err != nil || r.Count != 3 {
				c.Errorf("%+v, %v", r, err)
			}
			c.wantValue(fmt.Sprintf("kept(%q, 'length')", area), "null")
		})
	}
	s.keeps(t, "long list is paginated", func(c *testCase, _ *keeper) {
		c.eval("for (let i = 10; i < 40; i++) keep('local', 'k' + i, 'x'.repeat(i)); keep('local', 'y'.repeat(3000), ''); keep('local', 'big', 'b'.repeat(1e5))", nil)
		var keys []string
		after := ""
		for range 10 {
			list := c.items(executor.StorageLocal, &executor.ItemsOptions{MaxChars: 200, After: after})
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
		list := c.items(executor.StorageLocal, &executor.ItemsOptions{Values: true, MaxChars: 500})
		if item := list.Items[0]; len(list.Items) != 1 || !item.Truncated || item.Chars != 1e5 || len(item.Value) < 400 || len(item.Value) > 500 || list.After != "big" {
			c.Errorf("%+v", list)
		}
	})
	s.keeps(t, "full", func(c *testCase, _ *keeper) {
		_, err := c.page().SetItem(c.ctx, executor.StorageLocal, "big", strings.Repeat("s3cr3t", 1_000_000))
		c.wantCode(err, executor.ErrNotActionable, "full")
		c.wantNotIn(err.Error(), "s3cr3t")
		if got := c.items(executor.StorageLocal, nil); got.Total != 0 {
			c.Errorf("%+v", got)
		}
	})
	s.keeps(t, "page's origin only", func(c *testCase, _ *keeper) {
		c.eval("keep('local', 'mine', '1')", nil)
		c.goTo(c.shop("pay", "/p/"+c.id+"/storage.html"), nil)
		if got := c.items(executor.StorageLocal, nil); got.Total != 0 {
			c.Errorf("%+v", got)
		}
		_, err := c.page().Items(c.ctx, "cache", nil)
		c.wantCode(err, executor.ErrBadArgs, "local or session")
	})
	s.page(t, "page without an origin", "second.html", func(c *testCase) { c.wantNoStorageOrigin() })
}

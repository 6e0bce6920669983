package cookie

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func TestCheck(t *testing.T) {
	const secret = "s3cr3t"
	type cookie = executor.Cookie
	for _, tt := range []struct {
		site   string
		cookie cookie
		want   string // domain and path, or a part of the error
	}{
		{"https://app.shop.co.uk/x", cookie{Name: "a"}, " /"},
		{"https://app.shop.co.uk/x", cookie{Name: "a", Path: "/x"}, " /x"},
		{"https://app.shop.co.uk/", cookie{Name: "a", Domain: "app.shop.co.uk"}, ".app.shop.co.uk /"},
		{"https://app.shop.co.uk/", cookie{Name: "a", Domain: ".Shop.co.uk"}, ".shop.co.uk /"},
		{"https://app.shop.co.uk/", cookie{Name: "a", Domain: "co.uk"}, "public suffix"},
		{"https://app.shop.co.uk/", cookie{Name: "a", Domain: ".co.uk"}, "public suffix"},
		{"https://app.shop.co.uk/", cookie{Name: "a", Domain: "uk"}, "public suffix"},
		{"https://ann.github.io/", cookie{Name: "a", Domain: "github.io"}, "public suffix"},
		{"https://github.io/", cookie{Name: "a", Domain: "github.io"}, " /"},
		{"http://a.localhost:80/", cookie{Name: "a", Domain: "localhost"}, "public suffix"},
		{"http://a.b.localhost/", cookie{Name: "a", Domain: "b.localhost"}, ".b.localhost /"},
		{"https://shop.co.uk/", cookie{Name: "a", Domain: "app.shop.co.uk"}, "neither that host nor a parent domain"},
		{"https://shop.co.uk/", cookie{Name: "a", Domain: "evil.com"}, "neither that host nor a parent domain"},
		{"https://eshop.co.uk/", cookie{Name: "a", Domain: "shop.co.uk"}, "neither that host nor a parent domain"},
		{"http://127.0.0.1/", cookie{Name: "a", Domain: "127.0.0.1"}, " /"},
		{"http://127.0.0.1/", cookie{Name: "a", Domain: "0.0.1"}, "neither that host nor a parent domain"},
		{"https://x.com/", cookie{}, "no name"},
		{"https://x.com/", cookie{Name: "a=b"}, "invalid cookie name"},
		{"https://x.com/", cookie{Name: "a;b"}, "invalid cookie name"},
		{"https://x.com/", cookie{Name: " a"}, "invalid cookie name"},
		{"https://x.com/", cookie{Name: "a\r\nSet-Cookie: b"}, "invalid cookie name"},
		{"https://x.com/", cookie{Name: "a", Value: secret + ";b"}, "invalid value"},
		{"https://x.com/", cookie{Name: "a", Value: secret + "\n"}, "invalid value"},
		{"https://x.com/", cookie{Name: "a", Value: secret + " "}, "invalid value"},
		{"https://x.com/", cookie{Name: "a", Value: secret + strings.Repeat("x", 4096)}, "at most 4096"},
		{"https://x.com/", cookie{Name: "a", Path: "x"}, "does not begin with /"},
		{"https://x.com/", cookie{Name: "a", Path: "/;x"}, "invalid cookie path"},
		{"https://x.com/", cookie{Name: "a", Expires: time.Unix(1, 0)}, "in the past"},
		{"https://x.com/", cookie{Name: "a", Expires: time.Now().Add(time.Minute)}, " /"},
		{"https://x.com/", cookie{Name: "a", SameSite: "lax"}, "unknown"},
		{"https://x.com/", cookie{Name: "a", SameSite: "None"}, "secure cookies only"},
		{"https://x.com/", cookie{Name: "a", SameSite: "None", Secure: true}, " /"},
		{"http://x.com/", cookie{Name: "a", Secure: true}, "over http"},
		{"http://localhost/", cookie{Name: "a", Secure: true}, " /"},
		{"https://x.com/", cookie{Name: "__Secure-a"}, "__Secure-"},
		{"https://x.com/", cookie{Name: "__sEcure-a"}, "__Secure-"},
		{"https://x.com/", cookie{Name: "__Host-a"}, "__Host-"},
		{"https://x.com/", cookie{Name: "__Host-a", Secure: true, Domain: "x.com"}, "__Host-"},
		{"https://x.com/", cookie{Name: "__Host-a", Secure: true, Path: "/x"}, "__Host-"},
		{"https://x.com/", cookie{Name: "__Host-a", Secure: true, Path: "/"}, " /"},
		{"http://x.com/", cookie{Name: "__Host-a", Secure: true}, "over http"},
	} {
		site, err := url.Parse(tt.site)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Check(tt.cookie, site)
		got := c.Domain + " " + c.Path
		if err != nil {
			got = err.Error()
			if executor.CodeOf(err) != executor.ErrBadArgs || strings.Contains(got, secret) {
				t.Errorf("%s %q: %v", tt.site, tt.cookie.Name, err)
			}
		}
		if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%s %+v: %q, want %q", tt.site, tt.cookie, got, tt.want)
		}
	}
}

func TestExpiry(t *testing.T) {
	for seconds, want := range map[float64]time.Time{
		-1: {}, 0: {}, 0.5: {}, 1.9: time.Unix(1, 0), 1_900_000_000.75: time.Unix(1_900_000_000, 0),
	} {
		if got := Expiry(seconds); got != want {
			t.Errorf("%v: %v, want %v", seconds, got, want)
		}
	}
}

package extension

import "testing"

func TestMatchesURL(t *testing.T) {
	for _, test := range []struct {
		pattern, url string
		want         bool
	}{
		{"*", "https://a.test/", true},
		{"*", "", true},
		{"https://a.test/", "https://a.test/", true},
		{"https://a.test/", "https://a.test/x", false},
		{"https://a.test/x", "https://a.test/", false},
		{"https://a.test/*", "https://a.test/", true},
		{"*/done", "https://a.test/done/done", true},
		{"*/done", "https://a.test/done/", false},
		{"*a**b*", "xaxxbx", true},
		{"*a*b", "xbxa", false},
		{"*/?.png", "https://a.test/1.png", true},
		{"*/?.png", "https://a.test/.png", false},
		{`*/x\?y=*`, "https://a.test/x?y=1", true},
		{`*/x\?y=*`, "https://a.test/xay=1", false},
		{`*\*`, "https://a.test/*", true},
		{`*\*`, "https://a.test/x", false},
		{`x\`, "x", false},
	} {
		if got := matchesURL(test.pattern, test.url); got != test.want {
			t.Errorf("%s matches %s: %t", test.pattern, test.url, got)
		}
	}
}

package errs

import "testing"

func TestTabID(t *testing.T) {
	id := NewTabID("cdp", "run", "a:b")
	for _, browser := range []string{"", "work"} {
		named := id.In(browser)
		backend, session, raw, err := named.Split()
		if err != nil || backend != "cdp" || session != "run" || raw != "a:b" || named.Browser() != browser || named.WithoutBrowser() != id {
			t.Errorf("%s: %s, %s, %s, %v of browser %q", named, backend, session, raw, err, named.Browser())
		}
	}
	for _, id := range []TabID{"", "work", "work:", ":cdp:run:a", "cdp:run", "work:cdp:run", "work:test:cdp:run:a", "work:tab:run:a", "cdp:cdp:", "work:ext::a"} {
		if _, _, _, err := id.Split(); err == nil {
			t.Errorf("%q is a tab id", id)
		}
	}
}

package main

import (
	"path/filepath"
	"testing"
)

// TestShortcut presses real keys: in a Chrome window with the extension, the shortcut that the
// manifest suggests shares the tab in the foreground, the agent uses it, and the same shortcut ends
// sharing.
func TestShortcut(t *testing.T) {
	screen := newDisplay(t)
	site := newTestSite(t)
	b := newUserBrowser(t)
	b.display = screen.name
	data := filepath.Join(t.TempDir(), "data")
	b.register(t, data)
	server := startMCP(t, "--data", data, "--port=0", "--allow-domain", site.URL, "--enable-mutations", "--no-cdp-fallback")
	b.open()
	b.GoTo(t, b.Find(t, "page", "about:blank").ID, site.URL+"/first")
	server.until(t, "no tab shared", "chrome_status", nil)

	b.focus(t, screen, b.Find(t, "page", site.URL+"/first").ID)
	screen.press(t, keyAlt, keyShift, 's')
	server.until(t, "/first", "tabs_list", nil)
	server.call(t, "get_text", nil, "Lamps of walnut")

	screen.press(t, keyAlt, keyShift, 's')
	server.until(t, "no tab shared", "chrome_status", nil)
	server.refused(t, "TAB_NOT_FOUND", "get_text", nil, "no tab is shared")
}

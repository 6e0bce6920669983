package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestBrowserArgEffect checks that a real browser follows the arguments.
func TestBrowserArgEffect(t *testing.T) {
	needChromium(t)
	tier.SetFullBrowser(t) // a headless shell has no dark mode
	dir := filepath.Join(t.TempDir(), "site")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	page := `<title>Arguments</title><p id=out></p><script>
		const is = (query) => matchMedia(query).matches
		out.textContent = [navigator.language, devicePixelRatio, is('(prefers-reduced-motion: reduce)'), is('(prefers-color-scheme: dark)'), 'ontouchstart' in window].join(' ')
	</script>`
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--data", t.TempDir(), "--isolated", "--headless", "--prefer=cdp", "--serve-directory", dir}
	for _, arg := range []string{"--accept-lang=fr", "--force-device-scale-factor=2", "--force-prefers-reduced-motion", "--force-dark-mode", "--touch-events=enabled"} {
		args = append(args, "--browser-arg", arg)
	}
	s := startMCP(t, args...)
	s.call(t, "navigate", map[string]any{"url": filesURL(t, s.call(t, "chrome_status", nil))})
	s.call(t, "get_text", nil, "fr 2 true true true")
}

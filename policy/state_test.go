package policy

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// TestStateLogsIntoAnotherBrowser saves the storage state of one browser and loads it in another,
// which is then logged in. Both use the egress proxy and a policy. A site that only the first
// policy allows is not loaded.
func TestStateLogsIntoAnotherBrowser(t *testing.T) {
	userbrowser.Find(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "s3cr3t", Path: "/", HttpOnly: true, MaxAge: 1000})
		}
		c, _ := r.Cookie("sid")
		fmt.Fprintf(w, "<p>in: %t</p><p id=theme></p><script>if (location.pathname === '/login') localStorage.theme = 'dark'; theme.textContent = 'theme: ' + localStorage.theme</script>", c != nil && c.Value == "s3cr3t")
	}))
	defer site.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	shop, bank := "http://shop.localhost:"+port, "http://bank.localhost:"+port
	dir := t.TempDir()

	in := func(use func(context.Context, executor.Executor), allow ...string) {
		g := NewGuard(mustNew(t, Config{AllowDomains: allow, StateDir: dir}), nil)
		headless := true
		b, err := chromium.New(&chromium.Options{
			Browser: os.Getenv("CHROME_MCP_BROWSER"), Headless: &headless, Isolated: true, NoSandbox: os.Getuid() == 0,
			DataDir: t.TempDir(), Network: g.Network(),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}()
		s, err := b.NewSession(&executor.SessionOptions{Gate: g, StateDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		x := g.Wrap(s)
		defer x.Close()
		use(t.Context(), x)
	}
	shows := func(x executor.Executor, url string, want ...string) {
		t.Helper()
		_, tab, err := x.NewPage(t.Context(), &executor.NewPageOptions{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		text, err := pagetest.Of(x, tab.ID).Text(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(text.Content, part) {
				t.Errorf("%s shows %q, want %q", url, text.Content, part)
			}
		}
	}
	in(func(ctx context.Context, x executor.Executor) {
		for _, origin := range []string{shop, bank} {
			shows(x, origin+"/login", "in: false", "theme: dark")
			shows(x, origin+"/", "in: true")
		}
		if st, err := x.SaveState(ctx, "both"); err != nil || st.Cookies != 2 || st.Items != 2 || st.DeniedCookies != 0 {
			t.Fatalf("%+v, %v", st, err)
		}
	}, "shop.localhost", "bank.localhost")
	in(func(ctx context.Context, x executor.Executor) {
		if st, err := x.LoadState(ctx, "both"); err != nil || st.Cookies != 1 || st.Items != 1 || st.DeniedCookies != 1 || st.DeniedOrigins != 1 {
			t.Fatalf("%+v, %v", st, err)
		}
		shows(x, shop+"/", "in: true", "theme: dark")
		if st, err := x.SaveState(ctx, "one"); err != nil || st.Cookies != 1 || st.DeniedCookies != 0 {
			t.Errorf("%+v, %v", st, err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "one.json")); err != nil || strings.Contains(string(data), "bank") {
			t.Errorf("%s, %v", data, err)
		}
	}, "shop.localhost")
}

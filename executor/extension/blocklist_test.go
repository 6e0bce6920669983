package extension

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestBlockListPath moves a tab that the agent opened to a path on the user's
// block list with pushState. The tab cannot be read there, and works again
// afterwards.
func TestBlockListPath(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>Shop</title><p>this is the shop</p>
			<button onclick="history.pushState({}, '', '/account'); document.title = 'balance 42'; document.querySelector('p').textContent = 'balance 42'; onpopstate = () => { document.title = 'Shop'; document.querySelector('p').textContent = 'this is the shop'; }">Account</button>`)
	}))
	t.Cleanup(site.Close)
	env.u.act("settings", map[string]any{"patch": map[string]any{"blockList": []string{"127.0.0.1/account"}}})
	id := openTab(t, env.s, site.URL+"/")
	page := env.u.target("page", strings.TrimPrefix(site.URL, "http://"))
	reads := map[string]func(context.Context) (any, error){
		"text":       func(ctx context.Context) (any, error) { return pagetest.Of(env.s, id).Text(ctx, nil) },
		"snapshot":   func(ctx context.Context) (any, error) { return pagetest.Of(env.s, id).Snapshot(ctx, nil) },
		"screenshot": func(ctx context.Context) (any, error) { return pagetest.Of(env.s, id).Screenshot(ctx, nil) },
	}
	const rounds = 3
	for range rounds {
		for name, read := range reads {
			await.Until(t, name+" of the shop", func() bool { // the tab is allowed again shortly after its page
				_, err := read(t.Context())
				return err == nil
			})
		}
		env.u.eval(page, "document.querySelector('button').click()", nil)
		for name, read := range reads {
			if got, err := read(t.Context()); executor.CodeOf(err) != executor.ErrPolicyDenied {
				t.Errorf("%s of the account: %+v, %v", name, got, err)
			}
		}
		await.Until(t, "the tab to be listed without its title", func() bool {
			tabs, err := env.s.Tabs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(tabs) == 1 && !strings.Contains(tabs[0].Title, "balance")
		})
		env.u.eval(page, "new Promise((done) => { addEventListener('popstate', () => done(1), { once: true }); history.back(); })", nil)
	}
}

package extension

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A siteSecret has the password for one site.
type siteSecret string

func (s siteSecret) List(context.Context) ([]executor.SecretInfo, error) { return nil, nil }

func (s siteSecret) Find(_ context.Context, name, field string) (*executor.SecretField, bool, error) {
	return &executor.SecretField{Name: name, Field: field, Origins: []string{string(s)}, Value: func(context.Context) (string, error) { return "Kw7#qLz9&vX", nil }}, true, nil
}

// TestSecretInUnsharedTab checks that the backend remembers a secret in a tab that is no longer
// shared, also if the extension has forgotten the tab because it was reloaded, and that CDP clients
// can connect after the tab was closed.
func TestSecretInUnsharedTab(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>login</title><link rel=icon href=data:,><input id=password type=password>`)
	}))
	t.Cleanup(site.Close)
	server := newServer(t)
	fake := startFakeExtension(t, server)
	b := newBackend(t, server)
	waitConnected(t, b)
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll, Secrets: siteSecret(site.URL)})
	if err != nil {
		t.Fatal(err)
	}
	page := func() executor.Page {
		t.Helper()
		tabs, err := s.Tabs(t.Context())
		if err != nil || len(tabs) != 1 {
			t.Fatalf("tabs %v, %v", tabs, err)
		}
		return pagetest.Of(s, tabs[0].ID)
	}
	for _, tt := range []struct {
		name    string
		unshare func(*fakeTab)
	}{
		{"the user unshared it", func(tab *fakeTab) { fake.unshare(tab, "user") }},
		{"the extension was reloaded", func(tab *fakeTab) {
			delete(fake.tabs, tab.TabID)
			fake.detach(tab)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := fake.openAsUser(site.URL)
			awaitTabs(t, b, 1)
			if _, err := page().Type(t.Context(), executor.Target{Selector: "#password"}, "{{shop.password}}", nil); err != nil {
				t.Fatal(err)
			}
			var info wire.Tab
			fake.withTab(tab, func(tab *fakeTab) {
				info = tab.Tab
				tt.unshare(tab)
			})
			fake.disconnect()
			awaitDisconnected(t, b)
			fake.connect(server)
			waitConnected(t, b)
			awaitTabs(t, b, 0)
			if _, err := b.ConnectCDP(t.Context(), nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
				t.Errorf("a CDP client connects while a secret is in an open tab: %v", err)
			}
			fake.mu.Lock()
			fake.share(wire.Tab{TargetID: info.TargetID, URL: info.URL})
			fake.mu.Unlock()
			awaitTabs(t, b, 1)
			if _, err := page().Eval(t.Context(), "1", nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
				t.Errorf("a script after the tab was shared again: %v", err)
			}
			fake.mu.Lock()
			for _, tab := range fake.tabs {
				fake.unshare(tab, "user")
			}
			closed := make(chan struct{})
			fake.send("", "Target.closeTarget", map[string]any{"targetId": info.TargetID}, func(*cdproto.Message) { close(closed) })
			fake.mu.Unlock()
			await.Receive(t, "the end of the tab", closed)
			awaitTabs(t, b, 0)
			await.Until(t, "a CDP client to connect", func() bool {
				c, err := b.ConnectCDP(t.Context(), &executor.CDPOptions{Query: true})
				if err == nil {
					c.Close()
				}
				return err == nil
			})
		})
	}
}

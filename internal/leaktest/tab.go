package leaktest

import (
	"context"
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A Tab is the tab of one visit.
type Tab interface {
	// Navigate loads url, and returns when the document has begun to load.
	Navigate(ctx context.Context, url string) error
	// Click clicks the element that matches a CSS selector.
	Click(ctx context.Context, selector string) error
}

// A sessionTab is a tab of a session.
type sessionTab struct{ page executor.Page }

func (s sessionTab) Navigate(ctx context.Context, url string) error {
	_, err := s.page.Navigate(ctx, url, &executor.NavigateOptions{Until: executor.UntilCommit})
	return err
}

// Click retries while the error is retryable, which happens on a busy machine: no press was sent.
func (s sessionTab) Click(ctx context.Context, selector string) error {
	for {
		_, err := s.page.Click(ctx, executor.Target{Selector: selector}, nil)
		if e, ok := errors.AsType[*executor.Error](err); !ok || !e.Retryable || ctx.Err() != nil {
			return err
		}
	}
}

// newTab returns a tab for one visit.
func (b Browser) newTab(t *testing.T) Tab {
	if b.NewTab != nil {
		return b.NewTab(t)
	}
	s := b.NewSession(t)
	t.Cleanup(func() { s.Close() })
	ctx := await.Context(t)
	p, _, err := s.NewPage(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sessionTab{p}
}

// Denied tests the routes to the denied host in one browser with subresources=same, which forbids all
// of them. Unlike Run, it does not test that the routes fire without enforcement.
func Denied(t *testing.T, h Harness) {
	t.Helper()
	tier.Deep(t)
	if names := Named(*routes); names != nil {
		h.Routes = names
	}
	r := newRunner(t, h)
	s := &stage{name: "same", tiers: []Tier{Same}, config: r.config(policy.SubresourcesSame)}
	r.start(t, s)
	r.walkRoutes(t, func(t *testing.T, route *Route) { r.try(t, s.browser, route, Same, route.denied()) })
	r.end(t, s)
	for _, tr := range r.seen {
		if why := r.leak(tr); why != "" {
			t.Errorf("%s: %s", tr.route.Name, why)
		}
	}
	if len(r.seen) != len(r.routes) {
		t.Errorf("%d routes were tested, want %d", len(r.seen), len(r.routes))
	}
}

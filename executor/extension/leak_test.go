package extension

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	extfiles "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/leaktest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestExtensionLeaks tests a few of the routes by which a page can reach another host.
func TestExtensionLeaks(t *testing.T) {
	leaktest.Run(t, leaktest.Harness{Backend: "extension", Start: startLeakBrowser, Routes: leaktest.QuickRoutes})
}

// TestLongExtensionLeaks tests all routes.
func TestLongExtensionLeaks(t *testing.T) {
	tier.Deep(t)
	leaktest.Full(t, leaktest.Harness{Backend: "extension", Start: startLeakBrowser})
}

// TestDeniedPaths opens many spellings of a denied path.
func TestDeniedPaths(t *testing.T) {
	leaktest.Paths(t, leaktest.Harness{Backend: "extension", Start: startLeakBrowser})
}

// TestOwnPorts checks that pages cannot reach the ports of the program.
func TestOwnPorts(t *testing.T) {
	leaktest.OwnPorts(t, leaktest.Harness{Backend: "extension", Start: startLeakBrowser})
}

// visitsPerUserVisit is the number of visits of an agent for each visit of the user.
const visitsPerUserVisit = 10

// startLeakBrowser starts a user's browser for the leak tests, whose pages sessions open.
func startLeakBrowser(t *testing.T, setup leaktest.Setup) leaktest.Browser {
	l := newLeakBrowser(t, setup, func(string) {})
	gate, wrap := executor.AllowAll, func(e executor.Executor) executor.Executor { return e }
	if setup.Policy != nil {
		guard := policy.NewGuard(setup.Policy, nil)
		gate, wrap = guard, guard.Wrap
	}
	return leaktest.Browser{
		NewSession: func(t *testing.T) executor.Executor {
			l.visit()
			s, err := l.b.NewSession(&executor.SessionOptions{Gate: gate})
			if err != nil {
				t.Fatal(err)
			}
			return wrap(s)
		},
		Close: l.close,
	}
}

// A leakBrowser is a user's browser for the leak tests. The user opens sites that the policy denies to the
// agent at the same time.
type leakBrowser struct {
	b      *Backend
	u      *userBrowser
	log    string
	users  sync.WaitGroup
	visits atomic.Int32
	rounds chan struct{}
}

// newLeakBrowser starts the browser, with the extension as prepare changes it.
func newLeakBrowser(t *testing.T, setup leaktest.Setup, prepare func(dir string)) *leakBrowser {
	// without a policy, all names are allowed
	rules := bridge.Policy{Allow: []string{"https://*.test:*", "http://*.test:*"}, Subresources: "public"}
	if p := setup.Policy; p != nil {
		c := p.Config()
		rules = bridge.Policy{Allow: c.AllowDomains, Block: c.BlockDomains, Subresources: string(c.Subresources), OwnPorts: c.OwnPorts}
	}
	data := filepath.Join(t.TempDir(), "data")
	server, err := bridge.New(&bridge.Options{
		DataDir: data, ExtensionID: extfiles.ID(), Port: bridge.AnyPort, Name: "test", Policy: func() bridge.Policy { return rules },
	})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	log, flag := leaktest.NetLog(t)
	u := newUserBrowser(t, data, userBrowserOptions{
		flags: append(setup.Flags, flag, leaktest.MapNames),
		prepare: func(dir string) {
			prepare(dir)
			if setup.Policy == nil {
				keepPreconnects(t, filepath.Join(dir, "network_rules.js"))
			}
		},
	})
	l := &leakBrowser{b: newBackend(t, server), u: u, log: log, rounds: make(chan struct{}, 1)}
	waitConnected(t, l.b)
	l.users.Go(func() {
		for range l.rounds {
			u.browse(t, setup.UnmanagedVisits())
		}
	})
	return l
}

// visit is called for each visit of an agent.
func (l *leakBrowser) visit() {
	if l.visits.Add(1)%visitsPerUserVisit == 1 {
		select {
		case l.rounds <- struct{}{}:
		default:
		}
	}
}

// close closes the browser, and returns the names that it resolved.
func (l *leakBrowser) close(t *testing.T) []string {
	close(l.rounds)
	l.users.Wait()
	l.u.CloseGracefully(t)
	return leaktest.LookedUp(t, l.log)
}

// keepPreconnects changes a copy of the extension so that it does not disable preconnects of the
// browser, which affect all tabs regardless of the policy.
func keepPreconnects(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const before = "if (this.networkPrediction === on) return;"
	text := strings.Replace(string(data), before, "return;", 1)
	if text == string(data) {
		t.Fatal("the extension disables preconnects by other code")
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// browse opens a page in an unshared tab, as the user does. The page loads resources and opens
// another tab.
func (u *userBrowser) browse(t *testing.T, url string) {
	var made struct {
		ID string `json:"targetId"`
	}
	u.Call(t, "", "Target.createTarget", map[string]any{"url": url, "background": true}, &made)
	u.WithSession(t, made.ID, func(session string) {
		await.Until(t, "the user's page", func() bool {
			return u.peek(session, "document.readyState === 'complete' && document.title") == "target"
		})
		var got string
		u.Eval(t, session, "fetch('/x.json').then((r) => r.text(), String)", &got)
		if got != "{}" {
			t.Errorf("the page of the user's own tab gets %q", got)
		}
		u.Eval(t, session, "window.opened = open('/x'); 0", nil)
		await.Until(t, "the tab that the user's page opened", func() bool {
			return u.peek(session, "opened.document.title") == "target"
		})
		u.Eval(t, session, "opened.close()", nil)
	})
	u.Call(t, "", "Target.closeTarget", map[string]any{"targetId": made.ID}, nil)
}

// peek evaluates an expression in a page that may be about to close.
func (u *userBrowser) peek(session, expression string) (value any) {
	var res struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
	}
	a := <-u.Send(session, "Runtime.evaluate", map[string]any{"expression": expression, "userGesture": true})
	if a.Error == nil && json.Unmarshal(a.Result, &res) == nil {
		value = res.Result.Value
	}
	return value
}

package extension

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// newDeniedSite returns an allowed site that links and redirects to a denied one.
func newDeniedSite(t testing.TB) (allowed, denied string) {
	out := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the denied site received a request for %s", r.URL.Path)
	}))
	t.Cleanup(out.Close)
	denied = strings.Replace(out.URL, "127.0.0.1", "localhost", 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirects" {
			http.Redirect(w, r, denied+"/hop", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><p>this is %[1]s</p><a id=out href=%s/out>Out</a>", r.URL.Path, denied)
	}))
	t.Cleanup(site.Close)
	return site.URL, denied
}

// TestDeniedPage navigates a shared tab and a tab of the agent to a denied site. The agent can leave
// the error page of the browser.
func TestDeniedPage(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{})
	s := env.newGuardedSession(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true})
	allowed, denied := newDeniedSite(t)

	t.Run("tab of the user", func(t *testing.T) {
		tab := env.u.open(allowed + "/shared")
		env.u.toggle(tab)
		awaitTabs(t, env.b, 1)
		tabs, err := s.Tabs(t.Context())
		if err != nil || len(tabs) != 1 {
			t.Fatalf("%+v, %v", tabs, err)
		}
		executortest.Refused(t, s, tabs[0].ID, allowed, denied)
		closed, err := pagetest.Of(s, tabs[0].ID).Close(t.Context())
		if err != nil || !closed.Released {
			t.Errorf("closing it: %+v, %v", closed, err)
		}
	})
	t.Run("tab of the agent", func(t *testing.T) {
		tier.Deep(t) // the rules of a tab do not depend on who opened it
		_, tab, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: allowed + "/own"})
		if err != nil {
			t.Fatal(err)
		}
		executortest.Refused(t, s, tab.ID, allowed, denied)
	})
	// open shares a page with a frame of a denied site. press presses the button at the point where
	// the frame may be, and done checks that the frame received no press.
	open := func(t *testing.T) (page string, press func() error, done func()) {
		// The frame must have loaded before the tab is shared. Later its request is denied.
		jumping := newJumpingSite(t) + "/"
		port := jumping[strings.LastIndex(jumping, ":")+1:] // with the slash
		user := env.u.open(jumping)
		frame := env.u.target("iframe", port+"jumping") // the tab may be complete before its frame loads
		env.u.toggle(user)
		var id executor.TabID
		await.Until(t, "the shared tab", func() bool {
			tabs, err := s.Tabs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(tabs, func(tab executor.Tab) bool { return tab.URL == jumping }); i >= 0 {
				id = tabs[i].ID
			}
			return id != ""
		})
		press = func() error {
			_, err := pagetest.Of(s, id).Mouse(t.Context(), &executor.MouseOptions{Action: executor.MouseClick, X: 80, Y: 100})
			return err
		}
		done = func() {
			var pressed int
			env.u.eval(frame, "pressed", &pressed)
			if pressed != 0 {
				t.Errorf("the frame received %d presses", pressed)
			}
		}
		return env.u.target("page", port), press, done
	}
	t.Run("frame under the pointer and away from it", func(t *testing.T) {
		page, press, done := open(t)
		for range 2 {
			for _, under := range []bool{true, false} {
				env.u.eval(page, fmt.Sprintf("place(%v)", under), nil)
				if err := press(); errors.Is(err, executor.ErrPolicyDenied) != under || err != nil && !under {
					t.Errorf("frame under the pointer: %v; the press: %v", under, err)
				}
			}
		}
		done()
	})
	t.Run("frame that moves under the pointer and away", func(t *testing.T) {
		tier.Deep(t)
		page, press, done := open(t)
		env.u.eval(page, "jump(), 0", nil)
		// at least 40 presses, until the frame was drawn at both positions
		denials, presses := 0, 0
		for ; presses < 40 || (denials == 0 || denials == presses) && presses < 1000; presses++ {
			if err := press(); errors.Is(err, executor.ErrPolicyDenied) {
				denials++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if denials == 0 || denials == presses {
			t.Errorf("%d of %d clicks were denied, want a part of them", denials, presses)
		}
		done()
	})
}

// newJumpingSite returns the URL of a page with a frame of a denied site. The function place of the
// page moves the frame under the pointer or away from it, and waits until it is drawn there. After
// jump, the page does this in each animation frame. The choice is random, because calls
// that take a fixed number of animation frames could match any pattern.
func newJumpingSite(t testing.TB) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/jumping" {
			fmt.Fprint(w, `<!doctype html><script>
				var pressed = 0;
				for (const type of ["pointerdown", "mousedown", "click"]) document.addEventListener(type, () => { pressed++; }, true);
			</script>`)
			return
		}
		fmt.Fprintf(w, `<!doctype html><title>jumping</title><iframe src="http://localhost:%s/jumping"></iframe><script>
			const f = document.querySelector("iframe");
			const move = (under) => { f.style = "position: fixed; width: 700px; height: 500px; top: 0; left: " + (under ? "0px" : "-900px"); };
			const place = (under) => { move(under); return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))); };
			const jump = () => { move(Math.random() < 0.5); requestAnimationFrame(jump); };
			move(false);
		</script>`, r.Host[strings.LastIndex(r.Host, ":")+1:])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestBlockedResources loads resources from hosts that are not in the allow list. Only the one that the
// policy denies is reported as denied by it; an ad blocker blocks the other one.
func TestBlockedResources(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{more: []string{writeOtherExtension(t)}})
	env.u.evalInOther(`chrome.declarativeNetRequest.updateSessionRules({addRules: [
		{id: 1, action: {type: 'block'}, condition: {urlFilter: '||ads.example/', resourceTypes: ['script']}},
	]}).then(() => 0)`, nil)
	const blocked, denied = "http://ads.example", "http://10.20.30.40"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Shop</title><p></p><button>Load</button><script>
			document.querySelector('button').onclick = () => {
				for (const host of [%q, %q]) {
					const s = document.createElement('script');
					s.onerror = () => { document.querySelector('p').textContent += 'failed '; };
					s.src = host + '/a.js';
					document.head.append(s);
				}
			};
		</script>`, blocked, denied)
	}))
	t.Cleanup(site.Close)
	p, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true})
	if err != nil {
		t.Fatal(err)
	}
	guard := policy.NewGuard(p, nil)
	session, err := env.b.NewSession(&executor.SessionOptions{Gate: guard, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	page, _, err := guard.Wrap(session).NewPage(t.Context(), &executor.NewPageOptions{URL: site.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := page.Click(t.Context(), executor.Target{Selector: "button"}, nil); err != nil {
		t.Fatal(err)
	}
	if res, err := page.WaitFor(t.Context(), &executor.WaitCondition{Text: "failed failed", Timeout: await.HangLimit}); err != nil || !res.Matched {
		t.Fatalf("%+v, %v", res, err)
	}
	res, err := page.Requests(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	reported := make(map[string]bool)
	for _, q := range res.Requests {
		if q.Type == "script" {
			reported[q.URL] = q.DeniedByPolicy
			if q.Error != "net::ERR_BLOCKED_BY_CLIENT" {
				t.Errorf("%s: error %q", q.URL, q.Error)
			}
		}
	}
	if want := map[string]bool{blocked: false, denied: true}; !maps.Equal(reported, want) {
		t.Errorf("denied by the policy: %v, want %v", reported, want)
	}
}

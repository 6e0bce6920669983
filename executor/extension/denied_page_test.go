package extension

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
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
		_, tab, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: allowed + "/own"})
		if err != nil {
			t.Fatal(err)
		}
		executortest.Refused(t, s, tab.ID, allowed, denied)
	})
	t.Run("frame that moves under the pointer and away", func(t *testing.T) {
		// The frame must have loaded before the tab is shared. Later its request is denied.
		jumping := newJumpingSite(t) + "/"
		user := env.u.open(jumping)
		env.u.target("iframe", "/jumping") // the tab may be complete before its frame loads
		env.u.toggle(user)
		awaitTabs(t, env.b, 2) // and the one above
		tabs, err := s.Tabs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tabs, func(tab executor.Tab) bool { return tab.URL == jumping })
		if i < 0 {
			t.Fatalf("%+v", tabs)
		}
		// at least 40 presses, until the frame was drawn at both positions
		denials, presses := 0, 0
		for deadline := time.Now().Add(30 * time.Second); presses < 40 || (denials == 0 || denials == presses) && time.Now().Before(deadline); presses++ {
			_, err := pagetest.Of(s, tabs[i].ID).Mouse(t.Context(), executor.MouseOptions{Action: executor.MouseClick, X: 80, Y: 100})
			if errors.Is(err, executor.ErrPolicyDenied) {
				denials++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if denials == 0 || denials == presses {
			t.Errorf("%d of %d clicks were denied, want a part of them", denials, presses)
		}
		var pressed int
		env.u.eval(env.u.target("iframe", "/jumping"), "pressed", &pressed)
		if pressed != 0 {
			t.Errorf("the frame received %d presses", pressed)
		}
	})
}

// newJumpingSite returns the URL of a page with a frame of a denied site. In each animation frame,
// the page moves the frame under the pointer or away from it. The choice is random, because calls
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
			const jump = () => { f.style = "position: fixed; width: 700px; height: 500px; top: 0; left: " + (Math.random() < 0.5 ? "-900px" : "0px"); requestAnimationFrame(jump); };
			jump();
		</script>`, r.Host[strings.LastIndex(r.Host, ":")+1:])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

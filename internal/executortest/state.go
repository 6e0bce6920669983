package executortest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// states runs a case on storage.html in a session that may save and load storage state, on a
// separate site. The gate denies storage access to all other sites.
func (s *suite) states(t *testing.T, name string, f func(c *testCase, dir string)) {
	s.keeps(t, name, func(c *testCase, _ *keeper) {
		if strings.HasPrefix(string(c.tab), "ext:") {
			c.Skip("user's browser: logins are not the agent's")
		}
		dir := c.TempDir()
		c.exec = c.stateSession(dir)
		c.tab = c.open("second.html")
		c.goTo(c.shop("app", "/p/"+c.id+"/storage.html"), nil)
		f(c, dir)
	})
}

// stateSession returns a session that may save the state only of the case's site under "app", to
// files in dir.
func (c *testCase) stateSession(dir string) executor.Executor {
	k := &keeper{}
	k.deny(func(a executor.Access) bool {
		return a.Op == executor.OpState && a.Destination != "" && !strings.Contains(a.Destination, "//app.shop"+c.id+".localhost")
	})
	return c.session(executor.SessionOptions{Gate: k, StateDir: dir})
}

func (c *testCase) saveState(name string) *executor.StateResult {
	c.Helper()
	st, err := c.exec.SaveState(c.ctx, name)
	if err != nil {
		c.Fatalf("save state: %v", err)
	}
	return st
}

// stateFile returns the content of a state file.
func (c *testCase) stateFile(dir, name string) string {
	c.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		c.Fatal(err)
	}
	return string(data)
}

func (s *suite) sessionState(t *testing.T) {
	s.states(t, "save, clear and load restore the login", func(c *testCase, dir string) {
		c.eval("keep('local', 'theme', 's3cr3t-theme'); keep('session', 'step', '2')", nil)
		c.goTo(c.shop("app", "/cookie"), nil)
		c.setCookie(executor.Cookie{Name: "lasting", Value: "s3cr3t", Path: "/cookies", Secure: true, SameSite: executor.SameSiteLax})
		st := c.saveState("ann")
		if st.File != "ann.json" || st.Cookies != 2 || st.Items != 1 || len(st.Origins) != 1 || !strings.HasPrefix(st.Origins[0], "http://app.shop") {
			c.Errorf("%+v", st)
		}
		c.wantNotIn(fmt.Sprintf("%+v", *st), "s3cr3t", "ann\"")
		c.wantIn(c.stateFile(dir, "ann.json"), `"customer"`, `"s3cr3t-theme"`, `"httpOnly": true`)
		if info, err := os.Stat(filepath.Join(dir, "ann.json")); err != nil || info.Mode().Perm() != 0o600 {
			c.Errorf("%v, %v", info, err)
		}
		c.must(c.page().RemoveItems(c.ctx, executor.StorageLocal, nil))
		c.goTo(c.shop("app", "/cookies"), nil)
		c.must(c.page().DeleteCookies(c.ctx, nil))
		c.wantSent("app", "")

		other := c.stateSession(dir) // it has no tab
		st, err := other.LoadState(c.ctx, "ann.json")
		if err != nil || st.Cookies != 2 || st.Items != 1 || st.DeniedCookies+st.DeniedOrigins+st.InvalidCookies != 0 {
			c.Fatalf("%+v, %v", st, err)
		}
		c.wantSent("app", "lasting=s3cr3t; customer=ann")
		c.goTo(c.shop("app", "/p/"+c.id+"/storage.html"), nil)
		c.wantValue("kept('local', 'theme')", "s3cr3t-theme")
		c.wantValue("document.cookie", "") // one has a path, one is HttpOnly
		tabs, err := other.Tabs(c.ctx)
		if err != nil {
			c.Fatal(err)
		}
		for _, tab := range tabs {
			if tab.URL == c.shop("app", "/") || tab.Active {
				c.Errorf("left tab %+v", tab)
			}
		}
	})
	s.states(t, "loaded at the start of a session", func(c *testCase, dir string) {
		c.eval("keep('local', 'theme', 's3cr3t-theme')", nil)
		c.goTo(c.shop("app", "/cookie"), nil)
		c.saveState("ann")
		c.must(c.page().DeleteCookies(c.ctx, nil))
		c.goTo(c.shop("app", "/p/"+c.id+"/storage.html"), nil)
		c.must(c.page().RemoveItems(c.ctx, executor.StorageLocal, nil))

		c.exec = c.session(executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir, State: "ann"})
		c.tab = c.open("second.html")
		c.wantSent("app", "customer=ann")
		c.goTo(c.shop("app", "/p/"+c.id+"/storage.html"), nil)
		c.wantValue("kept('local', 'theme')", "s3cr3t-theme")
		// It is loaded once.
		c.must(c.page().RemoveItems(c.ctx, executor.StorageLocal, nil))
		c.tab = c.open("second.html")
		c.goTo(c.shop("app", "/p/"+c.id+"/storage.html"), nil)
		c.wantValue("kept('local', 'theme')", "null")

		for state, want := range map[string]string{"nosuch": "nosuch.json not found", "../ann": "invalid state file name"} {
			without := c.session(executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir, State: state})
			for range 2 {
				_, _, err := without.NewPage(c.ctx, nil)
				c.wantCode(err, executor.ErrBadArgs, want)
			}
		}
	})
	s.states(t, "only allowed sites are saved", func(c *testCase, dir string) {
		c.goTo(c.shop("pay", "/cookies?set=denied%3D1&set=above%3D1%3Bdomain%3D"+c.shopDomain()), nil)
		c.goTo(c.shop("app", "/cookies?set=mine%3D1"), nil)
		if st := c.saveState("one"); st.Cookies != 1 || st.DeniedCookies < 2 {
			c.Errorf("%+v", st)
		}
		text := c.stateFile(dir, "one.json")
		c.wantIn(text, `"mine"`)
		c.wantNotIn(text, `"denied"`, `"above"`)
	})
	s.states(t, "only allowed sites are loaded, without requests", func(c *testCase, dir string) {
		host := "app." + c.shopDomain()
		text := fmt.Sprintf(`{"cookies": [
			{"name": "mine", "value": "1", "domain": %[1]q, "path": "/", "expires": -1, "httpOnly": false, "secure": false, "sameSite": "Lax"},
			{"name": "above", "value": "1", "domain": ".%[2]s", "path": "/", "expires": -1},
			{"name": "denied", "value": "1", "domain": "pay.%[2]s", "path": "/"},
			{"name": "old", "value": "1", "domain": %[1]q, "path": "/", "expires": 1000},
			{"name": "bad\n", "value": "1", "domain": %[1]q, "path": "/"}
		], "origins": [
			{"origin": "http://%[1]s:%[3]d", "localStorage": [{"name": "theme", "value": "dark"}, {"name": "", "value": ""}]},
			{"origin": "http://%[1]s:9", "localStorage": [{"name": "nobody answers there", "value": ""}]},
			{"origin": "http://pay.%[2]s:%[3]d", "localStorage": [{"name": "theme", "value": "denied"}]}
		]}`, host, c.shopDomain(), c.port)
		if err := os.WriteFile(filepath.Join(dir, "theirs.json"), []byte(text), 0o600); err != nil {
			c.Fatal(err)
		}
		st, err := c.exec.LoadState(c.ctx, "theirs")
		if err != nil || st.Cookies != 1 || st.Items != 3 || len(st.Origins) != 2 || st.DeniedCookies != 2 || st.DeniedOrigins != 1 || st.InvalidCookies != 2 {
			c.Fatalf("%+v, %v", st, err)
		}
		c.wantSent("pay", "")
		c.wantSent("app", "mine=1")
		for at, want := range map[string]string{"app": "dark", "pay": "null"} {
			c.goTo(c.shop(at, "/p/"+c.id+"/storage.html"), nil)
			c.wantValue("kept('local', 'theme')", want)
		}
	})
	s.states(t, "invalid files and names", func(c *testCase, dir string) {
		if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"cookies": [{"name": "mine", "value": "1", "domain": "app.`+c.shopDomain()+`"}, {}]}`), 0o600); err != nil {
			c.Fatal(err)
		}
		for _, name := range []string{"", "../ann", "nosuch", "bad"} {
			_, err := c.exec.LoadState(c.ctx, name)
			c.wantCode(err, executor.ErrBadArgs)
		}
		c.wantSent("app", "")
		_, err := c.exec.SaveState(c.ctx, "../ann")
		c.wantCode(err, executor.ErrBadArgs)
		_, err = c.session(executor.SessionOptions{Gate: executor.AllowAll}).SaveState(c.ctx, "ann")
		c.wantCode(err, executor.ErrPolicyDenied, "Config.StateDir")
		k := &keeper{}
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpState })
		denied := c.session(executor.SessionOptions{Gate: k, StateDir: dir})
		_, err = denied.SaveState(c.ctx, "ann")
		c.wantCode(err, executor.ErrPolicyDenied)
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
			c.Errorf("left %q, %v", left, err)
		}
	})
	s.page(t, "not available in the user's browser", "second.html", func(c *testCase) {
		if !strings.HasPrefix(string(c.tab), "ext:") {
			c.Skip("this one is not its user's")
		}
		dir := c.TempDir()
		own := c.session(executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir})
		_, err := own.SaveState(c.ctx, "ann")
		c.wantCode(err, executor.ErrPolicyDenied, "user's Chrome")
		_, err = own.LoadState(c.ctx, "ann")
		c.wantCode(err, executor.ErrPolicyDenied, "user's Chrome")
		ignoring := c.session(executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir, State: "ann"})
		if _, _, err := ignoring.NewPage(c.ctx, nil); err != nil {
			c.Errorf("with a state to load: %v", err)
		}
	})
}

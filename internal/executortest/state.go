package executortest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// states runs a case on storage.html in a session that may save and load storage state, on a
// separate site. The gate denies storage access to all other sites.
func states(s *suite.Runner, t *testing.T, name string, f func(c *suite.Case, dir string)) {
	keeps(s.Shared(), t, name, func(c *suite.Case, _ *suite.Keeper) {
		if strings.HasPrefix(string(c.Tab), "ext:") {
			c.Skip("user's browser: logins are not the agent's")
		}
		dir := c.TempDir()
		c.Exec = stateSession(c, dir)
		c.Tab = c.Open("second.html")
		c.GoTo(shop(c, "app", "/p/"+c.ID+"/storage.html"), nil)
		f(c, dir)
	})
}

// stateSession returns a session that may save the state only of the case's site under "app", to
// files in dir.
func stateSession(c *suite.Case, dir string) executor.Executor {
	k := &suite.Keeper{}
	k.Deny(func(a executor.Access) bool {
		return a.Op == executor.OpState && a.Destination != "" && !strings.Contains(a.Destination, "//app.shop"+c.ID+".localhost")
	})
	return c.Session(executor.SessionOptions{Gate: k, StateDir: dir})
}

func saveState(c *suite.Case, name string) *executor.StateResult {
	c.Helper()
	st, err := c.Exec.SaveState(c.Ctx, name)
	if err != nil {
		c.Fatalf("save state: %v", err)
	}
	return st
}

// stateFile returns the content of a state file.
func stateFile(c *suite.Case, dir, name string) string {
	c.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		c.Fatal(err)
	}
	return string(data)
}

func sessionState(s *suite.Runner, t *testing.T) {
	states(s, t, "save, clear and load restore the login", func(c *suite.Case, dir string) {
		c.Eval("keep('local', 'theme', 's3cr3t-theme'); keep('session', 'step', '2')", nil)
		c.GoTo(shop(c, "app", "/cookie"), nil)
		setCookie(c, executor.Cookie{Name: "lasting", Value: "s3cr3t", Path: "/cookies", Secure: true, SameSite: executor.SameSiteLax})
		st := saveState(c, "ann")
		if st.File != "ann.json" || st.Cookies != 2 || st.Items != 1 || len(st.Origins) != 1 || !strings.HasPrefix(st.Origins[0], "http://app.shop") {
			c.Errorf("%+v", st)
		}
		c.WantNotIn(fmt.Sprintf("%+v", *st), "s3cr3t", "ann\"")
		c.WantIn(stateFile(c, dir, "ann.json"), `"customer"`, `"s3cr3t-theme"`, `"httpOnly": true`)
		if info, err := os.Stat(filepath.Join(dir, "ann.json")); err != nil || info.Mode().Perm() != 0o600 {
			c.Errorf("%v, %v", info, err)
		}
		c.Must(c.Page().RemoveItems(c.Ctx, executor.StorageLocal, nil))
		c.GoTo(shop(c, "app", "/cookies"), nil)
		c.Must(c.Page().DeleteCookies(c.Ctx, nil))
		wantSent(c, "app", "")

		other := stateSession(c, dir) // it has no tab
		st, err := other.LoadState(c.Ctx, "ann.json")
		if err != nil || st.Cookies != 2 || st.Items != 1 || st.DeniedCookies+st.DeniedOrigins+st.InvalidCookies != 0 {
			c.Fatalf("%+v, %v", st, err)
		}
		wantSent(c, "app", "lasting=s3cr3t; customer=ann")
		c.GoTo(shop(c, "app", "/p/"+c.ID+"/storage.html"), nil)
		c.WantValue("kept('local', 'theme')", "s3cr3t-theme")
		c.WantValue("document.cookie", "") // one has a path, one is HttpOnly
		tabs, err := other.Tabs(c.Ctx)
		if err != nil {
			c.Fatal(err)
		}
		for _, tab := range tabs {
			if tab.URL == shop(c, "app", "/") || tab.Active {
				c.Errorf("left tab %+v", tab)
			}
		}
	})
	states(s, t, "loaded at the start of a session", func(c *suite.Case, dir string) {
		c.Eval("keep('local', 'theme', 's3cr3t-theme')", nil)
		c.GoTo(shop(c, "app", "/cookie"), nil)
		saveState(c, "ann")
		c.Must(c.Page().DeleteCookies(c.Ctx, nil))
		c.GoTo(shop(c, "app", "/p/"+c.ID+"/storage.html"), nil)
		c.Must(c.Page().RemoveItems(c.Ctx, executor.StorageLocal, nil))

		c.Exec = c.Session(executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir, State: "ann"})
		c.Tab = c.Open("second.html")
		wantSent(c, "app", "customer=ann")
		c.GoTo(shop(c, "app", "/p/"+c.ID+"/storage.html"), nil)
		c.WantValue("kept('local', 'theme')", "s3cr3t-theme")
		// It is loaded once.
		c.Must(c.Page().RemoveItems(c.Ctx, executor.StorageLocal, nil))
		c.Tab = c.Open("second.html")
		c.GoTo(shop(c, "app", "/p/"+c.ID+"/storage.html"), nil)
		c.WantValue("kept('local', 'theme')", "null")

		for state, want := range map[string]string{"nosuch": "nosuch.json not found", "../ann": "invalid state file name"} {
			without := c.Session(executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir, State: state})
			for range 2 {
				_, _, err := without.NewPage(c.Ctx, nil)
				c.WantCode(err, executor.ErrBadArgs, want)
			}
		}
	})
	states(s, t, "only allowed sites are saved", func(c *suite.Case, dir string) {
		c.GoTo(shop(c, "pay", "/cookies?set=denied%3D1&set=above%3D1%3Bdomain%3D"+shopDomain(c)), nil)
		c.GoTo(shop(c, "app", "/cookies?set=mine%3D1"), nil)
		if st := saveState(c, "one"); st.Cookies != 1 || st.DeniedCookies < 2 {
			c.Errorf("%+v", st)
		}
		text := stateFile(c, dir, "one.json")
		c.WantIn(text, `"mine"`)
		c.WantNotIn(text, `"denied"`, `"above"`)
	})
	states(s, t, "only allowed sites are loaded, without requests", func(c *suite.Case, dir string) {
		host := "app." + shopDomain(c)
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
		]}`, host, shopDomain(c), c.Port)
		if err := os.WriteFile(filepath.Join(dir, "theirs.json"), []byte(text), 0o600); err != nil {
			c.Fatal(err)
		}
		st, err := c.Exec.LoadState(c.Ctx, "theirs")
		if err != nil || st.Cookies != 1 || st.Items != 3 || len(st.Origins) != 2 || st.DeniedCookies != 2 || st.DeniedOrigins != 1 || st.InvalidCookies != 2 {
			c.Fatalf("%+v, %v", st, err)
		}
		wantSent(c, "pay", "")
		wantSent(c, "app", "mine=1")
		for at, want := range map[string]string{"app": "dark", "pay": "null"} {
			c.GoTo(shop(c, at, "/p/"+c.ID+"/storage.html"), nil)
			c.WantValue("kept('local', 'theme')", want)
		}
	})
	states(s, t, "invalid files and names", func(c *suite.Case, dir string) {
		if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"cookies": [{"name": "mine", "value": "1", "domain": "app.`+shopDomain(c)+`"}, {}]}`), 0o600); err != nil {
			c.Fatal(err)
		}
		for _, name := range []string{"", "../ann", "nosuch", "bad"} {
			_, err := c.Exec.LoadState(c.Ctx, name)
			c.WantCode(err, executor.ErrBadArgs)
		}
		wantSent(c, "app", "")
		_, err := c.Exec.SaveState(c.Ctx, "../ann")
		c.WantCode(err, executor.ErrBadArgs)
		_, err = c.Session(executor.SessionOptions{Gate: executor.AllowAll}).SaveState(c.Ctx, "ann")
		c.WantCode(err, executor.ErrPolicyDenied, "Config.StateDir")
		k := &suite.Keeper{}
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpState })
		denied := c.Session(executor.SessionOptions{Gate: k, StateDir: dir})
		_, err = denied.SaveState(c.Ctx, "ann")
		c.WantCode(err, executor.ErrPolicyDenied)
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
			c.Errorf("left %q, %v", left, err)
		}
	})
	s.Page(t, "not available in the user's browser", "second.html", func(c *suite.Case) {
		if !strings.HasPrefix(string(c.Tab), "ext:") {
			c.Skip("this one is not its user's")
		}
		dir := c.TempDir()
		own := c.Session(executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir})
		_, err := own.SaveState(c.Ctx, "ann")
		c.WantCode(err, executor.ErrPolicyDenied, "user's Chrome")
		_, err = own.LoadState(c.Ctx, "ann")
		c.WantCode(err, executor.ErrPolicyDenied, "user's Chrome")
		ignoring := c.Session(executor.SessionOptions{Gate: executor.AllowAll, StateDir: dir, State: "ann"})
		if _, _, err := ignoring.NewPage(c.Ctx, nil); err != nil {
			c.Errorf("with a state to load: %v", err)
		}
	})
}

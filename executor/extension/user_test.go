package extension

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// newFileSite returns a site whose pages link to files. The file of /held ends after a value is sent
// to release.
func newFileSite(t *testing.T) (url string, release chan struct{}) {
	release = make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isFile := strings.CutPrefix(r.URL.Path, "/file/")
		if !isFile {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<!doctype html><title>%s</title><p>this is %[1]s</p><a id="quick" href="/file/quick.csv">Quick</a> <a id="held" href="/file/held.csv">Held</a>`, r.URL.Path)
			return
		}
		w.Header().Set("Content-Type", "text/csv")
		w.Header().Set("Content-Disposition", "attachment; filename="+name)
		fmt.Fprint(w, "id,total\n")
		if name == "held.csv" {
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		fmt.Fprint(w, "1,42\n")
	}))
	t.Cleanup(s.Close)
	return s.URL, release
}

// TestUserActions tests what the user and the browser do while an agent works, in one browser.
func TestUserActions(t *testing.T) {
	env := newTestEnv(t, nil, userBrowserOptions{})
	u := env.u
	site, release := newFileSite(t)
	run := func(name string, work func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			env.t, u.t = t, t
			work(t)
		})
		env.t, u.t = t, t
	}
	click := func(t *testing.T, s executor.Executor, id executor.TabID, selector string) []executor.Download {
		t.Helper()
		a, err := pagetest.Of(s, id).Click(t.Context(), executor.Target{Selector: selector}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(a.Downloads, a.EarlierDownloads)
	}
	// ends clicks until the result of an action reports the end of a download.
	ends := func(t *testing.T, s executor.Executor, id executor.TabID, downloads []executor.Download) executor.Download {
		t.Helper()
		var end executor.Download
		await.Until(t, "an action that reports the end of the download", func() bool {
			i := slices.IndexFunc(downloads, func(d executor.Download) bool { return d.State != "running" })
			if i < 0 {
				downloads = click(t, s, id, "p")
				return false
			}
			end = downloads[i]
			return true
		})
		return end
	}

	run("shortcuts of the browser go to the page", func(t *testing.T) {
		tab, id := env.share("/keys") // in front
		count := func() (n int) {
			u.worker("chrome.tabs.query({}).then((all) => all.length)", &n)
			return n
		}
		before := count()
		for _, key := range []string{"Control+t", "Control+w", "Control++", "Control++"} {
			if _, err := pagetest.Of(env.s, id).Press(t.Context(), key, nil); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
		waitForPage(t, env.s, id, "/keys")
		var zoom float64
		u.worker(fmt.Sprintf("chrome.tabs.getZoom(%d)", tab), &zoom)
		if zoom != 1 {
			t.Errorf("the page is zoomed to %v", zoom)
		}
		if after := count(); after != before {
			t.Errorf("there are %d tabs after it, %d before", after, before)
		}
	})

	run("clicked download is saved in the user's download directory", func(t *testing.T) {
		d, err := pagetest.Of(env.s, openTab(t, env.s, site+"/allowed")).Download(t.Context(), &executor.DownloadOptions{Target: executor.Target{Selector: "#quick"}})
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(d.Path)
		if err != nil || string(data) != "id,total\n1,42\n" || filepath.Dir(d.Path) != filepath.Join(u.root, "Downloads") || d.Bytes != int64(len(data)) {
			t.Errorf("%+v holds %q, %v", *d, data, err)
		}
	})

	run("denied download is canceled and leaves no file", func(t *testing.T) {
		s, err := env.b.NewSession(&executor.SessionOptions{Gate: executor.GateFunc(func(_ context.Context, a executor.Access) error {
			if a.Op == executor.OpDownload {
				return executor.Errorf(executor.ErrPolicyDenied, "", "no downloads")
			}
			return nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		id := openTab(t, s, site+"/denied")
		for _, selector := range []string{"#held", "#quick"} {
			if d := ends(t, s, id, click(t, s, id, selector)); d.State != "canceled" || d.Path != "" || d.Reason == "" {
				t.Errorf("%s: reported %+v", selector, d)
			}
			await.Until(t, "the removal of the file of "+selector, func() bool {
				var left int
				u.worker("chrome.downloads.search({limit: 1, orderBy: ['-startTime']}).then(([d]) => d.state === 'in_progress' || d.state === 'complete' && d.exists ? 1 : 0)", &left)
				return left == 0
			})
		}
		await.Until(t, "the directory to contain only the allowed file", func() bool {
			files, err := os.ReadDir(filepath.Join(u.root, "Downloads")) // the browser removes partial files after its event
			return err == nil && len(files) == 1
		})
	})

	run("download end is reported although the browser responds late", func(t *testing.T) {
		tier.Deep(t)
		id := openTab(t, env.s, site+"/slow")
		downloads := click(t, env.s, id, "#held")
		u.worker(`(() => {
			const { search } = chrome.downloads;
			globalThis.unanswered = 0;
			chrome.downloads.search = (query) => { if ('id' in query) unanswered++; return new Promise(() => {}) }; // never responds
			globalThis.respond = () => { chrome.downloads.search = search };
		})()`, nil)
		release <- struct{}{}
		await.Until(t, "an unanswered search", func() bool {
			var n int
			u.worker("unanswered", &n)
			return n > 0
		})
		u.worker("(respond(), 0)", nil)
		if d := ends(t, env.s, id, downloads); d.State != "completed" {
			t.Errorf("reported %+v", d)
		}
	})

	run("scripts require the user's consent", func(t *testing.T) {
		id := openTab(t, env.s, site+"/scripts")
		eval := func() <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := pagetest.Of(env.s, id).Eval(t.Context(), "1 + 1", nil)
				done <- err
			}()
			return done
		}
		done := eval()
		u.answer("no")
		wantCode(t, <-done, executor.ErrPolicyDenied, site)
		u.act("forget", map[string]any{"origin": site})
		done = eval()
		u.answer("session")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := <-eval(); err != nil { // without a question
			t.Fatal(err)
		}
	})

	run("idle tab is detached after the time that the user sets", func(t *testing.T) {
		tab, id := env.share("/idle")
		snap, err := pagetest.Of(env.s, id).Snapshot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		// later triggers the worker's alarm as if some minutes had passed, and waits until the tab is
		// attached or not, as wanted.
		later := func(minutes int, want bool) (attached bool) {
			u.worker(fmt.Sprintf(`(async () => {
				const now = Date.now;
				const attached = async () => (await chrome.debugger.getTargets()).find((t) => t.tabId === %d).attached;
				Date.now = () => now() + %d * 60_000;
				chrome.alarms.onAlarm.dispatch({ name: 'tick' });
				if (%v) await new Promise((done) => setTimeout(done, 500));
				while (await attached() !== %[3]v) await new Promise((done) => setTimeout(done, 20));
				Date.now = now;
				return attached();
			})()`, tab, minutes, want), &attached)
			return attached
		}
		if !later(14, true) {
			t.Error("detached after 14 minutes")
		}
		if later(16, false) {
			t.Error("after 16 minutes it is attached to")
		}
		wantAttachedAgain := func() {
			t.Helper()
			again, err := pagetest.Of(env.s, id).Snapshot(t.Context(), nil)
			if executor.CodeOf(err) == executor.ErrDetached { // the report of it arrived during the call
				again, err = pagetest.Of(env.s, id).Snapshot(t.Context(), nil)
			}
			if err != nil || again.Text != snap.Text {
				t.Errorf("after it: %v, %v", again, err)
			}
		}
		wantAttachedAgain()
		u.act("settings", map[string]any{"patch": map[string]any{"idleMinutes": 0}})
		if !later(600, true) {
			t.Error("detached although the user set the time to never")
		}
		u.act("settings", map[string]any{"patch": map[string]any{"idleMinutes": 1}})
		if later(2, false) {
			t.Error("after two minutes it is attached to although the user allows one")
		}
		wantAttachedAgain()
	})

	run("all tabs are shared except those on the block list", func(t *testing.T) {
		other := strings.Replace(site, "127.0.0.1", "localhost", 1)
		tab := u.open(site + "/everything")
		u.open(other + "/private")
		u.act("settings", map[string]any{"patch": map[string]any{"access": "all", "blockList": []string{"localhost"}}})
		listed := func(url string) (id executor.TabID) {
			tabs, err := env.s.Tabs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, tab := range tabs {
				if tab.URL == url {
					return tab.ID
				}
			}
			return ""
		}
		awaitListed := func(url string, want bool) (id executor.TabID) {
			t.Helper()
			await.Until(t, fmt.Sprintf("%s, listed: %v", url, want), func() bool {
				id = listed(url)
				return (id != "") == want
			})
			return id
		}
		id := awaitListed(site+"/everything", true)
		waitForPage(t, env.s, id, "/everything")
		u.open(site + "/later")
		awaitListed(site+"/later", true) // automatically
		if id := listed(other + "/private"); id != "" {
			t.Errorf("a page on the block list is %s", id)
		}
		u.worker(fmt.Sprintf("chrome.tabs.update(%d, {url: %q}).then(() => '')", tab, other+"/private"), nil)
		awaitListed(site+"/everything", false)
		if _, err := pagetest.Of(env.s, id).Text(t.Context(), nil); err == nil {
			t.Error("a page on the block list is read")
		}
		u.act("settings", map[string]any{"patch": map[string]any{"access": "shared", "blockList": []string{}}})
		awaitListed(site+"/later", false)
	})
}

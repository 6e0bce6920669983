package pagesuite

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// downloaded performs actions until one has reported the end of the download of name, and returns
// what it reported.
func downloaded(c *suite.Case, first []executor.Download, name string) executor.Download {
	c.Helper()
	return reported(c, first, func(d executor.Download) bool { return d.SuggestedName == name && d.State != "running" }) // whatever its file name is
}

// running performs actions until one has reported that the download of name is running. On a slow
// machine, the action that started it has returned before.
func running(c *suite.Case, first []executor.Download, name string) {
	c.Helper()
	d := reported(c, first, func(d executor.Download) bool { return d.SuggestedName == name })
	if d.State != "running" || d.Path != "" {
		c.Fatalf("reported %+v", d)
	}
}

// reported performs actions until one has reported a download for which is returns true. A download
// that starts during a later action is reported by that action.
func reported(c *suite.Case, first []executor.Download, is func(executor.Download) bool) executor.Download {
	c.Helper()
	for reported := first; c.Ctx.Err() == nil; {
		if i := slices.IndexFunc(reported, is); i >= 0 {
			return reported[i]
		}
		a := c.Click(suite.Selector("h1"), nil)
		reported = slices.Concat(a.EarlierDownloads, a.Downloads)
	}
	c.Fatalf("no action reported the download; first there were %+v", first)
	return executor.Download{}
}

// wantFile checks a completed download.
func wantFile(c *suite.Case, d executor.Download) {
	c.Helper()
	data, err := os.ReadFile(d.Path)
	if err != nil {
		c.Fatalf("%+v: %v", d, err)
	}
	if string(data) != suite.FileContent || d.State != "completed" || d.Bytes != int64(len(suite.FileContent)) {
		c.Errorf("%+v contains %q", d, data)
	}
}

// awaitDownload waits for the event that reports the end of the download of name.
func awaitDownload(next func(executor.EventKind) executor.Event, name string) {
	for {
		if d := next(executor.EventDownload).Download; d != nil && d.SuggestedName == name && d.State != "running" {
			return
		}
	}
}

func navigationDownloads(s *suite.Runner, t *testing.T) {
	for id, name := range suite.Sorted(map[string]string{
		"attachment": "plain.csv", "blob": "from blob.csv", "data": "from data.csv", "form": "form.csv", "script": "script.csv",
	}) {
		s.Page(t, "started by a click: "+id, "navigation-downloads.html", func(c *suite.Case) {
			a := c.Click(suite.Selector("#"+id), nil)
			d := downloaded(c, a.Downloads, name)
			wantFile(c, d)
			if filepath.Base(d.Path) != name && !strings.HasPrefix(filepath.Base(d.Path), strings.TrimSuffix(name, ".csv")) {
				c.Errorf("saved as %s", d.Path)
			}
			c.WantValue("document.title", "Travel downloads")
			e, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#" + id)})
			if err != nil {
				c.Fatal(err)
			}
			if e.Path == d.Path || e.SuggestedName != name {
				c.Errorf("the second one is %+v, the first was %+v", *e, d)
			}
		})
	}
	// Chrome does not ask the service worker of a page for what a link with a download attribute saves.
	const worker = "navigation-worker.html"
	fromWorker := []string{"framed", "linked", "navigated", "opened"}
	for _, id := range fromWorker {
		s.Page(t, "page with a service worker: "+id, worker, func(c *suite.Case) {
			c.Await("controlled", "worker")
			a := c.Click(suite.Selector("#"+id), nil)
			wantFile(c, downloaded(c, a.Downloads, id+".csv"))
			d, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#" + id)})
			if err != nil {
				c.Fatal(err)
			}
			c.WantSaved(d)
			c.WantValue("document.title", "Worker downloads")
		})
	}
	s.Page(t, "file name from the download attribute", "navigation-downloads.html", func(c *suite.Case) {
		d, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#named")})
		if err != nil {
			c.Fatal(err)
		}
		if !strings.HasPrefix(filepath.Base(d.Path), "chosen name") {
			c.Errorf("saved as %s", d.Path)
		}
	})
	s.Page(t, "click on a download link waits for the start", "navigation-downloads.html", func(c *suite.Case) {
		done := make(chan *executor.Action, 1)
		go func() {
			a, err := c.Page().Click(c.Ctx, suite.Selector("#late b"), nil)
			if err != nil {
				c.Error(err)
			}
			done <- a
		}()
		c.AwaitRequest("late")
		c.Release("late")
		if a := <-done; a != nil && (len(a.Downloads) != 1 || a.Downloads[0].SuggestedName != "late.csv") {
			c.Errorf("the click reports %+v", a)
		}
	})
	s.Page(t, "started in a frame", "navigation-downloads.html", func(c *suite.Case) {
		a := c.Click(suite.ByRef(c.Ref("link", "In a frame")), nil)
		wantFile(c, downloaded(c, a.Downloads, "frame.csv"))
	})
	s.Page(t, "download from a closed popup is reported in the opener", "navigation-downloads.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#popup"), nil)
		wantFile(c, downloaded(c, a.Downloads, "popup.csv"))
		c.WantValue("document.title", "Travel downloads")
	})
	s.Page(t, "two concurrent downloads", "navigation-downloads.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#two"), nil)
		var reported []executor.Download
		for reported = a.Downloads; c.Ctx.Err() == nil; reported = append(reported, c.Click(suite.Selector("h1"), nil).EarlierDownloads...) {
			done := 0
			for _, d := range reported {
				if d.State == "completed" {
					wantFile(c, d)
					done++
				}
			}
			if done == 2 {
				return
			}
		}
		c.Errorf("reported %+v", reported)
	})
	for id, name := range suite.Sorted(map[string]string{"slow": "slow.csv", "endless": "unknown.csv"}) {
		s.Watched(t, "reported as running, later as completed: "+id, "navigation-downloads.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
			running(c, c.Click(suite.Selector("#"+id), nil).Downloads, name)
			if a := c.Click(suite.Selector("h1"), nil); len(a.Downloads)+len(a.EarlierDownloads) != 0 {
				c.Errorf("reported again while running: %+v", a)
			}
			c.Release(map[string]string{"slow": "slow", "endless": "unknown"}[id])
			awaitDownload(next, name)
			wantFile(c, downloaded(c, nil, name))
		})
	}
	s.Watched(t, "each action reports the downloads that it started", "navigation-downloads.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
		running(c, c.Click(suite.Selector("#slow"), nil).Downloads, "slow.csv")
		for _, name := range []string{"nav-a.csv", "nav-b.csv", "nav-c.csv"} {
			nav := c.GoTo(c.NavigationURL("attachment/"+name), nil)
			now, _, _ := strings.Cut(nav.Note, "an earlier ") // possibly the end of the previous one
			if !strings.Contains(now, strings.TrimSuffix(name, ".csv")) || strings.Count(now, ".csv") != 1 {
				c.Errorf("navigating to %s: %q", name, nav.Note)
			}
		}
		c.Release("slow")
		awaitDownload(next, "slow.csv")
		a := c.Click(suite.Selector("#attachment"), nil)
		if len(a.Downloads) != 1 || a.Downloads[0].SuggestedName != "plain.csv" ||
			!slices.ContainsFunc(a.EarlierDownloads, func(d executor.Download) bool { return d.SuggestedName == "slow.csv" && d.State == "completed" }) {
			c.Errorf("the click reports %+v", a)
		}
	})
	s.Page(t, "new tab with a download URL", "navigation-downloads.html", func(c *suite.Case) {
		tab := c.OpenURL(c.NavigationURL("attachment/new-tab.csv"))
		if !strings.Contains(tab.Note, "is a download") || !strings.Contains(tab.Note, "new-tab") || tab.URL != "about:blank" {
			c.Errorf("the new tab is %+v", tab)
		}
		if _, err := pagetest.Of(c.Exec, tab.ID).Close(c.Ctx); err != nil {
			c.Error(err)
		}
	})
	s.Watched(t, "interrupted download is reported and its file removed", "navigation-downloads.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
		running(c, c.Click(suite.Selector("#cut"), nil).Downloads, "cut.csv")
		c.Release("cut")
		awaitDownload(next, "cut.csv")
		d := downloaded(c, nil, "cut.csv")
		if d.State != "canceled" || d.Path != "" || d.Reason == "" {
			c.Errorf("reported %+v", d)
		}
		_, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#cut")})
		c.WantCode(err, executor.ErrDownloadFailed, "cut.csv")
		_, err = c.Page().Download(c.Ctx, &executor.DownloadOptions{URL: c.NavigationURL("attachment/cut.csv?hold=cut&cut=1")})
		c.WantCode(err, executor.ErrDownloadFailed)
	})
	s.Page(t, "download exceeds its timeout", "navigation-downloads.html", func(c *suite.Case) {
		c.TimesOut("still running", func(timeout time.Duration) error {
			return suite.ErrOf(c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#slow"), Timeout: 20 * timeout})) // it starts until then
		})
		_, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{URL: c.NavigationURL("attachment/slow.csv?hold=slow"), Timeout: 300 * time.Millisecond})
		c.WantCode(err, executor.ErrTimeout)
		c.Release("slow")
		c.WantValue("document.title", "Travel downloads")
	})
	s.Page(t, "deceptive file names are sanitized", "navigation-downloads.html", func(c *suite.Case) {
		home := filepath.Dir(c.Fetch(executor.DownloadOptions{URL: c.Path("/file/home.csv")}).Path)
		for name, header := range map[string]string{
			"up":          `attachment; filename="../../../../tmp/escape.csv"`,
			"encoded up":  `attachment; filename*=UTF-8''..%2F..%2Fescape.csv`,
			"absolute":    `attachment; filename="/etc/escape.csv"`,
			"backslashes": `attachment; filename="..\\..\\escape.csv"`,
			"override":    `attachment; filename*=UTF-8''%E2%80%AEvsc.exe`,
			"device":      `attachment; filename="con.csv"`,
			"hidden":      `attachment; filename=".bashrc"`,
			"long":        `attachment; filename="` + strings.Repeat("n", 300) + `.csv"`,
			"nothing":     `attachment; filename=""`,
		} {
			c.Eval(`var a = document.querySelector("#attachment"); a.href = `+suite.Quote(c.NavigationURL("attachment/x.csv?as="+url.QueryEscape(header)))+`; 0`, nil)
			d, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#attachment")})
			if err != nil {
				c.Errorf("%s: %v", name, err)
				continue
			}
			base := filepath.Base(d.Path)
			stem, _, _ := strings.Cut(base, ".")
			if filepath.Dir(d.Path) != home || base[0] == '.' || len(base) > 255 || strings.ContainsAny(base, "/\\\x00\u202e") || strings.EqualFold(stem, "con") {
				c.Errorf("%s was saved as %q", name, d.Path)
			}
		}
	})
	refuse := executor.SessionOptions{Gate: executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if a.Op == executor.OpDownload {
			return executor.Errorf(executor.ErrPolicyDenied, "", "no downloads")
		}
		return nil
	})}
	s.Page(t, "late file is reported by the next call of any kind", "navigation-downloads.html", func(c *suite.Case) {
		ended := map[string]string{}
		c.Ctx = executor.WithCallOptions(c.Ctx, executor.CallOptions{OnDownload: func(d executor.Download) { ended[d.SuggestedName] = d.State }})
		c.Eval("location.href = "+suite.Quote(c.NavigationURL("attachment/late.csv?late=late"))+"; 0", nil)
		c.AwaitRequest("late")
		c.Snap(nil)
		if len(ended) != 0 {
			c.Errorf("reported before the response: %v", ended)
		}
		c.Release("late")
		for ended["late.csv"] != "completed" && c.Ctx.Err() == nil {
			c.Snap(nil)
		}
	})
	denied := func(c *suite.Case, ids ...string) {
		for _, id := range ids {
			a := c.Click(suite.Selector("#"+id), nil)
			reported := a.Downloads
			for len(reported) == 0 && c.Ctx.Err() == nil {
				reported = c.Click(suite.Selector("h1"), nil).EarlierDownloads
			}
			if len(reported) != 1 || reported[0].State != "canceled" || reported[0].Path != "" || !strings.Contains(reported[0].Reason, "no downloads") {
				c.Errorf("%s: reported %+v", id, reported)
			}
		}
	}
	s.PageWith(t, "without the grant: denied, reported", "navigation-downloads.html", refuse, func(c *suite.Case) {
		denied(c, "attachment", "blob")
		_, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#attachment")})
		c.WantCode(err, executor.ErrPolicyDenied)
	})
	s.PageWith(t, "page with a service worker, without the grant: denied, reported", worker, refuse, func(c *suite.Case) {
		c.Await("controlled", "worker")
		denied(c, fromWorker...)
	})
}

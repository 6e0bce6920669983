package executortest

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
)

// downloaded performs actions until one has reported the end of the download of name, and returns
// what it reported.
func (c *testCase) downloaded(first []executor.Download, name string) executor.Download {
	c.Helper()
	return c.reported(first, func(d executor.Download) bool { return d.SuggestedName == name && d.State != "running" }) // whatever its file name is
}

// running performs actions until one has reported that the download of name is running. On a slow
// machine, the action that started it has returned before.
func (c *testCase) running(first []executor.Download, name string) {
	c.Helper()
	d := c.reported(first, func(d executor.Download) bool { return d.SuggestedName == name })
	if d.State != "running" || d.Path != "" {
		c.Fatalf("reported %+v", d)
	}
}

// reported performs actions until one has reported a download for which is returns true. A download
// that starts during a later action is reported by that action.
func (c *testCase) reported(first []executor.Download, is func(executor.Download) bool) executor.Download {
	c.Helper()
	for reported := first; c.ctx.Err() == nil; {
		if i := slices.IndexFunc(reported, is); i >= 0 {
			return reported[i]
		}
		a := c.click(css("h1"), nil)
		reported = slices.Concat(a.EarlierDownloads, a.Downloads)
	}
	c.Fatalf("no action reported the download; first there were %+v", first)
	return executor.Download{}
}

// wantFile checks a completed download.
func (c *testCase) wantFile(d executor.Download) {
	c.Helper()
	data, err := os.ReadFile(d.Path)
	if err != nil {
		c.Fatalf("%+v: %v", d, err)
	}
	if string(data) != fileContent || d.State != "completed" || d.Bytes != int64(len(fileContent)) {
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

func (s *suite) navigationDownloads(t *testing.T) {
	for id, name := range sorted(map[string]string{
		"attachment": "plain.csv", "blob": "from blob.csv", "data": "from data.csv", "form": "form.csv", "script": "script.csv",
	}) {
		s.page(t, "started by a click: "+id, "navigation-downloads.html", func(c *testCase) {
			a := c.click(css("#"+id), nil)
			d := c.downloaded(a.Downloads, name)
			c.wantFile(d)
			if filepath.Base(d.Path) != name && !strings.HasPrefix(filepath.Base(d.Path), strings.TrimSuffix(name, ".csv")) {
				c.Errorf("saved as %s", d.Path)
			}
			c.wantValue("document.title", "Travel downloads")
			e, err := c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#" + id)})
			if err != nil {
				c.Fatal(err)
			}
			if e.Path == d.Path || e.SuggestedName != name {
				c.Errorf("the second one is %+v, the first was %+v", *e, d)
			}
		})
	}
	s.page(t, "file name from the download attribute", "navigation-downloads.html", func(c *testCase) {
		d, err := c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#named")})
		if err != nil {
			c.Fatal(err)
		}
		if !strings.HasPrefix(filepath.Base(d.Path), "chosen name") {
			c.Errorf("saved as %s", d.Path)
		}
	})
	s.page(t, "click on a download link waits for the start", "navigation-downloads.html", func(c *testCase) {
		done := make(chan *executor.Action, 1)
		go func() {
			a, err := c.page().Click(c.ctx, css("#late b"), nil)
			if err != nil {
				c.Error(err)
			}
			done <- a
		}()
		c.awaitRequest("late")
		c.release("late")
		if a := <-done; a != nil && (len(a.Downloads) != 1 || a.Downloads[0].SuggestedName != "late.csv") {
			c.Errorf("the click reports %+v", a)
		}
	})
	s.page(t, "started in a frame", "navigation-downloads.html", func(c *testCase) {
		a := c.click(byRef(c.ref("link", "In a frame")), nil)
		c.wantFile(c.downloaded(a.Downloads, "frame.csv"))
	})
	s.page(t, "download from a closed popup is reported in the opener", "navigation-downloads.html", func(c *testCase) {
		a := c.click(css("#popup"), nil)
		c.wantFile(c.downloaded(a.Downloads, "popup.csv"))
		c.wantValue("document.title", "Travel downloads")
	})
	s.page(t, "two concurrent downloads", "navigation-downloads.html", func(c *testCase) {
		a := c.click(css("#two"), nil)
		var reported []executor.Download
		for reported = a.Downloads; c.ctx.Err() == nil; reported = append(reported, c.click(css("h1"), nil).EarlierDownloads...) {
			done := 0
			for _, d := range reported {
				if d.State == "completed" {
					c.wantFile(d)
					done++
				}
			}
			if done == 2 {
				return
			}
		}
		c.Errorf("reported %+v", reported)
	})
	for id, name := range sorted(map[string]string{"slow": "slow.csv", "endless": "unknown.csv"}) {
		s.watched(t, "reported as running, later as completed: "+id, "navigation-downloads.html", func(c *testCase, next func(executor.EventKind) executor.Event) {
			c.running(c.click(css("#"+id), nil).Downloads, name)
			if a := c.click(css("h1"), nil); len(a.Downloads)+len(a.EarlierDownloads) != 0 {
				c.Errorf("reported again while running: %+v", a)
			}
			c.release(map[string]string{"slow": "slow", "endless": "unknown"}[id])
			awaitDownload(next, name)
			c.wantFile(c.downloaded(nil, name))
		})
	}
	s.watched(t, "each action reports the downloads that it started", "navigation-downloads.html", func(c *testCase, next func(executor.EventKind) executor.Event) {
		c.running(c.click(css("#slow"), nil).Downloads, "slow.csv")
		for _, name := range []string{"nav-a.csv", "nav-b.csv", "nav-c.csv"} {
			nav := c.goTo(c.navigationURL("attachment/"+name), nil)
			now, _, _ := strings.Cut(nav.Note, "an earlier ") // possibly the end of the previous one
			if !strings.Contains(now, strings.TrimSuffix(name, ".csv")) || strings.Count(now, ".csv") != 1 {
				c.Errorf("navigating to %s: %q", name, nav.Note)
			}
		}
		c.release("slow")
		awaitDownload(next, "slow.csv")
		a := c.click(css("#attachment"), nil)
		if len(a.Downloads) != 1 || a.Downloads[0].SuggestedName != "plain.csv" ||
			!slices.ContainsFunc(a.EarlierDownloads, func(d executor.Download) bool { return d.SuggestedName == "slow.csv" && d.State == "completed" }) {
			c.Errorf("the click reports %+v", a)
		}
	})
	s.page(t, "new tab with a download URL", "navigation-downloads.html", func(c *testCase) {
		tab := c.openURL(c.navigationURL("attachment/new-tab.csv"))
		if !strings.Contains(tab.Note, "is a download") || !strings.Contains(tab.Note, "new-tab") || tab.URL != "about:blank" {
			c.Errorf("the new tab is %+v", tab)
		}
		if _, err := pagetest.Of(c.exec, tab.ID).Close(c.ctx); err != nil {
			c.Error(err)
		}
	})
	s.watched(t, "interrupted download is reported and its file removed", "navigation-downloads.html", func(c *testCase, next func(executor.EventKind) executor.Event) {
		c.running(c.click(css("#cut"), nil).Downloads, "cut.csv")
		c.release("cut")
		awaitDownload(next, "cut.csv")
		d := c.downloaded(nil, "cut.csv")
		if d.State != "canceled" || d.Path != "" || d.Reason == "" {
			c.Errorf("reported %+v", d)
		}
		_, err := c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#cut")})
		c.wantCode(err, executor.ErrDownloadFailed, "cut.csv")
		_, err = c.page().Download(c.ctx, executor.DownloadOptions{URL: c.navigationURL("attachment/cut.csv?hold=cut&cut=1")})
		c.wantCode(err, executor.ErrDownloadFailed)
	})
	s.page(t, "download exceeds its timeout", "navigation-downloads.html", func(c *testCase) {
		c.timesOut("still running", func(timeout time.Duration) error {
			return errOf(c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#slow"), Timeout: 20 * timeout})) // it starts until then
		})
		_, err := c.page().Download(c.ctx, executor.DownloadOptions{URL: c.navigationURL("attachment/slow.csv?hold=slow"), Timeout: 300 * time.Millisecond})
		c.wantCode(err, executor.ErrTimeout)
		c.release("slow")
		c.wantValue("document.title", "Travel downloads")
	})
	s.page(t, "deceptive file names are sanitized", "navigation-downloads.html", func(c *testCase) {
		home := filepath.Dir(c.fetch(executor.DownloadOptions{URL: c.path("/file/home.csv")}).Path)
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
			c.eval(`var a = document.querySelector("#attachment"); a.href = `+quote(c.navigationURL("attachment/x.csv?as="+url.QueryEscape(header)))+`; 0`, nil)
			d, err := c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#attachment")})
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
	s.page(t, "late file is reported by the next call of any kind", "navigation-downloads.html", func(c *testCase) {
		ended := map[string]string{}
		c.ctx = executor.WithCallOptions(c.ctx, executor.CallOptions{OnDownload: func(d executor.Download) { ended[d.SuggestedName] = d.State }})
		c.eval("location.href = "+quote(c.navigationURL("attachment/late.csv?late=late"))+"; 0", nil)
		c.awaitRequest("late")
		c.snap(nil)
		if len(ended) != 0 {
			c.Errorf("reported before the response: %v", ended)
		}
		c.release("late")
		for ended["late.csv"] != "completed" && c.ctx.Err() == nil {
			c.snap(nil)
		}
	})
	s.pageWith(t, "without the grant: denied, reported", "navigation-downloads.html", refuse, func(c *testCase) {
		for _, id := range []string{"attachment", "blob"} {
			a := c.click(css("#"+id), nil)
			reported := a.Downloads
			for len(reported) == 0 && c.ctx.Err() == nil {
				reported = c.click(css("h1"), nil).EarlierDownloads
			}
			if len(reported) != 1 || reported[0].State != "canceled" || reported[0].Path != "" || !strings.Contains(reported[0].Reason, "no downloads") {
				c.Errorf("%s: reported %+v", id, reported)
			}
		}
		_, err := c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#attachment")})
		c.wantCode(err, executor.ErrPolicyDenied)
	})
}

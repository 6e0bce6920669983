package executortest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func download(s *suite.Runner, t *testing.T) {
	s.Shared().Page(t, "frame that a script creates", "download.html", func(c *suite.Case) {
		c.Eval(`const b = document.createElement("button"); b.id = "maker"; b.textContent = "Make"; document.body.append(b);
			b.onclick = () => { const f = document.createElement("iframe"); f.hidden = true; f.src = "/file/made.txt"; document.body.append(f) }; 0`, nil)
		for range 3 { // the download may start before the frame is known
			c.Fetch(executor.DownloadOptions{Target: suite.Selector("#maker")})
		}
	})
	s.Page(t, "url", "download.html", func(c *suite.Case) {
		d := c.Fetch(executor.DownloadOptions{URL: c.Path("/file/report.csv")})
		if filepath.Base(d.Path) == "" || filepath.Ext(d.Path) != ".csv" {
			c.Errorf("saved as %s", d.Path)
		}
		c.WantValue("document.title", "Download") // the page did not change
	})
	s.Shared().Page(t, "URL with the session's cookies", "download.html", func(c *suite.Case) {
		c.GoTo(c.Path("/cookie"), nil)
		c.Fetch(executor.DownloadOptions{URL: c.Path("/file/mine.csv?customer=1")})
	})
	s.Shared().Page(t, "suggested name", "download.html", func(c *suite.Case) {
		d := c.Fetch(executor.DownloadOptions{URL: c.Path("/file/report.csv"), SuggestedName: "march totals.csv"})
		if base := filepath.Base(d.Path); !strings.HasPrefix(base, "march totals") || filepath.Ext(base) != ".csv" {
			c.Errorf("saved as %s", d.Path)
		}
	})
	s.Page(t, "click", "download.html", func(c *suite.Case) {
		c.Fetch(executor.DownloadOptions{Target: suite.Selector("#report")})
	})
	s.Watched(t, "click that starts two downloads", "download.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
		for _, name := range []string{"first", "second"} {
			c.Eval(fmt.Sprintf("document.querySelector('#%s').href = %q; 0", name, c.NavigationURL("attachment/"+name+".csv?hold=both")), nil)
		}
		var d *executor.DownloadedFiles
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			d, err = c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#two")})
		}()
		for range 2 { // others are reported if they start before the first ends
			next(executor.EventDownload)
		}
		c.Release("both")
		if <-done; err != nil {
			c.Fatal(err)
		}
		c.WantSaved(d)
		if len(d.Others) != 1 {
			c.Fatalf("others: %+v, want one", d.Others)
		}
		second := d.Others[0] // the responses arrive in any order
		c.WantIn(d.SuggestedName+" "+second.SuggestedName, "first", "second")
		if second.State != "completed" || second.Path == d.Path {
			c.Errorf("saved %s, others %+v", d.Path, d.Others)
		}
		if data, err := os.ReadFile(second.Path); err != nil || string(data) != suite.FileContent {
			c.Errorf("the second file contains %q: %v", data, err)
		}
		if a := c.Click(suite.Selector("#nothing"), nil); len(a.Downloads)+len(a.EarlierDownloads) != 0 {
			c.Errorf("reported again: %+v", a.Changes)
		}
	})
	s.Page(t, "link that opens a tab, which closes before the file is complete", "download.html", func(c *suite.Case) {
		c.Eval(fmt.Sprintf("const a = document.querySelector('#report'); a.target = '_blank'; a.href = %q; 0", c.NavigationURL("attachment/tab.csv?late=tab&hold=file")), nil)
		var d *executor.DownloadedFiles
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			d, err = c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#report")})
		}()
		await.Until(c, "the tab to be listed", func() bool { return len(c.Tabs()) == 2 })
		c.Release("tab")
		await.Until(c, "the tab to close", func() bool { return len(c.Tabs()) == 1 })
		c.Release("file")
		if <-done; err != nil {
			c.Fatal(err)
		}
		c.WantSaved(d)
	})
	s.Shared().Page(t, "click that starts a download", "download.html", func(c *suite.Case) {
		if a := c.Click(suite.Selector("#report"), nil); len(a.Downloads) != 1 || a.Downloads[0].State == "" {
			c.Errorf("downloads: %+v, want one with its state", a.Downloads)
		}
	})
	s.Page(t, "files are never overwritten", "download.html", func(c *suite.Case) {
		opts := executor.DownloadOptions{URL: c.Path("/file/same.csv")}
		first, second := c.Fetch(opts), c.Fetch(opts)
		if first.Path == second.Path {
			c.Errorf("both were saved as %s", first.Path)
		}
		if filepath.Dir(first.Path) != filepath.Dir(second.Path) {
			c.Errorf("saved in %s and %s", filepath.Dir(first.Path), filepath.Dir(second.Path))
		}
	})
	s.Shared().Page(t, "unsafe names", "download.html", func(c *suite.Case) {
		home := filepath.Dir(c.Fetch(executor.DownloadOptions{URL: c.Path("/file/home.csv")}).Path)
		for _, name := range []string{"../../escape.csv", "/etc/absolute.csv", `..\..\back.csv`, ".hidden", "con.csv", "a:b?.csv", "x\x00y.csv", strings.Repeat("long", 200) + ".csv", "..", "\u202egnp.exe"} {
			d := c.Fetch(executor.DownloadOptions{URL: c.Path("/file/x.csv?as=" + url.QueryEscape(strings.ReplaceAll(name, "\x00", "")))})
			e := c.Fetch(executor.DownloadOptions{URL: c.Path("/file/x.csv"), SuggestedName: name})
			for _, path := range []string{d.Path, e.Path} {
				base := filepath.Base(path)
				if filepath.Dir(path) != home {
					c.Errorf("%q was saved as %s, outside of %s", name, path, home)
				}
				if base[0] == '.' || len(base) > 255 || strings.ContainsAny(base, "/\\:?\x00\u202e") {
					c.Errorf("%q was saved as %q", name, base)
				}
			}
		}
	})
	s.Page(t, "not found", "download.html", func(c *suite.Case) {
		_, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{URL: c.Path("/status/404")})
		c.WantCode(err, executor.ErrDownloadFailed, "404")
	})
	s.Shared().Page(t, "refused", "download.html", func(c *suite.Case) {
		_, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{URL: "http://127.0.0.1:1/x.csv"})
		c.WantCode(err, executor.ErrDownloadFailed)
	})
	s.Page(t, "too large", "download.html", func(c *suite.Case) {
		_, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{URL: c.Path(fmt.Sprintf("/file/big.bin?size=%d", c.H.MaxDownload+1))})
		c.WantCode(err, executor.ErrDownloadFailed, "large")
	})
	s.Shared().Page(t, "click that starts no download", "download.html", func(c *suite.Case) {
		_, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#nothing"), Timeout: time.Second})
		if code := executor.CodeOf(err); code != executor.ErrTimeout && code != executor.ErrDownloadFailed {
			c.Errorf("error %v", err)
		}
	})
	s.Page(t, "navigation that becomes a download", "download.html", func(c *suite.Case) {
		nav := c.GoTo(c.Path("/file/report.csv"), nil)
		if nav.URL != c.URL("download.html") || !regexp.MustCompile(`the page did not change; download (running|completed) ".*report.*csv"$`).MatchString(nav.Note) {
			c.Errorf("ended at %+v, want the old page and a note", *nav)
		}
		c.WantValue("document.title", "Download")
	})
	s.Shared().Page(t, "bad arguments", "download.html", func(c *suite.Case) {
		for _, opts := range []executor.DownloadOptions{{}, {URL: c.Path("/file/x"), Target: suite.Selector("#report")}, {URL: "x.csv"}, {URL: "javascript:1"}, {URL: "file:///etc/passwd"}} {
			_, err := c.Page().Download(c.Ctx, &opts)
			c.WantCode(err, executor.ErrBadArgs)
		}
		_, err := c.Page().Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound)
	})
}

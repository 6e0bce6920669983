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
)

// fetch downloads and fails the case if that fails.
func (c *testCase) fetch(opts executor.DownloadOptions) *executor.DownloadedFiles {
	c.Helper()
	d, err := c.page().Download(c.ctx, opts)
	if err != nil {
		c.Fatalf("download %+v: %v", opts, err)
	}
	c.wantSaved(d)
	return d
}

// wantSaved checks the file of a download.
func (c *testCase) wantSaved(d *executor.DownloadedFiles) {
	c.Helper()
	data, err := os.ReadFile(d.Path)
	if err != nil {
		c.Fatal(err)
	}
	if string(data) != fileContent {
		c.Errorf("%s contains %q, want %q", d.Path, data, fileContent)
	}
	if d.Bytes != int64(len(fileContent)) || d.Backend == "" || !filepath.IsAbs(d.Path) {
		c.Errorf("result %+v", *d)
	}
}

func (s *suite) download(t *testing.T) {
	s.page(t, "frame that a script creates", "download.html", func(c *testCase) {
		c.eval(`const b = document.createElement("button"); b.id = "maker"; b.textContent = "Make"; document.body.append(b);
			b.onclick = () => { const f = document.createElement("iframe"); f.hidden = true; f.src = "/file/made.txt"; document.body.append(f) }; 0`, nil)
		for range 3 { // the download may start before the frame is known
			c.fetch(executor.DownloadOptions{Target: css("#maker")})
		}
	})
	s.page(t, "url", "download.html", func(c *testCase) {
		d := c.fetch(executor.DownloadOptions{URL: c.path("/file/report.csv")})
		if filepath.Base(d.Path) == "" || filepath.Ext(d.Path) != ".csv" {
			c.Errorf("saved as %s", d.Path)
		}
		c.wantValue("document.title", "Download") // the page did not change
	})
	s.page(t, "URL with the session's cookies", "download.html", func(c *testCase) {
		c.goTo(c.path("/cookie"), nil)
		c.fetch(executor.DownloadOptions{URL: c.path("/file/mine.csv?customer=1")})
	})
	s.page(t, "suggested name", "download.html", func(c *testCase) {
		d := c.fetch(executor.DownloadOptions{URL: c.path("/file/report.csv"), SuggestedName: "march totals.csv"})
		if base := filepath.Base(d.Path); !strings.HasPrefix(base, "march totals") || filepath.Ext(base) != ".csv" {
			c.Errorf("saved as %s", d.Path)
		}
	})
	s.page(t, "click", "download.html", func(c *testCase) {
		c.fetch(executor.DownloadOptions{Target: css("#report")})
	})
	s.watched(t, "click that starts two downloads", "download.html", func(c *testCase, next func(executor.EventKind) executor.Event) {
		for _, name := range []string{"first", "second"} {
			c.eval(fmt.Sprintf("document.querySelector('#%s').href = %q; 0", name, c.navigationURL("attachment/"+name+".csv?hold=both")), nil)
		}
		var d *executor.DownloadedFiles
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			d, err = c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#two")})
		}()
		for range 2 { // others are reported if they start before the first ends
			next(executor.EventDownload)
		}
		c.release("both")
		if <-done; err != nil {
			c.Fatal(err)
		}
		c.wantSaved(d)
		if len(d.Others) != 1 {
			c.Fatalf("others: %+v, want one", d.Others)
		}
		second := d.Others[0] // the responses arrive in any order
		c.wantIn(d.SuggestedName+" "+second.SuggestedName, "first", "second")
		if second.State != "completed" || second.Path == d.Path {
			c.Errorf("saved %s, others %+v", d.Path, d.Others)
		}
		if data, err := os.ReadFile(second.Path); err != nil || string(data) != fileContent {
			c.Errorf("the second file contains %q: %v", data, err)
		}
		if a := c.click(css("#nothing"), nil); len(a.Downloads)+len(a.EarlierDownloads) != 0 {
			c.Errorf("reported again: %+v", a.Changes)
		}
	})
	s.page(t, "link that opens a tab, which closes before the file is complete", "download.html", func(c *testCase) {
		c.eval(fmt.Sprintf("const a = document.querySelector('#report'); a.target = '_blank'; a.href = %q; 0", c.navigationURL("attachment/tab.csv?late=tab&hold=file")), nil)
		var d *executor.DownloadedFiles
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			d, err = c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#report")})
		}()
		await.Until(c, "the tab to be listed", func() bool { return len(c.tabs()) == 2 })
		c.release("tab")
		await.Until(c, "the tab to close", func() bool { return len(c.tabs()) == 1 })
		c.release("file")
		if <-done; err != nil {
			c.Fatal(err)
		}
		c.wantSaved(d)
	})
	s.page(t, "click that starts a download", "download.html", func(c *testCase) {
		if a := c.click(css("#report"), nil); len(a.Downloads) != 1 || a.Downloads[0].State == "" {
			c.Errorf("downloads: %+v, want one with its state", a.Downloads)
		}
	})
	s.page(t, "files are never overwritten", "download.html", func(c *testCase) {
		opts := executor.DownloadOptions{URL: c.path("/file/same.csv")}
		first, second := c.fetch(opts), c.fetch(opts)
		if first.Path == second.Path {
			c.Errorf("both were saved as %s", first.Path)
		}
		if filepath.Dir(first.Path) != filepath.Dir(second.Path) {
			c.Errorf("saved in %s and %s", filepath.Dir(first.Path), filepath.Dir(second.Path))
		}
	})
	s.page(t, "unsafe names", "download.html", func(c *testCase) {
		home := filepath.Dir(c.fetch(executor.DownloadOptions{URL: c.path("/file/home.csv")}).Path)
		for _, name := range []string{"../../escape.csv", "/etc/absolute.csv", `..\..\back.csv`, ".hidden", "con.csv", "a:b?.csv", "x\x00y.csv", strings.Repeat("long", 200) + ".csv", "..", "\u202egnp.exe"} {
			d := c.fetch(executor.DownloadOptions{URL: c.path("/file/x.csv?as=" + url.QueryEscape(strings.ReplaceAll(name, "\x00", "")))})
			e := c.fetch(executor.DownloadOptions{URL: c.path("/file/x.csv"), SuggestedName: name})
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
	s.page(t, "not found", "download.html", func(c *testCase) {
		_, err := c.page().Download(c.ctx, executor.DownloadOptions{URL: c.path("/status/404")})
		c.wantCode(err, executor.ErrDownloadFailed, "404")
	})
	s.page(t, "refused", "download.html", func(c *testCase) {
		_, err := c.page().Download(c.ctx, executor.DownloadOptions{URL: "http://127.0.0.1:1/x.csv"})
		c.wantCode(err, executor.ErrDownloadFailed)
	})
	s.page(t, "too large", "download.html", func(c *testCase) {
		_, err := c.page().Download(c.ctx, executor.DownloadOptions{URL: c.path(fmt.Sprintf("/file/big.bin?size=%d", c.h.MaxDownload+1))})
		c.wantCode(err, executor.ErrDownloadFailed, "large")
	})
	s.page(t, "click that starts no download", "download.html", func(c *testCase) {
		_, err := c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#nothing"), Timeout: time.Second})
		if code := executor.CodeOf(err); code != executor.ErrTimeout && code != executor.ErrDownloadFailed {
			c.Errorf("error %v", err)
		}
	})
	s.page(t, "navigation that becomes a download", "download.html", func(c *testCase) {
		nav := c.goTo(c.path("/file/report.csv"), nil)
		if nav.URL != c.url("download.html") || !regexp.MustCompile(`the page did not change; download (running|completed) ".*report.*csv"$`).MatchString(nav.Note) {
			c.Errorf("ended at %+v, want the old page and a note", *nav)
		}
		c.wantValue("document.title", "Download")
	})
	s.page(t, "bad arguments", "download.html", func(c *testCase) {
		for _, opts := range []executor.DownloadOptions{{}, {URL: c.path("/file/x"), Target: css("#report")}, {URL: "x.csv"}, {URL: "javascript:1"}, {URL: "file:///etc/passwd"}} {
			_, err := c.page().Download(c.ctx, opts)
			c.wantCode(err, executor.ErrBadArgs)
		}
		_, err := c.page().Download(c.ctx, executor.DownloadOptions{Target: css("#nosuch")})
		c.wantCode(err, executor.ErrSelectorNotFound)
	})
}

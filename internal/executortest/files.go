package executortest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// uploads runs a case on files.html in a session with an upload directory that contains some files.
func (s *suite) uploads(t *testing.T, name string, f func(c *testCase, k *keeper)) {
	s.page(t, name, "", func(c *testCase) {
		dir := filepath.Join(c.TempDir(), "uploads")
		big := strings.Repeat("0123456789abcdef", 3<<20/16)
		for path, data := range map[string]string{"uploads/a.txt": "first", "uploads/b.png": "second", "uploads/c.bin": "third", "uploads/empty.txt": "", "uploads/big.txt": big, "secret.txt": "SECRET"} {
			path = filepath.Join(filepath.Dir(dir), path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				c.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				c.Fatal(err)
			}
		}
		if err := os.Symlink("../secret.txt", filepath.Join(dir, "link.txt")); err != nil {
			c.Log(err)
		}
		k := &keeper{}
		c.exec = c.session(executor.SessionOptions{Gate: k, UploadsDir: dir})
		c.tab = c.open("files.html")
		f(c, k)
	})
}

// upload uploads files to target and fails the case if that fails.
func (c *testCase) upload(target executor.Target, paths ...string) *executor.Upload {
	c.Helper()
	u, err := c.page().Upload(c.ctx, target, paths, nil)
	if err != nil {
		c.Fatalf("upload %q to %+v: %v", paths, target, err)
	}
	if len(u.Files) != len(paths) {
		c.Errorf("files %+v, want %q", u.Files, paths)
	}
	return u
}

// wantHolds checks the value of a promise of the page.
func (c *testCase) wantHolds(promise, want string) {
	c.Helper()
	if got := c.evalString(promise); got != want {
		c.Errorf("%s = %q, want %q", promise, got, want)
	}
}

func (s *suite) upload(t *testing.T) {
	s.uploads(t, "into a file input", func(c *testCase, k *keeper) {
		c.snap(nil)
		u := c.upload(css("#one"), "a.txt")
		if f := u.Files[0]; f.Name != "a.txt" || f.Bytes != 5 || f.MIMEType != "text/plain" {
			c.Errorf("file %+v", f)
		}
		c.wantIn(u.Diff, "Chosen: a.txt")
		c.wantReported("input one", "change one")
		c.wantHolds("got('#one')", "a.txt text/plain 5 first")
		if len(k.accesses(executor.OpUpload)) == 0 {
			c.Error("the gate was not consulted")
		}
	})
	s.uploads(t, "several files, one empty", func(c *testCase, _ *keeper) {
		c.upload(css("#many"), "a.txt", "b.png", "empty.txt")
		c.wantHolds("got('#many')", "a.txt text/plain 5 first; b.png image/png 6 second; empty.txt text/plain 0 ")
		c.upload(byRef(c.ref("button", "Many")), "b.png")
		c.wantHolds("got('#many')", "b.png image/png 6 second")
	})
	s.uploads(t, "large file is unchanged", func(c *testCase, _ *keeper) {
		c.upload(css("#one"), "big.txt")
		want := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Repeat("0123456789abcdef", 3<<20/16))))
		c.wantHolds("document.querySelector('#one').files[0].arrayBuffer().then((b) => crypto.subtle.digest('SHA-256', b)).then((h) => [...new Uint8Array(h)].map((x) => x.toString(16).padStart(2, '0')).join(''))", want)
	})
	for name, selector := range sorted(map[string]string{"hidden": "#hidden", "by its label": "#label", "by a button": "#choose", "by a button, later": "#later"}) {
		s.uploads(t, "hidden file input, "+name, func(c *testCase, _ *keeper) {
			u := c.upload(css(selector), "a.txt")
			c.wantNotIn(u.Note, "asks for a file")
			c.await("change", "hidden")
			c.wantHolds("got('#hidden')", "a.txt text/plain 5 first")
		})
	}
	s.uploads(t, "file input outside of the document", func(c *testCase, _ *keeper) {
		if u := c.upload(css("#loose"), "a.txt"); u.Title != "loose a.txt" {
			c.Errorf("title %q", u.Title)
		}
	})
	s.uploads(t, "cross-site frame", func(c *testCase, k *keeper) {
		c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'height: 300px'; f.src = %q; document.body.replaceChildren(f); })", c.otherURL("files.html")), nil)
		snap := c.snap(nil)
		c.upload(byRef(c.refIn(snap, "button", "One")), "a.txt")
		c.await("change", "one")
		choose := c.refIn(snap, "button", "Choose")
		c.upload(byRef(choose), "a.txt")
		c.await("change", "hidden")
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpUpload && a.Origin == c.otherOrigin() })
		_, err := c.page().Upload(c.ctx, byRef(choose), []string{"a.txt"}, nil)
		c.wantCode(err, executor.ErrPolicyDenied)
	})
	s.uploads(t, "button that the page replaces while it is disabled", func(c *testCase, _ *keeper) {
		c.eval("const b = document.querySelector('#choose'); b.disabled = true; setTimeout(() => { b.outerHTML = b.outerHTML.replace('disabled', 'enabled') }, 300); 0", nil)
		if u := c.upload(css("#choose"), "a.txt"); u.Note != "" {
			c.Errorf("note %q", u.Note)
		}
		c.wantHolds("got('#hidden')", "a.txt text/plain 5 first")
	})
	s.uploads(t, "page opens a dialog", func(c *testCase, _ *keeper) {
		if u := c.upload(css("#alerts"), "a.txt"); u.Dialog == nil || u.Dialog.Message != "thank you for a.txt" {
			c.Errorf("dialog %+v", u.Dialog)
		}
	})
	s.uploads(t, "page navigates", func(c *testCase, _ *keeper) {
		if u := c.upload(css("#leaves"), "a.txt"); u.URL != c.url("second.html") {
			c.Errorf("changes %+v", u.Changes)
		}
	})
	s.uploads(t, "dropped on an element", func(c *testCase, k *keeper) {
		c.snap(nil)
		u := c.upload(css("#zone"), "a.txt", "b.png")
		c.wantIn(u.Note, "dropped")
		c.wantIn(u.Diff, "Dropped: a.txt,b.png")
		c.wantHolds("dropped", "zone Files a.txt text/plain 5 first; b.png image/png 6 second")
		c.wantUntouched("zone") // not clicked
		c.upload(css("#revealing"), "a.txt")
		c.wantHolds("dropped", "overlay Files a.txt text/plain 5 first")
		c.upload(css("#delegated"), "a.txt", "empty.txt") // only a click shows that it opens no file chooser
		c.wantHolds("dropped", "delegated 2")
		c.eval("dropped = Promise.resolve('none'); 0", nil)
		for selector, says := range sorted(map[string]string{"#rejecting": "does not accept", "#ignoring": "ignored", "#covered": "covered"}) {
			_, err := c.page().Upload(c.ctx, css(selector), []string{"a.txt"}, nil)
			c.wantCode(err, executor.ErrNotActionable, says)
		}
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpUpload })
		_, err := c.page().Upload(c.ctx, css("#zone"), []string{"a.txt"}, nil)
		c.wantCode(err, executor.ErrPolicyDenied)
		c.wantHolds("dropped", "none")
		c.wantValue("document.title", "Files")
	})
	s.uploads(t, "files that the input rejects", func(c *testCase, _ *keeper) {
		for _, tt := range []struct {
			selector string
			paths    []string
			code     executor.Code
			says     string
		}{
			{"#one", []string{"a.txt", "b.png"}, executor.ErrBadArgs, "one file, not 2"},
			{"#many", []string{"a.txt", "c.bin"}, executor.ErrBadArgs, `does not accept "c.bin"`},
			{"#strict", []string{"c.bin"}, executor.ErrBadArgs, `does not accept "c.bin"`},
			{"#folder", []string{"a.txt"}, executor.ErrBadArgs, "directories only"},
			{"#off", []string{"a.txt"}, executor.ErrNotActionable, "disabled"},
			{"#nothing", []string{"a.txt"}, executor.ErrNotActionable, "did not open a file chooser"},
			{"#nosuch", []string{"a.txt"}, executor.ErrSelectorNotFound, "nothing matches"},
		} {
			_, err := c.page().Upload(c.ctx, css(tt.selector), tt.paths, nil)
			c.wantCode(err, tt.code, tt.says)
		}
		c.wantValue("[...document.querySelectorAll('input')].map((i) => i.files.length).join('')", "0000000")
		c.wantUntouched("one")
	})
	s.uploads(t, "files outside the upload directory", func(c *testCase, _ *keeper) {
		for path, code := range map[string]executor.Code{
			"nosuch.txt": executor.ErrBadArgs, ".": executor.ErrBadArgs, "../secret.txt": executor.ErrPolicyDenied, "link.txt": executor.ErrPolicyDenied, "/etc/passwd": executor.ErrPolicyDenied,
		} {
			_, err := c.page().Upload(c.ctx, css("#nothing"), []string{"a.txt", path}, nil)
			c.wantCode(err, code)
		}
		c.wantUntouched("nothing") // it was not clicked
	})
	s.page(t, "no upload directory", "files.html", func(c *testCase) {
		_, err := c.page().Upload(c.ctx, css("#one"), []string{"a.txt"}, nil)
		c.wantCode(err, executor.ErrPolicyDenied, "Config.UploadsDir")
	})
}

func (s *suite) savePDF(t *testing.T) {
	s.page(t, "a page", "tall.html", func(c *testCase) {
		sizes := make(map[bool]string)
		for _, landscape := range []bool{false, true} {
			pdf, err := c.page().SavePDF(c.ctx, &executor.PDFOptions{Landscape: landscape, Background: true, Name: "../sheet"})
			if err != nil {
				c.Fatal(err)
			}
			data, err := os.ReadFile(pdf.Path)
			if err != nil {
				c.Fatal(err)
			}
			if !strings.HasPrefix(string(data), "%PDF-") || int64(len(data)) != pdf.Bytes || pdf.Pages < 2 || pdf.Backend == "" || filepath.Ext(pdf.Path) != ".pdf" || !strings.Contains(filepath.Base(pdf.Path), "sheet") {
				c.Errorf("%+v of %d bytes, %.20q", *pdf, len(data), data)
			}
			_, box, _ := strings.Cut(string(data), "/MediaBox [")
			sizes[landscape], _, _ = strings.Cut(box, "]")
		}
		if sizes[false] == sizes[true] {
			c.Errorf("portrait and landscape are both %s", sizes[true])
		}
	})
	s.page(t, "file named after the title", "files.html", func(c *testCase) {
		pdf, err := c.page().SavePDF(c.ctx, nil)
		if err != nil || !strings.HasPrefix(filepath.Base(pdf.Path), "Files") || pdf.Pages != 1 {
			c.Errorf("%+v, %v", pdf, err)
		}
	})
	s.gated(t, "with a denied frame", "files.html", func(c *testCase, k *keeper) {
		pdf, err := c.page().SavePDF(c.ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'display: none'; f.src = %q; document.body.append(f); })", c.otherURL("second.html")), nil)
		k.denyOrigin(c.otherOrigin())
		_, err = c.page().SavePDF(c.ctx, &executor.PDFOptions{Name: "denied" + c.id})
		c.wantCode(err, executor.ErrPolicyDenied, "frame")
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpDownload })
		_, err = c.page().SavePDF(c.ctx, &executor.PDFOptions{Name: "denied" + c.id})
		c.wantCode(err, executor.ErrPolicyDenied)
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(pdf.Path), "denied"+c.id+"*")); err != nil || len(left) > 0 {
			c.Errorf("left %q, %v", left, err)
		}
	})
}

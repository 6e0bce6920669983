package executortest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// uploads runs a case on files.html in a session with an upload directory that contains some files.
func uploads(s *suite.Runner, t *testing.T, name string, f func(c *suite.Case, k *suite.Keeper)) {
	s.Page(t, name, "", func(c *suite.Case) {
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
		k := &suite.Keeper{}
		c.Exec = c.Session(executor.SessionOptions{Gate: k, UploadsDir: dir})
		c.Tab = c.Open("files.html")
		f(c, k)
	})
}

// uploadFile uploads files to target and fails the case if that fails.
func uploadFile(c *suite.Case, target executor.Target, paths ...string) *executor.Upload {
	c.Helper()
	u, err := c.Page().Upload(c.Ctx, target, paths, nil)
	if err != nil {
		c.Fatalf("upload %q to %+v: %v", paths, target, err)
	}
	if len(u.Files) != len(paths) {
		c.Errorf("files %+v, want %q", u.Files, paths)
	}
	return u
}

// wantHolds checks the value of a promise of the page.
func wantHolds(c *suite.Case, promise, want string) {
	c.Helper()
	if got := c.EvalString(promise); got != want {
		c.Errorf("%s = %q, want %q", promise, got, want)
	}
}

func upload(s *suite.Runner, t *testing.T) {
	uploads(s.Shared(), t, "into a file input", func(c *suite.Case, k *suite.Keeper) {
		c.Snap(nil)
		u := uploadFile(c, suite.Selector("#one"), "a.txt")
		if f := u.Files[0]; f.Name != "a.txt" || f.Bytes != 5 || f.MIMEType != "text/plain" {
			c.Errorf("file %+v", f)
		}
		c.WantIn(u.Diff, "Chosen: a.txt")
		c.WantReported("input one", "change one")
		wantHolds(c, "got('#one')", "a.txt text/plain 5 first")
		if len(k.Accesses(executor.OpUpload)) == 0 {
			c.Error("the gate was not consulted")
		}
	})
	uploads(s.Shared(), t, "several files, one empty", func(c *suite.Case, _ *suite.Keeper) {
		uploadFile(c, suite.Selector("#many"), "a.txt", "b.png", "empty.txt")
		wantHolds(c, "got('#many')", "a.txt text/plain 5 first; b.png image/png 6 second; empty.txt text/plain 0 ")
		uploadFile(c, suite.ByRef(c.Ref("button", "Many")), "b.png")
		wantHolds(c, "got('#many')", "b.png image/png 6 second")
	})
	uploads(s, t, "large file is unchanged", func(c *suite.Case, _ *suite.Keeper) {
		uploadFile(c, suite.Selector("#one"), "big.txt")
		want := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Repeat("0123456789abcdef", 3<<20/16))))
		wantHolds(c, "document.querySelector('#one').files[0].arrayBuffer().then((b) => crypto.subtle.digest('SHA-256', b)).then((h) => [...new Uint8Array(h)].map((x) => x.toString(16).padStart(2, '0')).join(''))", want)
	})
	for name, selector := range suite.Sorted(map[string]string{"hidden": "#hidden", "by its label": "#label", "by a button": "#choose", "by a button, later": "#later"}) {
		uploads(s.Shared(), t, "hidden file input, "+name, func(c *suite.Case, _ *suite.Keeper) {
			u := uploadFile(c, suite.Selector(selector), "a.txt")
			c.WantNotIn(u.Note, "asks for a file")
			c.Await("change", "hidden")
			wantHolds(c, "got('#hidden')", "a.txt text/plain 5 first")
		})
	}
	uploads(s.Shared(), t, "file input outside of the document", func(c *suite.Case, _ *suite.Keeper) {
		if u := uploadFile(c, suite.Selector("#loose"), "a.txt"); u.Title != "loose a.txt" {
			c.Errorf("title %q", u.Title)
		}
	})
	uploads(s.Shared(), t, "cross-site frame", func(c *suite.Case, k *suite.Keeper) {
		c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'height: 300px'; f.src = %q; document.body.replaceChildren(f); })", c.OtherURL("files.html")), nil)
		snap := c.Snap(nil)
		uploadFile(c, suite.ByRef(c.RefIn(snap, "button", "One")), "a.txt")
		c.Await("change", "one")
		choose := c.RefIn(snap, "button", "Choose")
		uploadFile(c, suite.ByRef(choose), "a.txt")
		c.Await("change", "hidden")
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpUpload && a.Origin == c.OtherOrigin() })
		_, err := c.Page().Upload(c.Ctx, suite.ByRef(choose), []string{"a.txt"}, nil)
		c.WantCode(err, executor.ErrPolicyDenied)
	})
	uploads(s.Shared(), t, "button that the page replaces while it is disabled", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval("const b = document.querySelector('#choose'); b.disabled = true; setTimeout(() => { b.outerHTML = b.outerHTML.replace('disabled', 'enabled') }, 300); 0", nil)
		if u := uploadFile(c, suite.Selector("#choose"), "a.txt"); u.Note != "" {
			c.Errorf("note %q", u.Note)
		}
		wantHolds(c, "got('#hidden')", "a.txt text/plain 5 first")
	})
	uploads(s.Shared(), t, "page opens a dialog", func(c *suite.Case, _ *suite.Keeper) {
		if u := uploadFile(c, suite.Selector("#alerts"), "a.txt"); u.Dialog == nil || u.Dialog.Message != "thank you for a.txt" {
			c.Errorf("dialog %+v", u.Dialog)
		}
	})
	uploads(s.Shared(), t, "page navigates", func(c *suite.Case, _ *suite.Keeper) {
		if u := uploadFile(c, suite.Selector("#leaves"), "a.txt"); u.URL != c.URL("second.html") {
			c.Errorf("changes %+v", u.Changes)
		}
	})
	uploads(s.Shared(), t, "dropped on an element", func(c *suite.Case, k *suite.Keeper) {
		c.Snap(nil)
		u := uploadFile(c, suite.Selector("#zone"), "a.txt", "b.png")
		c.WantIn(u.Note, "dropped")
		c.WantIn(u.Diff, "Dropped: a.txt,b.png")
		wantHolds(c, "dropped", "zone Files a.txt text/plain 5 first; b.png image/png 6 second")
		c.WantUntouched("zone") // not clicked
		uploadFile(c, suite.Selector("#revealing"), "a.txt")
		wantHolds(c, "dropped", "overlay Files a.txt text/plain 5 first")
		uploadFile(c, suite.Selector("#delegated"), "a.txt", "empty.txt") // only a click shows that it opens no file chooser
		wantHolds(c, "dropped", "delegated 2")
		c.Eval("dropped = Promise.resolve('none'); 0", nil)
		for selector, says := range suite.Sorted(map[string]string{"#rejecting": "does not accept", "#ignoring": "ignored", "#covered": "covered"}) {
			_, err := c.Page().Upload(c.Ctx, suite.Selector(selector), []string{"a.txt"}, nil)
			c.WantCode(err, executor.ErrNotActionable, says)
		}
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpUpload })
		_, err := c.Page().Upload(c.Ctx, suite.Selector("#zone"), []string{"a.txt"}, nil)
		c.WantCode(err, executor.ErrPolicyDenied)
		wantHolds(c, "dropped", "none")
		c.WantValue("document.title", "Files")
	})
	uploads(s.Shared(), t, "files that the input rejects", func(c *suite.Case, _ *suite.Keeper) {
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
			_, err := c.Page().Upload(c.Ctx, suite.Selector(tt.selector), tt.paths, nil)
			c.WantCode(err, tt.code, tt.says)
		}
		c.WantValue("[...document.querySelectorAll('input')].map((i) => i.files.length).join('')", "0000000")
		c.WantUntouched("one")
	})
	uploads(s.Shared(), t, "files outside the upload directory", func(c *suite.Case, _ *suite.Keeper) {
		for path, code := range map[string]executor.Code{
			"nosuch.txt": executor.ErrBadArgs, ".": executor.ErrBadArgs, "../secret.txt": executor.ErrPolicyDenied, "link.txt": executor.ErrPolicyDenied, "/etc/passwd": executor.ErrPolicyDenied,
		} {
			_, err := c.Page().Upload(c.Ctx, suite.Selector("#nothing"), []string{"a.txt", path}, nil)
			c.WantCode(err, code)
		}
		c.WantUntouched("nothing") // it was not clicked
	})
	s.Shared().Page(t, "no upload directory", "files.html", func(c *suite.Case) {
		_, err := c.Page().Upload(c.Ctx, suite.Selector("#one"), []string{"a.txt"}, nil)
		c.WantCode(err, executor.ErrPolicyDenied, "Config.UploadsDir")
	})
}

func savePDF(s *suite.Runner, t *testing.T) {
	s.Shared().Page(t, "a page", "tall.html", func(c *suite.Case) {
		sizes := make(map[bool]string)
		for _, landscape := range []bool{false, true} {
			pdf, err := c.Page().SavePDF(c.Ctx, &executor.PDFOptions{Landscape: landscape, Background: true, Name: "../sheet"})
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
	s.Shared().Page(t, "file named after the title", "files.html", func(c *suite.Case) {
		pdf, err := c.Page().SavePDF(c.Ctx, nil)
		if err != nil || !strings.HasPrefix(filepath.Base(pdf.Path), "Files") || pdf.Pages != 1 {
			c.Errorf("%+v, %v", pdf, err)
		}
	})
	s.Gated(t, "with a denied frame", "files.html", func(c *suite.Case, k *suite.Keeper) {
		pdf, err := c.Page().SavePDF(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.Eval(fmt.Sprintf("new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(); f.style = 'display: none'; f.src = %q; document.body.append(f); })", c.OtherURL("second.html")), nil)
		k.DenyOrigin(c.OtherOrigin())
		_, err = c.Page().SavePDF(c.Ctx, &executor.PDFOptions{Name: "denied" + c.ID})
		c.WantCode(err, executor.ErrPolicyDenied, "frame")
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpDownload })
		_, err = c.Page().SavePDF(c.Ctx, &executor.PDFOptions{Name: "denied" + c.ID})
		c.WantCode(err, executor.ErrPolicyDenied)
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(pdf.Path), "denied"+c.ID+"*")); err != nil || len(left) > 0 {
			c.Errorf("left %q, %v", left, err)
		}
	})
}

package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// An editorStep types into an editor. The call must not fail, and the editor must then save want.
type editorStep struct {
	text string
	opts executor.TypeOptions
	want string
	note string   // part of the note; empty if there must be none
	keys []string // pressed in the editor before
}

// documentStart is the key that moves the caret to the start of a document.
var documentStart = map[bool]string{true: "Meta+ArrowUp", false: "Control+Home"}[runtime.GOOS == "darwin"]

// codeSteps are the steps for code editors whose text is "old: 1\n".
var codeSteps = []editorStep{
	{text: "b: 2", want: "old: 1\nb: 2"},
	{keys: []string{documentStart, "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"}, text: "new", want: "new: 1\nb: 2"},
	{text: "function f(a) {\n  if (a) {\n    return [1];\n  }\n}\n", opts: executor.TypeOptions{Clear: true}, want: "function f(a) {\n  if (a) {\n    return [1];\n  }\n}\n"},
	{text: "\n\n  g();", want: "function f(a) {\n  if (a) {\n    return [1];\n  }\n}\n\n\n  g();"},
	{text: "", opts: executor.TypeOptions{Clear: true}, want: ""},
	{text: "x = \"é\";", want: "x = \"é\";"},
	{text: "if (a) {\n  b\n}", opts: executor.TypeOptions{Clear: true, KeyEvents: true}, want: "if (a) {\n  b\n}", note: "*"},
}

// richSteps are the steps for empty rich text editors, whose saved HTML is read as text.
var richSteps = []editorStep{
	{text: "Hello", want: "Hello"},
	{text: " world", want: "Hello world"},
	{text: "\nSecond\n\nFourth", want: "Hello world\nSecond\n\nFourth"},
	{text: "One\n\nTwo", opts: executor.TypeOptions{Clear: true}, want: "One\n\nTwo"},
	{text: "Three", opts: executor.TypeOptions{Clear: true}, want: "Three"},
	{text: "", opts: executor.TypeOptions{Clear: true}, want: ""},
}

// TestEditors types into real editors and fields, and compares what they would save.
func TestEditors(t *testing.T) {
	tier.Deep(t)
	site := serveEditors(t)
	headless := true
	b, err := chromium.New(&chromium.Options{Headless: &headless, Isolated: true, NoSandbox: true, DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	for _, e := range []struct {
		name, page, field string
		steps             []editorStep
	}{
		{"Monaco", "monaco", ".native-edit-context", codeSteps},
		{"Monaco with a textarea", "monaco?textarea", "textarea.inputarea", codeSteps},
		{"CodeMirror 5", "codemirror5", ".CodeMirror textarea", codeSteps},
		{"CodeMirror 6", "codemirror6", ".cm-content", codeSteps},
		{"Ace", "ace", "textarea.ace_text-input", codeSteps},
		{"CKEditor 5", "ckeditor", ".ck-content", append(slices.Clone(richSteps),
			editorStep{text: "He said \"yes\"\n\n1\n\n2\n\n3\n\n4\n\n5\n\n6\n\n7", want: "He said “yes”\n\n1\n\n2\n\n3\n\n4\n\n5\n\n6\n\n7", note: "*"})},
		{"Editor.js", "editorjs", "[contenteditable=true]", richSteps},
		{"Quill", "quill", ".ql-editor", richSteps},
		{"TipTap", "tiptap", ".ProseMirror", richSteps},
		{"Trix", "trix", "trix-editor", richSteps},
		{"Slate", "slate", "[data-slate-editor]", richSteps},
		{"Lexical", "lexical", "#editor", richSteps},
		{"Draft", "draft", ".public-DraftEditor-content", richSteps},
		{"masked input", "imask", "#field", []editorStep{
			{text: "555", want: "+1 (555", note: "*"},
			{text: "1234567", want: "+1 (555) 123-4567", note: "*"},
			{text: "9998887777", opts: executor.TypeOptions{Clear: true}, want: "+1 (999) 888-7777", note: "*"},
			{text: "", opts: executor.TypeOptions{Clear: true}, want: "", note: "*"},
			{text: "5551234567", opts: executor.TypeOptions{KeyEvents: true}, want: "+1 (555) 123-4567", note: "*"},
		}},
	} {
		t.Run(e.name, func(t *testing.T) {
			p := openEditor(t, b, site+"/"+e.page)
			for _, s := range e.steps {
				p.step(e.field, s)
			}
		})
	}
	t.Run("MUI date field", func(t *testing.T) {
		p := openEditor(t, b, site+"/mui")
		for _, part := range []struct{ label, text string }{{"Month", "04"}, {"Day", "17"}, {"Year", "2031"}} {
			if _, err := p.page.Type(p.ctx, executor.Target{Selector: "[role=spinbutton][aria-label=" + part.label + "]"}, part.text, nil); err != nil {
				t.Fatalf("%s: %v", part.label, err)
			}
		}
		if got := p.saved(); got != "2031-04-17" {
			t.Errorf("saved %q", got)
		}
		_, err := p.page.Type(p.ctx, executor.Target{Selector: "#editor input"}, "05/18/2030", &executor.TypeOptions{Clear: true})
		if got := p.saved(); err == nil && got != "2030-05-18" || err != nil && got != "2031-04-17" {
			t.Errorf("hidden input: saved %q, %v", got, err)
		}
	})
}

// serveEditors serves the pages of tools/editors and returns their URL.
func serveEditors(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../tools/editors")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI lacks the editors: %v", err)
		}
		t.Skipf("editors not found (make editors): %v", err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "pages/*.mjs"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages: %v, %v", pages, err)
	}
	out := t.TempDir()
	cmd := exec.Command(filepath.Join(dir, "node_modules/.bin/esbuild"), append(pages, "--bundle", "--format=esm", "--outdir="+out, "--log-level=error",
		"--loader:.ttf=dataurl", "--loader:.woff=dataurl", "--loader:.woff2=dataurl", "--loader:.svg=dataurl",
		`--define:process.env.NODE_ENV="production"`, "--define:global=globalThis")...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("esbuild: %v\n%s", err, text)
	}
	files := http.FileServer(http.Dir(out))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if strings.Contains(name, ".") {
			files.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>%[1]s</title><link rel="stylesheet" href="/%[1]s.css">
<style>#editor { width: 700px; height: 300px }</style><h1>%[1]s</h1><div id="editor"></div><script type="module" src="/%[1]s.js"></script>`, name)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// An editorPage is a page with one editor.
type editorPage struct {
	t    *testing.T
	ctx  context.Context
	page executor.Page
}

// openEditor opens a page in its own session and waits until its editor is ready.
func openEditor(t *testing.T, b *chromium.Backend, url string) *editorPage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*await.HangLimit)
	t.Cleanup(cancel)
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	page, _, err := s.NewPage(ctx, &executor.NewPageOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	p := &editorPage{t, ctx, page}
	await.Until(t, "the editor is ready", func() bool {
		res, err := page.Eval(ctx, "saved()", nil)
		return err == nil && res.Error == ""
	})
	return p
}

// saved returns what the editor would save.
func (p *editorPage) saved() string {
	p.t.Helper()
	res, err := p.page.Eval(p.ctx, "saved()", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	var s string
	if err := json.Unmarshal([]byte(res.Value), &s); err != nil {
		p.t.Fatalf("saved %s: %v", res.Value, err)
	}
	return htmlText(s)
}

// step types once and checks what the page would save, and the note. The call must not fail.
func (p *editorPage) step(field string, s editorStep) {
	p.t.Helper()
	for _, key := range s.keys {
		if _, err := p.page.Press(p.ctx, key, &executor.PressOptions{Target: executor.Target{Selector: field}}); err != nil {
			p.t.Fatal(err)
		}
	}
	before := p.saved()
	a, err := p.page.Type(p.ctx, executor.Target{Selector: field}, s.text, &s.opts)
	got := p.saved()
	switch what := fmt.Sprintf("%q %+v", s.text, s.opts); {
	case err != nil:
		p.t.Errorf("%s: %v, saved %q (before %q)", what, err, got, before)
	case got != s.want:
		p.t.Errorf("%s: saved %q, want %q; note %q", what, got, s.want, a.Note)
	case s.note != "*" && a.Note != s.note:
		p.t.Errorf("%s: note %q", what, a.Note)
	}
}

var (
	emptyBlock = regexp.MustCompile(`<(p|div)[^>]*>(<br[^>]*>|&nbsp;)?</(p|div)>`)
	blockEnd   = regexp.MustCompile(`</(p|div)>`)
	lineBreak  = regexp.MustCompile(`<br[^>]*>`)
	anyTag     = regexp.MustCompile(`<[^>]*>`)
)

// htmlText returns the text of saved HTML: a line for each block and after each line break. Other
// text is returned unchanged.
func htmlText(s string) string {
	if !anyTag.MatchString(s) {
		return s
	}
	s = emptyBlock.ReplaceAllString(s, "\n")
	s = blockEnd.ReplaceAllString(s, "\n")
	s = lineBreak.ReplaceAllString(s, "\n")
	return strings.TrimRight(strings.ReplaceAll(anyTag.ReplaceAllString(s, ""), "&nbsp;", " "), "\n")
}

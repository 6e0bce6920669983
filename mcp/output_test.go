package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// connectWithOutput returns a client of a server with an output directory, and the directory, which
// does not exist yet.
func connectWithOutput(t *testing.T, ex executor.Executor, opts Options) (*sdk.ClientSession, string) {
	t.Helper()
	opts.OutputDir = filepath.Join(t.TempDir(), "data", "output")
	opts.Nonce = "k7f3q2"
	if opts.Tools == nil {
		opts.Tools = Toolsets()
	}
	return connect(t, NewServer(ex, &opts), nil), opts.OutputDir
}

// savedFiles returns the files in dir, with slashes.
func savedFiles(t *testing.T, dir string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return list
}

// structuredOf returns the structured content of a result.
func structuredOf(t *testing.T, res *sdk.CallToolResult) map[string]any {
	t.Helper()
	m, ok := res.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("structured content is %T: %s", res.StructuredContent, textOf(res))
	}
	return m
}

const unlimited = `"MaxChars":67108864`

// TestResultsInFiles saves the result of each tool that has the argument file.
func TestResultsInFiles(t *testing.T) {
	outline := "- page \"Shop\" " + shop + "\n  - button \"Pay\" [ref=e6]\n"
	for _, c := range []struct {
		tool, args    string
		name          string // of the file
		content       string // "" for any
		line          string // of the text, after the path
		called        string // part of the call of the executor
		with, without string // fields of the structured result
	}{
		{"snapshot", `{"file":"page"}`, "page.txt", outline, "62 bytes, 2 lines", unlimited, "elements", "text"},
		{"snapshot", `{"file":"a/b/page.md"}`, "a/b/page.md", outline, "62 bytes, 2 lines", unlimited, "elements", "text"},
		{"snapshot", `{"file":"page","maxChars":100}`, "page.txt", outline,
			"62 bytes, 2 lines\ntruncated: 88 of 90 lines omitted; continue with offset 2, or narrow it with ref, selector or find", `"MaxChars":100`, "nextOffset", "text"},
		{"screenshot", `{"file":"shots/one"}`, "shots/one.png", "image 1", "7 bytes, 1280 x 16384 pixels\ntruncated: the viewport is 20000 pixels high", `"Format":""`, "width", ""},
		{"screenshot", `{"file":"one.WebP","quality":50}`, "one.WebP", "image 1", "7 bytes, 1280 x 16384 pixels\ntruncated: the viewport is 20000 pixels high", `"Format":"webp","Quality":50`, "height", ""},
		{"screenshot", `{"file":"one.PNG","format":"png","maxWidth":640}`, "one.PNG", "image 1", "7 bytes, 1280 x 16384 pixels\ntruncated: the viewport is 20000 pixels high", `"Format":"png","Quality":0,"MaxWidth":640`, "mimeType", ""},
		{"get_html", `{"file":"page"}`, "page.html", "<p>Hello</p>", "12 bytes", unlimited, "chars", "html"},
		{"get_html", `{"file":"page.exe"}`, "page.exe.download", "<p>Hello</p>", "12 bytes", unlimited, "origin", "html"},
		{"read_as_markdown", `{"file":"page"}`, "page.md", "# Hello\n\nText.",
			"14 bytes\nno main content found: this is the whole page\ntruncated: 90 characters in total; continue with offset 14", unlimited, "title", "markdown"},
		{"read_as_markdown", `{"file":"page","offset":3,"maxChars":14,"selector":"main"}`, "page.md", "# Hello\n\nText.", "14 bytes\ntruncated: 90 characters in total; continue with offset 14", `"MaxChars":14,"Offset":3`, "nextOffset", "markdown"},
		{"eval", `{"expression":"object","file":"value"}`, "value.json", `{"a":1}`, "7 bytes", "object", "type", "value"},
		{"eval", `{"expression":"1+1","file":"value.txt"}`, "value.txt", `2`, "1 byte\ndialog opened: \"alert \\\"hi\\\" was accepted\"", "1+1", "ok", "value"},
		{"network_requests", `{"file":"log"}`, "log.json", "", "3 requests", `"Limit":500`, "matched", "requests"},
		{"network_requests", `{"file":"log","limit":3}`, "log.json", "", "3 requests", `"Limit":3,`, "origin", "requests"},
		{"network_requests", `{"file":"one","id":"r1","body":true}`, "one.json", "", "1 request", `"Body":true,"BodyChars":67108864`, "matched", "requests"},
	} {
		for _, structured := range []bool{false, true} {
			var rec recorder
			cs, dir := connectWithOutput(t, canned(&rec), Options{Structured: structured})
			res := callTool(t, cs, c.tool, c.args)
			path := filepath.Join(dir, filepath.FromSlash(c.name))
			start := "saved " + string(mcptext.Quote(path, mcptext.MaxURL)) + ", "
			text := textOf(res)
			if res.IsError || len(res.Content) != 1 || !strings.HasPrefix(text, start) || !strings.HasSuffix(text, c.line) || c.content != "" && text != start+c.line {
				t.Errorf("%s %s: %d blocks: %s, want %s%s", c.tool, c.args, len(res.Content), text, start, c.line)
			}
			got, err := os.ReadFile(path)
			if err != nil || c.content != "" && string(got) != c.content {
				t.Errorf("%s %s: the file has %q, %v, want %q", c.tool, c.args, got, err, c.content)
			}
			if called := rec.take(); !strings.Contains(called, c.called) {
				t.Errorf("%s %s: called %s, want %s", c.tool, c.args, called, c.called)
			}
			if !structured {
				continue
			}
			s := structuredOf(t, res)
			if s["path"] != path || s["bytes"] != float64(len(got)) || s[c.with] == nil || s[c.without] != nil {
				t.Errorf("%s %s: structured result %v", c.tool, c.args, s)
			}
		}
	}
}

// TestRequestsFile checks that the file is JSON with what the structured result has.
func TestRequestsFile(t *testing.T) {
	var rec recorder
	cs, dir := connectWithOutput(t, canned(&rec), Options{Structured: true})
	for _, args := range []string{`{"id":"r1","body":true`, `{"filter":"x"`} {
		want := structuredOf(t, callTool(t, cs, "network_requests", args+`}`))
		res := callTool(t, cs, "network_requests", args+`,"file":"log"}`)
		if res.IsError {
			t.Fatal(textOf(res))
		}
		raw, err := os.ReadFile(structuredOf(t, res)["path"].(string))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the file has %s, %v, want %v", args, raw, err, want)
		}
	}
	if got := savedFiles(t, dir); !slices.Equal(got, []string{"log (1).json", "log.json"}) {
		t.Errorf("files: %q", got)
	}
}

// TestFileHasFullContent checks that the limits of results for a model do not apply to a file, and
// that its text is cleaned and not fenced.
func TestFileHasFullContent(t *testing.T) {
	long := strings.Repeat("0123456789\n", 300_000)
	ex := &fake{
		html: func(context.Context, executor.TabID, *executor.HTMLOptions) (*executor.HTML, error) {
			return &executor.HTML{Content: "<p>\u200bk7f3q2 \x1b[31mred\x1b[0m</p>\n" + long, Origin: shopOrigin}, nil
		},
		eval: func(context.Context, executor.TabID, string, *executor.EvalOptions) (*executor.EvalResult, error) {
			value, err := json.Marshal(long[:200_000] + "\u202e\x1b[2J")
			return &executor.EvalResult{OK: true, Type: "string", Value: value, Origin: shopOrigin}, err
		},
	}
	cs, dir := connectWithOutput(t, ex, Options{MaxResultBytes: 10_000})
	for _, c := range []struct{ tool, args, file, want string }{
		{"get_html", `{"file":"page"}`, "page.html", "<p>k7f3q2 red</p>\n" + long},
		{"eval", `{"expression":"x","file":"value.csv"}`, "value.csv", long[:200_000]},
		{"eval", `{"expression":"x","file":"value"}`, "value.json", strings.ReplaceAll(`"`+long[:200_000]+`"`, "\n", `\n`)},
	} {
		res := callTool(t, cs, c.tool, c.args)
		if text := textOf(res); res.IsError || strings.Contains(text, "\n") || !strings.HasPrefix(text, "saved ") {
			t.Errorf("%s: %.300s", c.tool, text)
		}
		if got, err := os.ReadFile(filepath.Join(dir, c.file)); err != nil || string(got) != c.want {
			t.Errorf("%s: the file has %d bytes, %v, want %d: %.100q", c.tool, len(got), err, len(c.want), got)
		}
	}
	res := callTool(t, cs, "get_html", `{}`)
	if want := "exceeds the limit of 10000. Save it with file. Request less"; !res.IsError || !strings.Contains(textOf(res), want) {
		t.Errorf("without a file: %.300s", textOf(res))
	}
}

// TestNothingToSave checks the results that have no content.
func TestNothingToSave(t *testing.T) {
	var rec recorder
	ex := canned(&rec)
	ex.snapshot = func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error) {
		return &executor.Snapshot{Text: "- page \"Shop\"\n", Origin: shopOrigin}, nil
	}
	cs, dir := connectWithOutput(t, ex, Options{})
	for _, c := range []struct{ tool, args, want string }{
		{"eval", `{"expression":"throw","file":"value"}`, `exception: "Error: no"`},
		{"eval", `{"expression":"undefined","file":"value"}`, "undefined"},
		{"snapshot", `{"find":"nothing","file":"page"}`, "no line matches find"},
		{"snapshot", `{"offset":5,"file":"page"}`, "offset 5 is past the end (0 lines in total)"},
		{"read_as_markdown", `{"offset":100,"file":"page"}`, "title \"Shop\"\noffset 100 is past the end (90 characters in total)"},
	} {
		if res := callTool(t, cs, c.tool, c.args); res.IsError || textOf(res) != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.args, textOf(res), c.want)
		}
	}
	if got := savedFiles(t, dir); len(got) > 0 {
		t.Errorf("files: %q", got)
	}
}

// TestFileNames checks that a call with an unusable name, or without an output directory, does
// nothing.
func TestFileNames(t *testing.T) {
	var rec recorder
	cs, dir := connectWithOutput(t, canned(&rec), Options{})
	for _, name := range []string{"", "/etc/cron.d/x", "../x", "a/../../x", ".profile", "a/.ssh/x", "a//b", `a\b`, "C:x", "NUL", "a/con.txt", "a b", "a\n", "é", strings.Repeat("x", 151), strings.Repeat("a/", 8) + "a"} {
		for _, tool := range []string{"eval", "screenshot"} {
			args, err := json.Marshal(map[string]string{"file": name, "expression": "1"})
			if tool == "screenshot" {
				args, err = json.Marshal(map[string]string{"file": name})
			}
			if err != nil {
				t.Fatal(err)
			}
			res := callTool(t, cs, tool, string(args))
			if !res.IsError || !strings.HasPrefix(textOf(res), "BAD_ARGS: file must ") {
				t.Errorf("%s %s: %s", tool, args, textOf(res))
			}
		}
	}
	none := connect(t, NewServer(canned(&rec), &Options{Tools: []Toolset{ToolsCore, ToolsBatch}}), nil)
	for tool, args := range map[string]string{
		"eval": `{"expression":"1","file":"x"}`, "screenshot": `{"file":"a.gif"}`, // another name of the file would not help
		"batch": `{"calls":[{"tool":"tabs_list"},{"tool":"screenshot","args":{"file":"a.gif"}}]}`,
	} {
		if got := textOf(callTool(t, none, tool, args)); !strings.HasPrefix(got, "BAD_ARGS: ") || !strings.HasSuffix(strings.Replace(got, "; nothing was done", "", 1), "ile is not available: there is no output directory. Omit file.") {
			t.Errorf("%s without a directory: %s", tool, got)
		}
	}
	if called := rec.take(); called != "" {
		t.Errorf("called %s", called)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory exists without a file: %v", err)
	}
}

// TestOutputQuota checks the total size of the files of one session.
func TestOutputQuota(t *testing.T) {
	var rec recorder
	ex := canned(&rec)
	server := NewServer(ex, &Options{OutputDir: filepath.Join(t.TempDir(), "output"), MaxOutputBytes: 25})
	dir := server.opts.OutputDir
	cs := connect(t, server, nil)
	const html = `{"file":"page"}` // 12 bytes
	for range 2 {
		if res := callTool(t, cs, "get_html", html); res.IsError {
			t.Fatal(textOf(res))
		}
	}
	res := callTool(t, cs, "get_html", `{"file":"new/page"}`)
	const want = "BACKPRESSURE: The saved results would exceed 25 bytes or 10000 files in total. Omit file, and read less. A new session can save files again. The user can allow more with --max-output-total."
	if got := textOf(res); !res.IsError || got != want {
		t.Errorf("third file: %s, want %s", got, want)
	}
	if res := callTool(t, cs, "eval", `{"expression":"1+1","file":"last"}`); res.IsError { // 1 byte
		t.Error(textOf(res))
	}
	rec.take()
	if res := callTool(t, cs, "eval", `{"expression":"1+1","file":"over"}`); textOf(res) != want || rec.take() != "" {
		t.Errorf("a call after the quota is used up: %s", textOf(res))
	}
	files := []string{"last.json", "page (1).html", "page.html"}
	if got := savedFiles(t, dir); !slices.Equal(got, files) {
		t.Errorf("files: %q, want %q", got, files)
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); !os.IsNotExist(err) {
		t.Errorf("a call over the quota created a directory: %v", err)
	}
	if res := callTool(t, connect(t, server, nil), "get_html", html); res.IsError {
		t.Errorf("another session: %s", textOf(res))
	}
}

// TestOutputQuotaOfExistingFiles checks that existing files count if the server counts them, and that
// files can be saved again after some were removed.
func TestOutputQuotaOfExistingFiles(t *testing.T) {
	var rec recorder
	var dir string
	usage := download.NewUsage(func() (e download.Existing) {
		for _, name := range savedFiles(t, dir) {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				e.Bytes += info.Size()
				e.Files++
			}
		}
		return e
	})
	server := NewServer(canned(&rec), &Options{OutputDir: filepath.Join(t.TempDir(), "output"), MaxOutputBytes: 25, OutputUsage: usage})
	dir = server.opts.OutputDir
	const html = `{"file":"page"}` // 12 bytes
	for range 2 {
		if res := callTool(t, connect(t, server, nil), "get_html", html); res.IsError {
			t.Fatal(textOf(res))
		}
	}
	want := "BACKPRESSURE: The saved results of all sessions, such as those in " + dir + ", would exceed 25 bytes or 10000 files in total."
	if res := callTool(t, connect(t, server, nil), "get_html", html); !res.IsError || !strings.HasPrefix(textOf(res), want) {
		t.Errorf("third file: %s, want %s", textOf(res), want)
	}
	if err := os.Remove(filepath.Join(dir, "page.html")); err != nil {
		t.Fatal(err)
	}
	if res := callTool(t, connect(t, server, nil), "get_html", html); res.IsError {
		t.Errorf("after a file was removed: %s", textOf(res))
	}
}

// TestOutputQuotaOfParallelSessions checks that a file that another session is saving counts, although
// it does not exist yet.
func TestOutputQuotaOfParallelSessions(t *testing.T) {
	var rec recorder
	usage := download.NewUsage(func() download.Existing { return download.Existing{} })
	server := NewServer(canned(&rec), &Options{OutputDir: filepath.Join(t.TempDir(), "output"), MaxOutputBytes: 25, OutputUsage: usage})
	const html = `{"file":"page"}` // 12 bytes
	if !usage.Reserve(14, 1, 25, 2) {
		t.Fatal("the quota is used up")
	}
	if res := callTool(t, connect(t, server, nil), "get_html", html); !res.IsError || !strings.Contains(textOf(res), "would exceed 25 bytes") {
		t.Errorf("during the save of another session: %s", textOf(res))
	}
	usage.Release(14, 1, 0, 0)
	if res := callTool(t, connect(t, server, nil), "get_html", html); res.IsError {
		t.Errorf("after the save of another session failed: %s", textOf(res))
	}
}

// TestOutputQuotaConcurrent saves many files at the same time.
func TestOutputQuotaConcurrent(t *testing.T) {
	var rec recorder
	cs, dir := connectWithOutput(t, canned(&rec), Options{MaxOutputBytes: 12 * 10})
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			_, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_html", Arguments: rawArgs(`{"file":"page"}`)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := len(savedFiles(t, dir)); n != 10 {
		t.Errorf("%d files, want 10", n)
	}
}

// TestFileTooLarge checks the limit of one file. A failed save does not count.
func TestFileTooLarge(t *testing.T) {
	ex := &fake{screenshot: func(_ context.Context, _ executor.TabID, o *executor.ScreenshotOptions) (*executor.Screenshot, error) {
		size := browsertools.MaxOutputFile
		if o.FullPage {
			size++
		}
		return &executor.Screenshot{Data: make([]byte, size), MIMEType: "image/png"}, nil
	}}
	cs, dir := connectWithOutput(t, ex, Options{MaxOutputBytes: browsertools.MaxOutputFile})
	if got, want := textOf(callTool(t, cs, "screenshot", `{"file":"x","fullPage":true}`)), "BAD_ARGS: Result of 67108865 bytes exceeds the limit of 67108864 for a file."; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := savedFiles(t, dir); len(got) > 0 {
		t.Errorf("files: %q", got)
	}
	if res := callTool(t, cs, "screenshot", `{"file":"x"}`); res.IsError {
		t.Error(textOf(res))
	}
}

// TestSaveErrorAfterCall checks that the error of a result that was not saved reports that the call has
// run, unless the call only reads.
func TestSaveErrorAfterCall(t *testing.T) {
	long := strings.Repeat("x", 2000)
	ex := &fake{
		eval: func(context.Context, executor.TabID, string, *executor.EvalOptions) (*executor.EvalResult, error) {
			return &executor.EvalResult{OK: true, Value: executor.RawJSON(`"` + long + `"`)}, nil
		},
		html: func(context.Context, executor.TabID, *executor.HTMLOptions) (*executor.HTML, error) {
			return &executor.HTML{Content: long}, nil
		},
	}
	cs, _ := connectWithOutput(t, ex, Options{MaxOutputBytes: 1000})
	const ran = "BACKPRESSURE: The call has run, but its result was not saved: the saved results would exceed 1000 bytes"
	if got := textOf(callTool(t, cs, "eval", `{"expression":"pay()","file":"x"}`)); !strings.HasPrefix(got, ran) {
		t.Error(got)
	}
	if got := textOf(callTool(t, cs, "get_html", `{"file":"x"}`)); !strings.HasPrefix(got, "BACKPRESSURE: The saved results would exceed 1000 bytes") {
		t.Error(got)
	}
}

// TestFileInBatchAndScript checks that calls within a call save files too.
func TestFileInBatchAndScript(t *testing.T) {
	var rec recorder
	cs, dir := connectWithOutput(t, canned(&rec), Options{})
	res := callTool(t, cs, "batch", `{"calls":[{"tool":"screenshot","args":{"file":"one"}},{"tool":"get_html","args":{"file":"two"}}]}`)
	want := fmt.Sprintf("2 of 2 calls succeeded\n1. screenshot: saved %q, 7 bytes, 1280 x 16384 pixels\ntruncated: the viewport is 20000 pixels high\n2. get_html: saved %q, 12 bytes",
		filepath.Join(dir, "one.png"), filepath.Join(dir, "two.html"))
	if res.IsError || textOf(res) != want || len(res.Content) != 1 {
		t.Errorf("batch: %d blocks: %s, want %s", len(res.Content), textOf(res), want)
	}
	res = callTool(t, cs, "batch", `{"calls":[{"tool":"screenshot"},{"tool":"get_html","args":{"file":"../two"}}]}`)
	if want := `call 2, "get_html": file must `; !res.IsError || !strings.Contains(textOf(res), want) {
		t.Errorf("batch: %s, want %s", textOf(res), want)
	}
	res = callTool(t, cs, "run_script", `{"script":"const s = snapshot({file: 'three'}); return [s.path, s.bytes, s.elements, typeof s.text]"}`)
	raw, err := json.Marshal([]any{filepath.Join(dir, "three.txt"), 62, 2, "undefined"})
	if err != nil || !strings.Contains(textOf(res), string(raw)) {
		t.Errorf("run_script: %s, want %s", textOf(res), raw)
	}
}

// TestAuditOfFile checks that the entry of a saved result has its size and not its name.
func TestAuditOfFile(t *testing.T) {
	var rec recorder
	var log memoryRecorder
	cs, _ := connectWithOutput(t, canned(&rec), Options{Audit: &log})
	if res := callTool(t, cs, "get_html", `{"file":"secret-name"}`); res.IsError {
		t.Fatal(textOf(res))
	}
	entries := log.take()
	e := entries[len(entries)-1]
	if e.Tool != "get_html" || e.Bytes != 12 || len(e.Args) != 32 {
		t.Errorf("entry %+v", e)
	}
	if raw, err := json.Marshal(entries); err != nil || strings.Contains(string(raw), "secret-name") {
		t.Errorf("%s, %v", raw, err)
	}
}

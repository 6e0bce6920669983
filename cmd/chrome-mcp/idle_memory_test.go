package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// hugePages are pages with more content than any client wants to read, in every form that the
// server might store.
var hugePages = map[string]string{
	"/markup": `<p>the start</p><script type="text/plain" id="huge"></script><script>huge.textContent = 'markup '.repeat(100 << 20 >> 3)</script>`,
	"/text": `<p>the start</p><div id="huge" style="content-visibility:auto;contain-intrinsic-size:10px 10px"></div>
		<script>const line = 'words and words. '.repeat(60); let all = ''; for (let i = 0; i < 100; i++) all += line; for (let i = 0; i < 1000; i++) { const p = document.createElement('p'); p.style.cssText = 'content-visibility:auto;contain-intrinsic-size:10px 10px'; p.textContent = all; huge.append(p) }</script>`,
	"/frames":   `<p>the start</p><script>for (let i = 0; i < 20; i++) { const f = document.createElement('iframe'); f.srcdoc = '<p style="content-visibility:auto"></p><script>document.querySelector("p").textContent = "framed text ".repeat(400000)<\/script>'; document.body.append(f) }</script>`,
	"/links":    `<p>the start</p><script>const long = 'https://example.com/' + 'x'.repeat(20000); for (let i = 0; i < 3000; i++) { const a = document.createElement('a'); a.href = long + i; a.textContent = 'link ' + i; document.body.append(a, ' ') }</script>`,
	"/nodes":    `<p>the start</p><script>for (let i = 0; i < 10000; i++) { const d = document.createElement('div'); d.innerHTML = '<button>Button ' + i + '</button><a href="#' + i + '">Link</a><input aria-label="field ' + i + '"><span>text ' + i + '</span>'; document.body.append(d) }</script>`,
	"/tall":     `<p>the start</p><div style="height:100000px;background:linear-gradient(red,blue)">tall</div>`,
	"/console":  `<p>the start</p><script>const s = 'noise '.repeat(1 << 17); window.loop = setInterval(() => { for (let i = 0; i < 5; i++) console.log(s, i, {s}) }, 20)</script>`,
	"/errors":   `<p>the start</p><script>const s = 'wrong '.repeat(1 << 15); setInterval(() => { throw new Error(s) }, 5)</script>`,
	"/stream":   `<p>the start</p><script>fetch('/endless').then(async (r) => { for await (const _ of r.body); }); new EventSource('/endless')</script>`,
	"/urls":     `<p>the start</p><script>let n = 0; setInterval(() => { for (let i = 0; i < 50; i++) history.replaceState(null, '', '#' + 'x'.repeat(5000) + n++); document.title = 'title '.repeat(1 << 16) + n }, 50)</script>`,
	"/requests": `<p>the start</p><script>setInterval(() => { for (let i = 0; i < 20; i++) new Image().src = 'data:image/png;base64,' + 'A'.repeat(200000) }, 100); setInterval(() => { for (let i = 0; i < 20; i++) fetch('/nothing?' + 'x'.repeat(10000)).catch(() => 0) }, 100)</script>`,
	"/churn":    `<p>the start</p><div id="in"></div><script>setInterval(() => { for (let i = 0; i < 10; i++) { const f = document.createElement('iframe'); document.getElementById('in').append(f); if (document.getElementById('in').childElementCount > 30) document.getElementById('in').firstChild.remove() } }, 20)</script>`,
	"/alerts":   `<p>the start</p><button onclick="for (let i = 0; i < 1e6; i++) alert('again '.repeat(2000) + i)">Alert</button>`,
}

// newHugeSite serves hugePages, and an endless response at /endless.
func newHugeSite(t *testing.T) *httptest.Server {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch page, there := hugePages[r.URL.Path]; {
		case there:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<!doctype html><title>"+r.URL.Path+"</title><body>"+page)
		case r.URL.Path == "/endless":
			w.Header().Set("Content-Type", "text/event-stream")
			block := []byte("data: " + strings.Repeat("stream ", 4000) + "\n\n")
			for r.Context().Err() == nil {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	return site
}

// memory returns the current and the peak memory use of a process, in MiB.
func memory(t *testing.T, pid int) (now, peak int) {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) int {
		m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n >> 10
	}
	return read("VmRSS"), read("VmHWM")
}

const (
	// maxPeak is the maximum memory use of the server at any time, in MiB.
	maxPeak = 250
	// maxRest is the maximum memory use some time after the last call, in MiB. Go returns memory to
	// the operating system gradually.
	maxRest = 60
	// maxHung is the number of calls on a page that may time out. The page then sends nothing to
	// the server, and each further call would only wait for its timeout, up to 30 s.
	maxHung = 2
)

// TestLongMemory has pages try to fill the server's memory.
func TestLongMemory(t *testing.T) {
	tier.Deep(t)
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	site := newHugeSite(t)
	s := startMCP(t, "--data", filepath.Join(t.TempDir(), "data"), "--prefer=cdp", "--allow-domain", site.URL, "--enable-mutations",
		"--unsafe-enable-eval", "--headless", "--isolated")
	pid := s.cmd.Process.Pid
	hung := 0 // calls on the current page that timed out
	// ask calls a tool, which may fail, and checks that the result is small enough for a model.
	ask := func(tool string, args map[string]any) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		begin := time.Now()
		text, failed, err := s.try(ctx, tool, args)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		if len(text) > 100<<10 {
			t.Errorf("%s answers with %d bytes", tool, len(text))
		}
		now, peak := memory(t, pid)
		first, _, _ := strings.Cut(text, "\n")
		t.Logf("  %-17s %4d MiB now, %4d at most, after %v, %d bytes; failed %v: %.80s", tool, now, peak, time.Since(begin).Round(time.Millisecond), len(text), failed, first)
		if peak > maxPeak {
			t.Errorf("%s: the server used %d MiB, more than %d", tool, peak, maxPeak)
		}
		if strings.HasPrefix(text, "TIMEOUT") {
			hung++
		}
	}
	only := os.Getenv("MEMORY_PAGES")
	for path := range hugePages {
		if only != "" && !strings.Contains(only, path) {
			continue
		}
		t.Log(path)
		hung = 0
		ask("navigate", map[string]any{"url": site.URL + path, "waitUntil": "commit"})
		for _, tool := range []string{"get_text", "get_html", "read_as_markdown", "snapshot", "extract_links"} {
			if hung < maxHung {
				ask(tool, nil)
			}
		}
		if strings.Contains(hugePages[path], "setInterval") || path == "/stream" {
			ask("wait_for", map[string]any{"timeMs": 4000})
		}
		if hung >= maxHung {
			continue
		}
		ask("screenshot", map[string]any{"fullPage": true, "format": "jpeg"})
		ask("eval", map[string]any{"expression": "document.documentElement.outerHTML.slice(0, 1 << 20)"})
		if path == "/alerts" {
			ask("click", map[string]any{"selector": "button"})
			for range 20 {
				ask("handle_dialog", map[string]any{"accept": true})
			}
			s.call(t, "get_text", nil, "the start") // alerts in a loop
		}
	}
	ask("navigate", map[string]any{"url": "about:blank"})
	rest := 0
	await.Until(t, fmt.Sprintf("the server to shrink to %d MiB", maxRest), func() bool {
		rest, _ = memory(t, pid)
		return rest <= maxRest
	})
	t.Logf("%d MiB at the end", rest)
}

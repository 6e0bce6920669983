package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdpsuite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

var cdpCases = flag.String("cdp-cases", "", "`pattern` of the names of the cases of TestCDPConformance")

// TestCDPConformance runs stock CDP clients on a browser of chrome-mcp and on a plain Chromium. Each
// case must have the same result in both, except for the exceptions that the case states.
func TestCDPConformance(t *testing.T) {
	tier.Deep(t)
	needChromium(t)
	site := cdpsuite.NewSite(t)
	run := &cdpsuite.Run{Site: site.URL, Other: site.Other, Nothing: site.Nothing, Uploads: t.TempDir(), Only: *cdpCases}
	run.Plain = cdpsuite.StartPlain(t, site.URL+"/frames.html")
	run.Ours = startOurs(t, run)
	equal, excepted := run.Clients(t)
	more, _ := run.Chromedp(t)
	count := equal + excepted + more
	if run.Only == "" && !t.Failed() && count < 120 {
		t.Errorf("%d cases ran, want 120", count)
	}
}

// TestCDPFigures measures what the relay costs a stock client.
func TestCDPFigures(t *testing.T) {
	tier.Deep(t)
	needChromium(t)
	site := cdpsuite.NewSite(t)
	run := &cdpsuite.Run{Site: site.URL, Other: site.Other, Nothing: site.Nothing, Uploads: t.TempDir()}
	run.Plain = cdpsuite.StartPlain(t, site.URL+"/frames.html")
	run.Ours = startOurs(t, run)
	run.Figures(t)
}

// startOurs starts chrome-mcp for CDP clients of the run. A tool has opened a page.
func startOurs(t *testing.T, run *cdpsuite.Run) cdpsuite.Endpoint {
	t.Helper()
	data := t.TempDir()
	s := startMCP(t, "--data", data, "--isolated", "--headless", "--prefer", "cdp", "--cdp-listen", "127.0.0.1:0", "--unsafe-enable-eval", "--enable-mutations", "--enable-downloads",
		"--uploads-dir", run.Uploads, "--allow-domain", run.Site, "--allow-domain", run.Other, "--allow-domain", run.Nothing)
	s.call(t, "navigate", map[string]any{"url": run.Site + "/frames.html"}, "Frames")
	return cdpsuite.Endpoint{URL: cdpURL(t, data), WebSocket: cdpURL(t, data, "--ws")}
}

// cdpURL returns what chrome-mcp cdp-url prints.
func cdpURL(t *testing.T, data string, args ...string) string {
	t.Helper()
	stdout, stderr, err := execute(t, data, nil, append([]string{"cdp-url"}, args...)...)
	if err != nil {
		t.Fatal(err, stderr)
	}
	return strings.TrimSpace(stdout)
}

// Package cdpsuite runs stock CDP clients, the programs of tools/cdp, on a plain Chromium and on a
// browser of chrome-mcp, and compares the results.
package cdpsuite

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// An Endpoint is what CDP clients connect to.
type Endpoint struct {
	URL       string `json:"url"`
	WebSocket string `json:"webSocket"`
}

// A Run is what the clients get: two endpoints, and the site that they visit. It is JSON for the
// programs of tools/cdp.
type Run struct {
	Plain   Endpoint `json:"plain"`
	Ours    Endpoint `json:"ours"`
	Site    string   `json:"site"`
	Other   string   `json:"other"`
	Nothing string   `json:"nothing"` // URL of a port without a server
	Uploads string   `json:"uploads"` // a directory whose files clients may upload
	Only    string   `json:"only"`    // pattern of the names of the cases to run; empty means all

	// UserChrome says that ours is the user's Chrome. It has one browser context, in which the cases
	// open their pages, and its own exceptions.
	UserChrome bool `json:"userChrome"`
}

// An Outcome is the outcome of a case in one browser.
type Outcome struct {
	Result any    `json:"result"`
	Error  string `json:"error"`
	Stack  string `json:"stack"`
	MS     int    `json:"ms"`
}

// A Case is the outcome of a case in both browsers, and the exception if they may differ.
type Case struct {
	Name    string      `json:"name"`
	Plain   Outcome     `json:"plain"`
	Ours    Outcome     `json:"ours"`
	Differs *Difference `json:"differs"`
}

// A Difference is an exception: the result of a case in the browser of chrome-mcp, and the reason.
type Difference struct {
	Reason string `json:"reason"` // is in docs/cdp.md
	Ours   any    `json:"ours"`
	Fails  string `json:"fails"` // part of the error, if the case fails there
}

// Check fails t if the outcomes of a case differ, or are not as its exception says.
func (c *Case) Check(t *testing.T) {
	if c.Plain.Error != "" {
		t.Fatalf("plain Chromium: %s\n%s", c.Plain.Error, c.Plain.Stack)
	}
	if c.Differs != nil && !strings.Contains(documented(t), c.Differs.Reason) {
		t.Errorf("docs/cdp.md lacks the exception: %s", c.Differs.Reason)
	}
	if c.Differs != nil && c.Differs.Fails != "" {
		if !strings.Contains(c.Ours.Error, c.Differs.Fails) {
			t.Errorf("chrome-mcp: error %q, result %s\nexception (%s): %s", c.Ours.Error, asJSON(c.Ours.Result), c.Differs.Reason, c.Differs.Fails)
		}
		return
	}
	if c.Ours.Error != "" {
		t.Fatalf("chrome-mcp: %s\n%s\nplain Chromium: %s", c.Ours.Error, c.Ours.Stack, asJSON(c.Plain.Result))
	}
	same := reflect.DeepEqual(c.Plain.Result, c.Ours.Result)
	switch {
	case c.Differs == nil && !same:
		t.Errorf("chrome-mcp:\n%s\nplain Chromium:\n%s", asJSON(c.Ours.Result), asJSON(c.Plain.Result))
	case c.Differs != nil && !reflect.DeepEqual(c.Ours.Result, c.Differs.Ours):
		t.Errorf("chrome-mcp:\n%s\nexception (%s):\n%s", asJSON(c.Ours.Result), c.Differs.Reason, asJSON(c.Differs.Ours))
	case c.Differs != nil && same:
		t.Errorf("chrome-mcp is like plain Chromium; remove the exception: %s", c.Differs.Reason)
	}
}

// documented returns the text of docs/cdp.md.
func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cdp.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// StartPlain starts a Chromium that listens for CDP clients itself, with a page. Like a browser that
// Playwright launches, it hides scrollbars, and does not keep pages of the history alive: Playwright
// does not notice when it goes back to one.
func StartPlain(t *testing.T, page string) Endpoint {
	t.Helper()
	profile := t.TempDir()
	args := []string{"--remote-debugging-port=0", "--user-data-dir=" + profile, "--headless=new", "--no-first-run", "--hide-scrollbars", "--window-size=1280,807", tier.FastWindows + ",BackForwardCache", page}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(userbrowser.Find(t), args...)
	cmd.Env = append(os.Environ(), "HOME="+profile) // for downloads
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		force := time.AfterFunc(await.HangLimit, func() { cmd.Process.Kill() })
		cmd.Wait()
		force.Stop()
		if t.Failed() {
			t.Logf("plain Chromium says:\n%s", &stderr)
		}
	})
	var e Endpoint
	await.Until(t, "the port of plain Chromium", func() bool {
		data, _ := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
		port, path, ok := strings.Cut(string(data), "\n")
		e = Endpoint{URL: "http://127.0.0.1:" + port, WebSocket: "ws://127.0.0.1:" + port + path}
		return ok && strings.HasPrefix(path, "/devtools/browser/")
	})
	return e
}

// Clients runs the cases of Playwright and Puppeteer, each as a subtest. It returns the numbers of
// those that have to have the same result in both browsers, and of the exceptions.
func (r *Run) Clients(t *testing.T) (equal, excepted int) {
	t.Helper()
	node := tier.Node(t, "playwright-core")
	for _, client := range []string{"playwright", "puppeteer"} {
		t.Run(client, func(t *testing.T) {
			begin := time.Now()
			r.client(t, node, client, func(c *Case) {
				if c.Differs == nil {
					equal++
				} else {
					excepted++
				}
			})
			t.Logf("%v", time.Since(begin).Round(time.Millisecond))
		})
	}
	return equal, excepted
}

// client runs the cases of a client of tools/cdp. It calls ran for each.
func (r *Run) client(t *testing.T, node, client string, ran func(*Case)) {
	cmd := exec.CommandContext(t.Context(), node, "../../tools/cdp/"+client+".mjs", asJSON(r))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Errorf("%v\n%s", err, lines.Bytes())
			continue
		}
		ran(&c)
		t.Run(c.Name, func(t *testing.T) {
			t.Logf("plain Chromium %d ms, chrome-mcp %d ms", c.Plain.MS, c.Ours.MS)
			c.Check(t)
		})
	}
	if err := cmd.Wait(); err != nil || lines.Err() != nil {
		t.Errorf("%v, %v\n%s", err, lines.Err(), &stderr)
	} else if stderr.Len() > 0 {
		t.Logf("%s", &stderr)
	}
}

// Figures logs how long a stock Playwright client takes to connect and to evaluate, in both browsers.
func (r *Run) Figures(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tier.Node(t, "playwright-core"), "../../tools/cdp/figures.mjs", asJSON(r))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var figures map[string]struct{ Plain, Ours float64 }
	if err == nil {
		err = json.Unmarshal(out, &figures)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for name, f := range figures {
		t.Logf("%s: plain Chromium %.2f ms, chrome-mcp %.2f ms, ratio %.2f", name, f.Plain, f.Ours, f.Ours/f.Plain)
	}
}

func asJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

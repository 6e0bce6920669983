package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A verdict is how a check came out.
type verdict string

const (
	good    verdict = "ok  "
	notice  verdict = "note" // worth knowing
	missing verdict = "MISS" // essential: without it nothing works
)

// A report is what doctor prints: one finding a line, with what to do about
// it below.
type report struct {
	w      io.Writer
	failed bool
}

func (r *report) say(v verdict, topic, format string, args ...any) {
	r.failed = r.failed || v == missing
	fmt.Fprintf(r.w, "%s  %-9s %s\n", v, topic, fmt.Sprintf(format, args...))
}

// hint prints what to do about the finding above.
func (r *report) hint(text string) {
	if text != "" {
		fmt.Fprintf(r.w, "                → %s\n", text)
	}
}

// fault reports err with its hint.
func (r *report) fault(topic string, err error) {
	hint := ""
	if e, ok := errors.AsType[*executor.Error](err); ok {
		r.say(missing, topic, "%s", e.Message())
		r.hint(e.Hint)
		return
	}
	if e, ok := errors.AsType[*usageError](err); ok {
		hint = e.hint
	}
	r.say(missing, topic, "%v", err)
	r.hint(hint)
}

// doctor says what is there, what is missing and how to fix it. It changes
// nothing, unless --launch has it start the browser. The error is errReported
// when something essential is missing.
func doctor(ctx context.Context, s *settings, stdout io.Writer) error {
	rules, err := s.rules()
	if err != nil {
		return err
	}
	r := &report{w: stdout}
	fmt.Fprintf(stdout, "chrome-mcp %s, %s/%s\n", programVersion(), runtime.GOOS, runtime.GOARCH)
	if s.cdpEndpoint != "" {
		r.endpoint(ctx, s)
	} else {
		r.browser(ctx, s)
		r.sandbox(s)
		r.display(s)
	}
	r.folders(s)
	r.audit(s)
	r.extension(s)
	r.policy(s, rules)
	switch {
	case s.launch && r.failed:
		r.say(notice, "launch", "not tried, because something essential is missing")
	case s.launch:
		r.launch(ctx, s)
	}
	if r.failed {
		fmt.Fprintln(stdout, "\nSomething essential is missing: see MISS above.")
		return errReported
	}
	fmt.Fprintln(stdout, "\nEverything needed is there.")
	return nil
}

func (r *report) browser(ctx context.Context, s *settings) {
	path, err := chromium.Find(s.browser)
	if err != nil {
		r.fault("browser", err)
		return
	}
	switch version, known := browserVersion(ctx, path); {
	case known:
		r.say(good, "browser", "%s at %s", version, path)
	default:
		r.say(notice, "browser", "%s is %s, and may be no Chromium at all", path, version)
		r.hint("Try it with doctor --launch, or name another with --browser.")
	}
	for _, other := range chromium.Installed() {
		if other.Path != path {
			r.say(good, "", "also installed: --browser %s, %s", other.Name, other.Path)
		}
	}
}

// chromiumNames are what the output of --version begins with, or has in it, in
// lower case, when a program is built from Chromium.
var chromiumNames = []string{"chrom", "brave", "edge", "vivaldi", "opera", "yandex", "thorium"}

// browserVersion asks the browser for its name and version. known tells
// whether the name is one of a browser that can be driven.
func browserVersion(ctx context.Context, path string) (version string, known bool) {
	if runtime.GOOS == "windows" {
		return "a browser", true // chrome.exe --version opens a window
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return "a program that does not tell its version", false
	}
	line = strings.TrimSpace(line)
	return line, slices.ContainsFunc(chromiumNames, func(name string) bool {
		return strings.Contains(strings.ToLower(line), name)
	})
}

func (r *report) sandbox(s *settings) {
	root := os.Geteuid() == 0
	switch {
	case root && !s.noSandbox:
		r.say(missing, "sandbox", "Chromium does not start as root with its sandbox")
		r.hint("Run chrome-mcp as another user, or with --no-sandbox.")
	case s.noSandbox:
		r.say(notice, "sandbox", "off: a page that breaks out of the renderer has your rights")
		if !root {
			r.hint("Leave out --no-sandbox: it is needed for root only.")
		}
	default:
		r.say(good, "sandbox", "on")
	}
}

func (r *report) display(s *settings) {
	display := runtime.GOOS == "windows" || runtime.GOOS == "darwin" ||
		os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
	switch {
	case s.given("headless") && !s.headless && !display:
		r.say(missing, "display", "--headless=false asks for a window, and there is no display")
		r.hint("Leave it out, or run under xvfb-run.")
	case s.headless:
		r.say(good, "display", "not needed: --headless")
	case display:
		r.say(good, "display", "there is one: the browser shows a window")
	default:
		r.say(good, "display", "there is none: the browser runs headless")
	}
}

// endpoint looks whether somebody listens at --cdp-endpoint.
func (r *report) endpoint(ctx context.Context, s *settings) {
	if err := s.checkEndpoint(); err != nil {
		r.fault("browser", err)
		return
	}
	u, _ := url.Parse(s.cdpEndpoint) // which was checked
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "wss": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		r.say(missing, "browser", "nobody answers at --cdp-endpoint: %v", err)
		r.hint("Start the browser with --remote-debugging-port=" + port + " and a profile folder of its own.")
		return
	}
	conn.Close()
	r.say(good, "browser", "one listens at %s", u.Host)
	if s.attachDefaultContext {
		r.say(notice, "", "--attach-default-context: the agent works in its open tabs, with its logins")
	}
}

func (r *report) folders(s *settings) {
	if err := s.checkData(); err != nil {
		r.fault("data", err)
		return
	}
	info, err := os.Stat(s.data)
	if err != nil {
		r.say(good, "data", "%s will be made at the first start", s.data)
		return
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		r.say(notice, "data", "%s can be read by other users (%v)", s.data, info.Mode().Perm())
		r.hint("chmod 700 " + s.data)
	} else {
		r.say(good, "data", "%s", s.data)
	}
	downloads := filepath.Join(s.data, "downloads")
	if _, err := os.Stat(downloads); err == nil {
		if err := writable(downloads); err != nil {
			r.say(missing, "downloads", "%v", err)
		} else {
			r.say(good, "downloads", "%s", downloads)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.data, "tmp", "profile-*")); len(left) > 0 {
		r.say(notice, "leftovers", "%d temporary profiles: of running servers, or left by one that was killed", len(left))
		r.hint("The next start removes those that nobody uses.")
	}
}

func (r *report) audit(s *settings) {
	if s.auditLog == "" {
		return
	}
	if err := audit.Check(s.auditLog); err != nil {
		r.say(missing, "audit", "%s: %s %v", s.named("audit-log"), s.auditLog, err)
		r.hint("Name a file of your own, which need not be there, in a folder of your own, which must.")
		return
	}
	r.say(good, "audit", "what agents do is written to %s", s.auditLog)
}

func (r *report) policy(s *settings, rules *policy.Policy) {
	status := rules.Status()
	switch {
	case status.AllDomains:
		r.say(notice, "policy", "every public host is allowed (--unsafe-all-domains)")
	case len(status.AllowDomains) == 0:
		r.say(notice, "policy", "nothing is allowed, so the agent can open no page")
		r.hint("Allow a site: --allow-domain example.com")
	default:
		r.say(good, "policy", "the agent may go to %s", strings.Join(status.AllowDomains, ", "))
	}
	if len(status.BlockDomains) > 0 {
		r.say(good, "", "never to %s", strings.Join(status.BlockDomains, ", "))
	}
	grant := func(has bool, what, flag string) {
		if has {
			r.say(good, "", "it may %s", what)
		} else {
			r.say(good, "", "it may not %s: that needs %s", what, flag)
		}
	}
	grant(status.Mutations, "click, type and fill in forms", "--enable-mutations")
	grant(status.Downloads, "save files", "--enable-downloads")
	grant(status.Storage, "read and change what sites keep: cookies, local and session storage", "--enable-storage")
	grant(status.State, "save and load logins as files", "--state-dir")
	grant(status.Uploads, "upload files", "--uploads-dir")
	if status.Eval {
		r.say(notice, "", "it may run JavaScript of its own, which can do in a page whatever its user can (--unsafe-enable-eval)")
	} else {
		r.say(good, "", "it may not run JavaScript of its own: that needs --unsafe-enable-eval, for sites that you trust it with")
	}
	r.say(good, "", "pages load from: %s", status.Subresources)
	for _, note := range rules.Notes() {
		r.say(notice, "", "%s", note)
	}
}

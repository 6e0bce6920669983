// Package doctor checks and repairs the installation, and installs Chrome for Testing.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
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

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A verdict is the result of a check.
type verdict string

const (
	good    verdict = "ok  "
	notice  verdict = "note" // not critical
	missing verdict = "MISS" // nothing works without it
	fixed   verdict = "FIX " // changed by --fix
)

// levels are the verdicts in JSON.
var levels = map[verdict]string{good: "ok", notice: "note", missing: "missing", fixed: "fixed"}

// A finding is a line of doctor --json. Its fields are a contract.
type finding struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`    // false if nothing works without it
	Level   string `json:"level"` // ok, note, missing or fixed
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// A report prints the findings of doctor, one per line: as text with a hint below, or as JSON.
type report struct {
	w      io.Writer
	json   bool
	failed bool
	topic  string   // of the previous finding
	last   *finding // not printed yet, because its hint may follow; nil without json
}

// say prints a finding. An empty topic means that of the previous one.
func (r *report) say(v verdict, topic, format string, args ...any) {
	r.flush()
	r.failed = r.failed || v == missing
	message := fmt.Sprintf(format, args...)
	if topic != "" {
		r.topic = topic
	}
	if r.json {
		r.last = &finding{Check: r.topic, OK: v != missing, Level: levels[v], Message: message}
		return
	}
	fmt.Fprintf(r.w, "%s  %-9s %s\n", v, topic, message)
}

// hint prints what to do about the previous finding.
func (r *report) hint(text string) {
	switch {
	case text == "":
	case r.json:
		r.last.Hint = text
	default:
		fmt.Fprintf(r.w, "                → %s\n", text)
	}
}

// flush prints the previous finding as JSON.
func (r *report) flush() {
	if r.last != nil {
		json.NewEncoder(r.w).Encode(r.last)
		r.last = nil
	}
}

// fault reports err and its hint.
func (r *report) fault(topic string, err error) {
	message, hint := explain(err)
	r.say(missing, topic, "%s", message)
	r.hint(hint)
}

// explain returns the text of an error and its hint, which may be empty.
func explain(err error) (message, whatToDo string) {
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return e.Message(), hint.Translate(e.Hint)
	}
	if e, ok := errors.AsType[*cli.UsageError](err); ok {
		whatToDo = e.Hint
	}
	return err.Error(), whatToDo
}

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	launch, fix bool
	versionsURL string
}

// Command returns the command doctor.
func Command(s *cli.Settings) *cobra.Command {
	var given doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [--launch] [--fix] [--json]",
		Short: "check the installation",
		Long: `Reports what is installed, what is missing and how to fix it, for a server with the
same flags. It changes nothing; with --launch it starts the browser and reads
a test page. The exit code is 1 if something essential is missing.

With --fix it first repairs what it can, and prints what it did: it installs Chrome for
Testing if no browser is found, updates the files and the registration of an installed
extension, and removes what killed processes left in the data directory.

With --json each line is an object with check, ok, level (ok, note, missing or fixed),
message and hint.`,
		Args: s.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return doctor(cmd.Context(), s, &given, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&given.launch, "launch", false, "with doctor: start the browser and drive one page")
	cmd.Flags().BoolVar(&given.fix, "fix", false, "with doctor: repair what can be repaired safely")
	s.AddJSONFlag(cmd)
	addVersionsURLFlag(cmd, &given.versionsURL)
	return cmd
}

// doctor reports what is installed, what is missing and how to fix it. It changes nothing, except
// that --fix repairs and --launch starts the browser. It returns a *reported if something essential
// is missing.
func doctor(ctx context.Context, s *cli.Settings, given *doctorFlags, stdout, stderr io.Writer) error {
	rules, err := compose.Policy(s)
	if err != nil {
		return err
	}
	if given.versionsURL != "" && !given.fix {
		return cli.Usagef("", "--versions-url requires --fix")
	}
	r := &report{w: stdout, json: s.JSON}
	if program := fmt.Sprintf("chrome-mcp %s, %s/%s", s.Version, runtime.GOOS, runtime.GOARCH); s.JSON {
		r.say(good, "program", "%s", program)
	} else {
		fmt.Fprintln(stdout, program)
	}
	if given.fix {
		r.fix(ctx, s, given.versionsURL, stderr)
	}
	if s.CDPEndpoint != "" {
		r.endpoint(ctx, s)
	} else {
		r.browser(ctx, s)
		r.sandbox(s)
		r.display(s)
	}
	r.directories(s)
	r.audit(s)
	r.extension(s)
	r.policy(s, rules)
	switch {
	case given.launch && r.failed:
		r.say(notice, "launch", "not tried, because something essential is missing")
	case given.launch:
		r.launch(ctx, s)
	}
	r.flush()
	summary, err := "Nothing essential is missing.", error(nil)
	if r.failed {
		summary, err = "Something essential is missing: see MISS above.", &cli.Reported{Exit: cli.ExitFailed}
	}
	if !s.JSON {
		fmt.Fprintf(stdout, "\n%s\n", summary)
	}
	return err
}

func (r *report) browser(ctx context.Context, s *cli.Settings) {
	path, err := chromium.FindIn(s.Data, s.Browser)
	if err != nil {
		r.fault("browser", err)
		return
	}
	if version, known := browserVersion(ctx, path); known {
		r.say(good, "browser", "%s at %s", version, path)
	} else {
		r.say(notice, "browser", "%s is %s, which may not be based on Chromium", path, version)
		r.hint("Test it with doctor --launch, or choose another with --browser.")
	}
	for _, other := range chromium.InstalledIn(s.Data) {
		if other.Path != path {
			r.say(good, "", "also installed: --browser %s, %s", other.Name, other.Path)
		}
	}
}

// chromiumNames are lower-case substrings by which the --version output of Chromium-based browsers
// is recognized.
var chromiumNames = []string{"chrom", "brave", "edge", "vivaldi", "opera", "yandex", "thorium"}

// browserVersion returns the browser's --version output. known reports whether it names a
// Chromium-based browser.
func browserVersion(ctx context.Context, path string) (version string, known bool) {
	if runtime.GOOS == "windows" {
		return "a browser", true // chrome.exe --version opens a window
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return "unknown version", false
	}
	line = strings.TrimSpace(line)
	return line, slices.ContainsFunc(chromiumNames, func(name string) bool {
		return strings.Contains(strings.ToLower(line), name)
	})
}

func (r *report) sandbox(s *cli.Settings) {
	root := os.Geteuid() == 0
	switch {
	case root && !s.NoSandbox:
		r.say(missing, "sandbox", "Chromium does not start as root with its sandbox")
		r.hint("Run chrome-mcp as another user, or with --no-sandbox.")
	case s.NoSandbox:
		r.say(notice, "sandbox", "disabled: a renderer escape runs with your user's privileges")
		if !root {
			r.hint("Remove --no-sandbox, unless the browser does not start without it.")
		}
	default:
		r.say(good, "sandbox", "on")
	}
}

func (r *report) display(s *cli.Settings) {
	display := runtime.GOOS == "windows" || runtime.GOOS == "darwin" ||
		os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
	switch {
	case s.Given("headless") && !s.Headless && !display:
		r.say(missing, "display", "--headless=false requires a display")
		r.hint("Remove it, or run under xvfb-run.")
	case s.Headless:
		r.say(good, "display", "not needed: --headless")
	case display:
		r.say(good, "display", "found: the browser shows a window")
	default:
		r.say(good, "display", "not found: the browser runs headless")
	}
}

// endpoint checks whether --cdp-endpoint accepts connections.
func (r *report) endpoint(ctx context.Context, s *cli.Settings) {
	if err := s.CheckEndpoint(); err != nil {
		r.fault("browser", err)
		return
	}
	u, _ := url.Parse(s.CDPEndpoint) // checked above
	if chromium.IsRunningName(s.CDPEndpoint) {
		var err error
		if u, err = chromium.FindRunning(s.CDPEndpoint); err != nil {
			r.fault("browser", err)
			return
		}
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "wss": "443"}[u.Scheme], "80")
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		r.say(missing, "browser", "no browser at --cdp-endpoint: %v", err)
		r.hint("Start the browser with --remote-debugging-port=" + port + " and a separate profile directory.")
		return
	}
	conn.Close()
	r.say(good, "browser", "%s accepts connections", u.Host)
	if s.AttachDefaultContext {
		r.say(notice, "", "--attach-default-context: the agent uses its open tabs and logins")
	}
}

func (r *report) directories(s *cli.Settings) {
	if err := s.CheckData(); err != nil {
		r.fault("data", err)
		return
	}
	info, err := os.Stat(s.Data)
	if err != nil {
		r.say(good, "data", "%s is created at the first start", s.Data)
		return
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		r.say(notice, "data", "%s is readable by other users (%v)", s.Data, info.Mode().Perm())
		r.hint("chmod 700 " + s.Data)
	} else {
		r.say(good, "data", "%s", s.Data)
	}
	downloads := filepath.Join(s.Data, "downloads")
	if _, err := os.Stat(downloads); err == nil {
		if err := cli.Writable(downloads); err != nil {
			r.say(missing, "downloads", "%v", err)
		} else {
			r.say(good, "downloads", "%s", downloads)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.Data, "tmp", "profile-*")); len(left) > 0 {
		r.say(notice, "leftovers", "%d temporary profiles, of running or killed servers", len(left))
		r.hint("The next start removes unused profiles, and so does doctor --fix.")
	}
}

func (r *report) audit(s *cli.Settings) {
	if s.AuditLog == "" {
		return
	}
	if err := audit.Check(s.AuditLog); err != nil {
		r.say(missing, "audit", "%s: %s %v", s.NameOf("audit-log"), s.AuditLog, err)
		r.hint("Name a file that you own, or a new file in an existing directory that you own.")
		return
	}
	r.say(good, "audit", "audit log: %s", s.AuditLog)
}

func (r *report) policy(s *cli.Settings, rules *policy.Policy) {
	status := rules.Status()
	switch {
	case status.AllDomains:
		r.say(notice, "policy", "all public hosts are allowed (--unsafe-all-domains)")
	case len(status.AllowDomains) == 0 && s.ServeDirectory != "":
		r.say(good, "policy", "no site is allowed, except for the served directory")
	case len(status.AllowDomains) == 0:
		r.say(notice, "policy", "no site is allowed")
		r.hint("Allow a site: --allow-domain example.com")
	default:
		r.say(good, "policy", "allowed sites: %s", strings.Join(status.AllowDomains, ", "))
	}
	if len(status.BlockDomains) > 0 {
		r.say(good, "", "blocked sites: %s", strings.Join(status.BlockDomains, ", "))
	}
	if s.ServeDirectory != "" {
		r.say(good, "", "served directory: %s", s.ServeDirectory)
	}
	grant := func(has bool, what, flag string) {
		if has {
			r.say(good, "", "allowed: %s", what)
		} else {
			r.say(good, "", "not allowed: %s (needs %s)", what, flag)
		}
	}
	grant(status.Mutations, "click, type and fill in forms", "--enable-mutations")
	grant(status.Downloads, "save files", "--enable-downloads")
	grant(status.Storage, "read and change cookies, local and session storage", "--enable-storage")
	grant(status.Clipboard, "copy and paste with your clipboard", "--clipboard")
	grant(status.State, "save and load storage state files", "--state-dir")
	grant(status.Uploads, "upload files", "--uploads-dir")
	if status.Eval {
		r.say(notice, "", "allowed: run JavaScript, which can do everything in a page that the user can (--unsafe-enable-eval)")
	} else {
		r.say(good, "", "not allowed: run JavaScript (needs --unsafe-enable-eval; use it only for sites that you trust the agent with)")
	}
	if err := s.CheckCDPGrant(rules); err != nil {
		r.fault("", err)
	} else if s.ServesCDP() {
		r.say(notice, "", "CDP clients can drive the browser (--cdp-listen, --cdp-clients)")
	}
	r.say(good, "", "subresources: %s", status.Subresources)
	for _, note := range rules.Notes() {
		r.say(notice, "", "%s", note)
	}
}

package main

import (
	"archive/zip"
	"bytes"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

const testingVersion = "140.0.1.2"

// A versionsSite serves the versions of Chrome for Testing with one archive, whose program is the
// given script, and which has the given number of other bytes.
type versionsSite struct {
	*httptest.Server
	downloads atomic.Int32
	stall     atomic.Bool // sends only a part of the archive
}

func newVersionsSite(t *testing.T, script string, size int) *versionsSite {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the test archive is for Linux on x64")
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, content := range map[string]io.Reader{"chrome": strings.NewReader(script), "resources.pak": io.LimitReader(rand.Reader, int64(size))} {
		h := &zip.FileHeader{Name: "chrome-linux64/" + name, Method: zip.Store}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sum := md5.Sum(archive.Bytes())
	s := &versionsSite{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			fmt.Fprintf(w, `{"channels": {"Stable": {"version": %q, "downloads": {"chrome": [{"platform": "linux64", "url": "http://%s/chrome.zip"}]}}}}`, testingVersion, r.Host)
			return
		}
		s.downloads.Add(1)
		w.Header().Set("X-Goog-Hash", "md5="+base64.StdEncoding.EncodeToString(sum[:]))
		w.Header().Set("Content-Length", fmt.Sprint(archive.Len()))
		if s.stall.Load() {
			w.Write(archive.Bytes()[:archive.Len()/2])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		w.Write(archive.Bytes())
	}))
	t.Cleanup(s.Close)
	return s
}

const versionScript = "#!/bin/sh\necho Google Chrome for Testing " + testingVersion + "\n"

// runProgram runs the built program and returns its output and exit code.
func runProgram(t *testing.T, home string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(tier.FullEnviron(), "HOME="+home, "XDG_CONFIG_HOME=")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestInstallCommand(t *testing.T) {
	site := newVersionsSite(t, versionScript, 3<<20)
	home := t.TempDir()
	install := func(args ...string) (stdout, stderr string, code int) {
		return runProgram(t, home, append([]string{"install", "--versions-url", site.URL}, args...)...)
	}
	program := filepath.Join(home, cli.DefaultDataName, "browsers", "chrome-for-testing", testingVersion+"-linux64", "chrome-linux64", "chrome")

	stdout, stderr, code := install("--browser", "chrome-for-testing")
	if code != 0 || !strings.HasPrefix(stdout, "Chrome for Testing "+testingVersion+" is installed at "+program+".\n") ||
		!strings.Contains(stderr, testingVersion+": 3 MB of 3 MB (100%)\n") || strings.Contains(stderr, "\r") {
		t.Fatalf("install: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if _, err := chromium.Find(""); err == nil && !strings.Contains(stdout, "Without --browser chrome-for-testing, the commands use ") {
		t.Errorf("install does not mention the other browser:\n%s", stdout)
	}
	if path, err := chromium.FindIn(filepath.Join(home, cli.DefaultDataName), "chrome-for-testing"); err != nil || path != program {
		t.Errorf("FindIn = %q, %v", path, err)
	}
	// Both find a browser now: the one that was installed, or another one of the machine.
	for _, args := range [][]string{{"--browser", "chrome-for-testing"}, nil} {
		if stdout, stderr, code := install(args...); code != 0 || !strings.HasSuffix(stdout, ". Nothing was changed.\n") || stderr != "" {
			t.Errorf("again with %q: exit code %d\n%s\n%s", args, code, stdout, stderr)
		}
	}
	if n := site.downloads.Load(); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
	if stdout, _, code := install("--force"); code != 0 || !strings.Contains(stdout, program) || site.downloads.Load() != 2 {
		t.Errorf("--force: exit code %d after %d downloads\n%s", code, site.downloads.Load(), stdout)
	}
	stdout, _, _ = runProgram(t, home, "doctor", "--browser", "chrome-for-testing", "--no-sandbox")
	if !strings.Contains(stdout, "ok    browser   Google Chrome for Testing "+testingVersion+" at "+program+"\n") {
		t.Errorf("doctor:\n%s", stdout)
	}
}

func TestInstallCommandFails(t *testing.T) {
	site := newVersionsSite(t, versionScript, 3<<20)
	home := t.TempDir()
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--browser", "edge"}, cli.ExitUsage, "error: --browser: only chrome-for-testing can be installed, not \"edge\"\nhint: Omit it, or set it to chrome-for-testing.\n"},
		{[]string{"--force", "--data", file}, cli.ExitUsage, "is not a directory\nhint: "},
		{[]string{"--force", "--proxy", "socks5://127.0.0.1:1"}, cli.ExitUsage, "error: --proxy: "},
		{[]string{"--force", "--versions-url", "http://example.com"}, cli.ExitFailed, "error: the URL of example.com is not an https URL\n"},
		{[]string{"--force", "--versions-url", site.URL + "/chrome.zip"}, cli.ExitFailed, "is not a list of versions of Chrome for Testing\n"},
		{[]string{"now"}, cli.ExitUsage, "error: unexpected argument \"now\"\n"},
	} {
		stdout, stderr, code := runProgram(t, home, append([]string{"install", "--versions-url", site.URL}, c.args...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("install %q: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
}

// TestInstallFullDisk installs on a disk that is too small for the browser.
func TestInstallFullDisk(t *testing.T) {
	site := newVersionsSite(t, versionScript, 3<<20)
	for size, phase := range map[string]string{"size=1m": "archive", "size=4m": "files"} {
		data := filepath.Join(smallDisk(t, size), "d")
		_, stderr, code := runProgram(t, t.TempDir(), "install", "--force", "--versions-url", site.URL, "--data", data)
		if code != cli.ExitFailed || !strings.Contains(stderr, "no space left on device\nhint: Free about 1 GB, or choose a directory on another disk with --data.\n") {
			t.Errorf("%s: exit code %d\n%s", phase, code, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(data, "browsers", "chrome-for-testing", "*1*")); len(left) > 0 {
			t.Errorf("%s: left %v", phase, left)
		}
	}
}

// TestInstallInterrupted interrupts the program during a download, and kills it.
func TestInstallInterrupted(t *testing.T) {
	site := newVersionsSite(t, versionScript, 3<<20)
	home := t.TempDir()
	dir := filepath.Join(home, cli.DefaultDataName, "browsers", "chrome-for-testing")
	temporary := func() []string {
		left, _ := filepath.Glob(filepath.Join(dir, ".new-*"))
		return left
	}
	site.stall.Store(true)
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		cmd := exec.Command(binary, "install", "--force", "--versions-url", site.URL)
		cmd.Env = append(tier.FullEnviron(), "HOME="+home, "XDG_CONFIG_HOME=")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 64)
		if _, err := stderr.Read(first); err != nil { // the first line of the progress
			t.Fatal(err)
		}
		if len(temporary()) == 0 {
			t.Error("no archive during the download")
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(stderr)
		err = cmd.Wait()
		if signal == os.Interrupt && (cmd.ProcessState.ExitCode() != cli.ExitFailed || !strings.Contains(string(rest), "error: the installation was interrupted\n") || len(temporary()) > 0) {
			t.Errorf("interrupted: %v, left %v\n%s", err, temporary(), rest)
		}
	}
	site.stall.Store(false)
	stdout, stderr, code := runProgram(t, home, "install", "--browser", "chrome-for-testing", "--versions-url", site.URL)
	if code != 0 || !strings.Contains(stdout, "is installed at") || len(temporary()) > 0 {
		t.Errorf("repeated: exit code %d, left %v\n%s%s", code, temporary(), stdout, stderr)
	}
}

// A checked is a line of doctor --json.
type checked struct {
	Check, Level, Message, Hint string
	OK                          bool
}

// findings runs doctor --json and returns its findings that --fix has repaired, by check, and all.
func findings(t *testing.T, home string, args ...string) (repaired map[string]string, all []checked) {
	t.Helper()
	stdout, stderr, _ := runProgram(t, home, append([]string{"doctor", "--json", "--no-sandbox"}, args...)...)
	repaired = map[string]string{}
	for line := range strings.Lines(stdout) {
		var f checked
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&f); err != nil || f.Check == "" || f.Message == "" || f.OK == (f.Level == "missing") {
			t.Errorf("%s: %v\n%s", line, err, stderr)
		}
		if f.Level == "fixed" {
			repaired[f.Check] += f.Message + "\n"
		}
		all = append(all, f)
	}
	return repaired, all
}

// TestDoctorFix breaks an installation and repairs it.
func TestDoctorFix(t *testing.T) {
	site := newVersionsSite(t, versionScript, 1000)
	home, err := os.MkdirTemp("", "fix") // the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	data := filepath.Join(home, cli.DefaultDataName)
	manifest := func(browser string) string {
		return filepath.Join(home, ".config", browser, "NativeMessagingHosts", "com.chrome_mcp.host.json")
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, browser := range []string{"google-chrome", "microsoft-edge"} {
		if err := os.MkdirAll(filepath.Join(home, ".config", browser), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, code := runProgram(t, home, "extension", "install"); code != 0 {
		t.Fatalf("extension install: %s", stderr)
	}
	before, err := os.ReadFile(manifest("google-chrome"))
	if err != nil {
		t.Fatal(err)
	}
	edge := strings.Replace(string(before), binary, "/bin/true", 1) // of another installation
	write(manifest("google-chrome"), strings.Replace(string(before), binary, "/no/such/program", 1))
	write(manifest("microsoft-edge"), edge)
	write(filepath.Join(data, "extension", "popup.js"), "old")
	write(filepath.Join(data, "handshakes", "1-1.json"), `{"v": 1, "port": 1, "token": "", "pid": 1, "started": 1, "process": "gone", "name": "x", "extensionId": "x"}`)
	write(filepath.Join(data, "cdp", "1.json"), `{"pid": 1, "process": "gone", "port": 1, "url": "ws://127.0.0.1:1/x"}`)
	profile := filepath.Join(data, "tmp", "profile-1")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(profile, time.Time{}, time.Now().AddDate(0, 0, -1)); err != nil {
		t.Fatal(err)
	}
	for _, socket := range []string{server.SocketPath(data), filepath.Join(data, "dashboard", "1")} {
		if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
	}
	if err := os.Chmod(data, 0o755); err != nil {
		t.Fatal(err)
	}

	args := []string{"--browser", "chrome-for-testing", "--versions-url", site.URL, "--fix"}
	if repaired, all := findings(t, home, "--browser", "chrome-for-testing"); len(repaired) > 0 {
		t.Errorf("without --fix: %v\n%v", repaired, all)
	}
	repaired, all := findings(t, home, args...)
	want := map[string]string{
		"browser":   "installed Chrome for Testing " + testingVersion + "\n",
		"data":      data + " is no longer accessible to other users\n",
		"extension": "updated " + filepath.Join(data, "extension") + "\nregistered the native messaging host in Chrome\n",
		"leftovers": "removed 1 temporary profile\nremoved the socket of a killed server\nremoved 3 files of killed processes\n",
	}
	for check, text := range want {
		if repaired[check] != text {
			t.Errorf("%s: %q, want %q", check, repaired[check], text)
		}
	}
	if len(repaired) != len(want) {
		t.Errorf("repaired %v", repaired)
	}
	for _, f := range all {
		if !f.OK || f.Level == "note" && f.Check != "policy" && f.Check != "sandbox" {
			t.Errorf("after the repair: %+v", f)
		}
	}
	if after, err := os.ReadFile(manifest("google-chrome")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("manifest: %v\n%s", err, after)
	}
	if after, err := os.ReadFile(manifest("microsoft-edge")); err != nil || string(after) != edge {
		t.Errorf("the registration of another program has changed: %v\n%s", err, after)
	}
	for _, path := range []string{profile, server.SocketPath(data)} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if repaired, _ := findings(t, home, args...); len(repaired) > 0 {
		t.Errorf("repaired again: %v", repaired)
	}
	if site.downloads.Load() != 1 {
		t.Errorf("%d downloads", site.downloads.Load())
	}
}

// TestDoctorFixSparesRunning runs doctor --fix while a server runs.
func TestDoctorFixSparesRunning(t *testing.T) {
	c := newCommandLine(t)
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp"); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	running := c.server().Pid
	out, _ := c.run("doctor", "--fix", "--no-sandbox")
	if strings.Contains(out, "FIX ") || strings.Contains(out, "not repaired") {
		t.Errorf("doctor --fix:\n%s", out)
	}
	if pid := c.server().Pid; pid != running {
		t.Errorf("the server is process %d, was %d", pid, running)
	}
}

// TestInstalledBrowserLaunches launches the installed browser, which is a script that starts the one
// of the machine.
func TestInstalledBrowserLaunches(t *testing.T) {
	needChromium(t)
	if testing.Short() {
		t.Skip("starts a browser")
	}
	real, err := chromium.Find(tier.FullBrowser())
	if err != nil {
		t.Fatal(err)
	}
	site := newVersionsSite(t, "#!/bin/sh\nexec "+cli.ShellQuote(real)+" \"$@\"\n", 10)
	home := t.TempDir()
	args := append([]string{"doctor", "--fix", "--launch", "--headless", "--browser", "chrome-for-testing", "--versions-url", site.URL}, rootNeedsNoSandbox()...)
	stdout, stderr, code := runProgram(t, home, args...)
	if code != 0 || !strings.Contains(stdout, "\nok    launch    launched, read a test page, closed in ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if info, err := os.Stat(filepath.Join(home, cli.DefaultDataName, "browsers")); err != nil || info.Mode().Perm() != fs.FileMode(0o700) {
		t.Errorf("directory of browsers: %v, %v", info, err)
	}
}

package doctor

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpendpoint"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/extinstall"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// fix repairs what can be repaired safely, and reports what it did. The checks that follow report
// what is still missing.
func (r *report) fix(ctx context.Context, s *cli.Settings, versionsURL string, stderr io.Writer) {
	if s.CheckData() != nil {
		return // a check reports it
	}
	r.fixData(s)
	if s.CDPEndpoint == "" {
		r.fixBrowser(ctx, s, versionsURL, stderr)
	}
	r.fixExtension(s)
	r.removeLeftovers(ctx, s)
}

// fixFailed reports that a repair failed.
func (r *report) fixFailed(topic string, err error) {
	message, hint := explain(err)
	r.say(notice, topic, "not repaired: %s", message)
	r.hint(hint)
}

// fixBrowser installs a browser if none is found.
func (r *report) fixBrowser(ctx context.Context, s *cli.Settings, versionsURL string, stderr io.Writer) {
	if s.Browser != "" && s.Browser != chromeForTesting {
		return // the user has named another one
	}
	if _, err := chromium.FindIn(s.Data, s.Browser); !errors.Is(err, executor.ErrNoBackend) {
		return
	}
	b, err := installBrowser(ctx, s, installFlags{versionsURL: versionsURL}, stderr)
	if err != nil {
		r.fixFailed("browser", err)
		return
	}
	r.say(fixed, "browser", "installed Chrome for Testing %s", b.Version)
}

// fixData makes the default data directory inaccessible to others. Another directory may be one
// that the user shares.
func (r *report) fixData(s *cli.Settings) {
	info, err := os.Lstat(s.Data)
	if runtime.GOOS == "windows" || s.Given("data") || err != nil || !info.IsDir() || info.Mode().Perm()&0o077 == 0 {
		return
	}
	if err := os.Chmod(s.Data, 0o700); err != nil {
		r.fixFailed("data", err)
		return
	}
	r.say(fixed, "data", "%s is no longer accessible to other users", s.Data)
}

// fixExtension updates the files of an installed extension, and registers the native messaging host
// again where a browser would start a program that does not exist. If no browser has it,
// fixExtension registers it in all browsers.
func (r *report) fixExtension(s *cli.Settings) {
	dir := extinstall.Dir(s.Data)
	if !extinstall.Installed(s.Data) {
		return
	}
	if !extinstall.Current(dir) {
		err := errors.Join(bridge.EnsureDir(s.Data), bridge.EnsureDir(dir))
		if err == nil {
			err = extension.Write(dir)
		}
		if err != nil {
			r.fixFailed("extension", err)
			return
		}
		r.say(fixed, "extension", "updated %s", dir)
		r.hint("Click the reload icon of the extension in chrome://extensions.")
	}
	home, err := os.UserHomeDir()
	if err != nil || runtime.GOOS == "windows" { // as in the check
		return
	}
	var broken []extinstall.Browser
	registered := 0
	for _, b := range extinstall.Browsers {
		switch program, found := b.Registered(home); {
		case !found:
		case cli.Exists(program):
			registered++
		default:
			broken = append(broken, b)
		}
	}
	if registered == 0 && len(broken) == 0 {
		broken = extinstall.FoundBrowsers(home)
	}
	if len(broken) == 0 {
		return
	}
	program, err := extinstall.Program(home, s.Data)
	if err != nil {
		r.fixFailed("extension", err)
		return
	}
	for _, b := range broken {
		if err := b.Register(home, filepath.Join(s.Data, "native-messaging"), program); err != nil {
			r.fixFailed("extension", err)
			continue
		}
		r.say(fixed, "extension", "registered the native messaging host in %s", b.Title)
	}
}

// removeLeftovers removes what killed processes left in the data directory.
func (r *report) removeLeftovers(ctx context.Context, s *cli.Settings) {
	swept, err := chromium.Sweep(ctx, s.Data)
	if err != nil {
		r.fixFailed("leftovers", err)
	}
	if n := len(swept.Profiles); n > 0 {
		r.say(fixed, "leftovers", "removed %s", phrase.Count(n, "temporary profile", "temporary profiles"))
	}
	if n := len(swept.Browsers); n > 0 {
		r.say(fixed, "leftovers", "ended %s of killed servers", phrase.Count(n, "browser", "browsers"))
	}
	stale, err := server.RemoveStaleSocket(ctx, s.Data)
	if err != nil {
		r.fixFailed("leftovers", err)
	}
	if stale {
		r.say(fixed, "leftovers", "removed the socket of a killed server")
	}
	if n := bridge.Sweep(s.Data) + dashboard.RemoveStale(s.Data) + cdpendpoint.RemoveStale(s.Data); n > 0 {
		r.say(fixed, "leftovers", "removed %s of killed processes", phrase.Count(n, "file", "files"))
	}
}

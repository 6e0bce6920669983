package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// Check verifies that what the flags name exists, so that a mistake is reported to the user at
// startup and not to the agent, which cannot fix it, at the first call. It changes nothing, starts
// no process and opens no connection.
func (s *Settings) Check() error {
	if err := s.CheckEndpoint(); err != nil {
		return err
	}
	if s.Browser != "" {
		if _, err := chromium.FindIn(s.Data, s.Browser); err != nil {
			return s.FlagValueError("browser", err)
		}
	}
	if _, err := s.ReadHTTPCredentials(); err != nil {
		return err
	}
	if s.CDPEndpoint == "" || s.Given("data") { // otherwise only downloads use it
		if err := s.CheckData(); err != nil {
			return err
		}
	}
	return nil
}

// FlagValueError returns err, about the value of a flag, as a *UsageError.
func (s *Settings) FlagValueError(flag string, err error) error {
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return Usagef(hint.Translate(e.Hint), "%s: %s", s.NameOf(flag), e.Message())
	}
	return Usagef("", "%s: %w", s.NameOf(flag), err)
}

// CheckEndpoint checks that the value of --cdp-endpoint is a URL with a host, or a name. Errors do not
// contain the value: it gives access to the browser.
func (s *Settings) CheckEndpoint() error {
	if s.CDPEndpoint == "" {
		return nil
	}
	if err := namedbrowser.CheckEndpoint(s.CDPEndpoint); err != nil {
		return Usagef("Write it as http://127.0.0.1:9222, as a ws:// URL, or as "+phrase.List(chromium.RunningNames(), "or")+".",
			"%s: %w", s.NameOf("cdp-endpoint"), err)
	}
	return nil
}

// CheckData checks that the data directory exists or can be created.
func (s *Settings) CheckData() error {
	const hint = "Choose another directory with --data."
	name := s.NameOf("data")
	if !s.Given("data") {
		name = "data directory"
		if home := filepath.Dir(s.Data); !Exists(home) {
			return Usagef("Set --data, or correct the variable HOME.",
				"%s %s cannot be created: home directory %s does not exist", name, s.Data, home)
		}
	}
	info, err := os.Stat(s.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := checkCreatable(s.Data); err != nil {
			return Usagef(hint, "%s: %s cannot be created: %w", name, s.Data, err)
		}
		return nil
	case err != nil:
		return Usagef(hint, "%s: %w", name, err)
	case !info.IsDir():
		return Usagef("Move it, or choose another directory with --data.", "%s: %s is not a directory", name, s.Data)
	}
	if err := Writable(s.Data); err != nil {
		return Usagef("Make it writable for you, or choose another directory with --data.", "%s: %w", name, err)
	}
	return nil
}

// checkCreatable returns the reason why directory dir, which does not exist, cannot be created. It
// creates a temporary directory: root passes every permission check, but can create no directory in
// /proc or on a read-only file system.
func checkCreatable(dir string) error {
	for {
		parent := filepath.Dir(dir)
		info, err := os.Stat(parent)
		switch {
		case errors.Is(err, fs.ErrNotExist) && parent != dir:
			dir = parent
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a directory", parent)
		}
		if err := Writable(parent); err != nil {
			return err
		}
		trial, err := os.MkdirTemp(parent, ".chrome-mcp-")
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			return &fs.PathError{Op: "create a directory in", Path: parent, Err: e.Err}
		}
		return errors.Join(err, os.Remove(trial))
	}
}

// CheckPort returns an error unless the port of the URL in a flag is missing or valid.
func CheckPort(flag string, u *url.URL) error {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if u.Port() == "" || err == nil && n > 0 {
		return nil
	}
	return Usagef("Write the URL as https://chrome.example.com.", "%s: %q is not a port from 1 to 65535", flag, u.Port())
}

// IsLoopback reports whether a host of a URL is this machine.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost"
}

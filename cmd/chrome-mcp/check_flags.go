package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
)

// check verifies that what the flags name exists, so that a mistake is reported to the user at
// startup and not to the agent, which cannot fix it, at the first call. It changes nothing, starts
// no process and opens no connection.
func (s *settings) check() error {
	if err := s.checkEndpoint(); err != nil {
		return err
	}
	if s.browser != "" {
		if _, err := chromium.FindIn(s.data, s.browser); err != nil {
			return s.flagValueError("browser", err)
		}
	}
	if _, err := s.readHTTPCredentials(); err != nil {
		return err
	}
	if s.cdpEndpoint == "" || s.given("data") { // otherwise only downloads use it
		if err := s.checkData(); err != nil {
			return err
		}
	}
	return nil
}

// flagValueError returns err, about the value of a flag, as a *usageError.
func (s *settings) flagValueError(flag string, err error) error {
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return usagef(hint.Translate(e.Hint), "%s: %s", s.nameOf(flag), e.Message())
	}
	return usagef("", "%s: %w", s.nameOf(flag), err)
}

// checkEndpoint checks that the value of --cdp-endpoint is a URL with a host, or a name. Errors do not
// contain the value: it gives access to the browser.
func (s *settings) checkEndpoint() error {
	if s.cdpEndpoint == "" {
		return nil
	}
	if err := checkEndpointURL(s.cdpEndpoint); err != nil {
		return usagef("Write it as http://127.0.0.1:9222, as a ws:// URL, or as "+list(chromium.RunningNames(), "or")+".", "%s: %w", s.nameOf("cdp-endpoint"), err)
	}
	return nil
}

// checkEndpointURL returns what is wrong with the URL of an endpoint, or nil. It can be the name of a
// running browser instead.
func checkEndpointURL(endpoint string) error {
	if chromium.IsRunningName(endpoint) {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Scheme == "":
		return errors.New("not a URL")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ws" && u.Scheme != "wss":
		return fmt.Errorf("unsupported scheme %q", u.Scheme)
	case u.Hostname() == "":
		return errors.New("no host")
	}
	return nil
}

// checkData checks that the data directory exists or can be created.
func (s *settings) checkData() error {
	const hint = "Choose another directory with --data."
	name := s.nameOf("data")
	if !s.given("data") {
		name = "data directory"
		if home := filepath.Dir(s.data); !exists(home) {
			return usagef("Set --data, or correct the variable HOME.",
				"%s %s cannot be created: home directory %s does not exist", name, s.data, home)
		}
	}
	info, err := os.Stat(s.data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := checkCreatable(s.data); err != nil {
			return usagef(hint, "%s: %s cannot be created: %w", name, s.data, err)
		}
		return nil
	case err != nil:
		return usagef(hint, "%s: %w", name, err)
	case !info.IsDir():
		return usagef("Move it, or choose another directory with --data.", "%s: %s is not a directory", name, s.data)
	}
	if err := writable(s.data); err != nil {
		return usagef("Make it writable for you, or choose another directory with --data.", "%s: %w", name, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
		if err := writable(parent); err != nil {
			return err
		}
		trial, err := os.MkdirTemp(parent, ".chrome-mcp-")
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			return &fs.PathError{Op: "create a directory in", Path: parent, Err: e.Err}
		}
		return errors.Join(err, os.Remove(trial))
	}
}

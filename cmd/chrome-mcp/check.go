package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

// check looks whether what the flags name is there, so that a mistake ends the
// start, where its user sees it, and not the first call of an agent's, who
// cannot mend it. It leaves everything as it is, starts nothing and dials
// nowhere.
func (s *settings) check() error {
	if err := s.checkEndpoint(); err != nil {
		return err
	}
	if s.browser != "" {
		if _, err := chromium.Find(s.browser); err != nil {
			return s.fault("browser", err)
		}
	}
	if s.cdpEndpoint == "" || s.given("data") { // else it is for downloads at most
		if err := s.checkData(); err != nil {
			return err
		}
	}
	return nil
}

// fault returns err, about the value of a flag, as a *usageError.
func (s *settings) fault(flag string, err error) error {
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return usagef(e.Hint, "%s: %s", s.named(flag), e.Message())
	}
	return usagef("", "%s: %w", s.named(flag), err)
}

// checkEndpoint wants the address of --cdp-endpoint to be one. The error does
// not repeat it: whoever has it has the browser.
func (s *settings) checkEndpoint() error {
	if s.cdpEndpoint == "" {
		return nil
	}
	const hint = "Give it as http://127.0.0.1:9222 or as a ws:// URL."
	u, err := url.Parse(s.cdpEndpoint)
	switch {
	case err != nil || u.Scheme == "":
		return usagef(hint, "%s is not a URL", s.named("cdp-endpoint"))
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ws" && u.Scheme != "wss":
		return usagef(hint, "%s: its scheme is %q", s.named("cdp-endpoint"), u.Scheme)
	case u.Hostname() == "":
		return usagef(hint, "%s has no host", s.named("cdp-endpoint"))
	}
	return nil
}

// checkData wants the data folder to be there, or to be one that can be made.
func (s *settings) checkData() error {
	const another = "Name another folder with --data."
	name, hint := s.named("data"), another
	if !s.given("data") {
		name = "the data folder"
		if home := filepath.Dir(s.data); !exists(home) {
			return usagef("Name a folder with --data, or correct the variable HOME.",
				"%s %s cannot be made: there is no home folder %s", name, s.data, home)
		}
	}
	info, err := os.Stat(s.data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := canMake(s.data); err != nil {
			return usagef(hint, "%s: %s cannot be made: %w", name, s.data, err)
		}
		return nil
	case err != nil:
		return usagef(hint, "%s: %w", name, err)
	case !info.IsDir():
		return usagef("Move it away, or name another folder with --data.", "%s: %s is not a folder", name, s.data)
	}
	if err := writable(s.data); err != nil {
		return usagef("Make it yours, or name another folder with --data.", "%s: %w", name, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// canMake reports why a folder that is not there cannot be made. It tries: root
// may write everywhere, and yet no folder can be made in /proc, nor where the
// disk can only be read.
func canMake(dir string) error {
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
			return fmt.Errorf("%s is not a folder", parent)
		}
		if err := writable(parent); err != nil {
			return err
		}
		trial, err := os.MkdirTemp(parent, ".chrome-mcp-")
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			return &fs.PathError{Op: "make a folder in", Path: parent, Err: e.Err}
		}
		return errors.Join(err, os.Remove(trial))
	}
}

// argumentHint says what to do about a word that is neither a flag nor a
// command: the value of a yes-or-no flag needs a =.
func argumentHint(args []string, word string) string {
	if word != "true" && word != "false" {
		return ""
	}
	for i := 1; i < len(args); i++ {
		if args[i] == word && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			return fmt.Sprintf("Write %s=%s.", args[i-1], word)
		}
	}
	return ""
}

// Own-chrome opens a page in the user's own Chrome, with the user's logins, and prints it as
// Markdown. It is a separate module, like any program that imports chrome-mcp.
//
// It needs the extension: run chrome-mcp extension install once, and load the directory that it
// prints in chrome://extensions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	backend "github.com/chrome-mcp/chrome-mcp/executor/extension"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

func main() {
	home, _ := os.UserHomeDir()
	data := flag.String("data", filepath.Join(home, ".chrome-mcp"), "data directory of chrome-mcp")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: own-chrome [-data DIR] URL")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	content, err := read(ctx, *data, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		var e *executor.Error
		if errors.As(err, &e) && e.Hint != "" {
			fmt.Fprintln(os.Stderr, "hint:", e.Hint)
		}
		os.Exit(1)
	}
	fmt.Println(content)
}

// read opens a URL in a new tab of the user's Chrome and returns the page as Markdown. The policy
// allows the site of the URL and nothing else.
func read(ctx context.Context, data, rawURL string) (content string, err error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", err
	}
	rules, err := policy.New(policy.Config{AllowDomains: []string{u.Scheme + "://" + u.Host}})
	if err != nil {
		return "", err
	}
	guard := policy.NewGuard(rules, nil)

	// The extension connects to the server and enforces the policy in the browser.
	server, err := bridge.New(bridge.Options{
		DataDir:     data,
		ExtensionID: extension.ID(),
		Name:        "own-chrome",
		Policy: func() bridge.Policy {
			c := guard.Policy().Config()
			return bridge.Policy{Allow: c.AllowDomains, Subresources: string(c.Subresources), OwnPorts: c.OwnPorts}
		},
	})
	if err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	rules.AddOwnPort(server.Port()) // pages must not connect to the server
	server.PolicyChanged()

	browser := backend.New(backend.Options{Server: server, DataDir: data, Network: guard.Network()})
	defer func() { err = errors.Join(err, browser.Close()) }()
	if err := connected(ctx, browser); err != nil {
		return "", err
	}

	// The guard is the gate of the session, and wraps it.
	session, err := browser.NewSession(executor.SessionOptions{Gate: guard})
	if err != nil {
		return "", err
	}
	chrome := guard.Wrap(session)
	defer func() { err = errors.Join(err, chrome.Close()) }()
	page, _, err := chrome.NewPage(ctx, &executor.NewPageOptions{URL: rawURL})
	if err != nil {
		return "", err
	}
	text, err := page.Markdown(ctx, nil)
	if err != nil {
		return "", err
	}
	return text.Content, nil
}

// connected waits until the extension has connected.
func connected(ctx context.Context, browser *backend.Backend) error {
	for {
		changed := browser.Changed()
		if browser.Connected() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return browser.DisconnectedError()
		}
	}
}

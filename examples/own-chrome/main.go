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

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/ownchrome"
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
// allows the site of the URL and nothing else, and the extension enforces it as well.
func read(ctx context.Context, data, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	rules, err := policy.New(policy.Config{AllowDomains: []string{u.Scheme + "://" + u.Host}})
	if err != nil {
		return "", err
	}
	chrome, err := ownchrome.Open(ctx, &ownchrome.Options{Policy: rules, Name: "own-chrome", DataDir: data})
	if err != nil {
		return "", err
	}
	defer chrome.Close()
	page, _, err := chrome.NewPage(ctx, &executor.NewPageOptions{URL: address})
	if err != nil {
		return "", err
	}
	text, err := page.Markdown(ctx, nil)
	if err != nil {
		return "", err
	}
	return text.Content, nil
}

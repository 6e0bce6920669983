// Policy restricts a browser by a policy: the agent may read the shop of the demo, but may not buy
// anything or visit other sites.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

func main() {
	_, address, stop, err := shop.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	if err := run(context.Background(), address, os.Stdout); err != nil {
		log.Print(err)
	}
}

// run tries three operations and prints their results.
func run(ctx context.Context, address string, out io.Writer) error {
	rules, err := policy.New(policy.Config{AllowDomains: []string{address}})
	if err != nil {
		return err
	}
	guard := policy.NewGuard(rules, nil)
	browser, err := chromium.New(&chromium.Options{Isolated: true, NoSandbox: os.Geteuid() == 0})
	if err != nil {
		return err
	}
	defer browser.Close()

	// The guard is used twice: as the session's gate it checks each document access, and as a
	// wrapper of the session it checks each call.
	session, err := browser.NewSession(&executor.SessionOptions{Gate: guard})
	if err != nil {
		return err
	}
	chrome := guard.Wrap(session)

	page, tab, err := chrome.NewPage(ctx, &executor.NewPageOptions{URL: address})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "read: %s\n", tab.Title)

	_, err = page.Click(ctx, executor.Selector("text=Order this lamp"), nil)
	if !errors.Is(err, executor.ErrPolicyDenied) {
		return fmt.Errorf("click without the mutations grant: %w", err)
	}
	fmt.Fprintf(out, "click: %v\n", err)

	_, err = page.Navigate(ctx, "https://example.com/", nil)
	if !errors.Is(err, executor.ErrPolicyDenied) {
		return fmt.Errorf("navigation to another site: %w", err)
	}
	fmt.Fprintf(out, "other site: %v\n", err)
	return nil
}

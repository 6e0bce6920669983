// Policy holds a browser to rules: the agent may look at the demo's shop, and
// may neither buy anything nor go elsewhere.
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

// run tries three things and prints how each came out.
func run(ctx context.Context, address string, out io.Writer) error {
	rules, err := policy.New(policy.Config{AllowDomains: []string{address}})
	if err != nil {
		return err
	}
	guard := policy.NewGuard(rules, nil)
	browser := chromium.New(chromium.Options{Isolated: true, NoSandbox: os.Geteuid() == 0})
	defer browser.Close()

	// The guard is needed in two places: as the gate it sees each document
	// that is touched, around the session it sees what is asked for.
	session, err := browser.NewSession(executor.SessionOptions{Gate: guard})
	if err != nil {
		return err
	}
	chrome := guard.Wrap(session)

	page, err := chrome.Navigate(ctx, "", address, nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "looking: %s\n", page.Title)

	_, err = chrome.Click(ctx, "", executor.Target{Selector: "text=Order this lamp"}, nil)
	if !errors.Is(err, executor.ErrPolicyDenied) {
		return fmt.Errorf("clicking without the grant: %w", err)
	}
	fmt.Fprintf(out, "buying: %v\n", err)

	_, err = chrome.Navigate(ctx, "", "https://example.com/", nil)
	if !errors.Is(err, executor.ErrPolicyDenied) {
		return fmt.Errorf("leaving the shop: %w", err)
	}
	fmt.Fprintf(out, "leaving: %v\n", err)
	return nil
}

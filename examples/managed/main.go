// Managed lets a Manager select the backend. The Manager selects it for each call, so a program
// keeps one Executor even if browsers exit or connect.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
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

// run reads the shop's page.
func run(ctx context.Context, address string, out io.Writer) error {
	browser, err := chromium.New(&chromium.Options{Isolated: true, NoSandbox: os.Geteuid() == 0})
	if err != nil {
		return err
	}
	defer browser.Close()
	chrome := executor.NewManager(&executor.ManagerOptions{
		CDP:     browser,
		Prefer:  executor.BackendCDP,
		Session: executor.SessionOptions{Gate: executor.AllowAll},
	})
	defer chrome.Close()

	fmt.Fprintf(out, "before the first call: running: %v\n", chrome.Status(ctx).CDPAttached)
	page, _, err := chrome.NewPage(ctx, &executor.NewPageOptions{URL: address})
	if err != nil {
		return err
	}
	snapshot, err := page.Snapshot(ctx, &executor.SnapshotOptions{InteractiveOnly: true})
	if err != nil {
		return err
	}
	status := chrome.Status(ctx)
	fmt.Fprintf(out, "after it: running: %v, backend: %s\n%s\n", status.CDPAttached, status.Backend, snapshot.Text)
	return nil
}

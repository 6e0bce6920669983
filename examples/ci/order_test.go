// Package ci shows an end-to-end test of a web application. To use it, copy order_test.go next to
// your code, and e2e.yml to .github/workflows.
package ci

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

func TestOrder(t *testing.T) {
	_, address, stop, err := shop.Open() // replace with the application under test
	check(t, err)
	defer stop()
	chrome, ctx := browse(t), t.Context()

	page, _, err := chrome.NewPage(ctx, &executor.NewPageOptions{URL: address + "/order"})
	check(t, err)
	_, err = page.FillForm(ctx, []executor.Field{
		{Target: executor.Selector("[name=name]"), Value: "Ada Lovelace"},
		{Target: executor.Selector("[name=email]"), Value: "ada@example.com"},
		{Target: executor.Selector("[name=country]"), Value: "Norway"},
		{Target: executor.Selector("[name=date]"), Value: "2027-01-15"},
	}, &executor.FillOptions{Submit: executor.Selector("text=Place the order")})
	check(t, err)
	_, err = page.HandleDialog(ctx, &executor.DialogAnswer{Accept: true})
	check(t, err)
	_, err = page.WaitFor(ctx, &executor.WaitCondition{URL: address + "/receipt/*"})
	check(t, err)

	receipt, err := page.Text(ctx, nil)
	check(t, err)
	if !strings.Contains(receipt.Content, "Thank you, Ada Lovelace") {
		t.Errorf("the receipt reads:\n%s", receipt.Content)
	}
}

// browse returns a headless browser with a temporary profile, for one test. If the test fails, a
// screenshot and the outline of the active tab are saved as artifacts (go test -artifacts), in
// files named after the test.
func browse(t *testing.T) executor.Executor {
	t.Helper()
	userbrowser.Find(t)
	browser, err := chromium.New(&chromium.Options{Headless: new(true), Isolated: true, NoSandbox: os.Geteuid() == 0})
	check(t, err)
	t.Cleanup(func() { check(t, browser.Close()) })
	chrome, err := browser.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	check(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			keep(t, chrome)
		}
	})
	return chrome
}

// keep saves the screenshot and the outline of the active tab.
func keep(t *testing.T, chrome executor.Executor) {
	ctx, cancel := context.WithTimeout(context.Background(), executor.DefaultNavigateTimeout) // the context of the test is already canceled
	defer cancel()
	write := func(extension string, data []byte, err error) {
		name := strings.ReplaceAll(t.Name(), "/", "-") + extension
		if err == nil {
			err = os.WriteFile(filepath.Join(t.ArtifactDir(), name), data, 0o644)
		}
		if err != nil {
			t.Logf("saving %s: %v", name, err)
		}
	}
	page, err := chrome.Page(ctx, "")
	check(t, err)
	if dialog, err := page.HandleDialog(ctx, &executor.DialogAnswer{}); err == nil { // a dialog blocks the page
		t.Logf("dismissed the open %s: %q", dialog.Type, dialog.Message)
	}
	picture, err := page.Screenshot(ctx, nil)
	if err != nil {
		picture = new(executor.Screenshot)
	}
	write(".png", picture.Data, err)
	outline, err := page.Snapshot(ctx, nil)
	if err != nil {
		outline = new(executor.Snapshot)
	}
	write(".txt", []byte(outline.Text), err)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

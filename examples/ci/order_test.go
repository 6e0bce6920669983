// Package ci shows an end-to-end test of a web application: copy order_test.go
// beside your code, and e2e.yml into .github/workflows.
package ci

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

func TestOrder(t *testing.T) {
	_, address, stop, err := shop.Open() // what is tested; yours goes here
	check(t, err)
	defer stop()
	chrome, ctx := browse(t), t.Context()

	_, err = chrome.Navigate(ctx, "", address+"/order", nil) // "" is the active tab
	check(t, err)
	_, err = chrome.FillForm(ctx, "", []executor.Field{
		{Target: element("[name=name]"), Value: "Ada Lovelace"},
		{Target: element("[name=email]"), Value: "ada@example.com"},
		{Target: element("[name=country]"), Value: "Norway"},
		{Target: element("[name=date]"), Value: "2027-01-15"},
	}, &executor.FillOptions{Submit: element("text=Place the order")})
	check(t, err)
	_, err = chrome.HandleDialog(ctx, "", executor.DialogAnswer{Accept: true})
	check(t, err)
	_, err = chrome.WaitFor(ctx, "", executor.WaitCondition{URL: address + "/receipt/*"})
	check(t, err)

	receipt, err := chrome.Text(ctx, "", nil)
	check(t, err)
	if !strings.Contains(receipt.Text, "Thank you, Ada Lovelace") {
		t.Errorf("the receipt reads:\n%s", receipt.Text)
	}
}

// browse returns a headless browser with a profile of its own, for one test.
// When the test fails, a picture and the outline of its active tab are kept
// where go test -artifacts puts them, in files that are named for the test.
func browse(t *testing.T) executor.Executor {
	t.Helper()
	if _, err := chromium.Find(""); err != nil && os.Getenv("CI") == "" {
		t.Skip(err) // a laptop without a browser; CI must have one
	}
	browser := chromium.New(chromium.Options{Headless: new(true), Isolated: true, NoSandbox: os.Geteuid() == 0})
	t.Cleanup(func() { check(t, browser.Close()) })
	chrome, err := browser.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
	check(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			keep(t, chrome)
		}
	})
	return chrome
}

// keep writes down what the active tab looks like.
func keep(t *testing.T, chrome executor.Executor) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // that of the test has ended
	defer cancel()
	write := func(extension string, data []byte, err error) {
		name := strings.ReplaceAll(t.Name(), "/", "-") + extension
		if err == nil {
			err = os.WriteFile(filepath.Join(t.ArtifactDir(), name), data, 0o644)
		}
		if err != nil {
			t.Logf("%s is not kept: %v", name, err)
		}
	}
	if dialog, err := chrome.HandleDialog(ctx, "", executor.DialogAnswer{}); err == nil { // it hides the page
		t.Logf("dismissed the open %s: %q", dialog.Type, dialog.Message)
	}
	picture, err := chrome.Screenshot(ctx, "", nil)
	if err != nil {
		picture = new(executor.Screenshot)
	}
	write(".png", picture.Data, err)
	outline, err := chrome.Snapshot(ctx, "", nil)
	if err != nil {
		outline = new(executor.Snapshot)
	}
	write(".txt", []byte(outline.Text), err)
}

func element(selector string) executor.Target { return executor.Target{Selector: selector} }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package chromium_test

import (
	"context"
	"fmt"
	"log"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

// This program saves a screenshot of a page in a headless browser with a temporary profile.
func ExampleNew() {
	ctx := context.Background()
	browser, err := chromium.New(&chromium.Options{Headless: new(true), Isolated: true})
	if err != nil {
		log.Fatal(err)
	}
	defer browser.Close()
	chrome, err := browser.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		log.Fatal(err)
	}
	page, _, err := chrome.NewPage(ctx, &executor.NewPageOptions{URL: "https://example.com"})
	if err != nil {
		log.Fatal(err)
	}
	shot, err := page.Screenshot(ctx, &executor.ScreenshotOptions{FullPage: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(shot.Width, shot.Height)
}

// The backend starts no browser before the first call that needs one.
func ExampleBackend_Status() {
	browser, err := chromium.New(&chromium.Options{Isolated: true})
	if err != nil {
		log.Fatal(err)
	}
	defer browser.Close()
	fmt.Println(browser.Status(context.Background()).CDPAttached)
	// Output: false
}

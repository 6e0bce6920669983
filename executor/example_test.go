package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

// This program launches a browser, follows a link and prints the page. A program that does not
// trust the pages should use a policy instead of AllowAll.
func Example() {
	ctx := context.Background()
	browser, err := chromium.New(&chromium.Options{Isolated: true})
	if err != nil {
		log.Fatal(err)
	}
	defer browser.Close()
	chrome, err := browser.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		log.Fatal(err)
	}
	page, tab, err := chrome.NewPage(ctx, &executor.NewPageOptions{URL: "https://example.com"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tab.Title)
	if _, err := page.Click(ctx, executor.Selector("text=More information"), nil); err != nil {
		log.Fatal(err)
	}
	text, err := page.Markdown(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text.Content)
}

// An error has a code, and often a hint that says what to do next.
func ExampleError() {
	_, err := executor.ParseRef("button-3")
	fmt.Println(errors.Is(err, executor.ErrBadArgs))
	if e, ok := errors.AsType[*executor.Error](err); ok {
		fmt.Println(e.Message())
		fmt.Println(e.Hint)
	}
	// Output:
	// true
	// ref "button-3" is not a ref
	// Refs look like e12 and come from snapshot.
}

// A Manager without an available backend says what is missing.
func ExampleManager() {
	chrome := executor.NewManager(&executor.ManagerOptions{})
	defer chrome.Close()
	_, err := chrome.Page(context.Background(), "")
	fmt.Println(executor.CodeOf(err))
	fmt.Println(err)
	// Output:
	// NO_BACKEND
	// page: no browser is available: no extension backend configured
}

// Embed drives a browser from Go, without MCP: it orders a lamp in the shop of the demo and prints
// the receipt.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

func main() {
	_, address, stop, err := shop.Open()
	if err != nil {
		panic(err)
	}
	defer stop()
	fmt.Println(order(context.Background(), address))
}

// order orders a lamp in the shop at address and returns the receipt.
func order(ctx context.Context, address string) (receipt string) {
	browser := must(chromium.New(&chromium.Options{Isolated: true, NoSandbox: os.Geteuid() == 0}))
	defer browser.Close()
	chrome := must(browser.NewSession(&executor.SessionOptions{Gate: executor.AllowAll}))

	must(chrome.Navigate(ctx, address+"/order", nil))
	page := must(chrome.Page(ctx, "")) // "" is the active tab
	must(page.FillForm(ctx, []executor.Field{
		{Target: executor.Selector("[name=name]"), Value: "Ada Lovelace"},
		{Target: executor.Selector("[name=email]"), Value: "ada@example.com"},
		{Target: executor.Selector("[name=country]"), Value: "Norway"},
		{Target: executor.Selector("[name=date]"), Value: "2027-01-15"},
		{Target: executor.Selector("[name=gift]"), Value: true},
	}, &executor.FillOptions{Submit: executor.Selector("text=Place the order")}))
	must(page.HandleDialog(ctx, &executor.DialogAnswer{Accept: true}))
	must(page.WaitFor(ctx, &executor.WaitCondition{Text: "Thank you"}))
	return must(page.Markdown(ctx, nil)).Content
}

// must returns v and panics on an error. A longer program would return the error instead: each is
// an *executor.Error, with a code and a hint.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

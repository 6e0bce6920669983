// Chromedp opens a page in the browser of a running chrome-mcp, and prints its title:
//
//	go run ./examples/chromedp "$(chrome-mcp cdp-url --ws)" https://example.com/
//
// chrome-mcp needs --cdp-listen 127.0.0.1:0, --unsafe-enable-eval and --allow-domain example.com.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: chromedp WEBSOCKET-URL URL")
		os.Exit(2)
	}
	if !strings.HasPrefix(os.Args[1], "ws") {
		fmt.Fprintln(os.Stderr, "the first argument is not the URL of a WebSocket: use chrome-mcp cdp-url --ws")
		os.Exit(2)
	}
	title, err := pageTitle(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(title)
}

// pageTitle returns the title of the page at url. endpoint is the URL of the browser's WebSocket.
func pageTitle(endpoint, url string) (string, error) {
	ctx, cancel := remote.NewAllocator(context.Background(), endpoint, remote.NoModifyURL)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx) // a new tab, which is closed at the end
	defer cancel()
	if err := chromedp.Do(ctx); err != nil { // opens the tab, which closes when this ctx is done
		return "", err
	}
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return "", err
	}
	return chromedp.Run(ctx, chromedp.Title())
}

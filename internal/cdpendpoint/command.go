package cdpendpoint

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/relay"
)

// Command returns the command cdp-url.
func Command(s *cli.Settings) *cobra.Command {
	var webSocket, all bool
	cmd := &cobra.Command{
		Use:   "cdp-url [--ws] [--all]",
		Short: "print the URL for CDP clients such as Playwright",
		Long: `Prints the URL for CDP clients of the running chrome-mcp with --cdp-listen, or of the
one started last: for connectOverCDP of Playwright, or with --ws for Puppeteer and
chromedp. Every program that knows the URL can use the browser. It is valid until that
chrome-mcp exits.`,
		Args: s.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printURL(s, webSocket, all, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&webSocket, "ws", false, "with cdp-url: print the URL of the browser's WebSocket, for Puppeteer and chromedp")
	cmd.Flags().BoolVar(&all, "all", false, "with cdp-url: print one URL for each running chrome-mcp with --cdp-listen, the newest first")
	return cmd
}

// printURL prints the URLs of the running endpoints of the data directory, or of the newest one.
func printURL(s *cli.Settings, webSocket, all bool, stdout io.Writer) error {
	endpoints := Running(s.Data)
	if len(endpoints) == 0 {
		return errNotRunning()
	}
	if !all {
		endpoints = endpoints[:1]
	}
	for _, e := range endpoints {
		url := e.URL
		if webSocket {
			url = relay.WebSocketURL(url)
		}
		if _, err := fmt.Fprintln(stdout, url); err != nil {
			return err
		}
	}
	return nil
}

func errNotRunning() error {
	return executor.Errorf(executor.ErrNoBackend,
		"Start it with --cdp-listen 127.0.0.1:0, --unsafe-enable-eval and the same --data. For a server with --listen and --cdp-clients, the URL is its address.", "no chrome-mcp with --cdp-listen is running")
}

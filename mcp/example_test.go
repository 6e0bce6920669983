package mcp_test

import (
	"context"
	"log"
	"os"
	"os/signal"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// browser represents an Executor that a backend's NewSession returned.
var browser executor.Executor

// The program serves the tools on its standard input and output until its host closes them.
func ExampleServer_ServeStdio() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := mcp.NewServer(browser, &mcp.Options{Version: "1.0.0"})
	if err := server.ServeStdio(ctx); err != nil {
		log.Fatal(err)
	}
}

package extension_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	backend "github.com/chrome-mcp/chrome-mcp/executor/extension"
	"github.com/chrome-mcp/chrome-mcp/extension"
)

// Until the extension connects, the backend reports what the user can do. examples/own-chrome is a
// complete program.
func ExampleNew() {
	data, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(data)
	server, err := bridge.New(&bridge.Options{DataDir: data, ExtensionID: extension.ID(), Port: bridge.AnyPort})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	chrome, err := backend.New(&backend.Options{Server: server, DataDir: data})
	if err != nil {
		log.Fatal(err)
	}
	defer chrome.Close()

	fmt.Println(chrome.Connected())
	fmt.Println(errors.Is(chrome.DisconnectedError(), executor.ErrNoBackend))
	// Output:
	// false
	// true
}

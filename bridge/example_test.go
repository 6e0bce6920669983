package bridge_test

import (
	"fmt"
	"log"
	"os"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
)

// This program listens for the extension until it is terminated. executor/extension uses the server
// as the backend of an executor.
func ExampleNew() {
	data, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(data)
	server, err := bridge.New(&bridge.Options{
		DataDir:     data,
		ExtensionID: extension.ID(),
		Port:        bridge.AnyPort,
		Name:        "example",
		Policy:      func() bridge.Policy { return bridge.Policy{Allow: []string{"example.com"}} },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	fmt.Println("listens:", server.Port() != 0)
	fmt.Println("connected:", len(server.Connections()))
	// Output:
	// listens: true
	// connected: 0
}

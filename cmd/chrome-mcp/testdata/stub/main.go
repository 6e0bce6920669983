// Stub answers initialize and nothing else: the floor that BenchmarkStart
// compares with.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct{ ID *json.RawMessage }
		if json.Unmarshal(in.Bytes(), &m) == nil && m.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"stub","version":"0"}}}`+"\n", *m.ID)
		}
	}
}

// Command agent is the agent of package acpagent, for tests that need a program.
package main

import (
	"os"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/acpagent"
)

func main() { acpagent.Main(os.Args[1:]) }

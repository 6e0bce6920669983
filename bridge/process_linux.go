package bridge

import "github.com/chrome-mcp/chrome-mcp/internal/processid"

// identity returns what no other process with this number has, whatever the
// clock is set to.
func identity(pid int) (string, error) { return processid.Of(pid) }

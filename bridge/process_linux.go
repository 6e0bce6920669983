package bridge

import "github.com/chrome-mcp/chrome-mcp/internal/processid"

// identity returns a string that distinguishes a process from all others with the same PID. It does
// not depend on the clock.
func identity(pid int) (string, error) { return processid.Of(pid) }

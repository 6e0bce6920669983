package bridge

import "github.com/chrome-mcp/chrome-mcp/internal/wire"

// Policy is the part of a policy that the extension enforces in the tabs that the server drives.
// Patterns have the syntax of package policy. The zero value allows nothing.
type Policy struct {
	Allow        []string // patterns of allowed sites
	Block        []string // patterns of blocked hosts; they override Allow
	Subresources string   // hosts that pages may load resources from: "public", "same" or "list"; default "same"
	Resources    []string // patterns of further hosts for "list"
	Private      []string // CIDRs of private addresses that pages may reach
	UnsafeAll    bool     // allow all public hosts
	OwnPorts     []int    // ports of this program, which pages may not reach on this machine
}

// policy returns the current policy for the extension.
func (s *Server) policy() wire.Policy {
	if s.opts.Policy == nil {
		return wire.Policy{}
	}
	return wire.Policy(s.opts.Policy())
}

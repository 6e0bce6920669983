package wire

import "encoding/json"

// Policy is what the extension enforces in the tabs that this server drives.
// Patterns have the syntax of package policy. Its zero value allows nothing.
type Policy struct {
	Allow        []string `json:"allow"`        // patterns: where the agent may go
	Block        []string `json:"block"`        // patterns: where it may not, whatever allow says
	Subresources string   `json:"subresources"` // what pages may load: public, same or list
	Resources    []string `json:"resources"`    // patterns: what else pages may load with list
	Private      []string `json:"private"`      // CIDRs of private addresses that are open
	UnsafeAll    bool     `json:"unsafeAll"`    // every public host is allowed
	OwnPorts     []int    `json:"ownPorts"`     // loopback ports of the server itself, always closed
}

// MarshalJSON writes empty lists as [], never as null.
func (p Policy) MarshalJSON() ([]byte, error) {
	type plain Policy
	if p.Subresources == "" {
		p.Subresources = "same"
	}
	for _, list := range []*[]string{&p.Allow, &p.Block, &p.Resources, &p.Private} {
		if *list == nil {
			*list = []string{}
		}
	}
	if p.OwnPorts == nil {
		p.OwnPorts = []int{}
	}
	return json.Marshal(plain(p))
}

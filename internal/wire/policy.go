package wire

import "encoding/json"

// Policy is the policy that the extension enforces in the tabs that this server drives. Patterns
// have the syntax of package policy. The zero value allows nothing.
type Policy struct {
	Allow        []string `json:"allow"`        // patterns of allowed hosts
	Block        []string `json:"block"`        // patterns of denied hosts; override allow
	Subresources string   `json:"subresources"` // tier of subresources that pages may load: public, same or list
	Resources    []string `json:"resources"`    // patterns of additional hosts that pages may load subresources from with list
	Private      []string `json:"private"`      // CIDRs of allowed private addresses
	UnsafeAll    bool     `json:"unsafeAll"`    // whether all public hosts are allowed
	OwnPorts     []int    `json:"ownPorts"`     // ports of the server itself, denied at loopback names and at all addresses
}

// MarshalJSON encodes nil lists as [], and empty Subresources as "same".
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

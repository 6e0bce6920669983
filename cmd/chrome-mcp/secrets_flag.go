package main

import (
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

// secretNames is the value of --secrets. The zero value means all secrets.
type secretNames struct {
	names []string // nil means all
	none  bool
}

func (n *secretNames) String() string {
	switch {
	case n.none:
		return "none"
	case n.names == nil:
		return "all"
	}
	return strings.Join(n.names, ",")
}

func (n *secretNames) Type() string { return "names" }

func (n *secretNames) Set(value string) error {
	set := secretNames{}
	switch value {
	case "all":
	case "none":
		set.none = true
	default:
		for name := range strings.SplitSeq(value, ",") {
			name = strings.TrimSpace(name)
			if err := secrets.CheckName(name); err != nil {
				return err
			}
			set.names = append(set.names, name)
		}
		slices.Sort(set.names)
		set.names = slices.Compact(set.names)
	}
	*n = set
	return nil
}

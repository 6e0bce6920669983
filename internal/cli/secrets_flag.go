package cli

import (
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

// secretNames is the value of --secrets. The zero value means all secrets.
type secretNames struct {
	Names []string // nil means all
	None  bool
}

func (n *secretNames) String() string {
	switch {
	case n.None:
		return "none"
	case n.Names == nil:
		return "all"
	}
	return strings.Join(n.Names, ",")
}

func (n *secretNames) Type() string { return "names" }

func (n *secretNames) Set(value string) error {
	set := secretNames{}
	switch value {
	case "all":
	case "none":
		set.None = true
	default:
		for name := range strings.SplitSeq(value, ",") {
			name = strings.TrimSpace(name)
			if err := secrets.CheckName(name); err != nil {
				return err
			}
			set.Names = append(set.Names, name)
		}
		slices.Sort(set.Names)
		set.Names = slices.Compact(set.Names)
	}
	*n = set
	return nil
}

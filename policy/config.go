package policy

import (
	"cmp"
	"fmt"
	"slices"
)

// Subresources says what the pages that are allowed may load.
type Subresources string

// The tiers. Private addresses are refused in all of them.
const (
	SubresourcesPublic Subresources = "public" // any public host that is not blocked
	SubresourcesSame   Subresources = "same"   // what AllowDomains allows
	SubresourcesList   Subresources = "list"   // that, and SubresourceDomains
)

// strictness orders the tiers for [Config.Merge].
var strictness = []Subresources{SubresourcesSame, SubresourcesList, SubresourcesPublic}

// A Config is what a [Policy] is made of. Its zero value denies everything.
type Config struct {
	AllowDomains []string // patterns: where the agent may go, read and act
	BlockDomains []string // patterns: where nothing may go; beats everything that allows
	AllDomains   bool     // every public host, without a list

	Mutations bool // clicking, typing and whatever else changes pages
	Eval      bool // running the caller's JavaScript and raw protocol commands
	Downloads bool // saving files
	Storage   bool // reading the values of cookies and stored items, and changing those
	// StateDir is the folder of state files, which is the grant for saving and
	// loading them; empty means none.
	StateDir string
	// UploadsDir is the folder whose files pages may be given, which is the
	// grant for it; empty means none.
	UploadsDir string

	// Subresources is what pages may load; empty means SubresourcesPublic, or
	// SubresourcesSame with Eval, since a script can carry data out in the
	// URL of an image.
	Subresources Subresources
	// SubresourceDomains are the patterns of SubresourcesList, and an error
	// without it.
	SubresourceDomains []string

	// AllowPrivate are the ranges (CIDR) of private addresses that hosts in
	// the allow list may resolve to. Loopback hosts that a pattern names need
	// no entry. Cloud metadata addresses are never opened.
	AllowPrivate []string
	// OwnPorts are loopback ports that belong to this program, which no
	// pattern opens. [Policy.AddOwnPort] adds more later.
	OwnPorts []int
}

// Merge returns what c and other say together: lists are joined, a grant in
// either is a grant, of two folders of one kind other's counts, and of two tiers of Subresources the stricter one holds.
// What either blocks stays blocked.
func (c Config) Merge(other Config) Config {
	c.AllowDomains = join(c.AllowDomains, other.AllowDomains)
	c.BlockDomains = join(c.BlockDomains, other.BlockDomains)
	c.SubresourceDomains = join(c.SubresourceDomains, other.SubresourceDomains)
	c.AllowPrivate = join(c.AllowPrivate, other.AllowPrivate)
	c.OwnPorts = join(c.OwnPorts, other.OwnPorts)
	c.AllDomains = c.AllDomains || other.AllDomains
	c.Mutations = c.Mutations || other.Mutations
	c.Eval = c.Eval || other.Eval
	c.Downloads = c.Downloads || other.Downloads
	c.Storage = c.Storage || other.Storage
	c.StateDir = cmp.Or(other.StateDir, c.StateDir)
	c.UploadsDir = cmp.Or(other.UploadsDir, c.UploadsDir)
	hadList := c.Subresources == SubresourcesList || other.Subresources == SubresourcesList
	c.Subresources = stricter(c.Subresources, other.Subresources)
	if hadList && c.Subresources == SubresourcesSame {
		c.SubresourceDomains = nil // the stricter tier has no use for them
	}
	return c
}

// join returns the union in the order of first appearance.
func join[T comparable](a, b []T) []T {
	var out []T
	for _, list := range [][]T{a, b} {
		for _, v := range list {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

func stricter(a, b Subresources) Subresources {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	// An unknown tier has index -1 and so survives, for New to refuse.
	if slices.Index(strictness, a) <= slices.Index(strictness, b) {
		return a
	}
	return b
}

func (s Subresources) validate() error {
	if s != "" && !slices.Contains(strictness, s) {
		return fmt.Errorf("%q is none of public, same, list", string(s))
	}
	return nil
}

package policy

import (
	"cmp"
	"fmt"
	"slices"
)

// Subresources is a tier: what allowed pages may load.
type Subresources string

// The tiers. All of them deny private addresses.
const (
	SubresourcesPublic Subresources = "public" // any public host that is not blocked
	SubresourcesSame   Subresources = "same"   // hosts that AllowDomains allows
	SubresourcesList   Subresources = "list"   // hosts that AllowDomains or SubresourceDomains allows
)

// strictness lists the tiers, strictest first, for [Config.Merge].
var strictness = []Subresources{SubresourcesSame, SubresourcesList, SubresourcesPublic}

// A Config is the configuration of a [Policy]. Its zero value denies everything.
type Config struct {
	AllowDomains []string // patterns: sites that the agent may navigate to, read and act on
	BlockDomains []string // patterns: sites that are denied; overrides everything that allows
	AllDomains   bool     // allows every public host

	Mutations bool // allows clicking, typing and other actions that change pages
	Eval      bool // allows the caller's JavaScript and raw CDP commands
	Downloads bool // allows saving files
	Clipboard bool // allows copying, cutting and pasting with the clipboard of the user's desktop
	Storage   bool // allows changing cookies and web storage, and reading their values
	// StateDir is the directory of state files. If it is set, saving and loading them is allowed.
	StateDir string
	// UploadsDir is the directory whose files may be uploaded to pages. If it is set, uploads are
	// allowed.
	UploadsDir string

	// Subresources is what pages may load. Empty means SubresourcesPublic, or SubresourcesSame if
	// Eval is set, because a script can send data out in the URL of an image.
	Subresources Subresources
	// SubresourceDomains are the patterns of SubresourcesList. With another tier they are an error.
	SubresourceDomains []string

	// AllowPrivate lists the ranges (CIDR) of private addresses that hosts in the allow list may
	// resolve to. Loopback hosts that a pattern names need no entry. Cloud metadata addresses are
	// always denied.
	AllowPrivate []string
	// OwnPorts are ports of this machine that belong to this program. No pattern allows them.
	// [Policy.AddOwnPort] adds more later.
	OwnPorts []int
}

// Merge combines c and other: lists are joined, a grant in either is a grant, directories of other
// replace those of c, and the stricter tier of Subresources applies. A host that either blocks
// stays blocked.
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
	c.Clipboard = c.Clipboard || other.Clipboard
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

// join returns the union of a and b in the order of first appearance.
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
	// An unknown tier has index -1, so it is returned, and New rejects it.
	if slices.Index(strictness, a) <= slices.Index(strictness, b) {
		return a
	}
	return b
}

func (s Subresources) validate() error {
	if s != "" && !slices.Contains(strictness, s) {
		return fmt.Errorf("%q is not one of public, same, list", string(s))
	}
	return nil
}

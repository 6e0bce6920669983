package cdpshare

import "slices"

// Kinds of targets, as CDP names them. The other kinds are those of frames and workers.
const (
	BrowserTarget = "browser"
	TabTarget     = "tab"
	PageTarget    = "page"
)

// A TargetFilter selects targets by their type. The first entry that matches decides.
type TargetFilter []struct {
	Type    string `json:"type"`
	Exclude bool   `json:"exclude"`
}

// Matches reports whether the filter selects targets of a kind. A nil filter selects all but the
// browser and tabs.
func (f TargetFilter) Matches(kind string) bool {
	if f == nil {
		return kind != BrowserTarget && kind != TabTarget
	}
	for _, e := range f {
		if e.Type == "" || e.Type == kind {
			return !e.Exclude
		}
	}
	return false
}

// TabKinds returns the kinds of the targets of a tab that the filter selects.
func (f TargetFilter) TabKinds() []string {
	return slices.DeleteFunc([]string{TabTarget, PageTarget}, func(kind string) bool { return !f.Matches(kind) })
}

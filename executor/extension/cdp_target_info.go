package extension

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// Fixed ids of the only browser context and of the browser target. Clients only compare them.
const (
	defaultContextID = "D0000000000000000000000000000001"
	browserTargetID  = "B0000000000000000000000000000001"
)

// Kinds of targets, as CDP names them. The other kinds are those of frames and workers.
const (
	browserTarget = "browser"
	tabTarget     = "tab"
	pageTarget    = "page"
)

// A targetFilter selects targets by their type. The first entry that matches decides.
type targetFilter []struct {
	Type    string `json:"type"`
	Exclude bool   `json:"exclude"`
}

// matches reports whether the filter selects targets of a kind. A nil filter selects all but the
// browser and tabs.
func (f targetFilter) matches(kind string) bool {
	if f == nil {
		return kind != browserTarget && kind != tabTarget
	}
	for _, e := range f {
		if e.Type == "" || e.Type == kind {
			return !e.Exclude
		}
	}
	return false
}

// tabKinds returns the kinds of the targets of a tab that the filter selects.
func (f targetFilter) tabKinds() []string {
	return slices.DeleteFunc([]string{tabTarget, pageTarget}, func(kind string) bool { return !f.matches(kind) })
}

// targetInfo is Target.TargetInfo.
type targetInfo struct {
	TargetID         string `json:"targetId"`
	Type             string `json:"type"`
	Title            string `json:"title"`
	URL              string `json:"url"`
	Attached         bool   `json:"attached"`
	OpenerID         string `json:"openerId,omitempty"`
	CanAccessOpener  bool   `json:"canAccessOpener"`
	BrowserContextID string `json:"browserContextId,omitempty"`
}

var browserInfo = targetInfo{TargetID: browserTargetID, Type: browserTarget, Attached: true}

// tabTargetID returns the id of the target of a tab that contains a page.
func tabTargetID(page string) string {
	sum := sha256.Sum256([]byte("tab " + page))
	return fmt.Sprintf("%X", sum[:16])
}

// infoOf describes a tab, or its page, to a client. hub.mu must be held.
func (c *cdpClient) infoOf(t *cdpTab, kind string) targetInfo {
	info := targetInfo{
		TargetID: t.info.TargetID, Type: kind, Title: t.info.Title, URL: t.url(), BrowserContextID: defaultContextID,
	}
	if kind == tabTarget {
		info.TargetID = tabTargetID(info.TargetID)
	} else if opener := c.hub.tabOf(t.in, t.info.OpenerTabID); opener != nil {
		info.OpenerID = opener.info.TargetID
	}
	for _, s := range c.sessions {
		info.Attached = info.Attached || s.tab == t && s.kind == kind
	}
	return info
}

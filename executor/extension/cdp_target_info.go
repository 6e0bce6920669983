package extension

import (
	"crypto/sha256"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
)

// Fixed ids of the only browser context and of the browser target. Clients only compare them.
const (
	defaultContextID = "D0000000000000000000000000000001"
	browserTargetID  = "B0000000000000000000000000000001"
)

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

var browserInfo = targetInfo{TargetID: browserTargetID, Type: cdpshare.BrowserTarget, Attached: true}

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
	if kind == cdpshare.TabTarget {
		info.TargetID = tabTargetID(info.TargetID)
	} else if opener := c.hub.tabOf(t.in, t.info.OpenerTabID); opener != nil {
		info.OpenerID = opener.info.TargetID
	}
	for _, s := range c.sessions {
		info.Attached = info.Attached || s.tab == t && s.kind == kind
	}
	return info
}

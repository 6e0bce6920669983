package extension

import (
	"strconv"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// record passes an entry to Options.Audit.
func (b *Backend) record(e audit.Entry) {
	if b.opts.Audit != nil {
		e.Backend = string(executor.BackendExtension)
		b.opts.Audit.Record(e)
	}
}

// recordConsent records the user's answer to whether scripts may run on a site. client is the name of
// the CDP client that needs it, or empty for a tool.
func (b *Backend) recordConsent(tab executor.TabID, client, origin string, granted bool) {
	e := audit.Entry{
		Event: audit.EventConsent, Client: client, Tool: "eval", Tab: string(tab), Origin: audit.Origin(origin),
		Decision: audit.Allowed, Rule: ruleUser,
	}
	if !granted {
		e.Decision = audit.Denied
	}
	b.record(e)
}

// recordShared records that the user shared a tab, or that it is no longer shared. in.mu must be
// held.
func (in *installation) recordShared(t *tab, decision, rule, detail string) {
	if t.info.Own || t.shareSequence == 0 {
		return // opened by us or by a page
	}
	in.backend.record(audit.Entry{
		Event: audit.EventConsent, Tool: "share", Tab: string(in.tabID(t)), Origin: audit.Origin(t.info.URL),
		Decision: decision, Rule: rule, Detail: detail,
	})
}

// tabID returns the id of a tab for clients.
func (in *installation) tabID(t *tab) executor.TabID {
	return executor.NewTabID("ext", in.id, strconv.Itoa(t.index))
}

// ruleUser is the audit rule of a decision of the user.
const ruleUser = "user"

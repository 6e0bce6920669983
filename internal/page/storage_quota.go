package page

import (
	"context"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// maxQuotaOrigins bounds the origins whose quota a tab remembers.
const maxQuotaOrigins = 1000

// limitStorage limits what the origin of a new document may store, to Options.StorageQuota. It does
// not wait for the browser. Only consumeEvents may call it.
func (t *Tab) limitStorage(s *cdpconn.Session, origin string) {
	if t.opts.StorageQuota == 0 || !strings.HasPrefix(origin, "http") || t.quotaOrigins[origin] {
		return
	}
	if t.quotaOrigins == nil || len(t.quotaOrigins) == maxQuotaOrigins {
		t.quotaOrigins = make(map[string]bool)
	}
	t.quotaOrigins[origin] = true
	t.wg.Go(func() {
		_ = s.Call(context.Background(), "Storage.overrideQuotaForOrigin", map[string]any{"origin": origin, "quotaSize": t.opts.StorageQuota}, nil)
	})
}

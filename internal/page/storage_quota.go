package page

import (
	"context"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// maxQuotaOrigins bounds the origins whose quota a tab remembers.
const maxQuotaOrigins = 1000

// A storageQuota is how much the origins of a tab may store. It is not safe for concurrent use.
type storageQuota struct {
	limit   int64 // Options.StorageQuota
	wg      *sync.WaitGroup
	origins map[string]bool // to which it was applied
}

// apply limits what the origin of a new document may store. It does not wait for the browser.
func (q *storageQuota) apply(s *cdpconn.Session, origin string) {
	if q.limit == 0 || !strings.HasPrefix(origin, "http") || q.origins[origin] {
		return
	}
	if q.origins == nil || len(q.origins) == maxQuotaOrigins {
		q.origins = make(map[string]bool)
	}
	q.origins[origin] = true
	q.wg.Go(func() {
		_ = s.Call(context.Background(), "Storage.overrideQuotaForOrigin", map[string]any{"origin": origin, "quotaSize": q.limit}, nil)
	})
}

package compose

import (
	"sync"

	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// callRates limit the rate of the calls of each token over all its sessions. Otherwise a client could
// open more sessions to make more calls, whose entries push others out of the audit log. It is safe for
// concurrent use. The zero value is ready to use.
type callRates struct {
	mu    sync.Mutex // guards rates
	rates map[string]*mcp.CallRate
}

// of returns the rate of a token, whose sessions all have the same limit. It is the same for each call,
// also after the sessions have ended.
func (c *callRates) of(token string, perMinute int) *mcp.CallRate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rates == nil {
		c.rates = map[string]*mcp.CallRate{}
	}
	if c.rates[token] == nil {
		c.rates[token] = mcp.NewCallRate(perMinute)
	}
	return c.rates[token]
}

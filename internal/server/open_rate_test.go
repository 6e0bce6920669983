package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestOpeningsPerMinute checks that a principal cannot open sessions again and again, and that this
// does not affect others.
func TestOpeningsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{})
		open := func(p *Principal, n int) {
			t.Helper()
			for range n {
				h.want(204, "", p, "PUT", "/v1/sessions/a")
				h.want(204, "", p, "DELETE", "/v1/sessions/a")
			}
		}
		open(ann, defaultPrincipalSessions)
		h.want(429, "it can open 10 a minute", ann, "PUT", "/v1/sessions/a")
		h.want(429, "it can open 10 a minute", ann, "POST", "/mcp", SessionHeader, "b")
		open(bob, 1)
		open(osUser, 1000)
		time.Sleep(time.Minute)
		open(ann, openingsPerMinute)
		h.want(429, "it can open 10 a minute", ann, "PUT", "/v1/sessions/a")
	})
}

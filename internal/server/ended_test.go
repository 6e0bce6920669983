package server

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// TestEndedSessionsAreBounded checks that a server forgets the sessions that ended long ago.
func TestEndedSessionsAreBounded(t *testing.T) {
	h := newHarness(t, Options{})
	for i := range maxEnded + 1 {
		path := fmt.Sprint("/v1/sessions/s", i)
		h.want(204, "", osUser, "PUT", path)
		h.want(204, "", osUser, "DELETE", path)
	}
	var ended failure
	for name, want := range map[string]errs.Code{"s0": errs.ErrBadArgs, "s1": errs.ErrSessionEnded} {
		_, body, _ := h.send(osUser, "POST", "/v1/sessions/"+name+"/stream", "")
		if err := json.Unmarshal([]byte(body), &ended); err != nil || ended.Error.Code != want {
			t.Errorf("%s: %s, %v, want %s", name, body, err, want)
		}
	}
}

// TestEndedSessionsOfOthers checks that the ended sessions of one principal do not make a server
// forget those of another.
func TestEndedSessionsOfOthers(t *testing.T) {
	h := newHarness(t, Options{})
	h.want(200, "ann/default", ann, "POST", "/mcp", call...)
	h.want(204, "", ann, "DELETE", "/v1/sessions/default")
	for i := range 2 * maxEnded {
		path := fmt.Sprint("/v1/sessions/s", i)
		h.want(204, "", osUser, "PUT", path)
		h.want(204, "", osUser, "DELETE", path)
	}
	if n := len(h.server.ended); n != maxEnded {
		t.Errorf("%d ended sessions, want %d", n, maxEnded)
	}
	h.want(404, "SESSION_ENDED", ann, "POST", "/mcp", call...)
}

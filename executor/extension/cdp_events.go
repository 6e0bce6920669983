package extension

import (
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// deliver passes an event of the browser to the client, if the client would receive it with a
// separate session, and may see it. hidden is whether the event concerns an execution context of the
// tools.
func (s *cdpSession) deliver(e *wire.CDPEvent, hidden bool) {
	if e.Denied && !cdpshare.IsStructural(e.Method) {
		return
	}
	if hidden || !s.receives(e) || e.NoConsent && cdpshare.IsContent(e.Method) {
		return
	}
	params, ok := s.setup.ToClient(e.Method, e.Params, s.tab.info.TargetID)
	if !ok {
		return
	}
	if len(params) == 0 {
		params = emptyResult
	} else if strings.HasPrefix(e.Method, "Network.") {
		params = cdpshare.WithoutExtraInfo(params)
	}
	if e.Denied || e.NoConsent {
		params = cdpshare.WithoutPayload(e.Method, params)
	}
	s.event(e.Method, params)
}

// receives reports whether s would receive an event with a separate session: the client has enabled
// it.
func (s *cdpSession) receives(e *wire.CDPEvent) bool {
	domain, _, _ := strings.Cut(e.Method, ".")
	switch {
	case s.detached || !s.ready && !s.setup.replaying || domain == "Target" || domain == "ChromeMCP":
		return false
	case domain == "Inspector", e.Method == "Input.dragIntercepted" && s.drags: // have no enable
		return true
	case e.Method == "Page.screencastFrame":
		return s.tab.screencast == s
	case !s.enabled[domain]:
		return false
	case e.Method == "Page.lifecycleEvent":
		return s.lifecycle
	case e.Method == "Runtime.bindingCalled":
		return s.bindings[member[string](e.Params, "name")]
	}
	return true
}

package extension

import (
	"encoding/json"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// Clients and tools set values in the browser that last as long as the debugger is attached. The hub
// records them, so that they do not remain when their user leaves, and last when another one leaves.

// set runs a command that sets something in the browser, or ends what s has set.
func (s *cdpSession) set(m executor.CDPMessage, done doneFunc) {
	v, undo := s.target.settings.Set(s, cdpshare.Command{Method: m.Method, Params: m.Params})
	if v == nil || v.User != s {
		if v != nil {
			s.target.restore(v)
		}
		s.countStored()
		done(emptyResult, nil)
		return
	}
	if s.countStored(); s.client.stored > maxStored {
		undo()
		s.countStored()
		done(nil, errSettingTooLarge)
		return
	}
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		if err != nil && !s.detached {
			undo()
			s.countStored()
		}
		done(result, err)
	})
}

// restore sends a command that sets in the browser what a session, or tools, have set.
func (t *cdpTarget) restore(v *cdpshare.Setting[*cdpSession]) {
	command := t.settingCommand(v)
	t.sendUnanswered(command.Client, command.Method, command.Params)
}

// settingCommand returns the command that sets v in the browser.
func (t *cdpTarget) settingCommand(v *cdpshare.Setting[*cdpSession]) wire.CDPCommand {
	client := ""
	if v.User != nil {
		client = v.User.client.id
	}
	return t.command(client, v.Command.Method, v.Command.Params)
}

// undoSettings sends the commands that undo what s has set.
func (s *cdpSession) undoSettings() {
	for _, v := range s.target.settings.End(s, "") {
		s.client.queueUndo(s.tab, wire.MethodCDP, s.target.settingCommand(v))
	}
}

// restoreAfterDisable sets again what others have set in a domain that was disabled in the browser.
func (t *cdpTarget) restoreAfterDisable(domain string) {
	for _, v := range t.settings.Of(domain) {
		t.restore(v)
	}
}

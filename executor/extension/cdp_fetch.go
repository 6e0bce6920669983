package extension

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// intercept runs Fetch.enable.
func intercept(s *cdpSession, m executor.CDPMessage, done doneFunc) {
	command, undo, err := s.target.interception.Enable(s, m.Params)
	if err != nil {
		done(nil, invalidParams(""))
		return
	}
	s.enabled["Fetch"] = true
	m.Params = command.Params
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		if err != nil {
			if undo(); !s.target.interception.Has(s) {
				delete(s.enabled, "Fetch")
			}
		}
		done(result, err)
	})
}

// endInterception runs Fetch.disable.
func endInterception(s *cdpSession, m executor.CDPMessage, done doneFunc) {
	command, ok := s.target.endInterception(s)
	if !ok {
		done(emptyResult, nil)
		return
	}
	m.Method, m.Params = command.Method, command.Params
	s.send(m, done)
}

// endInterception ends the interception of s. It reports whether the browser must get a command.
func (t *cdpTarget) endInterception(s *cdpSession) (command cdpshare.Command, ok bool) {
	if !t.interception.Has(s) {
		return command, false
	}
	command, steps := t.interception.Disable(s)
	delete(s.enabled, "Fetch")
	t.do(steps)
	return command, command.Method == "Fetch.enable" || !t.uses("Fetch") // a tool may use it
}

// answerPaused runs another command of Fetch.
func answerPaused(s *cdpSession, m executor.CDPMessage, done doneFunc) {
	answer, err := s.target.interception.Answer(s, cdpshare.Command{Method: m.Method, Params: m.Params})
	if errors.Is(err, cdpshare.ErrNotPaused) {
		done(nil, errNotPaused)
		return
	}
	s.target.do(answer.Steps)
	if answer.Command == nil {
		done(emptyResult, nil)
		return
	}
	m.Method, m.Params = answer.Command.Method, answer.Command.Params
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		if err != nil {
			answer.Undo()
		}
		done(result, err)
	})
}

// fetchEvent handles an event of Fetch. It reports whether e is one.
func (t *cdpTarget) fetchEvent(e *wire.CDPEvent) bool {
	if !strings.HasPrefix(e.Method, "Fetch.") {
		return false
	}
	t.do(t.interception.Event(e))
	return true
}

// do passes events to clients, and sends commands for them.
func (t *cdpTarget) do(steps []cdpshare.Step[*cdpSession]) {
	for _, step := range steps {
		if step.Event != nil {
			step.Session.deliver(step.Event, false)
		} else {
			t.sendUnanswered(step.Session.client.id, step.Command.Method, step.Command.Params)
		}
	}
}

// interceptor returns the client that intercepts requests of the tab first, or nil.
func (t *cdpTab) interceptor() *cdpClient {
	for _, target := range t.targets {
		if s, ok := target.interception.First(); ok {
			return s.client
		}
	}
	return nil
}

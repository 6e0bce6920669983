package cdpshare

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// An EventLog records the events that a browser sends only when the first user of a session enables a
// domain, so that the next one receives them, too. It is not safe for concurrent use.
type EventLog struct {
	// HiddenWorld is the name of the isolated worlds that clients do not see. It must be set.
	HiddenWorld string

	contexts []executionContext
	scripts  eventList // of Debugger.scriptParsed
	sheets   eventList // of CSS.styleSheetAdded
}

const (
	// maxEventsSize is the maximum size of an eventList, in bytes.
	maxEventsSize = 16 << 20
	// maxEvents is the maximum number of events in an eventList.
	maxEvents = 20000
)

// Record records an event. It reports whether the event concerns an execution context of HiddenWorld.
func (l *EventLog) Record(e *wire.CDPEvent) (hidden bool) {
	switch e.Method {
	case "Runtime.executionContextCreated":
		c, ok := contextOf(e.Params)
		if !ok {
			return false
		}
		l.contexts = append(slices.DeleteFunc(l.contexts, func(x executionContext) bool { return x.id == c.id }), c)
		return c.name == l.HiddenWorld
	case "Runtime.executionContextsCleared":
		l.contexts, l.scripts = nil, eventList{}
	case "Runtime.executionContextDestroyed", "Runtime.consoleAPICalled", "Runtime.bindingCalled":
		var p struct {
			ID int64 `json:"executionContextId"`
		}
		if json.Unmarshal(e.Params, &p) != nil {
			return false
		}
		i := slices.IndexFunc(l.contexts, func(c executionContext) bool { return c.id == p.ID })
		hidden = i >= 0 && l.contexts[i].name == l.HiddenWorld
		if i >= 0 && e.Method == "Runtime.executionContextDestroyed" {
			l.contexts = slices.Delete(l.contexts, i, i+1)
		}
	case "Debugger.scriptParsed":
		l.scripts.add(e.Params)
	case "CSS.styleSheetAdded":
		l.sheets.add(e.Params)
	case "CSS.styleSheetRemoved":
		var p struct {
			ID json.RawMessage `json:"styleSheetId"`
		}
		if json.Unmarshal(e.Params, &p) == nil && len(p.ID) > 0 {
			l.sheets.remove(func(params json.RawMessage) bool { return bytes.Contains(params, p.ID) })
		}
	}
	return hidden
}

// Disabled forgets the events of a domain that no user needs: the browser will send them again.
func (l *EventLog) Disabled(domain string) {
	switch domain {
	case "Runtime":
		l.contexts = nil
	case "Debugger":
		l.scripts = eventList{}
	case "CSS":
		l.sheets = eventList{}
	}
}

// Replay calls deliver with the events that the browser sends when a domain is enabled. hidden is as the
// result of Record.
func (l *EventLog) Replay(domain string, deliver func(e *wire.CDPEvent, hidden bool)) {
	send := func(method string, list eventList) {
		for _, params := range list.events {
			deliver(&wire.CDPEvent{Method: method, Params: params}, false)
		}
	}
	switch domain {
	case "Runtime":
		for _, c := range l.contexts {
			deliver(&wire.CDPEvent{Method: "Runtime.executionContextCreated", Params: c.params}, c.name == l.HiddenWorld)
		}
	case "Debugger":
		send("Debugger.scriptParsed", l.scripts)
	case "CSS":
		send("CSS.styleSheetAdded", l.sheets)
	}
}

// An eventList stores the parameters of events that a client receives when it enables their domain.
type eventList struct {
	events []json.RawMessage
	size   int // in bytes
}

// add stores an event, unless the list is full.
func (l *eventList) add(params json.RawMessage) {
	if len(l.events) < maxEvents && l.size+len(params) <= maxEventsSize {
		l.events = append(l.events, params)
		l.size += len(params)
	}
}

// remove removes the events for which match returns true.
func (l *eventList) remove(match func(params json.RawMessage) bool) {
	l.events = slices.DeleteFunc(l.events, func(params json.RawMessage) bool {
		if !match(params) {
			return false
		}
		l.size -= len(params)
		return true
	})
}

// An executionContext is an execution context.
type executionContext struct {
	id     int64
	unique string
	name   string
	main   bool // the main world of its frame
	frame  string
	params json.RawMessage // of Runtime.executionContextCreated
}

// contextOf returns the context that the parameters of Runtime.executionContextCreated describe.
func contextOf(params json.RawMessage) (c executionContext, ok bool) {
	var p struct {
		Context struct {
			ID     int64  `json:"id"`
			Unique string `json:"uniqueId"`
			Name   string `json:"name"`
			Aux    struct {
				Main  bool   `json:"isDefault"`
				Frame string `json:"frameId"`
			} `json:"auxData"`
		} `json:"context"`
	}
	if json.Unmarshal(params, &p) != nil {
		return c, false
	}
	return executionContext{
		id: p.Context.ID, unique: p.Context.Unique, name: p.Context.Name, main: p.Context.Aux.Main,
		frame: p.Context.Aux.Frame, params: params,
	}, true
}

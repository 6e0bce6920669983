package extension

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A placeholder is an execution context that was reported to the client before the debugger was
// attached. Afterwards it represents the real context.
type placeholder struct {
	id         int64
	unique     string
	name       string // empty for the main world
	realID     int64  // 0 until the real context is known
	realUnique string
}

// A placeholderScript is a script for new documents that was added before the debugger was attached.
type placeholderScript struct {
	id, world string
	realID    string // empty until the real identifier is known
}

// firstPlaceholder is the first id of a placeholder. The browser counts its ids from 1.
const firstPlaceholder = 1 << 30

// toBrowser replaces the ids of placeholders in the parameters of a command.
func (su *setup) toBrowser(params json.RawMessage) (json.RawMessage, *executor.CDPError) {
	if len(params) == 0 || len(su.contexts) == 0 && len(su.scripts) == 0 {
		return params, nil
	}
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return params, nil
	}
	changed := false
	for _, key := range []string{"contextId", "executionContextId", "uniqueContextId", "identifier"} {
		value, ok := p[key]
		if !ok {
			continue
		}
		for _, x := range su.contexts {
			unique := string(value) == strconv.Quote(x.unique)
			if !unique && string(value) != strconv.FormatInt(x.id, 10) {
				continue
			}
			if x.realID == 0 || unique && x.realUnique == "" {
				return nil, errNoContext
			}
			p[key] = mustJSON(x.realID)
			if unique {
				p[key] = mustJSON(x.realUnique)
			}
			changed = true
		}
		for _, script := range su.scripts {
			if string(value) == strconv.Quote(script.id) {
				p[key], changed = mustJSON(script.realID), true
			}
		}
	}
	if !changed {
		return params, nil
	}
	return mustJSON(p), nil
}

// toClient replaces the ids of real contexts in the parameters of an event by those of their
// placeholders, in the page whose top frame has the id top. It reports whether the client receives
// the event.
func (su *setup) toClient(method string, params json.RawMessage, top string) (json.RawMessage, bool) {
	if len(su.contexts) == 0 || !strings.HasPrefix(method, "Runtime.") {
		return params, true
	}
	switch method {
	case "Runtime.executionContextCreated":
		c, ok := contextOf(params)
		if !ok {
			return params, true
		}
		for _, x := range su.contexts {
			if x.realID == c.id || x.realID == 0 && c.frame == top && x.name == c.name && c.main == (x.name == "") {
				x.realID, x.realUnique = c.id, c.unique
				return nil, false // the client knows it already
			}
		}
		return params, true
	case "Runtime.executionContextsCleared":
		su.contexts = nil
		return params, true
	}
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return params, true
	}
	details := p
	if method == "Runtime.exceptionThrown" {
		details = nil
		if json.Unmarshal(p["exceptionDetails"], &details) != nil {
			return params, true
		}
	}
	id := string(details["executionContextId"])
	for i, x := range su.contexts {
		if x.realID == 0 || id != strconv.FormatInt(x.realID, 10) {
			continue
		}
		details["executionContextId"] = mustJSON(x.id)
		if method == "Runtime.executionContextDestroyed" {
			details["executionContextUniqueId"] = mustJSON(x.unique)
			su.contexts = slices.Delete(slices.Clone(su.contexts), i, i+1)
		}
		if method == "Runtime.exceptionThrown" {
			p["exceptionDetails"] = mustJSON(details)
		}
		return mustJSON(p), true
	}
	return params, true
}

// A cdpContext is an execution context.
type cdpContext struct {
	id     int64
	unique string
	name   string
	main   bool // the main world of its frame
	frame  string
	params json.RawMessage // of Runtime.executionContextCreated
}

// contextOf returns the context that the parameters of Runtime.executionContextCreated describe.
func contextOf(params json.RawMessage) (c cdpContext, ok bool) {
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
	return cdpContext{
		id: p.Context.ID, unique: p.Context.Unique, name: p.Context.Name, main: p.Context.Aux.Main,
		frame: p.Context.Aux.Frame, params: params,
	}, true
}

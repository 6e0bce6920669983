package cdpshare

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Placeholders are what was reported to a client before a session was available. The zero value has
// none. Placeholders are not safe for concurrent use.
type Placeholders struct {
	Contexts []*Placeholder
	Scripts  []PlaceholderScript
}

// A Placeholder is an execution context that was reported to the client before the debugger was
// attached. Afterwards it represents the real context.
type Placeholder struct {
	ID         int64
	Unique     string
	Name       string // empty for the main world
	RealID     int64  // 0 until the real context is known
	realUnique string
}

// A PlaceholderScript is a script for new documents that was added before the debugger was attached.
type PlaceholderScript struct {
	ID, World string
	RealID    string // empty until the real identifier is known
}

// ToBrowser replaces the ids of placeholders in the parameters of a command. It returns false if one of
// them represents a context that is gone or not known.
func (ps *Placeholders) ToBrowser(params json.RawMessage) (_ json.RawMessage, ok bool) {
	if len(params) == 0 || len(ps.Contexts) == 0 && len(ps.Scripts) == 0 {
		return params, true
	}
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return params, true
	}
	changed := false
	for _, key := range []string{"contextId", "executionContextId", "uniqueContextId", "identifier"} {
		value, ok := p[key]
		if !ok {
			continue
		}
		for _, x := range ps.Contexts {
			unique := string(value) == strconv.Quote(x.Unique)
			if !unique && string(value) != strconv.FormatInt(x.ID, 10) {
				continue
			}
			if x.RealID == 0 || unique && x.realUnique == "" {
				return nil, false
			}
			p[key] = encode(x.RealID)
			if unique {
				p[key] = encode(x.realUnique)
			}
			changed = true
		}
		for _, script := range ps.Scripts {
			if string(value) == strconv.Quote(script.ID) {
				p[key], changed = encode(script.RealID), true
			}
		}
	}
	if !changed {
		return params, true
	}
	return encode(p), true
}

// ToClient replaces the ids of real contexts in the parameters of an event by those of their
// placeholders, in the page whose top frame has the id top. It reports whether the client receives
// the event.
func (ps *Placeholders) ToClient(method string, params json.RawMessage, top string) (json.RawMessage, bool) {
	if len(ps.Contexts) == 0 || !strings.HasPrefix(method, "Runtime.") {
		return params, true
	}
	switch method {
	case "Runtime.executionContextCreated":
		c, ok := contextOf(params)
		if !ok {
			return params, true
		}
		for _, x := range ps.Contexts {
			if x.RealID == c.id || x.RealID == 0 && c.frame == top && x.Name == c.name && c.main == (x.Name == "") {
				x.RealID, x.realUnique = c.id, c.unique
				return nil, false // the client knows it already
			}
		}
		return params, true
	case "Runtime.executionContextsCleared":
		ps.Contexts = nil
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
	for i, x := range ps.Contexts {
		if x.RealID == 0 || id != strconv.FormatInt(x.RealID, 10) {
			continue
		}
		details["executionContextId"] = encode(x.ID)
		if method == "Runtime.executionContextDestroyed" {
			details["executionContextUniqueId"] = encode(x.Unique)
			ps.Contexts = slices.Delete(slices.Clone(ps.Contexts), i, i+1)
		}
		if method == "Runtime.exceptionThrown" {
			p["exceptionDetails"] = encode(details)
		}
		return encode(p), true
	}
	return params, true
}

package relay

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// An emulation is what a client has set for a target.
type emulation struct {
	owner  *client
	values map[string]string // parameters by method
}

// checkEmulation gives the emulation of a target to the first client that sets one. In Chromium,
// the last command of any session counts, so clients would affect each other. The commands that
// clients send at connect often change nothing, and such commands succeed for all.
func checkEmulation(_ context.Context, c *client, cmd *command) error {
	var reset bool
	_ = cmd.rewrite(func(p map[string]any) error {
		reset = isReset(cmd.method, p)
		return nil
	})
	params := string(cmd.params)
	id := cmd.session.target.ID
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.emulated[id]
	switch {
	case e == nil && reset:
		return nil
	case e == nil:
		e = &emulation{owner: c, values: map[string]string{}}
		s.emulated[id] = e
	case e.owner == c:
	case reset, e.values[cmd.method] == params:
		cmd.localResult = json.RawMessage("{}")
		return nil
	default:
		return denied("Disconnect that client first.",
			"the emulation of this page belongs to the client %s, which set it first", e.owner.info.Name)
	}
	before, set := e.values[cmd.method]
	e.values[cmd.method] = params
	cmd.failed = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case e.values[cmd.method] != params: // a later command has set it
		case set:
			e.values[cmd.method] = before
		default:
			delete(e.values, cmd.method)
		}
		if len(e.values) == 0 && s.emulated[id] == e {
			delete(s.emulated, id)
		}
	}
	return nil
}

// isReset reports whether a command with parameters p sets the values that a page has without
// emulation.
func isReset(method string, p map[string]any) bool {
	_, name, _ := strings.Cut(method, ".")
	if strings.HasPrefix(name, "clear") || strings.HasPrefix(name, "reset") {
		return true
	}
	p = maps.Clone(p)
	delete(p, "maxTouchPoints") // has no effect without touch emulation
	switch name {
	case "setCPUThrottlingRate":
		return len(p) == 0 || p["rate"] == json.Number("1")
	case "setPageScaleFactor":
		return len(p) == 0 || p["pageScaleFactor"] == json.Number("1")
	case "setEmulatedOSTextScale":
		return len(p) == 0 || p["scale"] == json.Number("1")
	case "setIdleOverride", "setGeolocationOverride", "setDefaultBackgroundColorOverride": // zeros are values
		return len(p) == 0
	}
	return isZero(p)
}

// isZero reports whether all values in v mean "not set". The names of media features are not
// values.
func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if key != "name" && !isZero(x) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !isZero(x) })
	case json.Number:
		return v == "0" || v == "-1"
	case string:
		switch v { // Playwright sets the last three as media features in each page: its defaults
		case "", "none", "light", "no-preference":
			return true
		}
		return false
	}
	return v == nil || v == false
}

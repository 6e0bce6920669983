package cdpshare

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Neutral returns the command that undoes what a command with a method sets, such as
// Network.setBlockedURLs without URLs. It reports whether there is one.
func Neutral(method string) (Command, bool) {
	c, ok := neutral[method]
	return c, ok
}

// neutral maps commands that set something to those that undo it.
var neutral = map[string]Command{
	"Debugger.setSkipAllPauses":                   {"Debugger.setSkipAllPauses", json.RawMessage(`{"skip":false}`)},
	"Emulation.setAutoDarkModeOverride":           {Method: "Emulation.setAutoDarkModeOverride"},
	"Emulation.setCPUThrottlingRate":              {"Emulation.setCPUThrottlingRate", json.RawMessage(`{"rate":1}`)},
	"Emulation.setDefaultBackgroundColorOverride": {Method: "Emulation.setDefaultBackgroundColorOverride"},
	"Emulation.setDeviceMetricsOverride":          {Method: "Emulation.clearDeviceMetricsOverride"},
	"Emulation.setDocumentCookieDisabled":         {"Emulation.setDocumentCookieDisabled", json.RawMessage(`{"disabled":false}`)},
	"Emulation.setEmitTouchEventsForMouse":        {"Emulation.setEmitTouchEventsForMouse", json.RawMessage(`{"enabled":false}`)},
	"Emulation.setEmulatedMedia":                  {"Emulation.setEmulatedMedia", json.RawMessage(`{"media":"","features":[]}`)},
	"Emulation.setEmulatedVisionDeficiency":       {"Emulation.setEmulatedVisionDeficiency", json.RawMessage(`{"type":"none"}`)},
	"Emulation.setGeolocationOverride":            {Method: "Emulation.clearGeolocationOverride"},
	"Emulation.setIdleOverride":                   {Method: "Emulation.clearIdleOverride"},
	"Emulation.setPageScaleFactor":                {Method: "Emulation.resetPageScaleFactor"},
	"Emulation.setScriptExecutionDisabled":        {"Emulation.setScriptExecutionDisabled", json.RawMessage(`{"value":false}`)},
	"Emulation.setScrollbarsHidden":               {"Emulation.setScrollbarsHidden", json.RawMessage(`{"hidden":false}`)},
	"Emulation.setTouchEmulationEnabled":          {"Emulation.setTouchEmulationEnabled", json.RawMessage(`{"enabled":false}`)},
	"Emulation.setUserAgentOverride":              {"Emulation.setUserAgentOverride", json.RawMessage(`{"userAgent":""}`)},
	"Emulation.setVirtualTimePolicy":              {"Emulation.setVirtualTimePolicy", json.RawMessage(`{"policy":"advance"}`)},
	"Fetch.enable":                                {Method: "Fetch.disable"},
	"Input.setIgnoreInputEvents":                  {"Input.setIgnoreInputEvents", json.RawMessage(`{"ignore":false}`)},
	"Input.setInterceptDrags":                     {"Input.setInterceptDrags", json.RawMessage(`{"enabled":false}`)},
	"Network.emulateNetworkConditions":            {"Network.emulateNetworkConditions", online},
	"Network.emulateNetworkConditionsByRule":      {"Network.emulateNetworkConditionsByRule", json.RawMessage(`{"matchedNetworkConditions":[]}`)},
	"Network.overrideNetworkState":                {"Network.overrideNetworkState", online},
	"Network.setBlockedURLs":                      {"Network.setBlockedURLs", json.RawMessage(`{"urls":[]}`)},
	"Network.setBypassServiceWorker":              {"Network.setBypassServiceWorker", json.RawMessage(`{"bypass":false}`)},
	"Network.setCacheDisabled":                    {"Network.setCacheDisabled", json.RawMessage(`{"cacheDisabled":false}`)},
	"Network.setExtraHTTPHeaders":                 {"Network.setExtraHTTPHeaders", json.RawMessage(`{"headers":{}}`)},
	"Overlay.setInspectMode":                      {"Overlay.setInspectMode", json.RawMessage(`{"mode":"none","highlightConfig":{}}`)},
	"Page.setBypassCSP":                           {"Page.setBypassCSP", json.RawMessage(`{"enabled":false}`)},
	"Page.setInterceptFileChooserDialog":          {"Page.setInterceptFileChooserDialog", json.RawMessage(`{"enabled":false}`)},
	"Page.setWebLifecycleState":                   {"Page.setWebLifecycleState", json.RawMessage(`{"state":"active"}`)},
	"Page.startScreencast":                        {Method: "Page.stopScreencast"},
	"Security.setIgnoreCertificateErrors":         {"Security.setIgnoreCertificateErrors", json.RawMessage(`{"ignore":false}`)},
	"Security.setOverrideCertificateErrors":       {"Security.setOverrideCertificateErrors", json.RawMessage(`{"override":false}`)},
}

// online are the parameters of commands that emulate a network, without emulation.
var online = json.RawMessage(`{"offline":false,"latency":0,"downloadThroughput":-1,"uploadThroughput":-1}`)

// IsSetting reports whether [Settings] records the command with a method. Package cdpshare has other
// types for emulation, interception and screencasts.
func IsSetting(method string) bool {
	c, ok := neutral[method]
	return ok && c.Method == method && !strings.HasPrefix(method, "Emulation.")
}

// Settings are what the users of a session have set, by the commands for which [IsSetting] returns
// true. A setting of one remains when another one ends the same setting for itself, as if each had a
// separate session. S is a user. The zero value is ready to use. Settings are not safe for concurrent
// use.
type Settings[S comparable] struct {
	values []*Setting[S] // in the order in which they were set; at most one of each user and method
}

// A Setting is a command with which a user of a session has set something, or with which what it has
// set is undone.
type Setting[S comparable] struct {
	User    S
	Command Command
}

// Set records what a command of user sets. It returns what must be sent to the browser instead of the
// command, or nil if the command must not reach the browser, because it would end what another user has
// set. The caller must call undo if the command fails.
func (s *Settings[S]) Set(user S, command Command) (send *Setting[S], undo func()) {
	before := s.remove(user, command.Method)
	set := &Setting[S]{user, command}
	if !isNeutral(command) {
		s.values = append(s.values, set)
		return set, func() {
			if i := slices.Index(s.values, set); i >= 0 { // user has set nothing later
				s.values = slices.Delete(s.values, i, i+1)
				s.restore(before)
			}
		}
	}
	undo = func() {
		if before != nil && s.find(user, command.Method) == nil {
			s.restore(before)
		}
	}
	switch last := s.last(command.Method); {
	case last == nil:
		return set, undo
	case before != nil:
		return last, undo
	}
	return nil, undo
}

// End forgets what a user has set in a domain, or in all domains if domain is empty. It returns the
// commands that undo it: they set what another user has set before, or nothing.
func (s *Settings[S]) End(user S, domain string) (undo []*Setting[S]) {
	for _, v := range s.Of(domain) {
		if v.User != user {
			continue
		}
		s.remove(user, v.Command.Method)
		last := s.last(v.Command.Method)
		if last == nil {
			last = &Setting[S]{user, neutral[v.Command.Method]}
		}
		undo = append(undo, last)
	}
	return undo
}

// Of returns what all users have set in a domain, or in all domains if domain is empty, in the order in
// which it was set.
func (s *Settings[S]) Of(domain string) (list []*Setting[S]) {
	for _, v := range s.values {
		if domain == "" || strings.HasPrefix(v.Command.Method, domain+".") {
			list = append(list, v)
		}
	}
	return list
}

// Size returns the size of what a user has set, in bytes.
func (s *Settings[S]) Size(user S) (n int) {
	for _, v := range s.values {
		if v.User == user {
			n += len(v.Command.Method) + len(v.Command.Params)
		}
	}
	return n
}

// find returns what user has set with a method, or nil.
func (s *Settings[S]) find(user S, method string) *Setting[S] {
	for _, v := range s.values {
		if v.User == user && v.Command.Method == method {
			return v
		}
	}
	return nil
}

// remove forgets what user has set with a method, and returns it, or nil.
func (s *Settings[S]) remove(user S, method string) *Setting[S] {
	before := s.find(user, method)
	s.values = slices.DeleteFunc(s.values, func(v *Setting[S]) bool { return v == before })
	return before
}

// restore records a removed setting again, if before is not nil.
func (s *Settings[S]) restore(before *Setting[S]) {
	if before != nil {
		s.values = append(s.values, before)
	}
}

// last returns what was set last with a method, or nil.
func (s *Settings[S]) last(method string) *Setting[S] {
	for _, v := range slices.Backward(s.values) {
		if v.Command.Method == method {
			return v
		}
	}
	return nil
}

// isNeutral reports whether a command sets nothing: its parameters have the values of its neutral
// form, or zero values.
func isNeutral(command Command) bool {
	var set, none map[string]any
	if json.Unmarshal(command.Params, &set) != nil || json.Unmarshal(neutral[command.Method].Params, &none) != nil {
		return false
	}
	for name, value := range set {
		if !reflect.DeepEqual(value, none[name]) && !isEmpty(value) {
			return false
		}
	}
	return true
}

// isEmpty reports whether a JSON value is a zero value.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return reflect.ValueOf(value).IsZero()
}

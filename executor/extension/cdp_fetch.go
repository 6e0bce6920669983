package extension

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// Chrome has one session for each target, in which it pauses requests. If several clients intercept
// the requests of a target, the hub enables what any of them wants, and lets each request wait for
// one client after another, in the order in which they began. Only the last one reaches Chrome.

// A fetchPattern selects requests. Empty fields select all, and the stage Request.
type fetchPattern struct {
	URL   string `json:"urlPattern,omitempty"`
	Type  string `json:"resourceType,omitempty"`
	Stage string `json:"requestStage,omitempty"`
}

// fetchParams are the parameters of Fetch.enable. Nil patterns select all requests.
type fetchParams struct {
	Patterns []fetchPattern `json:"patterns"`
	Auth     bool           `json:"handleAuthRequests"`
}

// A pausedRequest is a request for which several clients wait.
type pausedRequest struct {
	event    wire.CDPEvent // for the next client, with the changes of those before
	response bool          // it is paused at its response
	auth     bool          // it is paused because it needs a user name and password
	owner    *cdpSession   // answers it now
	waiting  []*cdpSession // answer it later
	changes  map[string]json.RawMessage
}

// maxPaused bounds the recorded paused requests of a target: no event reports that one has ended.
const maxPaused = 1000

// fetchMethods are the commands about a paused request. The value is whether they answer it.
var fetchMethods = map[string]bool{
	"Fetch.continueRequest": true, "Fetch.continueResponse": true, "Fetch.continueWithAuth": true,
	"Fetch.failRequest": true, "Fetch.fulfillRequest": true,
	"Fetch.getResponseBody": false, "Fetch.takeResponseBodyAsStream": false,
}

// fetchEnable returns the parameters of Fetch.enable for all clients.
func (x *cdpTarget) fetchEnable() fetchParams {
	all := fetchParams{Patterns: []fetchPattern{}}
	for _, s := range x.interceptors {
		all.Auth = all.Auth || s.fetch.Auth
		if s.fetch.Patterns == nil {
			all.Patterns = append(all.Patterns, fetchPattern{URL: "*"})
		}
		all.Patterns = append(all.Patterns, s.fetch.Patterns...)
	}
	return all
}

// intercept enables Fetch for s.
func (s *cdpSession) intercept(m executor.CDPMessage, done doneFunc) {
	p := new(fetchParams)
	if len(m.Params) > 0 && cdpconn.Unmarshal([]byte(m.Params), p) != nil {
		done(nil, invalidParams(""))
		return
	}
	before := s.fetch
	if s.fetch = p; before == nil {
		s.target.interceptors = append(s.target.interceptors, s)
	}
	s.enabled["Fetch"] = true
	if len(s.target.interceptors) > 1 {
		m.Params = mustJSON(s.target.fetchEnable())
	}
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		if err != nil && s.fetch == p {
			if s.fetch = before; before == nil {
				s.endIntercepting()
			}
		}
		done(result, err)
	})
}

// endIntercepting lets the requests that s has paused continue to the next client. It returns the
// command that stops pausing the requests that only s wants. The caller must send it.
func (s *cdpSession) endIntercepting() (method string, params any) {
	x := s.target
	s.fetch = nil
	delete(s.enabled, "Fetch")
	x.interceptors = slices.DeleteFunc(x.interceptors, func(o *cdpSession) bool { return o == s })
	if len(x.interceptors) == 0 {
		clear(x.paused) // Chrome continues them
		return "Fetch.disable", nil
	}
	for id, p := range x.paused {
		if p.owner == s {
			x.nextClient(id, p)
		}
	}
	return "Fetch.enable", x.fetchEnable()
}

// disableFetch disables Fetch for s.
func (s *cdpSession) disableFetch(m executor.CDPMessage, done doneFunc) {
	if s.fetch == nil {
		done(emptyResult, nil)
		return
	}
	method, params := s.endIntercepting()
	if method == "Fetch.disable" && s.target.uses("Fetch") { // a tool does
		done(emptyResult, nil)
		return
	}
	if m.Method = method; params != nil {
		m.Params = mustJSON(params)
	}
	s.send(m, done)
}

// fetchEvent passes an event about a paused request to the client that answers it first. It reports
// whether e is one.
func (x *cdpTarget) fetchEvent(e *wire.CDPEvent) bool {
	auth := e.Method == "Fetch.authRequired"
	if !auth && e.Method != "Fetch.requestPaused" {
		return false
	}
	if len(x.interceptors) == 0 {
		return true // tools pause it
	}
	id := member[string](e.Params, "requestId")
	p := &pausedRequest{event: *e, auth: auth, changes: make(map[string]json.RawMessage)}
	var request struct {
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
		Type   string          `json:"resourceType"`
		Status json.RawMessage `json:"responseStatusCode"`
		Failed json.RawMessage `json:"responseErrorReason"`
	}
	_ = cdpconn.Unmarshal([]byte(e.Params), &request)
	p.response = !auth && (request.Status != nil || request.Failed != nil)
	p.waiting = slices.Clone(x.interceptors)
	if len(p.waiting) > 1 {
		stage := "Request"
		if p.response {
			stage = "Response"
		}
		p.waiting = slices.DeleteFunc(p.waiting, func(s *cdpSession) bool {
			if auth {
				return !s.fetch.Auth
			}
			return !s.fetch.wants(request.Request.URL, request.Type, stage) && !(p.response && x.responses[id] == s)
		})
		if p.response {
			delete(x.responses, id)
		}
	}
	switch {
	case e.Denied: // the network rules decide
		x.interceptors[0].continuePaused(id, p)
	case len(x.interceptors) == 1 || len(x.paused) >= maxPaused:
		x.interceptors[0].deliver(e, false)
	default:
		if x.paused == nil {
			x.paused = make(map[string]*pausedRequest)
		}
		p.owner = x.interceptors[0]
		x.paused[id] = p
		x.nextClient(id, p)
	}
	return true
}

// wants reports whether a client intercepts a request.
func (f *fetchParams) wants(url, kind, stage string) bool {
	if f.Patterns == nil {
		return stage == "Request"
	}
	return slices.ContainsFunc(f.Patterns, func(p fetchPattern) bool {
		return (p.URL == "" || matchesURL(p.URL, url)) && (p.Type == "" || p.Type == kind) &&
			(p.Stage == stage || p.Stage == "" && stage == "Request")
	})
}

// matchesURL reports whether a URL matches a pattern of Fetch.enable: * matches any sequence of
// characters, ? any character, and a backslash makes the character after it match itself.
func matchesURL(pattern, url string) bool {
	star, from := -1, 0 // after the last *, and where the match of it ends
	i, j := 0, 0
	for j < len(url) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			i++
			star, from = i, j
			continue
		case i < len(pattern) && pattern[i] == '?':
			i++
			j++
			continue
		case i+1 < len(pattern) && pattern[i] == '\\' && pattern[i+1] == url[j]:
			i += 2
			j++
			continue
		case i < len(pattern) && pattern[i] != '\\' && pattern[i] == url[j]:
			i++
			j++
			continue
		case star < 0:
			return false
		}
		from++
		i, j = star, from
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}

// nextClient lets a paused request wait for the next client. After the last one, it continues.
func (x *cdpTarget) nextClient(id string, p *pausedRequest) {
	for len(p.waiting) > 0 {
		p.owner, p.waiting = p.waiting[0], p.waiting[1:]
		if p.owner.fetch != nil {
			p.owner.deliver(&p.event, false)
			return
		}
	}
	delete(x.paused, id)
	p.owner.continuePaused(id, p)
}

// continuePaused continues a paused request with the changes of all clients.
func (s *cdpSession) continuePaused(id string, p *pausedRequest) {
	method, params := p.continuation("Fetch.continueRequest", id)
	s.target.sendUnanswered(s.client.id, method, params)
}

// continuation returns the command that continues a paused request with the changes of all clients.
func (p *pausedRequest) continuation(method, id string) (string, map[string]json.RawMessage) {
	params := map[string]json.RawMessage{"requestId": mustJSON(id)}
	for name, value := range p.changes {
		params[name] = value
	}
	switch {
	case p.auth:
		method = "Fetch.continueWithAuth"
		if params["authChallengeResponse"] == nil {
			params["authChallengeResponse"] = json.RawMessage(`{"response":"Default"}`)
		}
	case p.response && len(p.changes) > 0:
		method = "Fetch.continueResponse"
	}
	return method, params
}

// answerPaused runs a command about a paused request.
func (s *cdpSession) answerPaused(m executor.CDPMessage, done doneFunc) {
	x, id := s.target, member[string](m.Params, "requestId")
	p := x.paused[id]
	var params map[string]json.RawMessage
	switch {
	case p == nil: // no other client waits for it
		s.send(m, done)
		return
	case p.owner != s:
		done(nil, &executor.CDPError{Code: executor.CDPInvalidParams, Message: "Invalid InterceptionId."})
		return
	case !fetchMethods[m.Method] || json.Unmarshal(m.Params, &params) != nil || params["url"] != nil: // which the extension denies
		s.send(m, done)
		return
	case m.Method == "Fetch.continueWithAuth" && member[string](params["authChallengeResponse"], "response") == "Default",
		m.Method == "Fetch.continueRequest", m.Method == "Fetch.continueResponse":
		p.change(params)
		if string(params["interceptResponse"]) == "true" {
			if x.responses == nil || len(x.responses) >= maxPaused {
				x.responses = make(map[string]*cdpSession)
			}
			x.responses[id] = s
		}
		if slices.ContainsFunc(p.waiting, func(o *cdpSession) bool { return o.fetch != nil }) {
			x.nextClient(id, p)
			done(emptyResult, nil)
			return
		}
		method, all := p.continuation(m.Method, id)
		m.Method, m.Params = method, mustJSON(all)
	}
	delete(x.paused, id)
	s.send(m, func(result json.RawMessage, err *executor.CDPError) {
		if err != nil && s.fetch != nil && x.paused[id] == nil { // it is still paused
			x.paused[id] = p
		}
		done(result, err)
	})
}

// change applies the parameters of a command that continues the request.
func (p *pausedRequest) change(params map[string]json.RawMessage) {
	var event, request map[string]json.RawMessage
	if json.Unmarshal(p.event.Params, &event) != nil {
		return
	}
	if _ = json.Unmarshal(event["request"], &request); request == nil {
		request = make(map[string]json.RawMessage)
	}
	for name, value := range params {
		switch name {
		case "requestId", "authChallengeResponse":
			continue
		case "interceptResponse":
			if string(value) != "true" { // another client may intercept it
				continue
			}
		case "headers":
			var list []struct{ Name, Value string }
			_ = json.Unmarshal(value, &list)
			headers := make(map[string]string, len(list))
			for _, h := range list {
				headers[h.Name] = h.Value
			}
			request["headers"] = mustJSON(headers)
		case "method":
			request["method"] = value
		case "postData":
			var data []byte
			if json.Unmarshal(value, &data) == nil {
				request["hasPostData"], request["postData"] = json.RawMessage("true"), mustJSON(string(data))
				request["postDataEntries"] = mustJSON([]any{map[string]any{"bytes": base64.StdEncoding.EncodeToString(data)}})
			}
		case "responseCode":
			event["responseStatusCode"] = value
		case "responsePhrase":
			event["responseStatusText"] = value
		case "responseHeaders":
			event["responseHeaders"] = value
		}
		p.changes[name] = value
	}
	event["request"] = mustJSON(request)
	p.event.Params = mustJSON(event)
}

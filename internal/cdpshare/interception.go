package cdpshare

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// An Interception lets several clients intercept the requests of one CDP session. It enables what any
// of them wants, and each request waits for one client after another, in the order in which they
// began. The next one gets the request as those before have changed it; the browser gets the last
// answer, with the changes of all. S is a client's session. The zero value has no client. An
// Interception is not safe for concurrent use.
//
// While only one client intercepts, its commands and events are passed on as they are.
type Interception[S comparable] struct {
	clients   []interceptor[S]
	paused    map[string]*pausedRequest[S] // by id; those for which several clients wait
	responses map[string]S                 // that continued a request and want its response, by id
}

// An interceptor is a client that intercepts requests.
type interceptor[S comparable] struct {
	session S
	params  *fetchParams
}

// fetchParams are the parameters of Fetch.enable. Nil patterns select all requests.
type fetchParams struct {
	Patterns []fetchPattern `json:"patterns"`
	Auth     bool           `json:"handleAuthRequests"`
}

// A fetchPattern selects requests. Empty fields select all, and the stage Request.
type fetchPattern struct {
	URL   string `json:"urlPattern,omitempty"`
	Type  string `json:"resourceType,omitempty"`
	Stage string `json:"requestStage,omitempty"`
}

// A pausedRequest is a request for which several clients wait.
type pausedRequest[S comparable] struct {
	id       string
	event    wire.CDPEvent // for the next client
	response bool          // it is paused at its response
	auth     bool          // it is paused because it needs a user name and password
	owner    S             // answers it now
	waiting  []S           // answer it later
	changes  map[string]json.RawMessage
}

// maxPaused limits the recorded requests: no event reports that a paused request has ended.
const maxPaused = 1000

// ErrNotPaused reports that a client answered a request that does not wait for it.
var ErrNotPaused = errors.New("the request does not wait for this client")

// A Step is what the caller must do for a client: pass on an event, or send a command.
type Step[S comparable] struct {
	Session S
	Event   *wire.CDPEvent // nil for a command
	Command Command
}

// First returns the client that intercepts first, and whether there is one.
func (i *Interception[S]) First() (s S, ok bool) {
	if len(i.clients) == 0 {
		return s, false
	}
	return i.clients[0].session, true
}

// Has reports whether s intercepts.
func (i *Interception[S]) Has(s S) bool { return i.index(s) >= 0 }

// Enable returns the command for Fetch.enable of s. If the browser rejects the command, the caller must
// call undo. Enable returns an error if the parameters are invalid.
func (i *Interception[S]) Enable(s S, params json.RawMessage) (c Command, undo func(), err error) {
	p := new(fetchParams)
	if len(params) > 0 {
		if err := cdpconn.Unmarshal([]byte(params), p); err != nil {
			return c, nil, err
		}
	}
	at := i.index(s)
	var before *fetchParams
	if at < 0 {
		i.clients = append(i.clients, interceptor[S]{s, p})
	} else {
		before, i.clients[at].params = i.clients[at].params, p
	}
	undo = func() {
		switch at := i.index(s); {
		case at < 0 || i.clients[at].params != p:
		case before == nil:
			i.clients = slices.Delete(i.clients, at, at+1)
		default:
			i.clients[at].params = before
		}
	}
	if len(i.clients) > 1 {
		params = encode(i.union())
	}
	return Command{"Fetch.enable", params}, undo, nil
}

// Disable ends the interception of s, if it intercepts. It returns the command that stops pausing the
// requests that only s wants, and what else must be done first.
func (i *Interception[S]) Disable(s S) (Command, []Step[S]) {
	i.clients = slices.DeleteFunc(i.clients, func(x interceptor[S]) bool { return x.session == s })
	if len(i.clients) == 0 {
		clear(i.paused) // the browser continues them
		return Command{Method: "Fetch.disable"}, nil
	}
	var steps []Step[S]
	for _, p := range i.paused {
		if p.owner == s {
			steps = append(steps, i.next(p))
		}
	}
	return Command{"Fetch.enable", encode(i.union())}, steps
}

// Event returns what must be done with an event of the domain Fetch. The client does not receive the
// events of a denied document, for which the network rules decide.
func (i *Interception[S]) Event(e *wire.CDPEvent) []Step[S] {
	auth := e.Method == "Fetch.authRequired"
	if len(i.clients) == 0 || !auth && e.Method != "Fetch.requestPaused" {
		return nil
	}
	var paused struct {
		ID      string `json:"requestId"`
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
		Type   string          `json:"resourceType"`
		Status json.RawMessage `json:"responseStatusCode"`
		Failed json.RawMessage `json:"responseErrorReason"`
	}
	_ = cdpconn.Unmarshal([]byte(e.Params), &paused)
	p := &pausedRequest[S]{
		id: paused.ID, event: *e, auth: auth, response: paused.Status != nil || paused.Failed != nil,
		owner: i.clients[0].session, changes: make(map[string]json.RawMessage),
	}
	switch {
	case e.Denied:
		return []Step[S]{p.goOn()}
	case len(i.clients) == 1 || len(i.paused) >= maxPaused:
		return []Step[S]{{Session: p.owner, Event: e}}
	}
	stage := "Request"
	if p.response {
		stage = "Response"
	}
	for _, x := range i.clients {
		if auth && x.params.Auth || !auth && x.params.wants(paused.Request.URL, paused.Type, stage) ||
			p.response && i.responses[p.id] == x.session {
			p.waiting = append(p.waiting, x.session)
		}
	}
	if p.response {
		delete(i.responses, p.id)
	}
	if i.paused == nil {
		i.paused = make(map[string]*pausedRequest[S])
	}
	i.paused[p.id] = p
	return []Step[S]{i.next(p)}
}

// An Answer is what must be done with a command about a paused request: first the Steps, and then
// Command. Without a Command, the result is empty.
type Answer[S comparable] struct {
	Steps   []Step[S]
	Command *Command
	Undo    func() // must be called if the browser rejects Command
}

// Answer returns what must be done with a command of the domain Fetch of s, other than enable and
// disable. It returns ErrNotPaused if the request waits for another client.
func (i *Interception[S]) Answer(s S, c Command) (Answer[S], error) {
	asIs := Answer[S]{Command: &c, Undo: func() {}}
	var params map[string]json.RawMessage
	if json.Unmarshal(c.Params, &params) != nil {
		return asIs, nil
	}
	var id string
	_ = json.Unmarshal(params["requestId"], &id)
	p := i.paused[id]
	switch {
	case p == nil: // no other client waits for it
		return asIs, nil
	case p.owner != s:
		return asIs, ErrNotPaused
	}
	switch c.Method {
	case "Fetch.fulfillRequest", "Fetch.failRequest":
	case "Fetch.continueRequest", "Fetch.continueResponse", "Fetch.continueWithAuth":
		if params["url"] != nil || c.Method == "Fetch.continueWithAuth" && !isDefault(params["authChallengeResponse"]) {
			break // the browser, or what is in front of it, decides
		}
		p.change(params)
		if string(params["interceptResponse"]) == "true" {
			if i.responses == nil || len(i.responses) >= maxPaused {
				i.responses = make(map[string]S)
			}
			i.responses[id] = s
		}
		if slices.ContainsFunc(p.waiting, i.Has) {
			return Answer[S]{Steps: []Step[S]{i.next(p)}}, nil
		}
		last := p.goOn().Command
		asIs.Command = &last
	default: // it reads the response
		return asIs, nil
	}
	delete(i.paused, id)
	asIs.Undo = func() { // it is still paused, and the changes of the other clients may be what failed
		if i.Has(s) && i.paused[id] == nil {
			p.changes = nil
			i.paused[id] = p
		}
	}
	return asIs, nil
}

// isDefault reports whether the response to an authentication challenge leaves it to others.
func isDefault(response json.RawMessage) bool {
	var r struct {
		Response string `json:"response"`
	}
	return cdpconn.Unmarshal([]byte(response), &r) == nil && r.Response == "Default"
}

// index returns the index of the client s, or -1.
func (i *Interception[S]) index(s S) int {
	return slices.IndexFunc(i.clients, func(x interceptor[S]) bool { return x.session == s })
}

// union returns the parameters of Fetch.enable for all clients.
func (i *Interception[S]) union() fetchParams {
	all := fetchParams{Patterns: []fetchPattern{}}
	for _, x := range i.clients {
		all.Auth = all.Auth || x.params.Auth
		if x.params.Patterns == nil {
			all.Patterns = append(all.Patterns, fetchPattern{URL: "*"})
		}
		all.Patterns = append(all.Patterns, x.params.Patterns...)
	}
	return all
}

// next lets a request wait for the next client. After the last one, the request continues.
func (i *Interception[S]) next(p *pausedRequest[S]) Step[S] {
	for len(p.waiting) > 0 {
		s := p.waiting[0]
		p.waiting = p.waiting[1:]
		if i.Has(s) {
			p.owner = s
			event := p.event
			return Step[S]{Session: s, Event: &event}
		}
	}
	delete(i.paused, p.id)
	return p.goOn()
}

// goOn returns the command that continues a request with the changes of all clients.
func (p *pausedRequest[S]) goOn() Step[S] {
	params := map[string]json.RawMessage{"requestId": encode(p.id)}
	maps.Copy(params, p.changes)
	method := "Fetch.continueRequest"
	switch {
	case p.auth:
		method = "Fetch.continueWithAuth"
		params["authChallengeResponse"] = json.RawMessage(`{"response":"Default"}`)
	case p.response && len(p.changes) > 0:
		method = "Fetch.continueResponse"
	}
	return Step[S]{Session: p.owner, Command: Command{method, encode(params)}}
}

// change applies the parameters of a command that continues a request, for the next client and for the
// browser.
func (p *pausedRequest[S]) change(params map[string]json.RawMessage) {
	event, request := make(map[string]json.RawMessage), make(map[string]json.RawMessage)
	_ = json.Unmarshal(p.event.Params, &event)
	_ = json.Unmarshal(event["request"], &request)
	for name, value := range params {
		switch name {
		case "requestId", "authChallengeResponse":
			continue
		case "interceptResponse":
			if string(value) != "true" { // another client may want it
				continue
			}
		case "headers":
			var list []struct{ Name, Value string }
			_ = json.Unmarshal(value, &list)
			headers := make(map[string]string, len(list))
			for _, h := range list {
				headers[h.Name] = h.Value
			}
			request["headers"] = encode(headers)
		case "method":
			request["method"] = value
		case "postData":
			var data []byte
			_ = json.Unmarshal(value, &data)
			request["hasPostData"], request["postData"] = json.RawMessage("true"), encode(string(data))
			request["postDataEntries"] = encode([]any{map[string]any{"bytes": base64.StdEncoding.EncodeToString(data)}})
		case "responseCode":
			event["responseStatusCode"] = value
		case "responsePhrase":
			event["responseStatusText"] = value
		case "responseHeaders":
			event["responseHeaders"] = value
		}
		p.changes[name] = value
	}
	event["request"] = encode(request)
	p.event.Params = encode(event)
}

// wants reports whether a client intercepts a request.
func (p *fetchParams) wants(url, kind, stage string) bool {
	if p.Patterns == nil {
		return stage == "Request"
	}
	return slices.ContainsFunc(p.Patterns, func(x fetchPattern) bool {
		return (x.URL == "" || matchesURL(x.URL, url)) && (x.Type == "" || x.Type == kind) &&
			(x.Stage == stage || x.Stage == "" && stage == "Request")
	})
}

// matchesURL reports whether a URL matches a pattern of Fetch.enable: * matches any sequence of
// characters, ? any character, and a backslash makes the character after it match itself.
func matchesURL(pattern, url string) bool {
	star, from := -1, 0 // after the last *, and what it matches ends there
	i, j := 0, 0
	for j < len(url) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			i++
			star, from = i, j
		case i < len(pattern) && pattern[i] == '?', i < len(pattern) && pattern[i] != '\\' && pattern[i] == url[j]:
			i++
			j++
		case i+1 < len(pattern) && pattern[i] == '\\' && pattern[i+1] == url[j]:
			i += 2
			j++
		case star < 0:
			return false
		default:
			from++
			i, j = star, from
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}

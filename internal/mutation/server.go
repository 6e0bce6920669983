package mutation

const (
	privateSocket = "The server of `chrome-mcp call` accepts connections only of its user."
	sharedBrowser = "Sessions that share a browser have separate policies"
	boundSettings = "The settings of the command that opens a session apply until it closes"
	ownSessions   = "A client of the server finds only the sessions of its principal"
	fairCalls     = "A principal that makes many calls or opens many sessions does not keep others from theirs"
	callsOnce     = "A call whose client disconnects is made once"
	junkRequests  = "Junk and silent connections block neither the server nor its end"
)

var server = []Mutation{
	{
		Promise: privateSocket,
		File:    "internal/server/socket.go",
		Old:     "os.Chmod(path, 0o600)",
		New:     "os.Chmod(path, 0o666)",
		Package: "./internal/server", Test: "TestSocketIsPrivate",
	},
	{
		Promise: privateSocket,
		File:    "internal/server/client.go",
		Old:     "		err = checkSocket(info)\n",
		New:     "		_ = info\n",
		Package: "./cmd/chrome-mcp", Test: "TestSocketOfAnotherUser",
	},
	{
		Promise: boundSettings,
		File:    "internal/server/sessions.go",
		Old:     "	return one.settings.check(name, settings)\n",
		New:     "	return nil\n",
		Package: "./internal/server", Test: "TestSessionSettingsConflict",
	},
	{
		Promise: boundSettings,
		File:    "cmd/chrome-mcp/server_client.go",
		Old:     "return strings.HasPrefix(name, envPrefix) || ",
		New:     "return ",
		Package: "./cmd/chrome-mcp", Test: "TestServerTakesNoSettings",
	},
	{
		Promise: sharedBrowser,
		File:    "internal/egress/port.go",
		Old:     "	return p.proxies[sha256.Sum256([]byte(strings.TrimSpace(credentials)))]\n",
		New:     "	for _, proxy := range p.proxies {\n		return proxy\n	}\n	return p.proxies[sha256.Sum256([]byte(credentials))]\n",
		Package: "./internal/egress", Test: "TestPortSelectsProxyByCredentials",
	},
	{
		Promise: sharedBrowser,
		File:    "internal/page/shared_browser.go",
		Old:     `if command == "" || !v.tab.opts.SharedBrowser {`,
		New:     `if command == "" || true {`,
		Package: "./executor/chromium", Test: "TestPoolIsolatesBackends",
	},
	{
		Promise: sharedBrowser,
		File:    "executor/chromium/pool.go",
		Old:     "	r := b.instances[string(e.TargetInfo.BrowserContextID)]\n",
		New:     "	var r *instance\n	for _, r = range b.instances {\n	}\n",
		Package: "./executor/chromium", Test: "TestPoolIsolatesBackends",
	},
	{
		Promise: ownSessions,
		File:    "internal/server/sessions.go",
		Old:     "	p := principalOf(ctx)\n	key := sessionKey{p.Name, name}\n",
		New:     "	p := principalOf(ctx)\n	key := sessionKey{name: name}\n",
		Package: "./internal/server", Test: "TestPrincipalsSeeOnlyTheirSessions",
	},
	{
		Promise: ownSessions,
		File:    "internal/server/server.go",
		Old:     "		if key.principal == p.Name {\n",
		New:     "		if key.name != \"\" {\n",
		Package: "./internal/server", Test: "TestPrincipalsSeeOnlyTheirSessions",
	},
	{
		Promise: ownSessions,
		File:    "internal/server/sessions.go",
		Old:     "	one := s.sessions[sessionKey{p.Name, name}]\n",
		New:     "	one := s.sessions[sessionKey{\"ann\", name}]\n",
		Package: "./internal/server", Test: "TestPrincipalsSeeOnlyTheirSessions",
	},
	{
		Promise: ownSessions,
		File:    "internal/server/http.go",
		Old:     "if principalOf(r.Context()) != localUser {",
		New:     "if false {",
		Package: "./internal/server", Test: "TestPrincipalsSeeOnlyTheirSessions",
	},
	{
		Promise: ownSessions,
		File:    "internal/server/sessions.go",
		Old:     "p.Settings.difference(settings)",
		New:     "p.Settings.difference(nil)",
		Package: "./internal/server", Test: "TestPrincipalSettings",
	},
	{
		Promise: fairCalls,
		File:    "internal/server/queue.go",
		Old:     "	q.turns = append(slices.Delete(q.turns, i, i+1), principal)\n",
		New:     "	_ = i\n",
		Package: "./internal/server", Test: "TestCallQueueIsFair",
	},
	{
		Promise: fairCalls,
		File:    "internal/server/queue.go",
		Old:     " || q.runs[principal] == 0:",
		New:     ":",
		Package: "./internal/server", Test: "TestCallQueueIsFair",
	},
	{
		Promise: fairCalls,
		File:    "internal/egress/serve.go",
		Old:     "p.requests.Add(1) > p.maxRequests && !p.ownsPort",
		New:     "p.requests.Add(1) < 0",
		Package: "./internal/egress", Test: "TestPortLimitsRequestsOfEachProxy",
	},
	{
		Promise: fairCalls,
		File:    "internal/server/sessions.go",
		Old:     "	case own >= limit:\n",
		New:     "	case own > 1000*limit:\n",
		Package: "./internal/server", Test: "TestSessionLimits",
	},
	{
		Promise: fairCalls,
		File:    "mcp/dispatch.go",
		Old:     "	if err = slot.enter(ctx); err != nil {\n",
		New:     "	if err != nil {\n",
		Package: "./mcp", Test: "TestCallLimit",
	},
	{
		Promise: callsOnce,
		File:    "mcp/lost_result.go",
		Old:     "	l.notes = nil\n",
		New:     "",
		Package: "./mcp", Test: "TestLostResultReported",
	},
	{
		Promise: callsOnce,
		File:    "mcp/http.go",
		Old:     "EventStore: events,",
		New:     "EventStore: map[bool]sdk.EventStore{true: events}[false],",
		Package: "./mcp", Test: "TestResumption",
	},
	{
		Promise: junkRequests,
		File:    "cmd/chrome-mcp/server_session.go",
		Old:     "			stream.Close()\n",
		New:     "",
		Package: "./cmd/chrome-mcp", Test: "TestStreamClientReadsNothing",
	},
	{
		Promise: junkRequests,
		File:    "internal/server/server.go",
		Old:     "		web.Close()\n",
		New:     "		time.Sleep(4 * time.Second)\n",
		Package: "./internal/server", Test: "TestStopWithHalfOpenConnections",
	},
}

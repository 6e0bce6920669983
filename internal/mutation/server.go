package mutation

var server = promises{
	"The server of `chrome-mcp call` accepts connections only of its user.": {
		{
			File: "internal/server/socket.go",
			Old:  "os.Chmod(path, 0o600)",
			New:  "os.Chmod(path, 0o666)",
			Test: "TestSocketIsPrivate",
		},
		{
			File:    "internal/server/client.go",
			Old:     "		err = checkSocket(info)\n",
			New:     "		_ = info\n",
			Package: "./cmd/chrome-mcp", Test: "TestSocketOfAnotherUser",
		},
	},
	"The settings of the command that opens a session apply until it closes": {
		{
			File: "internal/server/workspaces.go",
			Old:  "		if err := ws.settings.check(name, settings); err != nil {\n",
			New:  "		if err := error(nil); err != nil {\n",
			Test: "TestSessionSettingsConflict",
		},
		{
			File: "internal/server/workspaces.go",
			Old:  "	if ws.HasState() { // by the call",
			New:  "	if false { // the call",
			Test: "TestReplaceSession",
		},
		{
			File: "internal/compose/workspace.go",
			Old:  "	if ws.Succeeded() || ws.stack", New: "	if ws.stack",
			Test: "TestReplacedSession",
		},
		{
			File: "internal/compose/workspace.go",
			Old:  "ws.Succeeded() || ws.stack.guard.Granted()", New: "ws.Succeeded()",
			Test: "TestReplacedSession",
		},
		{
			File:    "internal/client/server.go",
			Old:     "return strings.HasPrefix(name, cli.EnvPrefix) || ",
			New:     "return ",
			Package: "./cmd/chrome-mcp", Test: "TestServerTakesNoSettings",
		},
	},
	"Sessions that share a browser have separate policies": {
		{
			File: "internal/egress/port.go",
			Old:  "	return p.proxies[sha256.Sum256([]byte(strings.TrimSpace(credentials)))]\n",
			New:  "	for _, proxy := range p.proxies {\n		return proxy\n	}\n	return p.proxies[sha256.Sum256([]byte(credentials))]\n",
			Test: "TestPortSelectsProxyByCredentials",
		},
		{
			File:    "internal/input/clipboard.go",
			Old:     "	case c.shared:\n",
			New:     "	case false:\n",
			Package: "./executor/chromium", Test: "TestPoolIsolatesBackends",
		},
		{
			File: "executor/chromium/pool.go",
			Old:  "	in := b.instances[string(e.TargetInfo.BrowserContextID)]\n",
			New:  "	var in *instance\n	for id, other := range b.instances {\n		if id != string(e.TargetInfo.BrowserContextID) {\n			in = other\n		}\n	}\n",
			Test: "TestPoolIsolatesBackends",
		},
		{
			File: "executor/chromium/proxy_warmup.go",
			Old:  "	return at.Before(pc.challenged)\n",
			New:  "	return true\n",
			Test: "TestPoolRequestsOfOtherPrograms",
		},
		{
			File: "executor/chromium/pool.go",
			Old:  "did not close a browser context\", \"error\", err)\n		b.retire()\n",
			New:  "did not close a browser context\", \"error\", err)\n",
			Test: "TestPoolRetiresBrowser",
		},
	},
	"Tokens share no browser with each other or with the user.": {
		{
			File: "executor/chromium/pool.go",
			Old:  "launchKey{opts.Principal, ",
			New:  "launchKey{\"\", ",
			Test: "TestPoolQueue$",
		},
		{
			File: "executor/chromium/pool_flood.go",
			Old:  "	if 2*largest > total && largest >= atLeast {\n",
			New:  "	if total > 0 {\n",
			Test: "TestMostActive",
		},
		{
			File: "executor/chromium/pool.go",
			Old:  "	b.watchFlood()\n",
			New:  "",
			Test: "^TestPoolHungBrowser$",
		},
	},
	"Scripts, conversions and full-page screenshots of one principal do not make those of others wait.": {
		{
			File: "internal/script/slots.go",
			Old:  "func newSlot(principal string) *slot {\n",
			New:  "func newSlot(principal string) *slot {\n	principal = \"\"\n",
			Test: "TestSlots",
		},
		{
			File: "internal/keylimit/keylimit.go",
			Old:  "	defer l.mu.Unlock()\n	e := l.keys[k]\n",
			New:  "	defer l.mu.Unlock()\n	e := l.keys[k]\n	for _, e = range l.keys {\n	}\n",
			Test: "TestLimit",
		},
	},
	"An origin stores at most 256 MiB in a shared browser": {
		{
			File:    "internal/page/storage_quota.go",
			Old:     "	if q.limit == 0 || ",
			New:     "	if q.limit >= 0 || ",
			Package: "./executor/chromium", Test: "TestPoolStorage",
		},
	},
	"A client of the server finds only the sessions of its principal": {
		{
			File: "internal/server/workspaces.go",
			Old:  "	p := principalOf(ctx)\n	key := workspaceKey{p.Name, name}\n",
			New:  "	p := principalOf(ctx)\n	key := workspaceKey{name: name}\n",
			Test: "TestPrincipalsSeeOnlyTheirSessions",
		},
		{
			File: "internal/server/server.go",
			Old:  "		if (all || key.principal == p.Name) && !ws.closing {\n",
			New:  "		if len(key.name) > 0 && !ws.closing {\n",
			Test: "TestPrincipalsSeeOnlyTheirSessions",
		},
		{
			File: "internal/server/workspaces.go",
			Old:  "	key := workspaceKey{p.Name, name}\n	if of,",
			New:  "	key := workspaceKey{\"ann\", name}\n	if of,",
			Test: "TestPrincipalsSeeOnlyTheirSessions",
		},
		{
			File: "internal/server/workspaces.go",
			Old:  "ok && p == osUser {",
			New:  "ok && p != nil {",
			Test: "TestSessionsOfTokens",
		},
		{
			File: "internal/server/http.go",
			Old:  "if principalOf(r.Context()) != osUser {",
			New:  "if false {",
			Test: "TestPrincipalsSeeOnlyTheirSessions",
		},
		{
			File: "internal/server/workspaces.go",
			Old:  "p.Settings.differences(settings)",
			New:  "p.Settings.differences(nil)",
			Test: "TestPrincipalSettings",
		},
	},
	"A principal that makes many calls or opens many sessions does not keep others from theirs": {
		{
			File: "internal/server/queue.go",
			Old:  "	q.turns = append(slices.Delete(q.turns, i, i+1), principal)\n",
			New:  "	_ = i\n",
			Test: "TestCallQueueIsFair",
		},
		{
			File: "internal/server/queue.go",
			Old:  " || q.runs[principal] == 0:",
			New:  ":",
			Test: "TestCallQueueIsFair",
		},
		{
			File: "internal/egress/serve.go",
			Old:  "p.requests.Add(1) > p.maxRequests && !p.ownsPort",
			New:  "p.requests.Add(1) < 0",
			Test: "TestPortLimitsRequestsOfEachProxy",
		},
		{
			File: "internal/server/token_file.go",
			Old:  "len(all) == maxMembers",
			New:  "len(all) < 0",
			Test: "TestManySettings",
		},
		{
			File: "internal/typo/typo.go",
			Old:  "diff > maxTypos || diff < -maxTypos",
			New:  "diff != diff",
			Test: "TestNearestOfLongText",
		},
		{
			File: "executor/chromium/pool_queue.go",
			Old:  "		i = p.spentFor(w)\n",
			New:  "		_ = p.spentFor\n",
			Test: "TestPoolSpentBrowsers",
		},
		{
			File: "internal/server/workspaces.go",
			Old:  "	case own >= limit:\n",
			New:  "	case own > 1000*limit:\n",
			Test: "TestSessionLimits",
		},
		{
			File: "internal/server/workspaces.go",
			Old:  "		if key.principal == p.Name {\n			own++\n",
			New:  "		if key.principal == p.Name && !ws.closing {\n			own++\n",
			Test: "TestClosingSessionsCount",
		},
		{
			File: "internal/server/queue.go",
			Old:  "		if len(q.waiting[principal]) > 0 {\n			q.startNext(principal)\n		}\n",
			New:  "",
			Test: "TestCallQueueOneCallEach",
		},
		{
			File: "mcp/dispatch.go",
			Old:  "	if err := slot.acquire(ctx); err != nil {\n",
			New:  "	if err != nil {\n",
			Test: "TestCallLimit",
		},
	},
	"A call whose client disconnects is made once": {
		{
			File:    "internal/mcptransport/lost_result.go",
			Old:     "	l.notes = nil\n",
			New:     "",
			Package: "./mcp", Test: "TestLostResultReported",
		},
		{
			File: "mcp/workspace.go",
			Old:  "EventStore: events,",
			New:  "EventStore: map[bool]sdk.EventStore{true: events}[false],",
			Test: "TestResumption",
		},
	},
	"One session at a time uses a profile": {{
		File: "internal/profilelease/lease.go",
		Old:  "	if l.starting == 0 && !l.started {\n",
		New:  "	if err != nil {\n",
		Test: "TestProfileLeaseOfParallelCalls",
	}},
	"A data directory has one server at a time": {
		{
			File:    "internal/serve/command.go",
			Old:     "	defer l.Release() // last, when the browsers have exited\n",
			New:     "	l.Release()\n",
			Package: "./cmd/chrome-mcp", Test: "TestServeStopWaitsForBrowsers",
		},
		{
			File: "internal/server/socket.go",
			Old:  "	unlock, err := filelock.Lock(wait, lockPath(path), check)\n",
			New:  "	unlock, err := func() {}, wait.Err()\n",
			Test: "TestSocket$",
		},
		{
			File: "internal/server/workspaces.go",
			Old:  "		case <-ws.gone:\n			failed",
			New:  "		default:\n			failed",
			Test: "TestStopWaitsForClosingSessions",
		},
		{
			File: "internal/server/workspaces.go",
			Old:  "		if !old.closing {\n",
			New:  "		if !s.closed {\n",
			Test: "TestClosingSession$",
		},
	},
	"Junk and silent connections block neither the server nor its end": {
		{
			File:    "internal/compose/workspace.go",
			Old:     "			stream.Close()\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "TestStreamClientReadsNothing",
		},
		{
			File: "internal/server/server.go",
			Old:  "		web.Close()\n",
			New:  "		time.Sleep(4 * time.Second)\n",
			Test: "TestStopWithHalfOpenConnections",
		},
		{
			File: "internal/egress/egress.go",
			Old:  "		p.port.listener.CloseConns(p)\n",
			New:  "",
			Test: "TestPortClosesProxyOfUnreadResponse",
		},
		{
			File: "internal/server/http.go",
			Old:  "return h.unsent.add(p.Name, n)",
			New:  "return nil",
			Test: "TestHTTPUnreadResponses",
		},
		{
			File: "internal/server/http.go",
			Old:  "				panic(http.ErrAbortHandler) // closes the connection\n",
			New:  "",
			Test: "TestHTTPUnreadResponses",
		},
	},
}

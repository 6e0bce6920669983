package mutation

var serverHTTP = promises{
	"`chrome-mcp serve --listen` needs a bearer token for every route except `/healthz`.": {
		{
			File: "internal/server/tokens.go",
			Old:  "subtle.ConstantTimeCompare(c.Digest[:], digest[:]) == 1",
			New:  "subtle.ConstantTimeCompare(c.Digest[:], digest[:]) >= 0",
			Test: "TestHTTPNeedsToken",
		},
		{
			File: "internal/server/http.go",
			Old:  "	if principalOf(r.Context()) != osUser {\n",
			New:  "	if false {\n",
			Test: "TestHTTPLocalOnlyRoutes",
		},
	},
	"`chrome-mcp serve --listen` rejects requests with another Host": {
		{
			File: "internal/server/origin.go",
			Old:  "		return \"host\"\n",
			New:  "		return \"\"\n",
			Test: "TestHTTPRejectsPages",
		},
		{
			File: "internal/server/origin.go",
			Old:  "	if port == defaultPort[scheme] {\n",
			New:  "	if port != \"\" {\n",
			Test: "TestHostOfDefaultPort",
		},
	},
	"`chrome-mcp serve --listen` rejects requests that a page sends": {
		{
			File: "internal/server/origin.go",
			Old:  "		return \"origin\"\n",
			New:  "",
			Test: "TestHTTPRejectsPages",
		},
		{
			File: "internal/server/origin.go",
			Old:  `site != "none" && `,
			New:  `site == "" && `,
			Test: "TestHTTPRejectsPages",
		},
	},
	"`chrome-mcp serve --listen` listens outside of loopback only with TLS": {{
		File: "internal/server/http.go",
		Old:  "if !addr.IP.IsLoopback() && h.tls == nil",
		New:  "if addr.IP == nil && h.tls == nil",
		Test: "TestListenHTTPErrors",
	}},
	"A token gives access only to the browsers that its entry names": {
		{
			File:    "internal/serve/principal.go",
			Old:     `if needs != "" && `,
			New:     `if needs == "none" && `,
			Package: "./cmd/chrome-mcp", Test: "TestServeErrors",
		},
		{
			File: "internal/serve/principal.go",
			Old:  `values["--prefer"] = []string{"cdp"}`,
			New:  `delete(values, "--prefer")`,
			Test: "TestPrincipalSettings",
		},
		{
			File: "internal/serve/principal.go",
			Old:  "chosen = append(chosen, s.Browsers[i])",
			New:  "chosen = s.Browsers",
			Test: "TestPrincipalBrowsers",
		},
	},
	"A named browser is under the policy and the grants of its session.": {{
		File:    "internal/compose/named_browsers.go",
		Old:     "s.chromium(sessionNetwork{o.guard.Network(), s.endpoints}, o.log)",
		New:     "s.chromium(nil, o.log)",
		Package: "./cmd/chrome-mcp", Test: "TestNamedBrowsersOfServer",
	}},
	"A token file that others can read": {
		{
			File: "internal/server/token_file.go",
			Old:  "if len(key) >= minToken {",
			New:  "if false {",
			Test: "TestTokenFileErrors",
		},
		{
			File:    "internal/owneronly/readwrite.go",
			Old:     "	if err == nil {\n		err = CheckFile(info)\n	}\n	if err == nil {\n		err = CheckParents",
			New:     "	_ = info\n	if err == nil {\n		err = CheckParents",
			Package: "./internal/server", Test: "TestTokenFilePermissions",
		},
	},
	"The token of a run is in a file that only the user can read": {
		{
			File:    "internal/owneronly/readwrite.go",
			Old:     "os.SameFile(info, f.info)",
			New:     "os.SameFile(info, info)",
			Package: "./internal/server", Test: "TestNewToken",
		},
		{
			File:    "internal/server/drain.go",
			Old:     "	h.removeFiles()\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "TestServeHTTP$",
		},
	},
	"Pages cannot reach the server of their session": {
		{
			File: "bridge/file_watch.go",
			Old:  "return !reflect.DeepEqual(c.policy, policy)",
			New:  "return reflect.DeepEqual(nil, policy)",
			Test: "TestChangedPolicyIsSent",
		},
		{
			File:    "internal/compose/workspace.go",
			Old:     "	settings.BlockDomain = append(settings.BlockDomain, o.OwnHosts...)\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "TestPagesCannotReachServer",
		},
		{
			File:    "internal/compose/endpoint_ports.go",
			Old:     "	rules.AddOwnPorts(ownPorts(s.Data))\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "TestPagesCannotReachServer",
		},
		{
			File:    "policy/policy.go",
			Old:     "(s.loopback() || s.addr.IsValid()) && p.owns",
			New:     "s.loopback() && p.owns",
			Package: "./internal/compose", Test: "TestPagesCannotReachOtherProcesses",
		},
		{
			File: "policy/network.go",
			Old:  "p.own.addresses.contains(addr) && p.owns",
			New:  "addr.IsLoopback() && p.owns",
			Test: "TestCheckOwnAddr",
		},
		{
			File: "internal/server/port_file.go",
			Old:  "	if isNotListening(err) {",
			New:  "	if err != nil {",
			Test: "TestListeningPortOfBusyServer",
		},
		{
			File: "internal/server/port_file.go",
			Old:  "	if isNotListening(err) {",
			New:  "	if false {",
			Test: "TestListeningPort$",
		},
	},
	"Headers, bodies, connections, requests in progress and slow clients of `chrome-mcp serve --listen` are limited.": {
		{
			File:    "internal/server/http.go",
			Old:     "		if !h.requests.TryAcquire(p) {\n",
			New:     "		if !h.requests.TryAcquire(&Principal{}) {\n",
			Package: "./internal/server", Test: "TestHTTP2RequestsOfPrincipal",
		},
		{
			File: "internal/server/body.go",
			Old:  "		return 0, bodyTooLargeError(limit)\n	}\n	if err != nil {",
			New:  "		return 0, nil\n	}\n	if err != nil {",
			Test: "TestHTTPLimits",
		},
		{
			File: "internal/server/body.go",
			Old:  "b.used[principal]+n > b.limit",
			New:  "b.used[principal]+n < 0",
			Test: "TestHTTPBodyBudget",
		},
		{
			File: "internal/server/body.go",
			Old:  "r.ContentLength < 0 || ",
			New:  "",
			Test: "TestHTTPBodyBudgetOfUnknownLength",
		},
		{
			File: "internal/server/response_writer.go",
			Old:  "w.control.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil",
			New:  "w.control.SetWriteDeadline(time.Time{}); err != nil",
			Test: "TestHTTPWriteTimeout",
		},
	},
	"Connections without a token keep out no client": {
		{
			File:    "internal/connlimit/connlimit.go",
			Old:     "		l.evict()\n",
			New:     "",
			Package: "./internal/server", Test: "TestHTTPHalfOpenConnections",
		},
		{
			File: "internal/server/http.go",
			Old:  "connlimit.CloseIdle(headerTimeout)",
			New:  "connlimit.CloseIdle(idleTimeout)",
			Test: "TestHTTP2SlowClients",
		},
		{
			File:    "internal/connlimit/connlimit.go",
			Old:     "	if limit > 0 && len(l.owned[owner]) >= limit {\n",
			New:     "	if limit < 0 {\n",
			Package: "./internal/server", Test: "TestHTTPConnectionsOfPrincipal",
		},
		{
			File: "internal/server/http.go",
			Old:  "max(maxConnections, (len(principals)+1)*maxPrincipalConnections)",
			New:  "maxConnections",
			Test: "TestHTTPConnectionsAreEnough",
		},
	},
}

package mutation

var cdpEndpoint = promises{
	"CDP clients need the eval grant and an address on loopback.": {
		{
			File:    "internal/cli/cdp_flags.go",
			Old:     "if !s.ServesCDP() || rules.Config().Eval {",
			New:     "if true {",
			Package: "./cmd/chrome-mcp", Test: "TestScripts/cdp$",
		},
		{
			File: "internal/cli/cdp_flags.go",
			Old:  "if !IsLoopback(host) {",
			New:  "if false {",
			Test: "TestBadSettings",
		},
	},
	"The endpoint for CDP clients exists only below its secret path": {{
		File:    "relay/http.go",
		Old:     " || !loopbackHost(r.Host) {",
		New:     " {",
		Package: "./cmd/chrome-mcp", Test: "TestCDPEndpoint$",
	}},
	"The URL for CDP clients is in a file that only the user can read": {
		{
			File:    "internal/cdpendpoint/endpoint.go",
			Old:     "	e.file.Remove()\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "TestCDPEndpoint$",
		},
		{
			File: "internal/cdpendpoint/file.go",
			Old:  "return err == nil && process == r.Process",
			New:  "return err == nil && process != \"\"",
			Test: "TestCDPFile$",
		},
	},
	"Pages cannot reach the endpoint for CDP clients": {{
		File:    "internal/compose/bridge.go",
		Old:     "range cdpendpoint.Running(data) {",
		New:     "range cdpendpoint.Running(\"\") {",
		Package: "./cmd/chrome-mcp", Test: "TestPagesCannotReachCDPEndpoint",
	}},
	"In a server, CDP clients need the token": {{
		File:    "internal/compose/executor_stack.go",
		Old:     "s.CDPEndpoint == \"\" && !s.ServesCDP()",
		New:     "s.CDPEndpoint == \"\"",
		Package: "./cmd/chrome-mcp", Test: "TestServeCDP",
	}},
	"CDP clients are disconnected before the browser closes.": {{
		File:    "internal/compose/executor_stack.go",
		Old:     "clients := s.cdp.Close()",
		New:     "clients := error(nil)",
		Package: "./cmd/chrome-mcp", Test: "TestCDPEndpoint$",
	}},
	"The commands with which CDP clients act or read are in the audit log": {{
		File:    "internal/cdpendpoint/endpoint.go",
		Old:     "		Audit:      record,\n",
		New:     "",
		Package: "./cmd/chrome-mcp", Test: "TestCDPEndpoint$",
	}},
	"While CDP clients are enabled, the managed browser loads no document of a denied site": {{
		File: "executor/chromium/document_interception.go",
		Old:  "!d.in.opts.CDPClients && d.isSubframe",
		New:  "in.isSubframe",
		Test: "TestCDPClientFrames",
	}},
	"CDP clients cannot use the cookies, storage and documents of denied sites": {
		{
			File: "relay/cookies.go",
			Old:  "json.Unmarshal(raw, &x) == nil && s.allowsCookie(x)",
			New:  "json.Unmarshal(raw, &x) == nil",
			Test: "TestChromiumPolicy",
		},
		{
			File: "relay/cookies.go",
			Old:  "if strings.HasSuffix(cmd.method, \".setCookies\") {",
			New:  "if p[\"cookies\"] != nil {",
			Test: "TestSetCookies",
		},
	},
	"Commands of CDP clients that are not in the table are rejected": {{
		File: "relay/client.go",
		Old:  "case rule.denied != \"\":",
		New:  "case false:",
		Test: "TestDeniedCommands",
	}},
	"The extension popup shows the names of CDP clients.": {
		{
			File: "executor/extension/cdp_hub.go",
			Old:  `reason == "user" || reason == "debugger"`,
			New:  "false",
			Test: "TestCDPClients/^Stop_of_a_tab",
		},
		{
			File: "executor/extension/cdp.go",
			Old:  "		t.leave(mine)\n",
			New:  "		_, _ = t, mine\n",
			Test: "TestCDPClientKilled",
		},
		{
			File: "executor/extension/cdp_session.go",
			Old:  "	s.undoSettings() //",
			New:  "	//",
			Test: "TestCDPSettingsUndone",
		},
	},
	"In the user's Chrome, a stock Playwright client reaches no denied host": {{
		File:    "extension/network_rules.js",
		Old:     "addRules: rules,",
		New:     "addRules: [],",
		Package: "./executor/extension", Test: "^TestCDPDeniedDocument$",
	}},
	"In the user's Chrome, CDP clients run scripts only on sites for which the user has allowed it": {
		{
			File: "extension/cdp_client_methods.js",
			Old:  "    if (origin !== '') checkMainWorld(origin, s);\n",
			New:  "",
			Test: "commands of clients are allowed or denied",
		},
		{
			File: "extension/cdp_client_methods.js",
			Old:  "  if (!SUBRESOURCES.has(String(request.type))) requireConsentForURL(request.url, s);\n",
			New:  "",
			Test: "commands of clients are allowed or denied",
		},
		{
			File: "extension/cdp_client_methods.js",
			Old:  " || params.nodeId !== undefined || params.backendNodeId !== undefined",
			New:  "",
			Test: "commands of clients are allowed or denied",
		},
		{
			File: "extension/cdp_client_methods.js",
			Old:  "  if (params.accept === false) return;\n  requireConsent(s);\n",
			New:  "  if (params.accept === false) return;\n",
			Test: "commands of clients are allowed or denied",
		},
		{
			File: "extension/attachment.js",
			Old:  "    return consent ? {} : { noConsent: true };\n",
			New:  "    return {};\n",
			Test: "events of a document on whose site the user has not allowed scripts are marked",
		},
		{
			File: "extension/attachment.js",
			Old:  "        if (documents.loads !== loads && Object.keys(result).length > 0) await this.checkResult(sessionId, method, params, client);\n",
			New:  "",
			Test: "the result of a client is denied if it may contain a document that appeared after the check",
		},
		{
			File: "internal/cdpshare/events.go",
			Old:  "	case \"Accessibility\", \"Animation\", \"Input\", \"Log\":\n		return true\n",
			New:  "",
			Test: "TestEventsWithoutConsent",
		},
		{
			File: "extension/attachment.js",
			Old:  "      await checkClient(method, {}, { ...this.context(''), askEval: () => {} });\n",
			New:  "",
			Test: "a client receives a frame of its screencast only if the documents were checked and have not changed",
		},
	},
}

package mutation

var attached = promises{
	"In an attached browser, the policy applies to the navigations and loads of driven tabs that CDP reports, and to popup windows from their first document": {
		{
			File: "executor/chromium/instance.go",
			Old:  `"autoAttach": true, "waitForDebuggerOnStart": true`,
			New:  `"autoAttach": true, "waitForDebuggerOnStart": false`,
			Test: "^TestAttachedPopups$",
		},
		{
			File: "executor/chromium/document_interception.go",
			Old:  `FromAttach: d.in.contextID != "", `,
			New:  ``,
			Test: "^TestAttachedPopups$",
		},
		{
			File: "executor/chromium/targets.go",
			Old:  "	p, err := s.Start(ctx, \"Runtime.runIfWaitingForDebugger\", nil)\n	detach",
			New:  "	p, err := new(cdpconn.Pending), error(nil)\n	detach",
			Test: "^TestAttachedUserPopups$",
		},
		{
			File: "executor/chromium/targets.go",
			Old:  "		in.conn.BrowserSession().Start(ctx, \"Target.detachFromTarget\", map[string]any{\"sessionId\": s.ID()})\n",
			New:  "",
			Test: "^TestAttachedUserPopups$",
		},
		{
			File: "executor/chromium/resume.go",
			Old:  "	parent.Outlive()\n",
			New:  "",
			Test: "^TestKilledBeforePopupResumes$",
		},
	},
	"The egress proxy serves only its own browser and this program": {
		{
			File:    "internal/egress/private.go",
			Old:     `opts.Credentials = url.UserPassword("chrome-mcp", rand.Text())`,
			New:     `_ = rand.Text`,
			Package: "./executor/extension", Test: "^TestProxyAccess$",
		},
		{
			File: "executor/chromium/instance.go",
			Old:  `	p, err := egress.NewPrivate(port, options, opts.Proxy)`,
			New:  `	p, err := egress.New(options)`,
			Test: "^TestProxyRequiresCredentials$",
		},
	},
	"Through the egress address for browsers on other machines, requests without the credentials of a browser reach nothing.": {
		{
			File: "executor/chromium/remote_egress.go",
			Old:  "startProxy(port, opts)",
			New:  "port.New(egress.Options{Policy: opts.Network})",
			Test: "^TestRemoteEgressCredentials$",
		},
		{
			File: "executor/chromium/remote_egress.go",
			Old:  "if e.proxies--; e.proxies > 0 {",
			New:  "if e.proxies--; true {",
			Test: "^TestRemoteEgressCredentials$",
		},
		{
			File: "executor/chromium/instance.go",
			Old:  "		err = in.proxy.Close()\n",
			New:  "		err = nil\n",
			Test: "^TestRemoteEgressCredentials$",
		},
	},
	"Pages cannot reach our own ports.": {
		{
			File:    "internal/egress/private.go",
			Old:     `own.AddOwnPort(p.Port())`,
			New:     `_ = own`,
			Package: "./executor/chromium", Test: "^TestProxyClosesItsOwnPort$",
		},
		{
			File:    "internal/egress/private.go",
			Old:     `own.AddOwnPort(p.Port())`,
			New:     `_ = own`,
			Package: "./executor/extension", Test: "^TestProxyAccess$",
		},
		{
			File: "executor/chromium/instance.go",
			Old:  "		opts.closePort(at.URL)\n",
			New:  "",
			Test: "^TestPagesCannotReachDebuggingPort$",
		},
		{
			File: "internal/compose/endpoint_ports.go",
			Old:  "	rules.AddOwnPorts(e.list)\n",
			New:  "",
			Test: "^TestPagesCannotReachEndpointsOfOthers$",
		},
		{
			File: "internal/compose/endpoint_ports.go",
			Old:  "{ n.endpoints.addPort(port) }",
			New:  "{}",
			Test: "^TestPagesCannotReachFoundBrowsersOfOthers$",
		},
		{
			File: "internal/readcmd/read.go",
			Old:  "	compose.DenyOwnPorts(rules, s)\n",
			New:  "",
			Test: "^TestReadHTTPOwnPorts$",
		},
	},
	"The origin is the one that the browser reports, not the page: opaque origins are denied, blank pages have the origin of their creator.": {{
		File:    "internal/frames/tree.go",
		Old:     `return s.tree.observer.OwnsBlank() && !s.hasLeftBlank`,
		New:     `return s.tree.observer.OwnsBlank()`,
		Package: "./executor/chromium", Test: "^TestBlankPopup$",
	}},
	"Browser arguments that bypass the egress proxy or weaken site isolation are rejected": {
		{
			File: "internal/launch/flags.go",
			Old:  `if slices.Contains(proxyBypassSwitches, name) {`,
			New:  `if false {`,
			Test: "^TestArgumentsUnderProxy$",
		},
		{
			File: "internal/launch/flags.go",
			Old:  `return strings.EqualFold(required, feature)`,
			New:  `return false`,
			Test: "^TestArgumentsUnderProxy$",
		},
	},
}

package mutation

var consent = promises{
	"Prompts are only for a public site": {
		{
			File: "extension/permission_prompts.js",
			Old:  "JSON.stringify([server, client, kind, origin, tool, call])",
			New:  "JSON.stringify([server, client, kind, tool, call])",
			Test: "an open prompt is not shared with another call",
		},
		{
			File: "extension/permission_prompts.js",
			Old:  "    if (answer === 'once' && this.find(id)?.waiting.size === 0) throw new Error(NO_CALL_WAITS);\n",
			New:  "",
			Test: "once applies to waiting calls and is not stored",
		},
		{
			File: "mcp/consent.go",
			Old:  "	hash.Write(text)\n",
			New:  "	_ = text\n",
			Test: "TestCallHash",
		},
	},
	"An agent's scripts need the user's consent for each site": {
		{
			File: "extension/consent.js",
			Old:  "      if (q.waiting.size === 0) throw new Error(NO_CALL_WAITS);\n",
			New:  "",
			Test: "once cannot be granted after the call ended",
		},
		{
			File: "extension/consent.js",
			Old:  "JSON.stringify([agent.key, origin, call])",
			New:  "scope",
			Test: "a once grant does not apply to another call",
		},
	},
	"A click on one question in the extension popup or in the dashboard never answers another": {
		{
			File:    "extension/popup.js",
			Old:     "  enableAnswers(false);\n",
			New:     "",
			Package: "./extension", Test: "TestPages",
		},
		{
			File:    "internal/dashboard/static/dashboard.js",
			Old:     "  settled = false;\n",
			New:     "",
			Package: "./internal/dashboard", Test: "TestMovedQuestion",
		},
	},
	"The gate checks the tab, frame and document that the call accesses, immediately before the access.": {{
		File:    "internal/frames/events.go",
		Old:     "				f.url = e.URL\n",
		New:     "",
		Package: "./executor/chromium", Test: "TestExecutor/.*/gate/pushState_to_a_denied_path",
	}},
	"A page on the user's block list is not read, even if an agent's tab opened it or `pushState` moved the tab to its path": {
		{
			File: "extension/tab_documents.js",
			Old:  "        return this.setURL(sessionId, params.frameId, params.url);\n",
			New:  "        return false;\n",
			Test: "a document at a blocked path by pushState is not readable",
		},
		{
			File: "extension/methods.js",
			Old:  "  for (const url of [s.url, s.child ",
			New:  "  for (const url of [s.child ",
			Test: "a read is denied if the document moves to a blocked path during it",
		},
	},
	"In the user's Chrome, scripts run only in documents that have an origin, and never in a content script of another extension": {
		{
			File: "extension/methods.js",
			Old:  "  if (!world.main && !world.ours) throw new CommandError('POLICY_DENIED', 'chrome-mcp did not create the isolated world');\n",
			New:  "",
			Test: "scripts run only in worlds of the server in documents with an origin",
		},
		{
			File: "extension/methods.js",
			Old:  "s.child || world.frame !== s.top || !noPage(s)",
			New:  "false",
			Test: "scripts run only in worlds of the server in documents with an origin",
		},
	},
	"A tab that the user shares for a time is released when no call has used it for that time, and it is not handed over to the user. Pages cannot renew it.": {
		{
			File: "extension/tabs.js",
			Old:  "shared.expires <= Date.now()) this.unshare",
			New:  "false) this.unshare",
			Test: "a tab shared for a time expires unless a call renews it",
		},
		{
			File: "extension/commands.js",
			Old:  "client !== '' && !method.startsWith('Fetch.')",
			New:  "client !== ''",
			Test: "calls of agents renew the time that a tab is shared for, and requests of pages do not",
		},
	},
	"A page can neither cause nor fake *Send to agent*": {
		{
			File:    "internal/page/js/document_start.js",
			Old:     "if (e.isTrusted) pointed.last",
			New:     "pointed.last",
			Package: "./cmd/chrome-mcp", Test: "^TestSendToAgent$",
		},
		{
			File:    "extension/broker.js",
			Old:     "      if (siteOf(url) && decide(this.scopes.policyFor(c), url) !== null) continue;\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "^TestSendToAgent$",
		},
	},
	"The extension makes its own decisions, and sends nothing for a tab that its user has not shared, except the states of downloads that started while it was shared.": {
		{
			File: "extension/commands.js",
			Old:  "  const rules = () => b.scopes.policyFor(c);\n",
			New:  "  const now = b.scopes.policyFor(c), rules = () => now;\n",
			Test: "a tab is attached under the rules that apply when it is attached",
		},
		{
			File: "extension/methods.js",
			Old:  "(s.child ? decide(s.rules, s.site) : null)",
			New:  "(s.child && s.site !== '' ? decide(s.rules, s.site) : null)",
			Test: "commands are allowed or denied",
		},
		{
			File: "extension/methods.js",
			Old:  "  'Page.enable': allowAlways,\n",
			New:  "  'Page.enable': allowAlways,\n  'Page.disable': allowAlways,\n",
			Test: "commands are allowed or denied",
		},
	},
}

package mutation

const (
	onceForThatCall = "Prompts are only for a public site"
	pushStateCounts = "The gate checks the tab, frame and document that the call accesses, immediately before the access."
	ownDecision     = "The extension makes its own decisions, and sends nothing for a tab that its user has not shared."
	blockListPaths  = "A page on the user's block list is not read, even if an agent's tab opened it or `pushState` moved the tab to its path"
	ownWorlds       = "In the user's Chrome, scripts run only in documents that have an origin, and never in a content script of another extension"
)

var consent = []Mutation{
	{
		Promise: onceForThatCall,
		File:    "extension/permission_prompts.js",
		Old:     "JSON.stringify([server, client, kind, origin, tool, call])",
		New:     "JSON.stringify([server, client, kind, tool, call])",
		Package: "extension/test", Test: "an open prompt is not shared with another call",
	},
	{
		Promise: onceForThatCall,
		File:    "extension/permission_prompts.js",
		Old:     "      if (answer === 'once') throw new Error(NO_CALL_WAITS);\n",
		New:     "",
		Package: "extension/test", Test: "once applies to waiting calls and is not stored",
	},
	{
		Promise: "An agent's scripts need the user's consent for each site",
		File:    "extension/consent.js",
		Old:     "      if (q.waiting.size === 0) throw new Error(NO_CALL_WAITS);\n",
		New:     "",
		Package: "extension/test", Test: "once cannot be granted after the call ended",
	},
	{
		Promise: "An agent's scripts need the user's consent for each site",
		File:    "extension/consent.js",
		Old:     "prompts.find((x) => x.call === call)",
		New:     "prompts[0]",
		Package: "extension/test", Test: "a once grant does not apply to another call",
	},
	{
		Promise: onceForThatCall,
		File:    "mcp/permission_prompt.go",
		Old:     "	hash.Write(text)\n",
		New:     "	_ = text\n",
		Package: "./mcp", Test: "TestCallHash",
	},
	{
		Promise: "A click on one prompt in the extension popup never answers another",
		File:    "extension/popup.js",
		Old:     "  enable(false);\n",
		New:     "",
		Package: "./extension", Test: "TestPages",
	},
	{
		Promise: pushStateCounts,
		File:    "internal/page/protocol_events.go",
		Old:     "				f.url = e.URL\n",
		New:     "",
		Package: "./executor/chromium", Test: "TestExecutor/.*/gate/pushState_to_a_denied_path",
	},
	{
		Promise: blockListPaths,
		File:    "extension/relay.js",
		Old:     "        this.moved(a, sessionId, params.frameId, params.url);\n",
		New:     "",
		Package: "extension/test", Test: "a document at a blocked path by pushState is not readable",
	},
	{
		Promise: blockListPaths,
		File:    "extension/relay.js",
		Old:     "        if (why) throw new CommandError('POLICY_DENIED', why);\n",
		New:     "",
		Package: "extension/test", Test: "a read is denied if the document moves to a blocked path during it",
	},
	{
		Promise: ownWorlds,
		File:    "extension/methods.js",
		Old:     "  if (!world.main && !world.ours) throw new CommandError('POLICY_DENIED', 'chrome-mcp did not create the isolated world');\n",
		New:     "",
		Package: "extension/test", Test: "scripts run only in worlds of the server in documents with an origin",
	},
	{
		Promise: ownWorlds,
		File:    "extension/methods.js",
		Old:     "s.child || world.frame !== s.top || !noPage(s)",
		New:     "false",
		Package: "extension/test", Test: "scripts run only in worlds of the server in documents with an origin",
	},
	{
		Promise: ownDecision,
		File:    "extension/methods.js",
		Old:     "(s.child ? decide(s.rules, s.site) : null)",
		New:     "(s.child && s.site !== '' ? decide(s.rules, s.site) : null)",
		Package: "extension/test", Test: "commands are allowed or denied",
	},
	{
		Promise: ownDecision,
		File:    "extension/methods.js",
		Old:     "  'Page.enable': allowAlways,\n",
		New:     "  'Page.enable': allowAlways,\n  'Page.disable': allowAlways,\n",
		Package: "extension/test", Test: "commands are allowed or denied",
	},
}

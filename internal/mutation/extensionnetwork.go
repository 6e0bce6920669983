package mutation

var extensionNetwork = promises{
	"In the user's Chrome, a new tab counts as the user's only when Chrome shows that no driven page opened it": {
		{
			File: "extension/user_tabs.js",
			Old:  "    if (this.known && !this.inScope(tabId) && !this.known.has(tabId)) this.tried.add(tabId);",
			New:  "    this.known?.add(tabId);",
			Test: "a blocked load does not make a tab known",
		},
		{
			File: "extension/user_tabs.js",
			Old:  "new Set(['typed', ",
			New:  "new Set(['start_page', 'typed', ",
			Test: "a new tab is the user's only with proof",
		},
		{
			File: "extension/user_tabs.js",
			Old:  "    this.joined.set(tabId, this.joined.get(source) ?? source);",
			New:  "",
			Test: "windows opened by pages of a scope join it",
		},
		{
			File: "extension/network_rules.js",
			Old:  "targets.push({ initiatorDomains: initiators, ...unknown, resourceTypes: mainFrame });",
			New:  "",
			Test: "rules for known initiators apply to a tried tab",
		},
		{
			File: "extension/network_rules.js",
			Old:  "    for (const from of [{ initiatorDomains: initiators }, { excludedInitiatorDomains: NAMED }]) {",
			New:  "    for (const from of [{ initiatorDomains: initiators }]) {",
			Test: "a frame in an unknown window loads only sites to which rules apply",
		},
	},
	"In the user's Chrome, frames in a driven tab open no denied document, whatever their site, and their workers reach no private address": {
		{
			File:    "extension/network_scopes.js",
			Old:     "      if (this.hosts.add(scopeKeyOf(a), url)) this.delayCommands(a.connection, this.updateOrRelease());",
			New:     "",
			Package: "./executor/extension", Test: "^TestExtensionLeaks$",
		},
		{
			File: "extension/network_rules.js",
			Old:  "'block', { regexFilter }, [workers]);",
			New:  "'block', { regexFilter });",
			Test: "workers of all sites are blocked from private addresses only",
		},
		{
			File: "extension/hosts.js",
			Old:  "    return hosts === ANY ? null : [...hosts];",
			New:  "    return [...hosts];",
			Test: "a scope stores a limited number of hosts",
		},
		{
			File: "extension/hosts.js",
			Old:  " || !NAMEABLE.test(host)",
			New:  "",
			Test: "a host that no rule can list counts as any",
		},
		{
			File: "extension/hosts.js",
			Old:  "?.host.replace(/\\.$/, '');",
			New:  "?.host;",
			Test: "a host that no rule can list counts as any",
		},
		{
			File: "extension/network_scopes.js",
			Old:  "frameId !== 0 || decide(a.rules, url) === null",
			New:  "frameId !== 0",
			Test: "the rules include the site of a page that was open before its tab is driven",
		},
	},
	"If the browser does not accept the network rules": {
		{
			File: "extension/network_scopes.js",
			Old:  "      await this.releaseAll(this.attachments.all(), e);\n",
			New:  "",
			Test: "a tab is released if the rules for a new frame cannot be installed",
		},
		{
			File: "extension/network_rules.js",
			Old:  "    if (tried.size > 0 && count() > MAX_EXPRESSIONS) rules = build([]);\n",
			New:  "",
			Test: "a policy that needs nearly all expressions stays installed while a tab is tried",
		},
	},
	"*Stop* and *Stop all* also end calls": {
		{
			File: "extension/tabs.js",
			Old:  "this.stopCount !== stopCount || ",
			New:  "",
			Test: "calls that started before Stop all share nothing after it",
		},
		{
			File: "extension/tabs.js",
			Old:  " || (opener && this.state.declined.includes(opener.tabId))",
			New:  "",
			Test: "calls that started before Stop all share nothing after it",
		},
	},
	"No tool accepts a URL for cookies": {{
		File: "extension/attachment.js",
		Old:  "withoutCookies(method, params), this.requests.started",
		New:  "params, this.requests.started",
		Test: "events that carry the cookies of all sites are not sent",
	}},
	"A page on the user's block list is not read, even if an agent's tab opened it or `pushState` moved the tab to its path": {{
		File: "extension/tab_documents.js",
		Old:  "    return urls.some((url) => url && decide(rules, url) !== null);",
		New:  "    return decide(rules, this.url) !== null;",
		Test: "what a frame reports at a blocked path is not sent",
	}},
}

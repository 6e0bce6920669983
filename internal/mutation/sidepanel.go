package mutation

var sidePanel = promises{
	"The MCP server of a chat accepts only the token of this chat": {
		{
			File: "internal/server/tokens.go",
			Old:  "		if p == nil {\n			failWith(",
			New:  "		if p == nil {\n			p = osUser\n		}\n		if false {\n			failWith(",
			Test: "^TestSocketTokens$",
		},
		{
			File: "internal/server/tokens.go",
			Old:  "	t.all = slices.DeleteFunc(slices.Clone(t.all), func(c Credential) bool { return c.Principal == p })\n",
			New:  "	_ = slices.Clone(t.all)\n",
			Test: "^TestSocketTokens$",
		},
	},
	"A chat sees only the tabs that the user gave to it": {
		{
			File: "bridge/handshake.go",
			Old:  `	if only := s.opts.Installation; only != "" && (hello.Installation != only || hello.Key != wire.KeyToken) {`,
			New:  "	if false {",
			Test: "^TestGivenTabs$",
		},
		{
			File: "extension/tabs.js",
			Old:  "?.server === exclusiveServer(shared);",
			New:  " !== undefined;",
			Test: "a tab that is given to a chat leaves the group of shared tabs, and so do the pages that it opens",
		},
		{
			File: "extension/chats.js",
			Old:  "    await requireSite(tab);\n",
			New:  "",
			Test: "a tab that shows another site when the agent has started is not given",
		},
		{
			File: "extension/chats.js",
			Old:  "await requireSite(tab).catch(",
			New:  "await Promise.resolve().catch(",
			Test: "a tab that shows another site when the agent has started is not given",
		},
	},
	"Text of agents and pages runs no script in the panel": {{
		File:    "extension/markdown.js",
		Old:     "!/^https?:\\/\\//i.test(text)",
		New:     "!/^[a-z]+:/i.test(text)",
		Package: "extension/test",
		Test:    "no text of the XSS corpus",
	}},
	"Only the extension can use the native port of chats": {{
		File:    "internal/nativehost/chats.go",
		Old:     "	if !slices.ContainsFunc(extension.IDs(), ",
		New:     "	if false && !slices.ContainsFunc(extension.IDs(), ",
		Package: "./cmd/chrome-mcp", Test: "^TestChatsOfOneBrowser$",
	}},
	"An agent starts without a shell and without the variables of chrome-mcp": {
		{
			File: "internal/chat/process.go",
			Old:  `"CHROME_MCP_"`,
			New:  `"NONE_"`,
			Test: "^TestProcess$",
		},
		{
			File: "internal/chat/process_linux.go",
			Old:  "attr.Pdeathsig = syscall.SIGKILL",
			New:  "attr.Pdeathsig = 0",
			Test: "^TestKilledHost$",
		},
		{
			File: "internal/chat/process_unix.go",
			Old:  "	_ = g.leader.Kill()\n",
			New:  "",
			Test: "^TestCloseAgentInOtherGroup$",
		},
	},
	"Agents start only from a configuration that only the user can write": {{
		File: "internal/agents/agents.go",
		Old:  "	data, err := owneronly.ReadFile(path, maxFile)\n",
		New:  "	data, err := os.ReadFile(path)\n",
		Test: "^TestLoadInvalid$",
	}},
	"Requests of an agent for files and terminals are rejected": {
		{
			File: "internal/chat/updates.go",
			Old:  "ClientMethodFsReadTextFile && c.agent.Files:",
			New:  "ClientMethodFsReadTextFile:",
			Test: "^TestFilesAndTerminals$",
		},
		{
			File: "internal/chat/files.go",
			Old:  "!filepath.IsAbs(path) || err != nil || !filepath.IsLocal(name)",
			New:  "err != nil",
			Test: "^TestFilesAndTerminals$",
		},
	},
	"A permission request shows what the agent asks for": {
		{
			File: "internal/chat/permission.go",
			Old:  `{"allow_once", "reject_once", "reject_always", "allow_always"}`,
			New:  `{"allow_always", "allow_once", "reject_once", "reject_always"}`,
			Test: "^TestPermission$",
		},
		{
			File: "internal/chat/permission.go",
			Old:  "		detail = strings.TrimSuffix(whole+\"\\n\"+detail, \"\\n\")\n",
			New:  "",
			Test: "^TestDescribe$",
		},
		{
			File: "extension/chat_view.js",
			Old:  "      if (!byUser && top !== before && !Number.isNaN(before)) known.row.moved?.();\n",
			New:  "",
			Test: "open permission requests that the view moves",
		},
		{
			File: "extension/entries.js",
			Old:  "    moved: delay,\n",
			New:  "",
			Test: "answers are disabled for some time",
		},
		{
			File: "internal/chat/session.go",
			Old:  `	if mode != "" && mode != current {` + "\n",
			New:  `	if mode == "none" && mode != current {` + "\n",
			Test: "^TestModes$",
		},
	},
	"An agent that floods, hangs, exits or violates the protocol": {
		{
			File: "internal/chat/session.go",
			Old:  "	if r.ProtocolVersion != acp.ProtocolVersionNumber {\n",
			New:  "	if false {\n",
			Test: "^TestStartFaults$",
		},
		{
			File: "extension/chats.js",
			Old:  "url: tab ? siteKey(tab.url) : ''",
			New:  "url: tab?.url ?? ''",
			Test: "the host receives only the site of a page",
		},
	},
	"Two chats do not receive each other's events": {{
		File: "internal/sidepanel/chats.go",
		Old:  `{"event": "append", "chat": c.id, "seq"`,
		New:  `{"event": "append", "chat": "", "seq"`,
		Test: "^TestTwoChats$",
	}},
	"Stop ends a turn within one second": {{
		File: "internal/chat/chat.go",
		Old:  "		case <-time.After(cancelTimeout):\n",
		New:  "		case <-make(chan time.Time):\n",
		Test: "^TestCancel$/^agent_does_not_obey$",
	}},
	"Transcripts are in a file that only the user can read": {{
		File: "internal/transcript/store.go",
		Old:  "flag|owneronly.NoFollow",
		New:  "flag",
		Test: "^TestFileIsPrivate$",
	}},
	"A chat can be deleted while the disk is full": {
		{
			File: "internal/transcript/store.go",
			Old:  "		err = s.deleteInSteps(id)\n",
			New:  "		err = s.writeError(err)\n",
			Test: "^TestDiskFull$",
		},
		{
			File: "internal/sidepanel/chats.go",
			Old:  "		h.addStoring(open, unstored)\n",
			New:  "",
			Test: "^TestDiskFull$",
		},
	},
}

package mutation

var pageText = promises{
	"Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools": {
		{
			File: "internal/mcptext/text.go",
			Old:  "	return Quote(v.String(), MaxTitle)", New: "	return a",
			Test: "^TestStringsAreQuoted$",
		},
		{
			File: "internal/mcptext/text.go",
			Old:  "return Quote(EscapeURL(url), MaxURL+1)", New: "return Own(EscapeURL(url))",
			Test: "^TestPageChangesReported$",
		},
		{
			File: "internal/mcptext/text.go",
			Old:  "if len(role) <= maxRole && isWord(role) {", New: "if true {",
			Test: "^TestStringsAreQuoted$",
		},
		{
			File: "internal/pagetext/pagetext.go",
			Old:  "	return strconv.Quote(Truncate(s, maxChars))", New: "	return strconv.Itoa(0)[:0] + Truncate(s, maxChars)",
			Test: "^TestText$",
		},
		{
			File: "internal/input/form.go",
			Old:  "f.Description, f.Message)", New: "f.Description, string(f.Message))",
			Package: "./internal/input/inputsuite", Test: "^TestSuite$/./^fill_form$",
		},
		{
			File: "internal/input/set_value.go",
			Old:  "	if len(text) <= maxFieldLimit && ", New: "	if true || ",
			Package: "./internal/input/inputsuite", Test: "^TestSuite$/./^fill_form$",
		},
		{
			File: "internal/page/js/dom.js",
			Old:  "return known ? tag : 'element';", New: "return known ? tag : tag;",
			Package: "./internal/input/inputsuite", Test: "^TestSuite$/./^fill_form$",
		},
		{
			File: "internal/session/tabs.go",
			Old:  "pagetext.Text(pagetext.Truncate(t.URL, 60))", New: "string(pagetext.Text(pagetext.Truncate(t.URL, 60)))",
			Test: "^TestForeignIDs$",
		},
	},
	"A completed action is not reported as an error because its result is too large": {
		{
			File: "mcp/dispatch.go",
			Old:  "err != nil && !t.kind.hints.readOnly {", New: "false {",
			Test: "^TestOversizedActionResult$",
		},
		{
			File: "internal/session/download.go",
			Old:  "case len(d.Started)+len(d.Earlier) == maxReported:", New: "case false:",
			Test: "^TestManyDownloads$",
		},
		{
			File: "internal/session/download.go",
			Old:  "	if excess <= 0 {", New: "	if true {",
			Test: "^TestManyDownloads$",
		},
		{
			File: "internal/download/quota.go",
			Old:  "if !q.usage.Reserve(1, 1, q.total, maxFiles) {", New: "if !q.usage.Reserve(1, 1, q.total, 1<<30) {",
			Test: "^TestQuotaOfFiles$",
		},
	},
	"Repeated entries do not push other entries out of the audit log": {
		{
			File: "audit/denial_counter.go",
			Old:  `return !e.Acted && e.Code != "" && (`, New: `return false && (`,
			Package: "./mcp", Test: "^TestAuditFlood$",
		},
		{
			File: "audit/denial_counter.go",
			Old:  `(e.Code != "OK" || e.Decision == "" && e.Bytes == 0)`, New: `e.Code != "OK"`,
			Package: "./mcp", Test: "^TestAuditFlood$",
		},
		{
			File: "audit/denial_counter.go",
			Old:  `e.Tab, e.Origin = "", "" // those`, New: `e.Tab, e.Origin = e.Tab, e.Origin // those`,
			Package: "./mcp", Test: "^TestAuditFlood$",
		},
		{
			File: "audit/denial_counter.go",
			Old:  "case EventDenied, EventDownload,", New: "case EventDenied,",
			Test: "^TestDownloadsAndCallsAreFolded$",
		},
		{
			File: "audit/denial_counter.go",
			Old:  "EventDownload, EventSession, EventOpened, EventClosed:", New: "EventDownload:",
			Test: "^TestSessionsAreFolded$",
		},
		{
			File: "internal/compose/workspace.go",
			Old:  "		s.callRate = o.rates.of(r.Principal, s.MaxCalls)\n", New: "",
			Test: "^TestCallsPerMinuteOfToken$",
		},
		{
			File: "internal/server/open_rate.go",
			Old:  "	return limit.Allow()\n", New: "	return limit != nil\n",
			Test: "^TestOpeningsPerMinute$",
		},
	},
	"Each call that acted has its own line": {
		{
			File: "audit/denial_counter.go",
			Old:  `return !e.Acted && e.Code`, New: `return e.Code`,
			Test: "^TestActionsAreNotFolded$",
		},
		{
			File: "audit/denial_counter.go",
			Old:  ` && e.Bytes == 0)`, New: `)`,
			Test: "^TestCallsWithoutEffectAreFolded$",
		},
		{
			File: "mcp/audit.go",
			Old:  "	return !t.kind.hints.readOnly && t.kind != batches", New: "	return false && t.kind != batches",
			Test: "^TestAuditWithoutDecision$",
		},
		{
			File: "mcp/audit.go",
			Old:  "		d.Report(ctx)\n", New: "",
			Test: "^TestAuditWithoutDecision$",
		},
		{
			File: "audit/denial_counter.go",
			Old:  "known.Bytes += e.Bytes", New: "",
			Test: "^TestActionsAreNotFolded$",
		},
		{
			File: "mcp/audit.go",
			Old:  "e.Code, e.Acted = string(executor.CodeOf(err)), acted", New: "e.Code, e.Acted = string(executor.CodeOf(err)), acted && false",
			Test: "^TestAudit$",
		},
	},
}

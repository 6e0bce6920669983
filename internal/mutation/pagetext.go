package mutation

var pageText = []Mutation{
	{
		Promise: "Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools",
		File:    "mcp/render.go", Old: "	return quote(v.String(), maxTitle)", New: "	return a",
		Package: "./mcp", Test: "^TestStringsAreQuoted$",
	},
	{
		Promise: "Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools",
		File:    "mcp/render.go", Old: "return quote(escapeURL(url), maxURL+1)", New: "return own(escapeURL(url))",
		Package: "./mcp", Test: "^TestChangesAreTold$",
	},
	{
		Promise: "Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools",
		File:    "mcp/failure.go", Old: "if len(role) <= maxRole && isWord(role) {", New: "if true {",
		Package: "./mcp", Test: "^TestStringsAreQuoted$",
	},
	{
		Promise: "Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools",
		File:    "internal/pagetext/pagetext.go", Old: "	return strconv.Quote(s)", New: "	return strconv.Itoa(0)[:0] + s",
		Package: "./internal/pagetext", Test: "^TestText$",
	},
	{
		Promise: "Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools",
		File:    "internal/page/confirm.go", Old: "f.label, f.Message)", New: "f.label, string(f.Message))",
		Package: "./executor/chromium", Test: "^TestExecutor$/backend=chromium/fill_form$",
	},
	{
		Promise: "Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools",
		File:    "internal/page/type.go", Old: "	if len(text) <= maxNumber && ", New: "	if true || ",
		Package: "./executor/chromium", Test: "^TestExecutor$/backend=chromium/fill_form$",
	},
	{
		Promise: "Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools",
		File:    "internal/page/js/core.js", Old: "return known ? tag : 'element';", New: "return known ? tag : tag;",
		Package: "./executor/chromium", Test: "^TestExecutor$/backend=chromium/fill_form$",
	},
	{
		Promise: "Every string that a page controls is in a fence or in double quotes in the results, errors, hints, candidates and notes of all tools",
		File:    "internal/session/tabs.go", Old: "pagetext.Text(cutURL(t.URL))", New: "string(pagetext.Text(cutURL(t.URL)))",
		Package: "./internal/session", Test: "^TestForeignIDs$",
	},
	{
		Promise: "A completed action is not reported as an error because its result is too large",
		File:    "mcp/dispatch.go", Old: "err != nil && !t.kind.hints.readOnly {", New: "false {",
		Package: "./mcp", Test: "^TestOversizedActionResult$",
	},
	{
		Promise: "A completed action is not reported as an error because its result is too large",
		File:    "internal/session/download.go", Old: "case len(d.Began)+len(d.Earlier) == maxReported:", New: "case false:",
		Package: "./internal/session", Test: "^TestManyDownloads$",
	},
	{
		Promise: "A completed action is not reported as an error because its result is too large",
		File:    "internal/session/download.go", Old: "	if excess <= 0 {", New: "	if true {",
		Package: "./internal/session", Test: "^TestManyDownloads$",
	},
	{
		Promise: "A completed action is not reported as an error because its result is too large",
		File:    "internal/download/quota.go", Old: "if q.files+q.running >= maxFiles {", New: "if false {",
		Package: "./internal/download", Test: "^TestQuotaOfFiles$",
	},
	{
		Promise: "Repeated entries do not push",
		File:    "audit/fold.go", Old: `return e.Code != "" && e.Code != "OK" && !e.Acted || e.Tool == "chrome_status"`, New: "return false",
		Package: "./mcp", Test: "^TestAuditFlood$",
	},
	{
		Promise: "Repeated entries do not push other entries out of the audit log",
		File:    "audit/fold.go", Old: `e.Tab, e.Origin = "", "" // those`, New: `e.Tab, e.Origin = e.Tab, e.Origin // those`,
		Package: "./mcp", Test: "^TestAuditFlood$",
	},
	{
		Promise: "Repeated entries do not push other entries out of the audit log",
		File:    "audit/fold.go", Old: "case EventDenied, EventDownload:", New: "case EventDenied:",
		Package: "./audit", Test: "^TestDownloadsAndCallsAreFolded$",
	},
	{
		Promise: "Each call that acted has its own line",
		File:    "audit/fold.go", Old: `e.Code != "OK" && !e.Acted ||`, New: `e.Code != "OK" ||`,
		Package: "./audit", Test: "^TestActionsAreNotFolded$",
	},
	{
		Promise: "Each call that acted has its own line",
		File:    "audit/fold.go", Old: "known.Bytes += e.Bytes", New: "",
		Package: "./audit", Test: "^TestActionsAreNotFolded$",
	},
	{
		Promise: "Each call that acted has its own line",
		File:    "mcp/audit.go", Old: "e.Code, e.Acted = string(executor.CodeOf(err)), acted", New: "e.Code, e.Acted = string(executor.CodeOf(err)), acted && false",
		Package: "./mcp", Test: "^TestAudit$",
	},
}

package mutation

var tokens = promises{
	"The client of a token is prompted, and can so grant itself permissions, only if the settings": {
		{
			File:    "internal/serve/principal.go",
			Old:     `values["--ask"] = []string{"never"}`,
			New:     `values["--ask"] = []string{"auto"}`,
			Package: "./cmd/chrome-mcp", Test: "TestTokenPrompts",
		},
	},
	"The files that all sessions of a token save": {
		{
			File: "mcp/output.go",
			Old:  "	if !o.shared {\n",
			New:  "	if true {\n",
			Test: "TestOutputQuotaOfExistingFiles|TestOutputQuotaOfParallelSessions",
		},
		{
			File: "internal/download/usage.go",
			Old:  "		u.count()\n",
			New:  "		_ = u.count\n",
			Test: "TestQuotaOfExistingFiles|TestQuotasWithOneUsage",
		},
		{
			File: "internal/download/quota.go",
			Old:  "	if s.ended || !s.quota.usage.Reserve(n-s.reserved, 0, s.quota.total, maxFiles) {\n",
			New:  "	if n > s.quota.total {\n",
			Test: "TestQuotasWithOneUsage|TestQuotaOfParallelFetches",
		},
		{
			File: "internal/sessiondir/sessiondir.go",
			Old:  "if !strings.HasSuffix(dir.Name(), owner) {",
			New:  "if dir.Name() != owner {",
			Test: "TestFilesOfPrincipal",
		},
		{
			File: "internal/sessiondir/sessiondir.go",
			Old:  "	if name == strings.ToLower(name) && ",
			New:  "	if name != \"\" && ",
			Test: "TestFileNameOfSession",
		},
	},
	"A client with a token reads metrics of other tokens only if its entry allows it": {
		{
			File: "internal/server/http.go",
			Old:  "			if !p.Metrics {\n",
			New:  "			if false {\n",
			Test: "TestHTTPMetricsNeedRight",
		},
	},
	"A key of TLS that others can read is rejected": {
		{
			File:    "internal/serve/listen.go",
			Old:     "owneronly.ReadFile(l.key, maxTLSKey)",
			New:     "os.ReadFile(l.key)",
			Package: "./cmd/chrome-mcp", Test: "TestServeErrors",
		},
	},
	"The entries of a server's sessions name the session and the token": {
		{
			File:    "internal/compose/audit_logs.go",
			Old:     "	e.Name, e.Principal = r.name, r.principal\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "TestAuditOfTokens",
		},
	},
}

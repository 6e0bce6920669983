package mutation

var tokens = promises{
	"The client of a token is prompted, and can so grant itself permissions, only if the settings": {
		{
			File: "cmd/chrome-mcp/principal.go",
			Old:  `values["--ask"] = []string{"never"}`,
			New:  `values["--ask"] = []string{"auto"}`,
			Test: "TestTokenPrompts",
		},
	},
	"The files that all sessions of a token save": {
		{
			File: "mcp/output.go",
			Old:  "		o.used.bytes, o.used.files = o.existing()\n",
			New:  "		o.used = fileCount{}\n",
			Test: "TestOutputQuotaOfExistingFiles",
		},
		{
			File: "internal/download/quota.go",
			Old:  "		q.used, q.files = bytes, files\n",
			New:  "		_, _ = bytes, files\n",
			Test: "TestQuotaOfExistingFiles",
		},
		{
			File: "cmd/chrome-mcp/session_dirs.go",
			Old:  "if !strings.HasSuffix(dir.Name(), d.owner()) {",
			New:  "if dir.Name() != d.base() {",
			Test: "TestFilesOfPrincipal",
		},
		{
			File: "cmd/chrome-mcp/session_dirs.go",
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
			File: "cmd/chrome-mcp/listen.go",
			Old:  "owneronly.ReadFile(l.key, maxTLSKey)",
			New:  "os.ReadFile(l.key)",
			Test: "TestServeErrors",
		},
	},
	"The entries of a server's sessions name the session and the token": {
		{
			File: "cmd/chrome-mcp/audit.go",
			Old:  "	e.Name, e.Principal = r.name, r.principal\n",
			New:  "",
			Test: "TestAuditOfTokens",
		},
	},
}

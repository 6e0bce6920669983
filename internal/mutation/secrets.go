package mutation

var secrets = promises{
	"A secret is entered only in a document of one of its origins": {
		{
			File:    "internal/input/secret_entry.go",
			Old:     "|| !slices.Contains(s.Origins, d.Origin)",
			New:     "",
			Package: "./executor/chromium", Test: "TestExecutor/.*/^secrets$/not_typed_in_documents_of_other_origins",
		},
		{
			File: "internal/secrets/secrets.go",
			Old:  `case u.Scheme == "http" && !isLoopback(host):`,
			New:  `case false:`,
			Test: "^TestCheckOrigin$",
		},
	},
	"A secret is entered only into a field": {{
		File:    "internal/page/js/secret_entry.js",
		Old:     "return opts.selectors.every((s) => s && matches(el, s)) ? '' : 'field';",
		New:     "return '';",
		Package: "./executor/chromium", Test: "TestExecutor/.*/^secrets$/typed_only_into_fields_for_them",
	}},
	"If the field or the document changes between the check and the entry of a secret": {{
		File:    "internal/page/js/secret_entry.js",
		Old:     "  if (problem) return { problem };\n",
		New:     "",
		Package: "./executor/chromium", Test: "TestExecutor/.*/^secrets$/not_typed_if_the_field_changes_when_it_gets_the_focus",
	}},
	"After a secret was typed, no script": {
		{
			File:    "internal/page/secret_guard.go",
			Old:     "	if g.secrets == 0 {\n",
			New:     "	if true {\n",
			Package: "./executor/chromium", Test: "TestExecutor/.*/^secrets$/scripts_are_denied_afterwards",
		},
		{
			File:    "internal/page/secret_guard.go",
			Old:     "		g.scripted = true\n",
			New:     "",
			Package: "./executor/chromium", Test: "TestExecutor/.*/^secrets$/scripts_are_denied_afterwards",
		},
	},
	"CDP clients and secrets exclude each other": {
		{
			File:    "internal/page/secret_guard.go",
			Old:     "	g.clients++\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "^TestSecretAndCDPClient$",
		},
		{
			File:    "executor/chromium/cdp_client.go",
			Old:     "	cancel, err := in.secrets.ConnectClient(opts)\n	if err != nil {\n		return nil, err\n	}\n",
			New:     "	cancel := func() {}\n",
			Package: "./cmd/chrome-mcp", Test: "^TestSecretAndCDPClient$",
		},
		{
			File: "internal/page/secret_guard.go",
			Old:  "	if !closed && state != (unsharedTab{}) {",
			New:  "	if false {",
			Test: "^TestSecretGuard$",
		},
		{
			File: "executor/extension/installation.go",
			Old:  ", MayBeOpen: reason == reasonUnknown",
			New:  "",
			Test: "^TestSecretInUnsharedTab$",
		},
	},
	"Results, errors and saved results of a session have no secret": {
		{
			File: "mcp/dispatch.go",
			Old:  "		r.maskResult(res)\n",
			New:  "",
			Test: "^TestResultsAreMasked$",
		},
		{
			File: "mcp/output.go",
			Old:  "	c = r.maskFile(c)\n",
			New:  "",
			Test: "^TestMaskedValues$",
		},
		{
			File: "internal/secrets/masker.go",
			Old:  "const maxNesting = 3",
			New:  "const maxNesting = 0",
			Test: "^TestMask$",
		},
		{
			File: "mcp/mask.go",
			Old:  "r.opts.Mask(t.URL), r.opts.Mask(t.Title), r.opts.Mask(t.Note)",
			New:  "r.opts.Mask(t.URL), t.Title, r.opts.Mask(t.Note)",
			Test: "^TestErrorsAreMasked$",
		},
		{
			File:    "internal/page/entered.go",
			Old:     "(entered.Spans); ok {\n		maskers = append(maskers, m)\n",
			New:     "(entered.Spans); ok {\n		_ = m\n",
			Package: "./cmd/chrome-mcp", Test: "^TestSecretAttacks$/^values_read_in_parts$",
		},
	},
	"The results of a session that has not typed a secret do not depend on it": {
		{
			File: "internal/secrets/view.go",
			Old:  "return v.masker.Mask(text)",
			New:  "return v.vault.Mask(text)",
			Test: "^TestView$",
		},
		{
			File: "internal/secrets/masker.go",
			Old:  "const maxParts = 6",
			New:  "const maxParts = 1000",
			Test: "^TestWithhold$",
		},
		{
			File: "mcp/mask.go",
			Old:  "		withholdResult(res)\n",
			New:  "",
			Test: "^TestWithheldResults$",
		},
	},
	"Screenshots hide fields in which a secret was entered": {
		{
			File:    "internal/capture/screenshot.go",
			Old:     "append(masked, fields...)",
			New:     "append(masked, fields[:0]...)",
			Package: "./executor/chromium", Test: "TestExecutor/.*/^secrets$/screenshots_hide_the_fields",
		},
		{
			File:    "internal/page/js/secret_entry.js",
			Old:     "  keepContent(el, text);\n",
			New:     "",
			Package: "./cmd/chrome-mcp", Test: "^TestSecretAttacks$/^clipboard$",
		},
		{
			File:    "internal/page/js/kept_content.js",
			Old:     "  if (content.length >= MIN_CONTENT) contents.add(content);\n",
			New:     "",
			Package: "./executor/chromium", Test: "TestExecutor/.*/^secrets$/screenshots_hide_a_field_that_replaces",
		},
	},
	"No secret is typed in a browser on another machine": {
		{
			File: "internal/page/secret_guard.go",
			Old:  "	if g.secretGuard.unencrypted.Load() {", New: "	if false {",
			Test: "^TestSecretGuard$",
		},
		{
			File: "executor/chromium/instance.go",
			Old:  "	if address != \"\" && !isEncrypted(address) {", New: "	if false {",
			Test: "^TestSecretOverNetwork$",
		},
		{
			File: "internal/attach/websocket.go",
			Old:  "client := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}",
			New:  "client := &http.Client{Transport: tr}",
			Test: "^TestDialHeaders$",
		},
	},
	"A file of secrets that others can read": {{
		File:    "internal/owneronly/owneronly.go",
		Old:     "	case !Private(info):\n		return &modeError{\"read\", info.Mode()}\n",
		New:     "",
		Package: "./internal/secrets", Test: "^TestFile$",
	}},
	"HTTP credentials are sent only to their origin": {
		{
			File: "executor/chromium/http_credentials.go",
			Old:  "c, ok := d.in.opts.HTTPCredentials[e.AuthChallenge.Origin]",
			New:  "c, ok := HTTPCredentials{\"ada\", \"word\"}, true",
			Test: "^TestAnswerChallenge$",
		},
		{
			File: "executor/chromium/http_credentials.go",
			Old:  "e.AuthChallenge.Source != fetch.AuthChallengeSourceServer",
			New:  "e.AuthChallenge.Source == \"\"",
			Test: "^TestAnswerChallenge$",
		},
		{
			File: "executor/chromium/http_credentials.go",
			Old:  "c, ok := t.credentials[originOf(req.URL)]",
			New:  "var c HTTPCredentials\n	ok := false\n	for _, c = range t.credentials {\n		ok = true\n	}",
			Test: "^TestHTTPCredentials$",
		},
		{
			File: "executor/chromium/http_credentials.go",
			Old:  `address = "." + address`,
			New:  `_ = address`,
			Test: "^TestExactFilter$",
		},
	},
	"A file of HTTP credentials that others can read, or that is a link, is rejected": {
		{
			File: "internal/cli/http_credentials.go",
			Old:  "info.Mode()&fs.ModeSymlink != 0",
			New:  "info.Mode()&fs.ModeSymlink < 0",
			Test: "^TestBadHTTPCredentials$",
		},
		{
			File: "executor/chromium/options.go",
			Old:  `o.CDPEndpoint != "" || o.Browserless != nil || o.CDPClients) {`,
			New:  `o.CDPEndpoint != "") {`,
			Test: "^TestHTTPCredentialsOptions$",
		},
	},
	"A session has only the secrets that its settings name": {{
		File: "internal/serve/principal.go",
		Old:  `values["--secrets"] = []string{"none"}`,
		New:  ``,
		Test: "^TestPrincipalSecrets$",
	}},
}

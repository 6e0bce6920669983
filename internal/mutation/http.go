package mutation

const (
	bearerToken   = "`chrome-mcp serve --listen` needs a bearer token for every route except `/healthz`."
	ownHost       = "`chrome-mcp serve --listen` rejects requests with another Host"
	noPages       = "`chrome-mcp serve --listen` rejects requests that a page sends"
	onlyTLS       = "`chrome-mcp serve --listen` listens outside of loopback only with TLS"
	namedBrowsers = "A token gives access only to the browsers that its entry names"
	strictTokens  = "A token file that others can read"
	secretToken   = "The token of a run is in a file that only the user can read"
	ownServer     = "Pages cannot reach the server of their session"
	boundedHTTP   = "Headers, bodies, connections and slow clients of `chrome-mcp serve --listen` are limited."
)

var serverHTTP = []Mutation{
	{
		Promise: bearerToken,
		File:    "internal/server/tokens.go",
		Old:     "subtle.ConstantTimeCompare(c.Digest[:], digest[:]) == 1",
		New:     "subtle.ConstantTimeCompare(c.Digest[:], digest[:]) >= 0",
		Package: "./internal/server", Test: "TestHTTPNeedsToken",
	},
	{
		Promise: bearerToken,
		File:    "internal/server/http.go",
		Old:     "	if principalOf(r.Context()) != localUser {\n",
		New:     "	if false {\n",
		Package: "./internal/server", Test: "TestHTTPLocalOnlyRoutes",
	},
	{
		Promise: ownHost,
		File:    "internal/server/origin.go",
		Old:     "		return \"host\"\n",
		New:     "		return \"\"\n",
		Package: "./internal/server", Test: "TestHTTPRejectsPages",
	},
	{
		Promise: noPages,
		File:    "internal/server/origin.go",
		Old:     "		return \"origin\"\n",
		New:     "",
		Package: "./internal/server", Test: "TestHTTPRejectsPages",
	},
	{
		Promise: noPages,
		File:    "internal/server/origin.go",
		Old:     `site != "none" && `,
		New:     `site == "" && `,
		Package: "./internal/server", Test: "TestHTTPRejectsPages",
	},
	{
		Promise: onlyTLS,
		File:    "internal/server/http.go",
		Old:     "if !addr.IP.IsLoopback() && f.tls == nil",
		New:     "if addr.IP == nil && f.tls == nil",
		Package: "./internal/server", Test: "TestListenHTTPErrors",
	},
	{
		Promise: namedBrowsers,
		File:    "cmd/chrome-mcp/principal.go",
		Old:     `if needs != "" && `,
		New:     `if needs == "none" && `,
		Package: "./cmd/chrome-mcp", Test: "TestServeErrors",
	},
	{
		Promise: namedBrowsers,
		File:    "cmd/chrome-mcp/principal.go",
		Old:     `values["--prefer"] = []string{"cdp"}`,
		New:     `delete(values, "--prefer")`,
		Package: "./cmd/chrome-mcp", Test: "TestPrincipalSettings",
	},
	{
		Promise: strictTokens,
		File:    "internal/server/token_file.go",
		Old:     "if len(key) >= minToken {",
		New:     "if false {",
		Package: "./internal/server", Test: "TestTokenFileErrors",
	},
	{
		Promise: strictTokens,
		File:    "internal/owneronly/readwrite.go",
		Old:     "	if err == nil {\n		err = CheckFile(info)\n	}\n	if err == nil {\n		err = CheckParents",
		New:     "	_ = info\n	if err == nil {\n		err = CheckParents",
		Package: "./internal/server", Test: "TestTokenFilePermissions",
	},
	{
		Promise: secretToken,
		File:    "internal/server/tokens.go",
		Old:     "os.SameFile(info, file.info)",
		New:     "os.SameFile(info, info)",
		Package: "./internal/server", Test: "TestNewToken",
	},
	{
		Promise: secretToken,
		File:    "internal/server/health.go",
		Old:     "	f.removeFiles()\n",
		New:     "",
		Package: "./cmd/chrome-mcp", Test: "TestServeHTTP$",
	},
	{
		Promise: ownServer,
		File:    "cmd/chrome-mcp/server_session.go",
		Old:     "	o.front.block(s)\n",
		New:     "",
		Package: "./cmd/chrome-mcp", Test: "TestPagesCannotReachServer",
	},
	{
		Promise: ownServer,
		File:    "cmd/chrome-mcp/serve.go",
		Old:     "	rules.AddOwnPorts(ownPorts(s.data))\n",
		New:     "",
		Package: "./cmd/chrome-mcp", Test: "TestPagesCannotReachServer",
	},
	{
		Promise: boundedHTTP,
		File:    "internal/server/bounded.go",
		Old:     "		return 0, errBodyTooLarge\n	}\n	if err != nil {",
		New:     "		return 0, nil\n	}\n	if err != nil {",
		Package: "./internal/server", Test: "TestHTTPLimits",
	},
	{
		Promise: boundedHTTP,
		File:    "internal/server/bounded.go",
		Old:     "b.used[principal]+n > maxBodies",
		New:     "b.used[principal]+n < 0",
		Package: "./internal/server", Test: "TestHTTPBodyBudget",
	},
	{
		Promise: boundedHTTP,
		File:    "internal/server/bounded.go",
		Old:     "w.control.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil",
		New:     "w.control.SetWriteDeadline(time.Time{}); err != nil",
		Package: "./internal/server", Test: "TestHTTPWriteTimeout",
	},
}

package mutation

const (
	privateSocket = "The server of `chrome-mcp call` accepts connections only of its user."
	sharedBrowser = "Sessions that share a browser have separate policies"
	boundSettings = "The settings of the command that opens a session bind it"
)

var server = []Mutation{
	{
		Promise: privateSocket,
		File:    "internal/server/socket.go",
		Old:     "os.Chmod(path, 0o600)",
		New:     "os.Chmod(path, 0o666)",
		Package: "./internal/server", Test: "TestSocketIsPrivate",
	},
	{
		Promise: privateSocket,
		File:    "internal/server/client.go",
		Old:     "		err = checkSocket(info)\n",
		New:     "		_ = info\n",
		Package: "./cmd/chrome-mcp", Test: "TestSocketOfAnotherUser",
	},
	{
		Promise: boundSettings,
		File:    "internal/server/sessions.go",
		Old:     "		return one.settings.check(name, settings)\n",
		New:     "		return nil\n",
		Package: "./internal/server", Test: "TestSettingsBindASession",
	},
	{
		Promise: boundSettings,
		File:    "cmd/chrome-mcp/server_client.go",
		Old:     "return strings.HasPrefix(name, envPrefix) || ",
		New:     "return ",
		Package: "./cmd/chrome-mcp", Test: "TestServerTakesNoSettings",
	},
	{
		Promise: sharedBrowser,
		File:    "internal/egress/port.go",
		Old:     "	return p.proxies[sha256.Sum256([]byte(strings.TrimSpace(credentials)))]\n",
		New:     "	for _, proxy := range p.proxies {\n		return proxy\n	}\n	return p.proxies[sha256.Sum256([]byte(credentials))]\n",
		Package: "./internal/egress", Test: "TestPortSelectsProxyByCredentials",
	},
	{
		Promise: sharedBrowser,
		File:    "internal/page/shared_browser.go",
		Old:     `if command == "" || !v.tab.opts.SharedBrowser {`,
		New:     `if command == "" || true {`,
		Package: "./executor/chromium", Test: "TestPoolIsolatesBackends",
	},
	{
		Promise: sharedBrowser,
		File:    "executor/chromium/pool.go",
		Old:     "	r := b.instances[string(e.TargetInfo.BrowserContextID)]\n",
		New:     "	var r *instance\n	for _, r = range b.instances {\n	}\n",
		Package: "./executor/chromium", Test: "TestPoolIsolatesBackends",
	},
}

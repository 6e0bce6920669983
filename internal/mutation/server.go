package mutation

const (
	privateSocket = "The server of `chrome-mcp call` accepts connections only of its user."
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
}

package doctor

import (
	"os"
	"runtime"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/extinstall"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// extension reports whether the user's Chrome can be reached. It is not essential.
func (r *report) extension(s *cli.Settings) {
	const install = "Run chrome-mcp extension install; it prints how to load the extension."
	if !extinstall.Installed(s.Data) {
		r.say(notice, "extension", "not installed: agents cannot use your Chrome")
		r.hint(install)
		return
	}
	if extinstall.Current(extinstall.Dir(s.Data)) {
		r.say(good, "extension", "in %s", extinstall.Dir(s.Data))
	} else {
		r.say(notice, "extension", "in %s, version differs from this program", extinstall.Dir(s.Data))
		r.hint("Run chrome-mcp extension install, then click the reload icon of the extension in chrome://extensions.")
	}
	r.servers(s)
	home, err := os.UserHomeDir()
	if err != nil || runtime.GOOS == "windows" { // Windows has it in the registry
		return
	}
	var registered []string
	for _, b := range extinstall.Browsers {
		switch program, found := b.Registered(home); {
		case !found:
		case !cli.Exists(program):
			r.say(notice, "", "%s is registered to start %s, which does not exist", b.Title, program)
			r.hint(install)
		default:
			registered = append(registered, b.Title)
		}
	}
	switch {
	case len(registered) > 0:
		r.say(good, "", "native messaging host is registered in %s", phrase.List(registered, "and"))
	default:
		r.say(notice, "", "native messaging host is not registered in any browser")
		r.hint(install)
	}
}

// servers lists the running servers that an extension can connect to, and counts the paired
// browsers.
func (r *report) servers(s *cli.Settings) {
	for _, server := range bridge.RunningServers(s.Data) {
		r.say(good, "", "server of %s: port %d, process %d", server.Name, server.Port, server.PID)
	}
	if paired, err := bridge.Pairings(s.Data); err != nil {
		r.say(notice, "", "pairings: %v", err)
	} else if len(paired) > 0 {
		r.say(good, "", "%s; undo it with chrome-mcp extension unpair", phrase.Count(len(paired), "browser is paired", "browsers are paired"))
	}
}

package agents

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
)

// known are the commands of agents that speak the Agent Client Protocol. The first word is the
// name of the program in PATH, and of the agent.
var known = [][]string{
	{"claude-agent-acp"}, // npm @agentclientprotocol/claude-agent-acp
	{"claude-code-acp"},  // its former name
	{"codex-acp"},        // npm @zed-industries/codex-acp
	{"gemini", "--acp"},  // formerly --experimental-acp
	{"opencode", "acp"},
	{"goose", "acp"},
	{"copilot", "--acp"},
	{"qwen", "--acp"},
	{"auggie", "--acp"},
}

// Found returns the known agents in PATH, whether they are configured or not. The name of each is
// that of its program.
func Found() []Agent {
	var found []Agent
	for _, command := range known {
		path, err := exec.LookPath(command[0])
		if err != nil || !filepath.IsAbs(path) {
			continue // not installed, or in a relative directory of PATH
		}
		found = append(found, Agent{Name: command[0], Command: append([]string{path}, command[1:]...)})
	}
	return found
}

// isExecutable reports whether a file is a program. On Windows, its mode does not say.
func isExecutable(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

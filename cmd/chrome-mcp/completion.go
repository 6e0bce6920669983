package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// commands are the words that the program may be given first.
var commands = []string{"audit", "call", "completion", "doctor", "extension", "help", "shell", "stop", "version"}

// completionScripts are what each shell evaluates, with the words filled in.
var completionScripts = map[string]string{
	"bash": `_chrome_mcp() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words="%[1]s %[2]s"
	case $before in
	call) words="%[3]s" ;;
	extension) words="install path unpair uninstall" ;;
	completion) words="bash zsh fish" ;;
	help) words="%[1]s flags" ;;
	%[4]s) COMPREPLY=($(compgen -f -- "$word")); return ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _chrome_mcp chrome-mcp
`,
	"zsh": `#compdef chrome-mcp
_chrome_mcp() {
	case $words[CURRENT-1] in
	call) compadd -- %[3]s ;;
	extension) compadd -- install path unpair uninstall ;;
	completion) compadd -- bash zsh fish ;;
	help) compadd -- %[1]s flags ;;
	%[4]s) _files ;;
	*) compadd -- %[1]s %[2]s ;;
	esac
}
compdef _chrome_mcp chrome-mcp
`,
	"fish": `complete -c chrome-mcp -f
complete -c chrome-mcp -n __fish_use_subcommand -a '%[1]s'
complete -c chrome-mcp -n '__fish_seen_subcommand_from call' -a '%[3]s'
complete -c chrome-mcp -n '__fish_seen_subcommand_from extension' -a 'install path unpair uninstall'
complete -c chrome-mcp -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c chrome-mcp -n '__fish_seen_subcommand_from help' -a 'flags'
for flag in %[2]s
	complete -c chrome-mcp -l (string sub -s 3 -- $flag)
end
`,
}

// completion prints what a shell evaluates to complete the program's words.
func completion(ctx context.Context, words []string, stdout io.Writer) error {
	const shells = "bash, zsh or fish"
	if len(words) != 1 {
		return usagef(`In ~/.bashrc, say: source <(chrome-mcp completion bash)`, "completion needs the name of a shell: %s", shells)
	}
	script, ok := completionScripts[words[0]]
	if !ok {
		return usagef("There are scripts for "+shells+".", "there is no completion for %q", words[0])
	}
	var flags, files []string
	_, groups := define()
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) {
			flags = append(flags, "--"+f.Name)
			if kind, _ := pflag.UnquoteUsage(f); slices.Contains([]string{"FILE", "FOLDER", "NAME|PATH"}, kind) {
				files = append(files, "--"+f.Name)
			}
		})
	}
	names, err := toolNames(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, script, strings.Join(commands, " "), strings.Join(flags, " "), strings.Join(names, " "), strings.Join(files, "|"))
	return err
}

// toolNames asks a server without a browser.
func toolNames(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	here, there := sdk.NewInMemoryTransports()
	go mcp.NewServer(executor.Unavailable{}, &mcp.Options{Tools: mcp.Toolsets()}).Run(ctx, there)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "chrome-mcp completion"}, nil).Connect(ctx, here, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	names := map[string]bool{}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		names[tool.Name] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

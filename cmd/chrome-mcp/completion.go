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

// after tells what may follow a word of the command line.
type after struct {
	word  string
	words []string // that may follow
	files bool     // names of files may too
	dirs  bool     // or those of folders
}

// names returns what a shell is to do about names of files or folders, or nothing.
func (f after) names(files, dirs string) string {
	switch {
	case f.files:
		return files
	case f.dirs:
		return dirs
	}
	return ""
}

// A completer writes what a shell evaluates to complete words and what may
// follow some of them.
type completer func(words []string, follow []after) string

var completers = map[string]completer{"bash": completeBash, "zsh": completeZsh, "fish": completeFish}

func completeBash(words []string, follow []after) string {
	var b strings.Builder
	// Bash takes --flag=value for three words.
	fmt.Fprintf(&b, `_chrome_mcp() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=%q names= IFS=$' \n'
	[ "$word" = = ] && word=
	[ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD-2]}
	case $before in
`, strings.Join(words, " "))
	for _, f := range follow {
		fmt.Fprintf(&b, "\t%s) words=%q%s ;;\n", f.word, strings.Join(f.words, " "), f.names(" names=-f", " names=-d"))
	}
	b.WriteString(`	esac
	if [ -n "$names" ]; then
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(IFS=' '; compgen -W "$words" -- "$word"))
		IFS=$'\n'
		COMPREPLY+=($(compgen $names -- "$word"))
	else
		COMPREPLY=($(compgen -W "$words" -- "$word"))
	fi
}
complete -F _chrome_mcp chrome-mcp
`)
	return b.String()
}

func completeZsh(words []string, follow []after) string {
	var b strings.Builder
	b.WriteString("#compdef chrome-mcp\n_chrome_mcp() {\n\tcase $words[CURRENT-1] in\n")
	for _, f := range follow {
		fmt.Fprintf(&b, "\t%s) compadd -- %s%s ;;\n", f.word, strings.Join(f.words, " "), f.names("; _files", "; _files -/"))
	}
	fmt.Fprintf(&b, "\t*) compadd -- %s ;;\n\tesac\n}\ncompdef _chrome_mcp chrome-mcp\n", strings.Join(words, " "))
	return b.String()
}

func completeFish(words []string, follow []after) string {
	var b strings.Builder
	fmt.Fprintf(&b, "complete -c chrome-mcp -f\ncomplete -c chrome-mcp -n __fish_use_subcommand -a '%s'\n", strings.Join(commands, " "))
	followed := map[string]bool{}
	for _, f := range follow {
		followed[f.word] = true
		gives := f.names("-F", "-a '(__fish_complete_directories)'")
		if len(f.words) > 0 {
			gives = strings.TrimSpace(gives + " -a '" + strings.Join(f.words, " ") + "'")
		}
		if flag, ok := strings.CutPrefix(f.word, "--"); ok {
			fmt.Fprintf(&b, "complete -c chrome-mcp -l %s -r %s\n", flag, gives)
		} else {
			fmt.Fprintf(&b, "complete -c chrome-mcp -n '__fish_seen_subcommand_from %s' %s\n", f.word, gives)
		}
	}
	for _, word := range words {
		if flag, ok := strings.CutPrefix(word, "--"); ok && !followed[word] {
			fmt.Fprintf(&b, "complete -c chrome-mcp -l %s\n", flag)
		}
	}
	return b.String()
}

// completion prints what a shell evaluates to complete the program's words.
func completion(ctx context.Context, words []string, stdout io.Writer) error {
	const shells = "bash, zsh or fish"
	if len(words) != 1 {
		return usagef(`In ~/.bashrc, say: source <(chrome-mcp completion bash)`, "completion needs the name of a shell: %s", shells)
	}
	write, ok := completers[words[0]]
	if !ok {
		return usagef("There are scripts for "+shells+".", "there is no completion for %q", words[0])
	}
	tools, err := toolNames(ctx)
	if err != nil {
		return err
	}
	all := slices.Clone(commands)
	follow := []after{
		{word: "audit", files: true},
		{word: "call", words: tools}, {word: "then", words: tools},
		{word: "completion", words: slices.Sorted(maps.Keys(completers))},
		{word: "extension", words: []string{"install", "path", "unpair", "uninstall"}},
		{word: "help", words: append(slices.Clone(commands), "flags")},
	}
	_, groups := define()
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name
			all = append(all, name)
			kind, _ := pflag.UnquoteUsage(f)
			limited, isLimited := f.Value.(limitedValue)
			switch {
			case isLimited:
				follow = append(follow, after{word: name, words: limited.allowed()})
			case kind == "FILE", kind == "NAME|PATH":
				follow = append(follow, after{word: name, files: true})
			case kind == "FOLDER", kind == "DIR":
				follow = append(follow, after{word: name, dirs: true})
			}
		})
	}
	_, err = io.WriteString(stdout, write(all, follow))
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

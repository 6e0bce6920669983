package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCompletion requests completions as the code of the shells does.
func TestCompletion(t *testing.T) {
	const (
		words = cobra.ShellCompDirectiveNoFileComp
		files = cobra.ShellCompDirectiveDefault
		dirs  = cobra.ShellCompDirectiveFilterDirs
	)
	for _, c := range []struct {
		line      []string
		want      []string // completions that start with the last word
		directive cobra.ShellCompDirective
	}{
		{[]string{"do"}, []string{"doctor"}, words},
		{[]string{"nat"}, nil, words},
		{[]string{"--enable-m"}, []string{"--enable-mutations"}, words},
		{[]string{"--headless", "do"}, []string{"doctor"}, words},
		{[]string{"doctor", "--la"}, []string{"--launch"}, words},
		{[]string{"stop", "--la"}, nil, words},
		{[]string{"call", "wait"}, []string{"wait_for"}, words},
		{[]string{"call", "back", "the"}, []string{"then"}, words},
		{[]string{"call", "back", "then", "forw"}, []string{"forward"}, words},
		{[]string{"call", "--json", "back", "then", "forw"}, []string{"forward"}, words},
		{[]string{"extension", "un"}, []string{"uninstall", "unpair"}, words},
		{[]string{"help", "fl"}, []string{"flags"}, words},
		{[]string{"help", "he"}, []string{"help"}, words},
		{[]string{"completion", ""}, []string{"bash", "fish", "zsh"}, words},
		{[]string{"--prefer", ""}, []string{"cdp", "extension"}, words},
		{[]string{"--prefer="}, []string{"cdp", "extension"}, words},
		{[]string{"--log-level", "w"}, []string{"warn"}, words},
		{[]string{"--tools", "dev"}, []string{"devtools"}, words},
		{[]string{"--max-tabs", ""}, nil, words},
		{[]string{"--policy", "my"}, nil, files},
		{[]string{"--browser", "my"}, nil, files},
		{[]string{"audit", "min"}, nil, files},
		{[]string{"--state-dir", "m"}, nil, dirs},
	} {
		root := newRoot(append([]string{cobra.ShellCompRequestCmd}, c.line...), []string{"CHROME_MCP_ACTIVE_HELP=0"})
		var out strings.Builder
		root.SetOut(&out)
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%q: %v", c.line, err)
		}
		var got []string
		directive := ""
		last := c.line[len(c.line)-1]
		last = last[strings.Index(last, "=")+1:]
		for line := range strings.Lines(out.String()) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if strings.HasPrefix(word, ":") {
				directive = word
			} else if strings.HasPrefix(word, last) {
				got = append(got, word)
			}
		}
		slices.Sort(got)
		if want := fmt.Sprintf(":%d", c.directive); directive != want || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, directive %s; want %q, %s", c.line, got, directive, c.want, want)
		}
	}
}

// TestCompletionInBash runs the code for bash, which calls the built program.
func TestCompletionInBash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	var script, said strings.Builder
	if code := run(t.Context(), []string{"completion", "bash"}, strings.NewReader(""), &script, &said); code != 0 || said.Len() > 0 {
		t.Fatalf("exit code %d, stderr %s", code, &said)
	}
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	// The function of the package bash-completion, for lines without special characters.
	const ask = `_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}; }
compopt() { :; }
source "$0"; COMP_WORDS=(chrome-mcp "$@"); COMP_CWORD=$#; COMP_TYPE=9; __start_chrome-mcp; printf '%s\n' "${COMPREPLY[@]}"`
	for _, c := range []struct{ words, want []string }{
		{[]string{"do"}, []string{"doctor"}},
		{[]string{"call", "wait"}, []string{"wait_for"}},
		{[]string{"--prefer", "e"}, []string{"extension"}},
		{[]string{"--prefer=c"}, []string{"cdp"}},
	} {
		cmd := exec.CommandContext(t.Context(), "bash", append([]string{"--norc", "-c", ask, file}, c.words...)...)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+string(filepath.ListSeparator)+os.Getenv("PATH"))
		out, err := cmd.Output()
		if got := strings.Fields(string(out)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.words, got, err, c.want)
		}
	}
}

// TestCompletionZshAndFish checks the code for the other shells.
func TestCompletionZshAndFish(t *testing.T) {
	for shell, want := range map[string]string{"zsh": "#compdef chrome-mcp\n", "fish": "complete -c chrome-mcp "} {
		var script, said strings.Builder
		if code := run(t.Context(), []string{"completion", shell}, strings.NewReader(""), &script, &said); code != 0 {
			t.Fatalf("%s: exit code %d, stderr %s", shell, code, &said)
		}
		if !strings.Contains(script.String(), want) || !strings.Contains(script.String(), cobra.ShellCompRequestCmd) {
			t.Errorf("%s: %q or __complete not found in\n%s", shell, want, &script)
		}
	}
}

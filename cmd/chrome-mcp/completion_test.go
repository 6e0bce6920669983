package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What bash makes of the script is what a user is offered.
func TestCompletionInBash(t *testing.T) {
	var script, said strings.Builder
	if code := run(t.Context(), []string{"completion", "bash"}, strings.NewReader(""), &script, &said); code != 0 || said.Len() > 0 {
		t.Fatalf("it ended with %d and said %s", code, &said)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"my policy.json", "mine.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "my logins"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		words []string // as bash takes the line apart
		want  []string
	}{
		{[]string{"do"}, []string{"doctor"}},
		{[]string{"--enable-m"}, []string{"--enable-mutations"}},
		{[]string{"call", "wait"}, []string{"wait_for"}},
		{[]string{"call", "back", "then", "forw"}, []string{"forward"}},
		{[]string{"help", "fl"}, []string{"flags"}},
		{[]string{"completion", ""}, []string{"bash", "fish", "zsh"}},
		{[]string{"--prefer", ""}, []string{"extension", "cdp"}},
		{[]string{"--prefer", "="}, []string{"extension", "cdp"}},
		{[]string{"--log-level", "=", "w"}, []string{"warn"}},
		{[]string{"--tools", "dev"}, []string{"devtools"}},
		{[]string{"--policy", "my"}, []string{"my logins", "my policy.json"}},
		{[]string{"audit", "min"}, []string{"mine.json"}},
		{[]string{"--state-dir", "m"}, []string{"my logins"}},
		{[]string{"--state-dir", "mine"}, nil},
	} {
		cmd := exec.CommandContext(t.Context(), "bash", append([]string{"--norc", "-c", `source "$0"; COMP_WORDS=(chrome-mcp "$@"); COMP_CWORD=$#; _chrome_mcp; printf '%s\n' "${COMPREPLY[@]}"`, file}, c.words...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		got := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
		slices.Sort(got)
		slices.Sort(c.want)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.words, got, err, c.want)
		}
	}
}

// The scripts of the other shells offer the same.
func TestCompletionElsewhere(t *testing.T) {
	for shell, wants := range map[string][]string{
		"zsh":  {"#compdef chrome-mcp\n", "\t--state-dir) compadd -- ; _files -/ ;;\n", "\t--prefer) compadd -- extension cdp ;;\n"},
		"fish": {"-l state-dir -r -a '(__fish_complete_directories)'\n", "-l policy -r -F\n", "-l prefer -r -a 'extension cdp'\n", "-l isolated\n"},
	} {
		var script, said strings.Builder
		if code := run(t.Context(), []string{"completion", shell}, strings.NewReader(""), &script, &said); code != 0 {
			t.Fatalf("%s: it ended with %d and said %s", shell, code, &said)
		}
		for _, want := range wants {
			if !strings.Contains(script.String(), want) {
				t.Errorf("%s: no %q in\n%s", shell, want, &script)
			}
		}
	}
}

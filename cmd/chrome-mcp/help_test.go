package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestHelpFitsAScreen(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(shortHelp, "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("the help has %d lines, more than 24", len(lines))
	}
	root := newRoot(nil, nil)
	for i, line := range lines {
		if len(line) > 80 {
			t.Errorf("line %d has %d columns", i+1, len(line))
		}
		if flag, ok := strings.CutPrefix(strings.TrimSpace(line), "--"); ok {
			name, _, _ := strings.Cut(flag, " ")
			if root.Flag(name) == nil {
				t.Errorf("the help names the unknown flag --%s", name)
			}
		}
	}
}

func TestFlagListHasEveryFlag(t *testing.T) {
	var b strings.Builder
	root := newRoot([]string{"help", "flags"}, nil)
	root.SetOut(&b)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range append(root.Commands(), root) {
		for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if !strings.Contains(b.String(), "--"+f.Name) {
					t.Errorf("help flags lacks --%s of %s", f.Name, cmd.CommandPath())
				}
				if f.Usage == "" {
					t.Errorf("--%s has no description", f.Name)
				}
			})
		}
	}
}

// TestCommandHelp checks that each command has help that fits a terminal.
func TestCommandHelp(t *testing.T) {
	root := newRoot(nil, nil)
	for _, cmd := range root.Commands() {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		var b, said strings.Builder
		if code := run(t.Context(), []string{"help", cmd.Name()}, nil, &b, &said); code != 0 || said.Len() > 0 {
			t.Errorf("%s: exit code %d, stderr %s", cmd.Name(), code, &said)
		}
		if !strings.HasPrefix(b.String(), "chrome-mcp "+cmd.Name()) || cmd.Short == "" {
			t.Errorf("%s has no help:\n%s", cmd.Name(), &b)
		}
		for line := range strings.Lines(b.String()) {
			if len(line) > 91 {
				t.Errorf("%s: line of %d columns: %s", cmd.Name(), len(line)-1, line)
			}
		}
	}
}

// TestFlagsAreNotCopied checks that no command has a copy of the flags of serving: an MCP host starts
// many programs, and the copies are most of what a start allocates.
func TestFlagsAreNotCopied(t *testing.T) {
	root := newRoot([]string{"--headless"}, nil)
	for _, c := range root.Commands() {
		if c.Flags().Lookup("headless") != nil {
			t.Errorf("%s has a copy of the flags", c.Name())
		}
	}
}
